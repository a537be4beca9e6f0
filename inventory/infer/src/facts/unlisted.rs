//! Neighbours that are named but not listed: their names and their kinds.
use super::device::tells;
use super::identity::macs_of;
use super::names::{NameIndex, is_factory_name};
use inventory::Mac;
use inventory::observation::{LldpNeighbour, NeighbourId};
use inventory::topology::{Node, NodeKind};
use inventory::topology_file::plain_name;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The longest name of a node in a topology file, as far as it is a neighbour's own name.
const LONGEST_NAME: usize = 64;

/// The names of strangers. A system name is not a key: some devices have none, some send it only
/// now and then, and devices with factory settings share one.
pub(crate) struct UnlistedNames<'f> {
    /// The one name that came with a chassis id.
    names: HashMap<&'f NeighbourId, Option<&'f str>>,
    /// Names that several strangers have, or a listed node.
    shared: HashSet<&'f str>,
    /// True if names must be fit for a topology file.
    plain: bool,
}

/// Whether strangers with one name and several chassis ids may be one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedName {
    /// Some core switches send another chassis id to each neighbour.
    MayBeOne,
    /// Switches that nobody named have the name of their model.
    IsSeveral,
}

impl<'f> UnlistedNames<'f> {
    /// Collects the names from all rows that name a stranger. `listed` are the names of others;
    /// `plain` is set if names must be fit for a topology file.
    pub(crate) fn new(
        strangers: impl Iterator<Item = &'f LldpNeighbour>,
        listed: &NameIndex,
        shared: SharedName,
        plain: bool,
    ) -> UnlistedNames<'f> {
        let mut names: HashMap<&NeighbourId, Option<&str>> = HashMap::new();
        let mut by_name: BTreeMap<&str, Vec<&LldpNeighbour>> = BTreeMap::new();
        for row in strangers.filter(|row| !row.name.is_empty()) {
            by_name.entry(&row.name).or_default().push(row);
            if let Some(id) = row.chassis.as_ref().filter(|id| tells(id)) {
                let name = names.entry(id).or_insert(Some(&row.name));
                *name = name.filter(|n| *n == row.name);
            }
        }
        let shared = by_name
            .into_iter()
            .filter(|(name, rows)| match shared {
                _ if listed.is_taken(name) => true,
                SharedName::MayBeOne => are_several(name, rows),
                SharedName::IsSeveral => chassis_ids(rows).len() > 1,
            })
            .map(|(name, _)| name)
            .collect();
        UnlistedNames {
            names,
            shared,
            plain,
        }
    }

    /// The node for the stranger of a row. One that nothing tells from others goes by the `place` at
    /// which it was seen.
    pub(super) fn node(&self, row: &LldpNeighbour, place: impl FnOnce() -> String) -> Node {
        let name = self.name(row).unwrap_or_else(place);
        Node {
            chassis: station(row),
            ..Node::new(
                if self.plain { as_name(&name) } else { name },
                stated_kind(row),
            )
        }
    }

    /// The name for the stranger of a row: its own, if it has it alone; else its chassis id; `None`
    /// if nothing tells it from others.
    pub(crate) fn name(&self, row: &LldpNeighbour) -> Option<String> {
        let id = row.chassis.as_ref().filter(|id| tells(id));
        match (row.name.as_str(), id) {
            ("", None) => None,
            ("", Some(id)) => Some(match self.names.get(id) {
                Some(Some(name)) if !self.shared.contains(name) => (*name).to_owned(),
                _ => id.to_string(),
            }),
            (name, Some(id)) if self.shared.contains(name) => Some(id.to_string()),
            (name, None) if self.shared.contains(name) || is_factory_name(name) => None,
            (name, _) => Some(name.to_owned()),
        }
    }
}

/// The MAC address that is a stranger's chassis id.
pub(crate) fn station(row: &LldpNeighbour) -> Option<Mac> {
    match row.chassis {
        Some(NeighbourId::Mac(mac)) => Some(mac).filter(|m| m.is_station()),
        _ => None,
    }
}

/// The chassis ids that tell one device from others.
fn chassis_ids(rows: &[&LldpNeighbour]) -> BTreeSet<NeighbourId> {
    let chassis = rows.iter().filter_map(|row| row.chassis.clone());
    chassis.filter(tells).collect()
}

/// True if rows with one name belong to several devices: a port cannot be two ports, and a network
/// card that speaks for itself is known by its one address. Otherwise they are one device: some
/// core switches send another chassis id to each neighbour.
fn are_several(name: &str, rows: &[&LldpNeighbour]) -> bool {
    let chassis = |r: &&LldpNeighbour| r.chassis.clone().filter(tells);
    if is_factory_name(name) && chassis_ids(rows).len() > 1 {
        return true;
    }
    let mut owners: HashMap<&NeighbourId, BTreeSet<NeighbourId>> = HashMap::new();
    for row in rows {
        if let (Some(port), Some(id)) = (&row.port, chassis(row)) {
            owners.entry(port).or_default().insert(id);
        }
    }
    let cards = rows
        .iter()
        .filter(|r| stated_kind(r) == NodeKind::Host && r.chassis == r.port);
    let cards: BTreeSet<NeighbourId> = cards.filter_map(chassis).collect();
    owners.values().any(|owners| owners.len() > 1) || cards.len() > 1
}

/// The kind that a neighbour states. Network cards that speak for themselves state only their
/// address, twice.
pub(crate) fn stated_kind(row: &LldpNeighbour) -> NodeKind {
    let card = row.chassis.is_some() && row.chassis == row.port && macs_of(row).next().is_some();
    match row.capabilities {
        Some(c) if c.bridge => NodeKind::Switch,
        Some(c) if c.router => NodeKind::Router,
        Some(_) => NodeKind::Host,
        None if card => NodeKind::Host,
        None => NodeKind::Switch,
    }
}

/// A name fit for a topology file, from a stranger's name.
pub(crate) fn as_name(name: &str) -> String {
    plain_name(name).chars().take(LONGEST_NAME).collect()
}
