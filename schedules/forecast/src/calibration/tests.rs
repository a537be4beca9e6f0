use super::*;
use inventory::{Millis, TopologyFile};
use policy::decision_table::DataCarrier;
use policy::learned::figures::JobLesson;
use policy::measurements::{CallTiming, MeasuredPlace, WayTiming};
use samples::trees::star;

/// The share of these predictions that are off by a tenth at most.
fn share_within_a_tenth(predicted: impl Iterator<Item = (f64, f64)>) -> f64 {
    let off: Vec<f64> = predicted
        .map(|(predicted, measured)| (predicted / measured - 1.0).abs())
        .collect();
    off.iter().filter(|off| **off <= 0.1).count() as f64 / off.len() as f64
}

#[test]
fn every_shipped_cell_is_read_and_belongs_to_a_routine() {
    let lines = include_str!("measured.jsonl").lines().count();
    assert_eq!(shipped_cells().len(), lines);
    assert_eq!(CallCalibration::shipped().calls().len(), lines);
}

#[test]
fn measured_calls_are_predicted_also_from_other_networks_alone() {
    let shipped = CallCalibration::shipped();
    let cells = shipped_cells().iter().filter(|cell| cell.is_goal());
    let calls: Vec<MeasuredCall> = cells.filter_map(BenchCell::call).collect();
    let share = |leaves_network_out: bool| {
        share_within_a_tenth(calls.iter().filter_map(|call| {
            let without = leaves_network_out.then_some(&*call.network);
            let seconds = shipped.seconds(call.collective, call.routine, &call.profile, without);
            Some((seconds?, call.seconds))
        }))
    };
    let (fitted, elsewhere) = (share(false), share(true));
    assert!(fitted >= 0.95 && elsewhere >= 0.88, "{fitted} {elsewhere}");
}

#[test]
fn twenty_four_hosts_on_a_switch_lose_to_contention_and_the_schedule_does_not() {
    let shape = BenchShape {
        name: "switch".to_owned(),
        each: 24,
        slower: 1.0,
    };
    let tree = shape.tree().unwrap();
    for (mpi, own) in [(Mpi::OpenMpi, 1.209), (Mpi::Mpich, 1.029)] {
        let shipped = CallCalibration::shipped();
        let compared =
            WayComparison::predicted(shipped, &tree, mpi, Collective::Alltoall, Bytes(1 << 16));
        assert_eq!(compared.ways[0].way.to_string(), "aapc tcp", "{compared:?}");
        let native = compared.ways.iter().find(|way| way.way == Way::Native);
        let seconds = native.unwrap().time.seconds;
        assert!((seconds / own - 1.0).abs() < 0.1, "{mpi:?}: {seconds}");
    }
}

#[test]
fn nothing_is_said_about_calls_unlike_all_measured_ones_or_without_messages() {
    let shipped = CallCalibration::shipped();
    let over_tcp = (
        Way::Ring {
            over: DataCarrier::Tcp,
        },
        Mpi::Mpich,
    );
    let gigabit = shipped.time(&star(&[8]), over_tcp, Collective::Allgather, Bytes(1 << 16));
    assert!(gigabit.is_some_and(|time| time.error.is_none() && time.seconds > 0.0));
    let alone = shipped.time(&star(&[1]), over_tcp, Collective::Allgather, Bytes(1 << 16));
    assert_eq!(alone, None);
}

/// The figures that jobs learned on these cables count more than calls on other networks.
#[test]
fn what_jobs_learned_here_decides_here_and_not_after_other_cables() {
    let (tree, other) = (star(&[4, 4]), star(&[8]));
    let (own, block) = ((Way::Native, Mpi::Mpich), Bytes(1 << 16));
    let timing = |way: &str, mean_ns| LearnedTiming {
        collective: Collective::Alltoall,
        from: block,
        way: way.parse().unwrap(),
        samples: 20,
        mean_ns,
        error_ns: 10,
    };
    let hosts: Vec<NodeNumber> = (0..8).collect();
    let place = LearnedPlace::new(&tree, &hosts, Mpi::Mpich);
    let timings = [
        timing("native", 500_000_000),
        timing("aapc tcp", 400_000_000),
    ];
    let mut figures = LearnedFigures::default();
    figures.merge(
        &place,
        JobLesson {
            user: "u".to_owned(),
            job: 1,
            at: Millis(0),
            timings: timings.map(Into::into).to_vec(),
        },
    );
    let seconds = |tree: &Tree| {
        let calibration = CallCalibration::shipped().clone();
        let learned = calibration.with_learned(&figures, tree);
        let time = learned.time(tree, own, Collective::Alltoall, block);
        time.unwrap().seconds
    };
    assert!(
        (seconds(&tree) / 0.5 - 1.0).abs() < 0.05,
        "{}",
        seconds(&tree)
    );
    assert!(seconds(&other) < 0.1, "{}", seconds(&other));
}

#[test]
fn what_was_tuned_here_decides_here_and_not_after_other_cables() {
    let file = |trunk| {
        let text = format!(
            "switches: [a, b]\nhosts: {{w: {{switch: a}}, x: {{switch: a}}, y: {{switch: b}}}}\n\
             links: [{{a: a, b: b, rate: {trunk}}}]"
        );
        TopologyFile::parse("t", &text).unwrap().tree().unwrap()
    };
    let tree = file("1G");
    let timing = CallTiming::from_runs(Bytes(1 << 16), &[0.5, 0.5, 0.5]).unwrap();
    let run = TuningRun {
        at: Millis(0),
        mpi: Mpi::Mpich,
        library: String::new(),
        network: None,
        epoch: 1,
        place: MeasuredPlace::of(&tree, &["w", "x", "y"]).unwrap(),
        pingpong: Vec::new(),
        figures: vec![WayTiming {
            collective: Collective::Alltoall,
            way: Way::Native,
            timing,
        }],
        early: Vec::new(),
        trials: Vec::new(),
        algorithms: Vec::new(),
    };
    let time = |tree: &Tree| {
        let tuned = CallCalibration::shipped().clone().with(&run, tree);
        let own = (Way::Native, Mpi::Mpich);
        tuned
            .time(tree, own, Collective::Alltoall, Bytes(1 << 16))
            .unwrap()
            .seconds
    };
    assert!((time(&tree) / 0.5 - 1.0).abs() < 0.05, "{}", time(&tree));
    assert!(time(&file("100M")) < 0.3, "{}", time(&file("100M")));
}
