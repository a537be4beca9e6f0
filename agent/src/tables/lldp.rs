//! LLDP-MIB (IEEE 802.1AB-2005, clause 12) and LLDP-V2-MIB (IEEE 802.1AB-2016, 11.5). Subtypes have
//! the same meaning as in frames (`frames::id`).
pub(super) mod remote;

use super::{TableObjects, cdp, number, text, vendors};
use crate::frames::id::{chassis_kind, port_kind};
use crate::walk::WalkAnswers;
use inventory::observation::{CdpTable, LldpPort, LldpTable, NeighbourId, PortIdKind};
use remote::{LocalPortNumber, RemoteColumns, capabilities, id};

/// The objects of one edition of the MIB.
struct LldpMibEdition {
    chassis_subtype: &'static [u32],
    chassis: &'static [u32],
    name: &'static [u32],
    capabilities: &'static [u32],
    ports: LocalColumns,
    remote: RemoteColumns,
}

/// The columns of a table of local ports, in whichever MIB. The first part of the index is the
/// port's number.
pub(super) struct LocalColumns {
    pub(super) subtype: &'static [u32],
    pub(super) id: &'static [u32],
    pub(super) descr: &'static [u32],
}

const FIRST: LldpMibEdition = LldpMibEdition {
    chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 1],
    chassis: &[1, 0, 8802, 1, 1, 2, 1, 3, 2],
    name: &[1, 0, 8802, 1, 1, 2, 1, 3, 3],
    capabilities: &[1, 0, 8802, 1, 1, 2, 1, 3, 6],
    ports: LocalColumns {
        subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2],
        id: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3],
        descr: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4],
    },
    remote: FIRST_REMOTE,
};

/// lldpRemTable, indexed by TimeMark, local port and neighbour. JetStream switches leave out the
/// TimeMark, others the neighbour, or both.
pub(super) const FIRST_REMOTE: RemoteColumns = RemoteColumns {
    chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 4],
    chassis: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 5],
    port_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 6],
    port: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 7],
    port_descr: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 8],
    name: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 9],
    capabilities: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 12],
    local: |_, index| match index {
        [_, port, _] => Some(LocalPortNumber::Own(*port)),
        _ => None,
    },
    listed: Some(&[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3]),
};

const SECOND: LldpMibEdition = LldpMibEdition {
    chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 1],
    chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 2],
    name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 3],
    capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 6],
    ports: LocalColumns {
        subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 2],
        id: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 3],
        descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 4],
    },
    remote: SECOND_REMOTE,
};

/// lldpV2RemTable, indexed by TimeMark, ifIndex, destination address and neighbour.
pub(super) const SECOND_REMOTE: RemoteColumns = RemoteColumns {
    chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 5],
    chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 6],
    port_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 7],
    port: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 8],
    port_descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 9],
    name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 10],
    capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 13],
    local: remote::interface_in_index,
    listed: None,
};

/// lldpLocChassisId and its subtype, in either edition.
pub(super) const CHASSIS: &[u32] = FIRST.chassis;
pub(super) const CHASSIS_SUBTYPE: &[u32] = FIRST.chassis_subtype;
pub(super) const SECOND_CHASSIS: &[u32] = SECOND.chassis;
pub(super) const SECOND_CHASSIS_SUBTYPE: &[u32] = SECOND.chassis_subtype;

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
        vendors::OBJECT_ID,
    ],
    columns: &[
        FIRST.ports.subtype,
        FIRST.ports.id,
        FIRST.ports.descr,
        FIRST.remote.chassis_subtype,
        FIRST.remote.chassis,
        FIRST.remote.port_subtype,
        FIRST.remote.port,
        FIRST.remote.port_descr,
        FIRST.remote.name,
        FIRST.remote.capabilities,
        SECOND.ports.subtype,
        SECOND.ports.id,
        SECOND.ports.descr,
        SECOND.remote.chassis_subtype,
        SECOND.remote.chassis,
        SECOND.remote.port_subtype,
        SECOND.remote.port,
        SECOND.remote.port_descr,
        SECOND.remote.name,
        SECOND.remote.capabilities,
        cdp::DEVICE,
        cdp::DEVICE_PORT,
        cdp::CAPABILITIES,
        cdp::SYS_NAME,
    ],
};

/// Reads the standard tables, and what vendors have besides.
pub(crate) fn read(answers: &WalkAnswers) -> LldpTable {
    let mut table = standard(answers);
    vendors::add(answers, &mut table);
    table
}

/// Reads the first edition, unless only the second names neighbours. The editions number ports
/// differently, so they are not mixed.
pub(super) fn standard(answers: &WalkAnswers) -> LldpTable {
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

/// The device's own chassis id.
pub(super) fn own_chassis(answers: &WalkAnswers) -> Option<NeighbourId> {
    let first = FIRST.own_chassis(answers);
    first.or_else(|| SECOND.own_chassis(answers))
}

impl LldpMibEdition {
    fn own_chassis(&self, answers: &WalkAnswers) -> Option<NeighbourId> {
        id(
            answers.scalar(self.chassis),
            number(answers.scalar(self.chassis_subtype)).map(chassis_kind),
        )
    }

    fn read(&self, answers: &WalkAnswers) -> LldpTable {
        LldpTable {
            chassis: self.own_chassis(answers),
            name: text(answers.scalar(self.name)),
            capabilities: capabilities(answers.scalar(self.capabilities)),
            ports: self.ports.read(answers),
            neighbours: self.remote.read(answers),
            cdp: CdpTable::default(),
        }
    }
}

impl LocalColumns {
    /// The ports, each once.
    pub(super) fn read(&self, answers: &WalkAnswers) -> Vec<LldpPort> {
        let port = |(index, value)| {
            let subtype = number(answers.cell(self.subtype, index));
            Some(LldpPort {
                number: *index.first()?,
                kind: subtype.map(PortIdKind::from_number),
                id: id(Some(value), subtype.map(port_kind))?,
                descr: text(answers.cell(self.descr, index)),
            })
        };
        let mut ports: Vec<LldpPort> = answers.column(self.id).filter_map(port).collect();
        ports.dedup_by_key(|p| p.number);
        ports
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;
    use inventory::observation::{ChassisIdKind, LldpNeighbour, SystemCapabilities};
    use snmp::Value;

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
