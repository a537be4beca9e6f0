//! A living cluster of the lab under the controller: agents that stop, and a spanning tree that changes its mind. Needs root.
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const HEDDLE: &str = env!("CARGO_BIN_EXE_heddle");

/// A ring, so that one link is blocked until it is needed.
const RING: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, rate: 20M}, n1: {switch: s1, rate: 20M}, n2: {switch: s2, rate: 20M}}
links: [{a: s0, b: s1, rate: 20M}, {a: s0, b: s2, rate: 20M}, {a: s1, b: s2, rate: 20M, state: blocked}]
";

/// A lab with a controller on its head node, gone when dropped.
struct Live {
    name: String,
    controller: Option<Child>,
}

impl Live {
    fn up(name: &str) -> Live {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ring.yaml");
        std::fs::write(&file, RING).unwrap();
        let mut live = Live { name: format!("live{name}{}", std::process::id()), controller: None };
        live.lab(&["up", file.to_str().unwrap()]);
        let at = format!("/run/heddle-lab/{}", live.name);
        let (inventory, shared) = (format!("{at}/inventory.yaml"), format!("{at}/shared"));
        let daemon = [HEDDLE, "controller", "--inventory", &inventory, "--dir", &shared, "--log", "warn"];
        let inside =
            Command::new(HEDDLE).args(["lab", "exec", "--name", &live.name, "ctl", "--"]).args(daemon).stderr(Stdio::null()).spawn();
        live.controller = Some(inside.unwrap());
        live
    }

    fn lab(&self, arguments: &[&str]) -> String {
        let output = Command::new(HEDDLE).args(["lab", arguments[0], "--name", &self.name]).args(&arguments[1..]).output().unwrap();
        let Output { status, stdout, stderr } = output;
        assert!(status.success(), "heddle lab {arguments:?} (it needs root: `sudo -E make test`): {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    /// Sends a signal to the SNMP agent of a switch, and to nothing else: its process namespace is its own.
    fn signal(&self, switch: &str, signal: &str) {
        self.lab(&["exec", switch, "--", "sh", "-c", &format!("kill -{signal} $(pidof snmpd)")]);
    }

    fn snapshot(&self) -> Option<Value> {
        let get =
            "import urllib.request,sys; sys.stdout.write(urllib.request.urlopen('http://127.0.0.1:7171/v1/snapshot').read().decode())";
        let output = Command::new(HEDDLE).args(["lab", "exec", "--name", &self.name, "ctl", "--", "python3", "-c", get]).output().unwrap();
        serde_json::from_slice(&output.stdout).ok()
    }

    /// Waits until the snapshot is as wanted.
    fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        let mut last = None;
        while began.elapsed() < Duration::from_secs(60) {
            last = self.snapshot().or(last);
            if let Some(snapshot) = last.as_ref().filter(|s| wanted(s)) {
                return snapshot.clone();
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no {what}: {}", last.map_or_else(|| "no answer".to_owned(), |s| s["alarms"].to_string() + &s["epochs"].to_string()));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = Command::new(HEDDLE).args(["lab", "down", "--name", &self.name]).output();
        if let Some(mut controller) = self.controller.take() {
            let _ = controller.kill();
            let _ = controller.wait();
        }
    }
}

fn epoch(snapshot: &Value) -> u64 {
    snapshot["epochs"].as_array().and_then(|all| all.last()).map_or(0, |e| e["number"].as_u64().unwrap())
}

fn alarmed(snapshot: &Value, part: &str) -> bool {
    snapshot["alarms"].as_array().unwrap().iter().any(|a| a["text"].as_str().unwrap().contains(part))
}

/// The state of the link between two switches.
fn state<'s>(snapshot: &'s Value, a: &str, b: &str) -> &'s str {
    let links = snapshot["topology"]["links"].as_array().unwrap();
    links.iter().find(|l| l["a"] == a && l["b"] == b).map_or("none", |l| l["state"].as_str().unwrap())
}

#[test]
fn agents_that_hang_or_die_are_stale_and_a_reconvergence_is_one_epoch() {
    let live = Live::up("a");
    // An epoch with less than everything may come before, where a switch answers late.
    let first = live.wait("epoch with everything", |s| {
        let hosts = s["epochs"].as_array().unwrap().last().is_some_and(|e| e["hosts"] == 3);
        let tree =
            [("s0", "s1"), ("s0", "s2"), ("s0", "n0"), ("s1", "n1"), ("s2", "n2")].iter().all(|(a, b)| state(s, a, b) == "forwarding");
        hosts && tree && state(s, "s1", "s2") == "blocked" && s["pending"].is_null() && s["alarms"].as_array().unwrap().is_empty()
    });
    let base = epoch(&first);

    // An agent that hangs: its switch is stale, its links and hosts stay.
    live.signal("s1", "STOP");
    let stale = live.wait("alarm", |s| alarmed(s, "switch \"s1\" is stale"));
    assert_eq!((epoch(&stale), state(&stale, "s0", "s1"), state(&stale, "s1", "n1")), (base, "forwarding", "forwarding"));
    live.signal("s1", "CONT");
    let back = live.wait("recovery", |s| s["alarms"].as_array().unwrap().is_empty());
    assert_eq!(epoch(&back), base);

    // The way between s0 and s1 is cut: STP finds the other one, which becomes one epoch.
    assert_eq!(state(&back, "s1", "s2"), "blocked");
    let cut = Instant::now();
    live.lab(&["cut", "s0-s1"]);
    let other = live.wait("other way", |s| epoch(s) == base + 1);
    eprintln!("cut to epoch, STP's own time included: {:.1} s", cut.elapsed().as_secs_f32());
    assert_eq!(state(&other, "s1", "s2"), "forwarding");
    let stages = &other["epochs"].as_array().unwrap().last().unwrap()["stages"];
    eprintln!("from the first sign: {stages}");

    // An agent that dies for good: what the others say goes on, and nothing is dropped.
    live.signal("s2", "KILL");
    let dead = live.wait("alarm", |s| alarmed(s, "switch \"s2\" is stale"));
    assert_eq!((epoch(&dead), state(&dead, "s1", "s2"), state(&dead, "s2", "n2")), (base + 1, "forwarding", "forwarding"));
}
