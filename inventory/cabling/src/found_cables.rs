//! The cables of the network, in the form of a plan.
use super::{Cable, CablingPlan};
use inventory::BitsPerSec;
use inventory::topology::{self, Link, LinkGrade, NodeKind, Topology};
use std::collections::{HashMap, HashSet};

/// A cable of the network.
pub(super) struct FoundCable {
    pub(super) cable: Cable,
    pub(super) grade: LinkGrade,
}

/// The part of the network that is compared.
pub(super) struct CabledNetwork {
    pub(super) cables: Vec<FoundCable>,
    /// The number of hosts whose cables are left out, because the plan names no host and lists only
    /// trunks.
    pub(super) unplanned_hosts: usize,
}

pub(super) fn network(plan: &CablingPlan, topology: &Topology) -> CabledNetwork {
    let hosts: HashSet<&str> = topology.of(NodeKind::Host).collect();
    let planned: Vec<_> = plan.cables.iter().map(Cable::ends).collect();
    let with_hosts = planned
        .iter()
        .flatten()
        .any(|(node, _)| hosts.contains(node));
    let (links, left_out): (Vec<&Link>, Vec<&Link>) = topology.links.iter().partition(|l| {
        with_hosts || (!hosts.contains(l.a.as_str()) && !hosts.contains(l.b.as_str()))
    });

    let ports: HashSet<(&str, &str)> = planned.iter().flatten().copied().collect();
    let wanted = between(plan.cables.iter().map(|c| [&*c.a, &*c.b]));
    let there = between(links.iter().map(|l| [&*l.a, &*l.b]));
    // A plan lists an aggregate either as one link or as its cables.
    let as_cables = |link: &Link| {
        let whole = [(&link.a, &link.a_port), (&link.b, &link.b_port)]
            .iter()
            .any(|(n, p)| ports.contains(&(n.as_str(), p.as_str())));
        let named = link.members.iter().any(|m| {
            ports.contains(&(&*link.a, &*m.a_port)) || ports.contains(&(&*link.b, &*m.b_port))
        });
        let pair = sorted([&link.a, &link.b]);
        !link.members.is_empty() && (named || (!whole && wanted.get(&pair) > there.get(&pair)))
    };
    let cables = links
        .iter()
        .flat_map(|link| {
            if as_cables(link) {
                members(link)
            } else {
                vec![whole(link)]
            }
        })
        .collect();
    CabledNetwork {
        cables,
        unplanned_hosts: left_out.len(),
    }
}

/// The number of links between each two nodes.
fn between<'a>(ends: impl Iterator<Item = [&'a str; 2]>) -> HashMap<[&'a str; 2], usize> {
    let mut count = HashMap::new();
    for pair in ends {
        *count.entry(sorted(pair)).or_default() += 1;
    }
    count
}

fn sorted(mut pair: [&str; 2]) -> [&str; 2] {
    pair.sort_unstable();
    pair
}

fn whole(link: &Link) -> FoundCable {
    FoundCable {
        cable: Cable {
            a: link.a.clone(),
            a_port: link.a_port.clone(),
            b: link.b.clone(),
            b_port: link.b_port.clone(),
            rate_bps: Some(link.rate_bps).filter(|_| link.rate_is_known()),
            state: Some(link.state),
        },
        grade: link.grade,
    }
}

/// The cables of an aggregate share its rate.
fn members(link: &Link) -> Vec<FoundCable> {
    let FoundCable { cable, grade } = whole(link);
    let rate_bps = cable
        .rate_bps
        .map(|rate| BitsPerSec(rate.0 / link.members.len() as u64));
    let of = |m: &topology::AggregateMember| Cable {
        a_port: m.a_port.clone(),
        b_port: m.b_port.clone(),
        rate_bps,
        ..cable.clone()
    };
    link.members
        .iter()
        .map(|m| FoundCable {
            cable: of(m),
            grade,
        })
        .collect()
}
