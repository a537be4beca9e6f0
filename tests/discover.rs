//! `heddle discover` on the lab: real bridges, snmpd, lldpd. Without root or a program the lab
//! needs, `heddle lab up` fails and says which command gives it; so do these tests.
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until_or_why};
use crate::common::{HEDDLE, text, word};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

impl RunningLab {
    /// The inventory that came up with the lab.
    fn stated(&self) -> String {
        fs::read_to_string(self.lab.inventory_path()).unwrap()
    }

    /// The network found with another inventory, and the messages about it.
    fn look(&self, inventory: &str) -> (Value, String) {
        let file = self.path("inventory.yaml");
        fs::write(&file, inventory).unwrap();
        let look = [
            HEDDLE,
            "discover",
            "--inventory",
            file.to_str().unwrap(),
            "--format",
            "json",
        ];
        let output = self.lab.exec("ctl", look).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        (
            serde_json::from_slice(&output.stdout).unwrap(),
            text(&output.stderr),
        )
    }

    /// Looks until the network is as expected: links move, ports learn and STP settles meanwhile.
    fn until(
        &self,
        inventory: &str,
        what: &str,
        fits: impl Fn(&Value, &str) -> bool,
    ) -> (Value, String) {
        until_or_why(what, LIMIT, || {
            let (found, messages) = self.look(inventory);
            if fits(&found, &messages) {
                Ok((found, messages))
            } else {
                Err(format!("{messages}{found:#}"))
            }
        })
    }
}

/// Each link as `a b state`, in order.
fn links(found: &Value) -> Vec<String> {
    found["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| format!("{} {} {}", word(l, "a"), word(l, "b"), word(l, "state")))
        .collect()
}

/// The link of a host.
fn uplink<'f>(found: &'f Value, host: &str) -> Option<&'f Value> {
    found["links"]
        .as_array()
        .unwrap()
        .iter()
        .find(|l| l["b"] == host)
}

/// True if the found network is the demo topology, with everything settled.
fn is_demo(found: &Value, messages: &str) -> bool {
    let mut expected: Vec<String> = [
        "s0 s1 forwarding",
        "s0 s3 forwarding",
        "s1 s2 forwarding",
        "s2 s3 blocked",
    ]
    .map(str::to_owned)
    .into();
    expected.extend((0..12).map(|n| format!("s{} n{n} forwarding", n / 3)));
    let mut seen = links(found);
    seen.sort();
    expected.sort();
    seen == expected && found["root_bridge"] == "s0" && messages.is_empty()
}

#[test]
fn the_demo_network_is_found_as_it_was_built() {
    let up = RunningLab::new("demo", include_str!("../lab/topologies/demo.yaml"));
    let inventory = up.stated();
    let (found, _) = up.until(
        &inventory,
        "the demo topology, s0-s1 from three sources",
        |f, m| {
            is_demo(f, m)
                && f["links"][0]["grade"] == "certain"
                && f["links"][0]["evidence"]
                    .as_array()
                    .is_some_and(|e| e.len() == 3)
        },
    );
    let link = &found["links"][0];
    assert_eq!(
        (&link["a_port"], &link["b_port"], &link["rate_bps"]),
        (&"swp1".into(), &"swp1".into(), &20_000_000.into())
    );
    assert_eq!(found["clusters"][0]["hosts"].as_array().unwrap().len(), 12);

    // The offline commands read the found network and give the same tree.
    let (stated, path) = (up.inventory("", ""), up.path("found.yaml"));
    fs::write(&path, up.discover(&stated, "topology", &[])).unwrap();
    let schedule = Command::new(HEDDLE)
        .args(["schedule", "alltoall", "--topology"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(schedule.status.success(), "{}", text(&schedule.stderr));

    let slurm = up.discover(&stated, "slurm", &[]);
    assert!(slurm.contains("SwitchName=s2 Nodes=n[6-8]\n"), "{slurm}");
    let drawing = up.discover(&stated, "text", &[]);
    assert!(
        drawing.starts_with("s0  root bridge\n")
            && drawing.contains("s2 (swp2) - s3 (swp2)  20M  blocked"),
        "{drawing}"
    );
    assert!(
        up.discover(&stated, "dot", &[])
            .contains("\"s0\":\"swp1\" -- \"s1\":\"swp1\"")
    );

    versions_and_wrong_keys(&up, &inventory);
    a_cable_moves(&up, &inventory);
}

/// SNMPv3 finds the same; a wrong community or key makes one switch stale. The message names the
/// switch, and its neighbours still report it.
fn versions_and_wrong_keys(up: &RunningLab, inventory: &str) {
    let v3 = |key| {
        inventory.replace(
            "{version: 2c, community: public}",
            &user("mon256", "sha256", key),
        )
    };
    up.until(&v3("authpass12"), "the demo topology by SNMPv3", is_demo);

    let wrong = |credential: &str| {
        let named = inventory.replace("snmp:\n", &format!("snmp:\n  wrong: {credential}\n"));
        named.replace(
            "s3: {address: 10.78.1.4}",
            "s3: {address: 10.78.1.4, snmp: wrong}",
        )
    };
    for (credential, why) in [
        (
            "{version: 2c, community: gu3ssed}".to_owned(),
            "it refuses this community",
        ),
        (
            user("mon", "sha", "authgu3ss"),
            "refuses user \"mon\": wrong auth key",
        ),
    ] {
        let inventory = wrong(&credential);
        assert_ne!(inventory, up.stated());
        let (found, messages) = up.until(&inventory, why, |f, m| {
            let is_reported = m.contains("switch \"s3\" never answered") && m.contains(why);
            // The hosts behind it are in the same line.
            is_reported
                && m.lines().count() == 1
                && m.contains("3 hosts are not seen")
                && links(f).contains(&"s0 s1 forwarding".to_owned())
                && links(f).iter().any(|l| l.starts_with("s0 s3 "))
        });
        assert!(!messages.contains("gu3ss"), "{messages}");
        let s3 = found["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|n| n["name"] == "s3")
            .unwrap();
        assert_eq!(s3["stale"], true);
    }
}

fn user(name: &str, protocol: &str, key: &str) -> String {
    format!(
        "{{version: 3, user: {name}, auth: {{protocol: {protocol}, key: {key}}}, priv: {{protocol: aes, key: privpass12}}}}"
    )
}

fn a_cable_moves(up: &RunningLab, inventory: &str) {
    up.lab.move_host("n3", "s3").unwrap();
    up.until(inventory, "n3 on s3 alone", |f, messages| {
        let there = links(f).contains(&"s3 n3 forwarding".to_owned());
        there && !links(f).iter().any(|l| l.starts_with("s1 n3")) && messages.is_empty()
    });
    up.lab.cut("s0", "s1").unwrap();
    up.until(inventory, "the blocked link taking over", |f, _| {
        links(f).contains(&"s2 s3 forwarding".to_owned())
            && !links(f).iter().any(|l| l.starts_with("s0 s1"))
    });
}

/// A station without LLDP is placed by the forwarding tables. A host that nobody saw raises an
/// alarm.
#[test]
fn a_silent_station_is_found_by_forwarding_tables() {
    let up = RunningLab::new("fdb", include_str!("../lab/topologies/two.yaml"));
    // A second station on n2's cable, with its own address and its own frames.
    up.exec(
        "n2",
        &[
            "ip",
            "link",
            "add",
            "link",
            "eth0",
            "name",
            "quiet",
            "address",
            "02:aa:00:00:00:01",
            "type",
            "macvlan",
        ],
    );
    up.exec("n2", &["ip", "link", "set", "quiet", "up"]);
    up.exec("n2", &["ip", "addr", "add", "10.99.0.1/24", "dev", "quiet"]);
    let stated = up.stated();
    let (head, _) = stated.split_once("hosts:\n").unwrap();
    let inventory = format!("{head}hosts: {{x0: {{mac: \"02:aa:00:00:00:01\"}}, x1: {{}}}}\n");
    let (found, _) = up.until(
        &inventory,
        "x0 inferred on s1, n2 a station there, x1 seen nowhere",
        |f, messages| {
            // A datagram to nobody: its ARP request is a frame from the station, and bridges need
            // no more.
            up.exec("n2", &["bash", "-c", "echo > /dev/udp/10.99.0.2/9"]);
            let is_reported = messages.contains("host \"x1\": seen nowhere")
                && messages.contains("station \"n2\" on s1 port");
            is_reported
                && uplink(f, "x0").is_some_and(|l| {
                    l["a"] == "s1" && l["state"] == "forwarding" && l["grade"] == "inferred"
                })
        },
    );
    let link = uplink(&found, "x0").unwrap();
    assert!(
        link["evidence"][0]
            .as_str()
            .unwrap()
            .starts_with("FDB: s1 learned 02:aa:00:00:00:01 on edge port"),
        "{link}"
    );
}

#[test]
fn a_bad_inventory_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (content, expected) in [
        ("switches: [", "bad.yaml:"),
        ("switches:\n  s0: {address: ten}\n", "bad.yaml:2: "),
        (
            "switches:\n  s0: {address: 10.0.0.1}\n  s0: {address: 10.0.0.2}\n",
            "bad.yaml:3: ",
        ),
        (
            "switches:\n  s0: {address: 10.0.0.1, snmp: other}\nsnmp: {}\n",
            "unknown credential \"other\"",
        ),
        (
            "switches:\n  s0: {address: 10.0.0.1}\nsnmp: \
             {default: {version: 2c, community: {file: /none/such}}}\n",
            "file /none/such",
        ),
    ] {
        let file = folder.path().join("bad.yaml");
        fs::write(&file, content).unwrap();
        let output = discover(&file);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(64), 0),
            "{content}"
        );
        assert!(
            text(&output.stderr).contains(expected),
            "{content}: {}",
            text(&output.stderr)
        );
    }
    assert_eq!(
        discover(Path::new("/none/such.yaml")).status.code(),
        Some(64)
    );
}

fn discover(inventory: &Path) -> std::process::Output {
    Command::new(HEDDLE)
        .arg("discover")
        .arg("--inventory")
        .arg(inventory)
        .output()
        .unwrap()
}

#[test]
fn no_switch_at_all_is_a_failed_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("inventory.yaml");
    let closed = std::net::UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let inventory = format!(
        "switches: {{s0: {{address: \"{closed}\"}}}}\nsnmp: \
         {{default: {{version: 2c, community: c}}}}\ntiming: {{timeout: 100ms, retries: 0}}\n"
    );
    fs::write(&file, inventory).unwrap();
    let output = Command::new(HEDDLE)
        .arg("discover")
        .arg("--inventory")
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("switch \"s0\" never answered: no answer from 127.0.0.1"),
        "{}",
        text(&output.stderr)
    );
}
