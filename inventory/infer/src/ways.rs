//! Links over which flows spread: the ways of a routed fabric, the cables to a pair of switches that act as
//! one, the members of an aggregate that no table names, the cards of a host on several switches.
//!
//! Source: IEEE 802.1AX (aggregates, and systems of several boxes), RFC 2992 (ways of equal cost). Guarantee:
//! a link is one of several ways only if frames cannot circle over it, although no end blocks it: because
//! its ends route, because nobody behind it was ever learned on either side, or because its ends are
//! members. What stays open is open for the other rules. Cost: linear in the links.
use crate::acceptance::known::Known;
use crate::acceptance::unreported_members::UnreportedMembers;
use crate::claims::ClaimEnd;
use crate::draft::{DraftFindings, DraftLink, DraftNetwork};
use crate::facts::{DevicePortIx, Facts, NodeIx};
use crate::traced;
use inventory::evidence::{Evidence, SideBySide};
use inventory::topology::{LinkState, Node, NodeKind};
use petgraph::algo::bridges::bridges;
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// So many hosts on both of two switches show that these act as one: one alone may be moving.
const LEAST_BONDED: usize = 2;

/// Two switches that act as one, the lower number first.
pub(crate) type SwitchPair = (NodeIx, NodeIx);

/// What devices say about the links at their ports.
#[derive(Clone, Copy)]
pub(crate) struct EndStatements<'a> {
    facts: &'a Facts<'a>,
    nodes: &'a [Node],
    unreported: &'a UnreportedMembers,
}

impl<'a> EndStatements<'a> {
    pub(crate) fn known(known: &'a Known<'a>) -> EndStatements<'a> {
        EndStatements {
            facts: known.facts,
            nodes: &known.nodes,
            unreported: &known.unreported,
        }
    }

    pub(crate) fn drafted(draft: &'a DraftNetwork<'_>) -> EndStatements<'a> {
        EndStatements {
            facts: draft.facts,
            nodes: &draft.nodes,
            unreported: &draft.unreported,
        }
    }

    /// The switches at the other ends of one aggregate's members, those that share a bridge identifier, and
    /// those that have the same hosts at ports of their own. `hosts`: those that are announced, and the ports.
    pub(crate) fn switch_pairs<'e>(
        self,
        cables: impl Iterator<Item = &'e [ClaimEnd; 2]>,
        hosts: impl Iterator<Item = (NodeIx, DevicePortIx)>,
    ) -> BTreeSet<SwitchPair> {
        let facts = self.facts;
        let mut beyond: BTreeMap<_, BTreeSet<NodeIx>> = BTreeMap::new();
        for [a, b] in cables {
            for (own, far) in [(a, b), (b, a)] {
                let Some(at) = own.device_port(facts) else {
                    continue;
                };
                let aggregate = self.unreported.aggregate(facts, at);
                if let Some(aggregate) = aggregate.filter(|_| self.is_inner(far)) {
                    beyond
                        .entry((at.0, aggregate))
                        .or_default()
                        .insert(far.node);
                }
            }
        }
        let mut shared: HashMap<_, BTreeSet<NodeIx>> = HashMap::new();
        for (device, own) in facts.devices() {
            for id in &own.common_ids {
                shared.entry(*id).or_default().insert(NodeIx(device.0));
            }
        }
        let sets = beyond.into_values().chain(shared.into_values());
        sets.filter_map(|set| match set.iter().collect::<Vec<_>>()[..] {
            [a, b] => Some(pair(*a, *b)),
            _ => None,
        })
        .chain(self.with_common_hosts(hosts))
        .collect()
    }

    /// Two switches that learned the same addresses of hosts where they hear these: of two bridges that do not
    /// act as one, one would have the hosts behind the other.
    fn with_common_hosts(
        self,
        hosts: impl Iterator<Item = (NodeIx, DevicePortIx)>,
    ) -> impl Iterator<Item = SwitchPair> {
        let facts = self.facts;
        let mut places: Vec<(NodeIx, DevicePortIx)> = hosts.collect();
        places.sort_unstable();
        let several = places.chunk_by(|one, other| one.0 == other.0);
        let mut times: BTreeMap<SwitchPair, usize> = BTreeMap::new();
        for own in several.filter(|own| own.len() > 1) {
            let host = own[0].0;
            let at: BTreeSet<DevicePortIx> =
                (own.iter().map(|(_, at)| self.unreported.whole(facts, *at))).collect();
            let [&(a, p), &(b, q)] = at.iter().collect::<Vec<_>>()[..] else {
                continue;
            };
            let mut macs = facts.identity.macs_of_host(host);
            let are_at_both = macs.any(|mac| {
                let mut ports = [(a, p), (b, q)].into_iter();
                ports.all(|(device, port)| facts[device].learned.port_of(mac) == Some(port))
            });
            if a != b && are_at_both {
                let both = pair(NodeIx::from(a), NodeIx::from(b));
                *times.entry(both).or_default() += 1;
            }
        }
        let often = times.into_iter().filter(|(_, n)| *n >= LEAST_BONDED);
        often.map(|(pair, _)| pair)
    }

    fn runs_spanning_tree(self, end: &ClaimEnd) -> bool {
        let device = self.facts.device_of(end.node);
        device.is_some_and(|device| {
            let ports = &self.facts[device].ports;
            ports.iter().any(|(port, _)| ports.state(port).is_some())
        })
    }

    /// True if a device routes at an end: it only routes, or it says that it routes and the port is none of
    /// its bridge ports, nor may be the member of one that names no members.
    fn is_routed_end(self, end: &ClaimEnd) -> bool {
        if self.kind(end.node) == NodeKind::Router {
            return true;
        }
        end.device_port(self.facts).is_some_and(|(device, port)| {
            let ports = &self.facts[device].ports;
            let whole = self.unreported.whole(self.facts, (device, port)).1;
            let is_bridged = [port, whole]
                .iter()
                .any(|port| ports[*port].bridge.is_some());
            let mut bridged = ports.iter().filter(|(_, port)| port.bridge.is_some());
            let hides_members = bridged.any(|(own, port)| {
                !port.is_cable() && !ports.iter().any(|(_, p)| p.aggregate == Some(own))
            });
            self.routes(end.node) && !is_bridged && !hides_members
        })
    }

    /// True if a node says that it routes.
    fn routes(self, node: NodeIx) -> bool {
        let own = self.facts.device_of(node);
        own.is_some_and(|device| self.facts[device].routes()) || self.kind(node) == NodeKind::Router
    }

    fn learns(self, node: NodeIx) -> bool {
        let device = self.facts.device_of(node);
        device.is_some_and(|device| !self.facts[device].learned.is_empty())
    }

    fn learned_nobody(self, end: &ClaimEnd) -> bool {
        end.device_port(self.facts).is_none_or(|(device, port)| {
            let whole = self.unreported.whole(self.facts, (device, port)).1;
            self.facts[device].learned.behind(whole).len() == 0
        })
    }

    /// The ends of a link, that of a host last.
    fn switch_first(self, link: &DraftLink) -> [&ClaimEnd; 2] {
        let [a, b] = &link.ends;
        match self.is_inner(a) {
            true => [a, b],
            false => [b, a],
        }
    }

    fn is_inner(self, end: &ClaimEnd) -> bool {
        self.kind(end.node) != NodeKind::Host
    }

    /// True if frames are routed over a cable between these ends. The port of a node that cannot be asked is
    /// not seen, so its word counts there only beside that of the other end.
    pub(crate) fn is_routed(self, ends: &[ClaimEnd; 2]) -> bool {
        let by_word = ends
            .each_ref()
            .map(|end| self.facts.announces_routing(end.node));
        let mut ends = ends.iter().zip(by_word);
        by_word != [true, true] && ends.all(|(end, by_word)| by_word || self.is_routed_end(end))
    }

    /// True if frames are routed over a link, by its ends' word or because they hand packets to each other.
    fn is_routed_link(self, link: &DraftLink) -> bool {
        let mut evidence = link.evidence.iter();
        evidence.any(|e| matches!(e, Evidence::NextRouter { .. })) || self.is_routed(&link.ends)
    }

    /// True if both ends are bridge ports of devices that run no spanning tree.
    pub(crate) fn is_bridged_openly(self, ends: &[ClaimEnd; 2]) -> bool {
        ends.iter().all(|end| {
            end.device_port(self.facts)
                .is_some_and(|(device, port)| self.facts[device].ports[port].bridge.is_some())
                && !self.runs_spanning_tree(end)
        })
    }

    fn kind(self, node: NodeIx) -> NodeKind {
        self.nodes[node.0 as usize].kind
    }
}

/// Settles the links that are ways beside others. `pairs`: the switches that act as one.
pub(crate) fn settle_ways(draft: &mut DraftNetwork<'_>, pairs: &BTreeSet<SwitchPair>) {
    for pair in pairs {
        at_pair(draft, *pair).add_to(draft);
    }
    members(draft).add_to(draft);
    routed(draft).add_to(draft);
    cards(draft).add_to(draft);
}

/// The pairs of switches that act as one.
pub(crate) fn switch_pairs(draft: &DraftNetwork<'_>) -> BTreeSet<SwitchPair> {
    let sure = draft.links.iter().filter(|link| link.is_sure());
    let ends = EndStatements::drafted(draft);
    let hosts = draft.links.iter().filter_map(|link| {
        let [switch, host] = ends.switch_first(link);
        let is_attachment = !ends.is_inner(host) && link.is_sure();
        Some((host.node, switch.device_port(draft.facts)?)).filter(|_| is_attachment)
    });
    ends.switch_pairs(sure.map(|link| &link.ends), hosts)
}

pub(crate) fn pair<T: Ord + Copy>(a: T, b: T) -> (T, T) {
    (a.min(b), a.max(b))
}

/// Cables from one node to both switches of a pair are side by side. The cable between the two carries what
/// has no other way.
fn at_pair(draft: &DraftNetwork<'_>, (one, other): SwitchPair) -> DraftFindings {
    let mut by_far: BTreeMap<NodeIx, Vec<(usize, NodeIx)>> = BTreeMap::new();
    for (at, link) in draft.links.iter().enumerate() {
        let [a, b] = link.ends.each_ref().map(|end| end.node);
        for (near, far) in [(a, b), (b, a)] {
            if (near == one || near == other) && link.is_sure() && !is_blocked(link) {
                by_far.entry(far).or_default().push((at, near));
            }
        }
    }
    let names = [one, other].map(|node| draft.name(node).to_owned());
    let mut found = DraftFindings::default();
    for (far, links) in by_far {
        let near: BTreeSet<NodeIx> = links.iter().map(|(_, near)| *near).collect();
        if far == other {
            for (at, _) in links {
                if draft.links[at].state == LinkState::Unknown {
                    let evidence = SideBySide::WithinPair(names.clone());
                    found.state(at, LinkState::Forwarding, Evidence::SideBySide(evidence));
                }
            }
        } else if far != one && near.len() == 2 {
            for (at, _) in links {
                found.spread(at, SideBySide::AtPair(names.clone()));
            }
        }
    }
    found
}

/// Cables between the same two switches that take no part in a spanning tree that both run: members of an
/// aggregate. As ports of their own one of them would be blocked.
fn members(draft: &DraftNetwork<'_>) -> DraftFindings {
    let ends = EndStatements::drafted(draft);
    let mut beside: BTreeMap<SwitchPair, Vec<usize>> = BTreeMap::new();
    for (at, link) in draft.links.iter().enumerate() {
        let [a, b] = &link.ends;
        if is_open(draft, link) && [a, b].iter().all(|end| ends.runs_spanning_tree(end)) {
            beside.entry(pair(a.node, b.node)).or_default().push(at);
        }
    }
    let mut found = DraftFindings::default();
    for links in beside.into_values().filter(|links| links.len() > 1) {
        // The members of an aggregate have one rate (IEEE 802.3ad).
        let rate = draft.links[links[0]].rate;
        if links.iter().all(|at| draft.links[*at].rate == rate) {
            for at in &links {
                found.spread(*at, SideBySide::Members(links.len()));
            }
        }
    }
    found
}

/// Links on loops in which no spanning tree runs and nothing is bridged are ways beside each other. What
/// only one of a loop's links says is not enough: all must say so.
fn routed(draft: &DraftNetwork<'_>) -> DraftFindings {
    let mut found = DraftFindings::default();
    let open: Vec<usize> = (0..draft.links.len())
        .filter(|at| is_open(draft, &draft.links[*at]))
        .collect();
    let mut open = without_peers(draft, open);
    let mut looped = on_loops(draft, &open);
    let untraversed = traced::untraversed(draft, &looped);
    if !untraversed.is_empty() {
        // A loop without a link that routes withdrew may be none any more.
        open.retain(|at| !untraversed.contains_key(at));
        looped = on_loops(draft, &open);
    }
    for (at, flows) in untraversed {
        let ends = draft.links[at].ends.each_ref().map(|end| end.node);
        found.alarm(draft.alarm_between(ends, flows.alarm()));
        found.state(at, LinkState::Blocked, flows.evidence());
    }
    let on_loop: HashSet<usize> = looped.iter().copied().collect();
    for at in open.into_iter().filter(|at| !on_loop.contains(at)) {
        if EndStatements::drafted(draft).is_routed_link(&draft.links[at]) {
            found.state(at, LinkState::Forwarding, Evidence::Routed);
        }
    }
    let mut parts = UnionFind::new(draft.nodes.len());
    for at in &looped {
        let [a, b] = draft.links[*at].nodes();
        parts.union(a, b);
    }
    let bridged: HashSet<usize> = looped
        .iter()
        .filter(|at| !bridges_nothing(draft, &draft.links[**at]))
        .map(|at| parts.find(draft.links[*at].nodes()[0]))
        .collect();
    let with_hosts = nodes_with_hosts(draft);
    let mut above: HashMap<usize, BTreeSet<NodeIx>> = HashMap::new();
    for at in &looped {
        let link = &draft.links[*at];
        let part = parts.find(link.nodes()[0]);
        let ends = link.ends.iter().map(|end| end.node);
        let without_hosts = ends.filter(|node| !with_hosts.contains(node));
        above.entry(part).or_default().extend(without_hosts);
    }
    let named = above.into_iter().map(|(part, nodes)| {
        let names = nodes.into_iter().map(|node| draft.name(node).to_owned());
        (part, SideBySide::Routed(names.collect()))
    });
    let over: HashMap<usize, SideBySide> =
        named.filter(|(part, _)| !bridged.contains(part)).collect();
    for at in looped {
        let part = parts.find(draft.links[at].nodes()[0]);
        if let Some(ways) = over.get(&part) {
            found.spread(at, ways.clone());
        }
    }
    found
}

/// Leaves out the links between two switches that have hosts in common, or the same neighbours: such a pair may
/// act as one, and the link between them carries what has no other way.
fn without_peers(draft: &DraftNetwork<'_>, mut open: Vec<usize>) -> Vec<usize> {
    let statements = EndStatements::drafted(draft);
    let mut hosts: HashMap<NodeIx, BTreeSet<NodeIx>> = HashMap::new();
    for link in draft.links.iter().filter(|link| link.is_sure()) {
        let [switch, host] = statements.switch_first(link);
        if !statements.is_inner(host) {
            hosts.entry(switch.node).or_default().insert(host.node);
        }
    }
    let mut beside: HashMap<NodeIx, BTreeSet<NodeIx>> = HashMap::new();
    for at in &open {
        let [a, b] = draft.links[*at].ends.each_ref().map(|end| end.node);
        beside.entry(a).or_default().insert(b);
        beside.entry(b).or_default().insert(a);
    }
    open.retain(|at| {
        let [a, b] = draft.links[*at].ends.each_ref().map(|end| end.node);
        let [by_a, by_b] = [(a, b), (b, a)]
            .map(|(own, far)| beside[&own].iter().filter(move |node| **node != far));
        let are_alike = by_a.clone().next().is_some() && by_a.eq(by_b);
        let hosts = hosts.get(&a).zip(hosts.get(&b));
        !are_alike && hosts.is_none_or(|(one, other)| one.is_disjoint(other))
    });
    open
}

fn nodes_with_hosts(draft: &DraftNetwork<'_>) -> HashSet<NodeIx> {
    let ends = draft
        .links
        .iter()
        .map(|link| link.ends.each_ref().map(|end| end.node));
    ends.filter_map(|[a, b]| match draft.kind(b) {
        NodeKind::Host => Some(a),
        _ => (draft.kind(a) == NodeKind::Host).then_some(b),
    })
    .collect()
}

/// Those of the links without which their ends were joined still.
fn on_loops(draft: &DraftNetwork<'_>, links: &[usize]) -> Vec<usize> {
    let joins: Vec<_> = links
        .iter()
        .map(|at| (draft.links[*at].nodes(), *at))
        .collect();
    let alone = only_joins(&joins);
    links
        .iter()
        .copied()
        .filter(|at| !alone.contains(at))
        .collect()
}

/// Those of the links, each with the numbers of its ends, that alone join what is on either side: the
/// bridges of the graph.
pub(crate) fn only_joins(links: &[([usize; 2], usize)]) -> BTreeSet<usize> {
    let mut graph = UnGraph::<(), usize>::new_undirected();
    // The algorithm sees edges between distinct pairs, and two cables in parallel are two connections.
    let mut times: HashMap<(NodeIndex, NodeIndex), usize> = HashMap::new();
    for (ends, at) in links {
        let ends = ends.map(NodeIndex::new);
        while graph.node_count() <= ends[0].max(ends[1]).index() {
            graph.add_node(());
        }
        graph.add_edge(ends[0], ends[1], *at);
        *times.entry(pair(ends[0], ends[1])).or_default() += 1;
    }
    bridges(&graph)
        .filter(|edge| times[&pair(edge.source(), edge.target())] == 1)
        .map(|edge| *edge.weight())
        .collect()
}

/// True if no frame is bridged over a link: both ends route, or both bridge without a spanning tree and
/// nobody was learned behind either although an end learns elsewhere.
fn bridges_nothing(draft: &DraftNetwork<'_>, link: &DraftLink) -> bool {
    let ends = EndStatements::drafted(draft);
    let is_silent = link.ends.iter().all(|end| ends.learned_nobody(end));
    let learns = link.ends.iter().any(|end| ends.learns(end.node));
    is_silent && (ends.is_routed_link(link) || learns && ends.is_bridged_openly(&link.ends))
}

/// A host's cards on switches that a routed fabric joins: no frame goes from one to the other.
fn cards(draft: &DraftNetwork<'_>) -> DraftFindings {
    let fabric: HashSet<NodeIx> = (draft.links.iter())
        .filter(|link| link.state == LinkState::Multipath)
        .flat_map(|link| link.ends.each_ref().map(|end| end.node))
        .collect();
    let mut cards: BTreeMap<NodeIx, Vec<usize>> = BTreeMap::new();
    for (at, link) in draft.links.iter().enumerate() {
        let [a, b] = link.ends.each_ref().map(|end| end.node);
        let (host, switch) = if draft.kind(a) == NodeKind::Host {
            (a, b)
        } else {
            (b, a)
        };
        let is_card = draft.kind(host) == NodeKind::Host && fabric.contains(&switch);
        if is_card && link.is_sure() && link.state == LinkState::Forwarding {
            cards.entry(host).or_default().push(at);
        }
    }
    let mut found = DraftFindings::default();
    for links in cards.into_values() {
        let switches: BTreeSet<_> = links
            .iter()
            .map(|at| draft.links[*at].ends.each_ref().map(|end| end.node))
            .collect();
        if switches.len() > 1 {
            for at in &links {
                found.spread(*at, SideBySide::Cards(links.len()));
            }
        }
    }
    found
}

impl DraftFindings {
    fn spread(&mut self, link: usize, evidence: SideBySide) {
        self.state(link, LinkState::Multipath, Evidence::SideBySide(evidence));
    }
}

fn is_blocked(link: &DraftLink) -> bool {
    link.state == LinkState::Blocked
}

/// True if nothing says whether a link between switches carries frames.
pub(crate) fn is_open(draft: &DraftNetwork<'_>, link: &DraftLink) -> bool {
    link.state == LinkState::Unknown
        && link.is_sure()
        && link.ends.iter().all(|end| {
            let port = end.device_port(draft.facts);
            port.is_none_or(|port| draft.unreported.state(draft.facts, port).is_none())
        })
        && link
            .ends
            .iter()
            .all(|end| EndStatements::drafted(draft).is_inner(end))
        && !link
            .evidence
            .iter()
            .any(|e| matches!(e, Evidence::StateStated(_)))
}
