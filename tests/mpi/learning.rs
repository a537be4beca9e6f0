//! Jobs that learn which way is fastest.
use crate::common::epochs::{AT_ONCE, TREE, records, shared};
use crate::common::job::{BOTH, TestJob, TestJobOutput};
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use crate::common::until::until_or_why;
use directory::job_record::JobRecord;
use directory::layout::JOBS;
use selection::decision_table::{Collective, Way};
use selection::learned::RecordedTiming;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// On a busy machine learning takes long to be worth its cost, so these tests have it alone.
const PATIENCE: Duration = Duration::from_secs(200);

fn tries_ways(record: &JobRecord, collective: &str) -> bool {
    let of = |timing: &&RecordedTiming| timing.collective.to_string() == collective;
    record.learned.iter().filter(of).count() > 1
}

/// The record of a job that learns until it has tried several ways for each of these collectives.
/// Its links are told to be slow: there no way is hopeless for blocks of some kilobytes.
fn learning(
    mpi: &'static str,
    call: [&str; 2],
    collectives: &[&str],
) -> (JobRecord, TestJobOutput) {
    let _share = MachinePart::Whole.take();
    let dir = shared(&TREE.replace("address", "rate: 5M, address"));
    let going = tempfile::NamedTempFile::new().expect("a temporary file");
    let flags = "--check --watch --seconds 300 --while";
    let flags: Vec<&str> = flags
        .split(' ')
        .chain([going.path().to_str().expect("a plain path"), "--size"])
        .chain([call[0], "--collective", call[1]])
        .collect();
    let child = TestJob::new(mpi, 4)
        .dir(dir.path())
        .env(AT_ONCE.0, AT_ONCE.1)
        .env("HEDDLE_LEARN", "on")
        .env("HEDDLE_VERBOSE", "1")
        .command(&lib().join(format!("bench-{mpi}")), &flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("timeout, of coreutils");
    until_or_why(&format!("{call:?} on {mpi}"), PATIENCE, || {
        let records = records_so_far(dir.path());
        let tried = |collective: &&str| records.iter().any(|record| tries_ways(record, collective));
        let all = collectives.iter().all(tried);
        all.then_some(()).ok_or("only one way was tried")
    });
    drop(going);
    let output = child.wait_with_output().expect("its output");
    let said = TestJobOutput::new(&output, &format!("{call:?} on {mpi}"));
    assert!(said.out.contains("every byte checked"), "{}", said.out);
    (records(dir.path()).remove(0), said)
}

/// The records; none before the job has made the folder.
fn records_so_far(dir: &Path) -> Vec<JobRecord> {
    let there = dir.join(JOBS).exists();
    if there { records(dir) } else { Vec::new() }
}

/// The ranks forecast the sizes of calls whose lengths none of them knows alone, and learn.
#[test]
fn unequal_blocks_are_learned_too() {
    for mpi in BOTH {
        let (record, _) = learning(mpi, ["60000", "alltoallv"], &["alltoallv"]);
        let ways = record.learned.iter().map(|timing| timing.way.to_string());
        let ways: BTreeSet<String> = ways.collect();
        let both = ["aapc tcp", "native"].map(str::to_owned);
        assert_eq!(ways, BTreeSet::from(both), "{mpi}");
    }
}

/// Calls go several ways in turn; every byte arrives, and the record says what was learned.
#[test]
fn a_job_tries_ways_and_says_what_it_learned() {
    for mpi in BOTH {
        let (record, said) = learning(mpi, ["8000", "both"], &["alltoall", "allgather"]);
        let tried = |collective| {
            let of = |name: &Option<&Collective>| *name == Some(&collective);
            let timings = record.learned.iter();
            timings
                .filter(|timing| of(&timing.collective.known()))
                .map(|timing| timing.way.to_string())
                .collect::<BTreeSet<String>>()
        };
        for collective in [Collective::Alltoall, Collective::Allgather] {
            let ways = tried(collective);
            assert!(
                ways.len() > 1 && ways.contains(&Way::Native.to_string()),
                "{mpi}: {ways:?} {:?}",
                said.heddle
            );
        }
        assert!(record.learning_cost_seconds > Some(0.0), "{record:?}");
        let told = |text: &str| said.heddle.iter().any(|line| line.contains(text));
        assert!(
            told("learned: alltoall of 4096 to 8191 B: "),
            "{:?}",
            said.heddle
        );
        assert!(told("learning took "), "{:?}", said.heddle);
    }
}
