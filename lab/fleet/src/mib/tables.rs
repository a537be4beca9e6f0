//! The rows of each table. The objects are defined in IF-MIB (RFC 2863), LLDP-MIB (IEEE
//! 802.1AB-2005, clause 12), BRIDGE-MIB (RFC 4188), Q-BRIDGE-MIB (RFC 4363), IP-MIB (RFC 4293),
//! IEEE8023-LAG-MIB, CISCO-CDP-MIB, SNMPv2-MIB (RFC 3418).
use super::MibCell;
use inventory::device_view::DeviceView;
use inventory::observation::{
    ArpEntry, BridgeId, BridgeTable, CdpTable, FdbEntry, InterfaceRow, LldpNeighbour, LldpTable,
    NeighbourId, PortIdKind, StpState, SystemCapabilities, SystemGroup,
};
use snmp::{Oid, Value};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

type MibRows = Vec<(Oid, MibCell)>;

const SYSTEM: &[u32] = &[1, 3, 6, 1, 2, 1, 1];
const IF_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1];
const IF_X_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
const AGG_PORT_ENTRY: &[u32] = &[1, 2, 840, 10006, 300, 43, 1, 2, 1, 1];
const NET_TO_MEDIA: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 22, 1];
const NET_TO_PHYSICAL: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 35, 1];
const BRIDGE: &[u32] = &[1, 3, 6, 1, 2, 1, 17];
const LLDP: &[u32] = &[1, 0, 8802, 1, 1, 2, 1];
const CDP: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1];

/// Adds the rows of every table of the view that was read.
pub(super) fn render(view: &DeviceView, rows: &mut MibRows) {
    view.system.iter().for_each(|s| system(s, rows));
    view.interfaces
        .iter()
        .flatten()
        .for_each(|i| interface(i, rows));
    view.lldp.iter().for_each(|l| lldp(l, rows));
    view.bridge.iter().for_each(|b| bridge(b, rows));
    view.fdb.iter().for_each(|f| fdb(f, rows));
    view.arp.iter().for_each(|a| arp(a, rows));
    // The times of the last changes are in a pulse. Without a pulse there was no change.
    let since = view.pulse.as_ref().and_then(|p| p.since_top_change);
    let last = view.pulse.as_ref().and_then(|p| p.lldp_last_change);
    if view.bridge.is_some() {
        rows.push((
            at(BRIDGE, &[2, 3, 0]),
            MibCell::Ticks(since.unwrap_or_default()),
        ));
    }
    if view.lldp.is_some() {
        put(
            rows,
            LLDP,
            &[2, 1, 0],
            Value::TimeTicks(last.unwrap_or_default()),
        );
    }
}

fn system(system: &SystemGroup, rows: &mut MibRows) {
    put(rows, SYSTEM, &[1, 0], text(&system.descr));
    rows.push((at(SYSTEM, &[3, 0]), MibCell::Ticks(system.uptime)));
    put(rows, SYSTEM, &[5, 0], text(&system.name));
    system
        .services
        .iter()
        .for_each(|&s| put(rows, SYSTEM, &[7, 0], integer(s)));
}

fn interface(i: &InterfaceRow, rows: &mut MibRows) {
    let rate = i.rate.map_or(0, |r| r.0);
    put(rows, IF_ENTRY, &[2, i.index], text(&i.descr));
    put(
        rows,
        IF_ENTRY,
        &[5, i.index],
        // Of a faster interface ifSpeed is the greatest number (RFC 2863).
        Value::Gauge32(u32::try_from(rate).unwrap_or(u32::MAX)),
    );
    put(
        rows,
        IF_ENTRY,
        &[6, i.index],
        octet_string(i.mac.map(|m| m.0.to_vec()).unwrap_or_default()),
    );
    put(
        rows,
        IF_ENTRY,
        &[8, i.index],
        integer(if i.up { 1 } else { 2 }),
    );
    put(rows, IF_X_ENTRY, &[1, i.index], text(&i.name));
    rows.push((at(IF_X_ENTRY, &[6, i.index]), octets(i.in_octets, i)));
    rows.push((at(IF_X_ENTRY, &[10, i.index]), octets(i.out_octets, i)));
    put(
        rows,
        IF_X_ENTRY,
        &[15, i.index],
        Value::Gauge32(u32::try_from(rate / 1_000_000).unwrap_or(u32::MAX)),
    );
    put(rows, IF_X_ENTRY, &[18, i.index], text(&i.alias));
    i.aggregate
        .iter()
        .for_each(|&a| put(rows, AGG_PORT_ENTRY, &[13, i.index], integer(a)));
}

fn octets(base: u64, i: &InterfaceRow) -> MibCell {
    if i.up {
        MibCell::Octets(base)
    } else {
        MibCell::Fixed(Value::Counter64(base))
    }
}

fn lldp(lldp: &LldpTable, rows: &mut MibRows) {
    if let Some((subtype, octets)) = lldp
        .chassis
        .as_ref()
        .map(|id| id_octets(id, CHASSIS_SUBTYPES))
    {
        put(rows, LLDP, &[3, 1, 0], integer(subtype));
        put(rows, LLDP, &[3, 2, 0], octets);
    }
    put(rows, LLDP, &[3, 3, 0], text(&lldp.name));
    lldp.capabilities
        .iter()
        .for_each(|&c| put(rows, LLDP, &[3, 6, 0], capabilities(c)));
    for port in &lldp.ports {
        let (plain, octets) = id_octets(&port.id, PORT_SUBTYPES);
        let subtype = port.kind.and_then(port_subtype).unwrap_or(plain);
        put(rows, LLDP, &[3, 7, 1, 2, port.number], integer(subtype));
        put(rows, LLDP, &[3, 7, 1, 3, port.number], octets);
        put(rows, LLDP, &[3, 7, 1, 4, port.number], text(&port.descr));
    }
    lldp.neighbours
        .iter()
        .zip(1..)
        .for_each(|(neighbour, n)| lldp_neighbour(neighbour, n, rows));
    cdp(&lldp.cdp, rows);
}

/// A row of lldpRemTable: index TimeMark, local port, and a number of its own.
fn lldp_neighbour(neighbour: &LldpNeighbour, number: u32, rows: &mut MibRows) {
    let mut cell = |column, value| {
        put(
            rows,
            LLDP,
            &[4, 1, 1, column, 0, neighbour.local_port, number],
            value,
        )
    };
    if let Some((subtype, octets)) = neighbour
        .chassis
        .as_ref()
        .map(|id| id_octets(id, CHASSIS_SUBTYPES))
    {
        cell(4, integer(subtype));
        cell(5, octets);
    }
    if let Some((subtype, octets)) = neighbour
        .port
        .as_ref()
        .map(|id| id_octets(id, PORT_SUBTYPES))
    {
        let kind = neighbour.port_kind.and_then(port_subtype);
        cell(6, integer(kind.unwrap_or(subtype)));
        cell(7, octets);
    }
    cell(8, text(&neighbour.port_descr));
    cell(9, text(&neighbour.name));
    if let Some(c) = neighbour.capabilities {
        cell(12, capabilities(c));
    }
}

fn cdp(cdp: &CdpTable, rows: &mut MibRows) {
    if !cdp.device.is_empty() {
        put(rows, CDP, &[3, 4, 0], text(&cdp.device));
    }
    for (neighbour, number) in cdp.neighbours.iter().zip(1..) {
        let mut cell = |column, value| {
            put(
                rows,
                CDP,
                &[2, 1, 1, column, neighbour.if_index, number],
                value,
            )
        };
        neighbour
            .device
            .iter()
            .for_each(|id| cell(6, id_octets(id, CHASSIS_SUBTYPES).1));
        neighbour
            .port
            .iter()
            .for_each(|id| cell(7, id_octets(id, PORT_SUBTYPES).1));
        if let Some(c) = neighbour.capabilities {
            cell(
                9,
                // The capabilities of CDP: 0x01 is a router, 0x08 a switch.
                octet_string(vec![0, 0, 0, u8::from(c.router) | u8::from(c.bridge) << 3]),
            );
        }
    }
}

fn bridge(bridge: &BridgeTable, rows: &mut MibRows) {
    bridge
        .address
        .iter()
        .for_each(|mac| put(rows, BRIDGE, &[1, 1, 0], octet_string(mac.0.to_vec())));
    put(rows, BRIDGE, &[2, 2, 0], integer(bridge.priority.into()));
    put(
        rows,
        BRIDGE,
        &[2, 4, 0],
        Value::Counter32(bridge.top_changes),
    );
    bridge
        .root_bridge
        .iter()
        .for_each(|&id| put(rows, BRIDGE, &[2, 5, 0], bridge_id(id)));
    for port in &bridge.ports {
        put(
            rows,
            BRIDGE,
            &[1, 4, 1, 2, port.number],
            integer(port.if_index),
        );
        let mut cell = |column, value| put(rows, BRIDGE, &[2, 15, 1, column, port.number], value);
        port.state.iter().for_each(|&s| cell(3, integer(state(s))));
        port.designated_bridge
            .iter()
            .for_each(|&id| cell(8, bridge_id(id)));
        port.designated_port
            .iter()
            .for_each(|id| cell(9, octet_string(id.to_be_bytes().to_vec())));
    }
}

fn state(state: StpState) -> u32 {
    match state {
        StpState::Disabled => 1,
        StpState::Blocking => 2,
        StpState::Listening => 3,
        StpState::Learning => 4,
        StpState::Forwarding => 5,
        StpState::Broken => 6,
    }
}

/// dot1dTpFdbTable has one row for each station. Rows of other databases go into dot1qTpFdbTable, and so do
/// further ports of a station, as learned in other VLANs.
fn fdb(entries: &[FdbEntry], rows: &mut MibRows) {
    const LEARNED: u32 = 3;
    let mut times = OccurrenceCounter::default();
    for entry in entries {
        let mac = entry.mac.0.map(u32::from);
        let database = match entry.database {
            0 => times.count(entry.mac),
            id => id - 1,
        };
        let (table, index): (&[u32], _) = match database {
            0 => (&[4, 3, 1], mac.to_vec()),
            vlan => (&[7, 1, 2, 2, 1], [&[vlan + 1], &mac[..]].concat()),
        };
        put(
            rows,
            BRIDGE,
            &[table, &[2], &index].concat(),
            integer(entry.port),
        );
        put(
            rows,
            BRIDGE,
            &[table, &[3], &index].concat(),
            integer(LEARNED),
        );
    }
}

/// Both tables are indexed by interface and address, so stations that claim one address are on
/// interfaces of their own.
fn arp(entries: &[ArpEntry], rows: &mut MibRows) {
    let mut times = OccurrenceCounter::default();
    for entry in entries {
        let interface = times.count(entry.ip) + 1;
        let mac = octet_string(entry.mac.0.to_vec());
        match entry.ip {
            IpAddr::V4(ip) => put(
                rows,
                NET_TO_MEDIA,
                &[&[2, interface], &numbers(&ip.octets())[..]].concat(),
                mac,
            ),
            IpAddr::V6(ip) => put(
                rows,
                NET_TO_PHYSICAL,
                &[&[4, interface, 2, 16], &numbers(&ip.octets())[..]].concat(),
                mac,
            ),
        }
    }
}

fn numbers(o: &[u8]) -> Vec<u32> {
    o.iter().copied().map(u32::from).collect::<Vec<_>>()
}

/// The number of times that a value came before.
struct OccurrenceCounter<K>(HashMap<K, u32>);

impl<K> Default for OccurrenceCounter<K> {
    fn default() -> Self {
        OccurrenceCounter(HashMap::new())
    }
}

impl<K: Hash + Eq> OccurrenceCounter<K> {
    fn count(&mut self, key: K) -> u32 {
        let times = self.0.entry(key).or_default();
        *times += 1;
        *times - 1
    }
}

/// The subtypes of MAC addresses, network addresses and texts: macAddress, networkAddress, local.
/// The two enumerations differ.
type SubtypeNumbers = [u32; 3];
const CHASSIS_SUBTYPES: SubtypeNumbers = [4, 5, 7];
const PORT_SUBTYPES: SubtypeNumbers = [3, 4, 7];

/// The number of a port id's subtype.
fn port_subtype(kind: PortIdKind) -> Option<u32> {
    (1..=7).find(|n| PortIdKind::from_number(*n) == kind)
}

/// An identifier's subtype and octets; a network address has its family before it (IEEE
/// 802.1AB-2005, 9.5.2.4).
fn id_octets(id: &NeighbourId, [mac, address, local]: SubtypeNumbers) -> (u32, Value) {
    match id {
        NeighbourId::Mac(m) => (mac, octet_string(m.0.to_vec())),
        NeighbourId::Address(IpAddr::V4(ip)) => {
            (address, octet_string([&[1], &ip.octets()[..]].concat()))
        }
        NeighbourId::Address(IpAddr::V6(ip)) => {
            (address, octet_string([&[2], &ip.octets()[..]].concat()))
        }
        NeighbourId::Text(t) => (local, text(t)),
    }
}

/// LldpSystemCapabilitiesMap: bridge(2) and router(4), bit 0 the highest.
fn capabilities(c: SystemCapabilities) -> Value {
    octet_string(vec![u8::from(c.bridge) << 5 | u8::from(c.router) << 3, 0])
}

fn bridge_id(id: BridgeId) -> Value {
    octet_string([&id.priority.to_be_bytes()[..], &id.address.0].concat())
}

fn integer(n: u32) -> Value {
    Value::Integer(i32::try_from(n).unwrap_or(i32::MAX))
}

fn text(text: &str) -> Value {
    octet_string(text.as_bytes().to_vec())
}

fn octet_string(octets: Vec<u8>) -> Value {
    Value::OctetString(octets.into())
}

fn at(group: &[u32], rest: &[u32]) -> Oid {
    Oid::new(group.iter().chain(rest).copied())
}

fn put(rows: &mut MibRows, group: &[u32], rest: &[u32], value: Value) {
    rows.push((at(group, rest), MibCell::Fixed(value)));
}
