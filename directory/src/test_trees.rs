//! Topologies for this crate's tests.
use inventory::{TopologyFile, Tree};
use proptest::prelude::*;
use std::fmt::Write;

/// The tree of a topology file's text.
pub(crate) fn topology(text: &str) -> Tree {
    TopologyFile::parse("test", text).unwrap().tree().unwrap()
}

/// Hosts n0.. on switches s0..; `hosts` counts them for each switch. Every switch after the first
/// is cabled to the first.
pub(crate) fn star_text(hosts: &[u32]) -> String {
    let at: Vec<usize> = hosts
        .iter()
        .enumerate()
        .flat_map(|(s, &count)| std::iter::repeat_n(s, count as usize))
        .collect();
    text(hosts.len(), &at, &vec![0; hosts.len() - 1])
}

/// A random tree of at most `switches` switches, some without hosts, deep or bushy.
pub(crate) fn any_tree_text(
    hosts: std::ops::RangeInclusive<usize>,
    switches: usize,
) -> impl Strategy<Value = String> {
    (1..=switches, hosts, 0..3u8).prop_flat_map(|(switches, hosts, shape)| {
        let parent = (1..switches).map(move |s| match shape {
            0 => 0..s,
            1 => s.saturating_sub(2)..s,
            _ => 0..s.min(2),
        });
        (
            prop::collection::vec(0..switches, hosts),
            parent.collect::<Vec<_>>(),
        )
            .prop_map(move |(at, parent)| text(switches, &at, &parent))
    })
}

fn text(switches: usize, at: &[usize], parent: &[usize]) -> String {
    let names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [{}]\nhosts:\n", names.join(", "));
    at.iter()
        .enumerate()
        .for_each(|(h, s)| writeln!(text, "  n{h}: {{switch: s{s}}}").unwrap());
    text.push_str("links:\n");
    parent
        .iter()
        .enumerate()
        .for_each(|(s, p)| writeln!(text, "  - {{a: s{}, b: s{p}}}", s + 1).unwrap());
    if parent.is_empty() {
        text.replace("links:\n", "links: []\n")
    } else {
        text
    }
}
