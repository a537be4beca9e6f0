//! The watch over moved cables: no switch answers, a cable moves under a running job, and the
//! controller says which. Needs root.
use crate::common::HEDDLE;
use crate::common::daemon::ControllerProcess;
use crate::common::epochs::{OVER_TCP, records};
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use crate::common::until::until_so;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Two switches with four hosts each, all cables of one rate.
const PAIR: &str = "switches: [s0, s1]
hosts:
  n0: {switch: s0, rate: 20M}
  n1: {switch: s0, rate: 20M}
  n2: {switch: s0, rate: 20M}
  n3: {switch: s0, rate: 20M}
  n4: {switch: s1, rate: 20M}
  n5: {switch: s1, rate: 20M}
  n6: {switch: s1, rate: 20M}
  n7: {switch: s1, rate: 20M}
links: [{a: s0, b: s1, rate: 20M}]
";

/// The switches and hosts of the tree. No switch answers, so the published epoch stays.
const SILENT: &str = "switches: {s0: {address: '127.0.0.1:9'}, s1: {address: '127.0.0.2:9'}}
snmp: {default: {version: 2c, community: public}}
hosts: [n0, n1, n2, n3, n4, n5, n6, n7]
timing: {timeout: 50ms, retries: 0}
";

fn publish(topology: &Path, shared: &Path) {
    let published = Command::new(HEDDLE)
        .args(["publish", "--topology"])
        .arg(topology)
        .arg("--dir")
        .arg(shared)
        .status()
        .expect("heddle runs");
    assert!(published.success());
}

/// All-to-alls of 16 kB for so many seconds.
fn job(up: &RunningLab, seconds: &str) -> KilledAtEnd {
    let log = fs::File::create(up.path("job.log")).expect("a log");
    let mut command = Command::new(HEDDLE);
    command
        .args(["lab", "mpirun", "--name", up.lab.name(), "--mpi", "mpich"])
        .args(["--timeout", "90", "--"])
        .arg(lib().join("bench-mpich"))
        .args(["--size", "16384", "--seconds", seconds])
        .env(OVER_TCP.0, OVER_TCP.1)
        .env("HEDDLE_VERBOSE", "1");
    let output = command.stdout(Stdio::null()).stderr(log);
    KilledAtEnd(output.spawn().expect("heddle runs"))
}

#[test]
fn a_cable_that_moves_where_no_switch_tells_is_noticed() {
    let up = RunningLab::with(MachinePart::Half, "watched", PAIR);
    let shared = up.lab.shared_dir();
    publish(&up.lab.dir().join("topology.yaml"), &shared);
    let inventory = up.path("silent.yaml");
    fs::write(&inventory, SILENT).expect("written");
    let daemon = ControllerProcess::start(&inventory, &shared, &[]);

    let mut job = job(&up, "28");
    let runs = || records(&shared).iter().any(|record| record.epoch == 1);
    until_so("the job follows the epoch", runs);
    up.lab.move_host("n7", "s0").expect("moved");
    let moved = Instant::now();
    daemon.wait_for(r#"host \"n7\" behaves as if it were plugged into switch \"s0\""#);
    eprintln!("moved to alarm: {:.1} s", moved.elapsed().as_secs_f32());
    assert!(daemon.get("/v1/snapshot", "").contains("say jobs of "));

    // The job says so, too, when it ends: also where no controller runs.
    assert!(job.wait().expect("it ends").success());
    let said = fs::read_to_string(up.path("job.log")).expect("a log");
    assert!(said.contains("host \"n7\" behaves as if"), "{said}");

    // Published as it is now, the alarm is over.
    let now = PAIR.replace("n7: {switch: s1", "n7: {switch: s0");
    let written = fs::read_to_string(up.lab.dir().join("topology.yaml")).expect("a file");
    assert_ne!(now, PAIR);
    assert!(written.contains("n7"));
    daemon.stop();
    up.down();
}
