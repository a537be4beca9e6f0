//! The networks beside the main one: that by which switches are managed, and that of storage. Most hosts
//! have a card in them, too.
use super::options::NetworkOptions;
use super::wiring::{NetworkBeside, NetworkWiring, NodeRole, switch};
use fastrand::Rng;
use inventory::BitsPerSec;

/// The share of hosts with a card in a network beside the main one.
const CARDS: f64 = 0.85;

/// The share of switches that are managed through a port of their own.
const OWN_PORTS: f64 = 0.8;

pub(super) fn add_networks(wiring: &mut NetworkWiring, options: &NetworkOptions, rng: &mut Rng) {
    let hosts = wiring.of_role(NodeRole::Host).collect::<Vec<_>>();
    if options.odd.storage {
        let mut storage = switches('t', wiring, options, rng);
        cards(
            &mut storage,
            wiring,
            &hosts,
            BitsPerSec(10_000_000_000),
            rng,
        );
        wiring.beside.push(storage);
    }
    if options.odd.management {
        let managed = wiring.of_role(NodeRole::Switch).collect::<Vec<_>>();
        let mut management = switches('m', wiring, options, rng);
        cards(&mut management, wiring, &hosts, BitsPerSec::mega(100), rng);
        for node in managed {
            if !wiring.nodes[node].sockets.is_empty() && rng.f64() < OWN_PORTS {
                plug_apart(&mut management, wiring, node, BitsPerSec::GIGABIT, rng);
            }
        }
        wiring.beside.push(management);
    }
}

/// A tree of switches, and at times a ring.
fn switches(
    letter: char,
    wiring: &mut NetworkWiring,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> NetworkBeside {
    let mut beside = NetworkBeside::default();
    for number in 0..rng.usize(1..=2 + options.switches / 3) {
        let new = wiring.nodes.len();
        wiring.nodes.push(switch(letter, number, options, rng));
        if let Some(&above) = rng.choice(&beside.switches) {
            wiring.plug(above, new, 1, BitsPerSec::GIGABIT);
        }
        beside.switches.push(new);
    }
    if let [first, _, .., last] = beside.switches[..]
        && options.spanning_tree
        && rng.bool()
    {
        wiring.plug(first, last, 1, BitsPerSec::GIGABIT);
    }
    beside
}

fn cards(
    beside: &mut NetworkBeside,
    wiring: &mut NetworkWiring,
    hosts: &[usize],
    rate: BitsPerSec,
    rng: &mut Rng,
) {
    for (number, &host) in hosts.iter().enumerate() {
        // No network is empty.
        if number == 0 || rng.f64() < CARDS {
            plug_apart(beside, wiring, host, rate, rng);
        }
    }
}

/// Plugs a node that forwards nothing here into one of the switches.
fn plug_apart(
    beside: &mut NetworkBeside,
    wiring: &mut NetworkWiring,
    node: usize,
    rate: BitsPerSec,
    rng: &mut Rng,
) {
    let switch = beside.switches[rng.usize(..beside.switches.len())];
    wiring.plug(switch, node, 1, rate);
    let socket = wiring.nodes[node].sockets.len() - 1;
    wiring.nodes[node].sockets[socket].apart = true;
    beside.stations.push((node, socket));
}
