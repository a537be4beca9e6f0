//! Neighbours that are named but not listed: their names and their kinds.
use super::device::{DeviceFacts, NeighbourRow, tells};
use super::identity::{NeighbourIdentity, NodeDirectory, macs_of};
use super::names::is_factory_name;
use super::{Facts, NodeIx};
use inventory::observation::{LldpNeighbour, NeighbourId};
use inventory::topology::{Node, NodeKind};
use inventory::topology_file::plain_name;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The longest name of a node in a topology file, as far as it is a neighbour's own name.
const LONGEST_NAME: usize = 64;

/// The names of strangers. A system name is not a key: some devices have none, some send it only
/// now and then, and devices with factory settings share one.
pub(super) struct UnlistedNames<'f> {
    /// The one name that came with a chassis id.
    names: HashMap<&'f NeighbourId, Option<&'f str>>,
    /// Names that several strangers have, or a listed node.
    shared: HashSet<&'f str>,
    /// True if names must be fit for a topology file.
    plain: bool,
}

impl<'f> UnlistedNames<'f> {
    /// Collects the names from all rows that name a stranger.
    pub(super) fn new<'a: 'f>(facts: &Facts<'a>, identity: &NodeDirectory) -> UnlistedNames<'f> {
        let mut names: HashMap<&NeighbourId, Option<&str>> = HashMap::new();
        let mut by_name: BTreeMap<&str, Vec<&LldpNeighbour>> = BTreeMap::new();
        for (device, own) in facts.devices() {
            for row in own.neighbours.iter().map(|r| &r.row) {
                let who = identity.identify(row, NodeIx::from(device));
                if row.name.is_empty() || !matches!(who, NeighbourIdentity::Stranger) {
                    continue;
                }
                by_name.entry(&row.name).or_default().push(row);
                if let Some(id) = row.chassis.as_ref().filter(|id| tells(id)) {
                    let name = names.entry(id).or_insert(Some(&row.name));
                    *name = name.filter(|n| *n == row.name);
                }
            }
        }
        let taken = |name: &str| identity.names().is_taken(name);
        let shared = by_name
            .into_iter()
            .filter(|(name, rows)| taken(name) || are_several(name, rows))
            .map(|(name, _)| name)
            .collect();
        UnlistedNames {
            names,
            shared,
            plain: !facts.scope.policy.shows_unlisted,
        }
    }

    /// The node for the stranger of a row.
    pub(super) fn node(&self, device: &DeviceFacts, heard: &NeighbourRow) -> Node {
        let row = &heard.row;
        let name = self.name(device, heard);
        Node {
            chassis: match row.chassis {
                Some(NeighbourId::Mac(mac)) => Some(mac).filter(|m| m.is_station()),
                _ => None,
            },
            ..Node::new(
                if self.plain { as_name(&name) } else { name },
                stated_kind(row),
            )
        }
    }

    /// The name for the stranger of a row: its own, if it has it alone; else its chassis id; else
    /// the place at which it was heard.
    fn name(&self, device: &DeviceFacts, heard: &NeighbourRow) -> String {
        let row = &heard.row;
        let id = row.chassis.as_ref().filter(|id| tells(id));
        let place = || format!("unknown-{}-{}", device.name, device.ports[heard.port].name);
        match (row.name.as_str(), id) {
            ("", None) => place(),
            ("", Some(id)) => match self.names.get(id) {
                Some(Some(name)) if !self.shared.contains(name) => (*name).to_owned(),
                _ => id.to_string(),
            },
            (name, Some(id)) if self.shared.contains(name) => id.to_string(),
            (name, None) if self.shared.contains(name) || is_factory_name(name) => place(),
            (name, _) => name.to_owned(),
        }
    }
}

/// True if rows with one name belong to several devices: a port cannot be two ports, and a network
/// card that speaks for itself is known by its one address. Otherwise they are one device: some
/// core switches send another chassis id to each neighbour.
fn are_several(name: &str, rows: &[&LldpNeighbour]) -> bool {
    let chassis = |r: &&LldpNeighbour| r.chassis.clone().filter(tells);
    let ids: BTreeSet<NeighbourId> = rows.iter().filter_map(chassis).collect();
    if is_factory_name(name) && ids.len() > 1 {
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
fn as_name(said: &str) -> String {
    plain_name(said).chars().take(LONGEST_NAME).collect()
}
