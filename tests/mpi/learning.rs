//! Jobs that learn which way is fastest.
use crate::common::epochs::{AT_ONCE, TREE, records, shared};
use crate::common::job::{BOTH, TestJob};
use crate::common::runtime::lib;
use selection::decision_table::{Collective, Way};
use std::collections::BTreeSet;

/// Calls go several ways in turn; every byte arrives, and the record says what was learned.
#[test]
fn a_job_tries_ways_and_says_what_it_learned() {
    for mpi in BOTH {
        // On links that are told to be slow, no way is hopeless for blocks of some kilobytes.
        let dir = shared(&TREE.replace("address", "rate: 5M, address"));
        let bench = lib().join(format!("bench-{mpi}"));
        let flags = "--collective both --size 4000 --seconds 4 --check";
        let flags: Vec<&str> = flags.split(' ').collect();
        let said = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .env("HEDDLE_LEARN", "on")
            .env("HEDDLE_VERBOSE", "1")
            .run(&bench, &flags);
        assert_eq!(
            said.out.matches("every byte checked").count(),
            2,
            "{}",
            said.out
        );
        let record = &records(dir.path())[0];
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
                "{mpi}: {ways:?}"
            );
        }
        assert!(record.learning_cost_seconds > Some(0.0), "{record:?}");
        let told = |text: &str| said.heddle.iter().any(|line| line.contains(text));
        assert!(
            told("learned: alltoall of 2048 to 4095 B: "),
            "{:?}",
            said.heddle
        );
        assert!(told("learning took "), "{:?}", said.heddle);
    }
}
