//! A cable moves under a job: the way that calls go is longer from then on.
use super::*;

/// The seconds of the first calls, and of those after the move, by the three ways.
const MOVES: [([f64; 3], [f64; 3]); 4] = [
    // Measured in the lab: the third way is open all the time, as trying it costs much.
    ([0.262, 0.254, 0.325], [0.262, 0.359, 0.4]),
    ([0.262, 0.254, 0.325], [0.262, 0.287, 0.35]),
    ([2.0e-3, 1.9e-3, 8.0e-3], [2.0e-3, 2.4e-3, 8.0e-3]),
    ([47e-3, 40e-3, 60e-3], [47e-3, 80e-3, 60e-3]),
];

/// A job whose cable moves after `at` seconds, 110 s before its end. It loses this part of the time after
/// the move beside the fastest way.
fn moved(at: f64, before: [f64; 3], after: [f64; 3], seed: u64) -> (SimulatedJob, f64) {
    let mut job = SimulatedJob::new(before, seed);
    let expected = [1.15, 1.0, 1.25];
    job.run(at, expected);
    job.seconds = after;
    let (calls, elapsed) = (job.calls, job.elapsed);
    job.run(110.0, expected);
    let calls: u64 = job.calls.iter().sum::<u64>() - calls.iter().sum::<u64>();
    let least = after.into_iter().fold(f64::MAX, f64::min) * calls as f64;
    let lost = (job.elapsed - elapsed) / least - 1.0;
    (job, lost)
}

#[test]
fn a_job_leaves_a_way_that_a_moved_cable_slows() {
    for at in [3.0, 10.0, 20.0, 40.0] {
        for (before, after) in MOVES {
            let jobs: Vec<_> = (0..40).map(|seed| moved(at, before, after, seed)).collect();
            let text = format!("at {at} s: {after:?}");
            let stays = jobs.iter().filter(|(job, _)| job.fastest() != Way::Native);
            assert!(stays.count() <= 2, "{text}");
            let lost = jobs.iter().map(|(_, lost)| *lost).fold(0.0, f64::max);
            assert!(lost < 0.12, "{text}: {lost}");
        }
    }
}
