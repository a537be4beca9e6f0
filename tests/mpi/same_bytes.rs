//! Calls give the same bytes, errors and ends as with the MPI library alone.
use crate::common::epochs::{
    BUNDLED, BUNDLED_PHASES, BY_LEADERS, CREDITED, FORCED, OVER_TCP, SEVERAL_RINGS, TREE, WINDOWED,
};
use crate::common::epochs::{records, shared, slow_trunks, ways};
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::runtime::lib;
use crate::common::same_bytes::{same_bytes, same_bytes_on};
use policy::decision_table::Way;

#[test]
fn every_datatype_gives_the_same_bytes() {
    for mpi in BOTH {
        for (ranks, per_host, forced) in [
            (2, 1, FORCED),
            (4, 1, FORCED),
            (6, 2, FORCED),
            (16, 3, FORCED),
            (2, 1, OVER_TCP),
            (16, 3, OVER_TCP),
            (2, 1, WINDOWED),
            (16, 3, WINDOWED),
            (8, 1, CREDITED),
            (16, 3, CREDITED),
            (16, 3, BUNDLED),
            (16, 3, BUNDLED_PHASES),
            (16, 3, BY_LEADERS),
        ] {
            same_bytes("datatypes.c", mpi, ranks, per_host, forced);
        }
    }
}

#[test]
fn unequal_blocks_give_the_same_bytes() {
    for mpi in BOTH {
        for (ranks, per_host) in [(3, 1), (8, 2)] {
            same_bytes("vectors.c", mpi, ranks, per_host, FORCED);
            same_bytes("vectors.c", mpi, ranks, per_host, OVER_TCP);
        }
        same_bytes("vectors.c", mpi, 8, 3, BY_LEADERS);
        same_bytes("vectors.c", mpi, 8, 3, BUNDLED_PHASES);
    }
}

#[test]
fn several_rings_give_the_same_bytes() {
    for mpi in BOTH {
        same_bytes_on(&slow_trunks(), "vectors.c", mpi, (8, 1), SEVERAL_RINGS);
        let dir = shared(&slow_trunks());
        let bench = lib().join(format!("bench-{mpi}"));
        let words = "--collective allgather --size 1,1000,100000 --iterations 9 --check";
        let flags: Vec<&str> = words.split(' ').collect();
        let output = TestJob::new(mpi, 8)
            .dir(dir.path())
            .env(SEVERAL_RINGS.0, SEVERAL_RINGS.1)
            .run(&bench, &flags);
        assert_eq!(
            output.out.matches("every byte checked").count(),
            3,
            "{}",
            output.out
        );
        assert_eq!(ways(dir.path()), ["allgather rings tcp"], "{mpi}");
    }
}

#[test]
fn lengths_that_change_from_call_to_call_give_the_same_bytes() {
    for mpi in BOTH {
        same_bytes("lengths.c", mpi, 5, 2, OVER_TCP);
        // Here a call takes so long that lengths are planned for which do not repeat.
        let slower = TREE
            .replace(", address", ", rate: 200M, address")
            .replace("{a", "{rate: 200M, a");
        same_bytes_on(&slower, "lengths.c", mpi, (5, 1), OVER_TCP);
    }
}

#[test]
fn a_rank_hears_of_a_block_that_was_cut_short_and_the_others_of_nothing() {
    for (mpi, (name, way)) in BOTH
        .into_iter()
        .flat_map(|mpi| [OVER_TCP, BUNDLED].map(|way| (mpi, way)))
    {
        let dir = shared(TREE);
        let output = TestJob::new(mpi, 4)
            .per_host(if way == BUNDLED.1 { 2 } else { 1 })
            .dir(dir.path())
            .env(name, way)
            .run(&compiled("lengths.c", mpi, &[]), &["disagree"]);
        let last = output.out.lines().last();
        assert_eq!(last, Some("1 told of a block cut short"), "{mpi}, {way}");
    }
}

#[test]
fn wrong_arguments_raise_the_same_errors() {
    for mpi in BOTH {
        let program = compiled("errors.c", mpi, &[]);
        let dir = shared(TREE);
        let bare = TestJob::bare(mpi, 3).run(&program, &[]);
        let with = TestJob::new(mpi, 3)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&program, &[]);
        assert_eq!(with.out, bare.out, "{mpi}");
        assert_eq!(
            ways(dir.path()),
            [
                "allgather ring",
                "allgatherv ring",
                "alltoall aapc",
                "alltoallv aapc",
                "alltoallw aapc"
            ]
        );
    }
}

#[test]
fn a_rank_with_too_little_room_ends_the_job_or_hears_of_it_and_nobody_hangs() {
    for mpi in BOTH {
        let program = compiled("mismatch.c", mpi, &[]);
        let forced = [
            "alltoall",
            "allgather",
            "alltoallv",
            "alltoallw",
            "allgatherv",
        ]
        .map(|collective| (collective, FORCED));
        let others = [
            ("alltoall", BUNDLED),
            ("allgather", BY_LEADERS),
            ("allgatherv", BY_LEADERS),
            ("alltoallv", OVER_TCP),
            ("alltoallw", OVER_TCP),
        ];
        for (collective, forced) in forced.into_iter().chain(others) {
            let dir = shared(TREE);
            let job = || {
                TestJob::new(mpi, 3)
                    .per_host(if [BUNDLED, BY_LEADERS].contains(&forced) {
                        2
                    } else {
                        1
                    })
                    .dir(dir.path())
                    .env(forced.0, forced.1)
            };
            let text = job().run(&program, &[collective, "return"]);
            assert_eq!(text.out, "truncated\n", "{collective} on {mpi}");
            // The launcher's message about it sometimes gets lost. Open MPI alone may hang; with
            // heddle the job ends.
            let output = job().output(&program, &[collective]);
            let code = output.status.code();
            assert!(
                code != Some(0) && code != Some(124),
                "{collective} on {mpi}: {output:?}"
            );
        }
    }
}

/// Open MPI 4.1 has no such types.
#[test]
fn datatypes_made_with_large_counts() {
    for forced in [FORCED, OVER_TCP, BUNDLED] {
        let dir = shared(TREE);
        let per_host = if forced == BUNDLED { 2 } else { 1 };
        let output = TestJob::new("mpich", 4)
            .per_host(per_host)
            .dir(dir.path())
            .env(forced.0, forced.1)
            .run(&compiled("large.c", "mpich", &[]), &[]);
        assert!(
            output.out.contains("large: 0 wrong\n") && output.heddle.is_empty(),
            "{}: {:?}",
            output.out,
            output.heddle
        );
        let served: u64 = records(dir.path())
            .iter()
            .flat_map(|r| &r.calls)
            .filter(|c| c.way != Way::Native.into())
            .map(|c| c.calls)
            .sum();
        assert_eq!(served, 3, "{forced:?}");
    }
}
