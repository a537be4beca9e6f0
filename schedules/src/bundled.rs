//! All-to-all of small blocks where hosts have several ranks: one message for each ordered pair of
//! hosts.
//!
//! Source: Träff and Rougier, "MPI collectives and datatypes for hierarchical all-to-all
//! communication", EuroMPI/ASIA 2014, for the three stages. Input: the host of each rank, with any number of
//! ranks on each host, and the order of the hosts. Guarantee: all blocks from one host to another cross in
//! one message, from the leader of the pair on the sending host to its leader on the receiving host. In
//! each direction the numbers of pairs that two ranks of a host lead differ by at most one. Blocks
//! within a host never leave it. A host sends to the next one first, then to the one after it, and so on.
//! Cost, in time and memory: O(ranks + blocks the rank touches), whatever the number of pairs. Deviations: in
//! the paper one leader of a host collects everything. Here the ranks of a host share the pairs of
//! hosts among them. So no rank handles more than its share, and collected blocks go directly to
//! the rank that sends them on.
use crate::lg::Transfer;
use crate::message::Message;
use crate::transfers::TransferSchedule;
use crate::transfers::part::{self, RankPart};

/// The part of `rank`. `host_of` has the host of each rank, `order` each host with ranks once. First the
/// ranks of each host give blocks to the leaders, then leaders exchange them between hosts, then each leader
/// gives blocks to their receivers on its host.
pub fn part(host_of: &[u32], order: &[u32], rank: u32) -> RankPart {
    let bundles = RankBundles::of(host_of, order, rank);
    let steps = bundles.map_or_else(Vec::new, |bundles| {
        vec![bundles.collect(), bundles.exchange(), bundles.spread()]
    });
    part::of(
        &TransferSchedule::passed_on(host_of.len() as u32, &steps),
        rank,
    )
}

/// The most blocks a message can have, the same for every rank.
pub fn most_blocks(host_of: &[u32]) -> u64 {
    let mut ranks = vec![0u64; host_of.iter().max().map_or(0, |&host| host as usize + 1)];
    host_of.iter().for_each(|&host| ranks[host as usize] += 1);
    let most = ranks.into_iter().max().unwrap_or(0);
    (most * most).max(host_of.len() as u64)
}

/// The transfers that a rank sends or receives.
struct RankBundles {
    rank: u32,
    /// The ranks of each host, in the order of the hosts; first those of this rank's host.
    hosts: Vec<Vec<u32>>,
}

impl RankBundles {
    /// `None` if the rank is none, or its host is not in the order.
    fn of(host_of: &[u32], order: &[u32], rank: u32) -> Option<RankBundles> {
        let own = host_of.get(rank as usize)?;
        let first = order.iter().position(|host| host == own)?;
        let mut ranks = vec![Vec::new(); host_of.iter().max().map_or(0, |&host| host as usize + 1)];
        (0..)
            .zip(host_of)
            .for_each(|(rank, &host)| ranks[host as usize].push(rank));
        let hosts = order[first..].iter().chain(&order[..first]);
        Some(RankBundles {
            rank,
            hosts: hosts
                .map(|&host| std::mem::take(&mut ranks[host as usize]))
                .collect(),
        })
    }

    /// The ranks of this rank's host.
    fn here(&self) -> &[u32] {
        &self.hosts[0]
    }

    /// The rank of a host that leads the bundle to the host `distance` places further on, or from the one as
    /// many places before.
    fn leader(host: &[u32], distance: usize) -> u32 {
        host[(distance - 1) % host.len()]
    }

    /// The distances at which a rank of this host leads.
    fn led(&self, rank: u32) -> impl Iterator<Item = usize> {
        (1..self.hosts.len()).filter(move |&distance| Self::leader(self.here(), distance) == rank)
    }

    /// The ranks of the hosts to which a rank of this host sends bundles.
    fn destinations(&self, rank: u32) -> impl Iterator<Item = u32> {
        self.led(rank)
            .flat_map(|distance| self.hosts[distance].iter().copied())
    }

    /// The ranks of the hosts from which it receives them.
    fn origins(&self, rank: u32) -> impl Iterator<Item = u32> {
        self.led(rank)
            .flat_map(|distance| self.hosts[self.hosts.len() - distance].iter().copied())
    }

    /// Each rank of the host gives each other rank its block, and the blocks that the other rank will
    /// send on.
    fn collect(&self) -> Vec<Transfer> {
        self.within(|from, to| {
            std::iter::once(to)
                .chain(self.destinations(to))
                .map(|dst| Message { src: from, dst })
                .collect()
        })
    }

    /// The messages that the rank sends to other hosts and receives from them.
    fn exchange(&self) -> Vec<Transfer> {
        let bundle = |distance: usize, from: &[u32], to: &[u32]| Transfer {
            from: Self::leader(from, distance),
            to: Self::leader(to, distance),
            blocks: from
                .iter()
                .flat_map(|&src| to.iter().map(move |&dst| Message { src, dst }))
                .collect(),
        };
        let each = self.led(self.rank).flat_map(|distance| {
            let before = &self.hosts[self.hosts.len() - distance];
            [
                bundle(distance, self.here(), &self.hosts[distance]),
                bundle(distance, before, self.here()),
            ]
        });
        each.collect()
    }

    /// Each rank of the host gives each other rank the blocks that it received for it.
    fn spread(&self) -> Vec<Transfer> {
        self.within(|from, to| {
            self.origins(from)
                .map(|src| Message { src, dst: to })
                .collect()
        })
    }

    /// A message from the rank to each other one of its host, and one from each, without empty messages.
    fn within(&self, blocks: impl Fn(u32, u32) -> Vec<Message>) -> Vec<Transfer> {
        let others = self.here().iter().filter(|&&other| other != self.rank);
        let pairs = others.flat_map(|&other| [(self.rank, other), (other, self.rank)]);
        pairs
            .map(|(from, to)| Transfer {
                from,
                to,
                blocks: blocks(from, to),
            })
            .filter(|transfer| !transfer.blocks.is_empty())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfers::part::tests::carried_out;
    use proptest::prelude::*;

    fn parts(host_of: &[u32]) -> Vec<RankPart> {
        let mut order: Vec<u32> = (0..=*host_of.iter().max().unwrap()).collect();
        order.rotate_left(1);
        (0..host_of.len() as u32)
            .map(|rank| part(host_of, &order, rank))
            .collect()
    }

    /// The number of messages that each rank sends in a step.
    fn sends(parts: &[RankPart], step: u32) -> Vec<usize> {
        let count = |part: &RankPart| part.sends.iter().filter(|s| s.phase == step).count();
        parts.iter().map(count).collect()
    }

    #[test]
    fn four_hosts_of_four_ranks_exchange_one_message_a_pair() {
        let parts = parts(&(0..16).map(|rank| rank / 4).collect::<Vec<u32>>());
        let spread: usize = sends(&parts, 2).iter().sum();
        assert_eq!((sends(&parts, 0), spread), (vec![3; 16], 4 * 3 * 3));
        let between = sends(&parts, 1);
        assert_eq!(
            (between.iter().sum::<usize>(), between.iter().max()),
            (12, Some(&1))
        );
        let all = parts.iter().flat_map(|part| &part.sends);
        let mut bundles = all.filter(|send| send.phase == 1);
        assert!(bundles.all(|send| send.blocks.len() == 16));
    }

    #[test]
    fn with_one_rank_a_host_only_hosts_exchange() {
        let parts = parts(&[0, 1, 2]);
        assert_eq!(
            [0, 1, 2].map(|step| sends(&parts, step)),
            [vec![0; 3], vec![2; 3], vec![0; 3]]
        );
    }

    /// 16,384 ranks on 1,024 hosts.
    #[test]
    fn a_part_grows_with_the_ranks_and_not_with_their_pairs() {
        let host_of: Vec<u32> = (0..1 << 14).map(|rank| rank / 16).collect();
        let order: Vec<u32> = (0..1024).collect();
        let part = part(&host_of, &order, 7);
        let blocks = part.sends.iter().map(|send| send.blocks.len());
        assert!(blocks.sum::<usize>() <= 3 * host_of.len());
        let messages = part.sends.iter().filter(|send| send.phase == 1).count();
        assert_eq!(messages, 1024 / 16);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_block_arrives_once_whatever_ranks_hosts_have(
            (hosts, mut host_of) in (2u32..9).prop_flat_map(|hosts| {
                (Just(hosts), prop::collection::vec(0..hosts, 0..24))
            }),
            seed in any::<u64>(),
        ) {
            host_of.extend(0..hosts);
            crate::random::SplitMix64::new(seed).shuffle(&mut host_of);
            let parts = parts(&host_of);
            prop_assert!(carried_out(&parts).is_everything(host_of.len() as u32));
            let sent = parts.iter().flat_map(|part| &part.sends);
            let most = sent.map(|send| send.blocks.len()).max();
            prop_assert!(most.unwrap() as u64 <= most_blocks(&host_of));
            let led = sends(&parts, 1);
            for host in 0..hosts {
                let counts: Vec<usize> = (0..host_of.len())
                    .filter(|&rank| host_of[rank] == host)
                    .map(|rank| led[rank])
                    .collect();
                prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
                prop_assert_eq!(counts.iter().sum::<usize>(), hosts as usize - 1);
            }
        }
    }
}
