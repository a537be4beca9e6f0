//! The networks of the published figures, with hosts of 1G.
use inventory::TopologyFile;
use std::fmt::Write;

/// `leaves` switches with `hosts` each around a core.
pub fn two_levels(leaves: usize, hosts: usize, trunk: &str) -> TopologyFile {
    let switches = std::iter::once("core".to_owned())
        .chain((0..leaves).map(leaf))
        .collect();
    topology(
        switches,
        leaves,
        hosts,
        &(0..leaves)
            .map(|l| ("core".to_owned(), leaf(l), trunk))
            .collect::<Vec<_>>(),
    )
}

/// `pods` switches around a core, each with `leaves` switches of `hosts`; 1G, 10G and 40G from the
/// hosts up.
pub fn three_levels(pods: usize, leaves: usize, hosts: usize) -> TopologyFile {
    let pod = |p: usize| format!("p{p}");
    let switches = std::iter::once("core".to_owned())
        .chain((0..pods).map(pod))
        .chain((0..pods * leaves).map(leaf))
        .collect();
    let upper = (0..pods).map(|p| ("core".to_owned(), pod(p), "40G"));
    let lower = (0..pods * leaves).map(|l| (pod(l / leaves), leaf(l), "10G"));
    topology(
        switches,
        pods * leaves,
        hosts,
        &upper.chain(lower).collect::<Vec<_>>(),
    )
}

/// Eight switches, each cabled to the next.
pub fn row(hosts: usize) -> TopologyFile {
    topology(
        (0..8).map(leaf).collect(),
        8,
        hosts,
        &(1..8)
            .map(|l| (leaf(l - 1), leaf(l), "1G"))
            .collect::<Vec<_>>(),
    )
}

fn leaf(number: usize) -> String {
    format!("s{number}")
}

fn topology(
    switches: Vec<String>,
    leaves: usize,
    hosts: usize,
    links: &[(String, String, &str)],
) -> TopologyFile {
    let mut text = format!("switches: [{}]\nhosts:\n", switches.join(", "));
    (0..leaves * hosts).for_each(|h| {
        writeln!(text, "  n{h}: {{switch: s{}}}", h / hosts).expect("a string takes everything")
    });
    text += "links:\n";
    links.iter().for_each(|(a, b, rate)| {
        writeln!(text, "  - {{a: {a}, b: {b}, rate: {rate}}}").expect("a string takes everything")
    });
    TopologyFile::parse("network", &text).expect("a good file")
}
