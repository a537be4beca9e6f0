//! A job that starts from what an earlier one learned.
use super::*;
use crate::decision_table::Mpi;
use crate::learned::figures::JobLesson;
use crate::learned::{LearnedFigures, LearnedPlace, RankLayout};
use inventory::Millis;
use samples::trees::star;

/// The seconds of a call by each way.
type WaySeconds = [f64; 3];

fn place() -> LearnedPlace {
    let layout = RankLayout::from_hosts(&[0, 1, 2]);
    LearnedPlace::find(&star(&[2, 2]), &["n0", "n1", "n2"], &layout, Mpi::Mpich)
        .unwrap()
        .0
}

/// The table where calls go over TCP from this block on, and nobody measured.
fn table(from: u64) -> DecisionTable {
    let [native, tcp, _] = ways();
    let entry = |from, way| DecisionEntry {
        from: Bytes(from),
        way,
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    };
    let entries = vec![entry(0, native), entry(from, tcp)];
    DecisionTable::default().with_entries(Collective::Alltoall, entries)
}

/// A job of so many seconds that starts from a table and from what earlier ones learned. Gives its
/// time as a multiple of that by the fastest way, and what it learned.
fn job(
    seconds: WaySeconds,
    table: &DecisionTable,
    learned: &[LearnedTiming],
    lasts: f64,
    seed: u64,
) -> (f64, Vec<LearnedTiming>, String) {
    let table = table.clone().with_learned(Mpi::Mpich, learned);
    let grounds = CandidateGrounds {
        table: &table.for_mpi(Mpi::Mpich),
        learned,
        has_addresses: true,
        hosts: ONE_RANK_A_HOST,
        is_even: false,
        time: None,
        gathers: None,
    };
    let candidates = candidates(grounds, Collective::Alltoall, Bytes(BLOCK));
    let mut job = SimulatedJob::new(seconds, seed);
    job.run_with(lasts, &candidates);
    let text = format!("{:?} {:?} {:?}", job.calls, job.learner.lines(), candidates);
    (job.elapsed / job.least(), job.learner.timings(), text)
}

fn from_learned(timings: &[LearnedTiming]) -> Vec<LearnedTiming> {
    let mut figures = LearnedFigures::default();
    let lesson = JobLesson {
        user: "ann".to_owned(),
        job: 1,
        at: Millis(1),
        timings: timings.iter().copied().map(Into::into).collect(),
    };
    figures.merge(&place(), lesson);
    figures.ways().for_place(&place())
}

/// Seconds by each way; MPI carries a schedule no better than TCP.
fn any_seconds(random: &mut fastrand::Rng) -> WaySeconds {
    let mut between = |from: f64, to: f64| from * (to / from).powf(random.f64());
    let own = between(10e-3, 0.4);
    let over_tcp = own * between(0.25, 2.0);
    [own, over_tcp, over_tcp * between(1.0, 2.0)]
}

/// The first job may find the fastest way late or never: its calls may be long, and its table wrong.
/// Where it found it, the next one loses next to nothing.
#[test]
fn the_next_job_starts_from_what_the_first_one_found() {
    let mut random = fastrand::Rng::with_seed(14);
    let lost = (0..60)
        .map(|n| {
            let seconds = any_seconds(&mut random);
            let table = table(if n % 2 == 0 { 2048 } else { 16_384 });
            let (_, learned, first) = job(seconds, &table, &[], 60.0, n);
            let (ratio, _, next) = job(seconds, &table, &from_learned(&learned), 15.0, n + 1000);
            (ratio, format!("{seconds:?}\n    {first}\n    {next}"))
        })
        .collect();
    assert_little_is_lost(lost, 1.02, 1.06);
}

/// One call of a way is too little for a vote, and enough to know what another one costs.
#[test]
fn a_way_that_was_tried_once_is_not_tried_blindly_again() {
    let timing = |way, samples, mean_ns| LearnedTiming {
        collective: Collective::Alltoall,
        from: Bytes(BLOCK),
        way,
        samples,
        mean_ns,
        error_ns: mean_ns / 100,
    };
    let [native, tcp, mpi] = ways();
    let learned = from_learned(&[
        timing(native, 90, 400_000_000),
        timing(tcp, 1, 150_000_000),
        timing(mpi, 1, 900_000_000),
    ]);
    let known: Vec<(Way, u64)> = learned.iter().map(|t| (t.way, t.mean_ns)).collect();
    // A way that has no vote is never reported to be the faster one.
    let expected = [
        (native, 400_000_000),
        (mpi, 900_000_000),
        (tcp, 400_000_000),
    ];
    assert_eq!(known, expected);
    // One of which nobody knows anything waits for fifty calls.
    let (_, _, text) = job([0.4, 0.15, 0.9], &table(16_384), &learned, 15.0, 1);
    assert!(text.starts_with("[11, "), "{text}");
}

/// The largest part of a job so far that trying a way lost. It takes `ratio` times as long as the present
/// one, which takes so many seconds.
fn worst_loss(call: f64, ratio: f64, expected: f64, is_known: bool) -> f64 {
    let [native, tcp, _] = ways();
    let candidate = |way, expected, is_known| CandidateWay {
        way,
        expected,
        is_known,
    };
    let candidates = [
        candidate(native, 1.0, false),
        candidate(tcp, expected, is_known),
    ];
    let mut job = SimulatedJob::new([call, ratio * call, call], 7);
    let mut worst = 0.0f64;
    while job.elapsed < 10_000.0 * call {
        job.call_with(&candidates);
        let lost = (ratio - 1.0) * call * job.calls[1] as f64;
        worst = worst.max(lost / job.elapsed);
    }
    worst
}

/// A job with one lucky call, or a user who lies, says that a way is no slower. The next job finds out at
/// a price that is a few times that of a way which nobody knows.
#[test]
fn a_way_that_is_falsely_known_to_be_as_fast_costs_little() {
    for (call, ratio, unknown, known) in [
        (1e-3, 2.0, 0.02, 0.04),
        (1e-3, 20.0, 0.25, 0.45),
        (50e-3, 2.0, 0.02, 0.09),
        (0.4, 2.0, 0.02, 0.09),
    ] {
        for (expected, is_known, most) in [
            (1.0, false, unknown),
            (1.0, true, known),
            (1.05, true, known),
            (1.5, true, unknown),
        ] {
            let worst = worst_loss(call, ratio, expected, is_known);
            let text = format!("{call} s, {ratio}, {expected} {is_known}: {worst:.4}");
            println!("{text}");
            assert!(worst < most, "{text}");
        }
    }
}
