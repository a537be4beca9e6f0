//! Reductions and broadcasts along the ring give what the MPI library alone gives.
use super::running_jobs::{MOVED, until};
use crate::common::epochs::{AT_ONCE, TREE, calls, publish, records, shared, ways};
use crate::common::job::{BOTH, TestJob, TestJobOutput, compiled};
use crate::common::runtime::lib;
use std::collections::BTreeSet;

/// At every size.
const RELAYED: (&str, &str) = ("HEDDLE_FORCE", "relay");

#[test]
fn results_are_the_same_bytes_and_floating_point_near_the_truth() {
    for mpi in BOTH {
        let program = compiled("reductions.c", mpi, &["-lm"]);
        for (ranks, per_host) in [(2, 1), (5, 1), (8, 3)] {
            let job = |job: TestJob| job.per_host(per_host).run(&program, &[]);
            let bare = job(TestJob::bare(mpi, ranks));
            let dir = shared(TREE);
            let with = job(TestJob::new(mpi, ranks)
                .dir(dir.path())
                .env(RELAYED.0, RELAYED.1));
            assert_eq!(with.out, bare.out, "{mpi}, {ranks} ranks");
            assert!(bare.out.lines().count() > 200, "{}", bare.out);
            assert_eq!(with.heddle, [] as [&str; 0]);
            let calls = calls(dir.path());
            for collective in ["allreduce", "reduce_scatter_block", "bcast"] {
                let gone = calls[&format!("{collective} relay")];
                // Calls whose operation cannot be reordered, or whose data have gaps.
                let left = calls.get(&format!("{collective} native"));
                assert!(gone > 20, "{mpi}: {calls:?}");
                assert_eq!(left.is_some(), collective != "bcast", "{mpi}: {calls:?}");
            }
        }
    }
}

#[test]
fn who_wants_it_keeps_the_librarys_last_digits() {
    for mpi in BOTH {
        let program = compiled("reductions.c", mpi, &["-lm", "-DDIGITS"]);
        let bare = TestJob::bare(mpi, 5).run(&program, &[]).out;
        let with = |reduce: &str| {
            let dir = shared(TREE);
            let job = TestJob::new(mpi, 5)
                .dir(dir.path())
                .env(RELAYED.0, RELAYED.1)
                .env("HEDDLE_REDUCE", reduce);
            (job.run(&program, &[]).out, calls(dir.path()))
        };
        let (output, served) = with("reproducible");
        assert_eq!(output, bare, "{mpi}");
        // Whole numbers go along the ring, sums of others and an application's own operations do not.
        for way in ["relay", "native"] {
            assert!(
                served[&format!("allreduce {way}")] > 20,
                "{mpi}: {served:?}"
            );
        }
        for reduce in ["", "fast"] {
            let (output, served) = with(reduce);
            let differ: Vec<&str> = (output.lines().zip(bare.lines()))
                .filter_map(|(output, bare)| (output != bare).then_some(output))
                .collect();
            assert!(!differ.is_empty(), "{mpi}, {reduce}: {served:?}");
            assert!(
                differ.iter().all(|line| line.contains("digits of the sum")),
                "{mpi}, {reduce}: {differ:?}"
            );
        }
    }
}

/// The table decides: small calls are not even recorded. Where hosts have several ranks, one rank of each
/// goes around the ring.
#[test]
fn large_calls_go_along_the_ring_where_nobody_measured_and_small_ones_pass() {
    for (mpi, per_host) in BOTH.into_iter().flat_map(|mpi| [(mpi, 1), (mpi, 2)]) {
        let bench = lib().join(format!("bench-{mpi}"));
        let recorded = |collective: &str, reduce: &str| {
            let dir = shared(TREE);
            let words =
                format!("--collective {collective} --size 1000,4000000 --iterations 3 --check");
            let flags: Vec<&str> = words.split(' ').collect();
            let output = TestJob::new(mpi, 4)
                .per_host(per_host)
                .dir(dir.path())
                .env(AT_ONCE.0, AT_ONCE.1)
                .env("HEDDLE_REDUCE", reduce)
                .run(&bench, &flags);
            assert_eq!(output.out.matches("every byte checked").count(), 2);
            calls(dir.path())
        };
        assert_eq!(recorded("allreduce", ""), three("allreduce relay"));
        assert_eq!(recorded("allreduce", "off"), three("allreduce native"));
        assert_eq!(recorded("bcast", ""), three("bcast relay"));
    }
}

fn three(kind: &str) -> std::collections::BTreeMap<String, u64> {
    [(kind.to_owned(), 3)].into()
}

#[test]
fn epochs_change_between_reductions() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let job = TestJob::new(mpi, 6)
            .dir(dir.path())
            .env(RELAYED.0, RELAYED.1)
            .env("STEADY_REDUCTIONS", "1");
        let (mut published, mut seen) = (0, BTreeSet::new());
        let output = until(&job, &compiled("steady.c", mpi, &[]), &["100"], || {
            publish(dir.path(), if published % 2 == 0 { MOVED } else { TREE });
            published += 1;
            let all = records(dir.path());
            seen.extend(all.iter().filter(|r| r.ranks == 6).map(|r| r.epoch));
            let calls = calls(dir.path());
            let all_often = ["allreduce", "reduce_scatter_block", "bcast"];
            seen.len() > 3
                && all_often
                    .into_iter()
                    .all(|c| calls.get(&format!("{c} relay")).is_some_and(|n| *n > 20))
        });
        let text = TestJobOutput::new(&output, mpi);
        assert!(text.out.ends_with(" 0 wrong\n"), "{mpi}: {}", text.out);
        assert!(seen.len() > 3, "{mpi}: {seen:?}");
    }
}

#[test]
fn a_rank_that_dies_ends_the_job() {
    for mpi in BOTH {
        for collective in ["allreduce", "bcast"] {
            let dir = shared(TREE);
            let job = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(RELAYED.0, RELAYED.1)
                .env("HEDDLE_VERBOSE", "2");
            let output = until(&job, &compiled("death.c", mpi, &[]), &[collective], || {
                !ways(dir.path()).is_empty()
            });
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(
                !matches!(output.status.code(), Some(0 | 124 | 134 | 139)),
                "{mpi}: {}: {error}",
                output.status
            );
            assert_eq!(ways(dir.path()), [format!("{collective} relay")], "{mpi}");
        }
    }
}
