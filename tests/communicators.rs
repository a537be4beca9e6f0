//! Communicators of every shape, thousands of them, some used by threads. Each gives the same bytes
//! with the runtime as without it. The application can still make as many as its MPI library
//! allows. Needs what tests/mpi needs.
use crate::common::epochs::{BUNDLED, FORCED, OVER_TCP, TREE, records, shared, ways};
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::runtime::lib;
use crate::common::same_bytes::same_bytes;
use policy::decision_table::Way;
use std::path::Path;

/// Placements of ranks: the ranks of a host far from each other, and one host with most of the
/// ranks.
#[test]
fn ranks_scattered_over_hosts_give_the_same_bytes() {
    for mpi in BOTH {
        let program = compiled("communicators.c", mpi, &[]);
        for host_of in ["0102300", "2210221"] {
            let bare = TestJob::bare(mpi, host_of.len()).run(&program, &[]);
            for forced in [FORCED, BUNDLED] {
                let dir = shared(TREE);
                let output = TestJob::new(mpi, host_of.len())
                    .dir(dir.path())
                    .env("HOST_OF", host_of)
                    .env(forced.0, forced.1)
                    .run(&program, &[]);
                assert_eq!(
                    (output.out, output.heddle),
                    (bare.out.clone(), Vec::new()),
                    "{host_of} on {mpi}"
                );
                let name = if forced == BUNDLED {
                    "alltoall bundled"
                } else {
                    "alltoall aapc"
                };
                assert_eq!(
                    ways(dir.path()),
                    ["allgather ring", name],
                    "{host_of} on {mpi}"
                );
            }
        }
    }
}

#[test]
fn every_communicator_gives_the_same_bytes() {
    for mpi in BOTH {
        for (ranks, per_host, forced) in [
            (2, 1, FORCED),
            (7, 2, FORCED),
            (16, 3, FORCED),
            (7, 2, OVER_TCP),
            (2, 1, BUNDLED),
            (7, 2, BUNDLED),
        ] {
            same_bytes("communicators.c", mpi, ranks, per_host, forced);
        }
    }
}

#[test]
fn connections_go_by_ipv6_too_and_with_their_communicator() {
    for mpi in BOTH {
        let program = compiled("sockets.c", mpi, &[]);
        let dir = shared(&TREE.replace("127.0.0.1", "\"::1\""));
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .run(&program, &[]);
        // Two to each other rank, and the one at which they call again when those get lost. Rank 3 is
        // the first of the other order, and keeps the socket to its helper.
        let expected: String = [0, 0, 0, 1]
            .iter()
            .zip(0..)
            .map(|(own, rank)| format!("rank {rank}: 0 more, {} more, then {own}\n", 7 + own))
            .collect();
        assert_eq!(output.out, expected, "{mpi}");
        assert_eq!(ways(dir.path()), ["alltoall aapc tcp"], "{mpi}");
    }
}

/// Duplicates share the communicators that the runtime makes for their members. These are freed
/// with the last duplicate, so none is missing later.
#[test]
fn communicators_by_the_thousand() {
    for mpi in BOTH {
        let program = compiled("comms.c", mpi, &[]);
        let live = if mpi == "mpich" { 1200 } else { 300 };
        for (what, count, forced) in [
            ("live", live, FORCED),
            ("brief", 200, FORCED),
            ("live", 200, OVER_TCP),
            ("brief", 60, OVER_TCP),
        ] {
            let (dir, n) = (shared(TREE), count.to_string());
            let output = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(forced.0, forced.1)
                .run(&program, &[what, &n]);
            let alive = if what == "live" { count } else { 0 };
            assert_eq!(
                (output.out, output.heddle),
                (
                    format!("comms: {alive} alive at once, 0 wrong\n"),
                    Vec::new()
                ),
                "{what} on {mpi}"
            );
            let records = records(dir.path());
            assert!(
                records.len() <= 1 + 11,
                "{mpi}: a record a process set, not {}",
                records.len()
            );
            let served: u64 = records
                .iter()
                .flat_map(|record| &record.calls)
                .filter(|c| c.way != Way::Native.into())
                .map(|c| c.calls)
                .sum();
            assert!(served > 2 * count / 11, "{what} on {mpi}: {records:?}");
        }
    }
}

/// Threads that may call at the same time share no plan. The library's communicators are still left
/// to the application, and one record describes all calls.
#[test]
fn communicators_by_the_thousand_where_threads_may_call_at_once() {
    // MPICH has 2,048, and Open MPI more than any program makes.
    for (mpi, live) in BOTH.into_iter().zip([400, 1900]) {
        let (dir, n) = (shared(TREE), live.to_string());
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&compiled("comms.c", mpi, &[]), &["live", &n, "threads"]);
        assert_eq!(
            output.out,
            format!("comms: {live} alive at once, 0 wrong\n"),
            "{mpi}"
        );
        assert!(
            output
                .heddle
                .iter()
                .all(|line| line.contains("no communicator left for heddle")),
            "{mpi}: {:?}",
            output.heddle
        );
        let records = records(dir.path());
        // One record for all of them, and one for the calls after they are gone.
        assert!(
            records.len() <= 2 && records.iter().all(|record| record.finished),
            "{mpi}: {records:?}"
        );
        let calls: Vec<_> = records.iter().flat_map(|record| &record.calls).collect();
        let count = |native: bool| {
            calls
                .iter()
                .filter(|c| (c.way == Way::Native.into()) == native)
                .map(|c| c.calls)
                .sum::<u64>()
        };
        assert!(
            count(false) >= 64 * 4 && count(true) > live / 2,
            "{mpi}: {calls:?}"
        );
    }
}

/// The application gets as many communicators as without heddle, and heddle does without those it
/// cannot get. Open MPI has more than any program makes.
#[test]
fn every_communicator_of_the_library_is_the_applications() {
    let program = compiled("comms.c", "mpich", &[]);
    let dir = shared(TREE);
    let bare = TestJob::bare("mpich", 4).run(&program, &["all"]).out;
    for (name, value, lines) in [
        ("HEDDLE_AFTER", "0", 0),
        (OVER_TCP.0, OVER_TCP.1, 0),
        (FORCED.0, FORCED.1, 1),
    ] {
        let output = TestJob::new("mpich", 4)
            .dir(dir.path())
            .env(name, value)
            .run(&program, &["all"]);
        assert_eq!(output.out, bare, "{name}={value}");
        let matching = output
            .heddle
            .iter()
            .filter(|line| line.contains("no communicator left for heddle"))
            .count();
        assert!(
            matching >= lines && matching == output.heddle.len(),
            "{name}={value}: {:?}",
            output.heddle
        );
    }
}

/// Until a communicator has made enough calls, only the library serves it: no agreement, no helper
/// process, no record.
#[test]
fn few_calls_are_left_alone_and_many_are_looked_at() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let run = |iterations: &str| {
            let dir = shared(TREE);
            let flags = [
                "--collective",
                "alltoall",
                "--size",
                "20000",
                "--iterations",
                iterations,
                "--check",
            ];
            let output = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env("HEDDLE_VERBOSE", "1")
                .run(&bench, &flags);
            (
                output
                    .heddle
                    .iter()
                    .any(|line| line.contains("follows epoch 1")),
                records(dir.path()).len(),
            )
        };
        // Two are less work than the first meeting asks for, however slow they are.
        assert_eq!(run("2"), (false, 0), "{mpi}");
        assert_eq!(run("300"), (true, 1), "{mpi}");
    }
}

/// A first call may be the longest of a job: processes that have lived for a while look before it.
#[test]
fn a_large_first_call_is_looked_at() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let flags = "--collective alltoall --size 2097152 --iterations 1 --check";
        // A process keeps its age when it becomes another program.
        let late = format!("sleep 0.5; exec {} {flags}", bench.display());
        let dir = shared(TREE);
        let job = TestJob::new(mpi, 4).dir(dir.path());
        job.run(Path::new("/bin/sh"), &["-c", &late]);
        let records = records(dir.path());
        let calls: Vec<u64> = records
            .iter()
            .flat_map(|record| &record.calls)
            .map(|kind| kind.calls)
            .collect();
        assert_eq!(calls, [1], "{mpi}: {records:?}");
    }
}

/// A look makes no rank connect with all others, which its program perhaps never does: thousands of
/// ranks would have millions of connections. MPICH opens and closes sockets of its own meanwhile.
#[test]
fn a_look_connects_few_ranks() {
    let program = compiled("sockets.c", "openmpi", &[]);
    let dir = shared(TREE);
    let output = TestJob::new("openmpi", 16)
        .per_host(2)
        .dir(dir.path())
        .env("HEDDLE_AFTER", "0")
        .run(&program, &["small"]);
    assert_eq!(records(dir.path()).len(), 1, "they looked");
    // With those 1, 2, 4 and 8 places away on both sides, and perhaps two sockets where both ends
    // began; one more leads to the helper.
    let most: u32 = output.out.trim().parse().expect("a number");
    assert!(most < 13, "{most}");
}
