//! The job record that rank 0 of a process set has written into the shared directory's `jobs/`, for
//! the controller and the terminal.
//!
//! It must cost next to nothing: where calls come every few microseconds one in many is timed, and
//! the record is sent at most twice a second, or less often where that is slow. Only a timed call
//! can have it sent, so in a program that calls once a second each call is timed, however short.
use crate::helper::client::{self, SharedDirectory};
use directory::job_record::{CallTotal, JobRecord, WatchedWindow};
use directory::layout::record_file;
use inventory::{Bytes, Millis, MpiRoutines, counted};
use policy::decision_table::{Collective, Way};
use policy::learned::{LearnedTiming, RankLayout, RecordedTiming};
use policy::shown_rates::FastCall;
use simulation::watched::BlockArrivals;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Written at most this often.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);
/// Time spent writing is at most one part in this many.
const WRITE_COST: u32 = 200;
/// Time spent reading the clock is at most one part in this many.
const TIMING_COST: f64 = 400.0;
/// Seconds from a timed call to the next, at least: a thousand times a second is often enough, and
/// the calls between need not come to heddle.
const TIMED_EVERY: f64 = 1e-3;
/// A timed call stands for at most this many: a program whose calls become rare is timed again after
/// so many.
const MOST_STRIDE: u32 = 1024;
/// Different block sizes counted on their own; any further ones are counted under the next lower
/// power of two.
const MOST_SIZES: usize = 32;

/// Counts what a process set does. Only its rank 0 has one.
#[derive(Debug)]
pub struct JobRecorder {
    record: JobRecord,
    directory: Option<Arc<Mutex<SharedDirectory>>>,
    totals: Vec<RunningTotal>,
    last: usize,
    next_write: Instant,
    /// Seconds that timing one call costs here.
    timing: f64,
    /// When the last timed call ended, and calls of any kind begun since.
    timed_at: Instant,
    calls_since: u32,
    /// Windows that were reported.
    windows: u64,
}

/// One kind of call.
#[derive(Debug)]
struct RunningTotal {
    collective: Collective,
    way: Way,
    block: u64,
    calls: u64,
    seconds: f64,
    bound_seconds: f64,
    /// The part of `seconds` that `bound_seconds` belongs to.
    bounded_seconds: f64,
    /// Seconds of one call at the payload bound of the epoch followed now.
    bound_each: f64,
    /// A timed call stands for this many.
    stride: u32,
    /// Calls until the next timed one.
    until_timed: u32,
}

/// A call under way; [`JobRecorder::done`] takes it.
#[derive(Debug)]
pub struct CallTimer {
    total: usize,
    started: Option<Instant>,
    /// A bound is known for the call.
    bounded: bool,
}

impl JobRecorder {
    /// Starts a record, which goes to the shared directory, if there is one.
    pub fn new(record: JobRecord, directory: Option<Arc<Mutex<SharedDirectory>>>) -> JobRecorder {
        let (timing, timed_at) = (timing(), Instant::now());
        let next_write = timed_at + WRITE_INTERVAL;
        JobRecorder {
            record,
            directory,
            totals: Vec::new(),
            last: 0,
            next_write,
            timing,
            timed_at,
            calls_since: 0,
            windows: 0,
        }
    }

    /// From now on the process set follows `epoch`, or stands aside for a reason. `bound` gives the
    /// seconds a collective with blocks of a size would take at the payload bound. Sent at once.
    pub fn follows(
        &mut self,
        epoch: u64,
        aside: Option<String>,
        bound: impl Fn(Collective, Bytes) -> f64,
    ) {
        for total in &mut self.totals {
            total.bound_each = bound(total.collective, Bytes(total.block));
        }
        self.record.epoch = epoch;
        self.record.epoch_since = now();
        self.record.aside = aside;
        // Blocks that came on another tree say nothing of this one.
        self.record.watched = None;
        self.record.fast_call = None;
        self.write();
    }

    /// Rank `r` runs on `hosts[r]`, as the topology of this network calls it.
    pub fn runs_on(&mut self, hosts: &[String], network: Option<String>) {
        (self.record.hosts, self.record.layout) = layout(hosts);
        self.record.network = network;
    }

    /// A call begins.
    pub fn begin(
        &mut self,
        collective: Collective,
        way: Way,
        block: u64,
        bound: impl FnOnce(Collective, Bytes) -> f64,
    ) -> CallTimer {
        let total = self.find(collective, way, block, bound);
        self.calls_since = self.calls_since.saturating_add(1);
        let counted = &mut self.totals[total];
        counted.calls += 1;
        counted.bound_seconds += counted.bound_each;
        counted.until_timed -= 1;
        let is_timed = counted.until_timed == 0;
        if is_timed {
            // Another thread may begin a call of this kind before this one ends.
            counted.until_timed = counted.stride;
        }
        CallTimer {
            total,
            started: is_timed.then(Instant::now),
            bounded: counted.bound_each > 0.0,
        }
    }

    /// The calls of a kind until the next timed one; none before the first one.
    pub fn untimed(&self, collective: Collective, way: Way, block: u64) -> u32 {
        let (_, known) = self.known(collective, way, block);
        known.map_or(0, |total| self.totals[total].until_timed - 1)
    }

    /// So many of them have passed.
    pub fn passed(&mut self, collective: Collective, way: Way, block: u64, calls: u32) {
        let (_, Some(total)) = self.known(collective, way, block) else {
            return;
        };
        self.calls_since = self.calls_since.saturating_add(calls);
        let counted = &mut self.totals[total];
        counted.calls += u64::from(calls);
        counted.bound_seconds += counted.bound_each * f64::from(calls);
        counted.until_timed = counted.until_timed.saturating_sub(calls).max(1);
    }

    /// It has ended.
    pub fn done(&mut self, timer: &CallTimer) {
        if let Some(started) = timer.started {
            self.timed(timer, started, Instant::now());
        }
    }

    fn timed(&mut self, timer: &CallTimer, started: Instant, ended: Instant) {
        let total = &mut self.totals[timer.total];
        let seconds = (ended - started).as_secs_f64() * f64::from(total.stride);
        total.seconds += seconds;
        if timer.bounded {
            total.bounded_seconds += seconds;
        }
        total.stride = stride(
            total.stride,
            self.timing,
            self.calls_since,
            ended - self.timed_at,
        );
        total.until_timed = total.stride;
        (self.timed_at, self.calls_since) = (ended, 0);
        if ended >= self.next_write {
            self.write();
        }
    }

    /// Records the figures that the process set has learned so far on the epoch that it follows, the
    /// cost of learning, and the time that it saved.
    pub fn learned(&mut self, timings: Vec<LearnedTiming>, cost: Duration, saved: Duration) {
        self.record.learned = timings.into_iter().map(RecordedTiming::from).collect();
        self.record.learning_cost_seconds = Some(cost.as_secs_f64());
        self.record.learning_saved_seconds = Some(saved.as_secs_f64());
    }

    /// A call ended sooner than the rates of the epoch that is followed allow. It goes with the next write.
    pub fn showed_rates(&mut self, call: FastCall) {
        self.record.fast_call = Some(call.into());
    }

    /// How fast blocks came in the window that is over. It goes with the next write.
    pub fn watched(&mut self, arrivals: &BlockArrivals) {
        self.windows += 1;
        self.record.watched = Some(WatchedWindow {
            number: self.windows,
            arrivals: arrivals.rows(),
        });
    }

    /// The last write: the job ends.
    pub fn finish(&mut self) {
        self.record.finished = true;
        self.write();
    }

    /// The counts so far.
    pub fn record(&mut self) -> &JobRecord {
        self.record.updated = now();
        self.record.calls = self.totals.iter().map(RunningTotal::call_total).collect();
        &self.record
    }

    /// The counts so far, a line for each kind of call.
    pub fn lines(&mut self) -> Vec<String> {
        self.record()
            .calls
            .iter()
            .map(|t| {
                format!(
                    "{} of {}, {} B a block, by {}: {:.3} s",
                    counted(t.calls, "call"),
                    t.collective,
                    t.block,
                    t.way,
                    t.seconds
                )
            })
            .collect()
    }

    fn find(
        &mut self,
        collective: Collective,
        way: Way,
        block: u64,
        bound: impl FnOnce(Collective, Bytes) -> f64,
    ) -> usize {
        let (block, known) = self.known(collective, way, block);
        self.last = known.unwrap_or_else(|| {
            let bound_each = bound(collective, Bytes(block));
            self.totals.push(RunningTotal {
                collective,
                way,
                block,
                calls: 0,
                seconds: 0.0,
                bound_seconds: 0.0,
                bounded_seconds: 0.0,
                bound_each,
                stride: 1,
                until_timed: 1,
            });
            self.totals.len() - 1
        });
        self.last
    }

    /// The block under which such a call counts, and its total if one has begun.
    fn known(&self, collective: Collective, way: Way, block: u64) -> (u64, Option<usize>) {
        let same = |t: &RunningTotal, block: u64| {
            t.block == block && t.collective == collective && t.way == way
        };
        if self.totals.get(self.last).is_some_and(|t| same(t, block)) {
            return (block, Some(self.last));
        }
        let position = |block| self.totals.iter().position(|t| same(t, block));
        match position(block) {
            None if self.totals.len() >= MOST_SIZES => {
                let power = block.checked_ilog2().map_or(0, |log| 1 << log);
                (power, position(power))
            }
            known => (block, known),
        }
    }

    fn write(&mut self) {
        let began = Instant::now();
        self.record();
        if let (Some(directory), Ok(json)) = (&self.directory, serde_json::to_vec(&self.record)) {
            client::lock(directory).write(&record_file(&self.record.id), json);
        }
        let ended = Instant::now();
        self.next_write = ended + WRITE_INTERVAL.max((ended - began) * WRITE_COST);
    }
}

impl RunningTotal {
    fn call_total(&self) -> CallTotal {
        CallTotal {
            collective: self.collective.into(),
            way: self.way.into(),
            block: self.block,
            calls: self.calls,
            seconds: self.seconds,
            bound_seconds: self.bound_seconds,
            bounded_seconds: Some(self.bounded_seconds),
        }
    }
}

/// The number of calls the next timed one stands for, after one that stood for `last`, when `calls`
/// calls and whatever the program did between them took `elapsed`.
fn stride(last: u32, timing: f64, calls: u32, elapsed: Duration) -> u32 {
    let each = elapsed.as_secs_f64() / f64::from(calls.max(1));
    let wanted = ((timing * TIMING_COST).max(TIMED_EVERY) / each.max(1e-9)).ceil();
    // At most doubled at a time: calls that came in one quick burst say little.
    (wanted as u32).clamp(1, last.saturating_mul(2).min(MOST_STRIDE))
}

/// The cost of reading the clock twice: 50 ns where the kernel lets programs read it, 2 µs on
/// some virtual machines.
fn timing() -> f64 {
    const READS: u32 = 32;
    let began = Instant::now();
    let last = (0..READS).fold(began, |_, _| Instant::now());
    2.0 * (last - began).as_secs_f64() / f64::from(READS)
}

/// The record of a process set whose rank `r` runs on `hosts[r]`; `number` is its number in this
/// process.
pub fn start(hosts: &[String], number: u32, mpi: MpiRoutines) -> JobRecord {
    let started = now();
    let (distinct, layout) = layout(hosts);
    let host = hosts.first().map_or("", String::as_str);
    let plain: String = host
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let program = std::env::current_exe()
        .ok()
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    JobRecord {
        // The time keeps containers apart that share a host's name and count processes each on its
        // own.
        id: format!("{plain}-{}-{number}-{:x}", std::process::id(), started.0),
        program: program.unwrap_or_default(),
        user: user(),
        started,
        updated: started,
        hosts: distinct,
        ranks: hosts.len() as u32,
        layout,
        mpi: mpi.into(),
        epoch: 0,
        epoch_since: started,
        aside: None,
        finished: false,
        calls: Vec::new(),
        learned: Vec::new(),
        learning_cost_seconds: None,
        learning_saved_seconds: None,
        watched: None,
        network: None,
        fast_call: None,
    }
}

/// The hosts in the order of their first ranks, and which ranks each has, if rank `r` runs on `hosts[r]`.
fn layout(hosts: &[String]) -> (Vec<String>, RankLayout) {
    let mut distinct: Vec<String> = Vec::new();
    let mut number_of = |host: &String| {
        let known = distinct.iter().position(|other| other == host);
        known.unwrap_or_else(|| {
            distinct.push(host.clone());
            distinct.len() - 1
        }) as u32
    };
    let host_of: Vec<u32> = hosts.iter().map(&mut number_of).collect();
    (distinct, RankLayout::from_hosts(&host_of))
}

/// The user of this process. No name service is asked: it could load libraries into a program that
/// is not ours.
fn user() -> String {
    let named = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    named
        .or_else(|| {
            let uid = fs::metadata("/proc/self").ok()?.uid().to_string();
            let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
            let name = passwd
                .lines()
                .find(|line| line.split(':').nth(2) == Some(&uid))
                .and_then(|line| line.split(':').next());
            Some(name.map_or_else(|| format!("uid {uid}"), str::to_owned))
        })
        .unwrap_or_default()
}

/// The wall clock.
pub fn now() -> Millis {
    Millis(
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| d.as_millis() as u64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use directory::job_record::BoundShare;

    fn recorder() -> JobRecorder {
        JobRecorder::new(
            start(
                &["n0".to_owned(), "n1".to_owned()],
                1,
                inventory::Mpi::Mpich.into(),
            ),
            None,
        )
    }

    /// Carries out calls of 2 µs, one each `period`, on a clock of the test's own; gives how many
    /// were timed.
    fn call(recorder: &mut JobRecorder, clock: &mut Instant, calls: u32, period: Duration) -> u32 {
        let mut timed = 0;
        for _ in 0..calls {
            let timer = recorder.begin(Collective::Alltoall, Way::Native, 8, |_, _| 0.0);
            if timer.started.is_some() {
                recorder.timed(&timer, *clock, *clock + Duration::from_micros(2));
                timed += 1;
            }
            *clock += period;
        }
        timed
    }

    #[test]
    fn rare_calls_are_all_timed_and_frequent_ones_seldom() {
        let mut recorder = recorder();
        let mut clock = recorder.timed_at + Duration::from_secs(1);
        recorder.timing = 100e-9;
        assert_eq!(
            call(&mut recorder, &mut clock, 60, Duration::from_secs(1)),
            60
        );
        let timed = call(&mut recorder, &mut clock, 100_000, Duration::from_micros(4));
        assert!(
            (390..450).contains(&timed),
            "a thousand times a second: {timed}"
        );
        call(&mut recorder, &mut clock, 260, Duration::from_secs(1));
        assert_eq!(
            call(&mut recorder, &mut clock, 60, Duration::from_secs(1)),
            60
        );
        let counted = recorder.record().calls[0].clone();
        assert_eq!(counted.calls, 100_380);
        assert!((counted.seconds - 0.2).abs() < 0.01, "{counted:?}");
    }

    #[test]
    fn calls_that_pass_count_as_if_they_had_come() {
        let mut both = [recorder(), recorder()];
        for recorder in &mut both {
            recorder.timing = 0.0;
            let mut clock = recorder.timed_at;
            call(recorder, &mut clock, 5_000, Duration::from_micros(10));
        }
        let [came, passed] = &mut both;
        let untimed = passed.untimed(Collective::Alltoall, Way::Native, 8);
        assert!(untimed > 1, "{untimed}");
        let mut clock = came.timed_at;
        let timed = call(came, &mut clock, untimed, Duration::from_micros(10));
        // Nothing is reported of calls that never came.
        assert_eq!(passed.untimed(Collective::Alltoall, Way::Native, 65_536), 0);
        passed.passed(Collective::Alltoall, Way::Native, 65_536, 0);
        passed.passed(Collective::Alltoall, Way::Native, 8, untimed);
        assert_eq!(timed, 0);
        assert_eq!(came.record().calls, passed.record().calls);
        for recorder in &mut both {
            let mut clock = recorder.timed_at + Duration::from_millis(5);
            let timed = call(recorder, &mut clock, 1, Duration::from_micros(10));
            assert_eq!(timed, 1);
        }
    }

    #[test]
    fn only_calls_with_a_bound_count_against_the_bound() {
        let mut recorder = recorder();
        recorder.timing = 0.0;
        let second = Duration::from_secs(1);
        let mut clock = recorder.timed_at + second;
        call(&mut recorder, &mut clock, 9, second);
        recorder.follows(1, None, |_, _| 1e-6);
        call(&mut recorder, &mut clock, 1, second);
        let counted = recorder.record().calls[0].clone();
        assert!((counted.seconds - 20e-6).abs() < 1e-9, "{counted:?}");
        let share = counted.share_since(None).and_then(BoundShare::share);
        assert!((share.unwrap() - 0.5).abs() < 1e-9, "{counted:?}");
    }

    #[test]
    fn calls_of_several_threads_overlap() {
        let mut recorder = recorder();
        let timers: Vec<CallTimer> = (0..5)
            .map(|_| recorder.begin(Collective::Alltoall, Way::Native, 8, |_, _| 0.0))
            .collect();
        timers.iter().for_each(|timer| recorder.done(timer));
        assert_eq!(recorder.record().calls[0].calls, 5);
    }

    #[test]
    fn a_slow_clock_never_stops_the_timing() {
        let micro = Duration::from_micros(1);
        assert_eq!(stride(1, 4e-6, 1, micro), 2);
        assert_eq!(stride(1000, 4e-6, 1000, 1000 * micro), MOST_STRIDE);
        assert_eq!(
            stride(MOST_STRIDE, 4e-6, MOST_STRIDE, Duration::from_secs(1000)),
            1
        );
    }
}
