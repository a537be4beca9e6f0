//! Neighbours that rows name: recognized, one-sided, old, or two on one port.
use super::*;

#[test]
fn neighbours_are_recognized_by_mac_or_name_where_the_chassis_is_strange() {
    let mut net = ring();
    for view in net.views.values_mut() {
        for (i, row) in view
            .lldp
            .as_mut()
            .unwrap()
            .neighbours
            .iter_mut()
            .enumerate()
        {
            row.chassis = Some(NeighbourId::Text(format!("bogus {i}")));
        }
    }
    let by_name = net.infer();
    assert_eq!(by_name.links.len(), 8, "{}", alarms(&by_name));
    for view in net.views.values_mut() {
        for row in view
            .lldp
            .as_mut()
            .unwrap()
            .neighbours
            .iter_mut()
            .filter(|r| r.name.starts_with('s'))
        {
            let port: u8 = if let Some(NeighbourId::Text(t)) = &row.port {
                t[3..].parse().unwrap()
            } else {
                unreachable!()
            };
            row.port = Some(NeighbourId::Mac(mac(&row.name, port)));
            row.name = String::new();
        }
    }
    let by_mac = net.infer();
    let ends = |t: &Topology| {
        t.links
            .iter()
            .map(|l| (l.a.clone(), l.a_port.clone(), l.b.clone(), l.b_port.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(ends(&by_mac), ends(&by_name));
    for view in net.views.values_mut() {
        for row in &mut view.lldp.as_mut().unwrap().neighbours {
            if row.name.starts_with('n') {
                row.name.push_str(".cluster.example.org");
            }
        }
    }
    assert_eq!(ends(&net.infer()), ends(&by_name), "fully qualified names");
}

#[test]
fn one_sided_rows_make_a_link_and_bogus_ones_do_not() {
    let mut net = ring();
    net.view("s1")
        .lldp
        .as_mut()
        .unwrap()
        .neighbours
        .retain(|r| r.name != "s0");
    net.hears("s0", 3, named("s0", 4));
    let zero = LldpNeighbour {
        local_port: 0,
        ..named("s2", 1)
    };
    net.view("s0").lldp.as_mut().unwrap().neighbours.push(zero);
    net.hears("s0", 5, LldpNeighbour::default());
    let t = net.infer();
    assert_eq!(t.links.len(), 8);
    assert!(
        link(&t, "s0", "s1")
            .evidence
            .iter()
            .any(|e| e.to_string().contains("s1 does not name s0 back"))
    );
    assert_eq!(
        (link(&t, "s0", "s1").b_port.as_str(), alarms(&t).as_str()),
        ("swp1", "")
    );
}

#[test]
fn a_row_on_a_port_that_is_down_is_gone() {
    let mut net = ring();
    net.view("s0").interfaces.as_mut().unwrap()[0].up = false;
    assert!(!net.infer().links.iter().any(|l| l.a == "s0" && l.b == "s1"));
}

#[test]
fn an_old_row_yields_to_the_cable_both_ends_confirm() {
    let mut net = ring();
    net.hears("s0", 1, named("s2", 7));
    let t = net.infer();
    assert_eq!(t.links.len(), 8);
    assert!(
        link(&t, "s0", "s1").evidence.iter().any(|e| e
            .to_string()
            .contains("also names s2, which nobody confirms")),
        "{:?}",
        link(&t, "s0", "s1")
    );
}

#[test]
fn two_confirmed_neighbours_on_one_port_are_ambiguous() {
    let mut net = ring();
    net.port("s2", 7, F);
    net.hears("s0", 1, named("s2", 7));
    net.hears("s2", 7, named("s0", 1));
    let t = net.infer();
    assert_eq!(
        (link(&t, "s0", "s1").grade, link(&t, "s0", "s2").grade),
        (LinkGrade::Ambiguous, LinkGrade::Ambiguous)
    );
    assert!(
        alarms(&t).contains("switch \"s0\" port swp1: sees s1 and s2 on one cable"),
        "{}",
        alarms(&t)
    );
}
