//! The links that carry frames by STP (IEEE 802.1D, clause 8.4), the root bridges, and alarms about
//! loops.
use super::device::DeviceTables;
use super::islands::LearnedStations;
use super::{InferenceScope, InferredNetwork, routed, stated};
use indexmap::IndexMap;
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::evidence::{DevicePort, Evidence};
use inventory::observation::{BridgeId, StpState};
use inventory::topology::{LinkGrade, LinkState, NodeKind};
use petgraph::algo::bridges::bridges;
use petgraph::graph::UnGraph;
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Sets the state of every link, raises alarms about loops, and returns the root bridges' names.
pub(super) fn set_link_states(
    scope: &InferenceScope<'_>,
    devices: &[DeviceTables<'_>],
    learned: &[LearnedStations],
    found: &mut InferredNetwork,
) -> Vec<String> {
    let hears: Vec<HashSet<String>> = devices
        .iter()
        .zip(learned)
        .map(|(device, rows)| hearing(device, rows))
        .collect();
    let by_name: HashMap<&str, usize> = devices
        .iter()
        .enumerate()
        .map(|(i, d)| (d.name, i))
        .collect();
    let state = |switch: &str, port: &str| devices[*by_name.get(switch)?].state_of(port);
    let mut open = Vec::new();
    for (i, link) in found.links.iter_mut().enumerate() {
        let ends = [state(&link.a, &link.a_port), state(&link.b, &link.b_port)];
        let at_edge = found
            .nodes
            .get(&link.b)
            .is_some_and(|n| matches!(n.kind, NodeKind::Host | NodeKind::Unmanaged));
        link.state = combined(ends, at_edge);
        if let Some(told) = told([(&link.a, &link.a_port), (&link.b, &link.b_port)], ends) {
            link.evidence.push(told);
        }
        let unsaid =
            ends.contains(&None) && ends.iter().flatten().all(|s| *s == StpState::Forwarding);
        // A node that does not answer may have unknown links. Frames that come in prove that the
        // link carries.
        let heard = [(&link.a, &link.a_port), (&link.b, &link.b_port)].map(|(switch, port)| {
            let ports = &hears[*by_name.get(switch.as_str())?];
            Some(ports.is_empty() || ports.contains(port.as_str()))
        });
        let unsaid = unsaid && !(heard.contains(&None) && heard.contains(&Some(false)));
        if link.state == LinkState::Unknown && link.grade != LinkGrade::Ambiguous && unsaid {
            open.push(i);
        }
    }
    stated::set_stated_states(scope, devices, found);
    open.retain(|i| found.links[*i].state == LinkState::Unknown);
    only_ways(found, &open);
    routed::settle_router_links(found, &open);
    loops(found);
    root_bridges(devices, found)
}

/// The names of the ports on which stations are learned, and of the members of such aggregates.
fn hearing(device: &DeviceTables<'_>, learned: &LearnedStations) -> HashSet<String> {
    let ports: HashSet<u32> = learned.rows().map(|(_, port)| port).collect();
    ports
        .into_iter()
        .flat_map(|index| device.names_of(index))
        .collect()
}

/// A link carries if both ends forward, and does not if one end does not. At a host only one end
/// can be asked, and a switch without STP forwards.
fn combined(ends: [Option<StpState>; 2], at_edge: bool) -> LinkState {
    let said: Vec<StpState> = ends.into_iter().flatten().collect();
    let blocked = said.iter().any(|s| {
        matches!(
            s,
            StpState::Blocking | StpState::Disabled | StpState::Broken
        )
    });
    let moving = said
        .iter()
        .any(|s| matches!(s, StpState::Listening | StpState::Learning));
    match said.len() {
        _ if blocked => LinkState::Blocked,
        _ if moving => LinkState::Unknown,
        2 => LinkState::Forwarding,
        _ if at_edge => LinkState::Forwarding,
        _ => LinkState::Unknown,
    }
}

fn told(ports: [(&String, &String); 2], ends: [Option<StpState>; 2]) -> Option<Evidence> {
    let said = ports
        .into_iter()
        .zip(ends)
        .filter_map(|((switch, port), state)| Some((DevicePort::new(switch, port), state?)));
    let said: Vec<_> = said.collect();
    (!said.is_empty()).then_some(Evidence::PortStates(said))
}

/// Not every device serves its STP states. A link that is the only connection between two parts
/// carries the frames between them, even if its ends state nothing. Such links are the bridges of
/// the graph of links that are not blocked.
fn only_ways(found: &mut InferredNetwork, open: &[usize]) {
    let mut graph = UnGraph::<(), usize>::new_undirected();
    let mut numbers = HashMap::new();
    for (i, link) in found
        .links
        .iter()
        .enumerate()
        .filter(|(_, l)| l.state != LinkState::Blocked)
    {
        let [a, b] = [&link.a, &link.b].map(|n| {
            *numbers
                .entry(n.clone())
                .or_insert_with(|| graph.add_node(()))
        });
        graph.add_edge(a, b, i);
    }
    // Two cables in parallel are two connections. The algorithm sees edges between distinct pairs,
    // so parallel cables are taken out.
    let mut pairs: HashMap<_, usize> = HashMap::new();
    for edge in graph.edge_references() {
        *pairs
            .entry((
                edge.source().min(edge.target()),
                edge.source().max(edge.target()),
            ))
            .or_default() += 1;
    }
    let ways: BTreeSet<usize> = bridges(&graph)
        .filter(|e| pairs[&(e.source().min(e.target()), e.source().max(e.target()))] == 1)
        .map(|e| *e.weight())
        .collect();
    for &i in open.iter().filter(|i| ways.contains(i)) {
        let known = |n: &String| {
            found
                .nodes
                .get(n)
                .is_some_and(|n| n.kind != NodeKind::Router)
        };
        let link = &found.links[i];
        if known(&link.a) && known(&link.b) {
            let link = &mut found.links[i];
            link.state = LinkState::Forwarding;
            link.evidence.push(Evidence::OnlyWay);
        }
    }
}

/// Forwarding links must form a forest.
fn loops(found: &mut InferredNetwork) {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for name in found.nodes.keys() {
        numbers.insert(name.clone(), numbers.len());
    }
    let mut parts = UnionFind::new(numbers.len());
    let mut closing = Vec::new();
    for link in found
        .links
        .iter()
        .filter(|l| l.state == LinkState::Forwarding && l.grade != LinkGrade::Ambiguous)
    {
        let (Some(&a), Some(&b)) = (numbers.get(&link.a), numbers.get(&link.b)) else {
            continue;
        };
        if !parts.union(a, b) {
            closing.push((link.a.clone(), link.b.clone()));
        }
    }
    for (a, b) in closing {
        found.alarms.push(Alarm::between(a, b, AlarmKind::Loop));
    }
}

/// For each part without a router between its switches: the switch whose bridge address all
/// answering switches name as the root's. A part whose switches disagree has no root bridge.
fn root_bridges(devices: &[DeviceTables<'_>], found: &mut InferredNetwork) -> Vec<String> {
    let mut owners = Vec::new();
    let mut unwatched = BTreeSet::new();
    for part in parts(devices, found) {
        let Some(root) = root_bridge(&part) else {
            continue;
        };
        match devices
            .iter()
            .find(|d| d.view.bridge.as_ref().and_then(|b| b.address) == Some(root.address))
        {
            Some(owner) if owners.iter().any(|o| o == owner.name) => {}
            Some(owner) => owners.push(owner.name.to_owned()),
            None => drop(unwatched.insert(root)),
        }
    }
    for root in unwatched {
        found.alarms.push(Alarm {
            subject: AlarmSubject::RootBridge,
            kind: AlarmKind::RootUnwatched(root),
        });
    }
    owners
}

/// The bridges of each part; parts are in the order of their first bridge.
fn parts<'d, 'a>(
    devices: &'d [DeviceTables<'a>],
    found: &InferredNetwork,
) -> Vec<Vec<&'d DeviceTables<'a>>> {
    let numbers: HashMap<&str, usize> = found
        .nodes
        .keys()
        .enumerate()
        .map(|(i, n)| (n.as_str(), i))
        .collect();
    let routes = |name: &str| {
        found
            .nodes
            .get(name)
            .is_some_and(|n| n.kind == NodeKind::Router)
    };
    let mut joined = UnionFind::new(numbers.len());
    for link in found
        .links
        .iter()
        .filter(|l| !routes(&l.a) && !routes(&l.b))
    {
        if let (Some(&a), Some(&b)) = (numbers.get(link.a.as_str()), numbers.get(link.b.as_str())) {
            joined.union(a, b);
        }
    }
    let mut parts: IndexMap<Option<usize>, Vec<&DeviceTables<'_>>> = IndexMap::new();
    for device in devices.iter().filter(|d| !routes(d.name)) {
        parts
            .entry(numbers.get(device.name).map(|n| joined.find(*n)))
            .or_default()
            .push(device);
    }
    parts.into_values().collect()
}

/// The root bridge that all fresh devices name, or that all devices name if none is fresh.
fn root_bridge(part: &[&DeviceTables<'_>]) -> Option<BridgeId> {
    let said = |fresh: bool| {
        let named = part
            .iter()
            .filter(|d| !(fresh && d.stale()))
            .filter_map(|d| d.view.bridge.as_ref()?.root_bridge);
        named.collect::<BTreeSet<_>>()
    };
    let fresh = said(true);
    let roots = if fresh.is_empty() { said(false) } else { fresh };
    roots.first().copied().filter(|_| roots.len() == 1)
}
