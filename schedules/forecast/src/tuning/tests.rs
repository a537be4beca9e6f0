mod between;

use super::*;
use inventory::Millis;
use policy::decision_table::{Collective, Way};
use policy::measurements::comparison::TunedComparison;
use policy::measurements::{CallTiming, MeasuredPlace, WayTiming, WayTrial};
use proptest::prelude::*;
use samples::trees::topology;

const PAIR: &str = "switches: [a, b]\nhosts: {w: {switch: a, rate: 100M}, \
    x: {switch: a, rate: 100M}, y: {switch: b, rate: 100M}, z: {switch: b, rate: 100M}}\n\
    links: [{a: a, b: b, rate: 100M}]";

fn way(name: &str) -> Way {
    name.parse().unwrap()
}

fn timing(block: u64, seconds: f64, error: f64) -> CallTiming {
    CallTiming {
        block: Bytes(block),
        median_ns: (seconds * 1e9) as u64,
        error_ns: (error * 1e9) as u64,
        times: 9,
    }
}

/// A run of all-to-alls on the pair of switches. Each way has a start-up time in seconds and a
/// factor over the bound.
fn run(ways: &[(&str, f64, f64)], sizes: &[u64]) -> TuningRun {
    let tree = topology(PAIR);
    let place = MeasuredPlace::of(&tree, &["w", "x", "y", "z"]).unwrap();
    let octet = place.bounds.seconds_per_octet(Collective::Alltoall);
    let figure = |name: &str, block: u64, start: f64, gamma: f64| {
        let seconds = start + gamma * octet * block as f64;
        WayTiming {
            collective: Collective::Alltoall,
            way: way(name),
            timing: timing(block, seconds, 0.002 * seconds),
        }
    };
    TuningRun {
        at: Millis(1),
        mpi: Mpi::Mpich,
        library: "MPICH 4".into(),
        network: None,
        epoch: 3,
        pingpong: [64, 1024, 16384, 65536]
            .map(|block| timing(block, 50e-6 + block as f64 * 8.2e-8, 1e-7))
            .to_vec(),
        figures: ways
            .iter()
            .flat_map(|&(name, start, gamma)| sizes.iter().map(move |&b| (name, b, start, gamma)))
            .map(|(n, b, s, g)| figure(n, b, s, g))
            .collect(),
        early: Vec::new(),
        trials: Vec::new(),
        algorithms: Vec::new(),
        place,
    }
}

const SIZES: [u64; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// The library starts fast and contends; tokens add to the start-up time.
fn usual() -> TuningRun {
    run(
        &[
            ("native", 0.0002, 1.6),
            ("aapc", 0.006, 1.1),
            ("aapc tcp", 0.006, 1.1),
            ("aapc sender", 0.02, 1.5),
        ],
        &SIZES,
    )
}

fn table(run: TuningRun, tree: &Tree) -> DecisionTable {
    let table = super::table(&TuningRuns::default().with(run), tree);
    table.check().unwrap();
    table.for_mpi(Mpi::Mpich)
}

#[test]
fn a_median_and_its_error_come_from_the_calls_and_an_outlier_moves_neither_far() {
    let timing = CallTiming::from_runs(Bytes(8), &[1.0, 1.0, 1.02, 0.98, 9.9]).unwrap();
    assert_eq!((timing.median_ns, timing.times), (1_000_000_000, 5));
    assert!((timing.error_ns as f64 / 1e9 - 1.2533 * 1.4826 * 0.02 / 5f64.sqrt()).abs() < 1e-9);
    assert_eq!(CallTiming::from_runs(Bytes(8), &[1.0, 1.0]), None);
    assert_eq!(CallTiming::from_runs(Bytes(8), &[1.0, 1.0, f64::NAN]), None);
    assert_eq!(CallTiming::from_runs(Bytes(8), &[1.0, 1.0, 0.0]), None);
}

#[test]
fn a_way_is_taken_where_it_was_faster_and_of_equals_the_simplest() {
    let tree = topology(PAIR);
    let table = table(usual(), &tree);
    let choose = |block| table.choose(Collective::Alltoall, Bytes(block));
    assert_eq!(
        (choose(1 << 10), choose(4 << 10)),
        (Way::Native, Way::Native)
    );
    for large in [64 << 10, 200 << 10, 1 << 20, 1 << 30] {
        assert_eq!(choose(large), way("aapc"), "{large}");
    }
    assert_eq!(
        table
            .entry(Collective::Alltoall, Bytes(1 << 20))
            .unwrap()
            .grounds,
        DecisionGrounds::Measured
    );
}

#[test]
fn what_is_within_the_noise_stays_the_librarys() {
    let mut run = run(&[("native", 0.0, 1.5), ("aapc", 0.0, 1.45)], &SIZES);
    run.figures
        .iter_mut()
        .for_each(|f| f.timing.error_ns = f.timing.median_ns / 50);
    assert!(
        table(run, &topology(PAIR))
            .entries(Collective::Alltoall)
            .iter()
            .all(|entry| entry.way == Way::Native)
    );
}

#[test]
fn the_model_finds_where_ways_cross_between_measured_sizes_and_says_so() {
    let run = usual();
    let octet = run.place.bounds.seconds_per_octet(Collective::Alltoall);
    let crossing = (0.006 - 0.0002) / (0.5 * octet);
    assert!(4096.0 < crossing && crossing < 65536.0, "{crossing}");
    let table = table(run, &topology(PAIR));
    let first = table
        .entries(Collective::Alltoall)
        .iter()
        .find(|entry| entry.way != Way::Native)
        .unwrap();
    assert_eq!(
        (first.way, first.grounds),
        (way("aapc"), DecisionGrounds::Modelled),
        "{table:?}"
    );
    assert!(
        (crossing..crossing * 1.6).contains(&(first.from.0 as f64)),
        "{} at {crossing}",
        first.from.0
    );
}

#[test]
fn without_a_model_a_gap_stays_the_librarys() {
    let run = TuningRun {
        pingpong: Vec::new(),
        ..usual()
    };
    let table = table(run, &topology(PAIR));
    let first = table
        .entries(Collective::Alltoall)
        .iter()
        .find(|entry| entry.way != Way::Native)
        .unwrap();
    assert!(SIZES.contains(&first.from.0), "{table:?}");
    assert_eq!(first.grounds, DecisionGrounds::Measured);
}

#[test]
fn harmless_recabling_keeps_the_measurements_and_other_trees_get_the_models_word() {
    let grounds = |text: &str| super::grounds(&usual(), &topology(text));
    assert_eq!(
        grounds(&PAIR.replace("[a, b]", "[b, a]")),
        DecisionGrounds::Measured
    );
    assert_eq!(
        grounds(&PAIR.replace("a: a, b: b,", "a: b, b: a,")),
        DecisionGrounds::Measured
    );
    let swapped = PAIR
        .replace("x: {switch: a", "x: {switch: B")
        .replace("y: {switch: b", "y: {switch: a")
        .replace("switch: B", "switch: b");
    assert_eq!(grounds(&swapped), DecisionGrounds::Kept);
    assert_eq!(
        grounds(&PAIR.replace("b: b, rate: 100M", "b: b, rate: 10M")),
        DecisionGrounds::Stale
    );
    assert_eq!(
        grounds(&PAIR.replace(", z: {switch: b, rate: 100M}", "")),
        DecisionGrounds::Stale
    );
    assert_eq!(
        grounds("switches: [a]\nhosts: {q: {switch: a}}"),
        DecisionGrounds::Stale
    );

    // Ten times the load: the schedule pays from a tenth of the size on, where the library loses as
    // much as it lost at ten times that size before.
    let slower = topology(&PAIR.replace("b: b, rate: 100M", "b: b, rate: 10M"));
    let from = |table: DecisionTable| {
        table
            .entries(Collective::Alltoall)
            .iter()
            .find(|entry| entry.way != Way::Native)
            .map(|e| (e.from.0, e.grounds))
            .unwrap()
    };
    let ((before, _), (after, stale)) = (
        from(table(usual(), &topology(PAIR))),
        from(table(usual(), &slower)),
    );
    assert!(
        after < before && stale == DecisionGrounds::Stale,
        "{after} {before}"
    );
    let alone = table(usual(), &topology("switches: [a]\nhosts: {q: {switch: a}}"));
    assert!(
        alone
            .entries(Collective::Alltoall)
            .iter()
            .all(|entry| entry.way == Way::Native)
    );
}

#[test]
fn a_library_that_was_not_measured_keeps_the_default() {
    let tree = topology(PAIR);
    let tuned = super::table(&TuningRuns::default().with(usual()), &tree);
    assert_eq!(
        tuned
            .clone()
            .for_mpi(Mpi::OpenMpi)
            .choose(Collective::Allgather, Bytes(1 << 18)),
        way("ring tcp")
    );
    assert_eq!(
        tuned
            .for_mpi(Mpi::Mpich)
            .choose(Collective::Allgather, Bytes(1 << 18)),
        Way::Native,
        "not measured"
    );
    let both = TuningRuns::default()
        .with(TuningRun {
            mpi: Mpi::OpenMpi,
            ..usual()
        })
        .with(usual());
    super::table(&both, &tree).check().unwrap();
    assert_eq!(
        both.clone()
            .with(TuningRun {
                at: Millis(9),
                ..usual()
            })
            .runs
            .len(),
        2
    );
    assert_eq!(TuningRuns::from_json(both.to_json().as_bytes()), Ok(both));
}

#[test]
fn each_network_has_its_runs_and_those_without_a_name_are_of_the_main_one() {
    let on = |network: Option<&str>, at: u64| TuningRun {
        network: network.map(str::to_owned),
        at: Millis(at),
        ..usual()
    };
    let all = [on(None, 1), on(Some("data"), 2), on(Some("storage"), 3)]
        .into_iter()
        .fold(TuningRuns::default(), TuningRuns::with);
    assert_eq!(
        TuningRuns::from_json(all.to_json().as_bytes()),
        Ok(all.clone())
    );
    let times = |network, is_main| -> Vec<u64> {
        let own = all.on_network(network, is_main);
        own.runs.iter().map(|run| run.at.0).collect()
    };
    assert_eq!(times(Some("data"), true), [2], "the later one");
    assert_eq!(times(Some("storage"), false), [3]);
    assert_eq!(times(Some("storage"), true), [3]);
    assert_eq!(times(None, true), [1]);
    assert_eq!(times(Some("other"), false), [0; 0]);
}

#[test]
fn a_way_that_was_not_faster_again_is_not_taken_and_the_file_says_why() {
    let tree = topology(PAIR);
    let tried = |ratio: f64| TuningRun {
        trials: SIZES[3..]
            .iter()
            .map(|&block| WayTrial {
                way: way("aapc"),
                comparison: TunedComparison::from_pairs(
                    Collective::Alltoall,
                    Bytes(block),
                    &[(1.0, ratio); 5],
                )
                .unwrap(),
            })
            .collect(),
        ..usual()
    };
    let last = |ratio| {
        *table(tried(ratio), &tree)
            .entry(Collective::Alltoall, Bytes(1 << 21))
            .unwrap()
    };
    assert_eq!(
        (last(0.9).way, last(0.9).grounds),
        (way("aapc"), DecisionGrounds::Confirmed)
    );
    assert_eq!(
        (last(1.067).way, last(1.067).grounds),
        (Way::Native, DecisionGrounds::Unconfirmed)
    );
    let tuning = TuningRuns::default().with(tried(1.067));
    assert!(
        super::table(&tuning, &tree)
            .summary()
            .contains("measured, not confirmed"),
        "{}",
        super::table(&tuning, &tree).summary()
    );
    assert_eq!(
        TuningRuns::from_json(tuning.to_json().as_bytes()),
        Ok(tuning)
    );
}

#[test]
fn nonsense_is_refused() {
    let refused = |tuning: &TuningRuns| {
        TuningRuns::from_json(tuning.to_json().as_bytes())
            .unwrap_err()
            .to_string()
    };
    let twice = TuningRuns {
        runs: vec![usual(), usual()],
    };
    assert!(refused(&twice).contains("two runs under one"));
    let mut wrong = usual();
    wrong.figures[0].way = way("ring");
    assert!(refused(&TuningRuns { runs: vec![wrong] }).contains("alltoall by ring"));
    assert!(
        TuningRuns::from_json(b"{}")
            .unwrap_err()
            .to_string()
            .contains("missing field `runs`")
    );
}

proptest! {
    #[test]
    fn every_table_is_one_whatever_was_measured(
        medians in prop::collection::vec(1u64..1 << 40, 24),
        errors in prop::collection::vec(0u64..1 << 36, 24),
        sizes in prop::collection::btree_set(0u64..1 << 40, 1..6),
        pings in prop::collection::vec(1u64..1 << 40, 0..6),
        rate in 1u64..1000,
    ) {
        let mut run = usual();
        let sizes: Vec<u64> = sizes.into_iter().collect();
        run.figures = ["native", "aapc", "aapc tcp", "aapc none"]
            .into_iter()
            .flat_map(|name| sizes.iter().map(move |&block| (name, block)))
            .zip(medians.iter().zip(&errors))
            .map(|((name, block), (&median_ns, &error_ns))| WayTiming {
                collective: Collective::Alltoall,
                way: way(name),
                timing: CallTiming {
                    block: Bytes(block),
                    median_ns,
                    error_ns,
                    times: 3,
                },
            })
            .collect();
        run.pingpong = (0..)
            .zip(&pings)
            .map(|(i, &ns)| CallTiming {
                block: Bytes(64 << i),
                median_ns: ns,
                error_ns: 1,
                times: 3,
            })
            .collect();
        let tree = topology(&PAIR.replace("b: b, rate: 100M", &format!("b: b, rate: {rate}M")));
        table(run, &tree);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = TuningRuns::from_json(&bytes);
    }
}
