//! NMS-LLDP-MIB (BDCOM, PBN and what others sell of theirs): LLDP-MIB at another place, with the
//! ifIndex as a column.
use super::{TableObjects, VendorTable};
use crate::tables::lldp::remote::{LocalPortNumber, RemoteColumns};
use crate::tables::number;
use crate::walk::WalkAnswers;
use inventory::observation::LldpTable;

/// lldpRemLocalPortNum of each vendor.
const BDCOM_LOCAL: &[u32] = &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 2];
const PBN_LOCAL: &[u32] = &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 2];

/// lldpRemTable below nms, which is 3320 for BDCOM.
const BDCOM: RemoteColumns = RemoteColumns {
    chassis_subtype: &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 4],
    chassis: &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 5],
    port_subtype: &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 6],
    port: &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 7],
    port_descr: &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 8],
    name: &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 9],
    capabilities: &[1, 3, 6, 1, 4, 1, 3320, 127, 1, 4, 1, 1, 12],
    local: |answers, index| local(answers, BDCOM_LOCAL, index),
    listed: None,
};

/// And 11606.10 for PBN.
const PBN: RemoteColumns = RemoteColumns {
    chassis_subtype: &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 4],
    chassis: &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 5],
    port_subtype: &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 6],
    port: &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 7],
    port_descr: &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 8],
    name: &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 9],
    capabilities: &[1, 3, 6, 1, 4, 1, 11606, 10, 127, 1, 4, 1, 1, 12],
    local: |answers, index| local(answers, PBN_LOCAL, index),
    listed: None,
};

pub(super) const TABLE: VendorTable = VendorTable {
    vendors: &[3320, 11606, 52642],
    objects: TableObjects {
        scalars: &[],
        columns: &[
            BDCOM_LOCAL,
            BDCOM.chassis_subtype,
            BDCOM.chassis,
            BDCOM.port_subtype,
            BDCOM.port,
            BDCOM.port_descr,
            BDCOM.name,
            BDCOM.capabilities,
            PBN_LOCAL,
            PBN.chassis_subtype,
            PBN.chassis,
            PBN.port_subtype,
            PBN.port,
            PBN.port_descr,
            PBN.name,
            PBN.capabilities,
        ],
    },
    read,
};

fn local(answers: &WalkAnswers, column: &[u32], index: &[u32]) -> Option<LocalPortNumber> {
    number(answers.cell(column, index)).map(LocalPortNumber::Interface)
}

/// Rows without a port are left out.
fn read(answers: &WalkAnswers, table: &mut LldpTable) {
    if table.neighbours.is_empty() {
        table.neighbours = [BDCOM, PBN].iter().flat_map(|t| t.read(answers)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{mac, name, recorded};

    /// Made-up switches, whose indexes have two parts and three.
    const BDCOM: &str = "\
1.3.6.1.4.1.3320.127.1.4.1.1.2.9.1|2|12
1.3.6.1.4.1.3320.127.1.4.1.1.4.9.1|2|4
1.3.6.1.4.1.3320.127.1.4.1.1.5.9.1|4x|020000000009
1.3.6.1.4.1.3320.127.1.4.1.1.6.9.1|2|5
1.3.6.1.4.1.3320.127.1.4.1.1.7.9.1|4|swp9
1.3.6.1.4.1.3320.127.1.4.1.1.9.9.1|4|s9
1.3.6.1.4.1.3320.127.1.4.1.1.9.9.2|4|nobody tells at which port
";
    const PBN: &str = "\
1.3.6.1.4.1.11606.10.127.1.4.1.1.2.0.7.1|2|7
1.3.6.1.4.1.11606.10.127.1.4.1.1.9.0.7.1|4|s7
1.3.6.1.4.1.11606.10.127.1.4.1.1.2.0.8.1|4|seven
1.3.6.1.4.1.11606.10.127.1.4.1.1.9.0.8.1|4|s8
";

    #[test]
    fn the_port_is_the_one_in_the_column() {
        let [one] = &recorded(BDCOM).neighbours[..] else {
            panic!("one neighbour")
        };
        assert_eq!((one.if_index, one.name.as_str()), (Some(12), "s9"));
        assert_eq!(
            (&one.chassis, &one.port),
            (&Some(mac(9)), &Some(name("swp9")))
        );
        let [one] = &recorded(PBN).neighbours[..] else {
            panic!("one neighbour")
        };
        assert_eq!((one.if_index, one.name.as_str()), (Some(7), "s7"));
    }
}
