//! The block from which on an all-to-all overflows the queue of a switch port, if all blocks are
//! sent at once.
use inventory::tree::{NodeNumber, Tree};
use inventory::{BitsPerSec, Bytes};

/// The content of a full queue: that of the lab's switches, and of many small ones.
const QUEUE: Bytes = Bytes(128 << 10);

/// The smallest block with which the queue of some switch port overflows while each rank of
/// `host_of` sends its blocks one after the other at its host's rate, to others in turn; `None` if
/// none does at any size.
///
/// The hosts before a port send to those behind it at a rate, and the port passes on at another.
/// The rest queues. Where all ports of hosts are as fast, and each sender has a block for each, a
/// port of a host passes on as fast as its blocks come.
pub(super) fn smallest_overflowing_block(hosts: &Tree, host_of: &[NodeNumber]) -> Option<Bytes> {
    let below = ranks_and_rates_below(hosts, host_of);
    let all = below[hosts.root() as usize];
    let ports = (0..hosts.edges()).filter_map(|edge| {
        let (from, _) = hosts.ends(edge)?;
        let inside = below[edge as usize / 2];
        let outside = RanksAndRates {
            ranks: all.ranks - inside.ranks,
            rates: all.rates - inside.rates,
        };
        let (senders, receivers) = if edge.is_multiple_of(2) {
            (inside, outside)
        } else {
            (outside, inside)
        };
        let queued = queued_part(senders, receivers.ranks, all.ranks, hosts.rate(edge / 2));
        let octets = senders.ranks * receivers.ranks * queued;
        (!hosts.is_host(from) && octets > 0.0).then_some(QUEUE.0 as f64 / octets)
    });
    ports
        .min_by(f64::total_cmp)
        .map(|block| Bytes(block.ceil() as u64))
}

/// The ranks below a node, and the rates of their hosts together.
#[derive(Debug, Clone, Copy, Default)]
struct RanksAndRates {
    ranks: f64,
    rates: f64,
}

/// The part of the octets for a port that waits in its queue when the last of them has been sent.
fn queued_part(senders: RanksAndRates, receivers: f64, all: f64, port: BitsPerSec) -> f64 {
    // Of what a host sends, so much is for the ranks behind the port.
    let share = receivers / (all - 1.0).max(1.0);
    (1.0 - port.0 as f64 / (senders.rates * share).max(1.0)).max(0.0)
}

fn ranks_and_rates_below(hosts: &Tree, host_of: &[NodeNumber]) -> Vec<RanksAndRates> {
    let mut below = vec![RanksAndRates::default(); hosts.nodes() as usize];
    host_of
        .iter()
        .for_each(|&host| below[host as usize].ranks += 1.0);
    for host in 0..hosts.hosts() {
        if below[host as usize].ranks > 0.0 {
            below[host as usize].rates = hosts.rate(host).0 as f64;
        }
    }
    for &node in hosts.top_down().iter().rev() {
        if let Some(parent) = hosts.parent(node) {
            let RanksAndRates { ranks, rates } = below[node as usize];
            below[parent as usize].ranks += ranks;
            below[parent as usize].rates += rates;
        }
    }
    below
}
