//! Nodes that are named but not asked: their kinds and their names.
use super::device::show;
use super::identity::macs_of;
use super::{InferredNetwork, UnlistedPolicy};
use inventory::alarm::AlarmKind;
use inventory::evidence::DevicePort;
use inventory::observation::{LldpNeighbour, NeighbourId};
use inventory::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The names of strangers. A system name is not a key: some devices have none, some send it only
/// now and then, and devices with factory settings share one.
#[derive(Default)]
pub(super) struct UnlistedNames {
    /// The one name that came with a chassis id.
    names: HashMap<NeighbourId, Option<String>>,
    /// Names that several strangers have.
    shared: HashSet<String>,
}

impl UnlistedNames {
    /// Collects the names from all rows that name a stranger.
    pub(super) fn new<'r>(rows: impl Iterator<Item = &'r LldpNeighbour>) -> UnlistedNames {
        let mut called = UnlistedNames::default();
        let mut by_name: BTreeMap<&str, Vec<&LldpNeighbour>> = BTreeMap::new();
        for row in rows.filter(|r| !r.name.is_empty()) {
            by_name.entry(&row.name).or_default().push(row);
            if let Some(id) = row.chassis.as_ref().filter(|id| tells(id)) {
                let name = called
                    .names
                    .entry(id.clone())
                    .or_insert_with(|| Some(row.name.clone()));
                if name.as_ref() != Some(&row.name) {
                    *name = None;
                }
            }
        }
        called.shared = by_name
            .into_iter()
            .filter(|(_, rows)| are_several(rows))
            .map(|(name, _)| name.to_owned())
            .collect();
        called
    }

    /// The name for the stranger of a row; `None` if the row names no neighbour.
    pub(super) fn name(&self, row: &LldpNeighbour) -> Option<String> {
        match (row.name.as_str(), &row.chassis) {
            ("", None) => None,
            ("", Some(id)) => Some(
                self.names
                    .get(id)
                    .cloned()
                    .flatten()
                    .unwrap_or_else(|| show(id)),
            ),
            (name, Some(id)) if self.shared.contains(name) && tells(id) => Some(show(id)),
            (name, _) => Some(name.to_owned()),
        }
    }
}

/// True if the id can tell its owner from others; many devices send zeros.
fn tells(id: &NeighbourId) -> bool {
    !matches!(id, NeighbourId::Mac(mac) if !mac.is_station())
}

/// True if rows with one name belong to several devices: a port cannot be two ports, and a network
/// card that speaks for itself is known by its one address. Otherwise they are one device: some
/// core switches send another chassis id to each neighbour.
fn are_several(rows: &[&LldpNeighbour]) -> bool {
    let chassis = |r: &&&LldpNeighbour| r.chassis.clone().filter(tells);
    let mut owners: HashMap<&NeighbourId, BTreeSet<NeighbourId>> = HashMap::new();
    for row in rows {
        if let (Some(port), Some(id)) = (&row.port, chassis(&row)) {
            owners.entry(port).or_default().insert(id);
        }
    }
    let cards = rows
        .iter()
        .filter(|r| shown_kind(r) == NodeKind::Host && r.chassis == r.port);
    owners.values().any(|owners| owners.len() > 1)
        || cards
            .filter_map(|r| chassis(&r))
            .collect::<BTreeSet<_>>()
            .len()
            > 1
}

/// A node for a neighbour in a row that is not among the devices; `None` if it is only reported in
/// an alarm.
pub(super) fn add_unlisted(
    said: &str,
    place: &DevicePort,
    row: &LldpNeighbour,
    how: UnlistedPolicy,
    found: &mut InferredNetwork,
) -> Option<String> {
    let (name, kind) = match how {
        UnlistedPolicy::Told => told(said, place, row, found)?,
        UnlistedPolicy::Shown => (said.to_owned(), shown_kind(row)),
    };
    let node = found.node(&name, kind);
    node.chassis = node.chassis.or(row.chassis.as_ref().and_then(|id| {
        if let NeighbourId::Mac(m) = id {
            Some(*m)
        } else {
            None
        }
    }));
    Some(name)
}

/// A bridge or router becomes a node; a station is only reported.
fn told(
    said: &str,
    place: &DevicePort,
    row: &LldpNeighbour,
    found: &mut InferredNetwork,
) -> Option<(String, NodeKind)> {
    let name = as_name(said);
    let kind = match row.capabilities {
        _ if shown_kind(row) == NodeKind::Host => {
            found.alarm(&name, AlarmKind::StationUnlisted(place.clone()));
            return None;
        }
        Some(c) if !c.bridge => NodeKind::Router,
        _ => NodeKind::Switch,
    };
    if found.stated.contains(&name) {
        return Some((name, kind));
    }
    found.alarm(&name, AlarmKind::DeviceUnlisted(kind, place.clone()));
    Some((name, kind))
}

/// The kind that it states. Network cards that speak for themselves state only their address,
/// twice.
fn shown_kind(row: &LldpNeighbour) -> NodeKind {
    match row.capabilities {
        Some(c) if c.bridge => NodeKind::Switch,
        Some(c) if c.router => NodeKind::Router,
        Some(_) => NodeKind::Host,
        None if row.chassis.is_some()
            && row.chassis == row.port
            && macs_of(row).next().is_some() =>
        {
            NodeKind::Host
        }
        None => NodeKind::Switch,
    }
}

/// A name fit for a topology file, from a stranger's name.
fn as_name(said: &str) -> String {
    said.chars()
        .take(64)
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}
