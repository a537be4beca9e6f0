//! FOUNDRY-SN-SWITCH-GROUP-MIB snFdpCacheTable (Foundry, Brocade, Ruckus): neighbours by FDP, and
//! by CDP where the device understands it.
use super::{TableObjects, VendorTable};
use crate::frames::id;
use crate::walk::WalkAnswers;
use inventory::observation::{CdpNeighbour, LldpTable, NeighbourId, VendorProtocol};
use snmp::Value;

/// Indexed by ifIndex and neighbour: its name, its port.
const DEVICE: &[u32] = &[1, 3, 6, 1, 4, 1, 1991, 1, 1, 3, 20, 1, 2, 1, 1, 3];
const DEVICE_PORT: &[u32] = &[1, 3, 6, 1, 4, 1, 1991, 1, 1, 3, 20, 1, 2, 1, 1, 7];

pub(super) const TABLE: VendorTable = VendorTable {
    vendors: &[1991],
    objects: TableObjects {
        scalars: &[],
        columns: &[DEVICE, DEVICE_PORT],
    },
    read,
};

fn read(answers: &WalkAnswers, table: &mut LldpTable) {
    let rows = answers.column(DEVICE).filter_map(|(index, value)| {
        let [if_index, _] = index else { return None };
        Some(CdpNeighbour {
            protocol: VendorProtocol::Fdp,
            if_index: *if_index,
            device: Some(name(Some(value))?),
            port: name(answers.cell(DEVICE_PORT, index)),
            ..CdpNeighbour::default()
        })
    });
    table.cdp.neighbours.extend(rows);
}

fn name(value: Option<&Value>) -> Option<NeighbourId> {
    id::read(value?.as_bytes()?, None)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{name, recorded};
    use super::*;

    /// A made-up switch with one neighbour.
    const SWITCH: &str = "\
1.3.6.1.4.1.1991.1.1.3.20.1.2.1.1.3.7.1|4|s9
1.3.6.1.4.1.1991.1.1.3.20.1.2.1.1.7.7.1|4|ethernet1/1/9
1.3.6.1.4.1.1991.1.1.3.20.1.2.1.1.3.8|4|an index of another form
1.3.6.1.4.1.1991.1.1.3.20.1.2.1.1.3.9.1|2|9
";

    #[test]
    fn a_neighbour_by_fdp_is_distinguished_from_one_by_cdp() {
        let [
            CdpNeighbour {
                protocol,
                if_index,
                device,
                port,
                ..
            },
        ] = &recorded(SWITCH).cdp.neighbours[..]
        else {
            panic!("one neighbour")
        };
        assert_eq!((*protocol, *if_index), (VendorProtocol::Fdp, 7));
        assert_eq!(
            (device, port),
            (&Some(name("s9")), &Some(name("ethernet1/1/9")))
        );
    }
}
