//! `heddle controller`, `publish` and `history` from the outside: clear refusals, and nothing
//! published is ever lost.
use crate::common::HEDDLE;
use crate::common::alone::alone;
use crate::common::daemon::ControllerProcess;
use crate::common::golden::{check, folder, transcript};
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::until::until_or_why;
use directory::epoch::Epoch;
use directory::reading::{current, current_epoch, numbers};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// An epoch of the lab may take as long on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

fn heddle() -> Command {
    Command::new(HEDDLE)
}

#[test]
fn transcripts() {
    let folder = folder("controller");
    for (golden, command) in [
        ("replay", "controller --replay move.journal"),
        ("bad-journal", "controller --replay foreign.journal"),
        (
            "bad-inventory",
            "controller --inventory misspelt.yaml --dir nowhere",
        ),
        (
            "bad-mac-twice",
            "controller --inventory twice.yaml --dir nowhere",
        ),
        (
            "bad-listen",
            "controller --inventory good.yaml --dir nowhere --listen 0.0.0.0:0",
        ),
        (
            "bad-token",
            "controller --inventory good.yaml --dir nowhere --listen 0.0.0.0:0 --token-file \
             short.token",
        ),
        (
            "bad-directory",
            "controller --inventory good.yaml --dir no/where --listen 127.0.0.1:0",
        ),
        (
            "bad-loop",
            "publish --topology loop.yaml --dir nowhere/at/all",
        ),
        ("bad-history", "history --dir nowhere"),
    ] {
        let args: Vec<&str> = command.split(' ').collect();
        check(
            &folder.join(golden).with_extension("txt"),
            &transcript(&folder, &args),
        );
        assert!(
            !folder.join("nowhere").exists(),
            "{golden}: made a directory all the same"
        );
    }
}

#[test]
fn a_torn_last_line_of_a_journal_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let whole = fs::read(folder("controller").join("move.journal")).unwrap();
    let torn = dir.path().join("torn.journal");
    fs::write(&torn, &whole[..whole.len() - 20]).unwrap();
    let output = heddle()
        .args(["controller", "--replay"])
        .arg(&torn)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success()
            && said.contains("torn, skipped")
            && said.contains("publish plan 2"),
        "{said}"
    );
}

/// A topology of `hosts` hosts on two switches; `odd` cables the last one elsewhere.
fn topology(hosts: usize, odd: bool) -> String {
    let switch = |h: usize| {
        if h + 1 == hosts {
            usize::from(odd)
        } else {
            h % 2
        }
    };
    let hosts: String = (0..hosts)
        .map(|h| format!("  n{h}: {{switch: s{}}}\n", switch(h)))
        .collect();
    format!("switches: [s0, s1]\nhosts:\n{hosts}links: [{{a: s0, b: s1}}]\n")
}

fn publish(file: &Path, dir: &Path) -> Output {
    heddle()
        .arg("publish")
        .arg("--topology")
        .arg(file)
        .arg("--dir")
        .arg(dir)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

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

#[test]
fn history_tells_of_a_current_epoch_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let (shared, file) = (dir.path().join("shared"), dir.path().join("t.yaml"));
    fs::write(&file, topology(6, false)).unwrap();
    assert!(publish(&file, &shared).status.success());
    let good = fs::read_to_string(shared.join("current")).unwrap();
    let zeros = format!("1 sha256:{}\n", "0".repeat(64));
    let wrapped = good.replacen('1', "0", 1);
    for (pointer, told) in [
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
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(64), "{pointer:?}: {said}");
            assert!(
                said.contains(told)
                    && said.contains("jobs that start now")
                    && said.contains("publish a new epoch"),
                "{said}"
            );
            assert!(
                String::from_utf8(output.stdout).unwrap().contains("6"),
                "what is there is told"
            );
        }
    }
    // Publishing again mends it, under a number of its own.
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
    let _alone = alone(); // The moments are parts of the time that a whole run takes.
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
        let mut child = heddle();
        child
            .arg("publish")
            .arg("--topology")
            .arg(&files[round % 2])
            .arg("--dir")
            .arg(&shared);
        let began = Instant::now();
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole.mul_f64(round as f64 / 45.0));
        child.kill().unwrap();
        let lasted = began.elapsed();
        let ended = child.wait().unwrap().code().is_some();
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
            // The first may have met a busy machine, and moments by its time come too late.
            whole = whole.min(lasted);
        }
        last = epoch.number;
        for number in numbers(&shared.join("epochs")).unwrap() {
            let files = fs::read_dir(shared.join(format!("epochs/{number:08}")))
                .unwrap()
                .count();
            assert_eq!(files, 6, "epoch {number} is not whole");
        }
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

/// A file system of its own, gone when dropped.
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
fn a_full_disk_and_a_read_only_directory_are_told_and_lose_nothing() {
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
    let said = stderr(&full);
    assert_eq!(full.status.code(), Some(64), "{said}");
    assert!(
        said.contains("No space left")
            && said.contains("free space there")
            && said.contains(".new-00000002"),
        "{said}"
    );
    assert_eq!(current_epoch(&shared).unwrap().unwrap(), before);

    fs::write(&small, topology(4, true)).unwrap();
    mount.remount("ro");
    let refused = publish(&small, &shared);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(64), "{said}");
    assert!(
        said.contains("Read-only file system") && said.contains("remount it writable"),
        "{said}"
    );
    assert_eq!(current_epoch(&shared).unwrap().unwrap(), before);

    mount.remount("rw");
    assert!(publish(&small, &shared).status.success());
    assert_eq!(current(&shared).unwrap().unwrap().number, 2);
}

#[test]
fn a_directory_without_permission_is_told_and_keeps_its_epoch() {
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
    let before = PublishedView::of(&shared);
    fs::write(&file, topology(4, true)).unwrap();
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let mut command = Command::new("setpriv");
    command
        .args(nobody)
        .arg(&program)
        .arg("publish")
        .arg("--topology")
        .arg(&file)
        .arg("--dir")
        .arg(&shared);
    let output = command
        .output()
        .expect("no setpriv on this machine: apt install util-linux");
    let said = stderr(&output);
    assert!(
        !said.contains("setpriv:"),
        "to be another user needs root: run `sudo -E make test`; {said}"
    );
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(
        said.contains("Permission denied")
            && said.contains("give the user heddle runs as write permission"),
        "{said}"
    );
    before.assert_unchanged("without permission");
    assert!(
        publish(&file, &shared).status.success(),
        "its owner still may"
    );
}

/// What a shared directory's readers see.
#[derive(Debug)]
struct PublishedView {
    shared: PathBuf,
    pointer: String,
    epoch: Epoch,
}

impl PublishedView {
    fn of(shared: &Path) -> PublishedView {
        let pointer = fs::read_to_string(shared.join("current")).unwrap();
        PublishedView {
            shared: shared.to_owned(),
            pointer,
            epoch: current_epoch(shared).unwrap().unwrap(),
        }
    }

    fn assert_unchanged(&self, after: &str) {
        let now = PublishedView::of(&self.shared);
        assert!(
            (&now.pointer, &now.epoch) == (&self.pointer, &self.epoch),
            "{after}: {now:?}"
        );
        assert_eq!(
            numbers(&self.shared.join("epochs")).unwrap(),
            [self.epoch.number],
            "{after}"
        );
    }
}

/// Topology files that cannot be used: what is wrong, the file, what is said behind the file's
/// name.
const BAD_TOPOLOGIES: &[(&str, &str, &str)] = &[
    (
        "malformed",
        "switches: [s0]\nhosts:\n  n0: {switch: s0\nlinks: []\n",
        ":4: did not find expected ',' or '}'",
    ),
    (
        "misspelt",
        "switches: [s0]\nhosts:\n  n0: {swich: s0}\n",
        ":3: hosts.n0: unknown field `swich`, expected one of `switch`",
    ),
    (
        "host twice",
        "switches: [s0]\nhosts:\n  n0: {switch: s0}\n  n0: {switch: s0}\n",
        ":4: hosts: \"n0\" declared twice",
    ),
    (
        "one name twice",
        "switches: [s0]\nhosts: {s0: {switch: s0}}\n",
        ": name \"s0\" declared twice",
    ),
    (
        "unknown switch",
        "switches: [s0]\nhosts: {n0: {switch: s7}}\n",
        ": host \"n0\": unknown switch \"s7\"; known switches: s0",
    ),
    (
        "loop",
        "switches: [s0, s1]\nhosts: {n0: {switch: s0}, n1: {switch: s1}}\nlinks: [{a: s0, b: s1}, \
         {a: s1, b: s0}]\n",
        ": link s1-s0 closes a loop among forwarding links",
    ),
];

/// Inventories that cannot be used, in the same way.
const BAD_INVENTORIES: &[(&str, &str, &str)] = &[
    (
        "malformed",
        "switches:\n  s0: {address: 10.0.0.1}\n hosts: [n0]\n",
        ":3: did not find expected key",
    ),
    (
        "misspelt",
        "switches:\n  s0: {adress: 10.0.0.1}\n",
        ":2: switches.s0: unknown field `adress`, expected `address`",
    ),
    (
        "switch twice",
        "switches:\n  s0: {address: 10.0.0.1}\n  s0: {address: 10.0.0.2}\n",
        ":3: switches: \"s0\" declared twice",
    ),
    (
        "one name twice",
        "switches: {s0: {address: 10.0.0.1}}\nsnmp: \
         {default: {version: 2c, community: public}}\nhosts:\n  s0: {}\n",
        ":4: host \"s0\": a switch has this name",
    ),
    (
        "unknown credential",
        "switches:\n  s0: {address: 10.0.0.1, snmp: none}\n",
        ":2: switch \"s0\": unknown credential \"none\"",
    ),
    (
        "one MAC address, two hosts",
        "switches: {s0: {address: 10.0.0.1}}\nsnmp: {default: {version: 2c, community: public}}\n\
         hosts:\n  n0: {mac: \"02:00:00:00:00:01\"}\n  n1: {mac: \"02:00:00:00:00:01\"}\n",
        ":5: host \"n1\": MAC address 02:00:00:00:00:01 is claimed by host \"n0\" already",
    ),
];

#[test]
fn bad_files_are_told_with_their_place_and_what_is_published_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (file, shared) = (dir.path().join("file.yaml"), dir.path().join("shared"));
    fs::write(&file, topology(4, false)).unwrap();
    assert!(publish(&file, &shared).status.success());
    let before = PublishedView::of(&shared);
    let place = file.display();
    for (what, text, message) in BAD_TOPOLOGIES {
        fs::write(&file, text).unwrap();
        let output = publish(&file, &shared);
        let said = stderr(&output);
        assert!(
            said.starts_with(&format!("heddle: {place}{message}"))
                && output.status.code() == Some(64),
            "{what}: {said}"
        );
        before.assert_unchanged(what);
    }
    for (what, text, message) in BAD_INVENTORIES {
        fs::write(&file, text).unwrap();
        let output = heddle()
            .args(["controller", "--listen", "127.0.0.1:0", "--inventory"])
            .arg(&file)
            .arg("--dir")
            .arg(&shared)
            .output();
        let (said, code) = output.map(|o| (stderr(&o), o.status.code())).unwrap();
        assert!(
            said.starts_with(&format!("heddle: {place}{message}")) && code == Some(64),
            "{what}: {said}"
        );
        before.assert_unchanged(what);
    }
    // The published switches and hosts; the switches are silent, so whatever moves the epoch is a
    // bad file.
    let good = fs::read_to_string(folder("controller").join("good.yaml")).unwrap();
    let good = good
        .replace(":9\"}", ":9\"}, s1: {address: \"127.0.0.1:10\"}")
        .replace("[n0]", "[n0, n1, n2, n3]");
    fs::write(&file, &good).unwrap();
    let daemon = ControllerProcess::start(&file, &shared, &[]);
    for (what, text, message) in BAD_INVENTORIES {
        fs::write(&file, text).unwrap();
        daemon.signal("-HUP");
        let alarm = serde_json::to_string(&format!("{place}{message}")).unwrap();
        daemon.wait_for(alarm.trim_matches('"'));
        daemon.wait_for("the inventory read before stays in force");
        before.assert_unchanged(what);
    }
    fs::write(&file, &good).unwrap();
    daemon.signal("-HUP");
    daemon.wait_for("inventory read again: 2 switches, 4 hosts");
    daemon.stop();
    before.assert_unchanged("all of them");
}

#[test]
fn the_daemon_names_a_silent_switch_keeps_a_bad_inventory_out_and_stops_on_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let (inventory, shared) = (dir.path().join("inventory.yaml"), dir.path().join("shared"));
    let good = fs::read_to_string(folder("controller").join("good.yaml")).unwrap();
    fs::write(&inventory, &good).unwrap();
    let daemon = ControllerProcess::start(&inventory, &shared, &[]);
    daemon.wait_for("never answered");

    let second = heddle()
        .args(["controller", "--listen", "127.0.0.1:0", "--inventory"])
        .arg(&inventory)
        .arg("--dir")
        .arg(&shared)
        .output();
    let said = stderr(&second.unwrap());
    assert!(
        said.contains(&format!(
            "another heddle process (pid {}) publishes here",
            daemon.id()
        )),
        "{said}"
    );

    fs::write(&inventory, good.replace("switches", "swtches")).unwrap();
    daemon.signal("-HUP");
    daemon.wait_for("the inventory read before stays in force");
    fs::write(&inventory, good.replace("s0:", "s7:")).unwrap();
    daemon.signal("-HUP");
    daemon.wait_for("switch \\\"s7\\\" never answered");
    let answer = daemon.get("/v1/snapshot", "");
    let snapshot: serde_json::Value =
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert!(
        !snapshot["alarms"].to_string().contains("stays in force"),
        "{}",
        snapshot["alarms"]
    );

    let log = daemon.stop();
    assert!(
        log.contains("never answered") && !log.contains("async_snmp"),
        "{log}"
    );
}

#[test]
fn a_token_guards_the_api() {
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, "a-secret-of-enough-letters\n").unwrap();
    let daemon = ControllerProcess::start(
        &folder("controller").join("good.yaml"),
        &dir.path().join("shared"),
        &["--token-file", token.to_str().unwrap()],
    );
    for path in [
        "/v1/snapshot",
        "/v1/events",
        "/v1/topology",
        "/v1/epochs",
        "/metrics",
    ] {
        assert!(daemon.get(path, "").starts_with("HTTP/1.1 401"), "{path}");
        assert!(
            daemon
                .get(path, "Authorization: Bearer a-secret-of-enough-letterz\r\n")
                .starts_with("HTTP/1.1 401"),
            "{path}"
        );
    }
    let answer = daemon.get(
        "/metrics",
        "Authorization: Bearer a-secret-of-enough-letters\r\n",
    );
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("heddle_switch_up{switch=\"s0\""),
        "{answer}"
    );
}

impl RunningLab {
    /// Starts a controller that keeps a journal.
    fn journaling_controller(&self, journal: &Path) -> KilledAtEnd {
        KilledAtEnd(self.start_controller(
            "controller.log",
            &["--log", "warn", "--journal", journal.to_str().unwrap()],
        ))
    }

    /// Kills whoever took a controller to the head node, with whom it dies; waits until it is gone
    /// and its lock with it.
    fn kill(&self, mut daemon: KilledAtEnd) {
        let shared = self.lab.shared_dir().display().to_string();
        let line = |process: &Path| {
            String::from_utf8_lossy(&fs::read(process.join("cmdline")).unwrap_or_default())
                .into_owned()
        };
        let all = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let its: Vec<PathBuf> = all
            .filter(|p| line(p).contains("controller") && line(p).contains(&shared))
            .collect();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        let lives = |process: &&PathBuf| {
            fs::read_to_string(process.join("status")).is_ok_and(|s| !s.contains("State:\tZ"))
        };
        until_or_why("the killed one is gone", LIMIT, || {
            its.iter()
                .find(lives)
                .map_or(Ok(()), |p| Err(p.display().to_string()))
        });
    }

    /// Waits for an epoch that has every host, and this one on that switch; gives its number.
    fn await_place(&self, host: &str, switch: &str) -> u64 {
        let shared = self.lab.shared_dir();
        until_or_why(
            &format!("{host} on {switch}"),
            LIMIT,
            || match current_epoch(&shared) {
                Ok(Some(Epoch {
                    number, topology, ..
                })) if topology.hosts.len() == self.file.hosts.len()
                    && topology.hosts[host].switch == switch =>
                {
                    Ok(number)
                }
                other => Err(format!("{other:?}")),
            },
        )
    }
}

#[test]
fn a_moved_cable_becomes_an_epoch_and_a_restart_none() {
    let up = RunningLab::new(
        "controller",
        &fs::read_to_string(folder("controller").join("two.yaml")).unwrap(),
    );
    let daemon = up.journaling_controller(&up.path("journal"));
    let first = up.await_place("n3", "s1");
    up.lab.move_host("n3", "s0").unwrap();
    assert_eq!(up.await_place("n3", "s0"), first + 1);
    up.kill(daemon);

    let journal = up.path("again.journal");
    let mut again = up.journaling_controller(&journal);
    until_or_why("both switches are looked at again", LIMIT, || {
        assert!(
            again.try_wait().unwrap().is_none(),
            "the killed one's lock is free again"
        );
        let text = fs::read_to_string(&journal).unwrap_or_default();
        let read = |switch: &str, table: &str| {
            text.lines()
                .any(|l| l.contains(&format!("\"reporter\":\"{switch}\"")) && l.contains(table))
        };
        let all = ["s0", "s1"].iter().all(|s| {
            ["bridge", "lldp", "fdb"]
                .iter()
                .all(|table| read(s, &format!("\"{table}\":")))
        });
        if all { Ok(()) } else { Err(text) }
    });
    // What it saw is no epoch: the next one tells of the next change.
    up.lab.move_host("n3", "s1").unwrap();
    assert_eq!(up.await_place("n3", "s1"), first + 2);
    up.kill(again);
}
