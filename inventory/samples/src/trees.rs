//! Small trees, and random ones.
use inventory::{TopologyFile, Tree};
use proptest::prelude::*;
use std::fmt::Write;

/// The tree of a topology file's text.
pub fn topology(text: &str) -> Tree {
    TopologyFile::parse("test", text).unwrap().tree().unwrap()
}

/// Hosts n0.. spread over switches s0.. as counted; every switch after the first is cabled to the
/// first.
pub fn star(hosts: &[u32]) -> Tree {
    topology(&star_text(hosts))
}

/// The text of [`star`].
pub fn star_text(hosts: &[u32]) -> String {
    let at: Vec<usize> = hosts
        .iter()
        .enumerate()
        .flat_map(|(s, &count)| std::iter::repeat_n(s, count as usize))
        .collect();
    text(hosts.len(), &at, &vec![0; hosts.len() - 1])
}

/// So many switches in a row, with so many hosts each.
pub fn row(switches: usize, hosts: usize) -> Tree {
    let names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [{}]\nhosts:\n", names.join(", "));
    text.extend((0..switches * hosts).map(|h| format!("  n{h}: {{switch: s{}}}\n", h / hosts)));
    text.push_str("links:\n");
    text.extend((1..switches).map(|s| format!("  - {{a: s{s}, b: s{}}}\n", s - 1)));
    topology(&text)
}

/// A random tree: 1 to 20 switches (some without hosts) in a random, deep or bushy shape.
pub fn any_tree(hosts: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Tree> {
    any_tree_text(hosts, 20).prop_map(|t| topology(&t))
}

/// The text of [`any_tree`] with at most `switches` switches.
pub fn any_tree_text(
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

/// A random tree as in [`any_tree`] whose cables carry one to four messages at once.
pub fn any_wide_tree(
    hosts: std::ops::RangeInclusive<usize>,
    switches: usize,
) -> impl Strategy<Value = Tree> {
    let widths = prop::collection::vec(
        prop::sample::select(vec![1, 1, 2, 2, 3, 4]),
        hosts.end() + switches,
    );
    (any_tree_text(hosts, switches), widths, any::<bool>()).prop_map(
        |(text, widths, wide_hosts)| {
            let mut widths = widths.iter();
            topology(
                &text
                    .lines()
                    .map(|line| {
                        match line
                            .strip_suffix('}')
                            .filter(|cable| wide_hosts || !cable.contains("switch"))
                        {
                            Some(cable) => {
                                format!("{cable}, rate: {}G}}\n", widths.next().unwrap())
                            }
                            None => format!("{line}\n"),
                        }
                    })
                    .collect::<String>(),
            )
        },
    )
}
