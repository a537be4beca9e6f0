//! LLDP-MIB (IEEE 802.1AB-2005, clause 12) and LLDP-V2-MIB (IEEE 802.1AB-2016, 11.5). Subtypes have
//! the same meaning as in frames (`frames::id`).
pub(super) mod remote;
pub(super) mod standard;

use super::{TableObjects, cdp, vendors};
use crate::walk::WalkAnswers;
use inventory::observation::LldpTable;
use standard::{FIRST, SECOND};

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
    let mut table = standard::standard(answers);
    vendors::add(answers, &mut table);
    table
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;
    use inventory::observation::{
        ChassisIdKind, LldpNeighbour, LldpPort, NeighbourId, PortIdKind, SystemCapabilities,
    };
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
