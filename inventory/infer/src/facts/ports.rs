//! The ports of one device, interned: each number and name by which tables call a port leads to one
//! [`PortIx`].
use inventory::device_view::DeviceView;
use inventory::natural_order::natural;
use inventory::observation::{BridgePort, BridgeTable, InterfaceKind, InterfaceRow, StpState};
use inventory::{BitsPerSec, Mac};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::ops::Index;

/// The number of a port among the ports of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PortIx(pub(crate) u32);

/// The facts about one port.
#[derive(Debug, Clone, Default)]
pub(crate) struct PortFacts {
    /// Its IF-MIB name, or the best known name.
    pub(crate) name: String,
    /// ifDescr.
    pub(crate) descr: String,
    /// ifAlias.
    pub(crate) alias: String,
    pub(crate) mac: Option<Mac>,
    /// Its own IP addresses.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) kind: InterfaceKind,
    pub(crate) rate: Option<BitsPerSec>,
    /// False if it is known to be down. Neighbours that it still lists are gone.
    pub(crate) up: bool,
    /// The aggregate that has it as a member.
    pub(crate) aggregate: Option<PortIx>,
    /// Its row as a bridge port, if forwarding databases use it.
    pub(crate) bridge: Option<BridgePort>,
    /// The VLAN of frames without a tag.
    pub(crate) vlan: Option<u16>,
    /// The logical unit that takes part in bridging in its place, as `ge-0/0/1.0` does for
    /// `ge-0/0/1`.
    unit: Option<PortIx>,
    /// The interface that carries it, if it is such a unit.
    pub(crate) carrier: Option<PortIx>,
}

/// All ports of a device.
#[derive(Debug, Default)]
pub(crate) struct PortTable {
    ports: Vec<PortFacts>,
    /// ifIndex to port.
    by_index: HashMap<u32, PortIx>,
    /// Base port to port: the two numberings differ (RFC 4188, dot1dBasePortIfIndex).
    by_base: HashMap<u32, PortIx>,
    names: HashMap<String, OneOrSeveral>,
    descriptions: HashMap<String, OneOrSeveral>,
    aliases: HashMap<String, OneOrSeveral>,
    macs: HashMap<Mac, OneOrSeveral>,
    /// The place of each port in the natural order of names.
    places: Vec<u32>,
    /// Ports that only LLDP tables know, by name.
    unlisted: HashMap<String, PortIx>,
}

/// The port that has a key, if only one has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OneOrSeveral {
    One(PortIx),
    Several,
}

impl OneOrSeveral {
    fn add<K: std::hash::Hash + Eq>(keys: &mut HashMap<K, OneOrSeveral>, key: K, port: PortIx) {
        keys.entry(key)
            .and_modify(|known| {
                if *known != OneOrSeveral::One(port) {
                    *known = OneOrSeveral::Several;
                }
            })
            .or_insert(OneOrSeveral::One(port));
    }

    fn only(known: Option<&OneOrSeveral>) -> Option<PortIx> {
        match known {
            Some(OneOrSeveral::One(port)) => Some(*port),
            _ => None,
        }
    }
}

impl Index<PortIx> for PortTable {
    type Output = PortFacts;

    fn index(&self, port: PortIx) -> &PortFacts {
        &self.ports[port.0 as usize]
    }
}

impl PortTable {
    /// `chassis`: the address that names the device.
    pub(crate) fn new(view: &DeviceView, chassis: Option<Mac>) -> PortTable {
        let mut table = PortTable::default();
        let interfaces = view.interfaces.as_deref().unwrap_or_default();
        // Of rows with one ifIndex the first counts.
        for row in interfaces {
            if !table.by_index.contains_key(&row.index) {
                let port = table.add(of_interface(row));
                table.by_index.insert(row.index, port);
            }
        }
        table.join(interfaces);
        let bridge = view.bridge.as_ref();
        // A bridge without a root runs no spanning tree. It lists its ports as disabled although
        // they carry frames.
        let runs = bridge.is_some_and(|b| b.root_bridge.is_some());
        let rows = bridge.map_or(&[][..], |b| &b.ports);
        let listed = rows
            .iter()
            .filter(|row| table.by_index.contains_key(&row.if_index));
        let lists_most = 2 * listed.count() > rows.len();
        for row in rows {
            let is_open = bridge.is_some_and(|b| {
                differs_by_tree(b, row) || blocks_as_designated([b.address, chassis], row)
            });
            table.add_base_port(row, runs, is_open, lists_most);
        }
        for (index, vlan) in bridge.iter().flat_map(|bridge| &bridge.vlans) {
            if let Some(port) = table.by_index.get(index) {
                table.ports[port.0 as usize].vlan = Some(*vlan);
            }
        }
        table.join_units(interfaces);
        table.index_keys();
        table
    }

    fn add(&mut self, facts: PortFacts) -> PortIx {
        let port = PortIx(u32::try_from(self.ports.len()).unwrap_or(u32::MAX));
        self.ports.push(facts);
        port
    }

    /// Joins each interface to its aggregate.
    fn join(&mut self, interfaces: &[InterfaceRow]) {
        for row in interfaces {
            let port = self.by_index[&row.index];
            let aggregate = row.aggregate.and_then(|index| self.by_index.get(&index));
            let aggregate = aggregate.copied().filter(|a| *a != port);
            self.ports[port.0 as usize].aggregate = aggregate;
        }
    }

    /// Joins the logical units that take part in bridging to the interfaces that carry them, by
    /// ifStackTable or by their names.
    fn join_units(&mut self, interfaces: &[InterfaceRow]) {
        let names: HashMap<&str, PortIx> = interfaces
            .iter()
            // Of interfaces with one name the first counts, which is the last one collected.
            .rev()
            .map(|row| (row.name.as_str(), self.by_index[&row.index]))
            .collect();
        for row in interfaces {
            let port = self.by_index[&row.index];
            let below = row
                .below
                .filter(|_| matches!(row.kind, InterfaceKind::Virtual | InterfaceKind::Other))
                .and_then(|index| self.by_index.get(&index));
            let carrier = below.or_else(|| {
                let (carrier, unit) = row.name.rsplit_once('.')?;
                let is_number = !unit.is_empty() && unit.bytes().all(|b| b.is_ascii_digit());
                names.get(carrier).filter(|_| is_number)
            });
            let Some(&carrier) = carrier.filter(|c| **c != port) else {
                continue;
            };
            self.ports[port.0 as usize].carrier = Some(carrier);
            if self[port].bridge.is_some() && self[carrier].bridge.is_none() {
                self.ports[carrier.0 as usize].unit.get_or_insert(port);
            }
        }
    }

    /// Adds a row of dot1dBasePortTable. Where a device lists no interfaces at all, its ports are
    /// known only by their numbers. Where it lists most, a port without an interface is one that
    /// was made or removed between two reads.
    fn add_base_port(&mut self, row: &BridgePort, runs_stp: bool, is_open: bool, lists_most: bool) {
        let port = match self.by_index.get(&row.if_index) {
            Some(port) => *port,
            None => {
                let port = self.add(PortFacts {
                    name: row.number.to_string(),
                    up: !lists_most,
                    ..PortFacts::default()
                });
                if row.if_index != 0 {
                    self.by_index.insert(row.if_index, port);
                }
                port
            }
        };
        self.by_base.entry(row.number).or_insert(port);
        let facts = &mut self.ports[port.0 as usize];
        // A port that is up carries frames, whatever spanning tree says of its part in it: it is a
        // member of an aggregate, or takes no part.
        let row = BridgePort {
            state: row.state.filter(|state| {
                !is_open && (*state != StpState::Disabled || (runs_stp && !facts.up))
            }),
            ..row.clone()
        };
        facts.bridge.get_or_insert(row);
    }

    fn index_keys(&mut self) {
        for (number, facts) in self.ports.iter().enumerate() {
            let port = PortIx(u32::try_from(number).unwrap_or(u32::MAX));
            for (keys, key) in [
                (&mut self.names, &facts.name),
                (&mut self.descriptions, &facts.descr),
                (&mut self.aliases, &facts.alias),
            ] {
                if !key.is_empty() {
                    OneOrSeveral::add(keys, key.clone(), port);
                }
            }
        }
        let physical = self.ports.iter().enumerate();
        let mut logical = Vec::new();
        for (number, facts) in physical {
            let port = PortIx(u32::try_from(number).unwrap_or(u32::MAX));
            match facts.mac.filter(|m| m.is_station()) {
                Some(mac) if facts.is_cable() => {
                    OneOrSeveral::add(&mut self.macs, mac, port);
                }
                Some(mac) => logical.push((mac, port)),
                None => {}
            }
        }
        // VLAN interfaces, aggregates and units often have the address of a port, which then means
        // the port.
        let known: Vec<(Mac, PortIx)> = logical
            .into_iter()
            .filter(|(mac, _)| !self.macs.contains_key(mac))
            .collect();
        for (mac, port) in known {
            OneOrSeveral::add(&mut self.macs, mac, port);
        }
    }

    /// Puts all ports in the natural order of their names.
    pub(crate) fn put_in_order(&mut self) {
        let mut order: Vec<usize> = (0..self.ports.len()).collect();
        order.sort_by_cached_key(|port| natural(&self.ports[*port].name));
        self.places = vec![0; self.ports.len()];
        for (place, port) in order.into_iter().enumerate() {
            self.places[port] = u32::try_from(place).unwrap_or(u32::MAX);
        }
    }

    /// The place of a port in the natural order of names.
    pub(crate) fn place_in_order(&self, port: PortIx) -> u32 {
        self.places[port.0 as usize]
    }

    /// Every port, with its number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PortIx, &PortFacts)> {
        self.ports
            .iter()
            .enumerate()
            .map(move |(n, facts)| (PortIx(u32::try_from(n).unwrap_or(u32::MAX)), facts))
    }

    /// The number of ports.
    pub(crate) fn len(&self) -> usize {
        self.ports.len()
    }

    /// The port with an ifIndex.
    pub(crate) fn by_index(&self, index: u32) -> Option<PortIx> {
        self.by_index.get(&index).copied()
    }

    /// The port with a bridge port number, as in the forwarding database.
    pub(crate) fn by_base(&self, number: u32) -> Option<PortIx> {
        self.by_base.get(&number).copied()
    }

    /// True if the device tells the number of any bridge port.
    pub(crate) fn has_base_ports(&self) -> bool {
        !self.by_base.is_empty()
    }

    /// The only port with this IF-MIB name.
    pub(crate) fn by_name(&self, name: &str) -> Option<PortIx> {
        OneOrSeveral::only(self.names.get(name))
    }

    /// The only port with this ifDescr.
    pub(crate) fn by_descr(&self, descr: &str) -> Option<PortIx> {
        OneOrSeveral::only(self.descriptions.get(descr))
    }

    /// The only port with this ifAlias.
    pub(crate) fn by_alias(&self, alias: &str) -> Option<PortIx> {
        OneOrSeveral::only(self.aliases.get(alias))
    }

    /// The port whose IF-MIB name this is, or else whose ifDescr.
    pub(crate) fn by_exact_name(&self, name: &str) -> Option<PortIx> {
        self.by_name(name).or_else(|| self.by_descr(name))
    }

    /// True if the text is a name or description of the port.
    pub(crate) fn is_described(&self, port: PortIx, text: &str) -> bool {
        let PortFacts {
            name, descr, alias, ..
        } = &self[port];
        !text.is_empty() && [name, descr, alias].contains(&&text.to_owned())
    }

    /// The only port with this MAC address. A physical port goes before its VLAN interfaces.
    pub(crate) fn by_mac(&self, mac: Mac) -> Option<PortIx> {
        OneOrSeveral::only(self.macs.get(&mac))
    }

    /// The port that takes part in bridging for a port: the aggregate that has it as a member, the
    /// unit that it carries, or the port itself.
    pub(crate) fn whole(&self, port: PortIx) -> PortIx {
        let whole = self[port].aggregate.unwrap_or(port);
        self[whole].unit.unwrap_or(whole)
    }

    /// True if neighbours may be seen on a port: LLDP runs on the members of aggregates.
    pub(crate) fn may_speak(&self, port: PortIx) -> bool {
        let facts = &self[port];
        let mut interfaces = [Some(port), facts.carrier].into_iter().flatten();
        facts.may_be_cabled() && !interfaces.any(|own| self[own].is_aggregate())
    }

    /// The port's STP state, if the device serves one. Frames are forwarded by an aggregate and not by
    /// its members, whatever is listed with them.
    pub(crate) fn state(&self, port: PortIx) -> Option<StpState> {
        let mut interfaces = [self.whole(port), port].into_iter();
        interfaces.find_map(|own| self[own].bridge.as_ref()?.state)
    }

    /// The port with this name that only the device's LLDP tables know. It is added if it is new.
    pub(crate) fn unlisted(&mut self, name: String) -> PortIx {
        self.unlisted_port(name, true)
    }

    /// The same for a port that was removed: LLDP still lists it, and no other table does.
    pub(crate) fn removed(&mut self, name: String) -> PortIx {
        self.unlisted_port(name, false)
    }

    fn unlisted_port(&mut self, name: String, up: bool) -> PortIx {
        if let Some(known) = self.unlisted.get(&name) {
            return *known;
        }
        let port = self.add(PortFacts {
            name: name.clone(),
            up,
            ..PortFacts::default()
        });
        self.unlisted.insert(name, port);
        port
    }
}

impl PortFacts {
    pub(crate) fn is_aggregate(&self) -> bool {
        self.kind == InterfaceKind::Aggregate
    }

    /// True if it is one cable's end, as far as its kind and name tell.
    pub(crate) fn is_cable(&self) -> bool {
        self.may_be_cabled() && !self.is_aggregate() && self.carrier.is_none()
    }

    /// True if a cable may end here. Many devices call each of their interfaces a cable's end, but
    /// VLANs, tunnels and loopbacks are hardly ever anything else. A proprietary one is the unit of a
    /// cable, or bridges.
    pub(crate) fn may_be_cabled(&self) -> bool {
        match self.kind {
            InterfaceKind::Vlan
            | InterfaceKind::Bridge
            | InterfaceKind::Tunnel
            | InterfaceKind::Loopback => false,
            InterfaceKind::Virtual => self.carrier.is_some() || self.bridge.is_some(),
            InterfaceKind::Unsaid
            | InterfaceKind::Cable
            | InterfaceKind::Aggregate
            | InterfaceKind::Other => true,
        }
    }
}

/// True if a port is not in one state in all spanning trees of its bridge, so that it carries the
/// frames of some VLANs only.
fn differs_by_tree(bridge: &BridgeTable, row: &BridgePort) -> bool {
    let trees = bridge.instances.iter();
    let states = trees.filter_map(|tree| tree.states.get(&row.if_index).copied());
    let all: BTreeSet<StpState> = states.chain(row.state).collect();
    all.iter().filter(|s| **s != StpState::Disabled).count() > 1
}

/// True if a port is the designated one of its segment and yet blocks. Spanning tree blocks alternate and backup
/// ports only (IEEE 802.1D-2004, 17.3): the port is a member of an aggregate, or about to forward.
fn blocks_as_designated(own: [Option<Mac>; 2], row: &BridgePort) -> bool {
    let names_itself = row
        .designated_port
        .is_some_and(|port| u32::from(port) & 0xfff == row.number);
    let named = row.designated_bridge.map(|named| named.address);
    row.state == Some(StpState::Blocking) && names_itself && named.is_some() && own.contains(&named)
}

fn of_interface(row: &InterfaceRow) -> PortFacts {
    PortFacts {
        name: if row.name.is_empty() {
            row.index.to_string()
        } else {
            row.name.clone()
        },
        descr: row.descr.clone(),
        alias: row.alias.clone(),
        mac: row.mac,
        addresses: row.addresses.clone(),
        kind: row.kind,
        rate: row.rate,
        up: row.up,
        ..PortFacts::default()
    }
}
