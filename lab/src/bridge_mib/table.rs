//! The objects of a bridge, ordered for GETNEXT.
use super::changes::TopologyChanges;
use super::kernel::{KernelBridge, KernelBridgePort, RawBridgeId};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// An object identifier.
pub(super) type ObjectId = Vec<u32>;

/// dot1dBridge of RFC 4188.
pub(super) const DOT1D_BRIDGE: [u32; 7] = [1, 3, 6, 1, 2, 1, 17];

/// Every object instance in lexicographic order.
pub(super) type ObjectTable = BTreeMap<ObjectId, PassValue>;

/// A value in the form of snmpd's `pass_persist`: a line with the type, a line with the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PassValue {
    Integer(u32),
    Counter(u64),
    TimeTicks(u32),
    Octets(Vec<u8>),
    Nothing,
}

impl fmt::Display for PassValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PassValue::Integer(n) => write!(f, "integer\n{n}"),
            // Counter32 wraps (RFC 2578, 7.1.6).
            PassValue::Counter(n) => write!(f, "counter\n{}", *n as u32),
            PassValue::TimeTicks(n) => write!(f, "timeticks\n{n}"),
            PassValue::Octets(octets) => {
                let text: Vec<String> = octets.iter().map(|o| format!("{o:02x}")).collect();
                write!(f, "octet\n{}", text.join(" "))
            }
            PassValue::Nothing => write!(f, "objectid\n.0.0"),
        }
    }
}

/// dot1dBase, dot1dStp and dot1dTp of a bridge; `now` on the clock of `changes`.
pub(super) fn build(
    bridge: &KernelBridge,
    changes: &TopologyChanges,
    now: Duration,
) -> ObjectTable {
    let mut table = ObjectTableBuilder(ObjectTable::new());
    base(&mut table, bridge);
    stp(&mut table, bridge, changes, now);
    transparent(&mut table, bridge);
    table.0
}

struct ObjectTableBuilder(ObjectTable);

impl ObjectTableBuilder {
    fn add(&mut self, column: &[u32], index: &[u32], value: PassValue) {
        self.0
            .insert([&DOT1D_BRIDGE, column, index].concat(), value);
    }

    /// A row of a table of ports: columns 1, 2 and so on.
    fn port<const N: usize>(&mut self, entry: [u32; 3], port: u16, columns: [PassValue; N]) {
        for (column, value) in (1..).zip(columns) {
            let [group, table, row] = entry;
            self.add(&[group, table, row, column], &[u32::from(port)], value);
        }
    }

    fn scalar(&mut self, object: [u32; 2], value: PassValue) {
        self.add(&object, &[0], value);
    }
}

/// dot1dBase (1).
fn base(table: &mut ObjectTableBuilder, bridge: &KernelBridge) {
    table.scalar([1, 1], PassValue::Octets(bridge.address.0.to_vec()));
    table.scalar([1, 2], PassValue::Integer(bridge.ports.len() as u32));
    // transparent-only(2)
    table.scalar([1, 3], PassValue::Integer(2));
    for port in &bridge.ports {
        let columns = [
            PassValue::Integer(u32::from(port.number)),
            PassValue::Integer(port.if_index),
            // dot1dBasePortCircuit is 0.0 where no other port has the same interface (RFC 4188).
            PassValue::Nothing,
            PassValue::Counter(0),
            PassValue::Counter(0),
        ];
        table.port([1, 4, 1], port.number, columns);
    }
}

/// dot1dStp (2).
fn stp(
    table: &mut ObjectTableBuilder,
    bridge: &KernelBridge,
    changes: &TopologyChanges,
    now: Duration,
) {
    let since = now.saturating_sub(changes.last).as_millis() / 10;
    // ieee8021d(3)
    table.scalar([2, 1], PassValue::Integer(3));
    table.scalar([2, 2], PassValue::Integer(bridge.priority));
    table.scalar([2, 3], PassValue::TimeTicks(since as u32));
    table.scalar([2, 4], PassValue::Counter(u64::from(changes.count)));
    table.scalar([2, 5], id(bridge.root));
    table.scalar([2, 6], PassValue::Integer(bridge.root_cost));
    table.scalar([2, 7], PassValue::Integer(bridge.root_port));
    let timers = [
        bridge.max_age,
        bridge.hello,
        // dot1dStpHoldTime is 1 s, as IEEE 802.1D-1998 fixes it.
        100,
        bridge.forward_delay,
        bridge.max_age,
        bridge.hello,
        bridge.forward_delay,
    ];
    for (object, value) in (8..).zip(timers) {
        table.scalar([2, object], PassValue::Integer(value));
    }
    for port in &bridge.ports {
        stp_port(
            table,
            port,
            changes
                .forward_transitions
                .get(&port.number)
                .copied()
                .unwrap_or(0),
        );
    }
}

/// An entry of dot1dStpPortTable.
fn stp_port(table: &mut ObjectTableBuilder, port: &KernelBridgePort, forward_transitions: u32) {
    // disabled(1), blocking(2), listening(3), learning(4), forwarding(5) in the kernel's order of
    // states.
    let state = [1, 3, 4, 5, 2]
        .get(usize::from(port.state))
        .copied()
        .unwrap_or(1);
    let enabled = if port.state == 0 { 2 } else { 1 };
    let columns = [
        PassValue::Integer(u32::from(port.number)),
        // The kernel keeps the upper six bits of the octet.
        PassValue::Integer(port.priority << 2),
        PassValue::Integer(state),
        PassValue::Integer(enabled),
        // dot1dStpPortPathCost ends there; dot1dStpPortPathCost32, below, has the whole cost (RFC 4188).
        PassValue::Integer(port.path_cost.min(65_535)),
        id(port.designated_root),
        PassValue::Integer(port.designated_cost),
        id(port.designated_bridge),
        PassValue::Octets(port.designated_port.to_be_bytes().to_vec()),
        PassValue::Counter(u64::from(forward_transitions)),
        PassValue::Integer(port.path_cost),
    ];
    table.port([2, 15, 1], port.number, columns);
}

/// dot1dTp (4).
fn transparent(table: &mut ObjectTableBuilder, bridge: &KernelBridge) {
    table.scalar([4, 1], PassValue::Counter(0));
    table.scalar([4, 2], PassValue::Integer(bridge.ageing / 100));
    for station in &bridge.stations {
        let index: Vec<u32> = station.address.0.iter().map(|o| u32::from(*o)).collect();
        // learned(3), self(4). An address of the bridge itself may be on no port.
        let status = if station.local { 4 } else { 3 };
        table.add(
            &[4, 3, 1, 1],
            &index,
            PassValue::Octets(station.address.0.to_vec()),
        );
        table.add(
            &[4, 3, 1, 2],
            &index,
            PassValue::Integer(u32::from(station.port)),
        );
        table.add(&[4, 3, 1, 3], &index, PassValue::Integer(status));
    }
    for port in &bridge.ports {
        let columns = [
            PassValue::Integer(u32::from(port.number)),
            PassValue::Integer(port.mtu),
            PassValue::Counter(port.frames_in),
            PassValue::Counter(port.frames_out),
            PassValue::Counter(port.discards),
        ];
        table.port([4, 4, 1], port.number, columns);
    }
}

fn id(id: RawBridgeId) -> PassValue {
    PassValue::Octets(id.0.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::kernel::KernelFdbEntry;
    use super::*;
    use inventory::Mac;

    fn sample() -> ObjectTable {
        let bridge = KernelBridge {
            address: Mac([2, 0, 0, 0, 0, 1]),
            root: RawBridgeId([0x10, 0, 2, 0, 0, 0, 0, 9]),
            ports: vec![port(1, 3), port(2, 4), port(10, 0)],
            stations: vec![station(200, 2, false), station(1, 0, true)],
            ..KernelBridge::default()
        };
        let mut changes = TopologyChanges::default();
        (changes.count, changes.last) = (7, Duration::from_secs(3));
        build(&bridge, &changes, Duration::from_millis(5_250))
    }

    fn port(number: u16, state: u8) -> KernelBridgePort {
        KernelBridgePort {
            number,
            if_index: u32::from(number) + 10,
            state,
            priority: 32,
            path_cost: 50,
            ..KernelBridgePort::default()
        }
    }

    fn station(last: u8, port: u16, local: bool) -> KernelFdbEntry {
        KernelFdbEntry {
            address: Mac([2, 0, 0, 0, 0, last]),
            port,
            local,
        }
    }

    fn at(table: &ObjectTable, object: &[u32]) -> String {
        table[&[&DOT1D_BRIDGE, object].concat()].to_string()
    }

    #[test]
    fn states_and_statuses_have_the_numbers_of_the_mib() {
        let t = sample();
        assert_eq!(
            [
                at(&t, &[2, 15, 1, 3, 1]),
                at(&t, &[2, 15, 1, 3, 2]),
                at(&t, &[2, 15, 1, 3, 10])
            ],
            ["integer\n5", "integer\n2", "integer\n1"]
        );
        assert_eq!(at(&t, &[4, 3, 1, 3, 2, 0, 0, 0, 0, 200]), "integer\n3");
        assert_eq!(at(&t, &[4, 3, 1, 3, 2, 0, 0, 0, 0, 1]), "integer\n4");
        assert_eq!(at(&t, &[1, 4, 1, 2, 10]), "integer\n20");
        assert_eq!(at(&t, &[2, 15, 1, 2, 1]), "integer\n128");
    }

    #[test]
    fn changes_and_identifiers_are_reported() {
        let t = sample();
        assert_eq!(at(&t, &[2, 4, 0]), "counter\n7");
        assert_eq!(at(&t, &[2, 3, 0]), "timeticks\n225");
        assert_eq!(at(&t, &[2, 5, 0]), "octet\n10 00 02 00 00 00 00 09");
    }

    #[test]
    fn instances_are_ordered_by_number_not_by_digits() {
        let t = sample();
        let ports: Vec<u32> = t
            .keys()
            .filter(|k| k[7..].starts_with(&[1, 4, 1, 1]))
            .map(|k| k[11])
            .collect();
        assert_eq!(ports, [1, 2, 10]);
        let stations: Vec<u32> = t
            .keys()
            .filter(|k| k[7..].starts_with(&[4, 3, 1, 2]))
            .map(|k| k[16])
            .collect();
        assert_eq!(stations, [1, 200]);
    }
}
