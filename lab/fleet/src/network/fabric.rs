//! Fabrics with more than one path: leaves and spines that route, pairs of switches that act as one,
//! trunks of several cables, hosts with a card in each of several rails; each with what vendors leave out.
mod frames;

use super::habit::{AggregateReport, RoutingReport, TreeReport};
use super::options::{FabricShape, NetworkOptions};
use super::wiring::{NetworkWiring, NodeRole, NodeSocket, node, number_ports, switch};
use super::{GeneratedNetwork, generated, neighbours, oddities};
use fastrand::Rng;
use inventory::{BitsPerSec, Mac};

const TEN: BitsPerSec = BitsPerSec(10_000_000_000);
const FORTY: BitsPerSec = BitsPerSec(40_000_000_000);

/// A fabric on its way to a network.
struct FabricWiring {
    wiring: NetworkWiring,
    /// Switches that act as one.
    pairs: Vec<[usize; 2]>,
    /// The sockets of one node that are one aggregate.
    aggregates: Vec<(usize, Vec<usize>)>,
    /// True if switches run spanning tree.
    spanning_tree: bool,
    /// The share of hosts that speak LLDP.
    host_lldp: f64,
}

/// Generates a fabric.
pub(super) fn generate(
    shape: FabricShape,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> GeneratedNetwork {
    let mut fabric = FabricWiring {
        wiring: NetworkWiring {
            nodes: vec![],
            cables: vec![],
            beside: vec![],
        },
        pairs: vec![],
        aggregates: vec![],
        spanning_tree: rng.f64() < 0.6,
        host_lldp: [1.0, 1.0, 0.0, rng.f64()][rng.usize(..4)],
    };
    match shape {
        FabricShape::LeafSpine => fabric.leaf_spine(options, rng),
        FabricShape::PairedSpines => fabric.paired_spines(options, rng),
        FabricShape::PairedLeaves => fabric.paired_leaves(options, rng),
        FabricShape::Trunks => fabric.trunks(options, rng),
        FabricShape::Rails => fabric.rails(options, rng),
    }
    fabric.number_ports(options, rng);
    fabric.leave_out(shape, rng);
    oddities::add_oddities(&mut fabric.wiring, options, rng);
    let span = fabric.span();
    let learned = fabric.learned(&span, options, rng);
    let received = neighbours::received(&fabric.wiring, &span);
    let voices = fabric.voices(&learned, &received);
    let states = fabric.states(&span);
    let mut network = generated(
        &fabric.wiring,
        &span,
        (&learned, received),
        voices,
        options,
        rng,
    );
    for (link, state) in network.truth.links.iter_mut().zip(states) {
        link.state = state;
    }
    network
}

impl FabricWiring {
    fn switches(
        &mut self,
        letter: char,
        count: usize,
        options: &NetworkOptions,
        rng: &mut Rng,
    ) -> Vec<usize> {
        let first = self.wiring.nodes.len();
        let new = (0..count).map(|n| switch(letter, n, options, rng));
        self.wiring.nodes.extend(new);
        (first..first + count).collect()
    }

    fn plug(&mut self, a: usize, b: usize, width: usize, rate: BitsPerSec) -> [NodeSocket; 2] {
        self.wiring.plug(a, b, width, rate);
        self.wiring.cables[self.wiring.cables.len() - 1].ends
    }

    /// A cable over which both ends route.
    fn route(&mut self, a: usize, b: usize, rate: BitsPerSec) {
        for (node, socket) in self.plug(a, b, 1, rate) {
            self.wiring.nodes[node].sockets[socket].apart = true;
        }
    }

    /// The sockets become one aggregate.
    fn bundle(&mut self, node: usize, sockets: Vec<usize>) {
        self.aggregates.push((node, sockets));
    }

    /// Two switches act as one, with a cable or an aggregate between them.
    fn pair(&mut self, [a, b]: [usize; 2], rng: &mut Rng) {
        let ends = self.plug(a, b, rng.usize(1..=2), FORTY);
        for (node, socket) in ends {
            self.bundle(node, vec![socket]);
        }
        // Some vendors have an address for both, others that of the first.
        let own = self.wiring.nodes[a].address;
        let Mac([x, kind, rest @ ..]) = own;
        let [c, d, e, f] = rest;
        let common = Mac([x, kind ^ 0x40, c, d, e, f]);
        let address = if rng.f64() < 0.6 { common } else { own };
        for node in [a, b] {
            self.wiring.nodes[node].pair_address = Some(address);
            self.wiring.nodes[node].priority = 0x1000;
        }
        self.pairs.push([a, b]);
    }

    /// A host with a card on each of these switches.
    fn host(&mut self, switches: &[usize], rate: BitsPerSec, rng: &mut Rng) -> usize {
        let hosts = self
            .wiring
            .nodes
            .iter()
            .filter(|n| n.role == NodeRole::Host);
        let number = hosts.count();
        let mut host = node(format!("n{number}"), NodeRole::Host, b'h', number);
        host.speaks = rng.f64() < self.host_lldp;
        self.wiring.nodes.push(host);
        let host = self.wiring.nodes.len() - 1;
        for (card, switch) in switches.iter().enumerate() {
            self.plug(*switch, host, 1, rate);
            self.wiring.nodes[host].sockets[card].apart = card > 0;
        }
        host
    }

    fn leaf_spine(&mut self, options: &NetworkOptions, rng: &mut Rng) {
        let spines = self.spines(rng.usize(1..=4), options, rng);
        let leaves = self.switches('l', rng.usize(2..=6), options, rng);
        // The same cables, with spanning tree in the place of routing.
        let is_bridged = rng.f64() < 0.15;
        let parallel = if rng.f64() < 0.2 { 2 } else { 1 };
        for leaf in &leaves {
            // Spines that reach some of the leaves only.
            let missing = rng.usize(..spines.len());
            let is_uneven = spines.len() > 1 && rng.f64() < 0.1;
            for (number, spine) in spines.iter().enumerate() {
                for _ in 0..parallel {
                    match (is_uneven && number == missing, is_bridged) {
                        (true, _) => {}
                        (false, true) => drop(self.plug(*leaf, *spine, 1, FORTY)),
                        (false, false) => self.route(*leaf, *spine, FORTY),
                    }
                }
            }
        }
        if is_bridged {
            self.spanning_tree = true;
            let all = spines.iter().chain(&leaves);
            for node in all {
                self.wiring.nodes[*node].role = NodeRole::Switch;
                self.wiring.nodes[*node].habit.routing = RoutingReport::Nothing;
            }
        } else {
            self.say_that_they_route(&leaves, rng);
        }
        for leaf in leaves {
            // A switch of an office below a leaf.
            let mut edges = vec![leaf];
            if rng.f64() < 0.15 {
                edges = self.switches('a', 1, options, rng);
                self.wiring.nodes[edges[0]].name = format!("a{leaf}");
                self.wiring.nodes[edges[0]].called = format!("a{leaf}");
                self.wiring.nodes[edges[0]].address.0[5] = leaf as u8;
                self.plug(leaf, edges[0], 1, TEN);
                edges.push(leaf);
            }
            for n in 0..rng.usize(2..=6) {
                self.host(&[edges[n % edges.len()]], TEN, rng);
            }
        }
    }

    /// Spines, some of which serve no table of a bridge.
    fn spines(&mut self, count: usize, options: &NetworkOptions, rng: &mut Rng) -> Vec<usize> {
        let spines = self.switches('s', count, options, rng);
        if rng.f64() < 0.4 {
            for spine in &spines {
                self.wiring.nodes[*spine].role = NodeRole::Router;
            }
        } else {
            self.say_that_they_route(&spines, rng);
        }
        spines
    }

    fn say_that_they_route(&mut self, switches: &[usize], rng: &mut Rng) {
        use RoutingReport as R;
        let report = [
            R::Announced,
            R::Announced,
            R::Announced,
            R::Services,
            R::Nothing,
        ][rng.usize(..5)];
        let lists_routed = rng.f64() < 0.2;
        let is_bridgeless = rng.f64() < 0.3;
        for node in switches {
            let habit = &mut self.wiring.nodes[*node].habit;
            (habit.routing, habit.lists_routed) = (report, lists_routed);
            habit.bridgeless = is_bridgeless != (rng.f64() < 0.05);
        }
    }

    fn paired_spines(&mut self, options: &NetworkOptions, rng: &mut Rng) {
        let spines = self.switches('s', 2, options, rng);
        self.pair([spines[0], spines[1]], rng);
        let leaves = self.switches('l', rng.usize(2..=6), options, rng);
        let width = rng.usize(1..=2);
        for leaf in &leaves {
            let own = spines.iter().map(|spine| {
                let [at_leaf, at_spine] = self.plug(*leaf, *spine, width, FORTY);
                self.bundle(at_spine.0, vec![at_spine.1]);
                at_leaf.1
            });
            let own: Vec<usize> = own.collect();
            self.bundle(*leaf, own);
        }
        for leaf in leaves {
            for _ in 0..rng.usize(2..=6) {
                self.host(&[leaf], TEN, rng);
            }
        }
    }

    fn paired_leaves(&mut self, options: &NetworkOptions, rng: &mut Rng) {
        let pairs = rng.usize(1..=3);
        let above = match (pairs, rng.usize(..3)) {
            (1, 0) => vec![],
            (_, 1) => self.spines(rng.usize(1..=3), options, rng),
            _ => self.switches('c', 1, options, rng),
        };
        let routes = above.iter().any(|n| {
            let node = &self.wiring.nodes[*n];
            node.role == NodeRole::Router || node.name.starts_with('s')
        });
        let leaves = self.switches('l', 2 * pairs, options, rng);
        for pair in leaves.chunks(2) {
            let pair = [pair[0], pair[1]];
            self.pair(pair, rng);
            match (routes, &above[..]) {
                (true, spines) => {
                    for (leaf, spine) in pair
                        .iter()
                        .flat_map(|leaf| spines.iter().map(move |spine| (leaf, spine)))
                    {
                        self.route(*leaf, *spine, FORTY);
                    }
                }
                (false, [core]) => {
                    let at_core = pair.map(|leaf| {
                        let [own, far] = self.plug(leaf, *core, 1, FORTY);
                        self.bundle(leaf, vec![own.1]);
                        far.1
                    });
                    self.bundle(*core, at_core.to_vec());
                }
                _ => {}
            }
            let bonded = [1.0, 0.8][rng.usize(..2)];
            for n in 0..rng.usize(2..=6) {
                if rng.f64() >= bonded {
                    self.host(&[pair[n % 2]], TEN, rng);
                    continue;
                }
                let host = self.host(&pair, TEN, rng);
                for card in 0..2 {
                    let (leaf, socket) = self.wiring.far(host, card);
                    self.bundle(leaf, vec![socket]);
                }
            }
        }
        if routes {
            self.say_that_they_route(&leaves, rng);
        }
    }

    fn trunks(&mut self, options: &NetworkOptions, rng: &mut Rng) {
        let switches = self.switches('s', rng.usize(2..=6), options, rng);
        for (number, switch) in switches.iter().enumerate() {
            if number > 0 {
                let above = switches[rng.usize(..number)];
                let ends = self.plug(above, *switch, rng.usize(2..=4), TEN);
                for (node, socket) in ends {
                    self.bundle(node, vec![socket]);
                }
            }
            for _ in 0..rng.usize(2..=6) {
                self.host(&[*switch], TEN, rng);
            }
        }
    }

    fn rails(&mut self, options: &NetworkOptions, rng: &mut Rng) {
        let spines = self.spines(rng.usize(1..=4), options, rng);
        let rails = self.switches('l', rng.usize(2..=8), options, rng);
        for (rail, spine) in rails
            .iter()
            .flat_map(|rail| spines.iter().map(move |spine| (rail, spine)))
        {
            self.route(*rail, *spine, FORTY);
        }
        self.say_that_they_route(&rails, rng);
        for _ in 0..rng.usize(3..=10) {
            self.host(&rails, TEN, rng);
        }
    }

    fn number_ports(&mut self, options: &NetworkOptions, rng: &mut Rng) {
        number_ports(&mut self.wiring, options, rng);
        let sockets = self.wiring.nodes.iter_mut().flat_map(|n| &mut n.sockets);
        sockets.for_each(|socket| socket.aggregate = None);
        let mut numbers = vec![0; self.wiring.nodes.len()];
        for (node, sockets) in &self.aggregates {
            numbers[*node] += 1;
            for socket in sockets {
                self.wiring.nodes[*node].sockets[*socket].aggregate = Some(numbers[*node]);
            }
        }
    }

    /// The tables that devices leave out.
    fn leave_out(&mut self, shape: FabricShape, rng: &mut Rng) {
        let tables = [
            AggregateReport::Members,
            AggregateReport::Members,
            AggregateReport::Nothing,
            AggregateReport::Unlisted,
        ];
        let aggregates = tables[rng.usize(..tables.len())];
        let serves_databases = rng.f64() < 0.8;
        let is_off = !self.spanning_tree && rng.f64() < 0.2;
        for node in &mut self.wiring.nodes {
            let habit = &mut node.habit;
            if habit.aggregates == AggregateReport::Members {
                habit.aggregates = aggregates;
            }
            habit.served = habit.served.filter(|_| serves_databases);
            // Spanning tree stops at links over which switches route.
            if is_off && shape != FabricShape::Trunks {
                habit.tree = TreeReport::Disabled;
            }
        }
    }
}
