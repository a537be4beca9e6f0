//! Which of several links between switches carry frames, by the forwarding databases, where no end serves the
//! states of its spanning tree.
//!
//! Source: IEEE 802.1D-2004, 7.8: a bridge learns a station at the port at which its frames come in, so nobody is
//! learned over a link that is blocked. Input: links of whose state nothing is known. Guarantee: a link is settled
//! only where those over which stations are learned join the switches of a part as a tree, and each switch has
//! each host in the direction in which it is in that tree. Cost: switches times switches and hosts.
use crate::draft::{DraftFindings, DraftLink, DraftNetwork};
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, NodeIx};
use crate::ways::{EndStatements, is_open, pair};
use inventory::evidence::Evidence;
use inventory::topology::{LinkState, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Settles the links of each part in which the databases leave no doubt.
pub(crate) fn settle_carried(draft: &DraftNetwork<'_>) -> DraftFindings {
    let mut parts = UnionFind::new(draft.nodes.len());
    let open: Vec<usize> = (0..draft.links.len())
        .filter(|at| {
            let link = &draft.links[*at];
            is_open(draft, link) && EndStatements::drafted(draft).is_bridged_openly(&link.ends)
        })
        .collect();
    for at in &open {
        let [a, b] = draft.links[*at].nodes();
        parts.union(a, b);
    }
    let mut by_part: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in open {
        let part = parts.find(draft.links[at].nodes()[0]);
        by_part.entry(part).or_default().push(at);
    }
    let mut found = DraftFindings::default();
    for links in by_part.into_values() {
        let Some(carrying) = carrying(draft, &links) else {
            continue;
        };
        for at in links {
            match carrying.contains(&at) {
                true => found.state(at, LinkState::Forwarding, Evidence::StationsCross),
                false => found.state(at, LinkState::Blocked, Evidence::NobodyCrosses),
            }
        }
    }
    found
}

/// The port behind which the rest of a part is, by the switch beside.
type PortsToNeighbours = HashMap<NodeIx, Vec<(NodeIx, PortIx)>>;

/// The links that carry all that these links carry; nothing where that is in doubt.
fn carrying(draft: &DraftNetwork<'_>, links: &[usize]) -> Option<BTreeSet<usize>> {
    let (speaking, silent): (Vec<usize>, Vec<usize>) =
        (links.iter().copied()).partition(|at| is_received(draft, &draft.links[*at]));
    let mut tree = UnionFind::new(draft.nodes.len());
    let mut near: PortsToNeighbours = HashMap::new();
    let mut joined = BTreeSet::new();
    for at in &speaking {
        let link = &draft.links[*at];
        let [a, b] = link.ends.each_ref().map(|end| end.node);
        if !tree.union(a.0 as usize, b.0 as usize) {
            return None;
        }
        let [(_, at_a), (_, at_b)] = whole_ports(draft, link)?;
        near.entry(a).or_default().push((b, at_a));
        near.entry(b).or_default().push((a, at_b));
        joined.insert(pair(a, b));
    }
    for at in &silent {
        let [a, b] = draft.links[*at].ends.each_ref().map(|end| end.node);
        // One member of an aggregate that nobody names may have the stations that all members learned.
        if !tree.equiv(a.0 as usize, b.0 as usize) || joined.contains(&pair(a, b)) {
            return None;
        }
    }
    let has_detour = draft.links.iter().enumerate().any(|(at, link)| {
        let inner = link.ends.iter().all(|end| near.contains_key(&end.node));
        inner && link.carries_frames() && !links.contains(&at)
    });
    if silent.is_empty() || has_detour {
        return None;
    }
    let hosts = hosts_of(draft, &near);
    near.keys()
        .all(|node| has_all_in_their_directions(draft, *node, &near, &hosts))
        .then(|| speaking.into_iter().collect())
}

/// The ports at both ends; of a member that of its aggregate.
fn whole_ports(draft: &DraftNetwork<'_>, link: &DraftLink) -> Option<[DevicePortIx; 2]> {
    let [a, b] = &link.ends;
    let [a, b] = [a.device_port(draft.facts)?, b.device_port(draft.facts)?];
    Some([a, b].map(|port| draft.unreported.whole(draft.facts, port)))
}

fn is_received(draft: &DraftNetwork<'_>, link: &DraftLink) -> bool {
    whole_ports(draft, link).is_some_and(|ends| {
        ends.iter()
            .any(|(device, port)| draft.facts[*device].learned.behind(*port).len() > 0)
    })
}

/// The hosts at these switches, each with its switch and the port there.
fn hosts_of(draft: &DraftNetwork<'_>, near: &PortsToNeighbours) -> Vec<(NodeIx, DeviceIx, PortIx)> {
    let mut hosts = Vec::new();
    for link in draft.links.iter().filter(|link| link.is_sure()) {
        let [a, b] = &link.ends;
        for (own, far) in [(a, b), (b, a)] {
            let is_host = draft.kind(far.node) == NodeKind::Host && near.contains_key(&own.node);
            if let Some(at) = own.device_port(draft.facts).filter(|_| is_host) {
                let (device, port) = draft.unreported.whole(draft.facts, at);
                hosts.push((far.node, device, port));
            }
        }
    }
    hosts
}

/// True if a switch answers, and each host that it learned is behind the port that leads there in the tree.
fn has_all_in_their_directions(
    draft: &DraftNetwork<'_>,
    node: NodeIx,
    near: &PortsToNeighbours,
    hosts: &[(NodeIx, DeviceIx, PortIx)],
) -> bool {
    let facts = draft.facts;
    let Some(device) = facts.device_of(node) else {
        return false;
    };
    let own = &facts[device];
    if own.stale || own.learned.is_empty() {
        return false;
    }
    let mut towards: HashMap<NodeIx, PortIx> = HashMap::new();
    let mut open: Vec<(NodeIx, PortIx)> = near[&node].clone();
    while let Some((at, port)) = open.pop() {
        if at != node && towards.insert(at, port).is_none() {
            open.extend(near[&at].iter().map(|(next, _)| (*next, port)));
        }
    }
    hosts.iter().all(|&(host, at, port)| {
        let right = match at == device {
            true => Some(port),
            false => towards.get(&NodeIx::from(at)).copied(),
        };
        let mut macs = facts.identity.macs_of_host(host);
        macs.all(|mac| {
            own.learned
                .port_of(mac)
                .is_none_or(|port| Some(port) == right)
        })
    })
}
