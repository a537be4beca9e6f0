//! Trunks behind a bridge that nobody asked, as flows between hosts found them.
use super::*;
use crate::InferenceMemory;
use inventory::Bytes;
use inventory::mapped_place::{CardLosses, MappedPlace, MappedPlaces, PlaceTrunk};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// s0 with n0 and n1, and port 7 with all the others behind it.
fn place() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0"], "[n0, n1, n2, n3, n4, n5, n6]");
    net.host("n0", "s0", 1);
    net.host("n1", "s0", 2);
    for host in ["n2", "n3", "n4", "n5", "n6"] {
        net.host(host, "s0", 7);
    }
    net
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(super) fn trunk(side: &[&str]) -> PlaceTrunk {
    PlaceTrunk {
        side: owned(side),
        rate: BitsPerSec::mega(100),
        probability: 998,
        filled: 12,
    }
}

pub(super) fn measured(trunks: Vec<PlaceTrunk>) -> MappedPlace {
    MappedPlace {
        bridge: "s0-swp7".into(),
        hosts: owned(&["n2", "n3", "n4", "n5", "n6"]),
        beside: owned(&["n0", "n1"]),
        at: Millis(1_795_424_809_000),
        rounds: 40,
        moved: Bytes(7_000_000),
        trunks,
        rates: BTreeMap::new(),
        link_losses: BTreeMap::new(),
        switches: BTreeMap::new(),
    }
}

impl InferenceFixture {
    pub(super) fn infer_with(&self, place: MappedPlace) -> Topology {
        let mut memory = InferenceMemory::default();
        let places = vec![place];
        memory.take_mapped(Arc::new(MappedPlaces {
            places,
            ..MappedPlaces::default()
        }));
        memory.infer_changed(&self.inventory, &self.views, &BTreeSet::new())
    }
}

fn place_of<'t>(t: &'t Topology, host: &str) -> &'t str {
    t.attachments()[host].0
}

#[test]
fn a_measured_trunk_parts_a_flat_bridge() {
    let t = place().infer_with(measured(vec![trunk(&["n4", "n5", "n6"])]));
    let places = ["n0", "n2", "n3", "n4", "n5", "n6"].map(|host| place_of(&t, host));
    let [u, v] = ["s0-swp7", "s0-swp7-1"];
    assert_eq!(places, ["s0", u, u, v, v, v]);
    let l = link(&t, u, v);
    assert_eq!(
        (l.rate_bps, l.grade, l.state),
        (
            BitsPerSec::mega(100),
            LinkGrade::Inferred,
            LinkState::Forwarding
        )
    );
    assert_eq!(
        l.evidence[0].to_string(),
        "measured: flows between 7 hosts filled it 12 times, probability 0.998; 40 rounds, 7.0 MB, \
         2026-11-23 09:06 UTC"
    );
    assert_eq!(t.tree().unwrap().hosts(), 7);
    assert_eq!(t.to_file().tree().unwrap().hosts(), 7);
}

#[test]
fn what_was_measured_is_not_called_unknown() {
    let unknown = "its rates are not known: `heddle map --controller` measures them";
    let text = alarms(&place().infer());
    assert!(text.contains(unknown), "{text}");
    for trunks in [vec![trunk(&["n4", "n5", "n6"])], Vec::new()] {
        let text = alarms(&place().infer_with(measured(trunks)));
        assert!(!text.contains("not known"), "{text}");
    }
}

#[test]
fn trunks_stand_one_behind_another() {
    let inner = trunk(&["n5", "n6"]);
    for trunks in [
        vec![trunk(&["n4", "n5", "n6"]), inner.clone()],
        vec![inner, trunk(&["n4", "n5", "n6"])],
    ] {
        let t = place().infer_with(measured(trunks));
        let [u, v, w] = ["s0-swp7", "s0-swp7-1", "s0-swp7-2"];
        let places = ["n3", "n4", "n5", "n6"].map(|host| place_of(&t, host));
        assert_eq!(places, [u, v, w, w]);
        assert_eq!(
            (
                link(&t, u, v).b_port.as_str(),
                link(&t, v, w).b_port.as_str()
            ),
            ("", "")
        );
        assert_eq!(t.tree().unwrap().hosts(), 7);
    }
}

#[test]
fn the_cable_of_the_place_and_trunks_elsewhere_are_nothing_new() {
    let mut flat = place().infer();
    // That nothing slows its hosts down is known, too.
    flat.alarms.clear();
    for side in [
        &["n2", "n3", "n4", "n5", "n6"][..],
        &["n1", "n2", "n3", "n4", "n5", "n6"],
    ] {
        assert_eq!(place().infer_with(measured(vec![trunk(side)])), flat);
    }
}

#[test]
fn other_hosts_make_a_measurement_stale() {
    let mut net = place();
    let places = measured(vec![trunk(&["n4", "n5", "n6"])]);
    net.views
        .get_mut("s0")
        .unwrap()
        .lldp
        .as_mut()
        .unwrap()
        .neighbours
        .retain(|r| r.name != "n3");
    net.host("n3", "s0", 3);
    assert_eq!(net.infer_with(places), net.infer());
}

#[test]
fn a_link_that_was_lost_since_raises_an_alarm_and_the_tree_stays() {
    let mut net = place();
    let mut places = measured(vec![trunk(&["n4", "n5", "n6"])]);
    for host in ["n4", "n5"] {
        let (card, times) = ("eth0".to_owned(), 3);
        places
            .link_losses
            .insert(host.to_owned(), CardLosses { card, times });
    }
    let before = net.infer_with(places.clone());
    assert_eq!(alarms(&before), "");
    for (times, part) in [
        (3, ""),
        (4, "the link of n5 was lost"),
        (1, "the link of n5"),
    ] {
        net.tells(HostReport {
            host: "n5".into(),
            slots: 1,
            link_losses: BTreeMap::from([("eth0".to_owned(), times)]),
            ..HostReport::default()
        });
        let t = net.infer_with(places.clone());
        assert!(alarms(&t).contains(part), "{}", alarms(&t));
        assert_eq!(part.is_empty(), t.alarms.is_empty());
        assert_eq!(t.attachments(), before.attachments());
    }
}

#[test]
fn a_trunk_that_parts_hosts_of_a_managed_switch_raises_an_alarm() {
    let t = place().infer_with(measured(vec![trunk(&["n1", "n5", "n6"])]));
    assert_eq!(place_of(&t, "n5"), "s0-swp7");
    assert!(
        alarms(&t).contains(
            "\"s0-swp7\": flows between hosts tell a trunk beside n1, n5, n6, but managed switches \
             have them at several places"
        ),
        "{}",
        alarms(&t)
    );
}

#[test]
fn the_operator_goes_before_what_was_measured() {
    let mut net = place();
    let text = "switches: {s0: {address: 10.0.0.1}}\n\
                snmp: {default: {version: 2c, community: c}}\n\
                hosts: [n0, n1, n2, n3, n4, n5, n6]\nunmanaged: [u0]\n\
                links: [{a: s0, a_port: swp7, b: u0}, {a: u0, b: n5}]";
    net.inventory = Inventory::parse("i.yaml", text).unwrap();
    let t = net.infer_with(measured(vec![trunk(&["n4", "n5", "n6"])]));
    assert_eq!(place_of(&t, "n6"), "u0");
    assert!(
        alarms(&t).contains("the inventory states one bridge"),
        "{}",
        alarms(&t)
    );
    // Without a word about n5's cable the bridge may be several.
    let less = text.replace(", {a: u0, b: n5}", "");
    net.inventory = Inventory::parse("i.yaml", &less).unwrap();
    let t = net.infer_with(measured(vec![trunk(&["n4", "n5", "n6"])]));
    assert_eq!([place_of(&t, "n2"), place_of(&t, "n6")], ["u0", "u0-1"]);
}

proptest::proptest! {
    /// Sides that are no tree, as a file may hold them: each host keeps one place, and the links are
    /// a tree.
    #[test]
    fn any_sides_leave_each_host_one_place(sides in proptest::collection::vec(0_u8..128, 0..8)) {
        let side = |bits: &u8| {
            let names: Vec<String> =
                (0..7).filter(|n| bits >> n & 1 == 1).map(|n| format!("n{n}")).collect();
            PlaceTrunk { side: names, ..trunk(&[]) }
        };
        let t = place().infer_with(measured(sides.iter().map(side).collect()));
        assert_eq!(t.attachments().len(), 7);
        assert_eq!(t.tree().unwrap().hosts(), 7);
        assert_eq!(t.to_file().tree().unwrap().hosts(), 7);
    }
}
