//! The newest statement of each device on each table.
use crate::Millis;
use crate::model::host_report::{HostReport, RoundTrip};
use crate::model::observation::{
    ArpEntry, BridgeTable, CredentialRefusal, DeviceFact, DevicePulse, DeviceTable, FdbEntry,
    InterfaceRow, LldpTable, NextRouters, Observation, SystemGroup,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The statements of all devices, by their name in the inventory.
pub type DeviceViews = BTreeMap<String, DeviceView>;

/// One device as last seen. A table that was never read is `None`, which differs from an empty one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceView {
    /// The time of the device's last answer.
    pub seen: Option<Millis>,
    /// Set while the device does not answer: the time since, and the reason. Its tables below are
    /// then old.
    pub stale: Option<(Millis, String)>,
    /// Set while the device answers only that it refuses the credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<CredentialRefusal>,
    /// Tables that failed while others answered, with the reason.
    pub failed: BTreeMap<DeviceTable, String>,
    /// See [`DeviceFact::System`].
    pub system: Option<SystemGroup>,
    /// See [`DeviceFact::Interfaces`].
    pub interfaces: Option<Vec<InterfaceRow>>,
    /// See [`DeviceFact::Lldp`].
    pub lldp: Option<LldpTable>,
    /// See [`DeviceFact::Bridge`].
    pub bridge: Option<BridgeTable>,
    /// See [`DeviceFact::Fdb`].
    pub fdb: Option<Vec<FdbEntry>>,
    /// See [`DeviceFact::Arp`].
    pub arp: Option<Vec<ArpEntry>>,
    /// See [`DeviceFact::Routes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<NextRouters>,
    /// See [`DeviceFact::Pulse`].
    pub pulse: Option<DevicePulse>,
    /// See [`DeviceFact::Host`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostReport>,
}

/// Adds an observation to the views. Returns true if anything changed that the inference reads.
pub fn apply(views: &mut DeviceViews, observation: &Observation) -> bool {
    let view = views.entry(observation.reporter.clone()).or_default();
    if let DeviceFact::Failed {
        table,
        problem,
        refused,
    } = &observation.fact
    {
        if table.is_none() {
            view.refused.clone_from(refused);
        }
        return fail(view, observation.at, *table, problem);
    }
    view.refused = None;
    view.seen = Some(observation.at);
    let back = view.stale.take().is_some();
    let changed = match &observation.fact {
        DeviceFact::System(x) => replace_unless(&mut view.system, x.clone(), |a, b| {
            (&a.name, &a.descr, a.services) == (&b.name, &b.descr, b.services)
        }),
        DeviceFact::Interfaces(x) => {
            let living = without_ghosts(x);
            replace_unless(&mut view.interfaces, living, |a, b| same_but_octets(a, b))
        }
        DeviceFact::Lldp(x) => replace(&mut view.lldp, x),
        DeviceFact::Bridge(x) => replace_unless(&mut view.bridge, x.clone(), same_but_changes),
        DeviceFact::Fdb(x) => replace(&mut view.fdb, x),
        DeviceFact::Arp(x) => replace(&mut view.arp, x),
        DeviceFact::Routes(x) => replace_late(&mut view.routes, x),
        DeviceFact::Pulse(x) => {
            match &mut view.pulse {
                Some(pulse) if x.brief => pulse.take_scalars(x),
                pulse => *pulse = Some(x.clone()),
            }
            false
        }
        DeviceFact::Host(x) => replace_unless(&mut view.host, x.clone(), same_but_moments),
        DeviceFact::Failed { .. } => unreachable!("handled above"),
    };
    let read = table_of(&observation.fact);
    view.failed.retain(|table, _| Some(*table) != read);
    changed || back
}

/// Puts a table in the place of an older one. Returns true unless they are the same to the inference.
fn replace_unless<T>(place: &mut Option<T>, new: T, same: impl Fn(&T, &T) -> bool) -> bool {
    let is_same = place.as_ref().is_some_and(|old| same(old, &new));
    *place = Some(new);
    !is_same
}

/// Notes that a table, or the whole device, did not answer. Returns true if that is news.
fn fail(view: &mut DeviceView, at: Millis, table: Option<DeviceTable>, problem: &str) -> bool {
    match table {
        Some(table) => {
            let before = view.failed.insert(table, problem.to_owned());
            before.as_deref() != Some(problem)
        }
        None => {
            let first = view.stale.is_none();
            let since = view.stale.as_ref().map_or(at, |(at, _)| *at);
            view.stale = Some((since, problem.to_owned()));
            first
        }
    }
}

fn table_of(fact: &DeviceFact) -> Option<DeviceTable> {
    Some(match fact {
        DeviceFact::System(_) => DeviceTable::System,
        DeviceFact::Interfaces(_) => DeviceTable::Interfaces,
        DeviceFact::Lldp(_) => DeviceTable::Lldp,
        DeviceFact::Bridge(_) => DeviceTable::Bridge,
        DeviceFact::Fdb(_) => DeviceTable::Fdb,
        DeviceFact::Arp(_) => DeviceTable::Arp,
        DeviceFact::Routes(_) => DeviceTable::Routes,
        DeviceFact::Pulse(_) | DeviceFact::Host(_) | DeviceFact::Failed { .. } => return None,
    })
}

fn replace<T: Clone + PartialEq>(slot: &mut Option<T>, new: &T) -> bool {
    let changed = slot.as_ref() != Some(new);
    if changed {
        *slot = Some(new.clone());
    }
    changed
}

/// The same for a table for which nothing waits: an inference takes it for empty before it is read.
fn replace_late<T: Clone + PartialEq + Default>(slot: &mut Option<T>, new: &T) -> bool {
    slot.get_or_insert_default();
    replace(slot, new)
}

/// Agents such as net-snmp keep the row of an interface that was removed and created again: down,
/// and under the same name. Of the rows with one name, a row that is down counts only if it is the
/// latest. The others have no STP state, and two of them would leave the name without a port.
fn without_ghosts(interfaces: &[InterfaceRow]) -> Vec<InterfaceRow> {
    let mut latest: BTreeMap<&str, (bool, u32)> = BTreeMap::new();
    for i in interfaces {
        let best = latest.entry(&i.name).or_default();
        *best = (*best).max((i.up, i.index));
    }
    interfaces
        .iter()
        .filter(|i| i.name.is_empty() || i.up || latest[i.name.as_str()] == (i.up, i.index))
        .cloned()
        .collect()
}

/// Counters always move, which is not a change of the network.
fn same_but_octets(a: &[InterfaceRow], b: &[InterfaceRow]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            let InterfaceRow {
                index,
                name,
                descr,
                alias,
                mac,
                rate,
                up,
                aggregate,
                kind,
                below,
                addresses,
                subnets,
                queue,
                in_octets: _,
                out_octets: _,
                faults: _,
            } = a;
            (*index, *mac, *rate, *up, *aggregate) == (b.index, b.mac, b.rate, b.up, b.aggregate)
                && (name, descr, alias) == (&b.name, &b.descr, &b.alias)
                && (kind, below) == (&b.kind, &b.below)
                && (addresses, subnets, queue) == (&b.addresses, &b.subnets, &b.queue)
        })
}

/// One topology change moves the counter of every bridge of a spanning tree, also of those that
/// nothing else changes at.
fn same_but_changes(a: &BridgeTable, b: &BridgeTable) -> bool {
    let BridgeTable {
        address,
        root_bridge,
        priority,
        top_changes: _,
        ports,
        instances,
        vlans,
    } = a;
    (*address, *root_bridge, *priority) == (b.address, b.root_bridge, b.priority)
        && (ports, instances, vlans) == (&b.ports, &b.instances, &b.vlans)
}

/// True if two reports of a host are the same up to counters, times and round trips. Counters
/// always move, and frames arrive again. Round trips differ from probe to probe; less than a
/// factor of four is not a change of the network.
pub fn same_but_moments(a: &HostReport, b: &HostReport) -> bool {
    without_moments(a) == without_moments(b)
        && a.paths
            .iter()
            .zip(&b.paths)
            .all(|(x, y)| is_near(&x.round_trip, &y.round_trip))
}

fn without_moments(report: &HostReport) -> HostReport {
    let mut plain = report.clone();
    plain
        .nics
        .iter_mut()
        .for_each(|n| (n.in_octets, n.out_octets) = (0, 0));
    plain
        .frames
        .iter_mut()
        .for_each(|h| h.at = Millis::default());
    plain.paths.iter_mut().for_each(|p| p.round_trip = None);
    plain
}

fn is_near(x: &Option<RoundTrip>, y: &Option<RoundTrip>) -> bool {
    match (x, y) {
        (Some(x), Some(y)) => x.min_us.max(1).max(y.min_us) / x.min_us.min(y.min_us).max(1) < 4,
        (x, y) => x == y,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::observation::ObservationSource;

    fn row(index: u32, name: &str, up: bool) -> InterfaceRow {
        InterfaceRow {
            index,
            name: name.into(),
            up,
            ..InterfaceRow::default()
        }
    }

    fn observed(fact: DeviceFact) -> Observation {
        Observation {
            at: Millis(5),
            reporter: "s0".into(),
            source: ObservationSource::Snmp,
            fact,
        }
    }

    #[test]
    fn a_dead_row_under_a_living_name_is_no_port() {
        let mut views = DeviceViews::new();
        let rows = vec![
            row(1, "swp1", false),
            row(2, "swp1", false),
            row(3, "swp1", true),
            row(4, "swp2", false),
            row(5, "swp2", false),
            row(6, "", false),
            row(7, "", false),
        ];
        assert!(apply(
            &mut views,
            &observed(DeviceFact::Interfaces(rows.clone()))
        ));
        let kept: Vec<u32> = views["s0"]
            .interfaces
            .iter()
            .flatten()
            .map(|i| i.index)
            .collect();
        assert_eq!(kept, [3, 5, 6, 7]);
        assert!(
            !apply(&mut views, &observed(DeviceFact::Interfaces(rows))),
            "the same again is no change"
        );
    }

    #[test]
    fn silence_makes_stale_and_an_answer_makes_fresh() {
        let mut views = DeviceViews::new();
        apply(&mut views, &observed(DeviceFact::Fdb(vec![])));
        let silent = observed(DeviceFact::Failed {
            table: None,
            problem: "no answer".into(),
            refused: None,
        });
        assert!(
            apply(&mut views, &silent) && !apply(&mut views, &silent),
            "reported once"
        );
        assert_eq!(views["s0"].fdb, Some(vec![]), "what was known stays");
        assert!(
            apply(&mut views, &observed(DeviceFact::Fdb(vec![]))),
            "being back is a change"
        );
        assert_eq!(views["s0"].stale, None);
    }

    #[test]
    fn no_routes_are_no_change() {
        let mut views = DeviceViews::new();
        let routes = observed(DeviceFact::Routes(NextRouters::default()));
        assert!(!apply(&mut views, &routes));
        assert_eq!(views["s0"].routes, Some(NextRouters::default()));
        let next_hops = vec![(1, "10.0.0.1".parse().unwrap())];
        let routes = observed(DeviceFact::Routes(NextRouters {
            next_hops,
            peers: vec![],
        }));
        assert!(apply(&mut views, &routes) && !apply(&mut views, &routes));
    }

    #[test]
    fn round_trips_that_waver_are_no_change_and_a_longer_way_is() {
        for (a, b, same) in [
            (1023, 1025, true),
            (100, 399, true),
            (100, 400, false),
            (0, 3, true),
            (0, 0, true),
        ] {
            assert_eq!(
                same_but_moments(&report_with(a), &report_with(b)),
                same,
                "{a} {b}"
            );
            assert_eq!(
                same_but_moments(&report_with(b), &report_with(a)),
                same,
                "{b} {a}"
            );
        }
    }

    fn path(min_us: u32) -> crate::model::host_report::ProbedPath {
        crate::model::host_report::ProbedPath {
            to: "n1".into(),
            address: "10.0.0.1".parse().unwrap(),
            hops: vec![],
            reached: true,
            round_trip: Some(RoundTrip {
                min_us,
                median_us: min_us,
                samples: 3,
            }),
        }
    }

    fn report_with(min_us: u32) -> HostReport {
        HostReport {
            paths: vec![path(min_us)],
            ..HostReport::default()
        }
    }
}
