//! Flapping parts: not an epoch each time, not a message each time, but an alarm that they flap.
use super::*;

#[test]
fn a_flapping_cable_publishes_nothing() {
    let mut w = running();
    for _ in 0..20 {
        w.unplug("s1", 2);
        w.run(700);
        w.host("n2", "s1", 2);
        w.run(700);
    }
    assert_eq!(w.published.len(), 1);
}

/// Moves n2 between its two ports every `period` ms, `times` times.
fn restless(w: &mut SimulatedCluster, times: u64, period: u64) {
    for n in 0..times {
        let (from, to) = if n % 2 == 0 {
            ("s1", "s0")
        } else {
            ("s0", "s1")
        };
        w.unplug(from, 2);
        w.host("n2", to, 2);
        w.run(period);
    }
}

#[test]
fn a_host_that_moves_for_ever_is_held_and_reported_and_others_are_not() {
    let mut w = running();
    restless(&mut w, 100, 5_000);
    let epochs = w.published.len();
    assert!(
        (4..=10).contains(&epochs),
        "not one for each of 100 moves: {epochs}"
    );
    assert!(
        w.alarmed("(swp2) - n2: flaps, ") && w.alarmed("\"n2\" stays as in epoch"),
        "{:?}",
        w.alarms()
    );
    let lines = w
        .logged
        .iter()
        .filter(|text| text.contains("flaps, "))
        .count();
    assert!(lines < 20, "a message must not flap: {lines}");
    // Another host moves meanwhile.
    w.unplug("s1", 1);
    w.host("n1", "s0", 3);
    w.run(2_000);
    assert_eq!((w.published.len(), w.place("n1")), (epochs + 1, "s0"));
    // After calm the host's last place counts, and no alarm is left.
    w.run(361_000);
    assert_eq!(
        (w.published.len(), w.alarms()),
        (
            epochs + 1 + usize::from(w.published[epochs].file.hosts["n2"].switch != w.place("n2")),
            vec![]
        )
    );
    restless(&mut w, 2, 5_000);
    assert_eq!(w.published.len(), epochs + 3, "forgotten");
}

/// A ring of three switches; the link between s1 and s2 is blocked, and takes over when another
/// goes down.
fn ring() -> SimulatedCluster {
    let mut w = two_switches();
    w.switch("s2");
    w.cable("s0", 9, "s1", 9);
    w.cable("s0", 8, "s2", 8);
    w.cable("s1", 7, "s2", 7);
    w.stp("s2", 7, StpState::Blocking);
    w.start(None);
    w.run(3_000);
    assert_eq!(w.published.len(), 1, "{:#?}", w.logged);
    w
}

#[test]
fn a_trunk_that_flaps_makes_no_epoch_each_time() {
    let mut w = ring();
    for _ in 0..50 {
        w.unplug("s0", 9);
        w.unplug("s1", 9);
        w.stp("s2", 7, StpState::Forwarding);
        w.run(5_000);
        w.cable("s0", 9, "s1", 9);
        w.stp("s2", 7, StpState::Blocking);
        w.run(5_000);
    }
    let epochs = w.published.len();
    assert!(
        (4..=12).contains(&epochs),
        "not one for each of 100 changes: {epochs}"
    );
    assert!(
        w.alarmed("link s0 (swp9) - s1 (swp9): flaps, "),
        "{:?}",
        w.alarms()
    );
    w.unplug("s1", 1);
    w.host("n1", "s0", 3);
    w.run(2_000);
    assert_eq!(
        (w.published.len(), w.place("n1")),
        (epochs + 1, "s0"),
        "a host's move is published all the same"
    );
    w.run(361_000);
    assert_eq!(w.alarms(), []);
    let last = w.published.last().unwrap();
    assert!(
        last.file.links.iter().all(|l| l.a != "s1"
            || l.b != "s2"
            || l.state == Some(inventory::topology::LinkState::Blocked)),
        "{last:?}"
    );
}

#[test]
fn a_network_cut_by_a_flapping_trunk_is_reported_as_cut() {
    let mut w = running();
    for _ in 0..10 {
        w.unplug("s0", 9);
        w.unplug("s1", 9);
        w.run(2_000);
        assert!(w.alarmed("no complete tree to plan on"));
        w.cable("s0", 9, "s1", 9);
        w.run(2_000);
    }
    assert_eq!(w.published.len(), 1);
    assert!(w.alarmed("flaps, 8 times"), "{:?}", w.alarms());
}

/// The number of event lines during `turns` runs of `once`, and the calm after them.
fn logged_while(
    w: &mut SimulatedCluster,
    turns: usize,
    mut once: impl FnMut(&mut SimulatedCluster),
) -> Vec<String> {
    let before = w.logged.len();
    (0..turns).for_each(|_| once(w));
    w.logged[before..].to_vec()
}

#[test]
fn a_host_port_that_flaps_is_reported_once_and_the_host_stays() {
    for silently in [false, true] {
        let mut w = running();
        let lines = logged_while(&mut w, 60, |w| {
            if silently {
                w.unplug_silently("s1", 2);
            } else {
                w.unplug("s1", 2);
            }
            w.run(2_000);
            w.host("n2", "s1", 2);
            w.run(3_000);
        });
        assert!(
            w.alarmed("link s1 (swp2) - n2: flaps, "),
            "silently {silently}: {:?}",
            w.alarms()
        );
        assert!(
            lines.len() < 25,
            "silently {silently}: a message must not flap: {} {lines:#?}",
            lines.len()
        );
        assert_eq!((w.published.len(), w.place("n2")), (1, "s1"));
        w.run(361_000);
        assert_eq!((w.published.len(), w.alarms()), (1, vec![]));
    }
}

/// A network loses packets: one answer that is missing is no alarm.
#[test]
fn a_lost_answer_raises_no_alarm_and_two_do() {
    let mut w = running();
    let before = w.logged.len();
    for _ in 0..20 {
        w.mute("s1");
        w.run(500);
        assert!(!w.alarmed("stale"), "{:?}", w.alarms());
        w.unmute("s1");
        w.run(3_000);
    }
    assert_eq!(w.logged[before..], [""; 0]);
    w.mute("s1");
    let timing = &w.inventory.timing;
    let asked_twice = 2 * (timing.poll + timing.timeout * (timing.retries + 1));
    w.run(asked_twice.as_millis() as u64);
    assert!(w.alarmed("switch \"s1\" is stale"), "{:?}", w.logged);
}

#[test]
fn a_switch_that_answers_on_and_off_is_reported_once_and_then_until_it_was_calm() {
    let mut w = running();
    let lines = logged_while(&mut w, 60, |w| {
        w.mute("s1");
        w.run(3_000);
        w.unmute("s1");
        w.run(3_000);
    });
    assert!(
        w.alarmed("switch \"s1\": flaps, fell silent "),
        "{:?}",
        w.alarms()
    );
    assert!(
        lines.len() < 25,
        "a message must not flap: {} {lines:#?}",
        lines.len()
    );
    assert_eq!(w.published.len(), 1);
    w.run(361_000);
    assert_eq!((w.published.len(), w.alarms()), (1, vec![]));
    w.mute("s1");
    w.run(200_000);
    assert!(w.alarmed("switch \"s1\" is stale"), "{:?}", w.alarms());
}
