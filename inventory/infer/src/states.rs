//! The links that carry frames by STP (IEEE 802.1D, clause 8.4), the root bridges, and alarms about
//! loops.
use crate::acceptance::known::block_each_other;
use crate::carried::settle_carried;
use crate::claims::ClaimEnd;
use crate::draft::{DraftFindings, DraftLink, DraftNetwork, operator};
use crate::facts::device::DeviceFacts;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, Facts};
use crate::networks::{BridgedParts, LEAST_BRIDGE_PORTS, SplitHosts, is_own_port};
use crate::routed;
use crate::ways::{SwitchPair, only_joins, pair, settle_ways, switch_pairs};
use indexmap::IndexMap;
use inventory::Mac;
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::evidence::Evidence;
use inventory::observation::{BridgeId, StpState};
use inventory::topology::{LinkGrade, LinkState, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The network with the state of every link and alarms about loops, and the root bridges' names.
pub(crate) fn with_states(mut draft: DraftNetwork<'_>) -> (DraftNetwork<'_>, Vec<String>) {
    let (found, mut open) = spanning_tree_states(&draft);
    found.add_to(&mut draft);
    // The operator's statements take precedence over everything that is concluded from here on.
    operator::stated_states(&draft).add_to(&mut draft);
    let pairs = switch_pairs(&draft);
    settle_ways(&mut draft, &pairs);
    settle_carried(&draft).add_to(&mut draft);
    open.retain(|i| draft.links[*i].state == LinkState::Unknown);
    let parts = bridged_parts(&draft);
    only_ways(&draft, &open, &parts).add_to(&mut draft);
    routed::settle_router_links(&draft, &open).add_to(&mut draft);
    loops(&draft, &parts, &pairs).add_to(&mut draft);
    let (roots, unwatched) = root_bridges(&draft);
    unwatched.add_to(&mut draft);
    (draft, roots)
}

/// The states that the ends tell, and the links of which an end tells nothing and none that it blocks.
fn spanning_tree_states(draft: &DraftNetwork<'_>) -> (DraftFindings, Vec<usize>) {
    let (mut found, mut open) = (DraftFindings::about(draft.links.len()), Vec::new());
    for (i, link) in draft.links.iter().enumerate() {
        if let Some(evidence) = own_port(draft, link) {
            found.state(i, LinkState::Blocked, evidence);
            continue;
        }
        let states = end_states(draft, link);
        let far = draft.kind(link.ends[1].node);
        let at_edge = matches!(far, NodeKind::Host | NodeKind::Unmanaged);
        let (state, evidence) = (combined(states, at_edge), port_states(draft, link, states));
        let unsaid = states.contains(&None)
            && states.iter().flatten().all(|s| *s == StpState::Forwarding)
            && !is_unheard(draft, link);
        if state == LinkState::Unknown && link.grade != LinkGrade::Ambiguous && unsaid {
            open.push(i);
        }
        found.state(i, state, evidence);
    }
    (found, open)
}

/// The evidence that an end of the link is a port by which a device is managed.
fn own_port(draft: &DraftNetwork<'_>, link: &DraftLink) -> Option<Evidence> {
    let [a, b] = &link.ends;
    let own = [(a, b), (b, a)]
        .into_iter()
        .find(|(own, other)| is_own_port(draft.facts, own, other))?
        .0;
    let (device, port) = own.device_port(draft.facts)?;
    Some(Evidence::OwnPort(draft.facts[device].place(port)))
}

/// The STP state of each end.
fn end_states(draft: &DraftNetwork<'_>, link: &DraftLink) -> [Option<StpState>; 2] {
    link.ends.each_ref().map(|end| {
        let port = end.device_port(draft.facts)?;
        draft.unreported.state(draft.facts, port)
    })
}

/// True if no end learned a station there, although one learns stations elsewhere. Nodes that do
/// not answer may have unknown links; frames that come in prove that this link carries.
fn is_unheard(draft: &DraftNetwork<'_>, link: &DraftLink) -> bool {
    let learned = link.ends.each_ref().map(|end| {
        let device = draft.facts.device_of(end.node)?;
        let own = &draft.facts[device];
        let at_port = end.port.index().is_some_and(|port| {
            let whole = draft.unreported.whole(draft.facts, (device, port)).1;
            own.learned.behind(whole).len() > 0
        });
        (!own.learned.is_empty()).then_some(at_port)
    });
    learned.contains(&Some(false)) && !learned.contains(&Some(true))
}

/// A link carries if both ends forward, and does not if one end does not. At a host only one end
/// can be asked, and a switch without STP forwards.
pub(crate) fn combined(ends: [Option<StpState>; 2], at_edge: bool) -> LinkState {
    let states: Vec<StpState> = ends.into_iter().flatten().collect();
    let blocked = states.iter().any(|s| {
        matches!(
            s,
            StpState::Blocking | StpState::Disabled | StpState::Broken
        )
    });
    let moving = states
        .iter()
        .any(|s| matches!(s, StpState::Listening | StpState::Learning));
    match states.len() {
        _ if block_each_other(ends) => LinkState::Unknown,
        _ if blocked => LinkState::Blocked,
        // The port has not decided yet, and nothing is planned meanwhile.
        _ if moving => LinkState::Unknown,
        2 => LinkState::Forwarding,
        _ if at_edge => LinkState::Forwarding,
        _ => LinkState::Unknown,
    }
}

fn port_states(
    draft: &DraftNetwork<'_>,
    link: &DraftLink,
    states: [Option<StpState>; 2],
) -> Option<Evidence> {
    let mut found = Vec::with_capacity(states.iter().flatten().count());
    found.extend(link.ends.iter().zip(states).filter_map(|(end, state)| {
        let (device, port) = end.device_port(draft.facts)?;
        Some((draft.facts[device].place(port), state?))
    }));
    (!found.is_empty()).then_some(Evidence::PortStates(found))
}

/// Not every device serves its STP states. A link that is the only connection between two parts
/// carries the frames between them, even if its ends state nothing. Such links are the bridges of
/// the graph of links that are not blocked.
fn only_ways(draft: &DraftNetwork<'_>, open: &[usize], parts: &BridgedParts) -> DraftFindings {
    let mut found = DraftFindings::default();
    if open.is_empty() {
        return found;
    }
    let mut cards = SplitHosts::new(draft.facts, parts, draft.nodes.len());
    let links = draft.links.iter().enumerate();
    let joins: Vec<_> = links
        .filter(|(_, link)| link.state != LinkState::Blocked)
        // No frame goes from another port of a bridge to one that takes no part in bridging.
        .filter(|(_, link)| !link.ends.iter().any(|end| is_apart(draft, end)))
        .map(|(i, link)| (cards.ends(&draft.nodes, link), i))
        .collect();
    let ways = only_joins(&joins);
    for &i in open.iter().filter(|i| ways.contains(i)) {
        if !draft.is_at_router(&draft.links[i]) {
            found.state(i, LinkState::Forwarding, Evidence::OnlyWay);
        }
    }
    found
}

/// True if a bridge lists all its cabled ports that are up as bridge ports, but not this one, and
/// learned nobody there: its management port.
fn is_apart(draft: &DraftNetwork<'_>, end: &ClaimEnd) -> bool {
    let Some((device, port)) = end.device_port(draft.facts) else {
        return false;
    };
    let own = &draft.facts[device];
    let whole = draft.unreported.whole(draft.facts, (device, port)).1;
    let cables = own.ports.iter().filter(|(_, p)| p.up && p.is_cable());
    let (listed, others): (Vec<PortIx>, Vec<PortIx>) =
        cables.map(|(port, _)| port).partition(|&at| {
            let whole = draft.unreported.whole(draft.facts, (device, at)).1;
            [at, whole]
                .iter()
                .any(|port| own.ports[*port].bridge.is_some())
        });
    listed.len() >= LEAST_BRIDGE_PORTS && others == [port] && own.learned.behind(whole).len() == 0
}

/// The switches that links join, whatever their states.
fn bridged_parts(draft: &DraftNetwork<'_>) -> BridgedParts {
    let links = draft.links.iter().filter(|link| !link.is_at_own_port());
    let ends = links.map(|link| link.ends.each_ref().map(|end| end.node));
    BridgedParts::new(draft.facts, &draft.nodes, ends, &[])
}

/// Forwarding links must form a forest, with those over which flows spread. The link within a pair of
/// switches that act as one closes no loop.
fn loops(
    draft: &DraftNetwork<'_>,
    bridged: &BridgedParts,
    pairs: &BTreeSet<SwitchPair>,
) -> DraftFindings {
    let mut cards = SplitHosts::new(draft.facts, bridged, draft.nodes.len());
    // Each further card of a host may have a number of its own.
    let mut parts = UnionFind::new(draft.nodes.len() + draft.links.len());
    let mut found = DraftFindings::default();
    for link in draft.carrying_links() {
        let [a, b] = cards.ends(&draft.nodes, link);
        let ends = link.ends.each_ref().map(|end| end.node);
        let is_within = pairs.contains(&pair(ends[0], ends[1]));
        let is_new = parts.union(a, b);
        if !is_new && !is_within && link.state == LinkState::Forwarding {
            found.alarm(draft.alarm_between(ends, AlarmKind::Loop));
        }
    }
    found
}

/// For each part without a router between its switches: the switch whose bridge address all
/// answering switches name as the root's. A part whose switches disagree has no root bridge.
fn root_bridges(draft: &DraftNetwork<'_>) -> (Vec<String>, DraftFindings) {
    let facts = draft.facts;
    // The first of several devices with one bridge identifier stands for all of them.
    let mut owner_of: HashMap<Mac, &DeviceFacts> = facts
        .devices()
        .filter_map(|(_, d)| Some((d.bridge_address?, d)))
        .collect();
    for (_, own) in facts.devices() {
        for address in &own.common_ids {
            owner_of.entry(*address).or_insert(own);
        }
    }
    let mut owners: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let mut unwatched = BTreeSet::new();
    for part in parts(draft) {
        let Some(root) = root_bridge(facts, &part) else {
            continue;
        };
        match owner_of.get(&root.address) {
            Some(owner) if seen.insert(&owner.name) => owners.push(owner.name.clone()),
            Some(_) => {}
            None => drop(unwatched.insert(root)),
        }
    }
    let mut found = DraftFindings::default();
    for root in unwatched {
        found.alarm(Alarm {
            subject: AlarmSubject::other("root bridge"),
            kind: AlarmKind::RootUnwatched { root },
        });
    }
    (owners, found)
}

/// The bridges of each part; parts are in the order of their first bridge.
fn parts(draft: &DraftNetwork<'_>) -> Vec<Vec<DeviceIx>> {
    let mut joined = UnionFind::new(draft.nodes.len());
    let ends_tree =
        |node: &usize| matches!(draft.nodes[*node].kind, NodeKind::Router | NodeKind::Host);
    for link in draft.links.iter().filter(|link| !link.is_at_own_port()) {
        let [a, b] = link.nodes();
        if ![a, b].iter().any(ends_tree) {
            joined.union(a, b);
        }
    }
    let mut parts: IndexMap<usize, Vec<DeviceIx>> = IndexMap::new();
    for (device, _) in draft.facts.devices() {
        let node = device.0 as usize;
        if draft.nodes[node].kind != NodeKind::Router {
            parts.entry(joined.find(node)).or_default().push(device);
        }
    }
    parts.into_values().collect()
}

/// The root bridge that all fresh devices name, or that all devices name if none is fresh.
fn root_bridge(facts: &Facts<'_>, part: &[DeviceIx]) -> Option<BridgeId> {
    let mut named = [true, false].into_iter().map(|fresh| {
        let devices = part.iter().map(|d| &facts[*d]);
        let counted = devices.filter(|d| !(fresh && d.stale));
        counted
            .filter_map(|d| d.root_bridge)
            .collect::<BTreeSet<_>>()
    });
    let roots = named.find(|roots| !roots.is_empty())?;
    roots.first().copied().filter(|_| roots.len() == 1)
}
