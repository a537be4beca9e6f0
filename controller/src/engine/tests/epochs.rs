//! Epochs: numbers, a restart, failed publishing, stage times, and the jobs that follow.
use super::*;

/// Somebody made a folder with the highest possible number: the published epoch stays, with an
/// alarm.
#[test]
fn no_epoch_follows_the_highest_number() {
    let mut w = running();
    w.engine.making.highest = u64::MAX;
    w.unplug("s1", 2);
    w.host("n2", "s0", 2);
    w.run(20_000);
    assert_eq!((w.published.len(), w.place("n2")), (1, "s1"));
    assert!(
        w.alarmed("has the highest number there can be"),
        "{:?}",
        w.alarms()
    );
    assert_eq!(
        w.logged
            .iter()
            .filter(|line| line.contains("highest number"))
            .count(),
        1,
        "reported once"
    );
}

#[test]
fn a_restart_with_the_same_network_publishes_nothing_and_with_another_one_goes_on_counting() {
    let before = running();
    let mut w = two_switches();
    w.start(first_stored(&before));
    w.run(120_000);
    assert_eq!(w.published.len(), 0);
    let mut w = two_switches();
    w.unplug("s1", 2);
    w.host("n2", "s0", 2);
    w.highest = 5;
    w.start(first_stored(&before));
    w.run(10_000);
    assert_eq!((w.published.len(), w.published[0].number), (1, 6));
}

fn first_stored(before: &SimulatedCluster) -> Option<StoredEpoch> {
    let order = &before.published[0];
    Some(StoredEpoch {
        number: 1,
        network: order.network.clone(),
        file: order.file.clone(),
    })
}

#[test]
fn a_restart_while_a_switch_is_silent_keeps_its_hosts() {
    let order = running().published.remove(0);
    let mut w = two_switches();
    w.mute("s1");
    w.start(Some(StoredEpoch {
        number: 1,
        network: order.network,
        file: order.file,
    }));
    w.run(200_000);
    assert_eq!(w.published.len(), 0);
}

#[test]
fn publishing_that_fails_is_reported_and_tried_again() {
    let mut w = two_switches();
    w.disk_full = true;
    w.start(None);
    w.run(60_000);
    assert_eq!(w.published.len(), 0);
    assert!(w.alarmed("disk full") && w.alarmed("nothing is published yet"));
    assert!((3..10).contains(&w.attempts), "{}", w.attempts);
    w.disk_full = false;
    w.run(60_000);
    assert_eq!(
        (w.published.len(), w.published[0].number, w.alarms()),
        (1, 1, vec![])
    );
}

#[test]
fn a_number_that_may_be_on_disk_is_not_used_for_another_tree() {
    let mut w = running();
    w.disk_full = true;
    w.unplug("s1", 2);
    w.host("n2", "s0", 2);
    w.run(5_000);
    w.unplug("s0", 2);
    w.host("n2", "s0", 3); // another port, the same tree
    w.run(5_000);
    w.unplug("s0", 1);
    w.host("n0", "s1", 3); // another tree
    w.run(5_000);
    w.disk_full = false;
    w.run(60_000);
    assert_eq!(
        w.published.iter().map(|o| o.number).collect::<Vec<_>>(),
        [1, 3]
    );
}

#[test]
fn a_job_that_follows_ends_the_burst() {
    let mut w = running();
    let mut job = crate::jobs::tests::record("j", 1, 1, 1.0);
    job.epoch_since = Millis(w.now.0 - 100);
    w.event(ControllerEvent::Job(job.clone()));
    let first = w.engine.snapshot(w.now).epochs[0].stages.taken_up;
    assert!(first.is_some());
    w.event(ControllerEvent::Job(job));
    assert_eq!(w.engine.snapshot(w.now).epochs[0].stages.taken_up, first);
    assert_eq!(w.engine.snapshot(w.now).jobs.len(), 1);
}

#[test]
fn a_job_that_began_after_an_epoch_tells_nothing_of_its_burst() {
    let mut w = running();
    w.run(60_000);
    let mut job = crate::jobs::tests::record("j", 1, 1, 1.0);
    (job.started, job.epoch_since) = (Millis(w.now.0 - 50), Millis(w.now.0 - 40));
    w.event(ControllerEvent::Job(job));
    let snapshot = w.engine.snapshot(w.now);
    assert_eq!(
        (snapshot.epochs[0].stages.taken_up, snapshot.jobs.len()),
        (None, 1)
    );
}

/// Traps without a change do not begin a burst, with any number of traps, and with any other alarm.
#[test]
fn stage_times_begin_with_the_change_and_not_with_a_trap_of_an_hour_ago() {
    for (every, standing) in [(500, false), (500, true), (3_000, false), (3_000, true)] {
        let mut w = running();
        if standing {
            w.unplug("s1", 1);
            w.run(5_000);
            assert!(w.alarmed("host \"n1\""));
        }
        for _ in 0..20 * 60_000 / every {
            w.event(ControllerEvent::Trap {
                source: "10.0.0.1".parse().unwrap(),
                kind: TrapTopic::Link,
            });
            w.run(every);
        }
        let epochs = w.published.len();
        let moved = w.now;
        w.unplug("s1", 2);
        w.host("n2", "s0", 2);
        w.event(ControllerEvent::Trap {
            source: "10.0.0.1".parse().unwrap(),
            kind: TrapTopic::Link,
        });
        w.run(5_000);
        assert_eq!((w.published.len(), w.place("n2")), (epochs + 1, "s0"));
        let epoch = w.engine.snapshot(w.now).epochs.pop().unwrap();
        // It is unknown which of the traps within a second announced the change.
        assert!(
            epoch.stages.seen.0 + 1_000 >= moved.0,
            "traps every {every} ms: {:?}, moved {moved:?}",
            epoch.stages
        );
        assert!(
            epoch
                .stages
                .published
                .is_some_and(|after| after <= epoch.at.since(moved) + Duration::from_secs(1))
        );
    }
}
