//! All-to-all of small blocks where hosts have several ranks: one message for each ordered pair of
//! hosts.
//!
//! Source: Träff and Rougier, "MPI collectives and datatypes for hierarchical all-to-all
//! communication", EuroMPI/ASIA 2014, for the three stages; the order among hosts is that of the
//! phases of [`crate::alltoall`]. Input: the host of each rank, with any number of ranks on each
//! host, and phases among the hosts. Guarantee: all blocks from one host to another cross in one
//! message, from the leader of the pair on the sending host to its leader on the receiving host. In
//! each direction the numbers of pairs that two ranks of a host lead differ by at most one. Blocks
//! within a host never leave it. Cost: O(hosts² + blocks the rank touches). Deviations: in the
//! paper one leader of a host collects everything. Here the ranks of a host share the pairs of
//! hosts among them. So no rank handles more than its share, and collected blocks go directly to
//! the rank that sends them on.
use crate::lg::Transfer;
use crate::message::Message;
use crate::transfers::TransferSchedule;
use crate::transfers::part::{self, RankPart};

/// All blocks from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BundleRoute {
    from: u32,
    to: u32,
    /// The rank of host `from` that sends them.
    sender: u32,
    /// The rank of host `to` that receives them.
    receiver: u32,
}

/// The part of `rank`, by phases of an all-to-all among the hosts. `host_of` has the host of each
/// rank. First the ranks of each host give blocks to the leaders, then leaders exchange them
/// between hosts, then each leader gives blocks to their receivers on its host.
pub fn part(host_of: &[u32], phases: &[Vec<Message>], rank: u32) -> RankPart {
    let steps = steps(host_of, phases, rank).unwrap_or_default();
    part::of(
        &TransferSchedule::passed_on(host_of.len() as u32, &steps),
        rank,
    )
}

/// The steps, reduced to the transfers that touch the rank or its host.
fn steps(host_of: &[u32], phases: &[Vec<Message>], rank: u32) -> Option<Vec<Vec<Transfer>>> {
    let mut ranks: Vec<Vec<u32>> =
        vec![Vec::new(); host_of.iter().max().map_or(0, |&host| host as usize + 1)];
    (0..)
        .zip(host_of)
        .for_each(|(rank, &host)| ranks[host as usize].push(rank));
    let routes = routes(&ranks, phases);
    let &host = host_of.get(rank as usize)?;
    Some(vec![
        collect(&ranks, &routes, host),
        exchange(&ranks, &routes, rank),
        spread(&ranks, &routes, host),
    ])
}

/// The most blocks a message can have, the same for every rank.
pub fn most_blocks(host_of: &[u32]) -> u64 {
    let mut ranks = vec![0u64; host_of.iter().max().map_or(0, |&host| host as usize + 1)];
    host_of.iter().for_each(|&host| ranks[host as usize] += 1);
    let most = ranks.into_iter().max().unwrap_or(0);
    (most * most).max(host_of.len() as u64)
}

/// The routes in the order of phases; the ranks of a host lead in turn.
fn routes(ranks: &[Vec<u32>], phases: &[Vec<Message>]) -> Vec<BundleRoute> {
    let (mut sent, mut received) = (vec![0; ranks.len()], vec![0; ranks.len()]);
    let lead = |count: &mut Vec<usize>, host: u32| {
        let (count, ranks) = (&mut count[host as usize], &ranks[host as usize]);
        *count += 1;
        ranks[(*count - 1) % ranks.len()]
    };
    let messages = phases.iter().flatten();
    messages
        .map(|m| BundleRoute {
            from: m.src,
            to: m.dst,
            sender: lead(&mut sent, m.src),
            receiver: lead(&mut received, m.dst),
        })
        .collect()
}

/// Each rank of the host gives each other rank its block, and the blocks that the other rank will
/// send on.
fn collect(ranks: &[Vec<u32>], routes: &[BundleRoute], host: u32) -> Vec<Transfer> {
    within(&ranks[host as usize], |from, to| {
        let led = routes.iter().filter(|route| route.sender == to);
        let abroad = led
            .flat_map(|route| &ranks[route.to as usize])
            .map(|&dst| Message { src: from, dst });
        std::iter::once(Message { src: from, dst: to })
            .chain(abroad)
            .collect()
    })
}

/// The messages that the rank sends to other hosts and receives from them.
fn exchange(ranks: &[Vec<u32>], routes: &[BundleRoute], rank: u32) -> Vec<Transfer> {
    let own = routes
        .iter()
        .filter(|route| route.sender == rank || route.receiver == rank);
    let all = |route: &BundleRoute| {
        let destinations = &ranks[route.to as usize];
        ranks[route.from as usize]
            .iter()
            .flat_map(|&src| destinations.iter().map(move |&dst| Message { src, dst }))
            .collect()
    };
    own.map(|route| Transfer {
        from: route.sender,
        to: route.receiver,
        blocks: all(route),
    })
    .collect()
}

/// Each rank of the host gives each other rank the blocks that it received for it.
fn spread(ranks: &[Vec<u32>], routes: &[BundleRoute], host: u32) -> Vec<Transfer> {
    within(&ranks[host as usize], |from, to| {
        let led = routes.iter().filter(|route| route.receiver == from);
        led.flat_map(|route| &ranks[route.from as usize])
            .map(|&src| Message { src, dst: to })
            .collect()
    })
}

/// A message from each rank to each other one, without empty messages.
fn within(ranks: &[u32], blocks: impl Fn(u32, u32) -> Vec<Message>) -> Vec<Transfer> {
    let pairs = ranks
        .iter()
        .flat_map(|&from| ranks.iter().map(move |&to| (from, to)))
        .filter(|(from, to)| from != to);
    pairs
        .map(|(from, to)| Transfer {
            from,
            to,
            blocks: blocks(from, to),
        })
        .filter(|transfer| !transfer.blocks.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alltoall;
    use crate::synchronization::SyncKind;
    use crate::test_trees::star;
    use crate::transfers::part::tests::carried_out;
    use proptest::prelude::*;

    fn parts(host_of: &[u32]) -> Vec<RankPart> {
        let hosts = host_of.iter().max().unwrap() + 1;
        let phases = alltoall::plan(&star(&[hosts.div_ceil(2), hosts / 2]), SyncKind::None).phases;
        (0..host_of.len() as u32)
            .map(|rank| part(host_of, &phases, rank))
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
