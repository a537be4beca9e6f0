//! TIMETRA-LLDP-MIB (Nokia SR OS): LLDP by ifIndex and destination address.
use super::{TableObjects, VendorTable};
use crate::tables::lldp::remote::{RemoteColumns, interface_in_index};
use crate::tables::lldp::standard::LocalColumns;
use crate::walk::WalkAnswers;
use inventory::observation::{LldpNeighbour, LldpTable};
use std::collections::BTreeMap;

/// tmnxLldpLocPortTable.
const PORTS: LocalColumns = LocalColumns {
    subtype: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 3, 1, 1, 2],
    id: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 3, 1, 1, 3],
    descr: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 3, 1, 1, 4],
};

/// tmnxLldpRemTable, indexed by TimeMark, ifIndex, destination address and neighbour.
const REMOTE: RemoteColumns = RemoteColumns {
    chassis_subtype: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 4, 1, 1, 4],
    chassis: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 4, 1, 1, 5],
    port_subtype: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 4, 1, 1, 6],
    port: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 4, 1, 1, 7],
    port_descr: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 4, 1, 1, 8],
    name: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 4, 1, 1, 9],
    capabilities: &[1, 3, 6, 1, 4, 1, 6527, 3, 1, 2, 59, 4, 1, 1, 12],
    local: interface_in_index,
    listed: None,
};

pub(super) const TABLE: VendorTable = VendorTable {
    vendors: &[6527],
    objects: TableObjects {
        scalars: &[],
        columns: &[
            PORTS.subtype,
            PORTS.id,
            PORTS.descr,
            REMOTE.chassis_subtype,
            REMOTE.chassis,
            REMOTE.port_subtype,
            REMOTE.port,
            REMOTE.port_descr,
            REMOTE.name,
            REMOTE.capabilities,
        ],
    },
    read,
};

/// The ports and the neighbours replace the standard ones together, because they are numbered
/// differently.
fn read(answers: &WalkAnswers, table: &mut LldpTable) {
    if !table.neighbours.is_empty() {
        return;
    }
    // A neighbour that sends to several destination addresses has a row for each.
    let keyed = REMOTE.read(answers).into_iter().map(|n| {
        let (chassis, port) = (n.chassis.clone(), n.port.clone());
        ((n.local_port, chassis, port, n.name.clone()), n)
    });
    let each: BTreeMap<_, LldpNeighbour> = keyed.collect();
    let neighbours: Vec<LldpNeighbour> = each.into_values().collect();
    if !neighbours.is_empty() {
        (table.ports, table.neighbours) = (PORTS.read(answers), neighbours);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{mac, name, recorded};
    use inventory::observation::{LldpNeighbour, PortIdKind, SystemCapabilities};

    /// A made-up router: its standard tables name only itself. One neighbour sends to two
    /// destination addresses.
    const ROUTER: &str = "\
1.0.8802.1.1.2.1.3.2.0|4x|020000000001
1.0.8802.1.1.2.1.3.7.1.3.1|4|1/1/1
1.3.6.1.2.1.1.2.0|6|1.3.6.1.4.1.6527.1.3.4
1.3.6.1.4.1.6527.3.1.2.59.3.1.1.2.35684352.1|2|7
1.3.6.1.4.1.6527.3.1.2.59.3.1.1.2.35684352.2|2|7
1.3.6.1.4.1.6527.3.1.2.59.3.1.1.3.35684352.1|4|35684352
1.3.6.1.4.1.6527.3.1.2.59.3.1.1.3.35684352.2|4|35684352
1.3.6.1.4.1.6527.3.1.2.59.3.1.1.4.35684352.1|4|1/1/1, 10-Gig Ethernet
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.4.77.35684352.1.1|2|4
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.4.78.35684352.2.2|2|4
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.5.77.35684352.1.1|4x|020000000009
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.5.78.35684352.2.2|4x|020000000009
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.6.77.35684352.1.1|2|5
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.6.78.35684352.2.2|2|5
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.7.77.35684352.1.1|4|swp9
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.7.78.35684352.2.2|4|swp9
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.9.77.35684352.1.1|4|s9
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.9.78.35684352.2.2|4|s9
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.12.77.35684352.1.1|4x|2800
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.12.78.35684352.2.2|4x|2800
1.3.6.1.4.1.6527.3.1.2.59.4.1.1.9.77.35684352|4|an index of another form
";

    #[test]
    fn neighbours_and_ports_are_numbered_by_if_index() {
        let table = recorded(ROUTER);
        assert_eq!(table.chassis, Some(mac(1)));
        assert_eq!(
            (
                table.ports.len(),
                table.ports[0].number,
                &table.ports[0].kind
            ),
            (1, 35_684_352, &Some(PortIdKind::Local))
        );
        let [
            LldpNeighbour {
                if_index,
                chassis,
                port,
                name: called,
                capabilities,
                ..
            },
        ] = &table.neighbours[..]
        else {
            panic!("{:?}", table.neighbours)
        };
        let both = SystemCapabilities {
            bridge: true,
            router: true,
        };
        assert_eq!((*if_index, *capabilities), (Some(35_684_352), Some(both)));
        assert_eq!(
            (chassis, port, called.as_str()),
            (&Some(mac(9)), &Some(name("swp9")), "s9")
        );
    }

    #[test]
    fn the_standard_tables_count_where_they_name_neighbours() {
        let table = recorded(&format!("{ROUTER}1.0.8802.1.1.2.1.4.1.1.9.0.1.1|4|s8\n"));
        assert_eq!(
            (
                table.neighbours.len(),
                table.neighbours[0].name.as_str(),
                table.ports[0].number
            ),
            (1, "s8", 1)
        );
    }
}
