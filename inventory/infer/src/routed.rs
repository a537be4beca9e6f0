//! The links that carry frames at routers. Spanning tree ends at routers, so their links carry
//! frames unless an end denies it. Routed networks may have loops, and only routing tables, which
//! are not read, decide among several paths. The first path counts, and an alarm is raised.
use super::InferredNetwork;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::Evidence;
use inventory::natural_order::natural;
use inventory::topology::{Link, LinkState, NodeKind};
use petgraph::unionfind::UnionFind;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Settles the links at routers among `open`, unless an end says that it does not forward.
pub(super) fn settle_router_links(found: &mut InferredNetwork, open: &[usize]) {
    let numbers: HashMap<String, usize> = found
        .nodes
        .keys()
        .enumerate()
        .map(|(i, n)| (n.clone(), i))
        .collect();
    let routes = |name: &str| {
        found
            .nodes
            .get(name)
            .is_some_and(|n| n.kind == NodeKind::Router)
    };
    let ends = |l: &Link| Some((*numbers.get(&l.a)?, *numbers.get(&l.b)?));
    let mut joined = UnionFind::new(numbers.len());
    for link in found.links.iter().filter(|l| l.carries_frames()) {
        ends(link).map(|(a, b)| joined.union(a, b));
    }
    // The nodes that each router reaches without another router.
    let bridged = joined.clone();
    let mut beside = Vec::new();
    let mut routed: Vec<usize> = open
        .iter()
        .copied()
        .filter(|&i| routes(&found.links[i].a) || routes(&found.links[i].b))
        .collect();
    routed.sort_by_cached_key(|&i| {
        let link = &found.links[i];
        let mut ends = [(&link.a, &link.a_port), (&link.b, &link.b_port)]
            .map(|(n, p)| (!routes(n), natural(n), natural(p)));
        ends.sort();
        (Reverse(link.rate_bps), ends)
    });
    let mut alarms = Vec::new();
    for i in routed {
        let link = &mut found.links[i];
        let Some((a, b)) = ends(link) else { continue };
        let sides = [bridged.find(a), bridged.find(b)];
        if joined.union(a, b) {
            link.state = LinkState::Forwarding;
            link.evidence.push(Evidence::Routed);
            beside.push(sides);
        } else {
            link.evidence.push(Evidence::RoutedElsewhere);
            if !beside.contains(&sides) && !beside.contains(&[sides[1], sides[0]]) {
                alarms.push(Alarm::between(&link.a, &link.b, AlarmKind::RoutedTwice));
            }
        }
    }
    found.alarms.extend(alarms);
}
