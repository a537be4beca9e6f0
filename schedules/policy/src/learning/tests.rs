mod moved_cable;
mod next_job;
mod opening;

use super::*;
use crate::call_time::AlltoallTime;
use crate::decision_table::{DataCarrier, DecisionEntry, DecisionGrounds, DecisionTable};
use crate::ways::HostTraits;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;

const BLOCK: u64 = 4096;
const ONE_RANK_A_HOST: HostTraits = HostTraits {
    have_many_ranks: false,
    have_several_ranks: false,
    have_slow_trunks: false,
};

/// Those of a table alone.
fn grounds(table: &DecisionTable) -> CandidateGrounds<'_> {
    CandidateGrounds {
        table,
        learned: &[],
        has_addresses: true,
        hosts: ONE_RANK_A_HOST,
        is_even: false,
        time: None,
        gathers: None,
    }
}

fn ways() -> [Way; 3] {
    let (sync, over) = (SyncKind::Receiver.into(), DataCarrier::Tcp);
    let mpi = Way::Aapc {
        sync,
        over: DataCarrier::Mpi,
    };
    [Way::Native, Way::Aapc { sync, over }, mpi]
}

/// Of calls to which all ranks came at once.
fn together(took: Duration) -> RowTimes {
    RowTimes {
        since_last: took,
        since_first: took,
    }
}

/// A job in which a call takes so many seconds by each way, and up to a tenth more or less.
struct SimulatedJob {
    seconds: [f64; 3],
    learner: CallLearner,
    random: u64,
    elapsed: f64,
    /// Seconds of an agreement.
    agreement: f64,
    calls: [u64; 3],
    /// Seconds of the timed calls of the row.
    row: f64,
}

impl SimulatedJob {
    fn new(seconds: [f64; 3], seed: u64) -> SimulatedJob {
        SimulatedJob {
            seconds,
            learner: CallLearner::default(),
            random: seed,
            elapsed: 0.0,
            agreement: 0.01 * seconds[0].min(1e-3),
            calls: [0; 3],
            row: 0.0,
        }
    }

    /// From -1 to 1.
    fn noise(&mut self) -> f64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 40) as f64 / f64::from(1 << 23) - 1.0
    }

    fn call(&mut self, expected: [f64; 3]) {
        let all = ways().into_iter().zip(expected);
        let candidates: Vec<CandidateWay> = all
            .map(|(way, expected)| CandidateWay {
                way,
                expected,
                is_known: false,
            })
            .collect();
        self.call_with(&candidates);
    }

    fn call_with(&mut self, candidates: &[CandidateWay]) {
        let class = CallClass::new(Collective::Alltoall, BLOCK);
        let way = self.learner.way(class, || candidates.to_vec()).unwrap();
        let number = ways().iter().position(|&known| known == way).unwrap();
        let took = self.seconds[number] * (1.0 + 0.1 * self.noise());
        self.elapsed += took;
        self.calls[number] += 1;
        let agreement = Duration::from_secs_f64(self.agreement);
        let counted = self.learner.count(class, BLOCK).unwrap();
        if counted.is_timed {
            self.row += took;
        }
        if counted.ends_row {
            self.elapsed += agreement.as_secs_f64();
            let row = Duration::from_secs_f64(std::mem::take(&mut self.row));
            self.learner.end_row(class, together(row), agreement);
        }
    }

    fn run(&mut self, seconds: f64, expected: [f64; 3]) {
        let end = self.elapsed + seconds;
        while self.elapsed < end {
            self.call(expected);
        }
    }

    fn run_with(&mut self, seconds: f64, candidates: &[CandidateWay]) {
        let end = self.elapsed + seconds;
        while self.elapsed < end {
            self.call_with(candidates);
        }
    }

    fn fastest(&self) -> Way {
        let class = CallClass::new(Collective::Alltoall, BLOCK);
        self.learner.question(class).unwrap().fastest()
    }

    /// The time of these calls by the fastest way alone.
    fn least(&self) -> f64 {
        let least = self.seconds.into_iter().fold(f64::MAX, f64::min);
        least * self.calls.iter().sum::<u64>() as f64
    }
}

#[test]
fn a_faster_way_is_found_and_kept() {
    for [own, over_tcp] in [[1e-3, 0.3e-3], [40e-3, 35e-3], [0.4, 0.3]] {
        let mut job = SimulatedJob::new([own, over_tcp, 1.2 * own], 7);
        job.run(2000.0 * own, [1.0, 1.15, 1.3]);
        assert_eq!(job.fastest(), ways()[1], "{own} s: {:?}", job.calls);
        assert!(
            job.calls[1] > job.calls[0] + job.calls[2],
            "{:?}",
            job.calls
        );
    }
}

/// The rows or the columns of a grid call at once: what one of them spends delays the others.
#[test]
fn sets_that_learn_at_once_share_a_budget() {
    let mut job = SimulatedJob::new([20e-3, 14e-3, 30e-3], 7);
    job.learner = CallLearner::new(LearningBudget::new(Duration::ZERO, 8));
    job.agreement = 2e-3;
    for seconds in [4.0, 16.0, 80.0, 800.0] {
        job.run(seconds, [1.0, 1.15, 1.3]);
        let spent = 8.0 * job.learner.budget().spent().as_secs_f64();
        assert!(spent < 0.012 * job.elapsed, "{spent} of {}", job.elapsed);
    }
    assert_eq!(job.fastest(), ways()[1]);
}

#[test]
fn the_librarys_own_routine_comes_back_where_it_is_faster() {
    let mut job = SimulatedJob::new([10e-3, 12e-3, 30e-3], 3);
    job.run(60.0, [1.8, 1.0, 1.8]);
    assert_eq!(job.fastest(), Way::Native);
    assert!(
        job.elapsed < 1.02 * job.least(),
        "{} of {}",
        job.elapsed,
        job.least()
    );
}

#[test]
fn long_calls_of_a_short_job_are_never_tried_with() {
    let mut job = SimulatedJob::new([2.0, 1.9, 8.0], 5);
    job.run(20.0, [1.0, 1.15, 1.3]);
    assert_eq!(job.calls[1..], [0, 0]);
}

#[test]
fn a_change_opens_the_question_again() {
    let mut job = SimulatedJob::new([10e-3, 5e-3, 30e-3], 11);
    job.run(60.0, [1.0, 1.2, 1.3]);
    assert_eq!(job.fastest(), ways()[1]);
    // Somebody else uses the cables of this way's phases.
    job.seconds = [10e-3, 14e-3, 30e-3];
    job.run(120.0, [1.0, 1.2, 1.3]);
    assert_eq!(job.fastest(), Way::Native);
}

#[test]
fn what_cannot_be_gone_is_forgotten() {
    let mut job = SimulatedJob::new([10e-3, 5e-3, 30e-3], 13);
    job.run(20.0, [1.0, 1.2, 1.3]);
    assert_eq!(job.fastest(), ways()[1]);
    job.learner.refuse(|way| way.is_over_tcp());
    assert_eq!(job.fastest(), Way::Native);
    let before = job.calls[1];
    job.run(20.0, [1.0, 1.2, 1.3]);
    assert_eq!(job.calls[1], before);
}

#[test]
fn what_was_learned_is_told() {
    let mut job = SimulatedJob::new([10e-3, 5e-3, 30e-3], 17);
    job.run(60.0, [1.0, 1.2, 1.3]);
    let timings = job.learner.timings();
    let over_tcp = timings
        .iter()
        .find(|timing| timing.way == ways()[1])
        .unwrap();
    assert_eq!(over_tcp.from, Bytes(BLOCK));
    let mean = over_tcp.mean_ns as f64 / 1e9;
    assert!((mean / 5e-3 - 1.0).abs() < 0.05, "{mean}");
    assert!(over_tcp.error_ns < over_tcp.mean_ns / 20);
    assert!(job.learner.saved().as_secs_f64() > 0.8 * 5e-3 * f64::from(job.calls[1] as u32));
    let lines = job.learner.lines();
    assert!(
        lines[0].starts_with("learned: alltoall of 4096 to 8191 B: aapc tcp "),
        "{lines:?}"
    );
    assert!(lines[1].contains("%) and saved"), "{lines:?}");
}

#[test]
fn measured_sizes_and_small_blocks_ask_nothing() {
    let table = DecisionTable::default();
    let grounds = grounds(&table);
    let of = |block| candidates(grounds, Collective::Alltoall, Bytes(block));
    assert_eq!(of(8).len(), 1);
    assert!(of(65_536).len() > 1);
}

/// Ports may hold more than anybody knows. If they do not, a call waits for a timer: a job of many calls tries that.
#[test]
fn calls_by_credit_try_twice_as_many_messages_once_a_timer_costs_little() {
    let hosts: String = (0..16)
        .map(|n| format!("n{n}: {{switch: s{}, rate: 25G}}, ", n / 8))
        .collect();
    let tree = samples::trees::topology(&format!(
        "switches: [s0, s1]\nhosts: {{{hosts}}}\nlinks: [{{a: s0, b: s1, rate: 50G}}]"
    ));
    let host_of: Vec<u32> = (0..16).collect();
    let table = DecisionTable::unmeasured(&tree, &host_of, Duration::ZERO, None);
    let time = AlltoallTime::of(&tree, &host_of, Duration::ZERO, None);
    let grounds = CandidateGrounds {
        time: time.as_ref(),
        ..grounds(&table)
    };
    let all = candidates(grounds, Collective::Alltoall, Bytes(16_384));
    let [credit, twice] = ["aapc credit(6) tcp", "aapc credit(12) tcp"].map(|name| name.parse());
    assert_eq!(Ok(all[0].way), credit);
    let bolder = all.iter().find(|other| Ok(other.way) == twice);
    assert!(
        bolder.is_some_and(|bolder| bolder.expected > 100.0),
        "{all:?}"
    );
}

#[test]
fn what_is_expected_of_tcp_grows_with_the_distance_from_its_sizes() {
    let entry = |from, way| DecisionEntry {
        from: Bytes(from),
        way,
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    };
    let [native, tcp, _] = ways();
    let entries = [(0, native), (2048, tcp), (8192, native), (32_768, tcp)];
    let entries = entries.map(|(from, way)| entry(from, way)).to_vec();
    let table = DecisionTable::default().with_entries(Collective::Alltoall, entries);
    let grounds = grounds(&table);
    let expected = |block, way| {
        let all = candidates(grounds, Collective::Alltoall, Bytes(block));
        all.iter()
            .find(|other| other.way == way)
            .map(|way| way.expected)
    };
    assert_eq!(expected(64, tcp), None);
    let [far, near, between] = [256, 1024, 16_384].map(|block| expected(block, tcp).unwrap());
    assert!(
        far > near && near > 1.0 && between > 1.0,
        "{far} {near} {between}"
    );
    assert_eq!(expected(2048, tcp), Some(1.0));
    // The farther above, the less is expected of the library's own.
    assert!(expected(32_768, native) < expected(1 << 20, native));
}

#[test]
fn even_blocks_begin_as_equal_ones_do_and_unequal_ones_as_the_library_does() {
    let entry = |from, way| DecisionEntry {
        from: Bytes(from),
        way,
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    };
    let [native, tcp, _] = ways();
    let entries = vec![entry(0, native), entry(16_384, tcp)];
    let table = DecisionTable::default().with_entries(Collective::Alltoall, entries);
    let ways_of = |table: &DecisionTable, block, is_even| {
        let grounds = CandidateGrounds {
            is_even,
            ..grounds(table)
        };
        let all = candidates(grounds, Collective::Alltoallv, Bytes(block));
        all.iter()
            .map(|candidate| candidate.way)
            .collect::<Vec<_>>()
    };
    assert_eq!(ways_of(&table, 65_536, true), [tcp, native]);
    assert_eq!(ways_of(&table, 65_536, false), [native, tcp]);
    assert_eq!(ways_of(&table, 4096, true), [native, tcp]);
    // The largest of even blocks, too, has to fit a window.
    let window = Way::Aapc {
        sync: SyncScheme::WINDOW,
        over: DataCarrier::Tcp,
    };
    let entries = vec![
        entry(0, native),
        entry(2048, window),
        entry(8193, native),
        entry(32_768, tcp),
    ];
    let windowed = DecisionTable::default().with_entries(Collective::Alltoall, entries);
    assert_eq!(ways_of(&windowed, 4096, true)[0], window);
    assert_eq!(ways_of(&windowed, 8000, true)[0], tcp);
    // An entry that jobs learned counts for all such calls.
    let learned = DecisionEntry {
        grounds: DecisionGrounds::Learned,
        ..entry(0, native)
    };
    let table = table.with_entries(Collective::Alltoallv, vec![learned]);
    assert_eq!(ways_of(&table, 65_536, true), [native, tcp]);
}

#[test]
fn broadcasts_go_along_the_ring_or_as_the_library_does() {
    let entry = |from, way| DecisionEntry {
        from: Bytes(from),
        way,
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    };
    let entries = vec![entry(0, Way::Native), entry(1 << 19, Way::Relay)];
    let table = DecisionTable::default().with_entries(Collective::Bcast, entries);
    let grounds = grounds(&table);
    let ways = |block| {
        let all = candidates(grounds, Collective::Bcast, Bytes(block));
        all.iter()
            .map(|candidate| candidate.way)
            .collect::<Vec<_>>()
    };
    assert_eq!(ways(1 << 20), [Way::Relay, Way::Native]);
    assert_eq!(ways(1 << 18), [Way::Native, Way::Relay]);
    assert_eq!(ways(1 << 14), [Way::Native]);
}

#[test]
fn far_below_the_sizes_of_tcp_no_schedule_is_tried() {
    let [native, tcp, _] = ways();
    let entry = |from, way| DecisionEntry {
        from: Bytes(from),
        way,
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    };
    let entries = vec![entry(0, native), entry(1 << 20, tcp)];
    let table = DecisionTable::default().with_entries(Collective::Alltoall, entries);
    let grounds = grounds(&table);
    let tried = |block| candidates(grounds, Collective::Alltoall, Bytes(block)).len();
    assert_eq!((tried(8192), tried(1 << 18)), (1, 3));
}

/// Takes the time of each job, as a multiple of that by the fastest way, with its course. A test of noisy
/// figures is wrong at times, so two jobs may take longer than `usual`, and none as long as `worst`.
fn assert_little_is_lost(mut jobs: Vec<(f64, String)>, usual: f64, worst: f64) {
    jobs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let longer = jobs.iter().filter(|(ratio, _)| *ratio > usual).count();
    assert!(
        longer <= 2 && jobs[0].0 < worst,
        "{longer}: {:?}",
        &jobs[..8]
    );
}

/// A job of a minute loses little beside the fastest way, whatever the ways take.
#[test]
fn regret_is_bounded() {
    let mut random = fastrand::Rng::with_seed(14);
    let lost = (0..400)
        .map(|_| {
            let mut between = |from: f64, to: f64| from + (to - from) * random.f64();
            let own = between(0.2e-3, 20e-3);
            let ratios = [between(0.2, 4.0), between(0.2, 4.0)];
            let doubt = [between(0.7, 1.4), between(0.7, 1.4)];
            let mut job =
                SimulatedJob::new([own, own * ratios[0], own * ratios[1]], random.u64(..));
            let expected = |way: usize| (ratios[way] * doubt[way]).max(1.0);
            job.run(60.0, [1.0, expected(0), expected(1)]);
            let spent = job.learner.budget();
            assert!(spent.spent() * 25 < spent.calls(), "{spent:?}");
            let text = format!("{:?} of {:?}, doubt {doubt:?}", job.calls, job.seconds);
            (job.elapsed / job.least(), text)
        })
        .collect();
    assert_little_is_lost(lost, 1.05, 1.15);
}

/// The parts of 400 jobs of 12 s that learning took, agreements included, the largest first, with their
/// stories. The library's call takes a time from a range; the other ways' take a multiple of it.
fn spent_by_short_jobs(own: [f64; 2], ratio: [f64; 2]) -> Vec<(f64, String)> {
    let mut random = fastrand::Rng::with_seed(16);
    let mut spent: Vec<(f64, String)> = (0..400)
        .map(|_| {
            let mut between = |[from, to]: [f64; 2]| from * (to / from).powf(random.f64());
            let own = between(own);
            let ratios = [between(ratio), between(ratio)];
            let agreement = (own * between([0.05, 0.5])).min(20e-3);
            let mut job =
                SimulatedJob::new([own, own * ratios[0], own * ratios[1]], random.u64(..));
            job.agreement = agreement;
            job.run(12.0, [1.0, 1.15, 1.25]);
            let budget = job.learner.budget();
            let share = budget.spent().as_secs_f64() / job.elapsed;
            let text = format!("{:?} of {:?}, {budget:?}", job.calls, job.seconds);
            (share, text)
        })
        .collect();
    spent.sort_by(|a, b| b.0.total_cmp(&a.0));
    spent
}

/// A way may take longer than anybody expects. The cost is little beside the job so far, however
/// long its calls are and however short the job.
#[test]
fn surprises_cost_a_short_job_little() {
    let spent = spent_by_short_jobs([0.2e-3, 1.0], [0.4, 4.0]);
    assert!(spent[0].0 < 0.03, "{:?}", &spent[0]);
}

/// Where a link is slower than the topology says, a way may take many times as long. A first row of few
/// calls finds out.
#[test]
fn even_great_surprises_cost_short_calls_little() {
    let spent = spent_by_short_jobs([0.2e-3, 2e-3], [0.4, 40.0]);
    assert!(spent[0].0 < 0.025, "{:?}", &spent[0]);
}

/// A row may last as long as the job before it. The time of learning is reported as a share of all calls.
#[test]
fn calls_of_a_row_under_way_are_calls() {
    let mut job = SimulatedJob::new([47e-3, 60e-3, 80e-3], 7);
    job.agreement = 20e-3;
    job.run(12.0, [1.0, 1.2, 1.3]);
    let (took, ended) = (job.learner.calls(), job.learner.budget().calls());
    assert!(ended.as_secs_f64() < 0.8 * job.elapsed, "{ended:?}");
    assert!(
        (took.as_secs_f64() / job.elapsed - 1.0).abs() < 0.05,
        "{took:?}"
    );
}

#[test]
fn where_no_way_can_be_gone_nothing_is_told() {
    let mut learner = CallLearner::default();
    let class = CallClass::new(Collective::Alltoall, BLOCK);
    assert_eq!(learner.way(class, Vec::new), None);
    assert!(learner.lines().is_empty());
}

#[test]
fn calls_that_pass_by_the_librarys_way_count_like_others() {
    let class = CallClass::new(Collective::Alltoall, BLOCK);
    let mut job = SimulatedJob::new([1e-5, 2e-5, 2e-5], 7);
    let mut passed = 0;
    for _ in 0..400 {
        let untimed = job.learner.untimed(class);
        if untimed > 1 {
            let mut counted = job.learner.clone();
            for _ in 0..untimed {
                let call = counted.count(class, BLOCK).unwrap();
                assert!(!call.is_timed && !call.ends_row);
            }
            job.learner.count_untimed(class, BLOCK, untimed);
            assert_eq!(job.learner, counted);
            assert_eq!(job.learner.untimed(class), 0);
            passed += untimed;
        }
        job.call([1.0, 1.2, 1.2]);
    }
    assert!(passed > 1_000, "{passed}");
}
