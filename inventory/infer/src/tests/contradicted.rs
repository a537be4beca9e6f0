//! Cables that one switch names and the other contradicts. They do not exist, and an alarm gives
//! the reason.
use super::*;

#[test]
fn a_cable_to_a_port_that_is_down_is_reported() {
    let mut net = InferenceFixture::new(&["a", "b", "c"], "[]");
    net.port("a", 1, F);
    net.port("b", 1, F);
    net.cable(("b", 2, F), ("c", 2, F));
    net.hears("a", 1, named("b", 1));
    net.view("b")
        .interfaces
        .as_mut()
        .unwrap()
        .iter_mut()
        .filter(|i| i.name == "swp1")
        .for_each(|i| i.up = false);
    for t in [net.infer(), crate::infer_recorded(&net.views)] {
        assert!(t.links.iter().all(|l| l.a != "a"), "{:?}", t.links);
        let alarm = "a swp1: names b swp1 by LLDP, but that port is down; no link is shown there: \
                    check the cable; the row may be an old one";
        assert!(alarms(&t).contains(alarm), "{}", alarms(&t));
    }
}

#[test]
fn a_neighbour_that_confirms_another_on_that_port_is_reported() {
    let mut net = InferenceFixture::new(&["a", "b", "c"], "[]");
    net.port("a", 1, F);
    net.cable(("a", 2, F), ("c", 3, F));
    net.cable(("b", 1, F), ("c", 1, F));
    net.hears("a", 1, named("b", 1));
    for t in [net.infer(), crate::infer_recorded(&net.views)] {
        let confirmed = link(&t, "b", "c");
        assert!(
            confirmed
                .evidence
                .iter()
                .any(|e| e.to_string() == "a swp1 also names b swp1, which b does not confirm"),
            "{:?}",
            confirmed.evidence
        );
        assert_eq!(t.links.len(), 2, "{:?}", t.links);
        let alarm = "a swp1: names b swp1, but b swp1 and c swp1 name each other; no link a-b is \
                    shown: check the cable at a swp1; the row may be an old one, or something \
                    between passes LLDP on";
        assert!(alarms(&t).contains(alarm), "{}", alarms(&t));
    }
}

#[test]
fn old_rows_of_the_dead_and_of_ports_with_another_cable_are_no_alarm() {
    let mut net = InferenceFixture::new(&["a", "b", "c"], "[n0]");
    net.port("b", 1, F);
    net.cable(("a", 1, F), ("c", 1, F));
    net.hears("a", 1, named("b", 1));
    net.host("n0", "a", 2);
    net.hears("a", 2, named("b", 1));
    net.view("b")
        .interfaces
        .as_mut()
        .unwrap()
        .iter_mut()
        .for_each(|i| i.up = false);
    assert!(
        !alarms(&net.infer()).contains("that port is down"),
        "{}",
        alarms(&net.infer())
    );
    net.port("a", 3, F);
    net.hears("a", 3, named("b", 1));
    assert!(alarms(&net.infer()).contains("a swp3: names b swp1 by LLDP, but that port is down"));
    net.view("a").stale = Some((Millis(1), "no answer".to_owned()));
    assert!(
        !alarms(&net.infer()).contains("that port is down"),
        "{}",
        alarms(&net.infer())
    );
}
