//! The MPI runtime under both MPI libraries: programs in C, Fortran and Python give the same bytes
//! with it as without it, whatever the shared directory holds and however often it changes.
//!
//! Ranks run on this machine, each group of them under a host name of its own (a UTS namespace,
//! which takes root). Needs: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran
//! python3-mpi4py clang libclang-dev
use crate::common::epochs::{
    AT_ONCE, BUNDLED, FORCED, OVER_TCP, TREE, calls, publish, records, shared, ways,
};
use crate::common::job::{BOTH, TestJob, TestJobOutput, compiled};
use crate::common::runtime::lib;
use crate::common::same_bytes::same_bytes;
use selection::decision_table::Way;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// [`TREE`], where n2 and n3 have moved.
const MOVED: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, address: 127.0.0.1}, n1: {switch: s0, address: 127.0.0.1}, n2: {switch: s2, address: 127.0.0.1}, n3: {switch: s0, address: 127.0.0.1}, n4: {switch: s1, address: 127.0.0.1}, n5: {switch: s2, address: 127.0.0.1}, n6: {switch: s2, address: 127.0.0.1}, n7: {switch: s2, address: 127.0.0.1}}
links: [{a: s0, b: s1}, {a: s1, b: s2}]
";

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
            (16, 3, BUNDLED),
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
        }
    }
}

/// Only what somebody measured is taken.
#[test]
fn unequal_blocks_stay_the_librarys_where_no_table_says_more() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let bare = TestJob::bare(mpi, 4).run(&compiled("vectors.c", mpi, &[]), &[]);
        let with = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&compiled("vectors.c", mpi, &[]), &[]);
        assert_eq!(with.out, bare.out, "{mpi}");
        assert_eq!(
            ways(dir.path()),
            [
                "allgather native",
                "allgatherv native",
                "alltoall native",
                "alltoallv native"
            ],
            "{mpi}"
        );
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
                "alltoallv aapc"
            ]
        );
    }
}

#[test]
fn a_rank_with_too_little_room_ends_the_job_or_hears_of_it_and_nobody_hangs() {
    for mpi in BOTH {
        let program = compiled("mismatch.c", mpi, &[]);
        let forced = ["alltoall", "allgather", "alltoallv", "allgatherv"]
            .map(|collective| (collective, FORCED));
        for (collective, forced) in forced.into_iter().chain([("alltoall", BUNDLED)]) {
            let dir = shared(TREE);
            let job = || {
                TestJob::new(mpi, 3)
                    .per_host(if forced == BUNDLED { 2 } else { 1 })
                    .dir(dir.path())
                    .env(forced.0, forced.1)
            };
            let said = job().run(&program, &[collective, "return"]);
            assert_eq!(said.out, "truncated\n", "{collective} on {mpi}");
            // What the launcher tells of it gets lost at times, and Open MPI alone may hang; with
            // heddle it ends.
            let output = job().output(&program, &[collective]);
            let code = output.status.code();
            assert!(
                code != Some(0) && code != Some(124),
                "{collective} on {mpi}: {output:?}"
            );
        }
    }
}

/// A rank without the runtime never says so: the others wait for it as for one that is late, and
/// then do without it.
#[test]
fn loaded_on_some_ranks_only_it_stands_aside() {
    let idle = lib().join("libheddle-idle.so");
    let idle = idle.to_str().expect("a plain path");
    for mpi in BOTH {
        let program = compiled("late.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, &["0", "0"]);
        for (name, rank) in [("BARE", "2"), ("OFF_ON", "0")] {
            let dir = shared(TREE);
            let job = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .env("HEDDLE_PATIENCE", "1");
            let said = job
                .env(name, rank)
                .env("BARE_SHIM", idle)
                .run(&program, &["0", "0"]);
            // UCX warns of the barrier that never ends.
            let out: String = said
                .out
                .split_inclusive('\n')
                .filter(|line| !line.contains("UCX"))
                .collect();
            assert_eq!(out, bare.out, "{name} on {mpi}");
            assert!(
                said.heddle
                    .iter()
                    .all(|line| line.contains("not all came to a collective within 1 s")),
                "{:?}",
                said.heddle
            );
            assert!(
                !said.heddle.is_empty() && said.heddle.len() < 3,
                "{name} on {mpi}: {:?}",
                said.heddle
            );
        }
        // Late beyond their patience: the same. Within it, nothing is lost.
        for (patience, late, seen) in [
            ("1", "6", vec![]),
            (
                "60",
                "2.5",
                vec!["allgather ring".to_owned(), "alltoall aapc".to_owned()],
            ),
        ] {
            let dir = shared(TREE);
            let job = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .env("HEDDLE_PATIENCE", patience);
            let said = job.run(&program, &["3", late]);
            let out: String = said
                .out
                .split_inclusive('\n')
                .filter(|line| !line.contains("UCX"))
                .collect();
            assert_eq!(out, bare.out, "patience {patience} on {mpi}");
            let gone = if dir.path().join("jobs").exists() {
                ways(dir.path())
            } else {
                Vec::new()
            };
            assert_eq!(
                gone, seen,
                "patience {patience} on {mpi}: {:?}",
                said.heddle
            );
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
        let said = job.run(&compiled("late.c", mpi, &[]), &["2", "2"]);
        let met = "watchdog: 0.5 s without progress: all 4 ranks of a communicator to come to a \
                   collective";
        assert!(
            said.heddle.iter().any(|line| line.contains(met)),
            "{mpi}: {:?}",
            said.heddle
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
                let said = job.run(&compiled("late.c", mpi, &["-DMEET", flag]), &["2", "1.5"]);
                let call = format!("in {call}{over}: ");
                let waits = |line: &String| {
                    ["without progress: rank ", &call, phase]
                        .iter()
                        .all(|part| line.contains(part))
                };
                assert!(
                    said.heddle.iter().any(waits),
                    "{mpi}{over}: {:?}",
                    said.heddle
                );
            }
        }
    }
}

/// As Python's extensions do: their MPI library, and what that needs, is hidden from the program
/// and from what it preloads.
#[test]
fn an_mpi_library_that_comes_with_a_plugin() {
    for mpi in BOTH {
        let plugin = compiled("datatypes.c", mpi, &["-shared", "-fPIC"]);
        let main = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).main(0, None))";
        let (python, arguments) = (
            Path::new("/usr/bin/python3"),
            ["-c", main, plugin.to_str().expect("a plain path")],
        );
        let (dir, bare) = (shared(TREE), TestJob::bare(mpi, 2).run(python, &arguments));
        let with = TestJob::new(mpi, 2)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(python, &arguments);
        assert_eq!((with.out, with.heddle), (bare.out, Vec::new()), "{mpi}");
        assert_eq!(
            ways(dir.path()),
            ["allgather ring", "alltoall aapc"],
            "{mpi}"
        );
    }
}

#[test]
fn threads_call_at_once() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let said = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&compiled("threads.c", mpi, &[]), &[]);
        assert_eq!(said.out, "threads: 0 wrong\n");
        assert_eq!(calls(dir.path())["alltoall aapc"], 4 * 60);
    }
}

#[test]
fn fortran_by_each_binding() {
    for mpi in BOTH {
        for binding in ["-DMPIF_H", "-DUSE_MPI", "-DUSE_MPI_F08"] {
            let dir = shared(TREE);
            let flags = [binding, "-fallow-argument-mismatch"];
            let said = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .run(&compiled("fortran.F90", mpi, &flags), &[]);
            assert_eq!(said.out, "fortran: 0 wrong\n", "{mpi} {binding}");
            let expected = [
                ("allgather ring", 1),
                ("allgatherv ring", 1),
                ("alltoall aapc", 2),
                ("alltoallv aapc", 2),
            ];
            assert_eq!(
                calls(dir.path()),
                expected.map(|(way, calls)| (way.to_owned(), calls)).into(),
                "{mpi} {binding} did not go through the runtime"
            );
        }
    }
}

/// Debian's mpi4py is made for Open MPI.
#[test]
fn python_through_mpi4py() {
    let dir = shared(TREE);
    let job = TestJob::new("openmpi", 4)
        .dir(dir.path())
        .env(FORCED.0, FORCED.1);
    let said = job.run(
        Path::new("/usr/bin/python3"),
        &["shim/tests/mpi4py_both.py"],
    );
    assert_eq!(said.out, "mpi4py: 0 wrong\n");
    // Two of its own, and one by which mpi4py tells the lengths of pickled objects.
    assert_eq!(calls(dir.path())["alltoall aapc"], 3);
    assert!(calls(dir.path())["allgather ring"] >= 1);
}

#[test]
fn the_table_decides_by_block_size() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let bench = lib().join(format!("bench-{mpi}"));
        let flags = [
            "--collective",
            "both",
            "--size",
            "1000,300000",
            "--iterations",
            "5",
            "--check",
        ];
        let said = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&bench, &flags);
        assert_eq!(
            said.out.matches("every byte checked").count(),
            4,
            "{}",
            said.out
        );
        let record = &records(dir.path())[0];
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
        // By the default table, Open MPI's own all-to-all is left alone at every size.
        let large = if mpi == "mpich" { "aapc" } else { "native" };
        let mut expected = [
            ("allgather", "native", 1000, 5),
            ("allgather", "ring", 300_000, 5),
            ("alltoall", large, 300_000, 5),
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
                record.mpi.to_string().as_str(),
                record.program.as_str()
            ),
            (4, 4, mpi, &*format!("bench-{mpi}"))
        );
    }
}

/// A directory that cannot be used: what to do to it, and what the line must say.
type DirectoryDamage = (&'static str, fn(&Path), &'static str);

const DAMAGES: [DirectoryDamage; 11] = [
    (
        "missing",
        |dir| fs::remove_dir_all(dir).unwrap(),
        "no such directory",
    ),
    (
        "empty",
        |dir| fs::remove_file(dir.join("current")).unwrap(),
        "no epoch published yet",
    ),
    (
        "pointer cut",
        |dir| fs::write(dir.join("current"), "1 sha256:0123").unwrap(),
        "expected an epoch number",
    ),
    (
        "foreign",
        |dir| fs::write(dir.join("current"), [0xff, 0, 0xfe]).unwrap(),
        "expected an epoch number",
    ),
    (
        "manifest missing",
        |dir| fs::remove_file(dir.join("epochs/00000001/manifest.json")).unwrap(),
        "manifest.json",
    ),
    (
        "half a topology",
        |dir| halve(&dir.join("epochs/00000001/topology.yaml")),
        "topology.yaml",
    ),
    (
        "a topology with a byte changed",
        |dir| change(&dir.join("epochs/00000001/topology.yaml")),
        "topology.yaml",
    ),
    (
        "unreadable",
        |dir| fs::set_permissions(dir.join("epochs"), Permissions::from_mode(0o000)).unwrap(),
        "Permission denied",
    ),
    (
        "a pipe for the pointer",
        |dir| pipe(&dir.join("current")),
        "current: not a regular file",
    ),
    (
        "a pipe for the manifest",
        |dir| pipe(&dir.join("epochs/00000001/manifest.json")),
        "manifest.json: not a regular file",
    ),
    (
        "a directory for a file",
        |dir| {
            fs::remove_file(dir.join("current"))
                .and_then(|()| fs::create_dir(dir.join("current")))
                .unwrap()
        },
        "current",
    ),
];

fn halve(file: &Path) {
    let bytes = fs::read(file).unwrap();
    fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
}

fn change(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// Opening it to read waits for a writer, and none comes.
fn pipe(file: &Path) {
    fs::remove_file(file).unwrap();
    let made = Command::new("mkfifo")
        .arg(file)
        .status()
        .expect("mkfifo, of coreutils");
    assert!(made.success(), "mkfifo {}: {made}", file.display());
}

/// Runs a program that may not read what its mode forbids, which root otherwise may.
const LIKE_ANYBODY: [&str; 2] = ["--bounding-set", "-dac_override,-dac_read_search"];

const SMALL: [&str; 7] = [
    "--collective",
    "both",
    "--size",
    "5000",
    "--iterations",
    "4",
    "--check",
];

#[test]
fn an_unusable_directory_gives_one_line_and_the_librarys_own_routine() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let arguments = [
            &LIKE_ANYBODY[..],
            &[bench.to_str().expect("a plain path")],
            &SMALL,
        ]
        .concat();
        for (name, damage, line) in DAMAGES {
            let dir = shared(TREE);
            damage(dir.path());
            let said = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .run(Path::new("/usr/bin/setpriv"), &arguments);
            assert_eq!(
                said.out.matches("every byte checked").count(),
                2,
                "{name} on {mpi}: {}",
                said.out
            );
            assert_eq!(said.heddle.len(), 1, "{name} on {mpi}: {:?}", said.heddle);
            assert!(
                said.heddle[0].contains(line),
                "{name} on {mpi}: {:?}",
                said.heddle
            );
            if dir.path().is_dir() {
                assert_eq!(
                    ways(dir.path()),
                    ["allgather native", "alltoall native"],
                    "{name} on {mpi}"
                );
            }
        }
        let said = TestJob::new(mpi, 4)
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&bench, &SMALL);
        assert!(
            said.heddle.len() == 1 && said.heddle[0].contains("HEDDLE_DIR is not set"),
            "{:?}",
            said.heddle
        );
    }
}

#[test]
fn only_rank_0_need_see_the_directory() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let dir = shared(TREE);
        let said = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env("DIR_OF_OTHERS", "/nonexistent")
            .env(FORCED.0, FORCED.1)
            .run(&bench, &SMALL);
        assert_eq!(
            (
                said.out.matches("every byte checked").count(),
                said.heddle.len()
            ),
            (2, 0),
            "{mpi}"
        );
        assert_eq!(ways(dir.path()), ["allgather ring", "alltoall aapc"]);

        let others = dir.path().to_str().unwrap();
        let said = TestJob::new(mpi, 4)
            .env("HEDDLE_DIR", "/nonexistent")
            .env("DIR_OF_OTHERS", others)
            .env(FORCED.0, FORCED.1)
            .run(&bench, &SMALL);
        assert_eq!(
            (
                said.out.matches("every byte checked").count(),
                said.heddle.len()
            ),
            (2, 1),
            "{mpi}: {:?}",
            said.heddle
        );
    }
}

#[test]
fn a_host_the_topology_does_not_know_is_named() {
    let dir = shared("switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}\n");
    for mpi in BOTH {
        let said = TestJob::new(mpi, 3)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&lib().join(format!("bench-{mpi}")), &SMALL);
        assert!(
            said.heddle.len() == 1 && said.heddle[0].contains("\"n2\""),
            "{:?}",
            said.heddle
        );
        assert_eq!(said.out.matches("every byte checked").count(), 2);
    }
}

/// There is no network between them, so there is nothing to look for, to agree on, or to record.
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
        let said = TestJob::new(mpi, 4)
            .per_host(4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&lib().join(format!("bench-{mpi}")), &flags);
        assert_eq!(
            (
                said.out.matches("every byte checked").count(),
                said.heddle.len(),
                records(dir.path()).len()
            ),
            (4, 0, 0),
            "{mpi}"
        );
    }
}

#[test]
fn switched_off_or_without_a_backend_nothing_happens() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let dir = shared(TREE);
        let program = compiled("vectors.c", mpi, &[]);
        let said = TestJob::new(mpi, 3)
            .dir(dir.path())
            .env("HEDDLE", "off")
            .env("HEDDLE_VERBOSE", "2")
            .run(&program, &[]);
        assert_eq!(
            (said.out, said.heddle.len()),
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
        let said = TestJob::new(mpi, 3)
            .preloaded([front])
            .dir(dir.path())
            .run(&bench, &SMALL);
        assert!(
            said.heddle.len() == 1 && said.heddle[0].contains(&format!("libheddle-{mpi}.so")),
            "{:?}",
            said.heddle
        );

        let (front, backend) = (
            alone.path().join("libheddle.so"),
            format!("libheddle-{mpi}.so"),
        );
        fs::copy(lib().join(&backend), alone.path().join(&backend)).unwrap();
        let said = TestJob::new(mpi, 3)
            .preloaded([front])
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&bench, &SMALL);
        assert!(
            said.heddle.len() == 1 && said.heddle[0].contains("heddle-helper: No such file"),
            "{:?}",
            said.heddle
        );
    }
}

/// Runs a program that makes a file after its first calls and ends when that is gone: once there is
/// `enough`, which is asked ten times a second at most.
fn until(
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

/// `make stress` has it run for a minute and more, and over both data paths under each library.
#[test]
fn epochs_change_under_a_running_job() {
    let stress: Option<u64> = std::env::var("STRESS_SECONDS")
        .ok()
        .map(|text| text.parse().expect("STRESS_SECONDS: a number"));
    let least = stress.unwrap_or(0);
    let jobs = [
        ("openmpi", OVER_TCP, " tcp"),
        ("mpich", FORCED, ""),
        ("openmpi", FORCED, ""),
        ("mpich", OVER_TCP, " tcp"),
    ];
    for (mpi, forced, over) in jobs.into_iter().take(if stress.is_some() { 4 } else { 2 }) {
        let dir = shared(TREE);
        let program = compiled("steady.c", mpi, &[]);
        let job = TestJob::new(mpi, 8)
            .dir(dir.path())
            .env(forced.0, forced.1)
            .env("HEDDLE_VERBOSE", "1");
        let often = |way: &str| {
            calls(dir.path())
                .get(&format!("{way}{over}"))
                .copied()
                .unwrap_or(0)
                > 50
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
            let long =
                began.get_or_insert_with(Instant::now).elapsed() >= Duration::from_secs(least);
            long && published > 10
                && seen.len() > 4
                && often("alltoall aapc")
                && often("allgather ring")
        });
        let said = TestJobOutput::new(&output, mpi);
        println!(
            "{mpi}{over}: {published} epochs published; {}",
            said.out.trim()
        );
        assert!(said.out.ends_with(" 0 wrong\n"), "{mpi}: {}", said.out);
        let epoch = |line: &String| {
            Some(
                line.split_once("follows epoch ")?
                    .1
                    .split_once(", 8 ranks on 8 hosts")?
                    .0
                    .to_owned(),
            )
        };
        let mut followed: Vec<String> = said.heddle.iter().filter_map(epoch).collect();
        followed.dedup();
        assert!(
            published > 10 && followed.len() > 4,
            "{mpi}: {published} published, followed: {followed:?}"
        );
        let calls = calls(dir.path());
        assert!(
            often("alltoall aapc") && often("allgather ring") && calls.len() == 2,
            "{mpi}: {calls:?}"
        );
    }
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
        let said = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .run(&lib().join(format!("bench-{mpi}")), &SMALL);
        assert!(
            said.heddle.iter().any(|line| line.contains(reason)
                && line.ends_with("MPI point-to-point carries the blocks")),
            "{:?}",
            said.heddle
        );
        assert!(
            ways(dir.path()).iter().all(|way| !way.ends_with("tcp")),
            "{:?}",
            ways(dir.path())
        );
    }
}

/// Every connection costs two descriptors a peer; the application and its MPI library keep theirs.
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
        let said = TestJob::new(mpi, 8)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .run(Path::new("/usr/bin/prlimit"), &arguments);
        assert!(
            said.heddle
                .iter()
                .any(|line| line.contains("raise it: ulimit -n")),
            "{:?}",
            said.heddle
        );
        assert_eq!(
            ways(dir.path()),
            ["allgather ring", "alltoall aapc"],
            "{mpi}"
        );
    }
}

/// Open MPI 4.1 has no such types.
#[test]
fn datatypes_made_with_large_counts() {
    for forced in [FORCED, OVER_TCP, BUNDLED] {
        let dir = shared(TREE);
        let per_host = if forced == BUNDLED { 2 } else { 1 };
        let said = TestJob::new("mpich", 4)
            .per_host(per_host)
            .dir(dir.path())
            .env(forced.0, forced.1)
            .run(&compiled("large.c", "mpich", &[]), &[]);
        assert!(
            said.out.contains("large: 0 wrong\n") && said.heddle.is_empty(),
            "{}: {:?}",
            said.out,
            said.heddle
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

/// Neither by a signal nor by `wait`: the process beside it is not its child.
#[test]
fn a_program_hears_of_its_own_children_only() {
    for mpi in BOTH {
        let program = compiled("children.c", mpi, &[]);
        let dir = shared(TREE);
        let bare = TestJob::bare(mpi, 3).run(&program, &[]).out;
        let said = TestJob::new(mpi, 3)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&program, &[]);
        assert_eq!((said.out, said.heddle), (bare, Vec::new()), "{mpi}");
        assert_eq!(records(dir.path()).len(), 1, "{mpi}: a helper was there");
    }
}

/// By the launcher's hand or by an error of the call, but at once.
#[test]
fn a_rank_that_dies_ends_the_job_as_it_does_without_heddle() {
    for mpi in BOTH {
        let program = compiled("death.c", mpi, &[]);
        let dir = shared(TREE);
        let with = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .env("HEDDLE_VERBOSE", "2");
        let recorded = || !ways(dir.path()).is_empty();
        for output in [
            until(&TestJob::bare(mpi, 4), &program, &[], || true),
            until(&with, &program, &[], recorded),
        ] {
            let error = String::from_utf8_lossy(&output.stderr);
            // 124: out of time, 134 and 139: it fell over its own feet.
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
        // Everybody's record, and those of the two halves.
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
        let said = TestJobOutput::new(&output, mpi);
        assert!(said.out.ends_with(" 0 wrong\n"), "{}", said.out);
        let at = |what: &str| said.heddle.iter().position(|line| line.contains(what));
        let (aside, follows) = (at("no epoch published yet"), at("follows epoch 1, 4 ranks"));
        assert!(
            aside.is_some() && aside < follows,
            "{mpi}: {:?}",
            said.heddle
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
