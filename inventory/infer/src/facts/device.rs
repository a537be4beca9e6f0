//! The facts about one device: its joined tables, with each number and name resolved.
//!
//! They follow from the device's own view alone, so they are kept while the view does not change.
use super::learned::LearnedStations;
use super::port_names::LldpPorts;
use super::port_reading::PortNumbering;
use super::ports::{PortIx, PortTable};
use inventory::Mac;
use inventory::device_view::DeviceView;
use inventory::evidence::DevicePort;
use inventory::host_report::DiscoveryProtocol;
use inventory::observation::{
    BridgeId, CdpNeighbour, LldpNeighbour, LldpPort, LldpTable, NeighbourId, StpState,
    SystemCapabilities,
};
use std::collections::{BTreeSet, HashMap};

/// The most ports of a bridge for which addresses near its own are assumed.
const MOST_PORTS: u32 = 128;

/// sysServices (RFC 3418): internet.
const ROUTES: u32 = 0x04;

/// A device that answered at some time.
#[derive(Debug)]
pub(crate) struct DeviceFacts {
    pub(crate) name: String,
    /// True if it stopped answering. Its statements are then those of the last answer.
    pub(crate) stale: bool,
    pub(crate) ports: PortTable,
    /// lldpLocChassisId, if it can tell the device from others.
    pub(crate) lldp_chassis: Option<NeighbourId>,
    /// dot1dBaseBridgeAddress.
    pub(crate) bridge_address: Option<Mac>,
    /// Addresses in bridge identifiers that it uses as its own, and that it does not have alone: those
    /// of a pair of switches that act as one.
    pub(crate) common_ids: BTreeSet<Mac>,
    /// The root bridge that it states.
    pub(crate) root_bridge: Option<BridgeId>,
    /// True if it serves bridge ports, or learned stations.
    pub(crate) bridges: bool,
    /// Its own names in lower case: by LLDP, sysName and CDP.
    pub(crate) own_names: Vec<String>,
    /// All MAC addresses of its own.
    pub(crate) macs: BTreeSet<Mac>,
    /// The addresses after the bridge's. If the device lists none of its ports' addresses, theirs
    /// are usually these.
    pub(crate) likely_macs: Vec<Mac>,
    pub(crate) capabilities: Option<SystemCapabilities>,
    pub(crate) services: Option<u32>,
    /// Its statements about neighbours: by LLDP and, on ports without LLDP rows, by CDP.
    pub(crate) neighbours: Vec<NeighbourRow>,
    /// Neighbours seen at interfaces that hold no cable: tunnels, VLANs, bridges.
    pub(crate) inside: Vec<NeighbourRow>,
    /// True if it states nothing by which LLDP or an address could tell who it is.
    pub(crate) anonymous: bool,
    /// True if its LLDP table names any neighbour.
    pub(crate) hears_lldp: bool,
    /// True if its LLDP or CDP table names any neighbour.
    pub(crate) hears: bool,
    /// True if it takes part in LLDP, according to its tables.
    pub(crate) speaks_lldp: bool,
    /// True if it takes part in CDP, according to its tables.
    pub(crate) speaks_cdp: bool,
    pub(crate) learned: LearnedStations,
    /// The local port table of LLDP.
    pub(crate) lldp_ports: LldpPorts,
}

/// The answer of a device to a chassis id that somebody else announces under its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChassisAnswer {
    /// It is its own, or the device does not say.
    Agrees,
    /// Its own id is of another sort.
    Differs,
    /// Its own id is another.
    Denies,
}

/// The statement of a device that it has a neighbour at a port.
#[derive(Debug)]
pub(crate) struct NeighbourRow {
    pub(crate) port: PortIx,
    /// The neighbour, in the form of an LLDP row.
    pub(crate) row: LldpNeighbour,
    /// CDP passes through switches that do not speak it, so the neighbour may be further away.
    pub(crate) protocol: DiscoveryProtocol,
    /// True if the same device says that the port is down.
    pub(crate) down: bool,
    /// True if the device's tables fit another port as well.
    pub(crate) guessed: bool,
}

/// The MAC address that names a device: its chassis id, or else its bridge address.
pub(crate) fn chassis(view: &DeviceView) -> Option<Mac> {
    let lldp = view.lldp.as_ref().and_then(|l| match l.chassis {
        Some(NeighbourId::Mac(mac)) => Some(mac),
        _ => None,
    });
    lldp.filter(|m| !m.names_nobody())
        .or_else(|| view.bridge.as_ref()?.address)
        .filter(|m| !m.names_nobody())
}

/// True if the id can tell its owner from others; many devices send zeros.
pub(crate) fn tells(id: &NeighbourId) -> bool {
    !id.names_nobody()
}

impl DeviceFacts {
    pub(crate) fn new(name: &str, view: &DeviceView) -> DeviceFacts {
        DeviceFacts::read(name, view, None)
    }

    /// The facts where other devices tell which numbering of ports LLDP's tables follow, as the
    /// device's own tables do not.
    pub(crate) fn read(
        name: &str,
        view: &DeviceView,
        numbering: Option<PortNumbering>,
    ) -> DeviceFacts {
        let mut ports = PortTable::new(view, chassis(view));
        let nothing = LldpTable::default();
        let lldp = view.lldp.as_ref().unwrap_or(&nothing);
        let lldp_ports = LldpPorts::new(lldp, &mut ports, numbering);
        let rows = neighbour_rows(lldp, &lldp_ports, &mut ports);
        let (neighbours, inside): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .partition(|row| ports[row.port].may_be_cabled());
        // Only now: rows of neighbours may add ports that no other table lists.
        ports.put_in_order();
        let learned =
            LearnedStations::new(view.fdb.as_deref().unwrap_or_default(), &ports, &lldp_ports);
        let bridge = view.bridge.as_ref();
        let system = view.system.as_ref();
        let bridge_address = bridge.and_then(|b| b.address).filter(|m| !m.names_nobody());
        let hears_lldp = !lldp.neighbours.is_empty();
        let macs = own_macs(view, &ports);
        DeviceFacts {
            anonymous: macs.is_empty() && lldp.chassis.is_none() && lldp.name.is_empty(),
            name: name.to_owned(),
            stale: view.stale.is_some(),
            lldp_chassis: lldp.chassis.clone().filter(tells),
            bridge_address,
            common_ids: common_ids(&ports, bridge_address),
            root_bridge: bridge.and_then(|b| b.root_bridge),
            bridges: bridge.is_some_and(|b| !b.ports.is_empty()) || !learned.is_empty(),
            own_names: own_names([
                Some(&lldp.name),
                system.map(|s| &s.name),
                Some(&lldp.cdp.device),
            ]),
            macs,
            likely_macs: likely_macs(view, bridge_address),
            capabilities: lldp.capabilities,
            services: system.and_then(|s| s.services),
            neighbours,
            inside,
            hears_lldp,
            hears: hears_lldp || !lldp.cdp.neighbours.is_empty(),
            speaks_lldp: lldp.chassis.is_some() || !lldp.name.is_empty() || hears_lldp,
            speaks_cdp: !lldp.cdp.device.is_empty() || !lldp.cdp.neighbours.is_empty(),
            learned,
            lldp_ports,
            ports,
        }
    }

    /// The port that a neighbour names by an LLDP port id and description.
    pub(crate) fn remote_port(&self, id: Option<&NeighbourId>, descr: &str) -> Option<PortIx> {
        self.lldp_ports.remote(id, descr, &self.ports)
    }

    /// True if only what is usual says which port that is.
    pub(crate) fn is_remote_guess(&self, id: Option<&NeighbourId>, descr: &str) -> bool {
        self.lldp_ports.is_remote_guess(id, descr, &self.ports)
    }

    /// A port by the names of the device and of the port.
    pub(crate) fn place(&self, port: PortIx) -> DevicePort {
        DevicePort::new(&self.name, &self.ports[port].name)
    }

    /// True if it says that it routes.
    pub(crate) fn routes(&self) -> bool {
        let is_capable = self.capabilities.is_some_and(|able| able.router);
        is_capable || self.services.is_some_and(|services| services & ROUTES != 0)
    }

    /// True if it states a chassis id or address of its own, by which others can know it.
    pub(crate) fn has_identity(&self) -> bool {
        self.lldp_chassis.is_some() || !self.macs.is_empty()
    }

    /// The answer of its own tables to the claim that this is its chassis id.
    pub(crate) fn answer_to(&self, id: &NeighbourId) -> ChassisAnswer {
        match (&self.lldp_chassis, id) {
            (Some(own), id) if own == id => ChassisAnswer::Agrees,
            (_, NeighbourId::Mac(mac)) if self.macs.contains(mac) => ChassisAnswer::Agrees,
            (_, NeighbourId::Mac(_)) if !self.macs.is_empty() => ChassisAnswer::Denies,
            (Some(NeighbourId::Text(_)), NeighbourId::Text(_)) => ChassisAnswer::Denies,
            (Some(_), _) => ChassisAnswer::Differs,
            (None, _) => ChassisAnswer::Agrees,
        }
    }

    /// The address of the bridge that spanning tree names as designated on the segment of a port.
    pub(crate) fn designated_at(&self, port: PortIx) -> Option<Mac> {
        let row = self.ports[port].bridge.as_ref()?;
        let takes_part = row.state.is_some_and(|s| s != StpState::Disabled);
        let named = row.designated_bridge.filter(|_| takes_part)?.address;
        (!self.common_ids.contains(&named)).then_some(named)
    }
}

/// The other bridges' addresses that several forwarding ports name as designated. A bridge has one root
/// port, and at its other forwarding ports it is the designated bridge itself (IEEE 802.1D-2004, 17.3). So it is
/// at a port that takes no part, which then names that port itself.
fn common_ids(ports: &PortTable, own: Option<Mac>) -> BTreeSet<Mac> {
    let mut named: HashMap<Mac, (bool, BTreeSet<u16>)> = HashMap::new();
    for row in ports.iter().filter_map(|(_, port)| port.bridge.as_ref()) {
        if let (Some(bridge), Some(port)) = (row.designated_bridge, row.designated_port) {
            let forwards = row.state == Some(StpState::Forwarding);
            let is_off = row.state.is_none_or(|state| state == StpState::Disabled);
            // The low twelve bits of a port identifier are the port's number (IEEE 802.1D-2004,
            // 9.2.7).
            if forwards || is_off && u32::from(port) & 0xfff == row.number {
                let (any_forwards, ports) = named.entry(bridge.address).or_default();
                *any_forwards |= forwards;
                ports.insert(port);
            }
        }
    }
    let several = named
        .into_iter()
        .filter(|(_, (any_forwards, ports))| *any_forwards && ports.len() > 1);
    let foreign = several.filter(|(address, _)| Some(*address) != own);
    foreign.map(|(address, _)| address).collect()
}

fn own_names(announced: [Option<&String>; 3]) -> Vec<String> {
    let mut names: Vec<String> = announced
        .into_iter()
        .flatten()
        .filter(|name| !name.is_empty())
        .map(|name| name.to_ascii_lowercase())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn own_macs(view: &DeviceView, ports: &PortTable) -> BTreeSet<Mac> {
    let bridge = view.bridge.as_ref().and_then(|b| b.address);
    let interfaces = ports.iter().filter_map(|(_, p)| p.mac);
    chassis(view)
        .into_iter()
        .chain(bridge)
        .chain(interfaces)
        .filter(|mac| !mac.names_nobody())
        .collect()
}

fn likely_macs(view: &DeviceView, bridge_address: Option<Mac>) -> Vec<Mac> {
    let listed = view.interfaces.iter().flatten().any(|i| i.mac.is_some());
    let ports = view.bridge.iter().flat_map(|b| &b.ports);
    let last = ports.map(|p| p.number).max().unwrap_or_default();
    match bridge_address {
        Some(first) if !listed => (1..=last.min(MOST_PORTS)).map(|n| first.plus(n)).collect(),
        _ => vec![],
    }
}

fn names_somebody(row: &LldpNeighbour) -> bool {
    row.chassis.is_some() || !row.name.is_empty()
}

/// All rows that name a neighbour. Rows on local port 0 are left out: they occur in the field and
/// have no meaning.
fn neighbour_rows(
    lldp: &LldpTable,
    lldp_ports: &LldpPorts,
    ports: &mut PortTable,
) -> Vec<NeighbourRow> {
    let mut rows = Vec::new();
    let mut spoken = BTreeSet::new();
    for row in lldp.neighbours.iter().filter(|row| names_somebody(row)) {
        let mut guessed = false;
        let port = match row.if_index {
            Some(index) if index != 0 => ports
                .by_index(index)
                .unwrap_or_else(|| ports.unlisted(index.to_string())),
            _ if row.local_port == 0 => continue,
            _ => {
                guessed = lldp_ports.is_guess(row.local_port, ports);
                lldp_ports.local(row.local_port, ports)
            }
        };
        // Most devices that speak CDP speak LLDP on the same port, and name the same neighbour twice.
        spoken.insert(port);
        rows.push((port, row.clone(), DiscoveryProtocol::Lldp, guessed));
    }
    for row in cable_rows(lldp) {
        let port = ports
            .by_index(row.if_index)
            .unwrap_or_else(|| ports.unlisted(row.if_index.to_string()));
        let row = as_lldp(row);
        if names_somebody(&row) && !spoken.contains(&port) {
            rows.push((port, row, DiscoveryProtocol::Cdp, false));
        }
    }
    rows.into_iter()
        .map(|(port, row, protocol, guessed)| NeighbourRow {
            port,
            row,
            protocol,
            down: !ports[port].up,
            guessed,
        })
        .collect()
}

/// The rows of vendors' protocols that tell of the neighbour at a port. A protocol that is broadcast
/// names everybody behind the port; a neighbour that is alone there is likely next to it.
fn cable_rows(lldp: &LldpTable) -> impl Iterator<Item = &CdpNeighbour> {
    let mut at: HashMap<u32, usize> = HashMap::new();
    for row in &lldp.cdp.neighbours {
        *at.entry(row.if_index).or_default() += 1;
    }
    lldp.cdp.neighbours.iter().filter(move |row| {
        row.if_index != 0 && (!row.protocol.is_broadcast() || at[&row.if_index] == 1)
    })
}

/// A CDP row in the form of an LLDP row: the device id is a name, or an address that names the
/// chassis. NX-OS and CatOS append the serial number in brackets; phones write `SEP` before their
/// address.
fn as_lldp(row: &CdpNeighbour) -> LldpNeighbour {
    let (chassis, name) = match &row.device {
        Some(NeighbourId::Text(text)) => {
            let name = text.split_once('(').map_or(text.as_str(), |(name, _)| name);
            (None, name.trim().to_owned())
        }
        Some(id) => (Some(id.clone()), String::new()),
        None => (None, String::new()),
    };
    let name = if row.name.is_empty() {
        name
    } else {
        row.name.clone()
    };
    // Devices that know a neighbour only by LLDP list its chassis id here, as a text.
    let written = name.parse().ok().map(NeighbourId::Mac);
    let phone = phone_address(&name).map(NeighbourId::Mac);
    // A device that calls itself a telephone is none of the network's bridges.
    let station = phone.as_ref().map(|_| SystemCapabilities::default());
    let name = if written.is_some() {
        String::new()
    } else {
        name
    };
    // RouterOS names a port by its path: `bridge1/ether6`.
    let port = match &row.port {
        Some(NeighbourId::Text(path)) if row.protocol.is_broadcast() => {
            let last = path.rsplit('/').next().unwrap_or(path);
            Some(NeighbourId::Text(last.to_owned()))
        }
        port => port.clone(),
    };
    LldpNeighbour {
        local_port: row.if_index,
        chassis: chassis.or(written).or(phone),
        port,
        port_descr: row
            .port
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        name,
        capabilities: row.capabilities.or(station),
        ..LldpNeighbour::default()
    }
}

/// The address of a phone or gateway, whose device id is three letters and twelve hexadecimal
/// digits.
fn phone_address(name: &str) -> Option<Mac> {
    let digits = name
        .strip_prefix("SEP")
        .or_else(|| name.strip_prefix("ATA"))?;
    let octets = (digits.len() == 12 && digits.is_ascii()).then(|| {
        (0..6)
            .map(|n| u8::from_str_radix(&digits[2 * n..2 * n + 2], 16))
            .collect::<Result<Vec<u8>, _>>()
    })?;
    Mac::from_octets(&octets.ok()?).filter(|mac| mac.is_station())
}

/// The LLDP port descriptions of a device and its own ports.
pub(crate) fn described_ports<'v>(
    view: &'v DeviceView,
    facts: &DeviceFacts,
) -> Vec<(&'v str, String)> {
    let rows = view.lldp.iter().flat_map(|l| &l.ports);
    let described = rows.filter(|row: &&LldpPort| !row.descr.is_empty());
    described
        .filter_map(|row| {
            let port = facts.lldp_ports.listed(row.number)?;
            Some((row.descr.as_str(), facts.ports[port].name.clone()))
        })
        .collect()
}
