//! Small calls pass without the backend, and are counted as if they had come to it.
use super::running_jobs::MOVED;
use crate::common::epochs::{AT_ONCE, TREE, publish, records, shared};
use crate::common::job::{BOTH, TestJob, TestJobOutput, compiled};
use std::path::Path;
use std::thread;
use std::time::Duration;

#[test]
fn small_calls_pass_and_all_are_counted() {
    for mpi in BOTH {
        let program = compiled("passing.c", mpi, &[]);
        let dir = shared(TREE);
        let job = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .env("HEDDLE_VERBOSE", "1");
        let output = thread::scope(|scope| {
            let running = scope.spawn(|| job.run(&program, &[]));
            // The ranks agree on each of these at a call, between calls that pass.
            for tree in [MOVED, TREE].into_iter().cycle() {
                if running.is_finished() {
                    break;
                }
                thread::sleep(Duration::from_millis(300));
                publish(dir.path(), tree);
            }
            running.join().expect("the job")
        });
        let (alltoalls, allgathers) = counts(&output, mpi);
        assert_eq!(recorded(dir.path(), "alltoall"), alltoalls, "{mpi}");
        assert_eq!(recorded(dir.path(), "allgather"), allgathers, "{mpi}");
        let all = alltoalls + allgathers;
        let passed = passed(&output);
        assert!(
            passed > all / 10 && passed < all,
            "{mpi}: {passed} of {all} calls"
        );
    }
}

/// The calls on communicators of all ranks in their order.
fn counts(output: &TestJobOutput, mpi: &str) -> (u64, u64) {
    let numbers: Vec<u64> = (output.out.split(' '))
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [alltoalls, allgathers, 0] => (alltoalls, allgathers),
        _ => panic!("{mpi}: {}", output.out),
    }
}

/// The same in the job records.
fn recorded(dir: &Path, collective: &str) -> u64 {
    records(dir)
        .iter()
        .filter(|record| record.hosts.first().is_some_and(|host| host == "n0"))
        .flat_map(|record| &record.calls)
        .filter(|total| total.collective.to_string() == collective)
        .map(|total| total.calls)
        .sum()
}

/// The calls that came to no backend.
fn passed(output: &TestJobOutput) -> u64 {
    output
        .heddle
        .iter()
        .filter_map(|line| {
            let (before, _) = line.split_once(" calls went to the MPI library at once")?;
            before.rsplit(' ').next()?.parse::<u64>().ok()
        })
        .max()
        .unwrap_or(0)
}
