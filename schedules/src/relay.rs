//! Collectives along the ring of an allgather: what each rank sends first, what it makes of what
//! comes, and how much of that it sends on.
//!
//! Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
//! workstations", Journal of Parallel and Distributed Computing 69 (2009): a reduce-scatter along
//! the ring, then an allgather along it. Input: a ring of ranks ([`crate::allgather`]). Guarantee:
//! each part is combined once from each rank, in the same order in every call along the same ring,
//! and all ranks then have the same octets ([`crate::verify::relay`]). In an allreduce of `m` octets
//! among `p` ranks each rank sends `2 m (p - 1) / p`. Cost: O(p) a rank. Deviations: the paper
//! counts steps, each of which ends before the next begins. Here a rank's messages to the next one
//! are one stream, which is passed on in pieces as it comes. A broadcast is the same stream from
//! its root on, and not in the paper.

/// A collective along a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelayCollective {
    /// Each rank has all parts; they are combined, and each rank gets all of them.
    Allreduce,
    /// Each rank has all parts; they are combined, and each rank gets its own.
    ReduceScatter,
    /// Each rank has the part of its number, and each gets all of them.
    Gather,
    /// One rank has the only part, number 0, and each rank gets it.
    Broadcast {
        /// The rank that has it.
        root: u32,
    },
}

/// The step of a rank when a part comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartTreatment {
    /// It combines the part with its own.
    Combine,
    /// It keeps the part as it is.
    Keep,
}

/// A part that comes from the previous rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelayedPart {
    /// The number of the part. Except in broadcasts there is a part for each rank, numbered as the rank.
    pub part: u32,
    /// The step of the rank.
    pub treatment: PartTreatment,
}

/// One rank's share in a collective along a ring. It sends its first part, and then what comes,
/// after its treatment, in the order in which it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankRelay {
    /// The rank that it receives from.
    pub previous: u32,
    /// The rank that it sends to.
    pub next: u32,
    /// The part that it sends first, as it has it itself.
    pub first: Option<u32>,
    /// The parts that come, in their order.
    pub incoming: Vec<RelayedPart>,
    /// So many of them are sent on, from the first one on.
    pub sent_on: usize,
}

/// The share of the rank at a position of a ring.
pub fn share(ring: &[u32], position: usize, collective: RelayCollective) -> RankRelay {
    let ranks = ring.len();
    let back = |steps: usize| ring[(position + 2 * ranks - steps % ranks) % ranks];
    let previous = back(1);
    let next = ring[(position + 1) % ranks];
    match collective {
        _ if ranks == 1 => RankRelay {
            previous,
            next,
            first: None,
            incoming: Vec::new(),
            sent_on: 0,
        },
        RelayCollective::Broadcast { root } => {
            let begins = ring[position] == root;
            let kept = RelayedPart {
                part: 0,
                treatment: PartTreatment::Keep,
            };
            RankRelay {
                previous,
                next,
                first: begins.then_some(0),
                incoming: if begins { Vec::new() } else { vec![kept] },
                sent_on: usize::from(!begins && next != root),
            }
        }
        RelayCollective::Allreduce | RelayCollective::ReduceScatter | RelayCollective::Gather => {
            let (combines, keeps) = (0..ranks - 1, ranks - 1..2 * (ranks - 1));
            let (combined, kept, first) = match collective {
                RelayCollective::Gather => (0..0, keeps, ring[position]),
                RelayCollective::ReduceScatter => (combines, 0..0, previous),
                _ => (combines, keeps, previous),
            };
            let combined = combined.map(|step| (step, PartTreatment::Combine));
            // The own part comes as the last of those that are combined, and is whole then.
            let incoming: Vec<RelayedPart> = combined
                .chain(kept.map(|step| (step, PartTreatment::Keep)))
                .map(|(step, treatment)| RelayedPart {
                    part: back(step + 2),
                    treatment,
                })
                .collect();
            RankRelay {
                previous,
                next,
                first: Some(first),
                sent_on: incoming.len() - 1,
                incoming,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify;
    use proptest::prelude::*;

    fn shares(ring: &[u32], collective: RelayCollective) -> Vec<RankRelay> {
        (0..ring.len())
            .map(|position| share(ring, position, collective))
            .collect()
    }

    #[test]
    fn a_rank_of_three_sends_and_combines_as_in_the_paper() {
        let relay = share(&[7, 0, 1], 1, RelayCollective::Allreduce);
        assert_eq!((relay.previous, relay.next), (7, 1));
        assert_eq!((relay.first, relay.sent_on), (Some(7), 3));
        let parts = |treatment| {
            let of = relay.incoming.iter().filter(|p| p.treatment == treatment);
            of.map(|p| p.part).collect::<Vec<_>>()
        };
        assert_eq!(parts(PartTreatment::Combine), [1, 0]);
        assert_eq!(parts(PartTreatment::Keep), [7, 1]);
    }

    #[test]
    fn what_is_wrong_is_found() {
        let ring = [0, 2, 1, 3];
        let broken = |collective, breaks: &dyn Fn(&mut Vec<RankRelay>)| {
            let mut relays = shares(&ring, collective);
            breaks(&mut relays);
            verify::relay(&ring, collective, &relays).is_err()
        };
        for collective in [RelayCollective::Allreduce, RelayCollective::ReduceScatter] {
            assert!(broken(collective, &|r| r[1].incoming[0].treatment =
                PartTreatment::Keep));
            assert!(broken(collective, &|r| r[2].incoming.swap(0, 1)));
            assert!(broken(collective, &|r| r[2].first = Some(3)));
            assert!(broken(collective, &|r| r[3].sent_on -= 1));
            assert!(broken(collective, &|r| r[0].next = 1));
            assert!(broken(collective, &|r| drop(r.pop())));
        }
        assert!(broken(RelayCollective::Allreduce, &|r| {
            r[0].incoming[3].treatment = PartTreatment::Combine
        }));
        for breaks in [
            |r: &mut Vec<RankRelay>| r[1].first = Some(3),
            |r: &mut Vec<RankRelay>| r[2].sent_on -= 1,
            |r: &mut Vec<RankRelay>| r[2].incoming.swap(0, 1),
        ] {
            assert!(broken(RelayCollective::Gather, &breaks));
        }
        let broadcast = RelayCollective::Broadcast { root: 1 };
        assert!(broken(broadcast, &|r| r[0].first = Some(0)));
        assert!(broken(broadcast, &|r| r[3].sent_on = 0));
        assert!(broken(broadcast, &|r| r[2].first = None));
    }

    proptest! {
        #[test]
        fn each_part_is_combined_once_from_each_rank(
            ring in (1..=24u32).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()),
            root in any::<prop::sample::Index>(),
        ) {
            for collective in [
                RelayCollective::Allreduce,
                RelayCollective::ReduceScatter,
                RelayCollective::Gather,
                RelayCollective::Broadcast { root: root.index(ring.len()) as u32 },
            ] {
                let relays = shares(&ring, collective);
                prop_assert_eq!(verify::relay(&ring, collective, &relays), Ok(()));
            }
            let sent = |relay: &RankRelay| usize::from(relay.first.is_some()) + relay.sent_on;
            let parts: Vec<usize> = shares(&ring, RelayCollective::Allreduce).iter().map(sent).collect();
            prop_assert!(parts.iter().all(|&parts| parts == 2 * (ring.len() - 1)));
        }
    }
}
