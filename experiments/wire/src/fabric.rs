//! A tree as ns-3 needs it: directed links, and by switch the link to each host.
use anyhow::{Context, ensure};
use inventory::BitsPerSec;
use inventory::tree::{NodeNumber, Tree};
use std::time::Duration;
use wire::links::PeerLinks;
use wire::stream_pace::StreamPace;

/// The time that a bit takes over a host's cable, its card included, and over a trunk.
const HOST_DELAY_S: f64 = 5e-6;
const TRUNK_DELAY_S: f64 = 1e-6;
/// A full frame on the wire.
const FRAME_BITS: f64 = 1538.0 * 8.0;

/// `struct NetworkLink` of network.h.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct FabricLink {
    from: u32,
    to: u32,
    bits_per_s: f64,
    delay_s: f64,
}

/// Links, and how switches route.
#[derive(Debug)]
pub(crate) struct SimulatedFabric {
    pub(crate) hosts: u32,
    pub(crate) switches: u32,
    pub(crate) links: Vec<FabricLink>,
    /// `[switch][host]`: the link to it.
    pub(crate) routes: Vec<u32>,
}

impl SimulatedFabric {
    pub(crate) fn of(tree: &Tree) -> anyhow::Result<SimulatedFabric> {
        let (hosts, nodes) = (tree.hosts(), tree.nodes());
        let mut links = Vec::new();
        let mut number = vec![u32::MAX; tree.edges() as usize];
        for node in (0..nodes).filter(|&node| tree.parent(node).is_some()) {
            let (from, to) = tree.ends(2 * node).context("a cable without ends")?;
            ensure!(
                !tree.is_host(to),
                "host {}: others are behind it, which ns-3 is not told of",
                tree.name(to)
            );
            for (edge, from, to) in [(2 * node, from, to), (2 * node + 1, to, from)] {
                number[edge as usize] = links.len() as u32;
                links.push(FabricLink {
                    from,
                    to,
                    bits_per_s: tree.rate(node).0 as f64,
                    delay_s: if tree.is_host(node) {
                        HOST_DELAY_S
                    } else {
                        TRUNK_DELAY_S
                    },
                });
            }
        }
        let mut routes = vec![u32::MAX; ((nodes - hosts) * hosts) as usize];
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
            tree.path(from, to, |edge| {
                if let Some((at, _)) = tree.ends(edge).filter(|&(at, _)| at >= hosts) {
                    routes[((at - hosts) * hosts + to) as usize] = number[edge as usize];
                }
            });
        }
        Ok(SimulatedFabric {
            hosts,
            switches: nodes - hosts,
            links,
            routes,
        })
    }
}

/// The links from a host to each other one.
pub(crate) fn links(tree: &Tree, from: NodeNumber) -> Vec<PeerLinks> {
    let to = |to: NodeNumber| {
        let (mut slowest, mut seconds) = (BitsPerSec(u64::MAX), 0.0);
        tree.path(from, to, |edge| {
            slowest = slowest.min(tree.rate(edge / 2));
            seconds += FRAME_BITS / tree.rate(edge / 2).0.max(1) as f64;
        });
        PeerLinks {
            pace: (from != to).then(|| StreamPace {
                slowest,
                own: tree.rate(from),
            }),
            frame_time: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        }
    };
    (0..tree.hosts()).map(to).collect()
}
