//! The ways that can be fastest for some calls, and the expected time of each before anybody tries it.
//!
//! The expected time decides only how early a way is tried: after so many calls that one row of it
//! costs no more than learning may.
use crate::call_time::{AlltoallTime, GatherTime};
use crate::decision_table::{Collective, CollectiveTraffic, DecisionGrounds, DecisionTable};
use crate::learned::{LearnedTiming, size_class};
use crate::ways::{self, DataCarrier, HostTraits, MessageForm, WAYS, Way};
use inventory::Bytes;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;

/// A way that calls may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CandidateWay {
    pub way: Way,
    /// The time of a call, as a multiple of that of the way which calls go at first.
    pub expected: f64,
    /// True if earlier jobs measured that, or if nobody can doubt it.
    pub is_known: bool,
}

/// The knowledge about a process set before it tries anything.
#[derive(Debug, Clone, Copy)]
pub struct CandidateGrounds<'a> {
    /// The decision table, for its library.
    pub table: &'a DecisionTable,
    /// The timings that earlier jobs learned at this place.
    pub learned: &'a [LearnedTiming],
    /// True if each rank's address is known, so that calls can go over TCP.
    pub has_addresses: bool,
    /// The traits of its hosts.
    pub hosts: HostTraits,
    /// True if no block is far larger than the mean.
    pub is_even: bool,
    /// The expected times of all-to-alls, where something crosses a cable.
    pub time: Option<&'a AlltoallTime>,
    /// Those of allgathers.
    pub gathers: Option<&'a GatherTime>,
}

/// Smaller blocks are left to the library, but for messages of several blocks.
const SMALLEST: Bytes = Bytes(256);
/// Below this part of the size from which the table goes over TCP, nobody tries a schedule, over TCP
/// or MPI: its steps cost more than their blocks, most of all over a long cable.
const FAR_BELOW: f64 = 16.0;
/// Ways of which the model says that they take so many times as long as the first are not tried.
const HOPELESS: f64 = 2.0;
/// The library's own routine, where the table goes over TCP: it loses segments, 1.0 to 8 in
/// heddle's lab.
const LIBRARY: f64 = 3.0;
/// The same with blocks less than so many times the size from which the table goes over TCP, and
/// with blocks whose sizes each rank knows in part: nobody knows whether TCP is ahead.
const IN_DOUBT: (u64, f64) = (4, 1.3);
/// MPI carries a schedule less tightly than TCP: 0.6 to 1.5 in heddle's lab. Where both are in doubt,
/// TCP is tried first: a schedule that gains over MPI gains more over TCP.
const BY_MESSAGES: f64 = 1.25;
const AFTER_TCP: f64 = 1.05;

/// The ways of a collective's calls with such blocks, first the one of the table. Only that one where
/// it was measured here, where it is forced by what the table says, or where no other can win.
pub fn candidates(
    grounds: CandidateGrounds,
    collective: Collective,
    block: Bytes,
) -> Vec<CandidateWay> {
    let alike = alike(grounds, collective, block);
    let entry = grounds.table.entry(alike, block);
    let first = first_way(grounds, collective, alike, block);
    let mut all = vec![CandidateWay {
        way: first,
        expected: 1.0,
        is_known: false,
    }];
    if alike == collective && entry.is_some_and(|entry| entry.grounds.is_measured()) {
        return all;
    }
    let timed = by_time(grounds, collective, (alike, first), block);
    let others = timed.unwrap_or_else(|| by_size(grounds, collective, (alike, first), block));
    for (way, expected) in others.into_iter().chain(bolder(grounds, first, block)) {
        if way != first && way.serves(collective) && grounds.hosts.can_go(way) {
            all.push(CandidateWay {
                way,
                expected,
                is_known: way == Way::Native && is_dear(grounds, alike, first, block),
            });
        }
    }
    expect_as_learned(&mut all, grounds.learned, collective, block);
    all
}

/// The other ways, and what is expected of each beside the first by the size from which the table goes
/// over TCP.
fn by_size(
    grounds: CandidateGrounds,
    collective: Collective,
    (alike, first): (Collective, Way),
    block: Bytes,
) -> Vec<(Way, f64)> {
    let mut others = Vec::new();
    if first != Way::Native {
        // Even blocks go as equal ones do.
        let is_in_doubt = alike.has_own_lengths() || first.form() == MessageForm::Relayed;
        let expected = library(grounds, alike, block, is_in_doubt);
        others.push((Way::Native, expected));
    }
    let below = below_tcp(grounds.table, alike, block);
    if let Some(below) = below.filter(|below| grounds.has_addresses && can_win(block, *below)) {
        let expected = over_tcp(alike, below);
        let tried = tried_by_size(DataCarrier::Tcp, collective, grounds.hosts);
        others.extend(tried.map(|way| (way, expected)));
    }
    // Some of the forecast lengths may be too long for a message.
    if can_win(block, below.unwrap_or(1.0)) && !collective.has_own_lengths() {
        let tcp = below.filter(|_| grounds.has_addresses);
        let tcp = tcp.map_or(0.0, |below| over_tcp(alike, below));
        let expected = if first == Way::Native {
            BY_MESSAGES.max(tcp * AFTER_TCP)
        } else {
            LIBRARY
        };
        let tried = tried_by_size(DataCarrier::Mpi, collective, grounds.hosts);
        others.extend(tried.map(|way| (way, expected)));
    }
    others
}

fn tried_by_size(
    over: DataCarrier,
    collective: Collective,
    hosts: HostTraits,
) -> impl Iterator<Item = Way> {
    let rows = WAYS.iter();
    let tried = rows.filter(move |row| row.is_tried_by_size(over, collective, hosts));
    tried.map(move |row| row.usual().with_carrier(over))
}

/// The same of an all-to-all where hosts have several ranks, by the times of the model; `None` where it
/// has none.
fn by_time(
    grounds: CandidateGrounds,
    collective: Collective,
    (alike, first): (Collective, Way),
    block: Bytes,
) -> Option<Vec<(Way, f64)>> {
    let is_timed = grounds.hosts.have_several_ranks && alike == Collective::Alltoall;
    let time = grounds.time.filter(|_| is_timed)?;
    let usual = time.nanoseconds(first, block)?.max(1) as f64;
    let beside = |nanoseconds| nanoseconds as f64 / usual;
    let ways = time
        .timed(block)
        .filter(|(way, _)| grounds.has_addresses || !way.is_over_tcp());
    let mut others: Vec<(Way, f64)> = ways
        .map(|(way, time)| match tells_lengths(collective, way) {
            true => (way, beside(time).max(IN_DOUBT.1)),
            false => (way, beside(time)),
        })
        .collect();
    // Some of the forecast lengths may be too long for a message.
    if !collective.has_own_lengths() {
        let tcp = ways::phases(SyncKind::Receiver);
        let expected = time.nanoseconds(tcp, block).map_or(HOPELESS, beside) * BY_MESSAGES;
        others.push((tcp.with_carrier(DataCarrier::Mpi), expected));
    }
    others.retain(|&(way, expected)| way == Way::Native || expected < HOPELESS);
    Some(others)
}

/// True if ranks tell each other their lengths before each call, beside libraries' routines that the model does not
/// know: Open MPI sends one block at a time and loses none.
fn tells_lengths(collective: Collective, way: Way) -> bool {
    collective.has_own_lengths() && matches!(way.form(), MessageForm::Bundles { .. })
}

/// The first way with more under way. If a queue does not hold that, a call waits for a timer.
fn bolder(grounds: CandidateGrounds, first: Way, block: Bytes) -> Option<(Way, f64)> {
    let expected = grounds.time?.slowed_by_a_timer(block);
    first.row().bolder(first).map(|way| (way, expected))
}

/// True if one call of the library's own routine would take over a second, and half of that the first
/// way's: nobody tries it.
fn is_dear(grounds: CandidateGrounds, alike: Collective, first: Way, block: Bytes) -> bool {
    let time = grounds.time.filter(|_| alike == Collective::Alltoall);
    let is_gathered = alike.traffic() == CollectiveTraffic::Gather;
    let gathers = grounds.gathers.filter(|_| is_gathered);
    time.is_some_and(|time| time.is_dear(first, block))
        || gathers.is_some_and(|time| time.is_dear(alike, first, block))
}

/// The way of the table. Of even blocks the largest may have twice the mean.
fn first_way(
    grounds: CandidateGrounds,
    collective: Collective,
    alike: Collective,
    block: Bytes,
) -> Way {
    let serving = |way: Way| {
        way.serves(collective) && grounds.hosts.can_go(way) && !tells_lengths(collective, way)
    };
    let [usual, of_largest] = [block, Bytes(block.0.saturating_mul(2))].map(|block| {
        let way = grounds.table.choose(alike, block);
        if serving(way) {
            return way;
        }
        let time = grounds.time.filter(|_| alike == Collective::Alltoall);
        time.map_or(Way::Native, |time| {
            time.fastest(block, |way| serving(way) && grounds.has_addresses)
        })
    });
    let may_be_longer = collective.has_own_lengths() && of_largest != usual;
    let longer = usual
        .row()
        .with_longer_blocks(of_largest)
        .filter(|_| may_be_longer);
    longer.unwrap_or(usual)
}

/// The collective whose entries say how calls go: blocks of about one length go as equal ones, where
/// nobody measured or learned more.
fn alike(grounds: CandidateGrounds, collective: Collective, block: Bytes) -> Collective {
    let entry = grounds.table.entry(collective, block);
    let is_known = entry.is_some_and(|entry| {
        entry.grounds.is_measured() || entry.grounds == DecisionGrounds::Learned
    });
    if collective.has_own_lengths() && grounds.is_even && !is_known {
        Collective::Alltoall
    } else {
        collective
    }
}

/// The expected time of the library's own routine where the table does not take it.
fn library(
    grounds: CandidateGrounds,
    collective: Collective,
    block: Bytes,
    is_in_doubt: bool,
) -> f64 {
    let (near, doubtful) = IN_DOUBT;
    let entry = grounds.table.entry(collective, block);
    let avoids_timers = entry.is_some_and(|entry| entry.way.row().avoids_timers());
    let is_near_tokens = entry.is_some_and(|entry| {
        let sync = entry.way.sync();
        sync.is_some_and(|sync| sync != SyncScheme::WINDOW)
            && block.0 < entry.from.0.saturating_mul(near)
    });
    if let Some(time) = grounds.time.filter(|_| avoids_timers && !is_in_doubt) {
        time.slowed_by_a_timer(block).max(LIBRARY)
    } else if is_in_doubt || is_near_tokens {
        doubtful
    } else {
        LIBRARY
    }
}

/// The times that earlier jobs measured are expected now.
fn expect_as_learned(
    all: &mut [CandidateWay],
    learned: &[LearnedTiming],
    collective: Collective,
    block: Bytes,
) {
    let from = size_class(block.0);
    let mean = |way: Way| {
        learned
            .iter()
            .find(|timing| (timing.collective, timing.from, timing.way) == (collective, from, way))
            .map(|timing| timing.mean_ns as f64)
    };
    let Some(first) = all.first().and_then(|first| mean(first.way)) else {
        return;
    };
    for candidate in &mut all[1..] {
        if let Some(mean) = mean(candidate.way) {
            candidate.expected = mean / first.max(1.0);
            candidate.is_known = true;
        }
    }
}

/// The size from which the table goes over TCP as a multiple of this one; `None` where it never does.
fn below_tcp(table: &DecisionTable, collective: Collective, block: Bytes) -> Option<f64> {
    // Those of an all-to-all say from where unequal blocks may pay.
    let alike = if collective.has_own_lengths() {
        Collective::Alltoall
    } else {
        collective
    };
    let mut over_tcp = table
        .entries(alike)
        .iter()
        .filter(|entry| entry.way.is_over_tcp());
    // Between two such sizes the table may have the library's own: then the next one counts.
    let above = over_tcp.clone().find(|entry| entry.from >= block);
    let from = above.or_else(|| over_tcp.next_back())?.from;
    Some(from.0 as f64 / block.0.max(1) as f64)
}

/// The expected time over TCP: it grows with the distance from the table's size.
fn over_tcp(collective: Collective, below: f64) -> f64 {
    // With unequal blocks the times are unknown.
    let least = if collective.has_own_lengths() {
        IN_DOUBT.1
    } else {
        1.0
    };
    least + 0.15 * doublings(below)
}

/// How often one is doubled up to such a multiple, in part the last time. No logarithm: those of two hosts
/// with different libraries may differ, and all ranks have to say the same.
fn doublings(multiple: f64) -> f64 {
    let whole = (multiple as u64).max(1).ilog2();
    (f64::from(whole) + multiple / (1u64 << whole) as f64 - 1.0).max(0.0)
}

/// False where the steps of a schedule are hopeless with blocks so far below those of TCP.
fn can_win(block: Bytes, below: f64) -> bool {
    block >= SMALLEST && below <= FAR_BELOW
}
