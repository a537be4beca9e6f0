//! All-to-all of small blocks where hosts have several ranks: one message for each ordered pair of
//! hosts.
//!
//! Source: Träff and Rougier, "MPI collectives and datatypes for hierarchical all-to-all
//! communication", EuroMPI/ASIA 2014, for the three stages. Input: the host of each rank, with any number of
//! ranks on each host, and the order of the hosts. Guarantee: all blocks from one host to another cross in
//! one message, from the leader of the pair on the sending host to its leader on the receiving host. In
//! each direction the numbers of pairs that two ranks of a host lead differ by at most one. Blocks
//! within a host never leave it. A host sends to the next one first, then to the one after it, and so on.
//! Cost, in time and memory: O(ranks + blocks the rank touches), whatever the number of pairs; in phases O(pairs
//! of hosts). Deviations: in the paper one leader of a host collects everything. Here the ranks of a host share the
//! pairs of hosts among them. So no rank handles more than its share, and collected blocks go directly to
//! the rank that sends them on. Messages may take turns by the phases of [`crate::alltoall`] among the hosts.
use crate::lg::Transfer;
use crate::message::Message;
use crate::transfers::part::{self, RankPart};
use crate::transfers::{TransferSchedule, TransferWait};

/// The part of `rank` where all messages between hosts go at once. `host_of` has the host of each rank, `order`
/// each host with ranks once. First the ranks of each host give blocks to the leaders, then leaders exchange them
/// between hosts, then each leader gives blocks to their receivers on its host.
pub fn part(host_of: &[u32], order: &[u32], rank: u32) -> RankPart {
    let Some(&own) = host_of.get(rank as usize) else {
        return RankPart::default();
    };
    let ranks = ranks_by_host(host_of);
    RankBundles {
        rank,
        own,
        ranks: &ranks,
        bundles: (0..).zip(at_once(&ranks, order, own)).collect(),
    }
    .part(1, &[])
}

/// The same where messages between hosts take turns by the phases of an all-to-all among the hosts, and by the tokens
/// of its receivers. There a host sends one message after the other by itself. Here these are messages of several
/// ranks, so there are tokens between them, too.
pub fn part_in_phases(host_of: &[u32], phases: &TransferSchedule, rank: u32) -> RankPart {
    let Some(&own) = host_of.get(rank as usize) else {
        return RankPart::default();
    };
    let ranks = ranks_by_host(host_of);
    let led = led_in_phases(&ranks, phases);
    let waits: Vec<TransferWait> = waits_of(phases, &led)
        .filter(|wait| wait.from == rank || led[wait.before as usize].from == rank)
        .collect();
    let mut numbers: Vec<u32> = (0..)
        .zip(phases.ends())
        .filter(|(_, ends)| ends.src == own || ends.dst == own)
        .map(|(number, _)| number)
        .chain(waits.iter().flat_map(|wait| [wait.after, wait.before]))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let bundles = numbers
        .into_iter()
        .map(|number| (number, led[number as usize]));
    RankBundles {
        rank,
        own,
        ranks: &ranks,
        bundles: bundles.collect(),
    }
    .part(phases.phases(), &waits)
}

/// The most blocks a message can have, the same for every rank.
pub fn most_blocks(host_of: &[u32]) -> u64 {
    let ranks = ranks_by_host(host_of);
    let most = ranks.iter().map(Vec::len).max().unwrap_or(0) as u64;
    (most * most).max(host_of.len() as u64)
}

fn ranks_by_host(host_of: &[u32]) -> Vec<Vec<u32>> {
    let hosts = host_of.iter().max().map_or(0, |&host| host as usize + 1);
    let mut ranks = vec![Vec::new(); hosts];
    for (rank, &host) in (0..).zip(host_of) {
        ranks[host as usize].push(rank);
    }
    ranks
}

/// The message between two hosts, and the ranks that lead it.
#[derive(Debug, Clone, Copy)]
struct HostBundle {
    phase: u32,
    hosts: Message,
    from: u32,
    to: u32,
}

/// The rank of a host that leads its message number `nth`, of those that it sends or of those that it receives.
fn leader(ranks: &[u32], nth: usize) -> u32 {
    ranks[nth % ranks.len()]
}

/// The messages of a host if each sends to the next one first, then to the one after it, and so on.
fn at_once(ranks: &[Vec<u32>], order: &[u32], own: u32) -> Vec<HostBundle> {
    let Some(first) = order.iter().position(|&host| host == own) else {
        return Vec::new();
    };
    (1..order.len())
        .flat_map(|distance| {
            let [next, former] = [distance, order.len() - distance]
                .map(|further| order[(first + further) % order.len()]);
            [(own, next), (former, own)].map(|(src, dst)| HostBundle {
                phase: 0,
                hosts: Message { src, dst },
                from: leader(&ranks[src as usize], distance - 1),
                to: leader(&ranks[dst as usize], distance - 1),
            })
        })
        .collect()
}

/// Each message of the phases, by its number, with its leaders. Two hosts mostly send to each other in the same phase:
/// a host sends by another rank than it receives. Between two ranks, what one of them answers to a message's beginning
/// would wait until its own message has gone.
fn led_in_phases(ranks: &[Vec<u32>], phases: &TransferSchedule) -> Vec<HostBundle> {
    let mut sent = vec![0; ranks.len()];
    let mut received: Vec<usize> = ranks.iter().map(|ranks| ranks.len() / 2).collect();
    let messages = phases.ends().iter().zip(phases.phase_of());
    messages
        .map(|(&hosts, &phase)| {
            let turns = [(&mut sent, hosts.src), (&mut received, hosts.dst)];
            let [from, to] = turns.map(|(counts, host)| {
                let count = &mut counts[host as usize];
                *count += 1;
                leader(&ranks[host as usize], *count - 1)
            });
            HostBundle {
                phase,
                hosts,
                from,
                to,
            }
        })
        .collect()
}

/// The waits of the phases and those between the messages of one host, by the ranks that lead them.
fn waits_of<'a>(
    phases: &'a TransferSchedule,
    led: &'a [HostBundle],
) -> impl Iterator<Item = TransferWait> + 'a {
    let among_hosts = phases.waits().iter().copied();
    let all = among_hosts.map(|wait| (wait.after, wait.before));
    all.chain(in_turn(led)).map(|(after, before)| TransferWait {
        after,
        before,
        from: led[after as usize].to,
    })
}

/// Each message of a host with each one that the host sends in the phase in which it is busy next.
fn in_turn(led: &[HostBundle]) -> Vec<(u32, u32)> {
    let hosts = led.iter().map(|bundle| bundle.hosts.src as usize + 1).max();
    // By host: its messages in the last two phases in which it sends.
    let mut last: Vec<[Vec<u32>; 2]> = vec![[vec![], vec![]]; hosts.unwrap_or(0)];
    let mut waits = Vec::new();
    for (number, bundle) in (0..).zip(led) {
        let [before, now] = &mut last[bundle.hosts.src as usize];
        let begins = now
            .last()
            .is_none_or(|&one| led[one as usize].phase != bundle.phase);
        if begins {
            *before = std::mem::take(now);
        }
        now.push(number);
        waits.extend(before.iter().map(|&earlier| (earlier, number)));
    }
    waits
}

/// The transfers that a rank sends or receives, and others that tokens name.
struct RankBundles<'a> {
    rank: u32,
    /// Its host.
    own: u32,
    /// The ranks of each host.
    ranks: &'a [Vec<u32>],
    /// The messages of this host in the order of phases, with their numbers.
    bundles: Vec<(u32, HostBundle)>,
}

impl RankBundles<'_> {
    fn part(&self, phases: u32, waits: &[TransferWait]) -> RankPart {
        let mut steps = vec![self.collect()];
        steps.resize(phases as usize + 1, Vec::new());
        // The numbers that tokens know, and those of the transfers.
        let mut numbers = Vec::new();
        let collected = steps[0].len() as u32;
        for &(number, bundle) in &self.bundles {
            if [bundle.from, bundle.to].contains(&self.rank)
                || waits
                    .iter()
                    .any(|wait| wait.after == number || wait.before == number)
            {
                numbers.push(number);
                steps[bundle.phase as usize + 1].push(self.transfer(bundle));
            }
        }
        steps.push(self.spread());
        let waits = waits.iter().map(|wait| {
            let [after, before] = [wait.after, wait.before].map(|number| {
                let place = numbers.binary_search(&number);
                let at =
                    place.unwrap_or_else(|_| unreachable!("both messages of a token are listed"));
                collected + at as u32
            });
            TransferWait {
                after,
                before,
                ..*wait
            }
        });
        let ranks = self.ranks.iter().map(Vec::len).sum::<usize>() as u32;
        let schedule = TransferSchedule::passed_on(ranks, &steps).waiting(waits.collect());
        part::of(&schedule, self.rank)
    }

    /// The ranks of this rank's host.
    fn here(&self) -> &[u32] {
        &self.ranks[self.own as usize]
    }

    /// The ranks of the hosts to which a rank of this host sends bundles.
    fn destinations(&self, rank: u32) -> impl Iterator<Item = u32> {
        let led = self.bundles.iter().map(|(_, bundle)| bundle);
        led.filter(move |bundle| bundle.from == rank)
            .flat_map(|bundle| self.ranks[bundle.hosts.dst as usize].iter().copied())
    }

    /// The ranks of the hosts from which it receives them.
    fn origins(&self, rank: u32) -> impl Iterator<Item = u32> {
        let led = self.bundles.iter().map(|(_, bundle)| bundle);
        led.filter(move |bundle| bundle.to == rank)
            .flat_map(|bundle| self.ranks[bundle.hosts.src as usize].iter().copied())
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

    /// A message from one host to another; without its blocks if this rank has no part in it.
    fn transfer(&self, bundle: HostBundle) -> Transfer {
        let HostBundle {
            from, to, hosts, ..
        } = bundle;
        let is_own = [from, to].contains(&self.rank);
        let senders = if is_own {
            &self.ranks[hosts.src as usize][..]
        } else {
            &[]
        };
        let receivers = &self.ranks[hosts.dst as usize];
        let blocks = senders
            .iter()
            .flat_map(|&src| receivers.iter().map(move |&dst| Message { src, dst }));
        Transfer {
            from,
            to,
            blocks: blocks.collect(),
        }
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
    use crate::alltoall::{self, AlltoallAlgorithm};
    use crate::synchronization::SyncKind;
    use crate::transfers::part::tests::carried_out;
    use crate::verify;
    use inventory::Tree;
    use proptest::prelude::*;
    use samples::trees::{any_wide_tree, star};
    use std::collections::HashMap;

    fn parts(host_of: &[u32]) -> Vec<RankPart> {
        let mut order: Vec<u32> = (0..=*host_of.iter().max().unwrap()).collect();
        order.rotate_left(1);
        (0..host_of.len() as u32)
            .map(|rank| part(host_of, &order, rank))
            .collect()
    }

    /// The number of messages that each rank sends in a step.
    fn sends(parts: &[RankPart], step: u32) -> Vec<usize> {
        parts
            .iter()
            .map(|part| part.sends.iter().filter(|s| s.phase == step).count())
            .collect()
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

    #[test]
    fn hosts_that_send_to_each_other_do_so_between_other_ranks() {
        for hosts in [star(&[4; 4]), star(&[2, 2]), star(&[8])] {
            let ranks: Vec<u32> = (0..4 * hosts.hosts()).map(|rank| rank / 4).collect();
            let led = led_in_phases(&ranks_by_host(&ranks), &phases_among(&hosts));
            let mut met = 0;
            for there in &led {
                let (phase, Message { src, dst }) = (there.phase, there.hosts);
                for back in led.iter().filter(|back| {
                    (back.phase, back.hosts) == (phase, Message { src: dst, dst: src })
                }) {
                    assert_ne!([there.from, there.to], [back.to, back.from]);
                    met += 1;
                }
            }
            assert!(met > 0);
        }
    }

    /// 16 hosts of 64 ranks: a rank leads one message each way, and takes and gives a few tokens.
    #[test]
    fn in_phases_a_part_is_small_too() {
        let host_of: Vec<u32> = (0..1024).map(|rank| rank / 64).collect();
        let part = part_in_phases(&host_of, &phases_among(&star(&[4; 4])), 7);
        let between = part
            .sends
            .iter()
            .filter(|send| send.blocks.len() == 64 * 64);
        assert_eq!(between.count(), 1);
        let tokens = part.sends.iter().map(|send| send.wait.len()).sum::<usize>();
        assert!((1..=4).contains(&tokens), "{tokens}");
    }

    fn phases_among(hosts: &Tree) -> TransferSchedule {
        let plan = alltoall::plan(hosts, SyncKind::Receiver);
        verify::alltoall(hosts, &plan).unwrap();
        TransferSchedule::try_from(&plan).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn in_phases_no_two_messages_share_a_link(
            hosts in any_wide_tree(2..=8, 6),
            mut host_of in prop::collection::vec(any::<u32>(), 0..24),
            seed in any::<u64>(),
        ) {
            host_of.iter_mut().for_each(|host| *host %= hosts.hosts());
            host_of.extend(0..hosts.hosts());
            crate::random::SplitMix64::new(seed).shuffle(&mut host_of);
            let phases = phases_among(&hosts);
            let parts: Vec<RankPart> = (0..host_of.len() as u32)
                .map(|rank| part_in_phases(&host_of, &phases, rank))
                .collect();
            let carried = carried_out(&parts);
            prop_assert!(carried.is_everything(host_of.len() as u32));
            let between = carried.order.iter().map(|message| Message {
                src: host_of[message.src as usize],
                dst: host_of[message.dst as usize],
            });
            // Any number of them may begin at once where links are wide.
            let capacities = AlltoallAlgorithm::faster_for(&hosts).capacities(&hosts);
            let phase_of = phases.phase_of().iter().copied();
            let phase: HashMap<Message, u32> = phases.ends().iter().copied().zip(phase_of).collect();
            let mut latest = vec![0; hosts.edges() as usize];
            for message in between.filter(|message| message.src != message.dst) {
                hosts.path(message.src, message.dst, |edge| {
                    let latest = &mut latest[edge as usize];
                    assert!(capacities.width(edge) > 1 || *latest <= phase[&message]);
                    *latest = phase[&message].max(*latest);
                });
            }
        }

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
