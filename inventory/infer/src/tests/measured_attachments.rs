//! Hosts whose switch flows between hosts found.
use super::*;
use crate::InferenceMemory;
use inventory::Bytes;
use inventory::mapped_place::{MappedAttachment, MappedPlaces};
use std::collections::BTreeSet;
use std::sync::Arc;

/// s0 - s1, n0 on s0 and n1 on s1. Both switches hear n2.
fn torn() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1, n2]");
    net.cable(("s0", 1, F), ("s1", 1, F));
    net.host("n0", "s0", 5);
    net.host("n1", "s1", 5);
    for switch in ["s0", "s1"] {
        net.host("n2", switch, 6);
    }
    net
}

fn attachment(host: &str, on: &str, among: &[&str]) -> MappedAttachment {
    MappedAttachment {
        host: host.into(),
        on: on.into(),
        among: among.iter().map(|name| (*name).to_owned()).collect(),
        rate: BitsPerSec::mega(100),
        probability: 997,
        hosts: 9,
        rounds: 40,
        moved: Bytes(7_000_000),
        at: Millis(1_795_424_809_000),
        link_losses: None,
    }
}

fn infer_with(net: &InferenceFixture, attachment: MappedAttachment) -> Topology {
    let mut memory = InferenceMemory::default();
    memory.take_mapped(Arc::new(MappedPlaces {
        attachments: vec![attachment],
        ..MappedPlaces::default()
    }));
    memory.infer_changed(&net.inventory, &net.views, &BTreeSet::new())
}

#[test]
fn flows_decide_between_two_places() {
    let net = torn();
    assert!(alarms(&net.infer()).contains("its place is ambiguous"));
    for on in ["s0", "s1"] {
        let t = infer_with(&net, attachment("n2", on, &["s0", "s1"]));
        assert_eq!(t.attachments()["n2"].0, on);
        let l = link(&t, on, "n2");
        let looks = (l.a_port.as_str(), l.grade, l.state, l.rate_bps);
        let inferred = LinkGrade::Inferred;
        assert_eq!(
            looks,
            ("swp6", inferred, LinkState::Forwarding, BitsPerSec::GIGABIT)
        );
        assert!(l.is_measured());
        assert_eq!((alarms(&t).as_str(), t.tree().unwrap().hosts()), ("", 3));
        let text = l.evidence.last().unwrap().to_string();
        assert_eq!(
            text,
            "measured: flows between 9 hosts tell that the host is here, among s0, s1; probability \
             0.997; 40 rounds, 7.0 MB, 2026-11-23 09:06 UTC"
        );
    }
}

#[test]
fn a_host_that_no_switch_has_seen_gets_a_place_without_a_port() {
    let mut net = torn();
    for switch in ["s0", "s1"] {
        let rows = &mut net.view(switch).lldp.as_mut().unwrap().neighbours;
        rows.retain(|row| row.name != "n2");
    }
    assert!(alarms(&net.infer()).contains("seen nowhere"));
    let t = infer_with(&net, attachment("n2", "s1", &[]));
    let l = link(&t, "s1", "n2");
    assert_eq!(
        (l.a_port.as_str(), l.grade, l.rate_bps),
        ("", LinkGrade::Inferred, BitsPerSec::mega(100))
    );
    assert_eq!((alarms(&t).as_str(), t.tree().unwrap().hosts()), ("", 3));
}

#[test]
fn protocols_that_say_something_else_by_now_count_before_flows() {
    let net = torn();
    // The choice was another one.
    for among in [&["s0"][..], &["s0", "s1", "s2"], &[]] {
        let t = infer_with(&net, attachment("n2", "s1", among));
        assert_eq!(t, net.infer(), "{among:?}");
    }
    // Nobody has such a switch, or such a host; a host is no switch.
    for (host, on) in [("n2", "s9"), ("n9", "s0"), ("n2", "n0"), ("s0", "s1")] {
        let t = infer_with(&net, attachment(host, on, &["s0", "s1"]));
        assert_eq!(t, net.infer(), "{host} {on}");
    }
    // Protocols place it.
    for among in [&["s0"][..], &[]] {
        let t = infer_with(&net, attachment("n0", "s1", among));
        assert_eq!(t, net.infer(), "{among:?}");
    }
}
