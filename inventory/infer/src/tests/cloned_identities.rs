//! Devices that announce identifiers of other devices: cloned configurations, replaced supervisors,
//! factory defaults.
use super::*;

/// The pairs of nodes that certain links join.
fn certain(t: &Topology) -> Vec<(&str, &str)> {
    t.links
        .iter()
        .filter(|l| l.grade == LinkGrade::Certain)
        .map(|l| (l.a.as_str(), l.b.as_str()))
        .collect()
}

/// The cables of [`ring`].
const CABLED: [(&str, &str); 8] = [
    ("s0", "s1"),
    ("s0", "s3"),
    ("s1", "s2"),
    ("s2", "s3"),
    ("s0", "n0"),
    ("s1", "n1"),
    ("s2", "n2"),
    ("s3", "n3"),
];

/// `clone` announces the chassis of `of`, and its neighbours hear it so.
fn one_chassis(net: &mut InferenceFixture, clone: &str, of: &str) {
    let (id, own) = (
        Some(NeighbourId::Mac(mac(of, 0))),
        Some(NeighbourId::Mac(mac(clone, 0))),
    );
    for lldp in net.views.values_mut().filter_map(|v| v.lldp.as_mut()) {
        if lldp.chassis == own {
            lldp.chassis = id.clone();
        }
        lldp.neighbours
            .iter_mut()
            .filter(|r| r.chassis == own)
            .for_each(|r| r.chassis = id.clone());
    }
}

#[test]
fn two_switches_of_one_chassis_id_are_distinguished_by_name_and_alarmed() {
    let mut net = ring();
    one_chassis(&mut net, "s2", "s1");
    let t = net.infer();
    assert!(
        certain(&t).iter().all(|pair| CABLED.contains(pair)) && t.links.len() == 8,
        "{:#?}",
        t.links
    );
    assert!(
        alarms(&t).contains("switch \"s2\": another switch announces its LLDP chassis id"),
        "{}",
        alarms(&t)
    );
}

#[test]
fn two_switches_of_one_chassis_id_and_one_name_give_no_false_link() {
    let mut net = ring();
    one_chassis(&mut net, "s2", "s1");
    net.view("s2").bridge.as_mut().unwrap().address = Some(mac("s1", 0));
    for view in net.views.values_mut() {
        for name in [
            &mut view.lldp.as_mut().unwrap().name,
            &mut view.system.as_mut().unwrap().name,
        ] {
            if ["s1", "s2"].contains(&name.as_str()) {
                *name = "switch".into();
            }
        }
        let rows = view.lldp.as_mut().unwrap().neighbours.iter_mut();
        rows.filter(|r| ["s1", "s2"].contains(&r.name.as_str()))
            .for_each(|r| r.name = "switch".into());
    }
    let t = net.infer();
    let strange = certain(&t)
        .into_iter()
        .filter(|pair| !CABLED.contains(pair))
        .collect::<Vec<_>>();
    assert!(strange.is_empty(), "{strange:?}\n{}", alarms(&t));
    assert!(
        alarms(&t).contains("another switch announces its LLDP chassis id"),
        "{}",
        alarms(&t)
    );
}
