use super::*;
use inventory::BitsPerSec;

/// Four switches in a row with three hosts each: the cable in the middle carries half of all
/// messages.
const ROW: &str = "switches: [s0, s1, s2, s3]
hosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s0},
  n3: {switch: s1}, n4: {switch: s1}, n5: {switch: s1},
  n6: {switch: s2}, n7: {switch: s2}, n8: {switch: s2},
  n9: {switch: s3}, n10: {switch: s3}, n11: {switch: s3}}
links: [{a: s0, b: s1}, {a: s1, b: s2}, {a: s2, b: s3}]";
const BLOCK: Bytes = Bytes(65_536);
const G: fn(u64) -> BitsPerSec = |n| BitsPerSec::mega(1_000 * n);

fn file(text: &str) -> TopologyFile {
    TopologyFile::parse("test", text).unwrap()
}

fn phases(file: &TopologyFile) -> u64 {
    outlook(CallCalibration::shipped(), file, BLOCK)
        .unwrap()
        .bound
        .phases
}

#[test]
fn changes_do_what_they_say() {
    let row = file(ROW);
    assert_eq!(phases(&row), 36);
    let moved = CablingChange::Move {
        host: "n0".into(),
        switch: "s3".into(),
    }
    .apply(&row)
    .unwrap();
    assert_eq!(
        (moved.hosts["n0"].switch.as_str(), phases(&moved)),
        ("s3", 35)
    );
    let faster = CablingChange::link(&row, "s2-s1", G(10))
        .unwrap()
        .apply(&row)
        .unwrap();
    assert_eq!(
        (faster.links.len(), phases(&faster)),
        (3, 27),
        "now the outer ones count"
    );
    let host = CablingChange::link(&row, "n3-s1", G(2))
        .unwrap()
        .apply(&row)
        .unwrap();
    assert_eq!(host.hosts["n3"].rate, G(2));
    let redundant = CablingChange::link(&row, "s0-s3", G(1))
        .unwrap()
        .apply(&row)
        .unwrap();
    let outlook = outlook(CallCalibration::shipped(), &redundant, BLOCK).unwrap();
    assert_eq!(
        (outlook.bound.phases, outlook.blocked),
        (36, vec![("s2".into(), "s3".into())]),
        "still a row"
    );
    let rooted = CablingChange::RootBridge("s1".into())
        .apply(&redundant)
        .unwrap();
    assert_eq!(rooted.switches, ["s1", "s0", "s2", "s3"]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let row = file(ROW);
    let refused = |change: CablingChange| change.apply(&row).unwrap_err().to_string();
    assert!(
        refused(CablingChange::RootBridge("s9".into()))
            .contains("switch \"s9\" is not in the topology")
    );
    assert!(
        refused(CablingChange::Move {
            host: "n99".into(),
            switch: "s0".into()
        })
        .contains("host \"n99\"")
    );
    assert!(
        refused(CablingChange::Move {
            host: "n0".into(),
            switch: "n1".into()
        })
        .contains("switch \"n1\"")
    );
    assert!(refused(CablingChange::link(&row, "n0-s1", G(1)).unwrap()).contains("--move n0=s1"));
    let between_hosts = refused(CablingChange::link(&row, "n0-n1", G(1)).unwrap());
    assert!(
        between_hosts.starts_with("switch \"n1\" is not in the topology"),
        "{between_hosts}"
    );
    let unknown = CablingChange::link(&row, "s0-s9", G(1))
        .unwrap_err()
        .to_string();
    assert!(
        unknown.starts_with("link s0-s9: \"s9\" is not in the topology, whose switches are s0, s1"),
        "{unknown}"
    );
    for ends in ["s0", "s0-s0", ""] {
        assert_eq!(
            CablingChange::link(&row, ends, G(1)),
            Err(CablingChangeError::Ends(ends.into()))
        );
    }
    let hyphens = file("switches: [a, a-b, b-c, c]\nhosts: {n: {switch: a}}");
    assert!(
        CablingChange::link(&hyphens, "a-b-c", G(1)).is_err(),
        "a to b-c, or a-b to c"
    );
}

#[test]
fn the_best_advice_comes_first_and_holds() {
    let row = file(ROW);
    let now = outlook(CallCalibration::shipped(), &row, BLOCK)
        .unwrap()
        .alltoall;
    let advice = advice(&row, BLOCK).unwrap();
    assert_eq!(
        advice[0].change,
        CablingChange::Link {
            a: "s1".into(),
            b: "s2".into(),
            rate: BitsPerSec::mega(2_500)
        },
        "{advice:?}"
    );
    for a in &advice {
        assert!(a.alltoall < now);
        let after = outlook(
            CallCalibration::shipped(),
            &a.change.apply(&row).unwrap(),
            BLOCK,
        )
        .unwrap();
        assert_eq!(
            (after.alltoall, after.blocked),
            (a.alltoall, a.blocked.clone()),
            "{}",
            a.change
        );
    }
    assert!(advice.is_sorted_by(|x, y| x.alltoall <= y.alltoall));
}

#[test]
fn a_root_bridge_in_the_middle_of_a_ring_with_a_slow_side_is_advised() {
    let ring = file(&ROW.replace(
        "{a: s2, b: s3}]",
        "{a: s2, b: s3, state: blocked}, {a: s3, b: s0}]",
    ));
    assert!(matches_spanning_tree(&ring));
    assert!(!matches_spanning_tree(&file(&ROW.replace(
        "{a: s0, b: s1}",
        "{a: s0, b: s1, state: blocked}, {a: s0, b: s2}"
    ))));
    let rooted = CablingChange::RootBridge("s2".into()).apply(&ring).unwrap();
    assert_eq!(
        outlook(CallCalibration::shipped(), &rooted, BLOCK)
            .unwrap()
            .blocked,
        [("s3".into(), "s0".into())]
    );
}

#[test]
fn one_switch_needs_no_advice_and_no_host_no_outlook() {
    assert_eq!(
        advice(
            &file("switches: [s]\nhosts: {a: {switch: s}, b: {switch: s}}"),
            BLOCK
        )
        .unwrap(),
        []
    );
    assert!(
        outlook(
            CallCalibration::shipped(),
            &file("switches: [s]\nhosts: {}"),
            BLOCK
        )
        .is_err()
    );
    assert_eq!(
        advice(
            &file("switches: [s]\nhosts: {a: {switch: s, ranks: 2}}"),
            BLOCK
        )
        .unwrap(),
        []
    );
}

#[test]
fn one_more_spine_has_the_cables_of_another() {
    let mut text = "switches: [l1, l2]
routers: [s1, s2]
hosts: {'n[0-3]': {switch: l1}, 'n[4-7]': {switch: l2}}
links:
"
    .to_owned();
    for (leaf, spine) in [("l1", "s1"), ("l1", "s2"), ("l2", "s1"), ("l2", "s2")] {
        text += &format!("- {{a: {leaf}, b: {spine}, state: multipath}}\n");
    }
    let fabric = file(&text);
    let add = |name: &str, like: &str| {
        let (name, like) = (name.to_owned(), like.to_owned());
        CablingChange::Beside { name, like }.apply(&fabric)
    };
    let more = add("s3", "s2").unwrap();
    assert_eq!((more.routers.len(), more.links.len()), (3, 6));
    assert_eq!((phases(&fabric), phases(&more)), (8, 7));
    for (name, like, problem) in [
        ("s3", "s9", "switch \"s9\" is not in the topology"),
        ("n1", "s2", "switch \"n1\": expected a name"),
        ("l1", "s2", "switch \"l1\": expected a name"),
        ("a b", "s2", "switch \"a b\": expected a name"),
    ] {
        let refused = add(name, like).unwrap_err().to_string();
        assert!(refused.starts_with(problem), "{refused}");
    }
}
