//! MIKROTIK-MIB mtxrNeighborTable: the neighbours that RouterOS received by MNDP, CDP or LLDP; it does
//! not tell by which. Until version 7.7 lldpRemTable has the same neighbours, without a port and
//! under the numbers of this table. All of them are taken for what the weakest protocol allows.
use super::{TableObjects, VendorTable};
use crate::tables::lldp::remote::LocalPortNumber;
use crate::tables::lldp::standard::FIRST_REMOTE;
use crate::tables::{mac, number, text};
use crate::walk::WalkAnswers;
use inventory::observation::{CdpNeighbour, LldpTable, NeighbourId, VendorProtocol};
use std::collections::BTreeMap;

/// The columns, indexed by a number: the neighbour's MAC address, its identity, the ifIndex.
const ADDRESS: &[u32] = &[1, 3, 6, 1, 4, 1, 14988, 1, 1, 11, 1, 1, 3];
const IDENTITY: &[u32] = &[1, 3, 6, 1, 4, 1, 14988, 1, 1, 11, 1, 1, 6];
const INTERFACE: &[u32] = &[1, 3, 6, 1, 4, 1, 14988, 1, 1, 11, 1, 1, 8];

pub(super) const TABLE: VendorTable = VendorTable {
    vendors: &[14988],
    objects: TableObjects {
        scalars: &[],
        columns: &[ADDRESS, IDENTITY, INTERFACE],
    },
    read,
};

fn read(answers: &WalkAnswers, table: &mut LldpTable) {
    let rows = answers.column(INTERFACE).filter_map(|(index, value)| {
        let [row] = index else { return None };
        Some((*row, number(Some(value)).filter(|n| *n != 0)?))
    });
    let interfaces: BTreeMap<u32, u32> = rows.collect();
    if interfaces.is_empty() {
        return;
    }
    let by_lldp = standard_rows(answers);
    let neighbours = interfaces.into_iter().filter_map(|(row, if_index)| {
        let neighbour = CdpNeighbour {
            protocol: VendorProtocol::Mndp,
            if_index,
            device: mac(answers.cell(ADDRESS, &[row])).map(NeighbourId::Mac),
            name: text(answers.cell(IDENTITY, &[row])),
            ..CdpNeighbour::default()
        };
        let neighbour = match by_lldp.get(&row) {
            Some(index) => completed(neighbour, answers, index),
            None => neighbour,
        };
        (neighbour.device.is_some() || !neighbour.name.is_empty()).then_some(neighbour)
    });
    // A device that speaks two of the protocols has a row for each.
    let keyed = neighbours.map(|n| {
        let key = (n.if_index, n.device.clone(), n.port.clone(), n.name.clone());
        (key, n)
    });
    let each: BTreeMap<_, CdpNeighbour> = keyed.collect();
    table.cdp.neighbours.extend(each.into_values());
    // The standard table's rows without a port are among these now.
    table.neighbours.retain(|n| n.local_port != 0);
}

/// The rows of lldpRemTable without a port, by their number, which is the last part of the index:
/// `8`, or `0.0.8`.
fn standard_rows(answers: &WalkAnswers) -> BTreeMap<u32, Vec<u32>> {
    let rows = FIRST_REMOTE.indices(answers).into_iter();
    rows.filter_map(|index| match index {
        [row] | [_, 0, row] => Some((*row, index.to_vec())),
        _ => None,
    })
    .collect()
}

/// With what lldpRemTable tells of the same neighbour.
fn completed(neighbour: CdpNeighbour, answers: &WalkAnswers, index: &[u32]) -> CdpNeighbour {
    let row = FIRST_REMOTE.row(answers, index, LocalPortNumber::Own(0));
    CdpNeighbour {
        device: row.chassis.or(neighbour.device),
        name: if row.name.is_empty() {
            neighbour.name
        } else {
            row.name
        },
        port: row.port,
        ..neighbour
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{mac, name, recorded};
    use super::*;

    /// A made-up router with an old system. It received s9 by two protocols, and receives s8 with
    /// another of its interfaces; s7 is without a port.
    const OLD: &str = "\
1.0.8802.1.1.2.1.4.1.1.4.8|2|4
1.0.8802.1.1.2.1.4.1.1.5.8|4|02:00:00:00:00:09
1.0.8802.1.1.2.1.4.1.1.6.8|2|5
1.0.8802.1.1.2.1.4.1.1.7.8|4|bridge1/ether9
1.0.8802.1.1.2.1.4.1.1.9.8|4|s9
1.0.8802.1.1.2.1.4.1.1.4.9|2|4
1.0.8802.1.1.2.1.4.1.1.5.9|4|02:00:00:00:00:09
1.0.8802.1.1.2.1.4.1.1.7.9|4|bridge1/ether9
1.0.8802.1.1.2.1.4.1.1.9.9|4|s9
1.0.8802.1.1.2.1.4.1.1.4.0.0.10|2|4
1.0.8802.1.1.2.1.4.1.1.5.0.0.10|4x|020000000008
1.0.8802.1.1.2.1.4.1.1.9.0.0.11|4|s7
1.3.6.1.4.1.14988.1.1.11.1.1.8.8|2|15
1.3.6.1.4.1.14988.1.1.11.1.1.8.9|2|15
1.3.6.1.4.1.14988.1.1.11.1.1.8.10|2|16
1.3.6.1.4.1.14988.1.1.11.1.1.8.11|2|0
1.3.6.1.4.1.14988.1.1.11.1.1.3.10|4x|020000000007
1.3.6.1.4.1.14988.1.1.11.1.1.6.10|4|s8
1.3.6.1.4.1.14988.1.1.11.1.1.8.12|4|ether1
1.3.6.1.4.1.14988.1.1.11.1.1.8.13|2|3
";
    const NEW: &str = "\
1.0.8802.1.1.2.1.4.1.1.9.0.2.1|4|s9
1.3.6.1.4.1.14988.1.1.11.1.1.3.4|4x|020000000009
1.3.6.1.4.1.14988.1.1.11.1.1.6.4|4|s9
1.3.6.1.4.1.14988.1.1.11.1.1.8.4|2|2
";

    fn neighbour(if_index: u32, device: NeighbourId, called: &str) -> CdpNeighbour {
        CdpNeighbour {
            protocol: VendorProtocol::Mndp,
            if_index,
            device: Some(device),
            name: called.into(),
            ..CdpNeighbour::default()
        }
    }

    #[test]
    fn both_tables_complete_each_other() {
        let table = recorded(OLD);
        let s9 = CdpNeighbour {
            port: Some(name("bridge1/ether9")),
            ..neighbour(15, mac(9), "s9")
        };
        assert_eq!(table.cdp.neighbours, [s9, neighbour(16, mac(8), "s8")]);
        assert_eq!(table.neighbours, [], "LLDP did not tell a port");
    }

    #[test]
    fn rows_of_lldp_with_a_port_stay() {
        let table = recorded(NEW);
        assert_eq!(
            (table.neighbours.len(), table.neighbours[0].local_port),
            (1, 2)
        );
        assert_eq!(table.cdp.neighbours, [neighbour(2, mac(9), "s9")]);
        assert!(table.cdp.neighbours[0].protocol.is_broadcast());
    }
}
