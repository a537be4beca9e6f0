//! Bad files, arguments and tokens are refused, and the message names the place of the error.
use super::commands::{heddle, publish, stderr, topology};
use super::published_view::PublishedView;
use crate::common::daemon::ControllerProcess;
use crate::common::golden::{check_commands, folder};
use std::fs::{self};

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
        check_commands("controller", "txt", [(golden, command)]);
        assert!(
            !folder.join("nowhere").exists(),
            "{golden}: made a directory all the same"
        );
    }
}

/// Topology files that cannot be used: the error, the file, and the message after the file's name.
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
        ":2: name \"s0\" declared twice",
    ),
    (
        "unknown switch",
        "switches: [s0]\nhosts: {n0: {switch: s7}}\n",
        ":2: host \"n0\": unknown switch \"s7\"; known switches: s0",
    ),
    (
        "loop",
        "switches: [s0, s1]\nhosts: {n0: {switch: s0}, n1: {switch: s1}}\nlinks: [{a: s0, b: s1}, \
         {a: s1, b: s0}]\n",
        ":3: two links join s0 and s1, and both forward",
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
        ":2: switches.s0: unknown field `adress`, expected one of `address`",
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
fn bad_files_are_reported_with_their_place_and_what_is_published_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (file, shared) = (dir.path().join("file.yaml"), dir.path().join("shared"));
    fs::write(&file, topology(4, false)).unwrap();
    assert!(publish(&file, &shared).status.success());
    let before = PublishedView::read(&shared);
    let place = file.display();
    for (what, text, message) in BAD_TOPOLOGIES {
        fs::write(&file, text).unwrap();
        let output = publish(&file, &shared);
        let answer = stderr(&output);
        assert!(
            answer.starts_with(&format!("heddle: {place}{message}"))
                && output.status.code() == Some(64),
            "{what}: {answer}"
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
        let (answer, code) = output.map(|o| (stderr(&o), o.status.code())).unwrap();
        assert!(
            answer.starts_with(&format!("heddle: {place}{message}")) && code == Some(64),
            "{what}: {answer}"
        );
        before.assert_unchanged(what);
    }
    // The published switches and hosts; the switches are silent, so only a bad file can change the
    // epoch.
    let good = fs::read_to_string(folder("controller").join("good.yaml"))
        .unwrap()
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
fn a_token_guards_the_api() {
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, "a-secret-of-enough-letters\n").unwrap();
    let daemon = ControllerProcess::start(
        &folder("controller").join("good.yaml"),
        &dir.path().join("shared"),
        &["--token-file", token.to_str().unwrap()],
    );
    for path in "/v1/snapshot /v1/events /v1/topology /v1/epochs /metrics".split(' ') {
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
