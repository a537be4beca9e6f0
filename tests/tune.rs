//! `heddle tune` under both MPI libraries, and the effects of its measurements: the next epoch's
//! table, the output of `--check`, the decisions that a job reports, and the output of the doctor
//! and the history.
//!
//! Ranks run on this machine, each under a host name of its own (a UTS namespace, which takes
//! root). Needs: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev clang libclang-dev
use crate::common::epochs::publish;
use crate::common::machine_share::MachinePart;
use crate::common::mpirun::mpirun;
use crate::common::runtime::lib;
use crate::common::{HEDDLE, text};
use directory::reading::current_epoch;
use inventory::Bytes;
use policy::decision_table::{Mpi, Way};
use policy::measurements::MEASURED;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const TREE: &str = "switches: [s0, s1]
hosts: {n0: {switch: s0, address: 127.0.0.1}, n1: {switch: s0, address: 127.0.0.1}, n2: {switch: s1, address: 127.0.0.1}, n3: {switch: s1, address: 127.0.0.1}}
links: [{a: s0, b: s1}]
";

fn heddle(arguments: &[&str]) -> (i32, String, String) {
    outcome(
        &Command::new(HEDDLE)
            .args(arguments)
            .output()
            .expect("heddle runs"),
    )
}

fn outcome(output: &Output) -> (i32, String, String) {
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// The launcher of a job of four ranks on four hosts, in words.
fn launcher(mpi: &str) -> Command {
    let mut command = mpirun(mpi, 4, &lib().join("libheddle-idle.so"));
    command.arg("shim/tests/host.sh");
    // Over loopback, no connection shows which network it is.
    command.env("HEDDLE_NETWORK", "published");
    command
}

fn tune(mpi: &str, dir: &Path, more: &[&str]) -> (i32, String, String) {
    let launcher = launcher(mpi);
    let mut command = Command::new(HEDDLE);
    command
        .args([
            "tune",
            "--mpi",
            mpi,
            "--size",
            "1k,16k,64k,256k",
            "--launches",
            "1",
            "--seconds",
            "0.1",
            "--dir",
        ])
        .arg(dir)
        .args(more);
    command
        .arg("--")
        .arg(launcher.get_program())
        .args(launcher.get_args());
    command.envs(
        launcher
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    outcome(&command.output().expect("heddle runs"))
}

#[test]
fn every_way_is_measured_and_the_next_epoch_has_the_table() {
    let _share = MachinePart::Whole.take();
    let scratch = TempDir::new().expect("a temporary directory");
    let dir = scratch.path().join("shared");
    let (code, _, err) = tune("mpich", &dir, &[]);
    assert!(code == 64 && err.contains("shared"), "{code} {err}");
    publish(&dir, TREE);
    assert_tuned(&dir, 2, "openmpi", &[]);
    assert_tuned(&dir, 3, "mpich", &["--algorithms"]);
    assert_epoch_has_the_measurements(&dir);
    assert_check_has_a_line_for_each_collective_and_size(&dir);
    assert_job_says_what_it_does_and_why(&dir);
    assert_doctor_finds_the_measurements(&dir);
    assert_another_cable_makes_them_old(&dir);
}

/// Measures under an MPI library, which publishes an epoch of this number.
fn assert_tuned(dir: &Path, number: u64, mpi: &str, more: &[&str]) {
    let (code, out, err) = tune(mpi, dir, more);
    assert_eq!(code, 0, "{mpi}: {out}\n{err}");
    for expected in [
        "aapc none tcp",
        "ring tcp",
        "4 ranks on 4 hosts, epoch",
        "     256k",
        "  from        0  native",
    ] {
        assert!(out.contains(expected), "{mpi}: {expected} is not in\n{out}");
    }
    assert!(
        err.contains(&format!("epoch {number} published"))
            && !err.contains("no call can go this way"),
        "{err}"
    );
    // Every way in the table was measured.
    let taken = out.lines().filter(|line| {
        line.starts_with("  from ") && line.split_whitespace().nth(2) != Some("native")
    });
    assert!(
        taken
            .clone()
            .all(|line| line.ends_with("measured and confirmed")),
        "{out}"
    );
    assert!(
        taken.count() == 0
            || out.contains(", confirmed\n")
                && err.contains("every other row of calls bypasses heddle"),
        "{out}\n{err}"
    );
    assert!(!dir.join("trial").exists());
    assert_agreement_holds_between(dir, mpi);
}

fn assert_epoch_has_the_measurements(dir: &Path) {
    let tuning = fs::read_to_string(dir.join("tuning.json")).expect("the measurements");
    assert_eq!(
        fs::read_to_string(dir.join("epochs/00000003/tuning.json")).expect("in the epoch"),
        tuning
    );
    for part in [
        "\"mpi\": \"openmpi\"",
        "\"mpi\": \"mpich\"",
        "\"name\": \"pairwise\"",
        "\"pingpong\": [",
        "MPICH Version",
    ] {
        assert!(tuning.contains(part), "{part}");
    }
}

/// A line tells the result of the check, and so does the exit status.
fn assert_check_has_a_line_for_each_collective_and_size(dir: &Path) {
    let (code, out, err) = tune("mpich", dir, &["--check", "--rounds", "5"]);
    let shown = |word: &str| out.lines().filter(|line| line.ends_with(word)).count();
    for collective in ["alltoall", "allgather"] {
        for size in [" 8 ", " 1k ", " 16k ", " 64k ", " 256k "] {
            assert!(
                out.lines()
                    .any(|line| line.starts_with(collective) && line.contains(size)),
                "{collective}{size}: {out}\n{err}"
            );
        }
    }
    let lines = out.lines().filter(|line| line.starts_with("all")).count();
    assert_eq!(
        shown("faster") + shown("holds") + shown("within the noise") + shown("SLOWER"),
        lines,
        "{out}"
    );
    assert_eq!(code, i32::from(shown("SLOWER") > 0), "{out}\n{err}");
}

/// The job reports its decision once for each size.
fn assert_job_says_what_it_does_and_why(dir: &Path) {
    let (_, _, err) = outcome(
        &launcher("mpich")
            .arg(lib().join("bench-mpich"))
            .args(["--size", "1024,262144", "--iterations", "3"])
            .env("SHIM", preload())
            .env("HEDDLE_DIR", dir)
            .env("HEDDLE_VERBOSE", "2")
            .env("HEDDLE_AFTER", "0")
            .output()
            .expect("mpirun"),
    );
    let decisions: Vec<&str> = err
        .lines()
        .filter(|line| line.contains(" a block: "))
        .collect();
    assert_eq!(decisions.len(), 2, "{err}");
    assert!(
        decisions
            .iter()
            .all(|line| ["heddle: alltoall of ", "measured", ", epoch 3"]
                .iter()
                .all(|part| line.contains(part))),
        "{decisions:?}"
    );
}

fn assert_doctor_finds_the_measurements(dir: &Path) {
    let (code, out, err) = doctor(dir);
    assert_eq!(code, 0, "{out}{err}");
    for line in [
        "epoch      3: 4 hosts on 2 switches",
        "host       n0               at s0, 1Gbit/s, 1 rank, 127.0.0.1",
        "mpich      measured: 20",
        "MPI        /usr/bin/mpi",
    ] {
        assert!(
            out.lines().any(|l| l.starts_with(line)),
            "{line} is not in\n{out}"
        );
    }
}

/// A host moves to another switch. Then no measurement is valid any more, and each command says so.
fn assert_another_cable_makes_them_old(dir: &Path) {
    publish(dir, &TREE.replace("n3: {switch: s1", "n3: {switch: s0"));
    let (_, out, _) = doctor(dir);
    assert!(
        out.contains("openmpi    modelled, to be measured again: 20"),
        "{out}"
    );
    let (_, out, _) = heddle(&["history", "--dir", dir.to_str().expect("a path")]);
    assert!(
        out.lines()
            .any(|line| line.contains("decision table: ") && line.contains("to be measured again")),
        "{out}"
    );
}

fn doctor(dir: &Path) -> (i32, String, String) {
    heddle(&["doctor", "--mpi", "--dir", dir.to_str().expect("a path")])
}

/// If two neighbouring measured sizes go the same way, the sizes between them go this way, too.
fn assert_agreement_holds_between(dir: &Path, mpi: &str) {
    let of = if mpi == "mpich" {
        Mpi::Mpich
    } else {
        Mpi::OpenMpi
    };
    let table = current_epoch(dir)
        .expect("readable")
        .expect("published")
        .schedules
        .table
        .for_mpi(of);
    for collective in MEASURED {
        let way = |block: u64| table.choose(collective, Bytes(block));
        for (size, next) in [
            (1 << 10, 16 << 10),
            (16 << 10, 64 << 10),
            (64 << 10, 256 << 10),
        ] {
            if way(size) == way(next) && way(size) != Way::Native {
                assert!(
                    [size + 1, 2 * size, next - 1]
                        .into_iter()
                        .all(|block| way(block) == way(size)),
                    "{mpi}: {table:?}"
                );
            }
        }
    }
}

fn preload() -> String {
    format!(
        "{}:{}",
        lib().join("libheddle.so").display(),
        lib().join("libheddle-idle.so").display()
    )
}

#[test]
fn the_doctor_says_what_is_missing() {
    let dir = TempDir::new().expect("a temporary directory");
    let (code, out, _) = doctor(dir.path());
    assert!(
        code == 1
            && out.contains(
                "epoch      MISSING: none published yet: run heddle controller, or heddle publish"
            ),
        "{out}"
    );
    lib();
    fs::write(dir.path().join("current"), "nonsense").expect("written");
    let (code, out, _) = doctor(dir.path());
    assert!(
        code == 1 && out.contains("expected an epoch number"),
        "{out}"
    );
    assert!(
        out.contains("LD_PRELOAD does not name libheddle.so here"),
        "{out}"
    );
}
