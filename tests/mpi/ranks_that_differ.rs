//! Ranks whose heddle differs: each job ends with the library's bytes, no rank waits for another in
//! a call that this one does not make, and one line names the rank.
use crate::common::epochs::{FORCED, TREE, records, shared, ways};
use crate::common::job::{BOTH, TestJob, TestJobOutput, compiled};
use crate::common::runtime::lib;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// One rank, the first one, half of them.
const WHERE: [&str; 3] = ["2", "0", "2 3"];
/// In the line that names a rank.
const ASIDE: &str = "the MPI library's own routines run on communicators with such ranks";

/// A job of four ranks that would meet in their first call. A rank that waited for others in vain for a second
/// would say so.
fn job<'a>(mpi: &'a str, dir: &'a Path) -> TestJob<'a> {
    TestJob::new(mpi, 4)
        .dir(dir)
        .env(FORCED.0, FORCED.1)
        .env("HEDDLE_WATCHDOG", "1")
}

/// Where a command changes some ranks, all is the library's, and one line says what differs at the
/// first of them.
fn assert_reported(odd: &str, what: &str) {
    for mpi in BOTH {
        let program = compiled("late.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, &["0", "0"]).out;
        for ranks in WHERE {
            let dir = shared(TREE);
            let output = job(mpi, dir.path())
                .env("ODD_RANKS", ranks)
                .env("ODD", odd)
                .run(&program, &["0", "0"]);
            assert_eq!(output.out, bare, "{odd} on {ranks} of {mpi}");
            assert_names(&output, &format!("rank {}", &ranks[..1]), what);
            assert!(!is_served(dir.path()), "{odd} on {ranks} of {mpi}");
        }
    }
}

/// True if heddle served calls of a job.
fn is_served(dir: &Path) -> bool {
    dir.join("jobs").exists() && !records(dir).is_empty()
}

/// One line names this rank and what is with it, and no rank waited.
fn assert_names(output: &TestJobOutput, rank: &str, what: &str) {
    let lines: Vec<&String> = (output.heddle.iter())
        .filter(|line| line.contains(ASIDE))
        .collect();
    let [line] = lines[..] else {
        panic!("not one line: {:?}", output.heddle);
    };
    let begins = line.starts_with(&format!("heddle: {rank} "));
    assert!(begins && line.contains(what), "{rank}, {what}: {line}");
    let waited = output.heddle.iter().any(|line| line.contains("watchdog"));
    assert!(!waited, "{:?}", output.heddle);
}

#[test]
fn a_rank_without_heddle() {
    let library = lib().join("libheddle-idle.so");
    let idle = library.to_str().expect("a plain path");
    assert_reported(&format!("SHIM={idle}"), "heddle is not loaded there");
    // The loader says that it refuses it, as it does on a host with an older C library, and runs the
    // program.
    let refused = format!("SHIM=/nowhere/libheddle.so:{idle}");
    assert_reported(&refused, "heddle is not loaded there");
}

#[test]
fn a_rank_with_heddle_switched_off() {
    assert_reported("export HEDDLE=off", "HEDDLE=off is set there");
}

#[test]
fn a_rank_with_other_settings() {
    assert_reported(
        "export HEDDLE_AFTER=1000",
        "HEDDLE_AFTER is 1000 there and is not set elsewhere",
    );
    assert_reported(
        "export HEDDLE_FORCE=ring",
        "HEDDLE_FORCE is ring there and is aapc,ring elsewhere",
    );
}

/// A copy of what is preloaded, in a folder of its own, with these files beside it.
fn copied(beside: &[&str]) -> TempDir {
    let folder = TempDir::new().expect("a temporary directory");
    for name in ["libheddle.so"].iter().chain(beside) {
        fs::copy(lib().join(name), folder.path().join(name)).expect("copied");
    }
    folder
}

fn loads(front: &Path) -> String {
    let idle = lib().join("libheddle-idle.so");
    format!("SHIM={}:{}", front.display(), idle.display())
}

/// Writes another version into a library's file.
fn call_another_version(file: &Path) {
    let mut octets = fs::read(file).expect("read");
    let version = concat!(env!("CARGO_PKG_VERSION"), "+").as_bytes();
    let places: Vec<usize> = (0..octets.len() - version.len())
        .filter(|&at| octets[at..].starts_with(version))
        .collect();
    assert!(!places.is_empty(), "its version is in {}", file.display());
    for at in places {
        octets[at] = b'9';
    }
    fs::write(file, octets).expect("written");
}

const BACKENDS: [&str; 2] = ["libheddle-openmpi.so", "libheddle-mpich.so"];

/// A copy of heddle that calls itself another version.
fn another_version() -> TempDir {
    let other = copied(&[BACKENDS[0], BACKENDS[1], "heddle-helper"]);
    for name in ["libheddle.so"].iter().chain(&BACKENDS) {
        call_another_version(&other.path().join(name));
    }
    other
}

#[test]
fn a_rank_with_another_version() {
    let other = another_version();
    let front = other.path().join("libheddle.so");
    assert_reported(&loads(&front), "heddle there is 9.");
}

/// The user says what is not so, and nobody reads what the ranks publish.
#[test]
fn a_rank_with_another_version_or_setting_that_nobody_published() {
    let other = another_version();
    let front = other.path().join("libheddle.so");
    for mpi in BOTH {
        let program = compiled("late.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, &["0", "0"]).out;
        for odd in [&loads(&front), "export HEDDLE_FORCE=ring"] {
            let dir = shared(TREE);
            let output = job(mpi, dir.path())
                .env("HEDDLE_PRESENT", "all")
                .env("ODD_RANKS", "2")
                .env("ODD", odd)
                .run(&program, &["0", "0"]);
            assert_eq!(output.out, bare, "{odd} on {mpi}");
            output.says_only("heddle has other versions or settings on some of them");
            assert!(!is_served(dir.path()), "{odd} on {mpi}");
        }
    }
}

/// As where heddle is upgraded while a job begins.
#[test]
fn a_helper_of_another_version() {
    let beside = copied(&[BACKENDS[0], BACKENDS[1], "heddle-helper"]);
    call_another_version(&beside.path().join("heddle-helper"));
    for mpi in BOTH {
        let program = compiled("late.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, &["0", "0"]).out;
        let dir = shared(TREE);
        let output = job(mpi, dir.path())
            .preloaded([beside.path().join("libheddle.so")])
            .run(&program, &["0", "0"]);
        assert_eq!(output.out, bare, "{mpi}");
        output.says_only("heddle-helper is of heddle 9.");
    }
}

#[test]
fn a_rank_without_a_backend() {
    let alone = copied(&[]);
    let front = alone.path().join("libheddle.so");
    assert_reported(&loads(&front), "heddle found no backend");
}

/// Two programs of one job, of which one has heddle.
#[test]
fn a_program_beside_one_without() {
    let idle = lib().join("libheddle-idle.so");
    let other = format!("SHIM={}", idle.display());
    for mpi in BOTH {
        let program = compiled("late.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, &["0", "0"]).out;
        let dir = shared(TREE);
        let name = program.to_str().expect("a plain path");
        let second = [
            "0",
            "0",
            ":",
            "-n",
            "2",
            "env",
            &other,
            "shim/tests/host.sh",
            name,
            "0",
            "0",
        ];
        let output = TestJob::new(mpi, 2)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .env("HEDDLE_WATCHDOG", "1")
            .run(&program, &second);
        assert_eq!(output.out, bare, "{mpi}");
        assert_names(&output, "rank 2", "and 1 more: heddle is not loaded there");
    }
}

/// Ranks that a rank starts have no heddle here. Those that started them still have it among
/// themselves. Debian's MPICH, over UCX, starts none.
#[test]
fn ranks_that_were_started_without() {
    let dir = shared(TREE);
    let output = TestJob::new("openmpi", 2)
        .dir(dir.path())
        .env(FORCED.0, FORCED.1)
        .env("HEDDLE_WATCHDOG", "1")
        .run(&compiled("spawn.c", "openmpi", &[]), &[]);
    assert_eq!(
        output.out,
        "alone: 2 ranks, 0 wrong\ntogether: 4 ranks, 0 wrong\n"
    );
    let reason = "a communicator has ranks that other ranks started";
    output.says_only(reason);
    assert_eq!(ways(dir.path()), ["allgather ring", "alltoall aapc"]);
}

/// The C library reads this number of the rank, and heddle does not: so this launcher keeps
/// nothing for heddle. Whoever knows that all ranks have heddle says so.
#[test]
fn where_the_launcher_cannot_tell_the_user_may() {
    let bench = lib().join("bench-mpich");
    for (present, all_have_it) in [("", false), ("all", true)] {
        let dir = shared(TREE);
        let output = TestJob::new("mpich", 4)
            .env("ODD_RANKS", "0 1 2 3")
            .env("ODD", "export PMI_RANK=\" $PMI_RANK\"")
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .env("HEDDLE_PRESENT", present)
            .run(&bench, &super::SMALL);
        let hints = (output.heddle.iter())
            .filter(|line| line.contains("HEDDLE_PRESENT=all on all ranks says"))
            .count();
        // Rank 0 may be one without heddle, so two ranks say it.
        assert_eq!(
            hints,
            if all_have_it { 0 } else { 2 },
            "{:?}",
            output.heddle
        );
        assert_eq!(
            is_served(dir.path()),
            all_have_it,
            "HEDDLE_PRESENT={present}"
        );
    }
}
