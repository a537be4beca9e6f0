//! The allgather along several rings, for trees in which some trunks are slower than the hosts'
//! links.
//!
//! One ring sends all blocks but one over every trunk, in both directions. But a trunk with `a`
//! hosts on one side has to carry only `a` blocks away from that side. So the tree is cut at the
//! slow trunks. The parts are *islands*. Each block crosses to the next island once, enters it at
//! one host, and goes around the island's own ring. The entry host passes it on to the islands
//! beyond.
//!
//! Source: none; the rings inside are those of allgather-switched-clusters. Input: a tree.
//! Guarantee: each host gets each block once; over a slow trunk goes one transfer after the other in
//! each direction; over a trunk between two islands with hosts each block goes at most once. The
//! hops of each island's ring do not collide with each other, only with blocks on their way to entry
//! hosts. Cost: for n hosts at most n² transfers are played event by event, O(n² (n + path length));
//! so there are at most [`MOST_HOSTS`]. Deviations: where switches without hosts join several
//! islands, a block goes from one to the next in a circle, because no host is there to send it to
//! all. The trunks up to such switches then carry more than they have to, in the direction in which
//! they have less to carry.
mod islands;
mod played;
mod routes;
#[cfg(test)]
mod tests;

use crate::bound::{self, WIRE_PER_PAYLOAD};
use crate::transfers::{TransferSchedule, TransferWait};
use inventory::Bytes;
use inventory::tree::{NodeNumber, Tree};
use islands::TreeIslands;
use played::PlayedHops;
use routes::BlockRoutes;

/// Trees of more hosts get one ring: every rank plans. Nobody measured plans for more.
pub const MOST_HOSTS: u32 = 64;
/// Several rings are planned only where they take at most this share of the ring's time.
pub const WORTH: f64 = 0.9;

/// An allgather along several rings.
#[derive(Debug, Clone, PartialEq)]
pub struct IslandRings {
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// By island: its hosts in the order of its ring.
    pub rings: Vec<Vec<NodeNumber>>,
    /// The transfers, in their order.
    pub schedule: TransferSchedule,
    /// The time of a bit of each block, at line rate, as played.
    bit: f64,
}

impl IslandRings {
    /// The seconds of a call with blocks of this size, at line rate, TCP over Ethernet.
    pub fn seconds(&self, block: Bytes) -> f64 {
        self.bit * block.0 as f64 * 8.0 * WIRE_PER_PAYLOAD
    }
}

/// The share of one ring's time that the most loaded link needs with several rings; `None` where
/// that is no gain worth a plan, or where there are too many hosts.
pub fn gain(tree: &Tree) -> Option<f64> {
    routes(tree).map(|(_, share)| share)
}

/// Plans several rings, where [`gain`] says so.
pub fn plan(tree: &Tree) -> Option<IslandRings> {
    let (routes, _) = routes(tree)?;
    let hops = routes.hops(tree);
    let played = PlayedHops::played(tree, &hops);
    let phases = played.phases(&hops);
    let mut numbers: Vec<usize> = played.order.clone();
    numbers.sort_by_key(|&hop| phases[hop]);
    let mut number = vec![0; hops.len()];
    numbers
        .iter()
        .zip(0..)
        .for_each(|(&hop, at)| number[hop] = at);
    let transfers = numbers.iter().map(|&hop| {
        let ends = hops[hop].ends();
        (phases[hop], ends, hops[hop].owner)
    });
    let mut waits: Vec<TransferWait> = (played.turns.iter())
        // Blocks between the same two hosts keep their order without a token.
        .filter(|&&(first, second)| hops[first].ends() != hops[second].ends())
        .map(|&(first, second)| TransferWait {
            after: number[first],
            before: number[second],
            from: hops[first].to,
        })
        .collect();
    waits.sort_unstable();
    waits.dedup();
    Some(IslandRings {
        hosts: tree.host_names().to_vec(),
        schedule: TransferSchedule::copied(tree.hosts(), transfers).waiting(waits),
        rings: routes.islands.rings,
        bit: played.bit,
    })
}

/// The routes of all blocks, and the share of one ring's time that the most loaded link needs. Where
/// crossings make a trunk inside an island the most loaded link, the tree is cut there, too.
fn routes(tree: &Tree) -> Option<(BlockRoutes, f64)> {
    if tree.hosts() > MOST_HOSTS {
        return None;
    }
    let mut cut = bound::slow_trunks(tree);
    let slowest = cut.iter().map(|&trunk| tree.rate(trunk).0).min()?;
    let ring = f64::from(tree.hosts() - 1) / slowest.max(1) as f64;
    let mut best: Option<(BlockRoutes, f64)> = None;
    loop {
        let routes = BlockRoutes::chosen(tree, TreeIslands::separated_by(tree, &cut));
        let (bit, busiest) = routes.bit(tree);
        let inside = Some(busiest / 2).filter(|node| !tree.is_host(*node) && !cut.contains(node));
        if best.as_ref().is_none_or(|(_, least)| bit / ring < *least) {
            best = Some((routes, bit / ring));
        }
        match inside {
            Some(trunk) => cut.push(trunk),
            None => return best.filter(|(_, share)| *share <= WORTH),
        }
    }
}
