//! The stations of a network: hosts, some behind telephones or with guests, and routers.
use super::options::NetworkOptions;
use super::wiring::{NetworkWiring, NodeRole, WiredNode, node, unmanaged};
use fastrand::Rng;
use inventory::BitsPerSec;

/// Plugs hosts and routers into switches and unmanaged bridges.
pub(super) fn add_stations(wiring: &mut NetworkWiring, options: &NetworkOptions, rng: &mut Rng) {
    for n in 0..options.switches {
        if rng.f64() < options.unmanaged {
            let bridge = unmanaged(wiring, options, rng);
            wiring.plug(n, bridge, 1, BitsPerSec::GIGABIT);
        }
    }
    let bridges = wiring.nodes.len();
    for n in 0..options.hosts {
        // Regular networks are even.
        let bridge = if options.habits {
            rng.usize(..bridges)
        } else {
            n % bridges
        };
        let edge = match rng.f64() < options.odd.phones {
            true => phone(wiring, bridge, n),
            false => bridge,
        };
        // A telephone need not have a host behind it.
        if edge < bridges || rng.f64() < 0.7 {
            host(wiring, edge, n, options, rng);
        }
    }
    for n in 0..options.odd.routers {
        router(wiring, n, bridges, rng);
    }
    // A transparent bridge with two ends cannot be distinguished from a cable.
    wiring
        .nodes
        .iter_mut()
        .filter(|n| n.sockets.len() < 3)
        .for_each(|n| n.transparent = false);
}

fn host(
    wiring: &mut NetworkWiring,
    edge: usize,
    number: usize,
    options: &NetworkOptions,
    rng: &mut Rng,
) {
    wiring.nodes.push(WiredNode {
        speaks: rng.f64() < options.host_lldp,
        asked: rng.f64() < options.odd.asked_hosts,
        ..node(format!("n{number}"), NodeRole::Host, b'h', number)
    });
    let host = wiring.nodes.len() - 1;
    wiring.plug(edge, host, 1, BitsPerSec::GIGABIT);
    if rng.f64() < options.odd.virtual_bridges {
        for guest in 0..rng.usize(1..=3) {
            let name = format!("n{number}-guest{guest}");
            wiring.nodes.push(WiredNode {
                listed: rng.f64() < 0.3,
                ..node(name, NodeRole::Host, b'g', number * 4 + guest)
            });
            wiring.plug(host, wiring.nodes.len() - 1, 1, BitsPerSec::GIGABIT);
        }
    }
}

/// A telephone on a bridge.
fn phone(wiring: &mut NetworkWiring, edge: usize, number: usize) -> usize {
    let phone = WiredNode {
        cdp: true,
        ..node(format!("phone{number}"), NodeRole::Phone, b'p', number)
    };
    let called = format!(
        "SEP{}",
        phone.address.to_string().replace(':', "").to_uppercase()
    );
    wiring.nodes.push(WiredNode { called, ..phone });
    wiring.plug(edge, wiring.nodes.len() - 1, 1, BitsPerSec::GIGABIT);
    wiring.nodes.len() - 1
}

/// A router, with interfaces on several bridges.
fn router(wiring: &mut NetworkWiring, number: usize, bridges: usize, rng: &mut Rng) {
    let asked = rng.f64() < 0.7;
    wiring.nodes.push(WiredNode {
        asked,
        listed: asked,
        speaks: rng.bool(),
        cdp: rng.bool(),
        ..node(format!("r{number}"), NodeRole::Router, b'r', number)
    });
    let router = wiring.nodes.len() - 1;
    for _ in 0..rng.usize(1..=3) {
        wiring.plug(rng.usize(..bridges), router, 1, BitsPerSec::GIGABIT);
    }
}
