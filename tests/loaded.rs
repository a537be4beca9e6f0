//! A job that loads heddle and configures nothing, in a lab under both MPI libraries.
//! Needs root and the programs of tests/mpi and tests/lab.
use crate::common::epochs::{AT_ONCE, published, records};
use crate::common::job::{BOTH, TestJobOutput};
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::{bench_path, lib};
use inventory::Mpi;
use std::path::Path;
use std::time::Duration;

const TWO: &str = include_str!("../lab/topologies/two.yaml");

/// With blocks of 256 octets the library is as fast as the cables; with 64 kB it overflows the
/// queues of ports.
#[test]
fn large_blocks_go_over_tcp_and_small_ones_the_librarys_way() {
    let up = RunningLab::with(MachinePart::Half, "loaded", TWO);
    for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
        let dir = published(&up.lab.dir(), &up.topology());
        for (collective, way) in [
            ("alltoall", "aapc tcp"),
            ("allgather", "ring tcp"),
            ("allgatherv", "ring tcp"),
            ("alltoallv", "aapc tcp"),
            ("alltoallw", "aapc tcp"),
        ] {
            let bench = lib().join(format!("bench-{mpi}"));
            let words = [
                bench.to_str().expect("a plain path"),
                "--collective",
                collective,
                "--size",
                "256,65536",
                "--iterations",
                "3",
                "--check",
            ];
            let job = lab::mpi::MpiJob {
                timeout: Some(Duration::from_secs(120)),
                ..lab::mpi::MpiJob::new(library)
            };
            let mut command = up.lab.mpirun(&job, words);
            let output = command.env(AT_ONCE.0, AT_ONCE.1).output().expect("mpirun");
            let text = TestJobOutput::new(&output, &format!("{mpi} {collective}"));
            assert_eq!(text.out.matches("every byte checked").count(), 2);
            let gone = ways_gone(&dir, collective);
            // The first large call goes the library's way, to show which network that is.
            let expected = [(256, "native"), (65_536, "native"), (65_536, way)];
            assert_eq!(
                gone,
                expected.map(|(block, way)| (block, way.to_owned())),
                "{collective} on {mpi}"
            );
        }
    }
}

/// Block and way of the calls of a collective, as the job records in a directory have them.
fn ways_gone(dir: &Path, collective: &str) -> Vec<(u64, String)> {
    let latest = records(dir).into_iter().flat_map(|record| record.calls);
    latest
        .filter(|calls| calls.collective.to_string() == collective)
        .map(|calls| (calls.block, calls.way.to_string()))
        .collect()
}

/// With four ranks on each of four hosts a call takes the library seconds, and with tokens less than
/// two. Not even the first one goes the library's way.
#[test]
fn a_long_call_of_many_ranks_a_host_leaves_the_library_at_once() {
    let up = RunningLab::with(MachinePart::Half, "loaded-long", TWO);
    for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
        for learn in ["on", "off"] {
            let dir = published(&up.lab.dir(), &up.topology());
            let bench = bench_path(mpi);
            let words = [&bench, "--size", "65536", "--iterations", "1", "--check"];
            let job = lab::mpi::MpiJob {
                timeout: Some(Duration::from_secs(120)),
                per_host: 4,
                ..lab::mpi::MpiJob::new(library)
            };
            let mut command = up.lab.mpirun(&job, words);
            command.env(AT_ONCE.0, AT_ONCE.1).env("HEDDLE_LEARN", learn);
            let output = command.output().expect("mpirun");
            let text = TestJobOutput::new(&output, mpi);
            assert_eq!(text.out.matches("every byte checked").count(), 1);
            let expected = [(65_536, "aapc tcp".to_owned())];
            assert_eq!(ways_gone(&dir, "alltoall"), expected, "{mpi}, {learn}");
        }
    }
}
