//! Short blocks of an all-to-all with which the library's own routine overflows the queue of a switch
//! port: they go by credit ([`schedules::synchronization::credit`]), and longer ones with tokens.
//!
//! A lost segment of a short block waits for a timer of 200 ms. On fast links that is more than a hundred
//! calls take: in ns-3 at 10 Gbit/s the libraries' patterns came to 0.00 to 0.06 of the bound there, and
//! credit to 0.72 to 0.88 (docs/figures.md).
//!
//! Where a hash chooses among cables, several messages under way meet on one: balls in bins. Credit goes only as
//! far as a cable's queue holds what may meet there.
use super::{DataCarrier, Way};
use crate::call_time::{DEVIATIONS, credit_of_ranks, may_meet_on_a_cable};
use crate::decision_table::{Collective, UnmeasuredSet};
use crate::library_routine::LibraryRoutine;
use inventory::{Bytes, MpiRoutines, Tree};
use schedules::alltoall::AlltoallAlgorithm;
use schedules::bound::{self, BottleneckLoad};
use schedules::synchronization::SyncKind;
use schedules::synchronization::credit::{
    LaneCredit, ROUND_TRIP, numbers_of_messages, part_of, rounded_up,
};
use schedules::synchronization::scheme::SyncScheme;
use schedules::window::port_queue;
use std::num::NonZeroU32;
use std::time::Duration;

/// With tokens a phase takes two wakings beside its block, 90 us at 1 and 10 Gbit/s; by credit a block
/// takes about a fifth longer than with tokens that cost nothing. So blocks of 4 * 90 us take as long.
pub(super) const BY_CREDIT: Duration = Duration::from_micros(360);
/// Longer blocks go as other ways say.
const SHORT: Duration = Duration::from_micros(1100);
/// Larger process sets plan for half as many messages as before, and so on; others for numbers between, too.
const MOST_PLANS: u64 = 256;

/// The numbers of messages under way for which so many ranks have plans of blocks in so many rounds.
fn numbers_planned(ranks: u64, rounds: NonZeroU32) -> impl Iterator<Item = NonZeroU32> {
    let all = numbers_of_messages(rounds);
    all.filter(move |messages| ranks <= MOST_PLANS || messages.is_power_of_two())
}

/// The scheme of blocks of this size: the most of them, or of their parts, under way for which so many ranks have plans,
/// where messages may be so long.
pub(super) fn credited(
    (credit, ranks): (LaneCredit, u64),
    block: Bytes,
    longest: impl Fn(NonZeroU32) -> Bytes,
) -> Option<SyncScheme> {
    let rounds = credit.rounds(block);
    let part = part_of(block, rounds);
    let messages = numbers_planned(ranks, rounds).filter(|&messages| part <= longest(messages));
    messages
        .max()
        .map(|messages| SyncScheme::credit(messages).in_rounds(rounds))
}

/// The sizes of short blocks that overflow a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortBlocks {
    first: Bytes,
    /// From this size on with tokens.
    with_tokens: Bytes,
    end: Bytes,
    credit: LaneCredit,
    hashed: Option<HashedCables>,
    ranks: u64,
}

/// Cables among which a hash chooses.
#[derive(Debug, Clone, Copy)]
struct HashedCables {
    /// The messages that one carries at once, and those that come to one, if hosts send one each.
    lanes: f64,
    flows: f64,
    cables: f64,
    queue: Bytes,
}

impl HashedCables {
    /// Those on which most may meet.
    fn of(hosts: &Tree) -> Option<HashedCables> {
        let aggregates = (0..hosts.nodes()).flat_map(|node| {
            let cables = hosts.member_cables(node).iter();
            let hashed = cables.filter(|cable| cable.parts.get() > 1);
            hashed.map(move |cable| (2 * node, *cable))
        });
        let mut aggregates = aggregates.peekable();
        aggregates.peek()?;
        let capacities = AlltoallAlgorithm::faster_for(hosts).capacities(hosts);
        let below = hosts.hosts_below();
        let hashed = aggregates.map(|(edge, cable)| {
            let cables = f64::from(cable.parts.get());
            let lanes = capacities.cable_width(edge, cable) as f64 / cables;
            let inside = below[edge as usize / 2];
            let pairs = inside.min(hosts.hosts() - inside);
            HashedCables {
                lanes,
                flows: lanes.min(f64::from(pairs) / cables),
                cables,
                queue: port_queue(hosts),
            }
        });
        hashed.min_by_key(|cables| cables.longest(NonZeroU32::MIN))
    }

    /// The longest message of which so many may be under way a lane.
    fn longest(self, messages: NonZeroU32) -> Bytes {
        let mean = self.flows * f64::from(messages.get());
        // Balls in bins: n p with the variance n p (1 - p).
        let meet = mean + DEVIATIONS * (mean * (1.0 - 1.0 / self.cables)).sqrt();
        if meet <= self.lanes {
            return Bytes(u64::MAX);
        }
        Bytes((self.queue.0 as f64 / meet) as u64)
    }
}

impl ShortBlocks {
    /// Those of these hosts, with which the library overflows a queue; none where a token takes longer than
    /// the credit reckons with.
    pub(super) fn of(set: &UnmeasuredSet<'_>) -> Option<ShortBlocks> {
        let UnmeasuredSet { hosts, host_of, .. } = *set;
        let rate = bound::slowest_host_link(hosts)?;
        let octet = BottleneckLoad { blocks: 1, rate }.seconds(Bytes(1));
        let [tokens_cost_little, end] =
            [BY_CREDIT, SHORT].map(|time| Bytes((time.as_secs_f64() / octet) as u64));
        let possible = [set.overflowing(), smallest_in_pairs(set)];
        let first = possible.into_iter().flatten().min()?;
        let short = ShortBlocks {
            first,
            with_tokens: tokens_cost_little.max(first),
            end,
            credit: credit_of_ranks(hosts, host_of.len()),
            hashed: HashedCables::of(hosts),
            ranks: host_of.len() as u64,
        };
        Some(short).filter(|short| short.first < short.end && 2 * set.delay <= ROUND_TRIP)
    }

    /// These ways, each with the smallest block that goes it, but for short blocks that go the library's.
    pub(super) fn in_place_of_native(self, ways: &[(Bytes, Way)]) -> Vec<(Bytes, Way)> {
        let starts = std::iter::once((Bytes(0), Way::Native)).chain(ways.iter().copied());
        let ends = ways.iter().map(|&(from, _)| from).chain([Bytes(u64::MAX)]);
        let mut all = Vec::new();
        for ((from, way), end) in starts.zip(ends) {
            let (first, last) = (from.max(self.first), end.min(self.end));
            if way != Way::Native || first >= last {
                all.push((from, way));
                continue;
            }
            all.extend((from < first).then_some((from, way)));
            all.extend(self.ways(first, last));
            all.extend((last < end).then_some((last, way)));
        }
        // A table begins with the library's own routine anyway.
        all.retain(|&(from, _)| from > Bytes(0));
        all.dedup_by_key(|(_, way)| *way);
        all
    }

    /// The ways of these blocks, each with the smallest that goes it.
    fn ways(self, first: Bytes, last: Bytes) -> Vec<(Bytes, Way)> {
        let held =
            numbers_planned(self.ranks, NonZeroU32::MIN).map(|messages| self.longest(messages));
        let cut = std::iter::successors(Some(rounded_up(first)), |size| {
            Some(rounded_up(Bytes(size.0 + 1)))
        });
        let ends = held.chain(cut.take_while(|size| *size < last));
        let above = ends.map(|Bytes(longest)| Bytes(longest.saturating_add(1)));
        let mut starts: Vec<Bytes> = above.chain([first, self.with_tokens]).collect();
        starts.retain(|start| (first..last).contains(start));
        starts.sort_unstable();
        let mut ways: Vec<(Bytes, Way)> = starts
            .into_iter()
            .map(|start| (start, self.way(start)))
            .collect();
        ways.dedup_by_key(|(_, way)| *way);
        ways
    }

    /// The longest blocks of which so many may be under way a lane; any one may.
    fn longest(self, messages: NonZeroU32) -> Bytes {
        let credit = match messages.get() {
            1 => Bytes(u64::MAX),
            several => self.credit.longest(several.into()),
        };
        let hashed = self.hashed.map(|cables| cables.longest(messages));
        hashed.map_or(credit, |hashed| hashed.min(credit))
    }

    fn way(self, block: Bytes) -> Way {
        let credit = (self.credit, self.ranks);
        let scheme = credited(credit, block, |messages| self.longest(messages));
        let by_credit = scheme.filter(|_| block < self.with_tokens);
        Way::Aapc {
            sync: by_credit.unwrap_or(SyncKind::Receiver.into()),
            over: DataCarrier::Tcp,
        }
    }
}

/// The smallest block of which the library sends one at a time, where a hash would put several on one cable.
fn smallest_in_pairs(set: &UnmeasuredSet<'_>) -> Option<Bytes> {
    let library = set.library.and_then(MpiRoutines::measured);
    let library = library.filter(|_| may_meet_on_a_cable(set.hosts, set.host_of))?;
    let ranks = u32::try_from(set.host_of.len()).unwrap_or(u32::MAX);
    let sizes = (0..32).flat_map(|power| [1u64 << power, (1 << power) + 1]);
    sizes.map(Bytes).find(|&block| {
        let routine = LibraryRoutine::chosen(library, Collective::Alltoall, ranks, block);
        routine == LibraryRoutine::Pairwise
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::topology;

    #[test]
    fn a_hash_limits_what_is_under_way_only_where_hosts_fill_a_cable() {
        let [narrow, wide] = ["40G", "400G"].map(|rate| {
            let hosts: Vec<String> = (0..16)
                .map(|h| format!("n{h}: {{switch: s{}, rate: 10G}}", h / 8))
                .collect();
            let tree = topology(&format!(
                "switches: [s0, s1]\nhosts: {{{}}}\nlinks: [{{a: s0, b: s1, rate: {rate}, cables: 4}}]",
                hosts.join(", ")
            ));
            HashedCables::of(&tree).map(|cables| cables.longest(NonZeroU32::MIN))
        });
        assert_eq!(narrow, Some(Bytes(34_151)));
        assert_eq!(wide, Some(Bytes(u64::MAX)));
    }
}
