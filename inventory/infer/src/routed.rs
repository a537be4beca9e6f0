//! The links that carry frames at routers. Spanning tree ends at routers, so their links carry
//! frames unless an end denies it. Routed networks may have loops, and only routing tables, which
//! are not read, decide among several paths. The first path counts, and an alarm is raised.
use crate::draft::{DraftFindings, DraftNetwork};
use inventory::alarm::AlarmKind;
use inventory::evidence::Evidence;
use inventory::natural_order::natural;
use inventory::topology::{LinkState, NodeKind};
use petgraph::unionfind::UnionFind;
use std::cmp::Reverse;

/// Settles the links at routers among `open`, unless an end says that it does not forward.
pub(crate) fn settle_router_links(draft: &DraftNetwork<'_>, open: &[usize]) -> DraftFindings {
    let mut found = DraftFindings::default();
    let mut routed: Vec<usize> = open
        .iter()
        .copied()
        .filter(|&i| draft.is_at_router(&draft.links[i]))
        .collect();
    if routed.is_empty() {
        return found;
    }
    let mut joined = UnionFind::new(draft.nodes.len());
    for link in draft.carrying_links() {
        let [a, b] = link.nodes();
        joined.union(a, b);
    }
    // The nodes that each router reaches without another router.
    let bridged = joined.clone();
    let mut beside = Vec::new();
    routed.sort_by_cached_key(|&i| {
        let link = &draft.links[i];
        let mut ends = link.ends.each_ref().map(|end| {
            let switch = draft.kind(end.node) != NodeKind::Router;
            let (name, port) = (draft.name(end.node), draft.port_name(end));
            (switch, natural(name), natural(port))
        });
        ends.sort();
        // The first path counts, so faster links come first.
        (Reverse(link.rate), ends)
    });
    for i in routed {
        let link = &draft.links[i];
        let [a, b] = link.nodes();
        let sides = [bridged.find(a), bridged.find(b)];
        if joined.union(a, b) {
            found.state(i, LinkState::Forwarding, Evidence::Routed);
            beside.push(sides);
        } else {
            found.evidence(i, Evidence::RoutedElsewhere);
            if !beside.contains(&sides) && !beside.contains(&[sides[1], sides[0]]) {
                let ends = link.ends.each_ref().map(|end| end.node);
                found.alarm(draft.alarm_between(ends, AlarmKind::RoutedTwice));
            }
        }
    }
    found
}
