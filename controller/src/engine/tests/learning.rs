//! Lessons of jobs: taken, refused, written now and then, replayed.
use super::*;
use crate::journal::{Journal, MAX_BYTES, replay};
use directory::job_record::JobRecord;
use inventory::Bytes;
use policy::decision_table::{Collective, Way};
use policy::learned::{LearnedFigures, LearnedPlace, LearnedTiming, RankLayout, RecordedTiming};
use policy::shown_rates::FastCall;

/// The record of a job on n0 and n1 that learned about an all-to-all, in milliseconds. A rank a host.
fn taught(id: &str, user: &str, ways: &[(&str, u64)]) -> JobRecord {
    JobRecord {
        user: user.to_owned(),
        hosts: vec!["n0".to_owned(), "n1.example.org".to_owned()],
        ranks: 2,
        layout: RankLayout::from_hosts(&[0, 1]),
        learned: ways
            .iter()
            .map(|(way, ms)| LearnedTiming {
                collective: Collective::Alltoall,
                from: Bytes(1 << 20),
                way: way.parse::<Way>().unwrap(),
                samples: 9,
                mean_ns: ms * 1_000_000,
                error_ns: 1000,
            })
            .map(RecordedTiming::from)
            .collect(),
        ..crate::jobs::tests::record(id, 1, 10, 1.0)
    }
}

fn teach(w: &mut SimulatedCluster, record: JobRecord) {
    w.event(ControllerEvent::Taught(Box::new(record)));
}

/// The way to go, as it was written last.
fn written(w: &SimulatedCluster) -> Option<String> {
    let tree = w.published.last()?.file.tree().unwrap();
    let record = taught("", "", &[]);
    let (layout, mpi) = (&record.layout, *record.mpi.known().unwrap());
    let (place, _) = LearnedPlace::find(&tree, &record.hosts, layout, mpi).unwrap();
    let ways = w.kept.last()?.ways().for_place(&place);
    Some(ways.first()?.way.to_string())
}

#[test]
fn what_a_job_learned_is_written_at_once_and_more_of_it_after_a_while() {
    let mut w = running();
    teach(
        &mut w,
        taught("a", "ann", &[("native", 90), ("aapc tcp", 60)]),
    );
    w.run(100);
    assert_eq!(
        (w.kept.len(), written(&w).as_deref()),
        (1, Some("aapc tcp"))
    );
    teach(
        &mut w,
        taught("a", "ann", &[("native", 50), ("aapc tcp", 60)]),
    );
    w.run(1_000);
    assert_eq!(w.kept.len(), 1, "too early");
    w.run(10_000);
    assert_eq!((w.kept.len(), written(&w).as_deref()), (2, Some("native")));
    teach(
        &mut w,
        taught("a", "ann", &[("native", 51), ("aapc tcp", 61)]),
    );
    w.run(60_000);
    assert_eq!(w.kept.len(), 2, "no news");
    assert!(w.engine.unwritten_learned().is_some());
    w.run(300_000);
    assert_eq!(w.kept.len(), 3);
    assert!(w.engine.unwritten_learned().is_none());
    assert_eq!(w.published.len(), 1, "no epoch is made for it");
}

#[test]
fn a_write_that_fails_is_reported_and_tried_again() {
    let mut w = running();
    w.disk_full = true;
    teach(
        &mut w,
        taught("a", "ann", &[("native", 90), ("aapc tcp", 60)]),
    );
    w.run(30_000);
    assert_eq!(w.kept.len(), 1);
    assert!(w.alarmed("later jobs do not start from"), "{:?}", w.logged);
    w.disk_full = false;
    w.run(60_000);
    assert_eq!(w.kept.len(), 2);
    assert_eq!(w.alarms(), []);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut w = running();
    for record in [
        // At 1 Gbit/s a block of 1 MiB takes 9 ms.
        taught("a", "ann", &[("native", 0), ("aapc tcp", 2)]),
        taught("a", "ann", &[("native", 4_000_000)]),
        taught("a", "ann", &[("ring", 60)]),
        altered_record(&|record| record.epoch = 7),
        altered_record(&|record| record.hosts[1] = "n9".to_owned()),
        altered_record(&|record| record.hosts[1] = "n0.example.org".to_owned()),
        altered_record(&|record| record.layout = RankLayout::default()),
        altered_record(&|record| record.learned.iter_mut().for_each(|t| t.from = Bytes(3))),
    ] {
        teach(&mut w, record);
    }
    w.run(400_000);
    assert!(w.engine.learned().is_empty() && w.kept.is_empty());
    teach(&mut w, good_record());
    assert!(!w.engine.learned().is_empty());
}

fn good_record() -> JobRecord {
    taught("a", "ann", &[("native", 90), ("aapc tcp", 60)])
}

fn altered_record(alter: &dyn Fn(&mut JobRecord)) -> JobRecord {
    let mut record = good_record();
    alter(&mut record);
    record
}

#[test]
fn an_epoch_of_the_same_network_takes_lessons_of_the_one_before_and_a_move_does_not() {
    let mut w = running();
    w.event(ControllerEvent::Measured {
        what: "measured mpich with 3 ranks".to_owned(),
    });
    w.run(1_000);
    assert_eq!(w.published.len(), 2);
    teach(
        &mut w,
        taught("a", "ann", &[("native", 90), ("aapc tcp", 60)]),
    );
    w.run(100);
    assert_eq!(w.kept.len(), 1);
    w.unplug("s1", 2);
    w.host("n2", "s0", 2);
    w.run(20_000);
    assert_eq!(w.published.len(), 3);
    teach(
        &mut w,
        taught("b", "ann", &[("native", 40), ("aapc tcp", 60)]),
    );
    w.run(20_000);
    assert_eq!(w.kept.len(), 1, "epoch 1 had another network");
    assert_eq!(
        written(&w).as_deref(),
        Some("aapc tcp"),
        "between n0 and n1 nothing changed"
    );
}

#[test]
fn lessons_replay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let order = running().published.remove(0);
    let current = StoredEpoch {
        number: 1,
        network: order.network,
        file: order.file,
    };
    let mut engine = ControllerEngine::new(running().inventory, ControllerOptions::default());
    let mut journal = Journal::begin(&path, MAX_BYTES, &engine.header()).unwrap();
    let record = taught("a", "ann", &[("native", 90), ("aapc tcp", 60)]);
    let events = [
        ControllerEvent::Started {
            current: Some(current),
            highest: 1,
            epochs: Vec::new(),
            problem: None,
            learned: LearnedFigures::default(),
            mapped: Default::default(),
        },
        ControllerEvent::Job(record.clone()),
        ControllerEvent::Taught(Box::new(record)),
        ControllerEvent::Tick,
        ControllerEvent::LearnedKept { problem: None },
    ];
    let mut kept = 0;
    for (n, event) in (1..).zip(events) {
        journal.record(Millis(n), &event, &engine).unwrap();
        let effects = engine.handle(Millis(n), event);
        kept += effects
            .iter()
            .filter(|effect| matches!(effect, ControllerEffect::KeepLearned(_)))
            .count();
    }
    let mut out = Vec::new();
    replay(&path, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(
        (kept, out.matches("keep figures of 1 places").count()),
        (1, 1),
        "{out}"
    );
}

/// The alarms after a job's record came that says so of a call of 1 MiB a block.
fn alarms_after(w: &mut SimulatedCluster, user: &str, took_ns: u64) -> Vec<String> {
    let record = JobRecord {
        fast_call: Some(
            FastCall {
                collective: Collective::Alltoall,
                block: Bytes(1 << 20),
                took_ns,
            }
            .into(),
        ),
        ..taught(user, user, &[("native", 1)])
    };
    teach(w, record);
    w.run(100);
    let alarms = w.engine.announced_alarms().iter();
    alarms.map(|alarm| alarm.text.clone()).collect()
}

#[test]
fn a_call_that_ends_too_soon_names_the_link_until_another_network_is_published() {
    let mut w = running();
    assert_eq!(alarms_after(&mut w, "ann", 1 << 40), [""; 0]);
    let [alarm] = alarms_after(&mut w, "ann", 1_000_000).try_into().unwrap();
    assert_eq!(
        alarm,
        "link n0-s0: published as 1G, carried at least 8.9G in jobs of ann, and 2 links more are \
         as wrong or less; jobs pace by what they measure, but plans take it for slower than it is: look at \
         the speed of its ports, or state its rate in the inventory"
    );
    let [alarm] = alarms_after(&mut w, "ben", 2_000_000).try_into().unwrap();
    assert!(alarm.contains("jobs of ann, ben"), "{alarm}");
}
