//! The watch over moved cables: no switch answers, a cable moves under a running job, and the
//! controller says which. Needs root.
use crate::common::HEDDLE;
use crate::common::daemon::ControllerProcess;
use crate::common::epochs::{OVER_TCP, records};
use crate::common::killed::KilledAtEnd;
use crate::common::lab::{RunningLab, row};
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use crate::common::until::until_so;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The hosts of each of two switches. With so many, the move of one slows enough pairs down to be
/// sure of it.
const EACH: usize = 6;

/// The switches and hosts of the tree. No switch answers, so the published epoch stays.
fn silent() -> String {
    let hosts: Vec<String> = (0..2 * EACH).map(|n| format!("n{n}")).collect();
    format!(
        "switches: {{s0: {{address: '127.0.0.1:9'}}, s1: {{address: '127.0.0.2:9'}}}}
snmp: {{default: {{version: 2c, community: public}}}}
hosts: [{}]
timing: {{timeout: 50ms, retries: 0}}
",
        hosts.join(", ")
    )
}

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

/// The alarm needs three windows of at least 5 s each, and more of them if ranks had to wait for
/// processors.
const PATIENCE: Duration = Duration::from_secs(60);
/// The blocks of a job keep one order for minutes. In one job of 17 so few of them met that it did
/// not tell; the next one does.
const JOBS: usize = 3;

/// All-to-alls of 16 kB while a file is there.
fn job(up: &RunningLab, going: &Path) -> KilledAtEnd {
    let log = fs::File::create(up.path("job.log")).expect("a log");
    let mut command = Command::new(HEDDLE);
    command
        .args(["lab", "mpirun", "--name", up.lab.name(), "--mpi", "mpich"])
        .args(["--timeout", "250", "--"])
        .arg(lib().join("bench-mpich"))
        .args(["--size", "16384", "--watch", "--seconds", "240", "--while"])
        .arg(going)
        .env(OVER_TCP.0, OVER_TCP.1)
        .env("HEDDLE_VERBOSE", "1");
    let output = command.stdout(Stdio::null()).stderr(log);
    KilledAtEnd(output.spawn().expect("heddle runs"))
}

#[test]
fn a_cable_that_moves_where_no_switch_tells_is_noticed() {
    let up = RunningLab::with(MachinePart::Whole, "watched", &row(&[EACH; 2], "20M"));
    let shared = up.lab.shared_dir();
    publish(&up.lab.dir().join("topology.yaml"), &shared);
    let inventory = up.path("silent.yaml");
    fs::write(&inventory, silent()).expect("written");
    let daemon = ControllerProcess::start(&inventory, &shared, &[]);

    let alarm = r#"host \"n11\" behaves as if it were plugged into switch \"s0\""#;
    let is_reported = || daemon.get("/v1/snapshot", "").contains(alarm);
    let mut moved = None;
    for _ in 0..JOBS {
        let going = tempfile::NamedTempFile::new().expect("a temporary file");
        let mut job = job(&up, going.path());
        until_so("the job follows the epoch", || {
            let mut records = records(&shared).into_iter();
            records.any(|record| record.epoch == 1 && !record.finished)
        });
        let moved = *moved.get_or_insert_with(|| {
            up.lab.move_host("n11", "s0").expect("moved");
            Instant::now()
        });
        let began = Instant::now();
        while !is_reported() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(100));
        }
        drop(going);
        assert!(job.wait().expect("it ends").success());
        if is_reported() {
            eprintln!("moved to alarm: {:.1} s", moved.elapsed().as_secs_f32());
            break;
        }
        let watched = records(&shared).into_iter().map(|record| record.watched);
        eprintln!("a job that did not tell: {:?}", watched.collect::<Vec<_>>());
    }
    let snapshot = daemon.get("/v1/snapshot", "");
    assert!(
        snapshot.contains(alarm) && snapshot.contains("say jobs of "),
        "{snapshot}"
    );

    // The job says so, too, when it ends: also where no controller runs.
    let output = fs::read_to_string(up.path("job.log")).expect("a log");
    assert!(output.contains("host \"n11\" behaves as if"), "{output}");
    daemon.stop();
    up.down();
}
