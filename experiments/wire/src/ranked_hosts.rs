//! The hosts of a network, and the ranks on them.
use crate::library::LibraryCall;
use anyhow::Context;
use inventory::tree::{NodeNumber, Tree, TreeError};
use schedules::message::Message;
use schedules::synchronization::SyncKind;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{BlockOrigin, OutgoingBlock, RankPart};
use schedules::{alltoall, bundled, verify};

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
            .map(|(rank, &host): (u32, _)| {
                // Alone, it has the name of the host, and the fabric names its cables by that.
                let name = match hosts.ranks(host) {
                    1 => hosts.name(host).to_owned(),
                    _ => format!("rank {rank}"),
                };
                (name, host)
            })
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
        let bundles = self.between_hosts(bundled::part(&self.host_of, &order, rank), size);
        let [outgoing, incoming] = [bundles.outgoing, bundles.incoming]
            .map(|octets| octets.into_iter().map(|octets| octets as u32).collect());
        LibraryCall::at_once(rank, outgoing, incoming)
    }

    /// The same of all ranks, where messages between hosts take turns.
    pub(crate) fn bundles_in_turn(&self, size: u32) -> anyhow::Result<Vec<SizedPart>> {
        let plan = alltoall::plan(&self.hosts, SyncKind::Receiver);
        verify::alltoall(&self.hosts, &plan).context("the schedule is not sound")?;
        let phases = TransferSchedule::try_from(&plan);
        let phases = phases.ok().context("a token without its message")?;
        let ranks = 0..self.host_of.len() as u32;
        Ok(ranks
            .map(|rank| {
                self.between_hosts(bundled::part_in_phases(&self.host_of, &phases, rank), size)
            })
            .collect())
    }

    /// The messages of a rank's part that cross cables, each as one block.
    fn between_hosts(&self, mut part: RankPart, size: u32) -> SizedPart {
        let (me, none) = (part.rank, vec![0; self.host_of.len()]);
        let (mut outgoing, mut incoming) = (none.clone(), none);
        let is_far = |peer: u32| self.host_of[peer as usize] != self.host_of[me as usize];
        part.passes_on = false;
        part.sends.retain(|send| is_far(send.peer));
        part.receives.retain(|receive| is_far(receive.peer));
        for send in &mut part.sends {
            outgoing[send.peer as usize] = send.blocks.len() * size as usize;
            send.blocks = vec![OutgoingBlock {
                block: Message {
                    src: me,
                    dst: send.peer,
                },
                origin: BlockOrigin::Own,
            }];
        }
        for receive in &mut part.receives {
            incoming[receive.peer as usize] = receive.blocks.len() * size as usize;
            receive.blocks = vec![Message {
                src: receive.peer,
                dst: me,
            }];
        }
        SizedPart {
            part,
            outgoing,
            incoming,
        }
    }
}

/// A rank's part, and by rank the octets that it sends and gets.
pub(crate) struct SizedPart {
    pub(crate) part: RankPart,
    pub(crate) outgoing: Vec<usize>,
    pub(crate) incoming: Vec<usize>,
}
