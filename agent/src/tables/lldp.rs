//! LLDP-MIB (IEEE 802.1AB-2005, clause 12) and LLDP-V2-MIB (IEEE 802.1AB-2016, 11.5). Subtypes have
//! the same meaning as in frames (`frames::id`).
use super::{TableObjects, cdp, number, text};
use crate::frames::id::{self, IdSubtype, chassis_kind, port_kind};
use crate::walk::WalkAnswers;
use inventory::observation::{
    CdpTable, ChassisIdKind, LldpNeighbour, LldpPort, LldpTable, NeighbourId, PortIdKind,
    SystemCapabilities,
};
use snmp::Value;
use std::collections::BTreeSet;

/// The objects of one edition of the MIB.
struct LldpMibEdition {
    chassis_subtype: &'static [u32],
    chassis: &'static [u32],
    name: &'static [u32],
    /// The enabled system capabilities, of this device and of neighbours.
    capabilities: &'static [u32],
    port_subtype: &'static [u32],
    port: &'static [u32],
    port_descr: &'static [u32],
    rem_chassis_subtype: &'static [u32],
    rem_chassis: &'static [u32],
    rem_port_subtype: &'static [u32],
    rem_port: &'static [u32],
    rem_port_descr: &'static [u32],
    rem_name: &'static [u32],
    rem_capabilities: &'static [u32],
    /// The number of index parts of a neighbour; the second part is the local port.
    rem_index: usize,
    /// The local port is an ifIndex.
    by_interface: bool,
}

/// lldpRemTable is indexed by TimeMark, local port and neighbour.
const FIRST: LldpMibEdition = LldpMibEdition {
    chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 1],
    chassis: &[1, 0, 8802, 1, 1, 2, 1, 3, 2],
    name: &[1, 0, 8802, 1, 1, 2, 1, 3, 3],
    capabilities: &[1, 0, 8802, 1, 1, 2, 1, 3, 6],
    port_subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2],
    port: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3],
    port_descr: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4],
    rem_chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 4],
    rem_chassis: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 5],
    rem_port_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 6],
    rem_port: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 7],
    rem_port_descr: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 8],
    rem_name: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 9],
    rem_capabilities: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 12],
    rem_index: 3,
    by_interface: false,
};

/// lldpV2RemTable is indexed by TimeMark, ifIndex, destination address and neighbour.
const SECOND: LldpMibEdition = LldpMibEdition {
    chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 1],
    chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 2],
    name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 3],
    capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 6],
    port_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 2],
    port: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 3],
    port_descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 4],
    rem_chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 5],
    rem_chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 6],
    rem_port_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 7],
    rem_port: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 8],
    rem_port_descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 9],
    rem_name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 10],
    rem_capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 13],
    rem_index: 4,
    by_interface: true,
};

/// lldpStatsRemTablesLastChangeTime.
pub(crate) const LAST_CHANGE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 2, 1];

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[
        FIRST.chassis_subtype,
        FIRST.chassis,
        FIRST.name,
        FIRST.capabilities,
        SECOND.chassis_subtype,
        SECOND.chassis,
        SECOND.name,
        SECOND.capabilities,
        cdp::GLOBAL_DEVICE,
    ],
    columns: &[
        FIRST.port_subtype,
        FIRST.port,
        FIRST.port_descr,
        FIRST.rem_chassis_subtype,
        FIRST.rem_chassis,
        FIRST.rem_port_subtype,
        FIRST.rem_port,
        FIRST.rem_port_descr,
        FIRST.rem_name,
        FIRST.rem_capabilities,
        SECOND.port_subtype,
        SECOND.port,
        SECOND.port_descr,
        SECOND.rem_chassis_subtype,
        SECOND.rem_chassis,
        SECOND.rem_port_subtype,
        SECOND.rem_port,
        SECOND.rem_port_descr,
        SECOND.rem_name,
        SECOND.rem_capabilities,
        cdp::DEVICE,
        cdp::DEVICE_PORT,
        cdp::CAPABILITIES,
    ],
};

/// Reads the first edition, unless only the second names neighbours. The editions number ports
/// differently, so they are not mixed.
pub(crate) fn read(answers: &WalkAnswers) -> LldpTable {
    let first = FIRST.read(answers);
    let second = SECOND.read(answers);
    let empty =
        |l: &LldpTable| l.neighbours.is_empty() && (l.chassis.is_none() || l.ports.is_empty());
    let later = first.neighbours.is_empty()
        && (!second.neighbours.is_empty() || empty(&first) && !empty(&second));
    LldpTable {
        cdp: cdp::read(answers),
        ..if later { second } else { first }
    }
}

impl LldpMibEdition {
    fn read(&self, answers: &WalkAnswers) -> LldpTable {
        LldpTable {
            chassis: id(
                answers.scalar(self.chassis),
                number(answers.scalar(self.chassis_subtype)).map(chassis_kind),
            ),
            name: text(answers.scalar(self.name)),
            capabilities: answers
                .scalar(self.capabilities)
                .and_then(Value::as_bytes)
                .and_then(capabilities),
            ports: answers
                .column(self.port)
                .filter_map(|(index, value)| self.port(answers, index, value))
                .collect(),
            neighbours: self.neighbours(answers),
            cdp: CdpTable::default(),
        }
    }

    fn port(&self, answers: &WalkAnswers, index: &[u32], value: &Value) -> Option<LldpPort> {
        let [number_] = index else { return None };
        let subtype = number(answers.cell(self.port_subtype, index));
        Some(LldpPort {
            number: *number_,
            kind: subtype.map(PortIdKind::from_number),
            id: id(Some(value), subtype.map(port_kind))?,
            descr: text(answers.cell(self.port_descr, index)),
        })
    }

    /// Columns can be sparse. So a row exists if any of the naming columns has it. Some devices
    /// send indexes of another length; those are ignored.
    fn neighbours(&self, answers: &WalkAnswers) -> Vec<LldpNeighbour> {
        let named = [self.rem_chassis, self.rem_port, self.rem_name];
        let indices: BTreeSet<&[u32]> = named
            .iter()
            .flat_map(|column| answers.column(column))
            .map(|(index, _)| index)
            .collect();
        let row = |index: &[u32]| {
            let cell = |column| answers.cell(column, index);
            let chassis_subtype = number(cell(self.rem_chassis_subtype));
            let port_subtype = number(cell(self.rem_port_subtype));
            LldpNeighbour {
                local_port: index[1],
                if_index: self.by_interface.then_some(index[1]),
                chassis_kind: chassis_subtype.map(ChassisIdKind::from_number),
                chassis: id(cell(self.rem_chassis), chassis_subtype.map(chassis_kind)),
                port_kind: port_subtype.map(PortIdKind::from_number),
                port: id(cell(self.rem_port), port_subtype.map(port_kind)),
                port_descr: text(cell(self.rem_port_descr)),
                name: text(cell(self.rem_name)),
                capabilities: cell(self.rem_capabilities)
                    .and_then(Value::as_bytes)
                    .and_then(capabilities),
            }
        };
        indices
            .into_iter()
            .filter(|index| index.len() == self.rem_index)
            .map(row)
            .collect()
    }
}

/// LldpSystemCapabilitiesMap is BITS: bit 0 is the highest of the first octet (RFC 2578, 7.1.4).
fn capabilities(bits: &[u8]) -> Option<SystemCapabilities> {
    bits.first().map(|first| SystemCapabilities {
        bridge: first & 0x20 != 0,
        router: first & 0x08 != 0,
    })
}

/// An identifier from an octet string.
fn id(value: Option<&Value>, kind: Option<IdSubtype>) -> Option<NeighbourId> {
    id::read(value?.as_bytes()?, kind)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

    #[test]
    fn reads_self_ports_and_neighbours() {
        let lldp = read(&answers(&[
            ("1.0.8802.1.1.2.1.3.1.0", Value::Integer(4)),
            ("1.0.8802.1.1.2.1.3.2.0", octets(MAC)),
            ("1.0.8802.1.1.2.1.3.3.0", octets("s0")),
            ("1.0.8802.1.1.2.1.3.7.1.2.5", Value::Integer(5)),
            ("1.0.8802.1.1.2.1.3.7.1.3.5", octets("swp5")),
            ("1.0.8802.1.1.2.1.4.1.1.4.100.5.1", Value::Integer(4)),
            ("1.0.8802.1.1.2.1.4.1.1.5.100.5.1", octets(MAC)),
            ("1.0.8802.1.1.2.1.4.1.1.6.100.5.1", Value::Integer(3)),
            ("1.0.8802.1.1.2.1.4.1.1.7.100.5.1", octets(MAC)),
            ("1.0.8802.1.1.2.1.4.1.1.9.200.6.2", octets("n3")),
            (
                "1.0.8802.1.1.2.1.4.1.1.5.6.2",
                octets("index with too few parts"),
            ),
        ]));
        assert_eq!(
            (lldp.chassis, lldp.name.as_str()),
            (Some(NeighbourId::Mac(Mac(MAC))), "s0")
        );
        assert_eq!(
            lldp.ports,
            [LldpPort {
                number: 5,
                kind: Some(PortIdKind::InterfaceName),
                id: NeighbourId::Text("swp5".into()),
                descr: String::new()
            }]
        );
        assert_eq!(lldp.neighbours.len(), 2);
        assert_eq!(
            (lldp.neighbours[0].local_port, &lldp.neighbours[0].port),
            (5, &Some(NeighbourId::Mac(Mac(MAC))))
        );
        assert_eq!(
            (
                lldp.neighbours[1].local_port,
                lldp.neighbours[1].name.as_str(),
                &lldp.neighbours[1].chassis
            ),
            (6, "n3", &None)
        );
    }

    #[test]
    fn the_second_edition_counts_where_only_it_speaks() {
        let mut cells = vec![
            ("1.3.111.2.802.1.1.13.1.3.1.0", Value::Integer(4)),
            ("1.3.111.2.802.1.1.13.1.3.2.0", octets(MAC)),
            ("1.3.111.2.802.1.1.13.1.4.1.1.5.0.12.1.1", Value::Integer(4)),
            (
                "1.3.111.2.802.1.1.13.1.4.1.1.6.0.12.1.1",
                octets([2, 0, 0, 0, 0, 8]),
            ),
            ("1.3.111.2.802.1.1.13.1.4.1.1.8.0.12.1.1", octets("swp7")),
            ("1.3.111.2.802.1.1.13.1.4.1.1.10.0.12.1.1", octets("s7")),
            ("1.3.111.2.802.1.1.13.1.4.1.1.13.0.12.1.1", octets([0x20])),
            (
                "1.3.111.2.802.1.1.13.1.4.1.1.10.0.13.1",
                octets("index of the first edition"),
            ),
            ("1.0.8802.1.1.2.1.3.3.0", octets("s0")),
        ];
        let lldp = read(&answers(&cells));
        let expected = LldpNeighbour {
            local_port: 12,
            if_index: Some(12),
            chassis_kind: Some(ChassisIdKind::MacAddress),
            chassis: Some(NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 8]))),
            port: Some(NeighbourId::Text("swp7".into())),
            name: "s7".into(),
            capabilities: Some(SystemCapabilities {
                bridge: true,
                router: false,
            }),
            ..LldpNeighbour::default()
        };
        assert_eq!(
            (lldp.chassis, lldp.neighbours),
            (Some(NeighbourId::Mac(Mac(MAC))), vec![expected])
        );
        cells.push(("1.0.8802.1.1.2.1.4.1.1.9.0.5.1", octets("s9")));
        let lldp = read(&answers(&cells));
        assert_eq!(
            (lldp.neighbours.len(), lldp.neighbours[0].local_port),
            (1, 5),
            "both speak: the first one"
        );
    }
}
