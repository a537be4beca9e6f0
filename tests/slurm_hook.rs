//! The script that tells Slurm of a new topology, with stand-ins for heddle and scontrol.
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn program(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// A folder with the script, a heddle that prints the file `tree`, and a scontrol that notes its runs
/// and fails while there is a file `broken`.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let script = fs::read_to_string("share/slurm/heddle-on-epoch").unwrap();
    program(dir.path(), "hook", &script.replace("@BIN@", place));
    program(
        dir.path(),
        "heddle",
        &format!("#!/bin/sh\ncat {place}/tree\n"),
    );
    let scontrol = format!("#!/bin/sh\necho $1 >>{place}/told\n[ ! -e {place}/broken ]\n");
    program(dir.path(), "scontrol", &scontrol);
    dir
}

/// Runs the script; whether it ended well, and how often scontrol has run.
fn run(dir: &Path) -> (bool, usize) {
    let path = std::env::var("PATH").unwrap();
    let status = Command::new(dir.join("hook"))
        .args(["7", "/srv/heddle"])
        .env("PATH", format!("{}:{path}", dir.display()))
        .env("SLURM_TOPOLOGY", dir.join("topology.conf"))
        .status()
        .unwrap();
    let message = fs::read_to_string(dir.join("told")).unwrap_or_default();
    assert!(
        message.lines().all(|line| line == "reconfigure"),
        "{message}"
    );
    (status.success(), message.lines().count())
}

#[test]
fn slurm_is_notified_of_each_other_topology_until_it_has_read_it() {
    let folder = folder();
    let dir = folder.path();
    fs::write(dir.join("tree"), "SwitchName=s0\n").unwrap();
    assert_eq!(run(dir), (true, 1));
    assert_eq!(run(dir), (true, 1), "nothing new");
    fs::write(dir.join("tree"), "SwitchName=s1\n").unwrap();
    fs::write(dir.join("broken"), "").unwrap();
    assert_eq!(run(dir), (false, 2));
    assert_eq!(run(dir), (false, 3), "not read yet");
    fs::remove_file(dir.join("broken")).unwrap();
    assert_eq!(run(dir), (true, 4));
    assert_eq!(run(dir), (true, 4), "nothing new");
    let written = fs::read_to_string(dir.join("topology.conf")).unwrap();
    assert_eq!(written, "SwitchName=s1\n");
    for rest in ["topology.conf.heddle", "topology.conf.pending"] {
        assert!(!dir.join(rest).exists(), "{rest}");
    }
}
