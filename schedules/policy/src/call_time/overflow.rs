//! The block from which on an all-to-all overflows the queue of a switch port, if all blocks are
//! sent at once.
use inventory::Bytes;
use inventory::tree::{NodeNumber, Tree};

/// The smallest block with which the queue of some switch port overflows while each rank of
/// `host_of` sends its blocks one after the other at its host's rate, to others in turn; `None` if
/// none does at any size.
///
/// The hosts before a port send to those behind it at a rate, and the port passes on at another.
/// The rest queues. Where all ports of hosts are as fast, and each sender has a block for each, a
/// port of a host passes on as fast as its blocks come.
pub(crate) fn smallest_overflowing_block(hosts: &Tree, host_of: &[NodeNumber]) -> Option<Bytes> {
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
        // Of what a host sends, so much is for the ranks behind the port.
        let comes = senders.rates * receivers.ranks;
        let passes = u128::from(hosts.rate(edge / 2).0) * all.ranks.saturating_sub(1);
        let queues = senders.ranks * receivers.ranks * comes.saturating_sub(passes);
        (!hosts.is_host(from) && queues > 0)
            .then(|| (u128::from(hosts.queue().0) * comes).div_ceil(queues))
    });
    ports
        .min()
        .map(|block| Bytes(block.try_into().unwrap_or(u64::MAX)))
}

/// The ranks below a node, and the rates of their hosts together.
#[derive(Debug, Clone, Copy, Default)]
struct RanksAndRates {
    ranks: u128,
    rates: u128,
}

fn ranks_and_rates_below(hosts: &Tree, host_of: &[NodeNumber]) -> Vec<RanksAndRates> {
    let mut below = vec![RanksAndRates::default(); hosts.nodes() as usize];
    host_of
        .iter()
        .for_each(|&host| below[host as usize].ranks += 1);
    for host in 0..hosts.hosts() {
        if below[host as usize].ranks > 0 {
            below[host as usize].rates = hosts.rate(host).0.into();
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
