//! A later job goes the ways that an earlier one learned: from the record over the controller's merge
//! to the ways of the later job, under both MPI libraries. Needs root and the programs of tests/mpi.
use crate::common::HEDDLE;
use crate::common::daemon::ControllerProcess;
use crate::common::epochs::{AT_ONCE, TREE, records, shared};
use crate::common::job::{BOTH, TestJob, TestJobOutput};
use crate::common::runtime::lib;
use crate::common::until::until;
use directory::job_record::JobRecord;
use directory::layout::{JOBS, LEARNED, record_file};
use directory::reading::learned;
use inventory::Bytes;
use policy::decision_table::{Collective, Way};
use policy::learned::{LearnedTiming, RecordedTiming};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The switches and hosts of the tree. No switch answers, so the published epoch stays.
const SILENT: &str = "switches: {s0: {address: '127.0.0.1:9'}, s1: {address: '127.0.0.2:9'}, s2: {address: '127.0.0.3:9'}}
snmp: {default: {version: 2c, community: public}}
hosts: [n0, n1, n2, n3, n4, n5, n6, n7]
timing: {timeout: 50ms, retries: 0}
";

/// All-to-alls with blocks of a kilobyte, which go the library's own way where nobody knows more.
fn job(mpi: &str, dir: &Path) -> TestJobOutput {
    let bench = lib().join(format!("bench-{mpi}"));
    let words = "--collective alltoall --size 1000 --iterations 5 --check";
    let flags: Vec<&str> = words.split(' ').collect();
    let output = TestJob::new(mpi, 4)
        .dir(dir)
        .env(AT_ONCE.0, AT_ONCE.1)
        .env("HEDDLE_LEARN", "on")
        .env("HEDDLE_VERBOSE", "1")
        .run(&bench, &flags);
    assert_eq!(output.out.matches("every byte checked").count(), 1);
    output
}

/// The only record there, and the way of its calls. It is removed.
fn taken(dir: &Path) -> (JobRecord, String) {
    let mut all = records(dir);
    assert_eq!(all.len(), 1);
    let record = all.remove(0);
    fs::remove_file(dir.join(JOBS).join(record_file(&record.id))).expect("removed");
    let ways: Vec<String> = record.calls.iter().map(|c| c.way.to_string()).collect();
    (record, ways.join(", "))
}

/// A record as the job would write that found this way to be faster than the library's own.
fn taught(record: &JobRecord, way: &str) -> JobRecord {
    let ways = [
        (Way::Native, 900_000),
        (way.parse().expect("a way"), 600_000),
    ];
    JobRecord {
        id: format!("{}-taught", record.id),
        learned: ways
            .map(|(way, mean_ns)| {
                RecordedTiming::from(LearnedTiming {
                    collective: Collective::Alltoall,
                    from: Bytes(512),
                    way,
                    samples: 20,
                    mean_ns,
                    error_ns: 10,
                })
            })
            .into(),
        ..record.clone()
    }
}

/// Runs a controller until it has written what the record teaches.
fn teach(dir: &Path, record: &JobRecord) {
    let inventory = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(inventory.path(), SILENT).expect("written");
    let daemon = ControllerProcess::start(inventory.path(), dir, &[]);
    let file = dir.join(JOBS).join(record_file(&record.id));
    fs::write(&file, serde_json::to_vec(record).expect("plain data")).expect("written");
    until("learned.json", || {
        learned(dir).ok().filter(|figures| !figures.is_empty())
    });
    daemon.stop();
    fs::remove_file(file).expect("removed");
}

fn doctor(dir: &Path) -> String {
    let dir = dir.to_str().expect("a plain path");
    let output = Command::new(HEDDLE)
        .args(["doctor", "--mpi", "--dir", dir])
        .output()
        .expect("heddle");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_later_job_starts_from_what_one_job_learned() {
    for mpi in BOTH {
        let folder = shared(TREE);
        let dir = folder.path();
        job(mpi, dir);
        let (record, way) = taken(dir);
        assert_eq!(way, "native", "{mpi}");
        teach(dir, &taught(&record, "aapc"));
        assert!(doctor(dir).contains("learned by 1 process set of jobs at 1 place"));
        job(mpi, dir);
        assert!(taken(dir).1.split(", ").any(|way| way == "aapc"), "{mpi}");
        fs::write(dir.join(LEARNED), "{").expect("written");
        let output = job(mpi, dir);
        assert!(
            output
                .heddle
                .iter()
                .any(|line| line.contains("learned.json: no figures that jobs learned")),
            "{:?}",
            output.heddle
        );
        assert!(!taken(dir).1.contains("aapc"), "{mpi}");
        assert!(doctor(dir).contains("jobs start from nothing"));
    }
}
