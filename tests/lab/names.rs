//! A lab's name never leads to files outside of the lab's folders.
use super::TWO;
use super::commands::run;
use crate::common::{HEDDLE, text};
use std::fs;
use std::process::{Command, Output};

/// Runs heddle with another `/run`, which holds a file at every place a bad name may lead to.
/// Returns the output and the files that are left.
fn in_another_run(variable: &str, arguments: &[&str]) -> (Output, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join("left");
    let script = "mount -t tmpfs none /run && mkdir -p /run/x /run/heddle-lab/a/b || exit 1
        for d in /run /run/x /run/heddle-lab /run/heddle-lab/a /run/heddle-lab/a/b; do touch $d/file; done
        left=$1; shift; \"$@\"; status=$?
        find /run -name file | sort > $left; exit $status";
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(&left)
        .arg(HEDDLE)
        .arg("lab")
        .args(arguments);
    let output = run(command.env("HEDDLE_LAB", variable));
    let left = fs::read_to_string(left)
        .unwrap_or_else(|_| panic!("{}; run the tests as root", text(&output.stderr)));
    (output, left.lines().map(str::to_owned).collect())
}

#[test]
fn names_that_lead_elsewhere_are_refused_and_nothing_is_deleted() {
    let all = [
        "/run/file",
        "/run/heddle-lab/a/b/file",
        "/run/heddle-lab/a/file",
        "/run/heddle-lab/file",
        "/run/x/file",
    ];
    let check = |variable: &str, arguments: &[&str], words: &str| {
        let (output, left) = in_another_run(variable, arguments);
        let answer = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(64),
            "{variable:?} {arguments:?}: {answer}"
        );
        assert!(
            answer.contains(words),
            "{variable:?} {arguments:?}: {answer}"
        );
        assert_eq!(left, all, "{variable:?} {arguments:?}");
    };
    for name in ["", ".", "..", "../..", "/run/x", "a/b", "../x", "a.b", "-x"] {
        check("lab", &["down", &format!("--name={name}")], "lab name");
    }
    check("../x", &["down"], "lab name");
    for command in [
        &["status"][..],
        &["up", TWO],
        &["exec", "ctl", "--", "true"],
        &["move", "n0", "s0"],
        &["cut", "s0-s1"],
    ] {
        check("../x", command, "lab name");
    }
    check(
        "../x",
        &["mpirun", "--mpi", "mpich", "--", "true"],
        "lab name",
    );
    check("../x", &["node-init", "ctl"], "lab name");
    check("../x", &["agent", "ctl", "true"], "lab name");
    // An empty variable counts as unset.
    check("", &["status"], "lab \"lab\": not up");
}
