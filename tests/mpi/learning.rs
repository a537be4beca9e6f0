//! Jobs that learn which way is fastest.
use crate::common::epochs::{AT_ONCE, TREE, records, shared};
use crate::common::job::{BOTH, TestJob, TestJobOutput};
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use crate::common::until::until_or_why;
use directory::job_record::JobRecord;
use directory::layout::JOBS;
use policy::decision_table::Way;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// On a busy machine learning takes long to be worth its cost, so these tests have it alone, and their
/// ranks go before the tests that need no part of the machine.
const PATIENCE: Duration = Duration::from_secs(200);
const FIRST: [&str; 3] = ["nice", "-n", "-15"];

fn tries_ways(record: &JobRecord, collective: &str) -> bool {
    let timings = record.learned.iter();
    let ways: BTreeSet<String> = timings
        .filter(|timing| timing.collective.to_string() == collective)
        .map(|timing| timing.way.to_string())
        .collect();
    ways.len() > 1
}

/// The record of a job of calls of one collective that learns until it has tried several ways.
/// Its links are stated to be slow: there no way is hopeless for blocks of some kilobytes.
fn learning(mpi: &'static str, size: &str, collective: &str) -> (JobRecord, TestJobOutput) {
    let _share = MachinePart::Whole.take();
    let dir = shared(&TREE.replace("address", "rate: 20M, address"));
    let going = tempfile::NamedTempFile::new().expect("a temporary file");
    let watching = "--check --watch --seconds 300 --while";
    let program = lib().join(format!("bench-{mpi}"));
    let [nice, before @ ..] = FIRST;
    let flags: Vec<&str> = before
        .into_iter()
        .chain([program.to_str().expect("a plain path")])
        .chain(watching.split(' '))
        .chain([going.path().to_str().expect("a plain path"), "--size"])
        .chain([size, "--collective", collective])
        .collect();
    let child = TestJob::new(mpi, 4)
        .dir(dir.path())
        .env(AT_ONCE.0, AT_ONCE.1)
        .env("HEDDLE_LEARN", "on")
        .env("HEDDLE_VERBOSE", "1")
        .command(Path::new(nice), &flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("timeout, of coreutils");
    let job = format!("{collective} of {size} B on {mpi}");
    until_or_why(&job, PATIENCE, || {
        let some = records_so_far(dir.path())
            .iter()
            .any(|record| tries_ways(record, collective));
        some.then_some(()).ok_or("only one way was tried")
    });
    drop(going);
    let output = child.wait_with_output().expect("its output");
    let text = TestJobOutput::new(&output, &job);
    assert!(text.out.contains("every byte checked"), "{}", text.out);
    (records(dir.path()).remove(0), text)
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
        let (record, _) = learning(mpi, "60000", "alltoallv");
        let ways: BTreeSet<String> = record
            .learned
            .iter()
            .map(|timing| timing.way.to_string())
            .collect();
        let both = ["aapc tcp", "native"].map(str::to_owned);
        assert_eq!(ways, BTreeSet::from(both), "{mpi}");
    }
}

/// Calls go several ways in turn; every byte arrives, and the record says what was learned.
#[test]
fn a_job_tries_ways_and_says_what_it_learned() {
    for mpi in BOTH {
        for collective in ["alltoall", "allgather"] {
            let (record, output) = learning(mpi, "8000", collective);
            let ways: BTreeSet<String> = record
                .learned
                .iter()
                .map(|timing| timing.way.to_string())
                .collect();
            let native = Way::Native.to_string();
            assert!(ways.len() > 1 && ways.contains(&native), "{mpi}: {ways:?}");
            assert!(record.learning_cost_seconds > Some(0.0), "{record:?}");
            let is_printed = |text: &str| output.heddle.iter().any(|line| line.contains(text));
            let learned = format!("learned: {collective} of 4096 to 8191 B: ");
            assert!(is_printed(&learned), "{:?}", output.heddle);
            assert!(is_printed("learning took "), "{:?}", output.heddle);
        }
    }
}
