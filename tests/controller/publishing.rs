//! `heddle publish` and `heddle history`: no published epoch is ever lost.
use super::commands::{heddle, publish, stderr, topology};
use super::published_view::PublishedView;
use crate::common::HEDDLE;
use crate::common::golden::folder;
use crate::common::machine_share::MachinePart;
use crate::common::stalled_storage::{StallableFolder, StalledStorage};
use directory::layout::LOCK;
use directory::reading::{current, current_epoch, numbers};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[test]
fn publishes_once_and_tells_the_history() {
    let dir = tempfile::tempdir().unwrap();
    let shared = dir.path().join("shared");
    for (n, odd) in [(1, false), (2, true), (2, true)] {
        let file = dir.path().join("t.yaml");
        fs::write(&file, topology(6, odd)).unwrap();
        let output = publish(&file, &shared);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(current(&shared).unwrap().unwrap().number, n);
    }
    let output = heddle()
        .args(["history", "--dir"])
        .arg(&shared)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("n5 moved from s0 to s1") && text.contains("*      2"),
        "{text}"
    );
    let output = heddle()
        .args(["history", "--format", "json", "--dir"])
        .arg(&shared)
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (json[1]["number"].as_u64(), json[1]["current"].as_bool()),
        (Some(2), Some(true))
    );
}

/// The mount is there, and nobody serves it.
#[test]
fn a_mount_whose_server_is_gone_is_named() {
    let mut storage = StallableFolder::new(StalledStorage::Server);
    let (shared, made) = (storage.path().to_owned(), storage.path().join("shared"));
    storage.kill_server();
    let dir = tempfile::tempdir().unwrap();
    let (file, inventory) = (dir.path().join("t.yaml"), dir.path().join("i.yaml"));
    fs::write(&file, topology(6, false)).unwrap();
    fs::write(&inventory, "hosts: [n0, n1]\n").unwrap();
    for folder in [&shared, &made] {
        let output = publish(&file, folder);
        let text = stderr(&output);
        assert!(!output.status.success(), "{text}");
        assert!(
            text.contains("unmount the folder and mount it again"),
            "{text}"
        );
        let mut check = heddle();
        check.args("controller --check --listen 127.0.0.1:0 --inventory".split(' '));
        let output = check
            .arg(&inventory)
            .arg("--dir")
            .arg(folder)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        let directory = text
            .lines()
            .find(|line| line.contains("directory"))
            .unwrap();
        assert!(
            directory.starts_with("WRONG")
                && directory.contains("unmount the folder and mount it again"),
            "{text}"
        );
    }
}

#[test]
fn history_tells_of_a_current_epoch_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let (shared, file) = (dir.path().join("shared"), dir.path().join("t.yaml"));
    fs::write(&file, topology(6, false)).unwrap();
    assert!(publish(&file, &shared).status.success());
    let good = fs::read_to_string(shared.join("current")).unwrap();
    let zeros = format!("1 sha256:{}\n", "0".repeat(64));
    let wrapped = good.replacen('1', "0", 1);
    for (pointer, expected) in [
        ("", "current: pointer"),
        (&*wrapped, "current: pointer"),
        (&zeros, "manifest.json"),
        (&good.replacen('1', "7", 1), "epoch 7"),
    ] {
        fs::write(shared.join("current"), pointer).unwrap();
        for format in ["text", "json"] {
            let output = heddle()
                .args(["history", "--format", format, "--dir"])
                .arg(&shared)
                .output()
                .unwrap();
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(64), "{pointer:?}: {text}");
            assert!(
                text.contains(expected)
                    && text.contains("jobs that start now")
                    && text.contains("publish a new epoch"),
                "{text}"
            );
            assert!(
                String::from_utf8(output.stdout).unwrap().contains("6"),
                "what is there is reported"
            );
        }
    }
    // Publishing again mends it, under a new number.
    assert!(publish(&file, &shared).status.success());
    assert!(
        heddle()
            .args(["history", "--dir"])
            .arg(&shared)
            .output()
            .unwrap()
            .status
            .success()
    );
}

#[test]
fn killed_at_any_moment_it_loses_no_epoch_and_leaves_no_torn_file() {
    let _share = MachinePart::Whole.take(); // The moments are parts of the time that a whole run takes.
    let dir = tempfile::tempdir().unwrap();
    let shared = dir.path().join("shared");
    let files = [false, true].map(|odd| {
        let file = dir.path().join(format!("{odd}.yaml"));
        fs::write(&file, topology(48, odd)).unwrap();
        file
    });
    let began = Instant::now();
    assert!(publish(&files[0], &shared).status.success());
    let mut whole = began.elapsed();
    let (mut last, mut killed) = (1, 0);
    for round in 1..=60 {
        let moment = whole.mul_f64(round as f64 / 45.0);
        let (ended, lasted) = publish_killed_after(moment, &files[round % 2], &shared);
        killed += usize::from(!ended);
        let epoch = current_epoch(&shared)
            .expect("what current points to is whole")
            .expect("and stays");
        assert!(
            epoch.number >= last,
            "epoch {} came after {last}",
            epoch.number
        );
        if ended && epoch.number > last {
            // The first run may have met a busy machine: fractions of its time come too late.
            whole = whole.min(lasted);
        }
        last = epoch.number;
        assert_epochs_are_whole(&shared);
    }
    assert!(killed > 10, "only {killed} of 60 runs were killed in time");
    let odd = dir.path().join("last.yaml");
    fs::write(&odd, topology(47, true)).unwrap();
    assert!(publish(&odd, &shared).status.success());
    let left: Vec<_> = fs::read_dir(shared.join("epochs"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        left.iter().all(|n| !n.to_string_lossy().starts_with('.')),
        "{left:?}"
    );
}

/// Publishes and kills the program at a moment. Tells whether the program ended before, and the
/// time it ran.
fn publish_killed_after(moment: Duration, topology: &Path, shared: &Path) -> (bool, Duration) {
    let mut command = heddle();
    command
        .arg("publish")
        .arg("--topology")
        .arg(topology)
        .arg("--dir")
        .arg(shared)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    std::thread::sleep(moment);
    child.kill().unwrap();
    let lasted = began.elapsed();
    (child.wait().unwrap().code().is_some(), lasted)
}

/// Every published epoch has all its files.
fn assert_epochs_are_whole(shared: &Path) {
    for number in numbers(&shared.join("epochs")).unwrap() {
        let files = fs::read_dir(shared.join(format!("epochs/{number:08}")))
            .unwrap()
            .count();
        assert_eq!(files, 6, "epoch {number} is not whole");
    }
}

/// A small file system, unmounted when dropped.
struct TestMount<'a>(&'a Path);

impl TestMount<'_> {
    fn new<'a>(at: &'a Path, options: &str) -> TestMount<'a> {
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "heddle-test"])
            .arg(at)
            .output()
            .expect("mount runs");
        assert!(
            output.status.success(),
            "a small file system needs root: run `sudo -E make test`; mount says: {}",
            stderr(&output)
        );
        TestMount(at)
    }

    fn remount(&self, options: &str) {
        assert!(
            Command::new("mount")
                .args(["-o", &format!("remount,{options}")])
                .arg(self.0)
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for TestMount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_and_a_read_only_directory_are_reported_and_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let shared = dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let mount = TestMount::new(&shared, "size=128k");
    let (small, large) = (dir.path().join("small.yaml"), dir.path().join("large.yaml"));
    fs::write(&small, topology(4, false)).unwrap();
    fs::write(&large, topology(512, false)).unwrap();
    assert!(publish(&small, &shared).status.success());
    let before = current_epoch(&shared).unwrap().unwrap();

    let full = publish(&large, &shared);
    let output = stderr(&full);
    assert_eq!(full.status.code(), Some(64), "{output}");
    assert!(
        output.contains("No space left")
            && output.contains("free space there")
            && output.contains(".new-00000002"),
        "{output}"
    );
    assert_eq!(current_epoch(&shared).unwrap().unwrap(), before);

    fs::write(&small, topology(4, true)).unwrap();
    mount.remount("ro");
    let refused = publish(&small, &shared);
    let output = stderr(&refused);
    assert_eq!(refused.status.code(), Some(64), "{output}");
    assert!(
        output.contains("Read-only file system") && output.contains("remount it writable"),
        "{output}"
    );
    assert_eq!(current_epoch(&shared).unwrap().unwrap(), before);

    mount.remount("rw");
    assert!(publish(&small, &shared).status.success());
    assert_eq!(current(&shared).unwrap().unwrap().number, 2);
}

#[test]
fn a_directory_without_permission_is_reported_and_keeps_its_epoch() {
    // Another user must be able to read the file and run the program.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let (file, shared, program) = (
        dir.path().join("t.yaml"),
        dir.path().join("shared"),
        dir.path().join("heddle"),
    );
    fs::copy(HEDDLE, &program).unwrap();
    fs::write(&file, topology(4, false)).unwrap();
    assert!(publish(&file, &shared).status.success());
    let before = PublishedView::read(&shared);
    fs::write(&file, topology(4, true)).unwrap();
    let flags = ["publish", "--topology", file.to_str().unwrap(), "--dir"];
    let output = as_nobody(&program, &flags, &shared);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{text}");
    assert!(
        text.contains("Permission denied")
            && text.contains("give the user heddle runs as write permission"),
        "{text}"
    );
    before.assert_unchanged("without permission");
    assert_check_names_files_of_another_user(dir.path(), &program, &shared);
    assert!(
        publish(&file, &shared).status.success(),
        "its owner still may"
    );
}

/// A program that a user runs who owns nothing, with these arguments and a folder as the last.
fn as_nobody(program: &Path, arguments: &[&str], folder: &Path) -> Output {
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let output = Command::new("setpriv")
        .args(nobody)
        .arg(program)
        .args(arguments)
        .arg(folder)
        .output()
        .expect("no setpriv on this machine: apt install util-linux");
    let text = stderr(&output);
    assert!(
        !text.contains("setpriv:"),
        "to be another user needs root: run `sudo -E make test`; {text}"
    );
    output
}

/// Anybody may write into the directory now, but not into its lock and its folder of epochs.
fn assert_check_names_files_of_another_user(dir: &Path, program: &Path, shared: &Path) {
    let inventory = dir.join("good.yaml");
    fs::copy(folder("controller").join("good.yaml"), &inventory).unwrap();
    fs::set_permissions(shared, Permissions::from_mode(0o777)).unwrap();
    let flags = ["controller", "--check", "--listen", "127.0.0.1:0"];
    let files = ["--inventory", inventory.to_str().unwrap(), "--dir"];
    let checked = |place: &str| {
        let output = as_nobody(program, &[&flags[..], &files].concat(), shared);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.contains("directory"));
        assert!(
            line.is_some_and(|line| line.starts_with("WRONG") && line.contains(place))
                && output.status.code() == Some(1),
            "{place}: {text}{}",
            stderr(&output)
        );
    };
    checked("/.lock: ");
    fs::remove_file(shared.join(LOCK)).unwrap();
    checked("/epochs: ");
}
