//! Links whose states no end serves, found from the forwarding databases.
use super::ways::{LEAVES, leaves_and_spines, states};
use super::*;

/// Leaves below two spines, of which the second hears all hosts over the first leaf only.
fn blocked_somewhere() -> InferenceFixture {
    let mut net = leaves_and_spines();
    for (n, leaf) in (0u8..).zip(LEAVES) {
        let host = format!("n{n}");
        net.learns("t1", n + 1, host_mac(&host));
        net.learns("t2", 1, host_mac(&host));
        for other in LEAVES.into_iter().filter(|other| *other != leaf) {
            net.learns(other, 1, host_mac(&host));
        }
    }
    net
}

#[test]
fn databases_tell_which_links_carry() {
    let t = blocked_somewhere().infer();
    assert_eq!(states(&t, LinkState::Blocked), 2, "{:#?}", t.links);
    assert_eq!(states(&t, LinkState::Unknown), 0);
    assert_eq!(t.tree().unwrap().hosts(), 3);
}

#[test]
fn one_database_that_says_otherwise_leaves_all_open() {
    let untouched = states(&blocked_somewhere().infer(), LinkState::Unknown);
    assert_eq!(untouched, 0);
    let mut elsewhere = blocked_somewhere();
    let rows = elsewhere.view("l2").fdb.as_mut().unwrap();
    rows.retain(|row| row.mac != host_mac("n0"));
    elsewhere.learns("l2", 2, host_mac("n0"));
    let mut mute = blocked_somewhere();
    mute.view("t2").fdb = None;
    let mut turned = blocked_somewhere();
    let rows = turned.view("t1").fdb.as_mut().unwrap();
    rows.retain(|row| row.mac != host_mac("n0"));
    turned.learns("t1", 2, host_mac("n0"));
    for (net, what) in [
        (elsewhere, "a loop"),
        (mute, "no database"),
        (turned, "a host elsewhere"),
    ] {
        let t = net.infer();
        assert_eq!(states(&t, LinkState::Blocked), 0, "{what}: {:#?}", t.links);
        assert!(t.tree().is_err(), "{what}");
    }
}
