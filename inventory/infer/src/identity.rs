//! The identity of a neighbour: by chassis id, then MAC address, then system name (IEEE 802.1AB
//! names all three; devices do not always send them correctly). An identifier that two devices
//! claim is not used.
use super::device::DeviceTables;
use super::host_statements::{StatementsByHost, own_addresses, own_macs};
use super::statements::NeighbourStatement;
use super::unlisted::UnlistedNames;
use super::{InferenceScope, InferredNetwork, UnlistedPolicy};
use inventory::Mac;
use inventory::alarm::{AlarmKind, NamedNode};
use inventory::evidence::RecognizedBy;
use inventory::host_report::DiscoveryProtocol;
use inventory::observation::{LldpNeighbour, NeighbourId};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

/// A node of the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum ListedNode<'a> {
    Switch(&'a str),
    Host(&'a str),
}

/// The neighbour that an LLDP row names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NeighbourIdentity<'a> {
    /// A node of the inventory, and the key by which it was recognized.
    Known {
        node: ListedNode<'a>,
        by: RecognizedBy,
    },
    /// Not in the inventory: its system name, or else its chassis id.
    Stranger(String),
    /// The row names no neighbour.
    Nobody,
}

/// All keys by which nodes can be recognized.
pub(super) struct NodeDirectory<'a> {
    chassis: UniqueIndex<NeighbourId, ListedNode<'a>>,
    macs: UniqueIndex<Mac, ListedNode<'a>>,
    names: UniqueIndex<String, ListedNode<'a>>,
    /// The known MAC addresses of each host.
    host_macs: HashMap<&'a str, BTreeSet<Mac>>,
    strangers: UnlistedNames,
}

/// Keys that name one value each. A key that was claimed twice names none.
struct UniqueIndex<K, V>(HashMap<K, Option<V>>);

impl<K: std::hash::Hash + Eq, V: Copy + PartialEq> UniqueIndex<K, V> {
    /// Claims a key. Returns whether no other value has claimed it.
    fn claim(&mut self, key: K, value: V) -> bool {
        let owner = self.0.entry(key).or_insert(Some(value));
        if *owner != Some(value) {
            *owner = None;
        }
        owner.is_some()
    }

    fn get<Q: std::hash::Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get(key).copied().flatten()
    }
}

impl From<ListedNode<'_>> for NamedNode {
    fn from(known: ListedNode<'_>) -> NamedNode {
        match known {
            ListedNode::Switch(name) => NamedNode::Switch(name.to_owned()),
            ListedNode::Host(name) => NamedNode::Host(name.to_owned()),
        }
    }
}

impl<'a> NodeDirectory<'a> {
    pub(super) fn new(
        scope: &InferenceScope<'a>,
        devices: &[DeviceTables<'a>],
        words: &StatementsByHost<'a>,
        found: &mut InferredNetwork,
    ) -> NodeDirectory<'a> {
        let mut directory = NodeDirectory {
            chassis: UniqueIndex(HashMap::new()),
            macs: UniqueIndex(HashMap::new()),
            names: names(scope, devices),
            host_macs: HashMap::new(),
            strangers: UnlistedNames::default(),
        };
        for device in devices {
            let node = ListedNode::Switch(device.name);
            if let Some(id) = device.lldp().and_then(|l| l.chassis.as_ref())
                && !directory.chassis.claim(id.clone(), node)
            {
                found.alarm(device.name, AlarmKind::ChassisTwice(id.clone()));
            }
            for mac in device.macs().collect::<BTreeSet<_>>() {
                directory.macs.claim(mac, node);
            }
        }
        let resolved = resolved(devices);
        for (name, host) in scope.hosts {
            let stated = host.mac.into_iter().collect();
            let macs = host
                .address
                .filter(|_| host.mac.is_none())
                .map_or(stated, |a| resolved.get(&a).cloned().unwrap_or_default());
            if macs.len() > 1 {
                found.alarm(
                    name,
                    AlarmKind::AddressTwice(macs.iter().copied().collect()),
                );
            }
            directory.host(name, macs, found);
        }
        directory.heard(devices, found);
        directory.told(words, found);
        directory
    }

    /// Adds the statements of hosts' agents about themselves. They add to the other facts, and take
    /// no key from another node.
    fn told(&mut self, words: &StatementsByHost<'a>, found: &mut InferredNetwork) {
        for (name, mac) in own_macs(words, found) {
            match self.macs.0.get(&mac) {
                None => drop(self.macs.claim(mac, ListedNode::Host(name))),
                Some(Some(ListedNode::Host(owner))) if *owner == name => {}
                Some(owner) => {
                    found.alarm(name, AlarmKind::ForeignMac(mac, owner.map(NamedNode::from)));
                    continue;
                }
            }
            self.host_macs.entry(name).or_default().insert(mac);
        }
        for (name, address) in own_addresses(words) {
            self.chassis
                .0
                .entry(NeighbourId::Address(address))
                .or_insert(Some(ListedNode::Host(name)));
        }
    }

    fn host(&mut self, name: &'a str, macs: BTreeSet<Mac>, found: &mut InferredNetwork) {
        for &mac in &macs {
            let owner = self.macs.get(&mac);
            if !self.macs.claim(mac, ListedNode::Host(name)) {
                found.alarm(name, AlarmKind::MacTwice(mac, owner.map(NamedNode::from)));
            }
        }
        self.host_macs.entry(name).or_default().extend(macs);
    }

    /// Adds the statements of hosts about themselves by LLDP: a MAC address in a row with a host's
    /// name belongs to that host.
    fn heard(&mut self, devices: &[DeviceTables<'a>], found: &mut InferredNetwork) {
        let mut said: HashMap<Mac, BTreeSet<&'a str>> = HashMap::new();
        for row in devices
            .iter()
            .filter_map(|d| d.lldp())
            .flat_map(|l| &l.neighbours)
        {
            let Some(ListedNode::Host(name)) = self.by_name(&row.name) else {
                continue;
            };
            for mac in macs_of(row) {
                said.entry(mac).or_default().insert(name);
            }
        }
        let mut said: Vec<_> = said.into_iter().collect();
        said.sort();
        for (mac, names) in said {
            let mut owners: BTreeSet<&str> = names.clone();
            owners.extend(match self.macs.get(&mac) {
                Some(ListedNode::Host(owner)) => Some(owner),
                _ => None,
            });
            for &name in owners.iter().filter(|_| owners.len() > 1) {
                let others = owners
                    .iter()
                    .filter(|o| **o != name)
                    .map(|o| (*o).to_owned())
                    .collect();
                found.alarm(name, AlarmKind::MacAnnounced(mac, others));
            }
            for name in names {
                self.macs.claim(mac, ListedNode::Host(name));
                self.host_macs.entry(name).or_default().insert(mac);
            }
        }
    }

    /// Adds identities that only statements reveal. A device without statements about itself is
    /// identified by the other end of its cable: it names a neighbour's port, and that neighbour
    /// names a stranger there.
    pub(super) fn add_from_statements(
        &mut self,
        devices: &[DeviceTables<'a>],
        statements: &[NeighbourStatement<'_>],
    ) {
        let unnamed = |d: &DeviceTables<'_>| {
            d.macs().next().is_none()
                && d.lldp()
                    .is_none_or(|l| l.chassis.is_none() && l.name.is_empty())
        };
        let mut met = Vec::new();
        for statement in statements.iter().filter(|s| unnamed(&devices[s.device])) {
            let NeighbourIdentity::Known {
                node: ListedNode::Switch(name),
                ..
            } = self.identify(&statement.row)
            else {
                continue;
            };
            let Some(to) = devices.iter().position(|d| d.name == name) else {
                continue;
            };
            let Some(port) =
                devices[to].remote_port(statement.row.port.as_ref(), &statement.row.port_descr)
            else {
                continue;
            };
            let mut there = statements
                .iter()
                .filter(|s| s.device == to && s.port == port);
            if let (Some(back), None) = (there.next(), there.next())
                && matches!(self.identify(&back.row), NeighbourIdentity::Stranger(_))
            {
                met.extend(
                    back.row
                        .chassis
                        .clone()
                        .map(|id| (id, ListedNode::Switch(devices[statement.device].name))),
                );
            }
        }
        for (id, node) in met {
            self.chassis.claim(id, node);
        }
        self.learn_silent(devices, statements);
        let strange = statements
            .iter()
            .map(|s| s.row.as_ref())
            .filter(|row| matches!(self.identify(row), NeighbourIdentity::Stranger(_)));
        self.strangers = UnlistedNames::new(strange);
    }

    /// A node that never answered is recognized by the other identifiers in the rows with its name.
    fn learn_silent(
        &mut self,
        devices: &[DeviceTables<'a>],
        statements: &[NeighbourStatement<'_>],
    ) {
        let answering: HashSet<&str> = devices.iter().map(|d| d.name).collect();
        let mut met = Vec::new();
        for row in statements
            .iter()
            .filter(|s| s.protocol == DiscoveryProtocol::Lldp)
            .map(|s| s.row.as_ref())
        {
            if let Some(node @ ListedNode::Switch(name)) =
                self.by_name(&row.name).filter(|_| !row.name.is_empty())
                && !answering.contains(name)
            {
                met.push((node, row.chassis.clone(), macs_of(row).collect::<Vec<_>>()));
            }
        }
        for (node, chassis, macs) in met {
            if let Some(id) = chassis {
                self.chassis.claim(id, node);
            }
            macs.into_iter()
                .for_each(|mac| _ = self.macs.claim(mac, node));
        }
    }

    /// The node that a neighbour row names.
    pub(super) fn identify(&self, row: &LldpNeighbour) -> NeighbourIdentity<'a> {
        let by = |node, by| NeighbourIdentity::Known { node, by };
        if let Some((id, node)) = row
            .chassis
            .as_ref()
            .and_then(|id| Some((id, self.chassis.get(id)?)))
        {
            return by(node, RecognizedBy::Chassis(id.clone()));
        }
        if let Some((mac, node)) = macs_of(row).find_map(|m| Some((m, self.macs.get(&m)?))) {
            return by(node, RecognizedBy::Mac(mac));
        }
        if let Some(node) = self.by_name(&row.name) {
            return by(node, RecognizedBy::Name(row.name.clone()));
        }
        self.strangers
            .name(row)
            .map_or(NeighbourIdentity::Nobody, NeighbourIdentity::Stranger)
    }

    fn by_name(&self, name: &str) -> Option<ListedNode<'a>> {
        let full = name.to_ascii_lowercase();
        self.names
            .get(full.as_str())
            .or_else(|| self.names.get(short(&full)))
    }

    /// The known MAC addresses of a host: declared, resolved or announced.
    pub(super) fn macs_of_host<'s>(
        &'s self,
        host: &'s str,
    ) -> impl Iterator<Item = Mac> + use<'s, 'a> {
        let own = move |mac: &Mac| {
            self.macs
                .get(mac)
                .is_some_and(|o| o == ListedNode::Host(host))
        };
        self.host_macs
            .get(host)
            .into_iter()
            .flatten()
            .copied()
            .filter(own)
    }

    /// True if the MAC address belongs to a switch.
    pub(super) fn is_switch(&self, mac: Mac) -> bool {
        self.switch_of(mac).is_some()
    }

    /// The switch with this MAC address of its own.
    pub(super) fn switch_of(&self, mac: Mac) -> Option<&'a str> {
        match self.macs.get(&mac) {
            Some(ListedNode::Switch(name)) => Some(name),
            _ => None,
        }
    }
}

/// The names of the inventory come first. A system name that is shared or already taken names no
/// node.
fn names<'a>(
    scope: &InferenceScope<'a>,
    devices: &[DeviceTables<'a>],
) -> UniqueIndex<String, ListedNode<'a>> {
    let mut names = UniqueIndex(HashMap::new());
    for device in devices {
        let cdp = device.lldp().map(|l| &l.cdp.device);
        let said = [
            device.lldp().map(|l| &l.name),
            device.view.system.as_ref().map(|s| &s.name),
            cdp,
        ];
        let said: BTreeSet<String> = said
            .into_iter()
            .flatten()
            .filter(|n| !n.is_empty())
            .map(|n| n.to_ascii_lowercase())
            .collect();
        for name in said {
            if short(&name) != name {
                names.claim(short(&name).to_owned(), ListedNode::Switch(device.name));
            }
            names.claim(name, ListedNode::Switch(device.name));
        }
    }
    let switches = scope
        .switches
        .iter()
        .map(|(n, _)| (*n, ListedNode::Switch(n)));
    for (name, node) in switches.chain(
        scope
            .hosts
            .keys()
            .map(|n| (n.as_str(), ListedNode::Host(n))),
    ) {
        match scope.strangers {
            UnlistedPolicy::Told => {
                names.0.insert(name.to_ascii_lowercase(), Some(node));
            }
            // The name of a file is only the recorder's name for the device. The device's own name
            // comes first.
            UnlistedPolicy::Shown => {
                names
                    .0
                    .entry(name.to_ascii_lowercase())
                    .or_insert(Some(node));
            }
        }
    }
    names
}

/// A host name without its domain.
fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The stations with each address according to ARP tables.
fn resolved(devices: &[DeviceTables<'_>]) -> HashMap<IpAddr, BTreeSet<Mac>> {
    let mut stations: HashMap<IpAddr, BTreeSet<Mac>> = HashMap::new();
    for entry in devices.iter().flat_map(|d| d.view.arp.iter().flatten()) {
        stations.entry(entry.ip).or_default().insert(entry.mac);
    }
    stations
}

/// The MAC addresses in a neighbour row, of its chassis and its port.
pub(super) fn macs_of(row: &LldpNeighbour) -> impl Iterator<Item = Mac> {
    let ids = [row.chassis.as_ref(), row.port.as_ref()];
    ids.into_iter().flatten().filter_map(|id| {
        if let NeighbourId::Mac(m) = id {
            Some(*m).filter(|m| m.is_station())
        } else {
            None
        }
    })
}
