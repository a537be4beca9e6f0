//! The links of a topology file that spanning tree would let forward.
//!
//! Source: IEEE 802.1D-2004, 17.5 (priority vectors: root bridge, cost of the path to it,
//! designated bridge, its port), 17.14 and Table 17-3 (port path costs). Input: a topology file and
//! the root bridge. Guarantee: the forwarding links join all nodes that any links join, without a
//! loop. Cost: O(links · log links). Deviations: bridge identifiers and port numbers are not in the
//! file. So of equal paths, the one over the switch named first and the link stated first is taken,
//! and a part without the root bridge takes its first switch.
use crate::BitsPerSec;
use crate::config::topology_file::TopologyFile;
use crate::model::topology::LinkState;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The cost of a port of this rate: 20 Tbit/s over the rate, as Table 17-3 recommends.
fn path_cost(rate: BitsPerSec) -> u64 {
    (20_000_000_000_000 / rate.0.max(1)).clamp(1, 200_000_000)
}

/// The same file with the state of every link as spanning tree under `root_bridge` would set it: no
/// state if the link forwards, `blocked` if not. The states in the file are ignored, except at
/// routers, which take no part: their links stay as they are, and each part between them has a tree
/// of its own. `None` if the file does not have the root bridge.
pub fn with_spanning_tree(file: &TopologyFile, root_bridge: &str) -> Option<TopologyFile> {
    let numbers: HashMap<&str, usize> = file
        .switches
        .iter()
        .enumerate()
        .map(|(i, name)| (name.as_str(), i))
        .collect();
    let root = *numbers.get(root_bridge)?;
    let ends: Vec<Option<[usize; 2]>> = file
        .links
        .iter()
        .map(|l| {
            Some([
                numbers.get(l.a.as_str()).copied()?,
                numbers.get(l.b.as_str()).copied()?,
            ])
        })
        .collect();
    let forwards = forwarding_links(file, root, &ends);
    let mut file = file.clone();
    let bridged = file
        .links
        .iter_mut()
        .zip(ends)
        .zip(forwards)
        .filter(|((_, ends), _)| ends.is_some());
    for ((link, _), forwards) in bridged {
        link.state = (!forwards).then_some(LinkState::Blocked);
    }
    Some(file)
}

/// For each link, true if it is in the spanning tree of its part. `ends` has the numbers of its
/// switches, if both ends are switches.
fn forwarding_links(file: &TopologyFile, root: usize, ends: &[Option<[usize; 2]>]) -> Vec<bool> {
    let mut links_of = vec![Vec::new(); file.switches.len()];
    for (link, ends) in ends.iter().enumerate() {
        if let Some([a, b]) = *ends {
            links_of[a].push((link, b));
            links_of[b].push((link, a));
        }
    }
    let mut reached = vec![false; file.switches.len()];
    let mut forwards = vec![false; file.links.len()];
    for start in std::iter::once(root).chain(0..file.switches.len()) {
        // A switch takes the least offer by (cost, designated bridge, link). A heap returns the
        // offers in this order.
        let mut offers = BinaryHeap::from([Reverse((0, 0, 0, start, None))]);
        while let Some(Reverse((cost, _, _, switch, over))) = offers.pop() {
            if std::mem::replace(&mut reached[switch], true) {
                continue;
            }
            if let Some(link) = over {
                forwards[link] = true;
            }
            for &(link, other) in links_of[switch]
                .iter()
                .filter(|(_, other)| !reached[*other])
            {
                let cost = cost + path_cost(file.links[link].rate);
                // No bridge has a lower identifier than the root.
                let bridge = if switch == root { 0 } else { switch + 1 };
                offers.push(Reverse((cost, bridge, link, other, Some(link))));
            }
        }
    }
    forwards
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(links: &str) -> TopologyFile {
        TopologyFile::parse(
            "test",
            &format!("switches: [s0, s1, s2, s3]\nhosts: {{n0: {{switch: s0}}}}\nlinks: [{links}]"),
        )
        .unwrap()
    }

    fn blocked(file: &TopologyFile, root: &str) -> Vec<String> {
        let blocked = with_spanning_tree(file, root)
            .unwrap()
            .links
            .into_iter()
            .filter(|l| l.state == Some(LinkState::Blocked));
        blocked.map(|l| format!("{}-{}", l.a, l.b)).collect()
    }

    #[test]
    fn a_ring_is_opened_far_from_the_root_bridge() {
        let ring = file("{a: s0, b: s1}, {a: s1, b: s2}, {a: s2, b: s3}, {a: s3, b: s0}");
        assert_eq!(
            blocked(&ring, "s0"),
            ["s2-s3"],
            "s2 goes by s1, which is named first"
        );
        assert_eq!(blocked(&ring, "s1"), ["s2-s3"], "s3 goes by s0");
        assert_eq!(blocked(&ring, "s2"), ["s3-s0"], "s0 goes by s1");
        assert_eq!(with_spanning_tree(&ring, "s4"), None);
    }

    #[test]
    fn each_part_between_routers_has_a_tree_and_routers_take_no_part() {
        let text = "switches: [s0, s1, s2]\nrouters: [r0]\nhosts: {n0: {switch: s0}}
links: [{a: s0, b: r0}, {a: r0, b: s1}, {a: s1, b: s2}, {a: s1, b: s2}]";
        assert_eq!(
            blocked(&TopologyFile::parse("test", text).unwrap(), "s0"),
            ["s1-s2"]
        );
    }

    #[test]
    fn a_faster_way_round_wins_and_of_equal_cables_the_first() {
        assert_eq!(
            blocked(
                &file("{a: s0, b: s1, rate: 100M}, {a: s0, b: s2}, {a: s2, b: s1}"),
                "s0"
            ),
            ["s0-s1"]
        );
        assert_eq!(
            blocked(
                &file("{a: s0, b: s1}, {a: s0, b: s1}, {a: s2, b: s3}, {a: s2, b: s3}"),
                "s0"
            ),
            ["s0-s1", "s2-s3"]
        );
        assert_eq!(
            [10_000, 1_000, 100].map(|m| path_cost(BitsPerSec::mega(m))),
            [2_000, 20_000, 200_000]
        );
    }

    proptest! {
        #[test]
        fn what_forwards_is_a_tree_of_everything(
            links in prop::collection::vec((0usize..4, 0usize..4, 1u64..4), 3..12),
            root in 0usize..4,
        ) {
            let chain = ["{a: s0, b: s1}", "{a: s1, b: s2}", "{a: s2, b: s3}"].map(str::to_owned);
            let drawn = links.iter().filter(|(a, b, _)| a != b);
            let drawn = drawn.map(|(a, b, rate)| format!("{{a: s{a}, b: s{b}, rate: {rate}G}}"));
            let mesh = file(&chain.into_iter().chain(drawn).collect::<Vec<_>>().join(", "));
            let settled = with_spanning_tree(&mesh, &format!("s{root}")).unwrap();
            prop_assert!(settled.tree().is_ok());
            let forwarding = settled.links.iter().filter(|l| l.state.is_none());
            prop_assert_eq!(forwarding.count(), 3);
        }
    }
}
