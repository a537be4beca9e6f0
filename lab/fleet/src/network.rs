//! Networks drawn from a seed: the cabling, and the statements of each switch about it.
//!
//! ```text
//! options, seed --wiring--> nodes and cables --spanning_tree--> forwarding cables
//!               --traffic--> learned stations --statements--> DeviceViews
//! ```
//!
//! Each step is computed as in a real network. The spanning tree follows from bridge identifiers
//! and path costs, forwarding databases follow from the conversations that passed each bridge, and
//! LLDP frames go as far as bridges let them.
mod habit;
mod recable;
mod spanning_tree;
mod statements;
mod traffic;
mod wiring;

#[cfg(test)]
mod tests;

use fastrand::Rng;
use inventory::Topology;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use std::collections::BTreeSet;

/// A generated network.
#[derive(Debug, Clone)]
pub struct GeneratedNetwork {
    /// The true cabling, which nobody in the network knows: every node, and every link with ports,
    /// members, rate and state. Bridges that the inventory does not list are of kind `Unmanaged`,
    /// and their ports have no names.
    pub truth: Topology,
    /// The operator's inventory: switches at made-up addresses, and hosts.
    pub inventory: Inventory,
    /// The statements of the switches that answer.
    pub views: DeviceViews,
    /// Switches of the inventory that do not answer.
    pub silent: BTreeSet<String>,
}

/// The size of a network and its defects. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkOptions {
    /// The number of switches in the inventory.
    pub switches: usize,
    /// The number of hosts.
    pub hosts: usize,
    /// The shape of the tree of switches.
    pub shape: NetworkShape,
    /// The number of cables between switches beyond a tree, which spanning tree blocks. There are
    /// none if no spanning tree runs.
    pub redundant: usize,
    /// True if the switches run spanning tree.
    pub spanning_tree: bool,
    /// The share of cables between switches that are aggregates of two to four.
    pub aggregates: f64,
    /// The share of switches that do not answer.
    pub silent: f64,
    /// The share of switches that do not speak LLDP.
    pub mute: f64,
    /// The share of cables between switches that have an unmanaged bridge in between, which the
    /// inventory does not list and which does not answer. The same number of further unmanaged
    /// bridges have only hosts behind them.
    pub unmanaged: f64,
    /// The share of bridges without LLDP that pass its frames on, against IEEE 802.1D-2004, 7.12.6.
    /// [`field`] has none: two nodes that hear each other through such a bridge are taken for
    /// neighbours unless another statement contradicts. With 0.3 of them, five of 13,000 certain
    /// links in 1,000 networks are false.
    ///
    /// [`field`]: NetworkOptions::field
    pub transparent: f64,
    /// The share of hosts that speak LLDP.
    pub host_lldp: f64,
    /// The share of speaking hosts whose addresses the inventory does not state.
    pub unstated: f64,
    /// The number of other hosts that each host talked with lately.
    pub talks: usize,
    /// The seconds within which it did so. Switches forget after 300 s, a few of them sooner or
    /// later.
    pub window: u32,
    /// True if every bridge saw a broadcast of each host.
    pub seed_frames: bool,
    /// True if switches are managed through the network itself, so that bridges learn their
    /// addresses.
    pub in_band: bool,
    /// The share of learned rows that are lost before they are old.
    pub forgotten: f64,
    /// The share of hosts that moved lately and left old rows behind.
    pub moved: f64,
    /// True if vendors differ in numbering, naming, and missing tables.
    pub habits: bool,
}

/// The shape of the tree of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkShape {
    /// One after the other.
    Row,
    /// All on the first.
    Star,
    /// Each on one of those before it.
    Random,
    /// Every leaf on each of this many spines, which come first.
    Spines(usize),
    /// A tree in which each switch has this many switches below it.
    Fan(usize),
}

impl NetworkOptions {
    /// A large network of one vendor without defects: a tree of switches with up to 32 others below
    /// each.
    pub fn regular(switches: usize, hosts: usize) -> NetworkOptions {
        NetworkOptions {
            switches,
            hosts,
            shape: NetworkShape::Fan(32),
            redundant: switches / 10,
            spanning_tree: true,
            aggregates: 0.0,
            silent: 0.0,
            mute: 0.0,
            unmanaged: 0.0,
            transparent: 0.0,
            host_lldp: 1.0,
            unstated: 0.5,
            talks: 2,
            window: 60,
            seed_frames: false,
            in_band: false,
            forgotten: 0.0,
            moved: 0.0,
            habits: false,
        }
    }

    /// A small network like those in the field, with a fifth of the switches silent. Each seed
    /// gives another mixture.
    pub fn field(seed: u64) -> NetworkOptions {
        let mut rng = Rng::with_seed(seed ^ 0x6669_656c_6400);
        let switches = rng.usize(2..=15);
        let shapes = [
            NetworkShape::Row,
            NetworkShape::Star,
            NetworkShape::Random,
            NetworkShape::Random,
            NetworkShape::Spines(2),
            NetworkShape::Fan(3),
        ];
        NetworkOptions {
            switches,
            hosts: rng.usize(switches..=6 * switches),
            shape: shapes[rng.usize(..shapes.len())],
            redundant: rng.usize(..=switches / 3),
            spanning_tree: rng.f64() < 0.9,
            aggregates: 0.25,
            silent: 0.2,
            mute: 0.15,
            unmanaged: 0.06,
            transparent: 0.0,
            host_lldp: rng.f64(),
            unstated: 0.0,
            talks: rng.usize(1..=6),
            window: 400,
            seed_frames: true,
            in_band: rng.bool(),
            forgotten: 0.02,
            moved: 0.1,
            habits: true,
        }
    }
}

/// Generates a network. The same options and seed give the same network.
pub fn generate(options: &NetworkOptions, seed: u64) -> GeneratedNetwork {
    let mut rng = Rng::with_seed(seed);
    let wiring = wiring::wiring(options, &mut rng);
    let span = spanning_tree::SpanningTreeState::new(&wiring, options.spanning_tree);
    let learned = traffic::learned(&wiring, &span, options, &mut rng);
    GeneratedNetwork {
        truth: statements::truth(&wiring, &span),
        inventory: statements::inventory(&wiring, options, &mut rng),
        views: statements::views(&wiring, &span, &learned, &mut rng),
        silent: wiring
            .nodes
            .iter()
            .filter(|n| n.silent)
            .map(|n| n.name.clone())
            .collect(),
    }
}
