//! Jobs that span clusters follow LG, under both MPI libraries: on this machine with many shapes of
//! clusters, and in a lab with a long delay between its clusters. Needs root and the programs of
//! tests/mpi and tests/lab.
use crate::common::HEDDLE;
use crate::common::epochs::{published, shared, ways};
use crate::common::job::{BOTH, TestJob, TestJobOutput, compiled};
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use inventory::Mpi;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const TWO: &str = include_str!("../lab/topologies/two-clusters.yaml");

/// Three clusters of unequal size, the middle one on two switches.
const THREE: &str = "switches: [s0, s1, s2, s3]
hosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s0}, n3: {switch: s1}, n4: {switch: s2}, n5: {switch: s3}, n6: {switch: s3}, n7: {switch: s3}}
links: [{a: s0, b: s1, rate: 100M}, {a: s1, b: s2}, {a: s2, b: s3, rate: 100M}]
clusters: {west: [n0, n1, n2], middle: [n3, n4], east: [n5, n6, n7]}
";

fn has_gone(dir: &Path, way: &str) -> bool {
    ways(dir).iter().any(|gone| gone == way)
}

#[test]
fn every_datatype_and_communicator_gives_the_same_bytes() {
    for mpi in BOTH {
        for (source, ranks, per_host) in [
            ("datatypes.c", 11, 2),
            ("communicators.c", 11, 2),
            ("communicators.c", 4, 1),
        ] {
            let program = compiled(source, mpi, &[]);
            let bare = TestJob::bare(mpi, ranks)
                .per_host(per_host)
                .run(&program, &[]);
            let dir = shared(THREE);
            let with = TestJob::new(mpi, ranks)
                .per_host(per_host)
                .dir(dir.path())
                .env("HEDDLE_FORCE", "lg")
                .run(&program, &[]);
            assert_eq!(with.out, bare.out, "{source} x {ranks} on {mpi}");
            assert!(bare.out.lines().count() > 10, "{}", bare.out);
            let gone =
                has_gone(dir.path(), "alltoall lg") && has_gone(dir.path(), "allgather native");
            assert!(gone, "{source} x {ranks} on {mpi}: {:?}", ways(dir.path()));
        }
    }
}

#[test]
fn a_rank_with_too_little_room_hears_of_it_and_nobody_hangs() {
    for mpi in BOTH {
        let dir = shared(THREE);
        let job = TestJob::new(mpi, 6)
            .dir(dir.path())
            .env("HEDDLE_FORCE", "lg");
        assert_eq!(
            job.run(&compiled("mismatch.c", mpi, &[]), &["alltoall", "return"])
                .out,
            "truncated\n",
            "{mpi}"
        );
        assert!(has_gone(dir.path(), "alltoall lg"), "{mpi}");
    }
}

#[test]
fn unequal_blocks_and_one_cluster_stay_the_librarys_and_the_job_says_so() {
    for mpi in BOTH {
        let dir = shared(THREE);
        let forced = |ranks| {
            TestJob::new(mpi, ranks)
                .dir(dir.path())
                .env("HEDDLE_FORCE", "lg")
                .env("HEDDLE_VERBOSE", "1")
        };
        let bare = TestJob::bare(mpi, 5).run(&compiled("vectors.c", mpi, &[]), &[]);
        let with = forced(5).run(&compiled("vectors.c", mpi, &[]), &[]);
        assert_eq!(with.out, bare.out, "{mpi}");
        assert!(
            with.heddle
                .iter()
                .any(|line| line.contains(", lg among 2 clusters, ")),
            "{:?}",
            with.heddle
        );
        assert!(
            has_gone(dir.path(), "alltoallv native"),
            "{:?}",
            ways(dir.path())
        );
        let west = forced(3).run(
            &lib().join(format!("bench-{mpi}")),
            &["--size", "100", "--iterations", "2", "--check"],
        );
        assert!(
            west.heddle
                .iter()
                .any(|line| line.contains(", no lg: all hosts are in one cluster, west")),
            "{:?}",
            west.heddle
        );
        let doctor = Command::new(HEDDLE)
            .args(["doctor", "--mpi", "--dir"])
            .arg(dir.path())
            .output()
            .expect("heddle");
        let text = String::from_utf8_lossy(&doctor.stdout);
        assert!(
            text.lines().any(|line| line
                == "clusters   west (3), middle (2), east (3): jobs that span them can go by lg"),
            "{text}"
        );
    }
}

/// Six hosts, three on each side of a link of 10 Mbit/s and 10 ms; some communicators have hosts of
/// one side only.
#[test]
fn clusters_a_long_way_apart() {
    let up = RunningLab::with(MachinePart::Half, "lg", TWO);
    for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
        let dir = published(&up.lab.dir(), &up.topology());
        let run = |shim: bool, program: &Path, arguments: &[&str]| {
            let job = lab::mpi::MpiJob {
                shim,
                timeout: Some(Duration::from_secs(300)),
                ..lab::mpi::MpiJob::new(library)
            };
            let words = std::iter::once(program.to_str().expect("a plain path"))
                .chain(arguments.iter().copied());
            TestJobOutput::new(
                &up.lab
                    .mpirun(&job, words)
                    .env("HEDDLE_FORCE", "lg")
                    .output()
                    .expect("mpirun"),
                &format!("{mpi} {}", program.display()),
            )
        };
        let program = compiled("communicators.c", mpi, &[]);
        assert_eq!(
            run(true, &program, &[]).out,
            run(false, &program, &[]).out,
            "{mpi}"
        );
        assert_eq!(
            ways(&dir),
            ["allgather native", "alltoall lg", "alltoall native"],
            "{mpi}"
        );
        let bench = ["--size", "1,1000,30000", "--iterations", "3", "--check"];
        let text = run(true, &lib().join(format!("bench-{mpi}")), &bench);
        assert_eq!(
            text.out.matches("every byte checked").count(),
            3,
            "{}",
            text.out
        );
    }
}
