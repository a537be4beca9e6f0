//! An operator's first day on a lab: init, discover, check, controller, status, a program after an
//! epoch, and a rollback.
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until_or_why};
use crate::common::{HEDDLE, word};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

const NETWORK: &str = "switches: [s0, s1]\nhosts:\n  n[0-1]: {switch: s0}\n  n2: {switch: s1}\n\
                       links: [{a: s0, b: s1}]\n";

/// Runs heddle on the head node.
fn heddle(up: &RunningLab, arguments: &[&str]) -> Output {
    let command = [&[HEDDLE], arguments].concat();
    up.lab.exec("ctl", command).output().unwrap()
}

fn texts(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
    format!("{out}{err}")
}

/// Writes an inventory from the first switch, until LLDP has shown everything.
fn init(up: &RunningLab) -> String {
    let (file, community) = (up.path("first.yaml"), up.path("community"));
    fs::write(&community, "public\n").unwrap();
    let [file, community] = [&file, &community].map(|path| path.to_str().unwrap());
    let command = [
        "init",
        "10.78.1.1",
        "--community-file",
        community,
        "--force",
        "-o",
        file,
    ];
    until_or_why("an inventory with everything", LIMIT, || {
        let output = heddle(up, &command);
        let text = fs::read_to_string(file).unwrap_or_default();
        let whole = ["s0: ", "s1: ", "n0: ", "n1: ", "n2: "];
        if output.status.success() && whole.iter().all(|name| text.contains(name)) {
            Ok(text)
        } else {
            Err(texts(&output) + &text)
        }
    });
    let refused = heddle(
        up,
        &[
            "init",
            "10.78.1.1",
            "--community-file",
            community,
            "-o",
            file,
        ],
    );
    assert_eq!(refused.status.code(), Some(64));
    assert!(texts(&refused).contains("--force"), "{}", texts(&refused));
    let wrong_file = up.path("wrong");
    fs::write(&wrong_file, "gu3ss\n").unwrap();
    let wrong = wrong_file.to_str().unwrap();
    let silent = heddle(
        up,
        &[
            "init",
            "10.78.1.1",
            "--community-file",
            wrong,
            "--timeout",
            "100ms",
            "-o",
            "-",
        ],
    );
    assert_eq!(silent.status.code(), Some(1), "{}", texts(&silent));
    assert!(
        texts(&silent).contains("refuses this community"),
        "{}",
        texts(&silent)
    );
    file.to_owned()
}

/// Names and links of a found network, without what moves.
fn tree(json: &str) -> Vec<String> {
    let found: Value = serde_json::from_str(json).unwrap();
    let mut links: Vec<String> = found["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| format!("{} {} {}", word(l, "a"), word(l, "b"), word(l, "state")))
        .collect();
    links.sort();
    links
}

#[test]
fn from_one_switch_to_an_epoch_and_back() {
    let up = RunningLab::new("firstday", NETWORK);
    let inventory = init(&up);
    until_or_why("the same tree by both inventories", LIMIT, || {
        let stated = tree(&up.discover(&up.inventory("", ""), "json", &[]));
        let own = tree(&up.discover(inventory.as_ref(), "json", &[]));
        let whole = own.len() == 4 && own.iter().all(|l| l.ends_with("forwarding"));
        if whole && own == stated {
            Ok(())
        } else {
            Err(format!("{own:?} {stated:?}"))
        }
    });
    let (shared, seen) = (up.path("shared"), up.path("seen"));
    let shared = shared.to_str().unwrap();
    let start = ["controller", "--inventory", &inventory, "--dir", shared];
    assert_checks(&up, &start);
    let _controller = controller(&up, &start, &seen);
    await_epoch(&up, 1, "n1", "s0");
    up.lab.move_host("n1", "s1").unwrap();
    await_epoch(&up, 2, "n1", "s1");
    let history = ["history", "--dir", shared];
    let back = heddle(&up, &[&history[..], &["--rollback", "1"]].concat());
    assert!(back.status.success(), "{}", texts(&back));
    await_epoch(&up, 3, "n1", "s0");
    let status = heddle(&up, &["status"]);
    assert_eq!(status.status.code(), Some(1), "{}", texts(&status));
    assert!(
        texts(&status).starts_with("HEDDLE WARNING - epoch 3 ("),
        "{}",
        texts(&status)
    );
    heddle(&up, &[&history[..], &["--release"]].concat());
    await_epoch(&up, 4, "n1", "s1");
    up.down();
}

/// `--check` finds nothing wrong, and what is wrong.
fn assert_checks(up: &RunningLab, start: &[&str]) {
    let check = heddle(up, &[start, &["--check"]].concat());
    assert!(check.status.success(), "{}", texts(&check));
    let bad = heddle(
        up,
        &[start, &["--check", "--token-file", "/nowhere"]].concat(),
    );
    assert_eq!(bad.status.code(), Some(1));
    assert!(
        texts(&bad).contains("WRONG  viewers' token"),
        "{}",
        texts(&bad)
    );
    assert_eq!(
        heddle(up, &["status"]).status.code(),
        Some(2),
        "no controller yet"
    );
}

/// A controller that writes what it tells its program to the file `seen`.
fn controller(up: &RunningLab, start: &[&str], seen: &Path) -> KilledAtEnd {
    let script = format!("#!/bin/sh\necho \"$1 $2 $(cat)\" >> {}\n", seen.display());
    let (text, program) = (up.path("text"), up.path("program"));
    fs::write(&text, script).unwrap();
    up.exec(
        "ctl",
        &[
            "install",
            "-m755",
            text.to_str().unwrap(),
            program.to_str().unwrap(),
        ],
    );
    let hook = ["--on-epoch", program.to_str().unwrap()];
    let command = [&[HEDDLE][..], start, &hook].concat();
    KilledAtEnd(up.start("ctl", "controller.log", command))
}

/// Waits for an epoch with a host on a switch, of which the program and `heddle status` know, too.
fn await_epoch(up: &RunningLab, number: u64, host: &str, switch: &str) {
    let (shared, seen) = (up.path("shared"), up.path("seen"));
    let shared = shared.display().to_string();
    until_or_why(
        &format!("epoch {number}, {host} on {switch}"),
        LIMIT,
        || {
            let output = heddle(up, &["status", "--format", "json"]);
            let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let current = directory::reading::current_epoch(Path::new(&shared))
                .ok()
                .flatten();
            let place = current.map(|e| {
                (
                    e.number,
                    e.topology.hosts.get(host).map(|h| h.switch.clone()),
                )
            });
            let ran = fs::read_to_string(&seen).unwrap_or_default();
            let is_run = ran.contains(&format!("{number} {shared} {{\"number\":{number},"));
            if place == Some((number, Some(switch.to_owned())))
                && status["epoch"] == number
                && is_run
            {
                Ok(())
            } else {
                Err(format!("{place:?} {ran} {}", texts(&output)))
            }
        },
    );
}
