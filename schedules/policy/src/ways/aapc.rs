//! The phases of an all-to-all, kept apart by tokens or barriers.
use super::short_blocks::BY_CREDIT;
use super::{CallWay, DataCarrier, EITHER, HostTraits, MessageForm, PlannedWay, PlanningSet, Way};
use crate::call_time::{AlltoallTime, wire};
use crate::decision_table::{
    ANY_SIZE, Collective, CollectiveTraffic, OverflowingCall, TOKENS, UnmeasuredSet,
};
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::aapc::in_runs;
use schedules::alltoall::{self, AlltoallAlgorithm, AlltoallSchedule};
use schedules::bound::{self, BottleneckLoad};
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::verify::{self, ScheduleViolation};
use schedules::window::{OctetWindow, port_queue};
use std::ops::Range;
use std::time::Duration;

pub(super) const NAME: &str = "aapc";

pub(super) struct OrderedPhases;

impl CallWay for OrderedPhases {
    fn usual(&self) -> Way {
        super::phases(SyncKind::Receiver).with_carrier(DataCarrier::Mpi)
    }

    fn is(&self, way: Way) -> bool {
        way.sync().is_some_and(|sync| {
            !matches!(
                sync.mechanism(),
                SyncMechanism::Window | SyncMechanism::Credit
            )
        })
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        EITHER
    }

    fn serves(&self, way: Way, collective: Collective) -> bool {
        let mechanism = way.sync().map(SyncScheme::mechanism);
        let can = mechanism.is_some_and(|mechanism| mechanism != SyncMechanism::Dummy);
        can && collective.traffic() == CollectiveTraffic::Exchange
    }

    fn form(&self) -> MessageForm {
        MessageForm::Blocks
    }

    fn plan<'a>(
        &self,
        way: Way,
        set: &PlanningSet<'a>,
    ) -> Result<PlannedWay<'a>, ScheduleViolation> {
        let sync = way.sync().unwrap_or(SyncKind::Receiver.into());
        planned(sync, set, None)
    }

    fn nanoseconds(&self, time: &AlltoallTime, way: Way, block: Bytes) -> Option<u64> {
        (way == super::phases(SyncKind::Receiver)).then(|| with_tokens(time, block))
    }

    fn pays(&self, set: &UnmeasuredSet<'_>, collective: Collective) -> Option<(Range<Bytes>, Way)> {
        let is_even = collective == Collective::Alltoall;
        let from = is_even.then(|| smallest(set)).flatten()?;
        Some((from..ANY_SIZE, super::phases(SyncKind::Receiver)))
    }

    fn is_tried(&self, _: HostTraits) -> bool {
        true
    }

    fn is_tried_by_size(&self, _: DataCarrier, _: Collective, _: HostTraits) -> bool {
        true
    }

    /// Synchronizations for blocks of phases (aapc-2007, Table 5) are not among them: in no measurement did
    /// one gain more than the noise over tokens for every phase.
    fn contenders(&self, _: &Tree, _: &TopologyFile) -> Vec<Way> {
        let schemes = SyncScheme::table_5(&[]).into_iter();
        let ways =
            schemes.flat_map(|sync| EITHER.iter().map(move |&over| Way::Aapc { sync, over }));
        ways.filter(|way| way.serves(Collective::Alltoall))
            .collect()
    }

    fn is_calibrated(&self, way: Way) -> bool {
        way == way.with_usual_sync()
    }
}

/// True if an exchange can go by phases for which it must be known what has come: only TCP says that.
pub(super) fn goes_over_tcp(way: Way, collective: Collective) -> bool {
    way.is_over_tcp() && collective.traffic() == CollectiveTraffic::Exchange
}

/// The phases among the hosts of a tree with a synchronization, verified: as planned, and as transfers.
pub(super) fn verified(
    tree: &Tree,
    sync: SyncScheme,
) -> Result<(AlltoallSchedule, TransferSchedule), ScheduleViolation> {
    let plan = alltoall::plan(tree, sync);
    verify::alltoall(tree, &plan)?;
    let schedule = TransferSchedule::on_tree(tree, &plan)
        .unwrap_or_else(|wait| unreachable!("the verifier has found every message: {wait:?}"));
    Ok((plan, schedule))
}

/// The phases with a synchronization, in which a rank may have so many octets under way.
pub(super) fn planned<'a>(
    sync: SyncScheme,
    set: &PlanningSet<'a>,
    window: Option<Bytes>,
) -> Result<PlannedWay<'a>, ScheduleViolation> {
    let (plan, schedule) = verified(set.leaves, sync)?;
    let lead = plan.lead(set.leaves);
    let planned = PlannedWay::new(move |rank| {
        let part = RankPart {
            window,
            lead,
            ..part::of(&schedule, rank)
        };
        part.between(schedule.meetings())
    });
    Ok(PlannedWay {
        phases: plan.phases.len(),
        ..planned
    }
    .with_digest((&plan.phases, &plan.syncs, lead, window)))
}

/// Octets on the wire of a block and of its token.
pub(super) fn with_token(block: Bytes) -> u64 {
    wire(block.0).saturating_add(wire(0))
}

/// Phases with a token between two messages of one link.
fn with_tokens(time: &AlltoallTime, block: Bytes) -> u64 {
    let sent = time.longest(|link| with_token(block).saturating_mul(link.blocks));
    sent.saturating_add(time.phases.saturating_mul(time.token(block.0)))
}

/// A phase at 1 and 10 Gbit/s took 90 us beside its block: two ranks are woken, one by a token. Four
/// hosts gained from half of this on; more hosts could not be measured, so jobs learn the rest.
const ALLTOALL_ON_FAST_LINKS: (Bytes, Duration) = (Bytes(128 << 10), Duration::from_micros(1100));

const ALLTOALL: OverflowingCall = OverflowingCall {
    octets: Bytes(256 << 10),
    block: Duration::from_millis(5),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};
/// Where so many pairs of hosts share a trunk, their blocks overflow its queue while each is short.
/// A lost segment of a short block comes again only when a timer runs out: too few segments follow it
/// for a fast retransmission (RFC 5681). Those go in a window. With tokens, blocks of 8 and 16 kB took
/// 0.79 to 1.35 of the library's time, so they begin above.
const MANY_PAIRS: u64 = 40;
const ALLTOALL_OF_MANY: OverflowingCall = OverflowingCall {
    octets: Bytes(192 << 10),
    block: Duration::from_millis(10),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};
/// The same where one host after the other sends over that trunk ([`in_runs`]): few tokens are
/// needed, and blocks of 2 to 16 kB took 0.29 to 0.87 of the library's time among 24 hosts.
const ALLTOALL_IN_RUNS: OverflowingCall = OverflowingCall {
    octets: Bytes(0),
    block: Duration::from_micros(800),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};
/// So far above the smallest block that overflows a queue, blocks pay that last less. Times of the
/// library's own routine at 25 Mbit/s, 16 hosts: chain 0.69 to 0.88 with 16 and 24 kB, 0.77 and 0.90
/// with 10 kB; star 1.03 and 1.07 with 16 kB, 0.79 and 0.95 with 24 kB.
const FAR_OVER: u64 = 5;
const ALLTOALL_FAR_OVER: OverflowingCall = OverflowingCall {
    octets: Bytes(0),
    block: Duration::from_millis(4),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};

/// Where many pairs of hosts share a trunk, tokens between blocks that are less than so many times as
/// long as those that all queues hold cost more than they save: on a star of 24 hosts 8 and 12 kB, 1.5
/// and 2.3 times, took 1.07 to 1.16 of the library's time, and 16 kB 0.76 to 0.78.
const TOKENS_PAY: (u64, u64) = (5, 2);

/// Where one host after the other sends over a long cable, each turn takes so many times the cable's
/// delay: 2.7 times 10 ms with 8 hosts on either side, whatever the block.
const TURN: u32 = 3;
/// The library's own routine, when it overflows the queue there, loses at least this to
/// retransmission timers: 0.23 to 0.48 s. Turns that take less pay with any such block.
const LOST_TO_TIMERS: Duration = Duration::from_millis(250);
/// Longer turns may take such a part of the time of the blocks.
const TURNS_SHARE: u32 = 4;

/// Where so many messages wait in a port of a host that has the next one, ranks that drift apart overflow it,
/// though what all send fits: 48 hosts of 1G on trunks of 10G came to 0.09 and 0.11 of the bound with 64 kB by
/// the libraries' patterns in ns-3, and to 0.89 with tokens; 8 hosts of 200 and 500 Mbit/s took 0.55 to 0.84 of
/// the libraries' time with tokens. Blocks that tokens cost little go so.
const WAITING: u64 = 2;
/// Fewer senders cannot have so many for one host.
const SENDERS: usize = WAITING as usize + 1;

/// The smallest of those blocks; none where too few ranks send.
fn smallest_that_waits(set: &UnmeasuredSet<'_>) -> Option<Bytes> {
    let rate = bound::slowest_host_link(set.hosts)?;
    let octet = BottleneckLoad { blocks: 1, rate }.seconds(Bytes(1));
    let lasting = (BY_CREDIT + TOKENS * set.delay).as_secs_f64() / octet;
    let waiting = Bytes(port_queue(set.hosts).0 / WAITING + 1);
    (set.host_of.len() > SENDERS).then(|| waiting.max(Bytes(lasting as u64)))
}

/// The smallest block with which tokens pay.
pub(super) fn smallest(set: &UnmeasuredSet<'_>) -> Option<Bytes> {
    let (hosts, bottleneck) = (set.hosts, set.alltoall()?);
    let overflowing = set.overflowing();
    if let Some(overflowing) = overflowing.filter(|_| goes_in_runs(set)) {
        let longer = longer_for_turns(hosts, bottleneck, set.delay);
        let lasting = ALLTOALL_IN_RUNS.smallest_block(hosts, bottleneck, longer);
        return Some(overflowing.max(lasting));
    }
    let held = OctetWindow::of(hosts, set.host_of).largest_block;
    let tokens = smallest_of_phases(hosts, bottleneck, set.delay, (overflowing, held))
        .max(Bytes(held.0 + 1));
    Some(smallest_that_waits(set).map_or(tokens, |waits| waits.min(tokens)))
}

/// True if one host after the other sends over a trunk that many pairs of hosts share, a rank each.
pub(super) fn goes_in_runs(set: &UnmeasuredSet<'_>) -> bool {
    let hosts = set.hosts;
    *set.goes_in_runs.get_or_init(|| {
        set.host_of.len() == hosts.hosts() as usize
            && is_shared_by_many(hosts)
            && AlltoallAlgorithm::faster_for(hosts) == AlltoallAlgorithm::Aapc
            && in_runs::phases(hosts).is_some()
    })
}

/// By how much a block has to last longer because of the turns of hosts over long cables.
fn longer_for_turns(hosts: &Tree, bottleneck: BottleneckLoad, delay: Duration) -> Duration {
    // With a and b hosts at the trunk's ends, a + b is the number of hosts, and a b that of blocks.
    let (n, blocks) = (f64::from(hosts.hosts()), bottleneck.blocks as f64);
    let at_one_end = f64::midpoint(n, (n * n - 4.0 * blocks).max(0.0).sqrt());
    let turns = (TURN * delay).mul_f64(at_one_end);
    if turns <= LOST_TO_TIMERS {
        Duration::ZERO
    } else {
        (TURNS_SHARE * turns).div_f64(blocks)
    }
}

/// True if some trunk carries the blocks of many pairs of hosts.
fn is_shared_by_many(hosts: &Tree) -> bool {
    let n = hosts.hosts();
    let pairs =
        bound::alltoall_bottleneck(hosts, &vec![1; n as usize]).map_or(0, |link| link.blocks);
    // A host's own link has one less than there are hosts.
    pairs >= MANY_PAIRS.max(u64::from(n))
}

/// The smallest block with which the phases of an all-to-all pay, with tokens between them, where
/// blocks overflow a queue from the first of two sizes on, and all queues hold those up to the second.
fn smallest_of_phases(
    hosts: &Tree,
    bottleneck: BottleneckLoad,
    delay: Duration,
    (overflowing, held): (Option<Bytes>, Bytes),
) -> Bytes {
    let smallest = |call: OverflowingCall| call.smallest_block(hosts, bottleneck, TOKENS * delay);
    if is_shared_by_many(hosts) {
        // A trunk that is hardly slower than what comes to it holds larger blocks.
        let usual = smallest(ALLTOALL_OF_MANY).max(overflowing.unwrap_or_default());
        let tokens = overflowing.map_or(usual, |block| {
            let far = Bytes(block.0.saturating_mul(FAR_OVER));
            smallest(ALLTOALL_FAR_OVER).max(far).min(usual)
        });
        let (times, by) = TOKENS_PAY;
        tokens.max(Bytes(held.0 * times / by))
    } else {
        smallest(ALLTOALL)
    }
}
