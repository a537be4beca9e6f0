//! A changing cluster of the lab under the controller: SNMP agents stop, and the spanning tree
//! changes. Needs root.
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until_or_why};
use lab::plan::CONTROL;
use serde_json::Value;
use std::net::Ipv4Addr;
use std::time::Instant;

/// The default address of a controller.
const API: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 7171);

/// A ring, so that one link is blocked until it is needed.
const RING: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, rate: 20M}, n1: {switch: s1, rate: 20M}, n2: {switch: s2, rate: 20M}}
links: [{a: s0, b: s1, rate: 20M}, {a: s0, b: s2, rate: 20M}, {a: s1, b: s2, rate: 20M, state: blocked}]
";

/// A lab with a controller on its head node.
struct LiveCluster {
    _controller: KilledAtEnd,
    up: RunningLab,
}

impl LiveCluster {
    fn up(name: &str) -> LiveCluster {
        let up = RunningLab::new(name, RING);
        LiveCluster {
            _controller: KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"])),
            up,
        }
    }

    /// Sends a signal to the SNMP agent of a switch and to nothing else, because each switch has
    /// its own process namespace.
    fn signal(&self, switch: &str, signal: &str) {
        self.up.exec(
            switch,
            &["sh", "-c", &format!("kill -{signal} $(pidof snmpd)")],
        );
    }

    fn snapshot(&self) -> Option<Value> {
        let answer = self
            .up
            .ask(CONTROL, API.into(), "GET /v1/snapshot", "", "")?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// Waits until the snapshot fulfils the condition.
    fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until_or_why(what, LIMIT, || {
            let snapshot = self.snapshot().ok_or("no answer")?;
            if wanted(&snapshot) {
                Ok(snapshot)
            } else {
                Err(format!("{} {}", snapshot["alarms"], snapshot["epochs"]))
            }
        })
    }
}

fn epoch(snapshot: &Value) -> u64 {
    snapshot["epochs"]
        .as_array()
        .and_then(|all| all.last())
        .map_or(0, |e| e["number"].as_u64().unwrap())
}

fn alarmed(snapshot: &Value, part: &str) -> bool {
    snapshot["alarms"]
        .as_array()
        .unwrap()
        .iter()
        .any(|a| a["text"].as_str().unwrap().contains(part))
}

/// The state of the link between two switches.
fn state<'s>(snapshot: &'s Value, a: &str, b: &str) -> &'s str {
    let links = snapshot["topology"]["links"].as_array().unwrap();
    links
        .iter()
        .find(|l| l["a"] == a && l["b"] == b)
        .map_or("none", |l| l["state"].as_str().unwrap())
}

/// True if the current epoch has the whole ring, and nothing is pending or wrong.
fn is_everything(s: &Value) -> bool {
    let hosts = s["epochs"]
        .as_array()
        .unwrap()
        .last()
        .is_some_and(|e| e["hosts"] == 3);
    let tree = [
        ("s0", "s1"),
        ("s0", "s2"),
        ("s0", "n0"),
        ("s1", "n1"),
        ("s2", "n2"),
    ]
    .iter()
    .all(|(a, b)| state(s, a, b) == "forwarding");
    hosts
        && tree
        && state(s, "s1", "s2") == "blocked"
        && s["pending"].is_null()
        && s["alarms"].as_array().unwrap().is_empty()
}

#[test]
fn agents_that_hang_or_die_are_stale_and_a_reconvergence_is_one_epoch() {
    let live = LiveCluster::up("live");
    // An incomplete epoch may come first if a switch answers late.
    let base = epoch(&live.wait("epoch with everything", is_everything));

    // An agent that hangs: its switch is stale, its links and hosts stay.
    live.signal("s1", "STOP");
    let stale = live.wait("alarm", |s| alarmed(s, "switch \"s1\" is stale"));
    assert_eq!(
        (
            epoch(&stale),
            state(&stale, "s0", "s1"),
            state(&stale, "s1", "n1")
        ),
        (base, "forwarding", "forwarding")
    );
    live.signal("s1", "CONT");
    let back = live.wait("recovery", |s| s["alarms"].as_array().unwrap().is_empty());
    assert_eq!(epoch(&back), base);

    // The cable between s0 and s1 is cut. STP finds the other path, and the change becomes one
    // epoch.
    assert_eq!(state(&back, "s1", "s2"), "blocked");
    let cut = Instant::now();
    live.up.lab.cut("s0", "s1").unwrap();
    let other = live.wait("other way", |s| epoch(s) == base + 1);
    eprintln!(
        "cut to epoch, STP's own time included: {:.1} s",
        cut.elapsed().as_secs_f32()
    );
    assert_eq!(state(&other, "s1", "s2"), "forwarding");
    let stages = &other["epochs"].as_array().unwrap().last().unwrap()["stages"];
    eprintln!("from the first sign: {stages}");

    // An agent that dies for good: the other switches' answers still count, and nothing is dropped.
    live.signal("s2", "KILL");
    let dead = live.wait("alarm", |s| alarmed(s, "switch \"s2\" is stale"));
    assert_eq!(
        (
            epoch(&dead),
            state(&dead, "s1", "s2"),
            state(&dead, "s2", "n2")
        ),
        (base + 1, "forwarding", "forwarding")
    );
}
