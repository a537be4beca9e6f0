//! The runtime stands aside, or names the rank it waits for.
use super::SMALL;
use crate::common::epochs::{AT_ONCE, FORCED, OVER_TCP, TREE, records, shared, ways};
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::runtime::lib;
use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A rank that is later than the patience of the others loses them. A rank within it loses nothing.
#[test]
fn a_rank_later_than_their_patience_leaves_all_to_the_library() {
    for mpi in BOTH {
        let program = compiled("late.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, &["0", "0"]).out;
        assert_ways_of_a_late_rank(mpi, &program, &bare, ("1", "6"), &[]);
        let both = ["allgather ring", "alltoall aapc"];
        assert_ways_of_a_late_rank(mpi, &program, &bare, ("60", "2.5"), &both);
    }
}

/// A job of four ranks that wait for each other this long, in seconds.
fn patient<'a>(mpi: &'a str, dir: &'a Path, patience: &'a str) -> TestJob<'a> {
    TestJob::new(mpi, 4)
        .dir(dir)
        .env(FORCED.0, FORCED.1)
        .env("HEDDLE_PATIENCE", patience)
}

/// The output without UCX's lines: UCX warns of the barrier that never ends.
fn without_ucx(out: &str) -> String {
    out.split_inclusive('\n')
        .filter(|line| !line.contains("UCX"))
        .collect()
}

/// The results and the ways of a job where rank 3 is late by some seconds.
fn assert_ways_of_a_late_rank(
    mpi: &str,
    program: &Path,
    bare: &str,
    (patience, late): (&str, &str),
    expected: &[&str],
) {
    let dir = shared(TREE);
    let output = patient(mpi, dir.path(), patience).run(program, &["3", late]);
    assert_eq!(
        without_ucx(&output.out),
        bare,
        "patience {patience} on {mpi}"
    );
    let gone = if dir.path().join("jobs").exists() {
        ways(dir.path())
    } else {
        Vec::new()
    };
    assert_eq!(
        gone, expected,
        "patience {patience} on {mpi}: {:?}",
        output.heddle
    );
}

/// A rank may be busy for longer than the patience of the others before its first large call: it reads its
/// input. Then that call is the library's, and the ranks meet at a later one.
#[test]
fn a_rank_late_to_a_large_first_call_loses_only_that_call() {
    for mpi in BOTH {
        for (flags, late) in [
            (&["-DLARGE"][..], "3"),
            (&["-DLARGE", "-DBROADCAST"], "0"),
            (&["-DLARGE", "-DBROADCAST"], "3"),
        ] {
            let program = compiled("late.c", mpi, flags);
            let bare = TestJob::bare(mpi, 4).run(&program, &[late, "0"]).out;
            let dir = shared(TREE);
            // Calls are the library's until the look. Each is less work than that, and on all ranks twice as much.
            let job = patient(mpi, dir.path(), "2").env("HEDDLE_AFTER", "258");
            let output = job.run(&program, &[late, "3"]);
            assert_eq!(output.out, bare, "{flags:?} on {mpi}");
            assert!(
                output.heddle.is_empty(),
                "{late} {flags:?} on {mpi}: {:?}",
                output.heddle
            );
            let expected = ["allgather ring", "alltoall aapc"];
            assert_eq!(ways(dir.path()), expected, "{flags:?} on {mpi}");
        }
    }
}

#[test]
fn the_watchdog_names_who_waits_for_what() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let job = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .env("HEDDLE_WATCHDOG", "0.5");
        let output = job.run(&compiled("late.c", mpi, &[]), &["2", "2"]);
        let met = "watchdog: 0.5 s without progress: all 4 ranks of a communicator to come to a \
                   collective";
        assert!(
            output.heddle.iter().any(|line| line.contains(met)),
            "{mpi}: {:?}",
            output.heddle
        );
        // Rank 2 is late to a later call of a communicator whose ranks have met.
        for (forced, over) in [(FORCED, ""), (OVER_TCP, " over tcp")] {
            for (flag, call, phase) in [
                ("-DMEET", "alltoall", "of rank 2 (phase "),
                ("-DALLGATHER", "allgather", "from rank 2 (block "),
            ] {
                let job = TestJob::new(mpi, 4)
                    .dir(dir.path())
                    .env(forced.0, forced.1)
                    .env("HEDDLE_WATCHDOG", "0.5");
                let output = job.run(&compiled("late.c", mpi, &["-DMEET", flag]), &["2", "1.5"]);
                let call = format!("in {call}{over}: ");
                let waits = |line: &String| {
                    ["without progress: rank ", &call, phase]
                        .iter()
                        .all(|part| line.contains(part))
                };
                assert!(
                    output.heddle.iter().any(waits),
                    "{mpi}{over}: {:?}",
                    output.heddle
                );
            }
        }
    }
}

/// A way that cannot be gone is refused, one after the other, and calls go what is left.
#[test]
fn where_nobody_can_be_connected_calls_go_the_ways_that_are_left() {
    for mpi in BOTH {
        // No host of this machine has it (RFC 5737), and over slow links such blocks go over TCP.
        let elsewhere = TREE.replace("address: 127.0.0.1", "rate: 5M, address: 192.0.2.7");
        let dir = shared(&elsewhere);
        let words = "--check --collective both --size 65536 --iterations 6";
        let flags: Vec<&str> = words.split(' ').collect();
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .env("HEDDLE_LEARN", "on")
            .run(&lib().join(format!("bench-{mpi}")), &flags);
        assert_eq!(output.out.matches("every byte checked").count(), 2, "{mpi}");
        // One rank says it for all.
        let count = output
            .heddle
            .iter()
            .filter(|line| {
                line.contains(
                    "TCP path: rank 0 on n0, one of 4 hosts that cannot use it: 192.0.2.7",
                )
            })
            .count();
        assert_eq!(count, 1, "{mpi}: {:?}", output.heddle);
        let gone = ways(dir.path());
        assert!(!gone.is_empty(), "{mpi}");
        assert!(
            !gone.iter().any(|way| way.ends_with("tcp")),
            "{mpi}: {gone:?}"
        );
    }
}

#[test]
fn an_epoch_without_addresses_says_why_nothing_goes_over_tcp() {
    let dir = shared(&TREE.replace("n1: {switch: s0, address: 127.0.0.1}", "n1: {switch: s0}"));
    for mpi in BOTH {
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .env("HEDDLE_VERBOSE", "1")
            .run(&lib().join(format!("bench-{mpi}")), &SMALL);
        let start = "heddle: no TCP: epoch 1 has no address of 1 host: n1; ";
        let lines = output.heddle.iter().filter(|line| line.starts_with(start));
        assert_eq!(lines.count(), 1, "{mpi}: {:?}", output.heddle);
    }
}

#[test]
fn a_misspelt_variable_is_reported_by_rank_0_and_the_job_runs() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .env("HEDDLE_VERBOES", "1")
            .run(&lib().join(format!("bench-{mpi}")), &SMALL);
        let line: Vec<&String> = (output.heddle.iter())
            .filter(|line| line.contains("HEDDLE_VERBOES is set"))
            .collect();
        assert_eq!(line.len(), 1, "{mpi}: {:?}", output.heddle);
        assert!(
            line[0].contains("did you mean HEDDLE_VERBOSE?"),
            "{mpi}: {line:?}"
        );
    }
}

/// There is no network between the ranks, so the runtime does not agree on anything and records
/// nothing.
#[test]
fn ranks_on_one_host_are_left_alone() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let flags = [
            "--collective",
            "both",
            "--size",
            "8,40000",
            "--iterations",
            "50",
            "--check",
        ];
        let output = TestJob::new(mpi, 4)
            .per_host(4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .env("HEDDLE_VERBOSE", "1")
            .run(&lib().join(format!("bench-{mpi}")), &flags);
        let counts = (
            output.out.matches("every byte checked").count(),
            records(dir.path()).len(),
        );
        assert_eq!(counts, (4, 0), "{mpi}");
        let line = "all 4 ranks of a communicator are on one host: its calls go to the MPI library";
        assert_eq!(output.heddle, [format!("heddle: {line}")], "{mpi}");
    }
}

#[test]
fn switched_off_or_without_a_backend_nothing_happens() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let dir = shared(TREE);
        let program = compiled("vectors.c", mpi, &[]);
        let output = TestJob::new(mpi, 3)
            .dir(dir.path())
            .env("HEDDLE", "off")
            .env("HEDDLE_VERBOSE", "2")
            .run(&program, &[]);
        assert_eq!(
            (output.out, output.heddle.len()),
            (TestJob::bare(mpi, 3).run(&program, &[]).out, 0),
            "{mpi}"
        );
        assert!(
            !dir.path().join("jobs").exists() || records(dir.path()).is_empty(),
            "{mpi}"
        );

        let alone = TempDir::new().unwrap();
        let front = alone.path().join("libheddle.so");
        fs::copy(lib().join("libheddle.so"), &front).unwrap();
        let output = TestJob::new(mpi, 3)
            .preloaded([front])
            .dir(dir.path())
            .run(&bench, &SMALL);
        output.says_only(&format!("libheddle-{mpi}.so"));

        let (front, backend) = (
            alone.path().join("libheddle.so"),
            format!("libheddle-{mpi}.so"),
        );
        fs::copy(lib().join(&backend), alone.path().join(&backend)).unwrap();
        let output = TestJob::new(mpi, 3)
            .preloaded([front])
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&bench, &SMALL);
        output.says_only("heddle-helper: No such file");
    }
}

/// The libraries for Open MPI, and a script in the place of the helper.
fn libraries_beside_helper(script: &str) -> TempDir {
    let alone = TempDir::new().unwrap();
    for name in ["libheddle.so", "libheddle-openmpi.so"] {
        fs::copy(lib().join(name), alone.path().join(name)).unwrap();
    }
    let helper = alone.path().join("heddle-helper");
    fs::write(&helper, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&helper, Permissions::from_mode(0o755)).unwrap();
    alone
}

/// Nobody asked for heddle's ways, so the job's output has no line of it; the interface shows why.
#[test]
fn a_job_that_ends_before_its_epoch_is_read_has_the_reason_in_its_record() {
    let late = format!(
        "sleep 8; exec {} \"$@\"",
        lib().join("heddle-helper").display()
    );
    let alone = libraries_beside_helper(&late);
    let dir = shared(TREE);
    let began = Instant::now();
    let output = TestJob::new("openmpi", 3)
        .preloaded([alone.path().join("libheddle.so")])
        .dir(dir.path())
        .env("HEDDLE_AFTER", "1")
        .run(&lib().join("bench-openmpi"), &SMALL);
    assert!(output.heddle.is_empty(), "{:?}", output.heddle);
    // The helper goes on when the job has gone.
    while !dir.path().join("jobs").exists() || records(dir.path()).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60));
        sleep(Duration::from_millis(100));
    }
    let reasons: Vec<Option<String>> = (records(dir.path()).into_iter())
        .map(|record| record.aside.filter(|_| record.finished))
        .collect();
    assert_eq!(
        reasons,
        [Some(
            "no epoch had been read when the communicator ended".to_owned()
        )]
    );
}

/// As on a host whose processors are all taken.
#[test]
fn a_helper_that_does_not_run_is_reported() {
    let alone = libraries_beside_helper("exec /bin/cat >/dev/null");
    let dir = shared(TREE);
    let output = TestJob::new("openmpi", 3)
        .preloaded([alone.path().join("libheddle.so")])
        .dir(dir.path())
        .env(FORCED.0, FORCED.1)
        .run(&lib().join("bench-openmpi"), &SMALL);
    output.says_only("does not run after 10 s");
}

/// Intel MPI binds each rank to a processor, on which it polls without end.
#[test]
fn the_helper_of_a_bound_rank_runs_on_any_processor() {
    let (ours, its) = UnixStream::pair().unwrap();
    let dir = TempDir::new().unwrap();
    let mut helper = Command::new("taskset")
        .args(["-c", "0"])
        .arg(lib().join("heddle-helper"))
        .arg(dir.path())
        .stdin(OwnedFd::from(its))
        .spawn()
        .expect("taskset, of util-linux");
    let (began, all) = (Instant::now(), processors_of("self"));
    while processors_of(&helper.id().to_string()) < all {
        assert!(began.elapsed() < Duration::from_secs(60), "{all:?}");
        sleep(Duration::from_millis(10));
    }
    drop(ours);
    helper.wait().unwrap();
}

/// The number of processors on which a process may run.
fn processors_of(process: &str) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("Cpus_allowed:"));
    let digits = mask.expect("proc(5)").chars();
    digits
        .filter_map(|digit| digit.to_digit(16))
        .map(u32::count_ones)
        .sum()
}

#[test]
fn a_host_the_topology_does_not_know_is_named() {
    let dir = shared("switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}\n");
    for mpi in BOTH {
        let output = TestJob::new(mpi, 3)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&lib().join(format!("bench-{mpi}")), &SMALL);
        output.says_only("\"n2\"");
        assert_eq!(output.out.matches("every byte checked").count(), 2);
    }
}
