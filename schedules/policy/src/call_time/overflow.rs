//! The block from which on an all-to-all overflows the queue of a switch port, if all blocks are
//! sent at once.
use super::wire;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{BitsPerSec, Bytes};
use std::collections::BTreeMap;

/// Where a hash chooses among several cables, the messages on one of them exceed their mean number by so many
/// standard deviations now and then: balls in bins.
pub(crate) const DEVIATIONS: f64 = 3.0;

/// The ranks that send at each rate, in bits a second.
type SendersByRate = BTreeMap<u64, f64>;

/// The smallest block with which the queue of some switch port overflows while each rank of
/// `host_of` sends its blocks one after the other at its part of its host's rate, to others in turn; `None`
/// if none does at any size.
///
/// The hosts before a port send to those behind it at a rate, and the port passes on at another.
/// The rest queues, until the fastest hosts have sent all their blocks, and then until the next ones have.
/// Where all ports of hosts are as fast, and each sender has a block for each, a port of a host passes on as
/// fast as its blocks come. Among cables side by side a hash chooses, and the fullest one counts. The numbers
/// come of sums, products, quotients and roots alone, so all ranks get the same.
pub(crate) fn smallest_overflowing_block(hosts: &Tree, host_of: &[NodeNumber]) -> Option<Bytes> {
    let (below, ranks) = senders_below(hosts, host_of);
    let all = &below[hosts.root() as usize];
    let others = host_of.len().saturating_sub(1) as f64;
    let ports = (0..hosts.edges()).filter(|&edge| {
        let from = hosts.ends(edge).map(|(from, _)| from);
        from.is_some_and(|from| !hosts.is_host(from))
    });
    let queued = ports.map(|edge| {
        let node = edge as usize / 2;
        let inside = ranks[node];
        let outside = host_of.len() as f64 - inside;
        let (share, rate) = fullest_cable(hosts, edge / 2, inside * outside);
        // Of what a rank sends, so much is for those behind the port.
        if edge.is_multiple_of(2) {
            blocks_in_queue(&below[node], share * outside / others, others, rate)
        } else {
            let senders = without(all, &below[node]);
            blocks_in_queue(&senders, share * inside / others, others, rate)
        }
    });
    filling(hosts, queued.fold(0.0, f64::max))
}

/// The smallest block of hosts that send in one order is not looked for among more hosts than this: each pair of
/// hosts has to be visited.
const MOST_IN_ORDER: u32 = 256;

/// The smallest block with which the queue of some trunk's port overflows while each host sends to the next one of
/// the process set first, then to the one after it, and so on, as libraries do; `None` if none does at any size.
///
/// On average a trunk may carry what comes. But hosts at one switch turn to others elsewhere at about the same time.
pub(super) fn smallest_block_in_order(hosts: &Tree, host_of: &[NodeNumber]) -> Option<Bytes> {
    if hosts.hosts() > MOST_IN_ORDER {
        return None;
    }
    let mut order: Vec<NodeNumber> = Vec::new();
    let mut ranks = vec![0.0; hosts.hosts() as usize];
    for &host in host_of {
        if ranks[host as usize] == 0.0 {
            order.push(host);
        }
        ranks[host as usize] += 1.0;
    }
    let mut queued = vec![0.0_f64; hosts.edges() as usize];
    let mut most = 0.0_f64;
    for turn in 1..order.len() {
        let sent: Vec<(NodeNumber, NodeNumber, f64)> = order
            .iter()
            .zip(order.iter().cycle().skip(turn))
            .map(|(&from, &to)| (from, to, ranks[from as usize] * ranks[to as usize]))
            .collect();
        let growing = growing(hosts, &sent);
        for ((edge, queue), more) in (0..).zip(&mut queued).zip(growing) {
            if is_trunk_port(hosts, edge) {
                *queue = (*queue + more).max(0.0);
                most = most.max(*queue);
            }
        }
    }
    filling(hosts, most)
}

/// The smallest elements of an allreduce with which the queue of some trunk's port overflows while each rank swaps half
/// of them with its neighbour, a quarter with a rank twice as far away, and so on, as MPICH does (Rabenseifner); `None`
/// if none does at any size. Each rank has a host of its own.
pub(crate) fn smallest_halved(hosts: &Tree, host_of: &[NodeNumber]) -> Option<Bytes> {
    let distances = std::iter::successors(Some(1), |distance| Some(2 * distance));
    let queued = distances
        .take_while(|distance| 2 * distance <= host_of.len())
        .flat_map(|distance| {
            let others = (0..).map(|rank: usize| host_of.get(rank ^ distance));
            let pairs = host_of.iter().zip(others);
            let sent: Vec<(NodeNumber, NodeNumber, f64)> = pairs
                .filter_map(|(&from, to)| Some((from, *to?, 0.5 / distance as f64)))
                .collect();
            let edges = (0..hosts.edges()).zip(growing(hosts, &sent));
            edges.filter(|(edge, _)| is_trunk_port(hosts, *edge))
        });
    filling(hosts, queued.map(|(_, more)| more).fold(0.0, f64::max))
}

/// By edge: so much more comes than goes on while hosts send this at once.
fn growing(hosts: &Tree, sent: &[(NodeNumber, NodeNumber, f64)]) -> Vec<f64> {
    let takes = sent
        .iter()
        .map(|&(from, _, blocks)| blocks / hosts.rate(from).0.max(1) as f64)
        .fold(0.0, f64::max);
    let goes: Vec<f64> = (0..hosts.edges())
        .map(|edge| hosts.rate(edge / 2).0 as f64 * takes)
        .collect();
    let offered = coming(hosts, sent, &vec![1.0; goes.len()]);
    let passed: Vec<f64> = goes
        .iter()
        .zip(&offered)
        .map(|(goes, &offered)| (goes / offered.max(1e-9)).min(1.0))
        .collect();
    let come = coming(hosts, sent, &passed);
    come.iter()
        .zip(goes)
        .map(|(come, goes)| come - goes)
        .collect()
}

fn is_trunk_port(hosts: &Tree, edge: EdgeNumber) -> bool {
    let ends = hosts.ends(edge);
    ends.is_some_and(|(from, to)| !hosts.is_host(from) && !hosts.is_host(to))
}

/// By edge: the blocks that come to it, of which each edge before passes on such a part.
fn coming(hosts: &Tree, sent: &[(NodeNumber, NodeNumber, f64)], passed: &[f64]) -> Vec<f64> {
    let mut come = vec![0.0; hosts.edges() as usize];
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for &(from, to, blocks) in sent {
        hosts.path(from, to, |edge| {
            let way = if edge.is_multiple_of(2) {
                &mut up
            } else {
                &mut down
            };
            way.push(edge);
        });
        let mut left = blocks;
        for edge in up.drain(..).chain(down.drain(..).rev()) {
            come[edge as usize] += left;
            left *= passed[edge as usize];
        }
    }
    come
}

/// The block of which so many, each with headers of its own, fill the queue of a port.
fn filling(hosts: &Tree, most: f64) -> Option<Bytes> {
    // Quotients are rounded: what is a whole number of octets but for that stays one.
    let whole = (hosts.queue().0 as f64 / most - 1e-6).ceil() as u64;
    (most > 1e-9).then_some(Bytes(whole.saturating_sub(wire(0)).max(1)))
}

/// True if ranks that send one block at a time may send more over some cable of several than it carries.
pub(crate) fn may_meet_on_a_cable(hosts: &Tree, host_of: &[NodeNumber]) -> bool {
    let (below, ranks) = senders_below(hosts, host_of);
    let all = &below[hosts.root() as usize];
    let together =
        |senders: &SendersByRate| -> f64 { senders.iter().map(|(&rate, n)| rate as f64 * n).sum() };
    (0..hosts.nodes()).any(|node| {
        let inside = &below[node as usize];
        // Nobody gets two at once.
        let sent = together(inside).min(together(&without(all, inside)));
        let pairs = ranks[node as usize].min(host_of.len() as f64 - ranks[node as usize]);
        let (share, rate) = fullest_cable(hosts, node, pairs);
        let has_choice = !hosts.is_host(node) && hosts.member_cables(node).len() > 1;
        has_choice && sent * share > rate.0 as f64
    })
}

/// The part of so many blocks over an edge that the fullest of its cables gets, and the rate of that one.
fn fullest_cable(hosts: &Tree, node: NodeNumber, blocks: f64) -> (f64, BitsPerSec) {
    let cables = hosts.member_cables(node);
    let slowest = cables.iter().map(|cable| cable.rate).min();
    let (Some(rate), 2..) = (slowest, cables.len()) else {
        return (1.0, hosts.rate(node));
    };
    let mean = 1.0 / cables.len() as f64;
    // Blocks choose by chance: the share of a cable has the standard deviation of a binomial distribution.
    let deviation = (mean * (1.0 - mean) / blocks.max(1.0)).sqrt();
    ((mean + DEVIATIONS * deviation).min(1.0), rate)
}

/// The blocks that queue at most in a port of this rate, before which these ranks send so many blocks each,
/// and a part of them over it.
fn blocks_in_queue(senders: &SendersByRate, part: f64, blocks: f64, rate: BitsPerSec) -> f64 {
    let coming = senders
        .iter()
        .map(|(&rate, ranks)| rate as f64 * ranks * part);
    let mut comes: f64 = coming.sum();
    let (mut queued, mut most, mut began) = (0.0_f64, 0.0_f64, 0.0);
    for (&each, ranks) in senders.iter().rev() {
        // The fastest ones that still send have sent all then, if a block has one bit.
        let ends = blocks / each.max(1) as f64;
        queued = (queued + (comes - rate.0 as f64) * (ends - began)).max(0.0);
        most = most.max(queued);
        comes -= each as f64 * ranks * part;
        began = ends;
    }
    most
}

/// By node: the ranks below it by their rates, and their number.
fn senders_below(hosts: &Tree, host_of: &[NodeNumber]) -> (Vec<SendersByRate>, Vec<f64>) {
    let mut ranks = vec![0.0; hosts.nodes() as usize];
    host_of.iter().for_each(|&host| ranks[host as usize] += 1.0);
    let mut below = vec![SendersByRate::new(); hosts.nodes() as usize];
    for host in 0..hosts.hosts() {
        let own = ranks[host as usize];
        if own > 0.0 {
            let each = hosts.rate(host).0 / own as u64;
            below[host as usize].insert(each, own);
        }
    }
    for &node in hosts.top_down().iter().rev() {
        if let Some(parent) = hosts.parent(node) {
            ranks[parent as usize] += ranks[node as usize];
            let own = below[node as usize].clone();
            for (rate, ranks) in own {
                *below[parent as usize].entry(rate).or_default() += ranks;
            }
        }
    }
    (below, ranks)
}

fn without(all: &SendersByRate, some: &SendersByRate) -> SendersByRate {
    let others = all.iter().map(|(&rate, ranks)| {
        let left = ranks - some.get(&rate).copied().unwrap_or(0.0);
        (rate, left)
    });
    others.filter(|(_, ranks)| *ranks > 0.0).collect()
}
