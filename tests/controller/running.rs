//! A running controller: its alarms, its journal, and its epochs in a lab.
use super::commands::{heddle, stderr};
use crate::common::daemon::ControllerProcess;
use crate::common::golden::folder;
use crate::common::killed::KilledAtEnd;
use crate::common::lab::{RunningLab, of_process};
use crate::common::until::until_or_why;
use directory::epoch::Epoch;
use directory::reading::current_epoch;
use std::fs::{self};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time limit for an epoch of the lab on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

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
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success()
            && text.contains("torn, skipped")
            && text.contains("publish plan 2"),
        "{text}"
    );
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
    let text = stderr(&second.unwrap());
    assert!(
        text.contains(&format!(
            "another heddle process (pid {}) publishes here",
            daemon.id()
        )),
        "{text}"
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

impl RunningLab {
    /// Starts a controller that keeps a journal.
    fn journaling_controller(&self, journal: &Path) -> KilledAtEnd {
        KilledAtEnd(self.start_controller(
            "controller.log",
            &["--log", "warn", "--journal", journal.to_str().unwrap()],
        ))
    }

    /// Kills the process that took a controller to the head node, which ends the controller. Waits
    /// until the controller and its lock are gone.
    fn kill(&self, mut daemon: KilledAtEnd) {
        let shared = self.lab.shared_dir().display().to_string();
        let all = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let its: Vec<PathBuf> = all
            .filter(|p| {
                let line = of_process("cmdline", p);
                line.contains("controller") && line.contains(&shared)
            })
            .collect();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        until_or_why("the killed one is gone", LIMIT, || {
            its.iter()
                .find(|process| {
                    fs::read_to_string(process.join("status"))
                        .is_ok_and(|s| !s.contains("State:\tZ"))
                })
                .map_or(Ok(()), |p| Err(p.display().to_string()))
        });
    }

    /// Waits for an epoch with every host, and with this host on that switch. Returns its number.
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
    // The restarted controller's view does not become an epoch: the next epoch describes the next
    // change.
    up.lab.move_host("n3", "s1").unwrap();
    assert_eq!(up.await_place("n3", "s1"), first + 2);
    up.kill(again);
}
