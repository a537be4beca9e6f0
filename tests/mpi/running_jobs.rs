//! Epochs change and ranks die while a job runs.
use crate::common::epochs::{FORCED, OVER_TCP, TREE, calls, publish, records, shared, ways};
use crate::common::job::{BOTH, TestJob, TestJobOutput, compiled};
use std::collections::BTreeSet;
use std::fs::{self};
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// [`TREE`], where n2 and n3 have moved.
pub(super) const MOVED: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, address: 127.0.0.1}, n1: {switch: s0, address: 127.0.0.1}, n2: {switch: s2, address: 127.0.0.1}, n3: {switch: s0, address: 127.0.0.1}, n4: {switch: s1, address: 127.0.0.1}, n5: {switch: s2, address: 127.0.0.1}, n6: {switch: s2, address: 127.0.0.1}, n7: {switch: s2, address: 127.0.0.1}}
links: [{a: s0, b: s1}, {a: s1, b: s2}]
";

/// Runs a program that makes a file after its first calls and ends when the file is gone. The file
/// is removed once `enough` is true, which is asked at most ten times a second.
pub(super) fn until(
    job: &TestJob,
    program: &Path,
    arguments: &[&str],
    mut enough: impl FnMut() -> bool,
) -> Output {
    let beside = TempDir::new().expect("a temporary directory");
    let lives = beside.path().join("lives");
    let arguments = [arguments, &[lives.to_str().expect("a plain path")]].concat();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| job.output(program, &arguments));
        while !running.is_finished() {
            let asked = Instant::now();
            if lives.exists() && enough() {
                fs::remove_file(&lives).expect("nobody else removes it");
            }
            std::thread::sleep(Duration::from_millis(100).saturating_sub(asked.elapsed()));
        }
        running.join().expect("the job")
    })
}

/// `make stress` runs it for a minute and more, and over both data paths under each library.
#[test]
fn epochs_change_under_a_running_job() {
    let stress: Option<u64> = std::env::var("STRESS_SECONDS")
        .ok()
        .map(|text| text.parse().expect("STRESS_SECONDS: a number"));
    let jobs = [
        ("openmpi", OVER_TCP, " tcp"),
        ("mpich", FORCED, ""),
        ("openmpi", FORCED, ""),
        ("mpich", OVER_TCP, " tcp"),
    ];
    for (mpi, forced, over) in jobs.into_iter().take(if stress.is_some() { 4 } else { 2 }) {
        change_epochs_under(mpi, forced, over, stress.unwrap_or(0));
    }
}

/// One job over one data path, for this many seconds at least.
fn change_epochs_under(mpi: &str, forced: (&str, &str), over: &str, least: u64) {
    let dir = shared(TREE);
    let program = compiled("steady.c", mpi, &[]);
    let job = TestJob::new(mpi, 8)
        .dir(dir.path())
        .env(forced.0, forced.1)
        .env("HEDDLE_VERBOSE", "1");
    let often = || {
        let calls = calls(dir.path());
        ["alltoall aapc", "allgather ring"]
            .iter()
            .all(|way| calls.get(&format!("{way}{over}")).is_some_and(|n| *n > 50))
    };
    let (mut published, mut seen, mut began) = (0, BTreeSet::new(), None);
    let output = until(&job, &program, &[&(least + 100).to_string()], || {
        publish(dir.path(), if published % 2 == 0 { MOVED } else { TREE });
        published += 1;
        seen.extend(
            records(dir.path())
                .iter()
                .filter(|record| record.ranks == 8)
                .map(|record| record.epoch),
        );
        let long = began.get_or_insert_with(Instant::now).elapsed() >= Duration::from_secs(least);
        long && published > 10 && seen.len() > 4 && often()
    });
    let text = TestJobOutput::new(&output, mpi);
    println!(
        "{mpi}{over}: {published} epochs published; {}",
        text.out.trim()
    );
    assert!(text.out.ends_with(" 0 wrong\n"), "{mpi}: {}", text.out);
    let followed = followed_epochs(&text);
    assert!(
        published > 10 && followed.len() > 4,
        "{mpi}: {published} published, followed: {followed:?}"
    );
    let calls = calls(dir.path());
    assert!(often() && calls.len() == 2, "{mpi}: {calls:?}");
}

/// The epochs that the job's eight ranks say they follow, one after the other.
fn followed_epochs(output: &TestJobOutput) -> Vec<&str> {
    let lines = output.heddle.iter().map(String::as_str);
    let mut followed: Vec<&str> = lines
        .filter_map(|line| -> Option<&str> {
            let (_, rest) = str::split_once(line, "follows epoch ")?;
            Some(rest.split_once(", 8 ranks on 8 hosts")?.0)
        })
        .collect();
    followed.dedup();
    followed
}

/// The job ends at once, by its launcher or by an error of the call.
#[test]
fn a_rank_that_dies_ends_the_job_as_it_does_without_heddle() {
    for mpi in BOTH {
        let program = compiled("death.c", mpi, &[]);
        let dir = shared(TREE);
        let with = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .env("HEDDLE_VERBOSE", "2");
        for output in [
            until(&TestJob::bare(mpi, 4), &program, &[], || true),
            until(&with, &program, &[], || !ways(dir.path()).is_empty()),
        ] {
            let error = String::from_utf8_lossy(&output.stderr);
            // 124: the time limit; 134 and 139: the program crashed (SIGABRT, SIGSEGV).
            assert!(
                !matches!(output.status.code(), Some(0 | 124 | 134 | 139)),
                "{mpi}: {}: {error}",
                output.status
            );
        }
        assert_eq!(ways(dir.path()), ["alltoall aapc tcp"], "{mpi}");
    }
}

#[test]
fn a_job_older_than_the_first_epoch_takes_it_up() {
    for mpi in BOTH {
        let dir = TempDir::new().unwrap();
        let program = compiled("steady.c", mpi, &[]);
        let job = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .env("HEDDLE_VERBOSE", "1");
        // The record of all ranks' communicator, and those of the two halves.
        let all_follow = || {
            let records = records(dir.path());
            records.len() == 3 && records.iter().all(|record| record.epoch == 1)
        };
        let mut published = false;
        let output = until(&job, &program, &["100"], || {
            if !std::mem::replace(&mut published, true) {
                publish(dir.path(), TREE);
            }
            all_follow()
        });
        let text = TestJobOutput::new(&output, mpi);
        assert!(text.out.ends_with(" 0 wrong\n"), "{}", text.out);
        let [aside, follows] = ["no epoch published yet", "follows epoch 1, 4 ranks"]
            .map(|what| text.heddle.iter().position(|line| line.contains(what)));
        assert!(
            aside.is_some() && aside < follows,
            "{mpi}: {:?}",
            text.heddle
        );
        let records = records(dir.path());
        assert!(
            records.iter().any(|record| record.ranks == 4),
            "{mpi}: no record of everybody's: {records:?}"
        );
        assert!(
            records
                .iter()
                .all(|record| record.epoch == 1 && record.finished),
            "{mpi}: {records:?}"
        );
    }
}
