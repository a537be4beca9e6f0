//! Those who are named but not asked: what they are, and what they are called.
use super::device::show;
use super::identity::macs_of;
use super::{InferredNetwork, UnlistedPolicy};
use inventory::alarm::AlarmKind;
use inventory::evidence::DevicePort;
use inventory::observation::{LldpNeighbour, NeighbourId};
use inventory::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What strangers are called. A system name is no key: some have none, some send it only now and
/// then, and what left the factory together shares one.
#[derive(Default)]
pub(super) struct UnlistedNames {
    /// The one name that came with a chassis id.
    names: HashMap<NeighbourId, Option<String>>,
    /// Names that several strangers have.
    shared: HashSet<String>,
}

impl UnlistedNames {
    /// Out of every row that names a stranger.
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

    /// The name for the stranger of a row; `None` where the row names nobody.
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

/// Whether an id can tell its owner from others; zeros are everybody's.
fn tells(id: &NeighbourId) -> bool {
    !matches!(id, NeighbourId::Mac(mac) if !mac.is_station())
}

/// Whether rows of one name are of several devices: a port cannot be two ports, and a network card
/// that speaks for itself is known by its one address. Otherwise they are one: some cores send
/// another chassis id to each neighbour.
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

/// A node for somebody a neighbour row names who is not among the devices; `None` where it is only
/// told of.
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

/// A bridge or router is kept as a node, a station only told of.
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

/// What it says it does. Network cards that speak for themselves say nothing but their address,
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

/// A name fit for a topology file out of whatever a stranger calls itself.
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
