//! The way and the carrier of each call.
use super::SMALL;
use crate::common::epochs::{AT_ONCE, OVER_TCP, TREE, records, shared, ways};
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::runtime::lib;
use directory::job_record::JobRecord;
use std::path::Path;

/// On slow links blocks of a kilobyte are large.
#[test]
fn of_unequal_blocks_those_of_an_allgather_go_over_tcp_where_nobody_measured() {
    for mpi in BOTH {
        let slow = TREE.replace("address", "rate: 5M, address");
        let dir = shared(&slow.replace("b: s", "rate: 5M, b: s"));
        let program = compiled("vectors.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 8).run(&program, &[]);
        let with = TestJob::new(mpi, 8)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&program, &[]);
        assert_eq!(with.out, bare.out, "{mpi}");
        assert_eq!(
            ways(dir.path()),
            [
                "allgather native",
                "allgatherv native",
                "allgatherv ring tcp",
                "alltoall native",
                "alltoallv native",
                "alltoallw native"
            ],
            "{mpi}"
        );
    }
}

#[test]
fn the_table_decides_by_block_size() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let bench = lib().join(format!("bench-{mpi}"));
        let words = "--collective both --size 1000,1000000 --iterations 5 --check";
        let flags: Vec<&str> = words.split(' ').collect();
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&bench, &flags);
        assert_eq!(
            output.out.matches("every byte checked").count(),
            4,
            "{}",
            output.out
        );
        assert_recorded_ways(&records(dir.path())[0], mpi);
    }
}

/// The ways of all-to-alls with blocks of these sizes, over links of 1 Gbit/s, every byte checked.
fn alltoall_ways(mpi: &str, (ranks, per_host): (usize, usize), sizes: &[u32]) -> Vec<String> {
    let dir = shared(TREE);
    let bench = lib().join(format!("bench-{mpi}"));
    let listed: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let words = format!(
        "--collective alltoall --size {} --iterations 20 --check",
        listed.join(",")
    );
    let flags: Vec<&str> = words.split(' ').collect();
    let output = TestJob::new(mpi, ranks)
        .per_host(per_host)
        .dir(dir.path())
        .env(AT_ONCE.0, AT_ONCE.1)
        .env("HEDDLE_LEARN", "off")
        .run(&bench, &flags);
    let checked = output.out.matches("every byte checked").count();
    assert_eq!(checked, sizes.len(), "{}", output.out);
    ways(dir.path())
}

/// Blocks that overflow a queue and are short beside waking a process.
#[test]
fn short_blocks_that_overflow_a_queue_go_by_credit() {
    for mpi in BOTH {
        assert_eq!(
            alltoall_ways(mpi, (8, 1), &[8000, 17_000, 30_000, 60_000]),
            [
                "alltoall aapc credit tcp",
                "alltoall aapc credit(2) tcp",
                "alltoall aapc tcp",
                "alltoall native"
            ],
            "{mpi}"
        );
    }
}

/// The same with several ranks a host, where all ways are compared by their times.
#[test]
fn short_blocks_of_several_ranks_a_host_go_by_credit() {
    for mpi in BOTH {
        assert_eq!(
            alltoall_ways(mpi, (16, 2), &[2000, 12_000, 30_000]),
            [
                "alltoall aapc credit tcp",
                "alltoall aapc credit(4) tcp",
                "alltoall native"
            ],
            "{mpi}"
        );
    }
}

/// Checks the job record of the first test: the ways by block size, their times, and the job
/// itself.
fn assert_recorded_ways(record: &JobRecord, mpi: &str) {
    let names: Vec<(String, String)> = record
        .calls
        .iter()
        .map(|c| (c.collective.to_string(), c.way.to_string()))
        .collect();
    let called = names.iter().zip(&record.calls);
    let mut ways: Vec<(&str, &str, u64, u64)> = called
        .map(|((of, way), c)| (of.as_str(), way.as_str(), c.block, c.calls))
        .collect();
    ways.sort();
    let mut expected = [
        ("allgather", "native", 1000, 5),
        ("allgather", "ring tcp", 1_000_000, 5),
        ("alltoall", "aapc tcp", 1_000_000, 5),
        ("alltoall", "native", 1000, 5),
    ];
    expected.sort();
    assert_eq!(ways, expected);
    assert!(
        record
            .calls
            .iter()
            .all(|c| c.seconds > 0.0 && c.bound_seconds > 0.0),
        "{record:?}"
    );
    assert_eq!(
        (
            record.hosts.len(),
            record.ranks,
            record.mpi.known().and_then(|of| of.measured()),
            record.program.as_str()
        ),
        (4, 4, mpi.parse().ok(), &*format!("bench-{mpi}"))
    );
}

#[test]
fn without_addresses_or_with_one_that_is_not_here_mpi_carries_the_blocks() {
    let nowhere = TREE.replacen("address: 127.0.0.1", "address: 192.0.2.1", 1);
    for (mpi, topology, reason) in [
        (
            "openmpi",
            TREE.replacen(", address: 127.0.0.1", "", 2),
            "the topology states no address for this host",
        ),
        (
            "mpich",
            nowhere,
            "192.0.2.1: Cannot assign requested address",
        ),
    ] {
        let dir = shared(&topology);
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .run(&lib().join(format!("bench-{mpi}")), &SMALL);
        assert!(
            output
                .heddle
                .iter()
                .any(|line| line.contains(reason) && line.ends_with("calls go without it")),
            "{:?}",
            output.heddle
        );
        assert!(
            ways(dir.path()).iter().all(|way| !way.ends_with("tcp")),
            "{:?}",
            ways(dir.path())
        );
    }
}

/// Every connection costs two descriptors a peer; the application and its MPI library keep the
/// others.
#[test]
fn with_too_few_open_files_allowed_mpi_carries_the_blocks() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let bench = lib().join(format!("bench-{mpi}"));
        let arguments = [
            &["--nofile=96", bench.to_str().expect("a plain path")][..],
            &SMALL,
        ]
        .concat();
        let output = TestJob::new(mpi, 8)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .run(Path::new("/usr/bin/prlimit"), &arguments);
        assert!(
            output
                .heddle
                .iter()
                .any(|line| line.contains("raise it: ulimit -n")),
            "{:?}",
            output.heddle
        );
        assert_eq!(
            ways(dir.path()),
            ["allgather ring", "alltoall aapc"],
            "{mpi}"
        );
    }
}
