//! A generated tree of switches, with stations, other networks and oddities.
use super::options::{NetworkOptions, NetworkShape};
use super::wiring::{NetworkWiring, NodeRole, number_ports, switch, unmanaged};
use super::{beside, oddities, stations};
use fastrand::Rng;
use inventory::BitsPerSec;
use std::collections::BTreeSet;

pub(super) fn wiring(options: &NetworkOptions, rng: &mut Rng) -> NetworkWiring {
    let mut wiring = NetworkWiring {
        nodes: (0..options.switches)
            .map(|n| switch('s', n, options, rng))
            .collect(),
        cables: vec![],
        beside: vec![],
    };
    switches(&mut wiring, options, rng);
    stations::add_stations(&mut wiring, options, rng);
    beside::add_networks(&mut wiring, options, rng);
    number_ports(&mut wiring, options, rng);
    oddities::add_oddities(&mut wiring, options, rng);
    wiring
}

/// Cables the switches: a tree in the wanted shape, unmanaged bridges in some of its cables, and
/// further cables that close rings.
fn switches(wiring: &mut NetworkWiring, options: &NetworkOptions, rng: &mut Rng) {
    let count = options.switches;
    let mut joined = BTreeSet::new();
    for n in 1..count {
        let above = match options.shape {
            NetworkShape::Row => n - 1,
            NetworkShape::Star => 0,
            NetworkShape::Random => rng.usize(..n),
            NetworkShape::Fan(fan) => (n - 1) / fan.max(1),
            // The other spines are below the first leaf.
            NetworkShape::Spines(spines) if n < spines && spines < count => spines,
            NetworkShape::Spines(_) => 0,
        };
        joined.insert((above.min(n), above.max(n)));
    }
    let tree: Vec<(usize, usize)> = joined.iter().copied().collect();
    for (a, b) in tree {
        match rng.f64() < options.unmanaged {
            true => between(wiring, [a, b], options, rng),
            false => trunk(wiring, a, b, options, rng),
        }
    }
    if options.spanning_tree {
        rings(wiring, &mut joined, options, rng);
    }
}

fn rings(
    wiring: &mut NetworkWiring,
    joined: &mut BTreeSet<(usize, usize)>,
    options: &NetworkOptions,
    rng: &mut Rng,
) {
    let count = options.switches;
    if let NetworkShape::Spines(spines) = options.shape {
        for (a, b) in (0..spines.min(count)).flat_map(|a| (spines..count).map(move |b| (a, b))) {
            if joined.insert((a, b)) {
                trunk(wiring, a, b, options, rng);
            }
        }
    }
    for _ in 0..options.redundant {
        let (a, b) = (rng.usize(..count), rng.usize(..count));
        if a != b && joined.insert((a.min(b), a.max(b))) {
            trunk(wiring, a.min(b), a.max(b), options, rng);
        }
    }
}

fn trunk(wiring: &mut NetworkWiring, a: usize, b: usize, options: &NetworkOptions, rng: &mut Rng) {
    let width = if rng.f64() < options.aggregates {
        rng.usize(2..=4)
    } else {
        1
    };
    let rates = [BitsPerSec::GIGABIT, BitsPerSec(10_000_000_000)];
    wiring.plug(a, b, width, rates[rng.usize(..2)]);
}

/// Joins two switches by an unmanaged bridge, which may be one that the first has already.
fn between(wiring: &mut NetworkWiring, ends: [usize; 2], options: &NetworkOptions, rng: &mut Rng) {
    let [a, b] = ends;
    let mut beside = (0..wiring.nodes[a].sockets.len()).map(|s| wiring.far(a, s).0);
    let old = beside
        .rfind(|n| wiring.nodes[*n].role == NodeRole::Unmanaged)
        .filter(|_| rng.f64() < options.odd.segments);
    let bridge = old.unwrap_or_else(|| {
        let bridge = unmanaged(wiring, options, rng);
        wiring.plug(a, bridge, 1, BitsPerSec::GIGABIT);
        bridge
    });
    wiring.plug(b, bridge, 1, BitsPerSec::GIGABIT);
}
