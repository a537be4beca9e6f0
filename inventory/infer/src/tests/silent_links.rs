//! Networks without LLDP, made of the tables that their bridges learn.
use crate::infer_recorded;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::observation::{BridgeId, BridgePort, BridgeTable, FdbEntry, InterfaceRow, StpState};
use inventory::topology::{LinkGrade, NodeKind, Topology};
use inventory::{Mac, Millis};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The true tree of bridges with stations. Bridge 0 is the root.
struct BridgeTruth {
    /// The bridge above each bridge except the first.
    above: Vec<usize>,
    /// True if the bridge can be asked.
    managed: Vec<bool>,
    /// The bridge of each station.
    attachments: Vec<usize>,
}

/// The node on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortOccupant {
    Bridge(usize),
    Station(usize),
}

impl BridgeTruth {
    fn new(parents: &[usize], unmanaged: &[usize], attachments: &[usize]) -> BridgeTruth {
        let bridges = parents.len() + 1;
        let above = parents
            .iter()
            .enumerate()
            .map(|(i, p)| p % (i + 1))
            .collect();
        BridgeTruth {
            above,
            managed: (0..bridges).map(|b| !unmanaged.contains(&b)).collect(),
            attachments: attachments.iter().map(|s| s % bridges).collect(),
        }
    }

    /// The ports of a bridge, numbered from 1.
    fn ports(&self, bridge: usize) -> Vec<PortOccupant> {
        let up = bridge
            .checked_sub(1)
            .map(|i| PortOccupant::Bridge(self.above[i]));
        let down = (1..=self.above.len())
            .filter(|b| self.above[b - 1] == bridge)
            .map(PortOccupant::Bridge);
        let stations = (0..self.attachments.len())
            .filter(|s| self.attachments[*s] == bridge)
            .map(PortOccupant::Station);
        up.into_iter().chain(down).chain(stations).collect()
    }

    /// The port of a bridge towards another, or towards a station.
    fn toward(&self, bridge: usize, far: PortOccupant) -> Option<u32> {
        self.ports(bridge)
            .iter()
            .position(|port| {
                *port == far
                    || matches!(port, PortOccupant::Bridge(next) if self.within(*next, bridge, far))
            })
            .map(|i| i as u32 + 1)
    }

    fn within(&self, bridge: usize, from: usize, far: PortOccupant) -> bool {
        far == PortOccupant::Bridge(bridge)
            || self.ports(bridge).iter().any(|p| match p {
                PortOccupant::Bridge(next) if *next == from => false,
                PortOccupant::Bridge(next) => self.within(*next, bridge, far),
                station => *station == far,
            })
    }

    /// The tables of a managed bridge with every station learned.
    fn view(&self, bridge: usize, learns_bridges: bool) -> DeviceView {
        let count = self.ports(bridge).len() as u32;
        let stations = (0..self.attachments.len()).map(|s| (station(s), PortOccupant::Station(s)));
        let bridges = (0..self.managed.len())
            .filter(|b| learns_bridges && *b != bridge)
            .map(|b| (address(b), PortOccupant::Bridge(b)));
        DeviceView {
            seen: Some(Millis(1)),
            interfaces: Some(
                (1..=count)
                    .map(|n| InterfaceRow {
                        index: 100 + n,
                        name: format!("p{n}"),
                        up: true,
                        ..InterfaceRow::default()
                    })
                    .collect(),
            ),
            bridge: Some(BridgeTable {
                address: Some(address(bridge)),
                ports: (1..=count)
                    .map(|number| BridgePort {
                        number,
                        if_index: 100 + number,
                        state: None,
                        designated_bridge: None,
                        designated_port: None,
                    })
                    .collect(),
                ..BridgeTable::default()
            }),
            fdb: Some(
                stations
                    .chain(bridges)
                    .filter_map(|(mac, far)| Some(FdbEntry::new(mac, self.toward(bridge, far)?)))
                    .collect(),
            ),
            ..DeviceView::default()
        }
    }

    fn views(&self, learns_bridges: bool) -> DeviceViews {
        let managed = (0..self.managed.len()).filter(|b| self.managed[*b]);
        managed
            .map(|b| (name(b), self.view(b, learns_bridges)))
            .collect()
    }

    /// Managed bridges without a managed bridge between them: each pair with the ports towards each
    /// other.
    fn neighbours(&self) -> BTreeSet<(String, String)> {
        let mut all = BTreeSet::new();
        let managed: Vec<usize> = (0..self.managed.len())
            .filter(|b| self.managed[*b])
            .collect();
        for &a in &managed {
            for &b in managed.iter().filter(|b| **b > a) {
                let path = self.path(a, b);
                if path[1..path.len() - 1].iter().all(|c| !self.managed[*c]) {
                    let end = |x: usize, y: usize| {
                        format!(
                            "{} p{}",
                            name(x),
                            self.toward(x, PortOccupant::Bridge(y)).unwrap()
                        )
                    };
                    all.insert((end(a, b), end(b, a)));
                }
            }
        }
        all
    }

    fn path(&self, a: usize, b: usize) -> Vec<usize> {
        let mut path = vec![a];
        let mut at = a;
        while at != b {
            let next =
                self.ports(at)[self.toward(at, PortOccupant::Bridge(b)).unwrap() as usize - 1];
            let PortOccupant::Bridge(next) = next else {
                unreachable!("a bridge is behind a bridge")
            };
            path.push(next);
            at = next;
        }
        path
    }
}

fn name(bridge: usize) -> String {
    format!("s{bridge}")
}

fn address(bridge: usize) -> Mac {
    Mac([2, b's', 0, 0, bridge as u8, 0])
}

fn station(n: usize) -> Mac {
    Mac([2, b'h', 0, 0, 0, n as u8])
}

/// The pairs of ends that are found to be neighbours: by a link, or on one segment.
fn found(t: &Topology) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    let mut segments: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for link in t.links.iter().filter(|l| l.grade == LinkGrade::Inferred) {
        let (a, b) = (
            format!("{} {}", link.a, link.a_port),
            format!("{} {}", link.b, link.b_port),
        );
        match (t.kind(&link.a), t.kind(&link.b)) {
            (Some(NodeKind::Unmanaged), _) => segments.entry(&link.a).or_default().push(b),
            (_, Some(NodeKind::Unmanaged)) => segments.entry(&link.b).or_default().push(a),
            _ => drop(all.insert((a, b))),
        }
    }
    for ends in segments.into_values() {
        for (i, a) in ends.iter().enumerate() {
            all.extend(ends[i + 1..].iter().map(|b| {
                if number(a) < number(b) {
                    (a.clone(), b.clone())
                } else {
                    (b.clone(), a.clone())
                }
            }));
        }
    }
    all
}

fn number(end: &str) -> usize {
    end[1..].split(' ').next().unwrap().parse().unwrap()
}

/// Three stations on each bridge, so that each side of each cable has enough of them.
fn everywhere(bridges: usize) -> Vec<usize> {
    (0..3 * bridges).map(|n| n % bridges).collect()
}

#[test]
fn a_chain_is_found_by_its_stations_alone() {
    let truth = BridgeTruth::new(&[0, 1, 2], &[], &everywhere(4));
    let t = infer_recorded(&truth.views(false));
    assert_eq!(found(&t), truth.neighbours());
    assert!(
        t.links[0].evidence[0].to_string().contains(
            "neither learned the other's address; 3 stations on the one side, 9 on the other"
        ),
        "{:?}",
        t.links[0]
    );
    assert!(t.links.iter().all(|l| l.grade == LinkGrade::Inferred));
}

#[test]
fn three_bridges_on_a_silent_one_share_a_segment() {
    let truth = BridgeTruth::new(&[0, 0, 0], &[0], &everywhere(4));
    let t = infer_recorded(&truth.views(false));
    assert_eq!(
        t.names(NodeKind::Unmanaged).collect::<Vec<_>>(),
        ["segment-s1-p1"]
    );
    assert_eq!((t.links.len(), found(&t)), (3, truth.neighbours()));
    assert!(t.alarms.iter().any(|a| a.to_string()
        == "s1 p1, s2 p1, s3 p1: all on one segment; an unmanaged bridge \
                                  stands between, its rates are not known"));
}

#[test]
fn one_station_on_a_side_is_too_little() {
    let truth = BridgeTruth::new(&[0], &[], &[0, 0, 1]);
    assert_eq!(infer_recorded(&truth.views(false)).links, []);
    assert_eq!(
        found(&infer_recorded(&truth.views(true))),
        truth.neighbours(),
        "but the bridges' own addresses are enough"
    );
}

#[test]
fn a_bridge_that_may_stand_between_makes_ambiguous() {
    let truth = BridgeTruth::new(&[0, 1], &[], &everywhere(3));
    let mut views = truth.views(false);
    // The middle one has forgotten all but one station.
    views
        .get_mut("s1")
        .unwrap()
        .fdb
        .as_mut()
        .unwrap()
        .truncate(1);
    let t = infer_recorded(&views);
    assert_eq!((t.links.len(), t.links[0].grade), (1, LinkGrade::Ambiguous));
    assert_eq!(
        t.links[0].evidence[1].to_string(),
        "FDB: s1 may stand between, nothing says so or not"
    );
}

#[test]
fn a_few_stale_rows_do_no_harm_and_many_tell_nothing() {
    let truth = BridgeTruth::new(&[0], &[], &(0..40).map(|n| n % 2).collect::<Vec<_>>());
    let mut views = truth.views(false);
    let rows = views.get_mut("s1").unwrap().fdb.as_mut().unwrap();
    rows[0].port = rows[1].port;
    assert_eq!(found(&infer_recorded(&views)), truth.neighbours());
    for row in views
        .get_mut("s1")
        .unwrap()
        .fdb
        .as_mut()
        .unwrap()
        .iter_mut()
        .skip(1)
    {
        row.port = 2 + u32::from(row.mac.0[5] % 7);
    }
    assert_eq!(infer_recorded(&views).links, []);
}

#[test]
fn a_station_on_two_ports_tells_nothing() {
    let truth = BridgeTruth::new(&[0], &[], &everywhere(2));
    let mut views = truth.views(false);
    let rows = views.get_mut("s1").unwrap().fdb.as_mut().unwrap();
    let moved = FdbEntry { port: 4, ..rows[0] };
    rows.push(moved);
    assert_eq!(found(&infer_recorded(&views)), truth.neighbours());
}

#[test]
fn addresses_next_to_the_bridges_are_its_ports() {
    let truth = BridgeTruth::new(&[0, 1], &[], &[]);
    let mut views = truth.views(false);
    for (b, other, port) in [(0, 1, 1), (1, 0, 1), (1, 2, 2), (2, 1, 1)] {
        let Mac([a, c, d, e, f, _]) = address(other);
        views
            .get_mut(&name(b))
            .unwrap()
            .fdb
            .as_mut()
            .unwrap()
            .push(FdbEntry::new(Mac([a, c, d, e, f, 1]), port));
    }
    assert_eq!(found(&infer_recorded(&views)), truth.neighbours());
}

/// Sets spanning tree's statement on a port: the port that is designated on its segment.
fn designate(
    views: &mut DeviceViews,
    bridge: usize,
    port: u32,
    (other, far): (usize, u32),
    state: StpState,
) {
    let ports = &mut views
        .get_mut(&name(bridge))
        .unwrap()
        .bridge
        .as_mut()
        .unwrap()
        .ports;
    let port = &mut ports[port as usize - 1];
    port.state = Some(state);
    port.designated_bridge = Some(BridgeId {
        priority: 0x8000,
        address: address(other),
    });
    port.designated_port = Some(0x8000 + far as u16);
}

#[test]
fn a_port_faces_the_designated_one_it_names() {
    let truth = BridgeTruth::new(&[0, 0, 0], &[], &[]);
    let mut views = truth.views(false);
    designate(&mut views, 0, 1, (0, 1), StpState::Forwarding);
    designate(&mut views, 1, 1, (0, 1), StpState::Forwarding);
    designate(&mut views, 2, 1, (0, 2), StpState::Blocking);
    designate(&mut views, 3, 1, (0, 3), StpState::Disabled);
    let t = infer_recorded(&views);
    let seen: Vec<_> = t
        .links
        .iter()
        .map(|l| (l.a_port.as_str(), l.b.as_str(), l.state.to_string()))
        .collect();
    assert_eq!(
        seen,
        [
            ("p1", "s1", "forwarding".to_owned()),
            ("p2", "s2", "blocked".to_owned())
        ],
        "a disabled port's word is old"
    );
    assert_eq!(
        t.links[0].evidence[0].to_string(),
        "STP: s1 p1 names s0 p1 as the designated port"
    );
    designate(&mut views, 2, 1, (0, 1), StpState::Blocking);
    let t = infer_recorded(&views);
    assert_eq!(
        (t.names(NodeKind::Unmanaged).count(), t.links.len()),
        (1, 3),
        "two that name one port share its segment"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        if cfg!(debug_assertions) { 64 } else { 20_000 }
    ))]

    /// Complete databases give exactly the tree, with a silent bridge wherever several managed ones
    /// meet at one.
    #[test]
    fn complete_databases_give_every_neighbour(
        parents in prop::collection::vec(0usize..100, 1..8),
        silent in 0usize..12,
        learns in any::<bool>(),
    ) {
        let bridges = parents.len() + 1;
        let silent: &[usize] = if silent < bridges { &[silent] } else { &[] };
        let truth = BridgeTruth::new(&parents, silent, &everywhere(bridges));
        let t = infer_recorded(&truth.views(learns));
        prop_assert_eq!(found(&t), truth.neighbours());
    }

    /// Incomplete databases give no false link, whatever rows are lost.
    #[test]
    fn incomplete_databases_give_nothing_false(
        parents in prop::collection::vec(0usize..100, 1..8),
        silent in 0usize..12,
        learns in any::<bool>(),
        lost in prop::collection::vec(0usize..100, 64),
        much in 5usize..95,
    ) {
        let false_ones = LostRows { parents, silent, learns, lost, much }.found_wrongly();
        prop_assert!(false_ones.is_empty(), "{false_ones:?}");
    }
}

/// A network of which rows are lost.
struct LostRows {
    parents: Vec<usize>,
    silent: usize,
    learns: bool,
    /// A row is lost if its number in this circle is below `much`.
    lost: Vec<usize>,
    much: usize,
}

impl LostRows {
    /// The pairs that are found and are no neighbours.
    fn found_wrongly(&self) -> Vec<(String, String)> {
        let bridges = self.parents.len() + 1;
        let silent: &[usize] = if self.silent < bridges {
            &[self.silent]
        } else {
            &[]
        };
        let truth = BridgeTruth::new(&self.parents, silent, &everywhere(bridges));
        let mut views = truth.views(self.learns);
        let mut turn = self.lost.iter().cycle();
        for view in views.values_mut() {
            let fdb = view.fdb.as_mut().unwrap();
            fdb.retain(|_| *turn.next().unwrap() >= self.much);
        }
        let true_ones = truth.neighbours();
        let found = found(&infer_recorded(&views));
        found.difference(&true_ones).cloned().collect()
    }
}

/// s1 p1 and s3 p1 share the stations behind s2, but none on their own cable: s1 lost all of s3's rows.
#[test]
fn a_port_that_leads_to_many_may_lead_to_the_one_that_is_unseen() {
    let network = LostRows {
        parents: vec![0, 8, 10],
        silent: 0,
        learns: true,
        lost: vec![
            20, 20, 0, 20, 20, 0, 0, 0, 20, 20, 0, 0, 0, 20, 0, 0, 0, 0, 0, 20, 0, 0, 0, 20, 0, 0,
            0, 0, 20, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 7, 1, 79, 33, 62, 3, 18, 16, 54, 84, 9,
            70, 80, 9, 73, 82, 95, 37, 78, 57, 82, 28, 61,
        ],
        much: 20,
    };
    assert_eq!(network.found_wrongly(), []);
}

/// The share of the networks that incomplete databases still give.
#[test]
fn half_the_rows_give_most_of_the_tree() {
    let mut hits: HashMap<bool, usize> = HashMap::new();
    let mut state = 1u64;
    let mut dice = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..40 {
        let parents: Vec<usize> = (0..7).map(|_| dice()).collect();
        let truth = BridgeTruth::new(&parents, &[], &(0..80).map(|n| n % 8).collect::<Vec<_>>());
        let mut views = truth.views(false);
        for view in views.values_mut() {
            view.fdb.as_mut().unwrap().retain(|_| dice() % 2 == 0);
        }
        let found = found(&infer_recorded(&views));
        for pair in truth.neighbours() {
            *hits.entry(found.contains(&pair)).or_default() += 1;
        }
    }
    let (found, missed) = (
        hits.get(&true).copied().unwrap_or_default(),
        hits.get(&false).copied().unwrap_or_default(),
    );
    assert!(
        found * 5 >= (found + missed) * 4,
        "{found} found, {missed} missed"
    );
}
