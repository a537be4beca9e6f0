//! Reductions and broadcasts along the ring give what the MPI library alone gives.
use crate::common::epochs::{TREE, calls, shared};
use crate::common::job::{BOTH, TestJob, compiled};

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
                // What cannot be reordered, or lies with gaps.
                let left = calls.get(&format!("{collective} native"));
                assert!(gone > 20, "{mpi}: {calls:?}");
                assert_eq!(left.is_some(), collective != "bcast", "{mpi}: {calls:?}");
            }
        }
    }
}
