//! Flows whose ways counters have shown.
use super::{PAIR, epoch_of_text, unplanned};
use directory::epoch::LeanEpoch;
use inventory::stages::flows::{KnownFlow, WayCable};
use policy::forced::ForcedWays;
use std::collections::BTreeMap;

/// Two switches with two hosts each; of an aggregate of two cables between, flows are known: by odd ports over
/// the second.
fn counted() -> LeanEpoch {
    let cables = "- {a: a, b: b, rate: 1G, state: multipath}\n".repeat(2);
    let text = format!(
        "{}\nlinks:\n{cables}",
        PAIR.split_once("\nlinks").unwrap().0
    );
    let mut flows = Vec::new();
    for (from, to, ends) in [("wx", "yz", ["a", "b"]), ("yz", "wx", ["b", "a"])] {
        for (from, to) in from
            .chars()
            .flat_map(|from| to.chars().map(move |to| (from, to)))
        {
            flows.extend([0, 1].map(|cable| KnownFlow {
                from: from.into(),
                to: to.into(),
                port: 61_000 + cable,
                cables: vec![WayCable {
                    from: ends[0].into(),
                    at: ends[1].into(),
                    cable: u32::from(cable),
                }],
            }));
        }
    }
    LeanEpoch {
        flows,
        ..epoch_of_text(&text)
    }
}

#[test]
fn through_an_aggregate_messages_take_the_flows_that_counters_told() {
    let of_ranks = |hosts: &[&str], rank| {
        let set = unplanned(counted(), ForcedWays::parse("aapc,tcp").unwrap(), hosts)
            .unwrap()
            .plan(rank);
        set.unwrap().follow
    };
    let mut by_port = BTreeMap::new();
    for rank in 0..4 {
        let follow = of_ranks(&["w", "x", "y", "z"], rank);
        let chosen = follow.chosen_ways().unwrap();
        assert!(chosen.has_known_flows());
        for (other, port) in (0..).zip(chosen.ports()) {
            assert_eq!(port.is_some(), rank / 2 != other / 2);
            port.map(|port| *by_port.entry((rank / 2, port)).or_insert(0) += 1);
        }
    }
    // In each direction both cables have two of the four messages.
    assert_eq!(by_port.into_values().collect::<Vec<_>>(), [2; 4]);
    let several = of_ranks(&["w", "w", "y", "z"], 0);
    assert!(!several.chosen_ways().unwrap().has_known_flows());
}
