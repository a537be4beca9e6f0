//! The hosts of a network, and the ranks on them.
use crate::library::LibraryCall;
use inventory::tree::TreeError;
use inventory::tree::{NodeNumber, Tree};
use schedules::bundled;

/// The hosts with their ranks.
pub(crate) struct RankedHosts {
    pub(crate) hosts: Tree,
    /// By rank.
    pub(crate) host_of: Vec<NodeNumber>,
    /// The tree with rank `r` as leaf number `r`.
    pub(crate) leaves: Tree,
}

impl RankedHosts {
    /// Each host has as many ranks as its tree says.
    pub(crate) fn new(hosts: Tree) -> Result<RankedHosts, TreeError> {
        let host_of: Vec<NodeNumber> = (0..hosts.hosts())
            .flat_map(|host| std::iter::repeat_n(host, hosts.ranks(host) as usize))
            .collect();
        let ranks: Vec<(String, NodeNumber)> = (0..)
            .zip(&host_of)
            .map(|(rank, &host): (u32, _)| (format!("rank {rank}"), host))
            .collect();
        Ok(RankedHosts {
            leaves: hosts.with_ranks(&ranks)?,
            host_of,
            hosts,
        })
    }

    /// True if some host has several ranks.
    pub(crate) fn share_hosts(&self) -> bool {
        self.host_of.len() > self.hosts.hosts() as usize
    }

    /// The octets that a rank sends to other hosts, and gets from them, where one message goes for each pair of hosts.
    pub(crate) fn bundles(&self, rank: u32, size: u32) -> LibraryCall {
        let order: Vec<NodeNumber> = (0..self.hosts.hosts()).collect();
        let part = bundled::part(&self.host_of, &order, rank);
        let mut outgoing = vec![0; self.host_of.len()];
        let mut incoming = outgoing.clone();
        for sent in &part.sends {
            outgoing[sent.peer as usize] += sent.blocks.len() as u32 * size;
        }
        for received in &part.receives {
            incoming[received.peer as usize] += received.blocks.len() as u32 * size;
        }
        for (peer, host) in self.host_of.iter().enumerate() {
            if *host == self.host_of[rank as usize] {
                (outgoing[peer], incoming[peer]) = (0, 0);
            }
        }
        LibraryCall::at_once(rank, outgoing, incoming)
    }
}
