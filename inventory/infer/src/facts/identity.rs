//! The identity of a neighbour: by chassis id, then MAC address, then system name (IEEE 802.1AB
//! names all three; devices do not always send them correctly). An identifier that two devices
//! claim is not used, and a name never outvotes a chassis id that is known to be another.
use super::by_host::ByHost;
use super::device::{ChassisAnswer, tells};
use super::host_statements::{own_addresses, own_macs};
use super::names::{NameIndex, is_factory_name};
use super::{DeviceIx, DevicePortIx, Facts, NamedNeighbour, NodeIx};
use inventory::Mac;
use inventory::alarm::AlarmKind;
use inventory::evidence::RecognizedBy;
use inventory::host_report::DiscoveryProtocol;
use inventory::observation::{LldpNeighbour, NeighbourId};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

/// The neighbour that an LLDP row names.
#[derive(Debug, Clone)]
pub(crate) enum NeighbourIdentity {
    /// A listed node.
    Known(NamedNeighbour),
    /// Another node.
    Stranger,
    /// The row names no neighbour, or the device itself.
    Nobody,
}

/// All keys by which listed nodes can be recognized.
#[derive(Debug, Default)]
pub(crate) struct NodeDirectory {
    chassis: UniqueIndex<NeighbourId>,
    macs: UniqueIndex<Mac>,
    names: NameIndex,
    /// The known MAC addresses of each host.
    host_macs: ByHost<BTreeSet<Mac>>,
    /// The answers of devices about chassis ids that others announce under the devices' names.
    answers: HashMap<(NodeIx, NeighbourId), ChassisAnswer>,
    /// Nodes whose name is used by others, too.
    contested: HashSet<NodeIx>,
    /// Chassis ids that a device denies although its cable shows that they are its own.
    aliases: HashMap<NeighbourId, NodeIx>,
    /// Chassis ids that nobody owns, of a device whose name, port and database say that it sends them.
    witnessed: HashMap<NeighbourId, NodeIx>,
}

/// Keys that mean one node each. A key that was claimed twice means none.
#[derive(Debug)]
struct UniqueIndex<K>(HashMap<K, Option<NodeIx>>);

impl<K> Default for UniqueIndex<K> {
    fn default() -> UniqueIndex<K> {
        UniqueIndex(HashMap::new())
    }
}

impl<K: std::hash::Hash + Eq> UniqueIndex<K> {
    /// Claims a key. Returns whether no other node has claimed it.
    fn claim(&mut self, key: K, node: NodeIx) -> bool {
        let owner = self.0.entry(key).or_insert(Some(node));
        if *owner != Some(node) {
            *owner = None;
        }
        owner.is_some()
    }

    fn get(&self, key: &K) -> Option<NodeIx> {
        self.0.get(key).copied().flatten()
    }
}

impl NodeDirectory {
    /// Collects all keys, and raises alarms about those that several nodes claim.
    pub(super) fn new(facts: &mut Facts<'_>) -> NodeDirectory {
        let own = facts
            .devices()
            .map(|(_, own)| own.macs.len())
            .sum::<usize>();
        let mut directory = NodeDirectory {
            names: NameIndex::new(facts),
            macs: UniqueIndex(HashMap::with_capacity(own + facts.hosts.len())),
            host_macs: ByHost::new(facts),
            ..NodeDirectory::default()
        };
        for (device, own) in facts.devices() {
            if let Some(id) = &own.lldp_chassis
                && !directory.chassis.claim(id.clone(), device.into())
            {
                facts.alarm(&own.name, AlarmKind::ChassisTwice { id: id.clone() });
            }
            for mac in &own.macs {
                directory.macs.claim(*mac, device.into());
            }
        }
        directory.add_listed_hosts(facts);
        directory.add_announced_hosts(facts);
        directory.add_host_statements(facts);
        directory.find_denials(facts);
        directory.add_met_devices(facts);
        if !directory.contested.is_empty() {
            directory.witnessed = aliases(
                facts,
                |node, id| {
                    directory.answers.get(&(node, id.clone())) == Some(&ChassisAnswer::Denies)
                        && !directory.aliases.contains_key(id)
                },
                &directory.names,
            );
        }
        directory.add_silent_switches(facts);
        directory
    }

    /// Adds the addresses that the inventory states, or that ARP tables give for its hosts.
    fn add_listed_hosts(&mut self, facts: &mut Facts<'_>) {
        let wanted: HashSet<IpAddr> = facts
            .hosts()
            .filter(|(_, _, host)| host.mac.is_none())
            .filter_map(|(_, _, host)| host.address)
            .collect();
        let resolved = resolved(facts, &wanted);
        let hosts: Vec<_> = facts.hosts().collect();
        for (node, name, host) in hosts {
            let stated: BTreeSet<Mac> = host.mac.into_iter().collect();
            let macs = host
                .address
                .filter(|_| host.mac.is_none())
                .map_or(stated, |a| resolved.get(&a).cloned().unwrap_or_default());
            if macs.len() > 1 {
                let kind = AlarmKind::AddressTwice {
                    macs: macs.iter().copied().collect(),
                };
                facts.alarm(name, kind);
            }
            for &mac in &macs {
                let owner = self.macs.get(&mac);
                if !self.macs.claim(mac, node) {
                    let owner = owner.map(|o| facts.named_node(o));
                    facts.alarm(
                        name,
                        AlarmKind::MacTwice {
                            mac,
                            owned_by: owner,
                        },
                    );
                }
            }
            if let Some(known) = self.host_macs.get_mut(node) {
                *known = macs;
            }
        }
    }

    fn add_macs(&mut self, host: NodeIx, macs: impl IntoIterator<Item = Mac>) {
        if let Some(known) = self.host_macs.get_mut(host) {
            known.extend(macs);
        }
    }

    /// Adds the statements of hosts about themselves by LLDP: a MAC address in a row with a host's
    /// name belongs to that host.
    fn add_announced_hosts(&mut self, facts: &mut Facts<'_>) {
        let mut announced: Vec<(Mac, NodeIx)> = Vec::new();
        for (_, row) in lldp_rows(facts) {
            if let Some(host) = self.names.get(&row.name).filter(|n| facts.is_host(*n)) {
                announced.extend(macs_of(row).map(|mac| (mac, host)));
            }
        }
        announced.sort_unstable();
        announced.dedup();
        for same in announced.chunk_by(|a, b| a.0 == b.0) {
            let (mac, first) = same[0];
            if same.len() == 1 && self.macs.get(&mac) == Some(first) {
                self.add_macs(first, [mac]);
                continue;
            }
            let hosts: BTreeSet<NodeIx> = same.iter().map(|(_, host)| *host).collect();
            let mut owners = hosts.clone();
            owners.extend(self.macs.get(&mac).filter(|o| facts.is_host(*o)));
            for &owner in owners.iter().filter(|_| owners.len() > 1) {
                let others = owners.iter().filter(|o| **o != owner);
                let others = others.map(|o| facts.name(*o).to_owned()).collect();
                let owner = facts.name(owner).to_owned();
                facts.alarm(&owner, AlarmKind::MacAnnounced { mac, others });
            }
            for host in hosts {
                self.macs.claim(mac, host);
                self.add_macs(host, [mac]);
            }
        }
    }

    /// Adds the statements of hosts' agents about themselves. They add to the other facts, and take
    /// no key from another node.
    fn add_host_statements(&mut self, facts: &mut Facts<'_>) {
        for (host, mac) in own_macs(facts) {
            match self.macs.0.get(&mac).copied() {
                None => drop(self.macs.claim(mac, host)),
                Some(Some(owner)) if owner == host => {}
                Some(owner) => {
                    let owner = owner.map(|o| facts.named_node(o));
                    let name = facts.name(host).to_owned();
                    facts.alarm(
                        &name,
                        AlarmKind::ForeignMac {
                            mac,
                            owned_by: owner,
                        },
                    );
                    continue;
                }
            }
            self.add_macs(host, [mac]);
        }
        for (host, address) in own_addresses(facts) {
            let id = NeighbourId::Address(address);
            self.chassis.0.entry(id).or_insert(Some(host));
        }
    }

    /// Finds the rows whose name means a device that denies their chassis id. Others use such a name,
    /// too.
    fn find_denials(&mut self, facts: &Facts<'_>) {
        for (_, row) in lldp_rows(facts) {
            let Some(id) = row.chassis.as_ref().filter(|id| tells(id)) else {
                continue;
            };
            if self.by_address(row).is_some() {
                continue;
            }
            if let Some(node) = self.names.get(&row.name)
                && let Some(device) = facts.device_of(node)
            {
                let answer = facts[device].answer_to(id);
                if answer != ChassisAnswer::Agrees {
                    self.answers.insert((node, id.clone()), answer);
                }
                if answer == ChassisAnswer::Denies {
                    self.contested.insert(node);
                }
            }
        }
    }

    /// Adds identities that only the other end of a cable reveals. A device without statements
    /// about itself names a neighbour's port, and that neighbour names a stranger there. So it is
    /// with a device that announces another chassis id than its own to each neighbour.
    fn add_met_devices(&mut self, facts: &Facts<'_>) {
        let mut met = Vec::new();
        for (device, own) in facts
            .devices()
            .filter(|(d, own)| own.anonymous || self.contested.contains(&NodeIx::from(*d)))
        {
            for there in &own.neighbours {
                let NeighbourIdentity::Known(known) = self.identify(&there.row, device.into())
                else {
                    continue;
                };
                let Some(to) = facts.device_of(known.node) else {
                    continue;
                };
                let far = facts[to].remote_port(there.row.port.as_ref(), &there.row.port_descr);
                let mut back = facts[to].neighbours.iter().filter(|r| Some(r.port) == far);
                // If several neighbours are at that port, nothing says which of them is this device.
                let (Some(row), None) = (back.next(), back.next()) else {
                    continue;
                };
                let Some(id) = row.row.chassis.clone() else {
                    continue;
                };
                let stranger = matches!(
                    self.identify(&row.row, to.into()),
                    NeighbourIdentity::Stranger
                );
                let same_name = self.names.get(&row.row.name) == Some(device.into());
                if stranger && (own.anonymous || same_name) {
                    met.push((id, NodeIx::from(device), own.anonymous));
                }
            }
        }
        for (id, node, unnamed) in met {
            if unnamed {
                self.chassis.claim(id, node);
            } else {
                self.aliases.insert(id, node);
            }
        }
    }

    /// A switch that never answered is recognized by the other identifiers in the rows with its
    /// name.
    fn add_silent_switches(&mut self, facts: &Facts<'_>) {
        let mut met = Vec::new();
        // A switch that answered once is a device.
        let is_silent = facts.device_count() < facts.stated.start as usize;
        for (protocol, row) in all_rows(facts).filter(|_| is_silent) {
            if protocol == DiscoveryProtocol::Lldp
                && let Some(node) = self.names.get(&row.name)
                && facts.device_of(node).is_none()
                && facts.is_listed_switch(node)
            {
                let macs: Vec<Mac> = macs_of(row).collect();
                met.push((node, row.chassis.clone().filter(tells), macs));
            }
        }
        for (node, chassis, macs) in met {
            if let Some(id) = chassis {
                self.chassis.claim(id, node);
            }
            for mac in macs {
                self.macs.claim(mac, node);
            }
        }
    }

    /// The node with the chassis id or an address in a row.
    fn by_address(&self, row: &LldpNeighbour) -> Option<(NodeIx, RecognizedBy)> {
        let chassis = row.chassis.as_ref().filter(|id| tells(id));
        if let Some((id, node)) = chassis.and_then(|id| Some((id, self.chassis.get(id)?))) {
            return Some((node, RecognizedBy::Chassis(id.clone())));
        }
        let (mac, node) = macs_of(row).find_map(|m| Some((m, self.macs.get(&m)?)))?;
        Some((node, RecognizedBy::Mac(mac)))
    }

    /// The node that a neighbour row of a reporter names.
    pub(crate) fn identify(&self, row: &LldpNeighbour, reporter: NodeIx) -> NeighbourIdentity {
        match self.recognize(row) {
            Some((node, ..)) if node == reporter => NeighbourIdentity::Nobody,
            Some((node, by, doubtful)) => {
                NeighbourIdentity::Known(NamedNeighbour { node, by, doubtful })
            }
            None if row.chassis.is_none() && row.name.is_empty() => NeighbourIdentity::Nobody,
            None => NeighbourIdentity::Stranger,
        }
    }

    /// The node that a neighbour row names, by what, and whether that is doubtful.
    fn recognize(&self, row: &LldpNeighbour) -> Option<(NodeIx, RecognizedBy, bool)> {
        if let Some((node, by)) = self.by_address(row) {
            return Some((node, by, false));
        }
        let chassis = row.chassis.as_ref().filter(|id| tells(id));
        if let Some(node) = chassis.and_then(|id| self.aliases.get(id)) {
            return Some((*node, RecognizedBy::Name(row.name.clone()), true));
        }
        if let Some(node) = chassis.and_then(|id| self.witnessed.get(id)) {
            return Some((*node, RecognizedBy::Witnessed(row.name.clone()), false));
        }
        let node = self.names.get(&row.name)?;
        let answer = chassis.and_then(|id| self.answers.get(&(node, id.clone())));
        let doubtful = match answer.copied().unwrap_or(ChassisAnswer::Agrees) {
            ChassisAnswer::Agrees => self.contested.contains(&node),
            ChassisAnswer::Differs => true,
            ChassisAnswer::Denies => return None,
        };
        Some((node, RecognizedBy::Name(row.name.clone()), doubtful))
    }

    /// The names of listed and asked nodes.
    pub(crate) fn names(&self) -> &NameIndex {
        &self.names
    }

    /// The known MAC addresses of a host: declared, resolved or announced.
    pub(crate) fn macs_of_host(&self, host: NodeIx) -> impl Iterator<Item = Mac> + '_ {
        let macs = self.host_macs.get(host).into_iter().flatten();
        macs.copied()
            .filter(move |mac| self.macs.get(mac) == Some(host))
    }

    /// The node with this MAC address of its own.
    pub(crate) fn owner_of(&self, mac: Mac) -> Option<NodeIx> {
        self.macs.get(&mac)
    }
}

/// All rows of all devices that count, with the protocol of each.
fn all_rows<'f>(
    facts: &'f Facts<'_>,
) -> impl Iterator<Item = (DiscoveryProtocol, &'f LldpNeighbour)> {
    let keeps_down = facts.scope.policy.mixes_moments;
    facts
        .devices()
        .flat_map(|(_, own)| &own.neighbours)
        .filter(move |row| keeps_down || !row.down)
        .map(|row| (row.protocol, &row.row))
}

/// All LLDP rows of all devices, with the device.
fn lldp_rows<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (DeviceIx, &'f LldpNeighbour)> {
    facts.devices().flat_map(|(device, own)| {
        let rows = own.neighbours.iter();
        rows.filter(|r| r.protocol == DiscoveryProtocol::Lldp)
            .map(move |r| (device, &r.row))
    })
}

/// The stations with each of these addresses according to ARP tables.
fn resolved(facts: &Facts<'_>, wanted: &HashSet<IpAddr>) -> HashMap<IpAddr, BTreeSet<Mac>> {
    let mut stations: HashMap<IpAddr, BTreeSet<Mac>> = HashMap::new();
    if wanted.is_empty() {
        return stations;
    }
    for (_, own) in facts.devices() {
        let rows = facts.views[&own.name].arp.iter().flatten();
        for entry in rows.filter(|e| wanted.contains(&e.ip)) {
            stations.entry(entry.ip).or_default().insert(entry.mac);
        }
    }
    stations
}

/// The MAC addresses in a neighbour row, of its chassis and its port.
pub(crate) fn macs_of(row: &LldpNeighbour) -> impl Iterator<Item = Mac> {
    let ids = [row.chassis.as_ref(), row.port.as_ref()];
    ids.into_iter().flatten().filter_map(|id| match id {
        NeighbourId::Mac(mac) => Some(*mac).filter(|m| m.is_station()),
        _ => None,
    })
}

/// The device that sends each id that nobody owns, announced under the name of an asked device that has
/// another: some devices send another id on each port. Names are shared, so a name alone proves nothing
/// against an id; name, port and the databases of both ends do. `denied` tells whether a node denies an id.
fn aliases(
    facts: &Facts<'_>,
    denied: impl Fn(NodeIx, &NeighbourId) -> bool,
    names: &NameIndex,
) -> HashMap<NeighbourId, NodeIx> {
    let mut found: HashMap<NeighbourId, Option<NodeIx>> = HashMap::new();
    for (at, own) in facts.devices() {
        for row in &own.neighbours {
            let Some(id) = row.row.chassis.as_ref().filter(|id| tells(id)) else {
                continue;
            };
            let node = names.get(&row.row.name).filter(|node| denied(*node, id));
            let Some(node) = node.filter(|_| !is_factory_name(&row.row.name)) else {
                continue;
            };
            let sender = facts.device_of(node).filter(|sender| {
                let port = row.row.port.as_ref();
                let far = facts[*sender].remote_port(port, &row.row.port_descr);
                far.is_some_and(|far| have_each_other(facts, (at, row.port), (*sender, far)))
            });
            let node = sender.filter(|_| !is_learned(facts, id)).map(NodeIx::from);
            let known = found.entry(id.clone()).or_insert(node);
            *known = known.filter(|known| Some(*known) == node);
        }
    }
    let alone = found.into_iter().filter_map(|(id, node)| Some((id, node?)));
    alone.collect()
}

/// True if the databases of two devices have the other one behind these ports, and nowhere else.
fn have_each_other(facts: &Facts<'_>, a: DevicePortIx, b: DevicePortIx) -> bool {
    [(a, b.0), (b, a.0)]
        .into_iter()
        .all(|((device, port), other)| {
            let own = &facts[device];
            let macs = facts[other].macs.iter();
            let mut ports = macs.filter_map(|mac| own.learned.port_of(*mac)).peekable();
            ports.peek().is_some() && ports.all(|at| at == own.ports.whole(port))
        })
}

/// True if a station has this id, so that somebody owns it.
fn is_learned(facts: &Facts<'_>, id: &NeighbourId) -> bool {
    let NeighbourId::Mac(mac) = id else {
        return false;
    };
    facts
        .devices()
        .any(|(_, own)| own.learned.port_of(*mac).is_some())
}
