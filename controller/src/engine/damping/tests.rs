use super::*;
use crate::engine::candidate::tests::network;
use inventory::topology::Cluster;

/// n2 on s0, and without a place.
fn both() -> (Topology, Topology) {
    let there = network("s0");
    let mut gone = there.clone();
    gone.links.pop();
    (there, gone)
}

/// Loses n2's link `times` times, every `period` ms from 0 on.
fn flapped(times: u64, period: u64) -> FlapDamping {
    let (there, gone) = both();
    let mut d = FlapDamping::default();
    for n in 0..times {
        d.release_calm(Millis(n * period));
        compare(&mut d, Millis(n * period), &there, &gone);
        compare(&mut d, Millis(n * period + period / 2), &gone, &there);
    }
    d
}

fn compare(damping: &mut FlapDamping, now: Millis, before: &Topology, after: &Topology) {
    if let Some(difference) = TopologyDifference::between(before, after) {
        damping.compare(now, &difference);
    }
}

#[test]
fn a_part_that_is_rarely_lost_is_not_held() {
    for (times, period) in [(3, 2_000), (100, 180_000)] {
        assert!(
            flapped(times, period).hosts().is_empty(),
            "{times} losses, one in {period} ms"
        );
    }
    for (times, period) in [(4, 2_000), (7, 60_000)] {
        assert_eq!(
            flapped(times, period).hosts(),
            BTreeSet::from(["n2"]),
            "{times} losses, one in {period} ms"
        );
    }
}

#[test]
fn an_alarm_has_count_time_and_end() {
    let mut d = flapped(4, 2_000);
    // From almost 4000 to 1500 takes 1.4 half-lives.
    let alarm = "link s0 (p2) - n2: flaps, 4 times in 6 s; host \"n2\" stays as in epoch 7 until \
                it is calm, at the earliest at 00:02:52 UTC; check cable and ports";
    assert_eq!(text(&d), [alarm]);
    let (there, gone) = both();
    compare(&mut d, Millis(8_000), &there, &gone);
    assert_eq!(text(&d), [alarm], "not anew with each loss");
    for n in 5..8 {
        compare(&mut d, Millis(n * 2_000), &there, &gone);
    }
    assert!(text(&d)[0].contains("8 times in 14 s"), "{:?}", text(&d));
    assert_eq!(d.alarms(None), [], "nothing is published that could stay");
}

fn text(d: &FlapDamping) -> Vec<String> {
    d.alarms(Some(7))
        .into_iter()
        .map(|a| a.to_string())
        .collect::<Vec<_>>()
}

#[test]
fn calm_frees_and_later_forgets() {
    let mut d = flapped(4, 2_000);
    let due = d.deadlines().min().unwrap();
    assert!((170_000..180_000).contains(&due.0), "{due:?}");
    d.release_calm(Millis(due.0 - 100));
    assert!(!d.hosts().is_empty());
    d.release_calm(due);
    assert!(d.hosts().is_empty() && d != FlapDamping::default());
    let (there, gone) = both();
    let mut again = d.clone();
    for n in 0..2 {
        compare(&mut again, Millis(due.0 + n * 2000), &there, &gone);
    }
    assert_eq!(
        again.hosts(),
        BTreeSet::from(["n2"]),
        "what flapped lately is held sooner"
    );
    d.release_calm(Millis(due.0 + 400_000));
    assert_eq!(d, FlapDamping::default());
}

#[test]
fn however_long_it_flaps_six_minutes_of_calm_are_enough() {
    let mut d = flapped(5_000, 2_000);
    let last = 4_999 * 2_000;
    d.release_calm(Millis(last + 361_000));
    assert!(d.hosts().is_empty());
}

#[test]
fn one_loss_seen_in_pieces_counts_once() {
    let (there, gone) = both();
    let mut d = FlapDamping::default();
    for n in 0..50 {
        compare(&mut d, Millis(n * 20), &there, &gone);
    }
    assert_eq!(d.0.values().map(|f| f.times).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_rate_that_comes_and_goes_is_damped_too() {
    let whole = network("s0");
    let mut less = whole.clone();
    less.links[0].rate_bps = BitsPerSec(1);
    let mut d = FlapDamping::default();
    for n in 0..8 {
        let (before, after) = if n % 2 == 0 {
            (&whole, &less)
        } else {
            (&less, &whole)
        };
        assert!(n > 6 || !d.holds_trunks());
        compare(&mut d, Millis(n * 2_000), before, after);
    }
    assert!(
        d.holds_trunks()
            && d.alarms(Some(1))[0]
                .to_string()
                .contains("links between switches stay")
    );
}

#[test]
fn a_cluster_that_is_another_again_and_again_is_held() {
    let mut d = FlapDamping::default();
    for n in 0..4 {
        assert_eq!(d.clustered().count(), 0, "{n}");
        compare(
            &mut d,
            Millis(n * 2_000),
            &two_clusters(["west", "east"][n as usize % 2]),
            &two_clusters(["east", "west"][n as usize % 2]),
        );
    }
    assert_eq!(d.clustered().collect::<Vec<_>>(), ["n1"]);
    assert!(
        d.alarms(Some(7))[0]
            .to_string()
            .starts_with("cluster of host \"n1\": changed 4 times in 6 s")
    );
}

fn two_clusters(name: &str) -> Topology {
    Topology {
        clusters: vec![cluster("west", "n0"), cluster(name, "n1")],
        ..network("s0")
    }
}

fn cluster(name: &str, host: &str) -> Cluster {
    Cluster {
        name: name.into(),
        hosts: vec![host.into()],
        reasons: vec![],
    }
}

#[test]
fn clocks_that_jump_free_or_hold_but_never_break() {
    let mut d = flapped(4, 2_000);
    let (there, gone) = both();
    compare(&mut d, Millis(0), &there, &gone); // A clock that goes back counts as no time.
    d.release_calm(Millis(0));
    assert!(!d.hosts().is_empty());
    d.release_calm(Millis(u64::MAX));
    assert_eq!(d, FlapDamping::default());
}
