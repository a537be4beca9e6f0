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
mod beside;
mod fabric;
mod generated_tree;
mod habit;
mod neighbours;
mod oddities;
mod options;
mod recable;
mod situation;
mod spanning_tree;
mod statements;
mod stations;
mod tables;
mod traffic;
mod walks;
mod wiring;

#[cfg(test)]
mod tests;

pub use options::{FabricShape, NetworkOptions, NetworkShape, OddityShares};
pub use situation::NetworkSituation;
pub use tables::InterfaceLayers;

use fastrand::Rng;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::{Mac, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// A generated network.
#[derive(Debug, Clone)]
pub struct GeneratedNetwork {
    /// The true cabling, which nobody in the network knows: every node, and every link with ports,
    /// members, rate and state. Bridges that the inventory does not list are of kind `Unmanaged`,
    /// and their ports have no names.
    pub truth: Topology,
    /// The operator's inventory: switches at made-up addresses, and hosts.
    pub inventory: Inventory,
    /// The statements of the devices that answer.
    pub views: DeviceViews,
    /// The layers of their interfaces.
    pub layers: BTreeMap<String, InterfaceLayers>,
    /// The truth about each node, by its name.
    pub nodes: BTreeMap<String, TrueNode>,
    /// The evidence of each link, in the order of the truth's links.
    pub voices: Vec<LinkVoice>,
    /// Switches of the inventory that do not answer.
    pub silent: BTreeSet<String>,
    /// The bridges of each network, the main one first.
    pub networks: Vec<BTreeSet<String>>,
}

/// The truth about a node, beside its links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueNode {
    /// Its own name for itself, which others may have, too.
    pub called: String,
    /// Every address that it sends from or announces.
    pub addresses: Vec<Mac>,
    /// It answers by SNMP.
    pub asked: bool,
    /// The inventory lists it.
    pub listed: bool,
    /// Frames pass through it.
    pub bridges: bool,
    /// It speaks LLDP or CDP.
    pub speaks: bool,
}

/// The evidence of a link that an observer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkVoice {
    /// An asked end lists the other by LLDP or CDP, under an identity that is no other's.
    Spoken,
    /// Forwarding databases alone: those of both switches, or the switch's row of the host.
    Learned,
    /// Neither.
    Hidden,
}

/// Generates a network. The same options and seed give the same network.
pub fn generate(options: &NetworkOptions, seed: u64) -> GeneratedNetwork {
    let mut rng = Rng::with_seed(seed);
    if let Some(shape) = options.fabric {
        return fabric::generate(shape, options, &mut rng);
    }
    let wiring = generated_tree::wiring(options, &mut rng);
    let span = spanning_tree::SpanningTreeState::new(&wiring, options.spanning_tree);
    let learned = traffic::learned(&wiring, &span, options, &mut rng);
    let received = neighbours::received(&wiring, &span);
    let voices = statements::voices(&wiring, &span, &learned, &received);
    generated(
        &wiring,
        &span,
        (&learned, received),
        voices,
        options,
        &mut rng,
    )
}

/// The network of these cables, in which devices learned and received this.
fn generated(
    wiring: &wiring::NetworkWiring,
    span: &spanning_tree::SpanningTreeState,
    (learned, mut received): (&traffic::LearnedRows, neighbours::HeardFrames),
    voices: Vec<LinkVoice>,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> GeneratedNetwork {
    let inventory = statements::inventory(wiring, options, rng);
    let (views, layers) = statements::views(wiring, span, learned, &mut received, rng);
    GeneratedNetwork {
        truth: statements::truth(wiring, span),
        inventory,
        views,
        layers,
        nodes: statements::nodes(wiring),
        voices,
        networks: statements::networks(wiring),
        silent: wiring
            .nodes
            .iter()
            .filter(|n| n.role == wiring::NodeRole::Switch && n.listed && !n.asked)
            .map(|n| n.name.clone())
            .collect(),
    }
}
