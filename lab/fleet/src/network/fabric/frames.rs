//! The frames of a fabric: spanning tree where it runs, the stations that switches learned, and the state of
//! each cable.
use super::FabricWiring;
use crate::network::LinkVoice;
use crate::network::neighbours::HeardFrames;
use crate::network::options::NetworkOptions;
use crate::network::spanning_tree::{self, SpanningTreeState};
use crate::network::traffic::{FrameStation, LearnedPort, LearnedRows};
use crate::network::wiring::{NodeRole, NodeSocket};
use fastrand::Rng;
use inventory::topology::LinkState;
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, VecDeque};

impl FabricWiring {
    /// The bridged cables between switches.
    fn bridged(&self) -> impl Iterator<Item = &[NodeSocket; 2]> {
        let nodes = &self.wiring.nodes;
        let ends = self.wiring.cables.iter().map(|cable| &cable.ends);
        ends.filter(move |ends| {
            ends.iter().all(move |(node, socket)| {
                nodes[*node].role == NodeRole::Switch && !nodes[*node].sockets[*socket].apart
            })
        })
    }

    /// The first of a pair for both, and each other switch for itself.
    fn as_one(&self, node: usize) -> usize {
        let pair = self.pairs.iter().find(|pair| pair.contains(&node));
        pair.map_or(node, |pair| pair[0])
    }

    pub(super) fn span(&self) -> SpanningTreeState {
        if !self.spanning_tree || self.pairs.is_empty() {
            return SpanningTreeState::new(&self.wiring, self.spanning_tree);
        }
        let nodes = &self.wiring.nodes;
        let mut far: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for [a, b] in self.bridged() {
            let [a, b] = [a.0, b.0].map(|n| self.as_one(n));
            far.entry(a).or_default().push(b);
            far.entry(b).or_default().push(a);
        }
        let mut nearest: Vec<Option<(usize, usize)>> = vec![None; nodes.len()];
        let mut by_id: Vec<usize> = (0..nodes.len())
            .filter(|n| nodes[*n].role == NodeRole::Switch)
            .collect();
        by_id.sort_by_key(|n| (spanning_tree::id(&self.wiring, *n), *n));
        for root in by_id.into_iter().map(|n| self.as_one(n)) {
            let mut next = VecDeque::from([(root, 0)]);
            while let Some((node, distance)) = next.pop_front() {
                if nearest[node].is_none() {
                    nearest[node] = Some((root, distance));
                    next.extend(
                        far.get(&node)
                            .into_iter()
                            .flatten()
                            .map(|n| (*n, distance + 1)),
                    );
                }
            }
        }
        let order = |(node, socket): NodeSocket| {
            (nearest[self.as_one(node)], self.as_one(node), node, socket)
        };
        let designated = (0..nodes.len())
            .map(|node| {
                let own = (0..nodes[node].sockets.len()).map(|socket| {
                    let ends = [(node, socket), self.wiring.far(node, socket)];
                    let is_inner = self.bridged().any(|cable| cable.contains(&ends[0]));
                    match is_inner && order(ends[1]) < order(ends[0]) {
                        true => ends[1],
                        false => ends[0],
                    }
                });
                own.collect()
            })
            .collect();
        let roots = (0..nodes.len())
            .map(|n| Some(nearest[self.as_one(n)]?.0))
            .collect();
        SpanningTreeState::of_pairs(roots, designated)
    }

    /// Every bridge learned the stations of its network on the shortest way there.
    pub(super) fn learned(
        &self,
        span: &SpanningTreeState,
        options: &NetworkOptions,
        rng: &mut Rng,
    ) -> LearnedRows {
        let nodes = &self.wiring.nodes;
        let mut learned: LearnedRows = vec![BTreeMap::new(); nodes.len()];
        for station in self.stations(options) {
            let mut reached = vec![false; nodes.len()];
            reached[station.0] = true;
            let mut next: VecDeque<usize> = VecDeque::new();
            for (node, socket) in self.attachments(station) {
                if nodes[node].role == NodeRole::Switch
                    && !std::mem::replace(&mut reached[node], true)
                {
                    learned[node].insert(station, (1, LearnedPort::Socket(socket)));
                    next.push_back(node);
                }
            }
            if nodes[station.0].role == NodeRole::Switch {
                next.push_back(station.0);
            }
            while let Some(node) = next.pop_front() {
                for &[a, b] in self.bridged() {
                    for (near, far) in [(a, b), (b, a)] {
                        let carries = [near, far].iter().all(|end| span.forwards(*end));
                        if near.0 == node
                            && carries
                            && !std::mem::replace(&mut reached[far.0], true)
                        {
                            learned[far.0].insert(station, (1, LearnedPort::Socket(far.1)));
                            next.push_back(far.0);
                        }
                    }
                }
            }
        }
        for (rows, node) in learned.iter_mut().zip(nodes) {
            let kept = (1.0 - options.forgotten) * node.habit.served.unwrap_or_default();
            rows.retain(|_, _| rng.f64() < kept);
        }
        learned
    }

    /// Hosts, once for each network in which they have a card, and switches that are managed in band.
    fn stations(&self, options: &NetworkOptions) -> Vec<FrameStation> {
        let mut stations = Vec::new();
        for (number, node) in self.wiring.nodes.iter().enumerate() {
            match node.role {
                NodeRole::Host if self.is_bonded(number) => stations.push((number, 0)),
                NodeRole::Host => stations.extend((0..node.sockets.len()).map(|s| (number, s))),
                NodeRole::Switch if options.in_band && node.asked => stations.push((number, 0)),
                _ => {}
            }
        }
        stations
    }

    /// True if a host has one address on all its cards.
    fn is_bonded(&self, host: usize) -> bool {
        let cards = self.wiring.nodes[host].sockets.len();
        let switches: Vec<usize> = (0..cards)
            .map(|card| self.wiring.far(host, card).0)
            .collect();
        self.pairs.iter().any(|pair| switches == pair)
    }

    /// The ends at switches of a station's cables.
    fn attachments(&self, (node, socket): FrameStation) -> Vec<NodeSocket> {
        match self.wiring.nodes[node].role {
            NodeRole::Host if self.is_bonded(node) => {
                (0..2).map(|card| self.wiring.far(node, card)).collect()
            }
            NodeRole::Host => vec![self.wiring.far(node, socket)],
            _ => vec![],
        }
    }

    /// By cable: what tells of it.
    pub(super) fn voices(&self, learned: &LearnedRows, received: &HeardFrames) -> Vec<LinkVoice> {
        let nodes = &self.wiring.nodes;
        let ends = self.wiring.cables.iter().map(|cable| cable.ends);
        ends.enumerate()
            .map(|(number, [a, b])| {
                // The inventory states the address of a host's first card only.
                let is_known =
                    nodes[b.0].role == NodeRole::Host && (b.1 == 0 || self.is_bonded(b.0));
                let mut rows = learned[a.0].iter();
                match () {
                    () if received.announced.contains(&number) => LinkVoice::Spoken,
                    () if is_known
                        && nodes[a.0].serves_rows()
                        && rows
                            .any(|(s, (_, at))| s.0 == b.0 && *at == LearnedPort::Socket(a.1)) =>
                    {
                        LinkVoice::Learned
                    }
                    () => LinkVoice::Hidden,
                }
            })
            .collect()
    }

    /// By cable: whether it carries frames, and whether others do beside it.
    pub(super) fn states(&self, span: &SpanningTreeState) -> Vec<LinkState> {
        let nodes = &self.wiring.nodes;
        let cables = self.wiring.cables.iter().map(|cable| cable.ends);
        cables
            .enumerate()
            .map(|(number, ends)| {
                let [a, b] = ends;
                let hosts = nodes[b.0].role == NodeRole::Host && nodes[b.0].sockets.len() > 1;
                match () {
                    () if !ends.iter().all(|end| span.forwards(*end)) => LinkState::Blocked,
                    () if hosts || self.is_at_pair(a.0, b.0) || self.is_at_pair(b.0, a.0) => {
                        LinkState::Multipath
                    }
                    () if nodes[b.0].role != NodeRole::Host
                        && self.is_routed(a)
                        && !self.joins_alone(number) =>
                    {
                        LinkState::Multipath
                    }
                    () => LinkState::Forwarding,
                }
            })
            .collect()
    }

    fn is_routed(&self, (node, socket): NodeSocket) -> bool {
        self.wiring.nodes[node].sockets[socket].apart
    }

    /// True if a node has bridged cables to both of a pair, of which this is one.
    fn is_at_pair(&self, one: usize, far: usize) -> bool {
        let pair = self
            .pairs
            .iter()
            .find(|pair| pair.contains(&one) && !pair.contains(&far));
        pair.is_some_and(|pair| {
            pair.iter().all(|one| {
                self.bridged()
                    .any(|[a, b]| [[a.0, b.0], [b.0, a.0]].contains(&[*one, far]))
            })
        })
    }

    /// True if switches are in two parts without this cable.
    fn joins_alone(&self, number: usize) -> bool {
        let mut parts = UnionFind::new(self.wiring.nodes.len());
        let all = self.wiring.cables.iter().enumerate();
        for (_, cable) in all.filter(|(other, _)| *other != number) {
            let [a, b] = cable.ends.map(|end| end.0);
            if self.wiring.nodes[b].role != NodeRole::Host {
                parts.union(a, b);
            }
        }
        let [a, b] = self.wiring.cables[number].ends.map(|end| end.0);
        parts.find(a) != parts.find(b)
    }
}
