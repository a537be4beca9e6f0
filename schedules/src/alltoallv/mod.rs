//! All-to-all with blocks of different sizes (MPI_Alltoallv): which message starts when, and what it waits for.
//!
//! Source: none of the papers, they know blocks of one size. List scheduling (Graham, Bounds on Multiprocessing Timing Anomalies, 1969)
//! of an open shop whose machines are the directed edges.
//! Input: a tree with its rates, octets for every pair of hosts.
//! Guarantee: every block once, edges never carry more than their rate, users of an edge are ordered by synchronizations; where
//! all messages have one rate no edge idles while a message that needs it could start. Under Zipf-skewed sizes (exponents 1 to
//! 1.5) within 1.15 of the bound on trees whose trunks are as fast as the hosts or a whole number of times faster, as tests on
//! random trees show; where a trunk's rate is no multiple of its hosts', up to their ratio over its whole part, as 2.5 / 2: a
//! message starts at its full rate or waits, for nobody paces its sender.
//! Cost: O(messages * (log messages + path length)), and for every end a look at the sets of hosts that its two have yet to exchange
//! with and at classes of messages (pairs of switches, for hosts of one rate) parked at its trunks. Processor time for 64 hosts,
//! exponent 1, medians of runs on a busy machine: one switch 1.0 to 1.3 ms, four of 16 around a core 1.2 to 1.7 ms, eight of 8 in a
//! row 1.7 to 2.4 ms. Where trunks and hosts are scarce alike more is looked at in vain: that row with trunks ten times as fast as
//! the hosts takes 5.4 to 7.7 ms.
//! Deviations: none.
mod jobs;
mod list;
mod pending;
#[cfg(test)]
mod tests;

use crate::message::{Message, Sync};
use inventory::tree::{Edge, Tree};
use inventory::{BitsPerSec, Bytes};

/// A whole all-to-all of different sizes among `hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alltoallv {
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// Why it cannot be shorter.
    pub bound: LoadBound,
    /// Each block that holds something, in the order of their starts.
    pub messages: Vec<Block>,
    /// What messages wait for, in their order. They say all: a host starts each message when what it waits for is over, and may
    /// have several under way. Where `from` is `to`, the host waits for a message of its own, and no token is sent; else the
    /// receiver of the earlier message tells.
    pub syncs: Vec<Sync>,
}

/// A message and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// From whom to whom.
    pub message: Message,
    /// Octets.
    pub bytes: Bytes,
}

/// The certificate: no schedule can be faster than the bottleneck edge carries its octets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadBound {
    /// The bottleneck edge, from and to; where nothing is sent the first host twice.
    pub edge: (String, String),
    /// Octets over it.
    pub load: Bytes,
    /// What it carries.
    pub rate: BitsPerSec,
}

/// Why sizes cannot be planned for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// Not one size for each pair.
    #[error("sizes: {found} for {hosts} hosts, expected {hosts} times {hosts}, those of the first host's blocks first; nothing is planned")]
    Count {
        /// How many there are.
        found: usize,
        /// The tree's hosts.
        hosts: u32,
    },
    /// Times beyond what can be counted.
    #[error("edge {from} -> {to}: its blocks take more than 100 days; nothing is planned")]
    TooLong {
        /// Where the edge begins.
        from: String,
        /// Where it ends.
        to: String,
    },
}

/// Plans the exchange of `sizes[src * hosts + dst]` octets. What a host has for itself stays there.
///
/// # Errors
/// See [`SizesError`].
pub fn plan(tree: &Tree, sizes: &[Bytes]) -> Result<Alltoallv, SizesError> {
    let hosts = tree.hosts();
    if sizes.len() != (hosts as usize).pow(2) {
        return Err(SizesError::Count { found: sizes.len(), hosts });
    }
    let jobs = jobs::Jobs::new(tree, sizes)?;
    let bound = jobs.bound(tree);
    let (messages, syncs) = list::schedule(tree, &jobs);
    Ok(Alltoallv { hosts: tree.host_names().to_vec(), bound, messages, syncs })
}

/// Time in picoseconds that `edge` needs for `octets`; an octet takes 80 at 100 Gbit/s. `None` beyond 100 days.
fn picoseconds(tree: &Tree, edge: Edge, octets: u128) -> Option<u64> {
    const MOST: u128 = 100 * 86_400 * 1_000_000_000_000;
    let time = octets.checked_mul(8_000_000_000_000)? / u128::from(tree.rate(edge / 2).0.max(1));
    (time <= MOST).then_some(time as u64)
}
