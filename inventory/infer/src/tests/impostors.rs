//! Hosts that announce a switch's identifiers by LLDP. They never take a switch's place, and their
//! links are never certain.
use super::*;

/// The ring, where a node at s0 port 7 announces s2's chassis id under a name.
fn with_impostor(name: &str, port: &str) -> Topology {
    let mut net = ring();
    net.port("s0", 7, F);
    let port = Some(NeighbourId::Text(port.into()));
    net.hears(
        "s0",
        7,
        LldpNeighbour {
            port,
            name: name.into(),
            ..named("s2", 0)
        },
    );
    net.infer()
}

#[test]
fn who_calls_itself_otherwise_is_no_switch_and_reported() {
    let sound = ring().infer();
    for name in ["evil", "n3", "s1"] {
        for port in ["eth0", "swp9", "swp5"] {
            let t = with_impostor(name, port);
            assert_eq!(t.links, sound.links, "{name} {port}");
            let alarm = format!(
                "s0 swp7: \"{name}\" there announces chassis {} by LLDP, which is switch \
                 \"s2\"'s, and that one does not name s0 back; no link",
                mac("s2", 0)
            );
            assert!(alarms(&t).contains(&alarm), "{name} {port}: {}", alarms(&t));
        }
    }
}

#[test]
fn who_announces_a_switch_in_all_is_never_certain() {
    let sound = ring().infer();
    for name in ["", "s2", "s2.example.org"] {
        for port in ["eth0", "swp9", "swp1"] {
            let t = with_impostor(name, port);
            let same = |a: &Link, b: &Link| {
                (&a.a, &a.a_port, &a.b, &a.b_port) == (&b.a, &b.a_port, &b.b, &b.b_port)
            };
            let more: Vec<_> = t
                .links
                .iter()
                .filter(|l| !sound.links.iter().any(|s| same(s, l)))
                .collect();
            assert!(
                more.iter().all(|l| l.grade != LinkGrade::Certain),
                "{name} {port}: {more:#?}"
            );
            assert!(
                t.links.len() <= sound.links.len() + 1
                    && link(&t, "s1", "s2").grade == LinkGrade::Certain,
                "{name} {port}"
            );
        }
    }
}

#[test]
fn a_switch_that_was_renamed_keeps_its_cables_while_neighbours_have_the_old_name() {
    let mut net = ring();
    net.view("s2").lldp.as_mut().unwrap().name = "core".into();
    net.view("s2").system.as_mut().unwrap().name = "core".into();
    assert_eq!(net.infer().links, ring().infer().links);
}
