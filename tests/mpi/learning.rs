//! Jobs that learn which way is fastest.
use crate::common::epochs::{AT_ONCE, TREE, records, shared};
use crate::common::job::{BOTH, TestJob, TestJobOutput};
use crate::common::runtime::lib;
use directory::job_record::JobRecord;
use selection::decision_table::{Collective, Way};
use selection::learned::RecordedTiming;
use std::collections::BTreeSet;

/// The time of a job. On a busy machine learning takes longer to be worth its cost, so a job that
/// tried nothing is followed by a longer one.
const SECONDS: [u32; 3] = [6, 20, 60];

fn tries_ways(record: &JobRecord, collective: &str) -> bool {
    let of = |timing: &&RecordedTiming| timing.collective.to_string() == collective;
    record.learned.iter().filter(of).count() > 1
}

/// The record of a job that has tried several ways for each of these collectives.
fn learning(
    mpi: &'static str,
    call: [&str; 2],
    collectives: &[&str],
) -> (JobRecord, TestJobOutput) {
    let mut jobs = SECONDS
        .iter()
        .map(|&seconds| job(mpi, call, seconds, collectives.len()));
    let found = jobs.find(|(record, _)| {
        let tries = |collective: &&str| tries_ways(record, collective);
        collectives.iter().all(tries)
    });
    found.unwrap_or_else(|| panic!("{call:?} on {mpi}: only one way was tried"))
}

/// A job that learns on links that are told to be slow: there no way is hopeless for blocks of some
/// kilobytes.
fn job(
    mpi: &'static str,
    call: [&str; 2],
    seconds: u32,
    checked: usize,
) -> (JobRecord, TestJobOutput) {
    let dir = shared(&TREE.replace("address", "rate: 5M, address"));
    let bench = lib().join(format!("bench-{mpi}"));
    let seconds = seconds.to_string();
    let flags = "--check --size";
    let flags: Vec<&str> = flags
        .split(' ')
        .chain([call[0], "--collective", call[1], "--seconds", &seconds])
        .collect();
    let said = TestJob::new(mpi, 4)
        .dir(dir.path())
        .env(AT_ONCE.0, AT_ONCE.1)
        .env("HEDDLE_LEARN", "on")
        .env("HEDDLE_VERBOSE", "1")
        .run(&bench, &flags);
    let found = said.out.matches("every byte checked").count();
    assert_eq!(found, checked, "{}", said.out);
    (records(dir.path()).remove(0), said)
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
