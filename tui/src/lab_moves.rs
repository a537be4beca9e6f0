//! The moves that the lab keys offer: a host's cable and its possible targets, from the topology
//! alone.
use inventory::topology::{LinkState, NodeKind, Topology};

/// The switch that a host hangs on.
pub(crate) fn switch_of<'a>(topology: &'a Topology, host: &str) -> Option<&'a str> {
    let ends = topology
        .links
        .iter()
        .filter(|l| l.state != LinkState::Blocked);
    let mut ends = ends.filter_map(|l| {
        if l.b == host {
            Some(l.a.as_str())
        } else {
            (l.a == host).then_some(l.b.as_str())
        }
    });
    ends.find(|n| names(topology, NodeKind::Switch).any(|s| s == *n))
}

/// The switches a host's cable could move to.
pub(crate) fn targets(topology: &Topology, host: &str) -> Vec<String> {
    let here = switch_of(topology, host);
    names(topology, NodeKind::Switch)
        .filter(|s| Some(*s) != here)
        .map(str::to_owned)
        .collect()
}

/// True if the name belongs to a host.
pub(crate) fn is_host(topology: &Topology, name: &str) -> bool {
    names(topology, NodeKind::Host).any(|h| h == name)
}

/// The move number `turn` of a tour that takes each host in turn one switch further: host and
/// switch.
pub(crate) fn next(topology: &Topology, turn: usize) -> Option<(String, String)> {
    let hosts: Vec<&str> = names(topology, NodeKind::Host).collect();
    let switches: Vec<&str> = names(topology, NodeKind::Switch).collect();
    let host = hosts.get(turn.checked_rem(hosts.len())?)?;
    let here = switch_of(topology, host).and_then(|s| switches.iter().position(|x| *x == s));
    let next = here.map_or(0, |i| (i + 1) % switches.len());
    (here != Some(next))
        .then(|| {
            switches
                .get(next)
                .map(|s| ((*host).to_owned(), (*s).to_owned()))
        })
        .flatten()
}

fn names(topology: &Topology, kind: NodeKind) -> impl Iterator<Item = &str> {
    topology
        .nodes
        .iter()
        .filter(move |n| n.kind == kind)
        .map(|n| n.name.as_str())
}
