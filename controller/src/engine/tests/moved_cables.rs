//! Windows of jobs: judged, reported when they persist, forgotten with the network.
use super::*;
use directory::job_record::{JobRecord, WatchedWindow};
use inventory::alarm::arguments::SuspectedMove;
use policy::learned::RankLayout;
use simulation::watched::TreeSuspicion;

fn suspicion(to: &str) -> TreeSuspicion {
    let best = SuspectedMove::Host {
        host: "n1".into(),
        to: to.into(),
    };
    TreeSuspicion {
        best,
        gain: 30.0,
        others: Vec::new(),
        slow: vec![("n0".into(), "n1".into())],
    }
}

fn judged(w: &mut SimulatedCluster, user: &str, suspicion: Option<TreeSuspicion>) {
    w.event(ControllerEvent::Judged {
        job: format!("job of {user}"),
        user: user.into(),
        epoch: 1,
        suspicion,
    });
    w.run(100);
}

fn alarms(w: &SimulatedCluster) -> Vec<String> {
    let alarms = w.engine.announced_alarms().iter();
    alarms.map(|alarm| alarm.text.clone()).collect()
}

#[test]
fn a_suspicion_that_persists_is_an_alarm_until_it_does_not() {
    let mut w = running();
    for _ in 0..2 {
        judged(&mut w, "ann", Some(suspicion("s1")));
    }
    assert_eq!(alarms(&w), Vec::<String>::new());
    judged(&mut w, "ann", Some(suspicion("s1")));
    for _ in 0..3 {
        judged(&mut w, "ben", Some(suspicion("s1")));
    }
    let [alarm] = alarms(&w).try_into().unwrap();
    assert_eq!(
        alarm,
        "host \"n1\" behaves as if it were plugged into switch \"s1\": 1 pair of hosts is \
         slowed down as it would be then, say jobs of ann, ben; epoch 1 stays, and its schedules \
         collide there: see where that cable is; where switches are unmanaged, `heddle map \
         --controller` measures it while no job runs"
    );
    for user in ["ann", "ben"] {
        for _ in 0..3 {
            judged(&mut w, user, None);
        }
    }
    assert_eq!(alarms(&w), Vec::<String>::new());
}

#[test]
fn what_is_judged_against_an_earlier_tree_says_nothing_of_the_present_one() {
    let mut w = running();
    for _ in 0..4 {
        w.event(ControllerEvent::Judged {
            job: "late".into(),
            user: "ann".into(),
            epoch: 0,
            suspicion: Some(suspicion("s1")),
        });
        w.run(100);
    }
    assert_eq!((alarms(&w), w.engine.watch.jobs()), (Vec::new(), 0));
}

#[test]
fn windows_that_suspect_different_moves_are_noise() {
    let mut w = running();
    for to in ["s0", "s1", "s0", "s1", "s0", "s1"] {
        judged(&mut w, "ann", Some(suspicion(to)));
    }
    assert_eq!(alarms(&w), Vec::<String>::new());
}

/// A window of a job of two ranks.
fn windowed(id: &str, user: &str, number: u64) -> JobRecord {
    JobRecord {
        user: user.into(),
        hosts: vec!["n0".into(), "n1".into()],
        ranks: 2,
        layout: RankLayout::from_hosts(&[0, 1]),
        watched: Some(WatchedWindow {
            number,
            arrivals: vec![".d".into(), "d.".into()],
        }),
        ..crate::jobs::tests::record(id, 1, 10, 1.0)
    }
}

#[test]
fn each_window_is_judged_once_and_users_wait_their_turn() {
    let mut w = running();
    assert_eq!(orders_answered(windowed("a", "ann", 1), 0, &mut w), 1);
    assert_eq!(
        orders_answered(windowed("a", "ann", 1), 10_000, &mut w),
        0,
        "the same window"
    );
    assert_eq!(orders_answered(windowed("a", "ann", 2), 0, &mut w), 1);
    assert_eq!(
        orders_answered(windowed("b", "ann", 1), 1_000, &mut w),
        0,
        "too early"
    );
    assert_eq!(orders_answered(windowed("c", "ben", 1), 0, &mut w), 1);
    let elsewhere = JobRecord {
        epoch: 7,
        ..windowed("d", "cid", 1)
    };
    assert_eq!(orders_answered(elsewhere, 0, &mut w), 0, "another network");
    for n in 0..100 {
        orders_answered(windowed(&format!("eve{n}"), "eve", 1), 5_000, &mut w);
    }
    assert!(w.engine.watch.jobs() <= 2 + 8 + 1);
}

fn orders_answered(record: JobRecord, later: u64, w: &mut SimulatedCluster) -> usize {
    w.now = w.now.after(Duration::from_millis(later));
    let effects = w.engine.handle(w.now, ControllerEvent::Job(record.clone()));
    let orders = effects
        .iter()
        .filter(|e| matches!(e, ControllerEffect::Judge(_)));
    let count = orders.count();
    let (job, user, epoch) = (record.id, record.user, record.epoch);
    if count > 0 {
        let judged = ControllerEvent::Judged {
            job,
            user,
            epoch,
            suspicion: None,
        };
        w.engine.handle(w.now, judged);
    }
    count
}

/// A window of many ranks can take seconds to judge.
#[test]
fn a_user_waits_from_the_end_of_a_judgement() {
    let mut w = running();
    assert_eq!(orders_open(&mut w, 0, 1), 1);
    w.now = w.now.after(Duration::from_secs(10));
    w.event(ControllerEvent::Judged {
        job: "a".into(),
        user: "ann".into(),
        epoch: 1,
        suspicion: None,
    });
    assert_eq!(orders_open(&mut w, 3_000, 2), 0);
    assert_eq!(orders_open(&mut w, 2_000, 2), 1);
}

fn orders_open(w: &mut SimulatedCluster, later: u64, number: u64) -> usize {
    w.now = w.now.after(Duration::from_millis(later));
    let job = ControllerEvent::Job(windowed("a", "ann", number));
    let effects = w.engine.handle(w.now, job);
    effects
        .iter()
        .filter(|e| matches!(e, ControllerEffect::Judge(_)))
        .count()
}
