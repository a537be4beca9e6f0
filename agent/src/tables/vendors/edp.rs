//! EXTREME-EDP-MIB extremeEdpTable: neighbours by EDP.
use super::{TableObjects, VendorTable};
use crate::tables::{mac_of_index, number, text};
use crate::walk::WalkAnswers;
use inventory::observation::{CdpNeighbour, LldpTable, NeighbourId, VendorProtocol};

/// Indexed by ifIndex and the neighbour's id: its name, its slot, its port.
const NAME: &[u32] = &[1, 3, 6, 1, 4, 1, 1916, 1, 13, 2, 1, 3];
const SLOT: &[u32] = &[1, 3, 6, 1, 4, 1, 1916, 1, 13, 2, 1, 5];
const PORT: &[u32] = &[1, 3, 6, 1, 4, 1, 1916, 1, 13, 2, 1, 6];

pub(super) const TABLE: VendorTable = VendorTable {
    vendors: &[1916],
    objects: TableObjects {
        scalars: &[],
        columns: &[NAME, SLOT, PORT],
    },
    read,
};

fn read(answers: &WalkAnswers, table: &mut LldpTable) {
    let rows = answers.column(NAME).filter_map(|(index, value)| {
        let [if_index, id @ ..] = index else {
            return None;
        };
        let name = text(Some(value));
        // ExtremeDeviceId: two octets of zero, then the device's MAC address.
        let device = match id {
            [0, 0, address @ ..] => mac_of_index(address).map(NeighbourId::Mac),
            _ => None,
        };
        let port = number(answers.cell(PORT, index));
        let slot = number(answers.cell(SLOT, index));
        (device.is_some() || !name.is_empty()).then(|| CdpNeighbour {
            protocol: VendorProtocol::Edp,
            if_index: *if_index,
            device,
            name,
            port: slot
                .zip(port)
                .map(|(slot, port)| NeighbourId::Text(format!("{slot}:{port}"))),
            ..CdpNeighbour::default()
        })
    });
    table.cdp.neighbours.extend(rows);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{mac, name, recorded};
    use super::*;

    /// A made-up switch with a neighbour; of another one not even the address is known.
    const SWITCH: &str = "\
1.3.6.1.4.1.1916.1.13.2.1.3.1007.0.0.2.0.0.0.0.9|4|s9
1.3.6.1.4.1.1916.1.13.2.1.5.1007.0.0.2.0.0.0.0.9|2|1
1.3.6.1.4.1.1916.1.13.2.1.6.1007.0.0.2.0.0.0.0.9|2|9
1.3.6.1.4.1.1916.1.13.2.1.3.1008.0.0.0.0.0.0.0.0|4|
1.3.6.1.4.1.1916.1.13.2.1.3.1009.1.2|4|s7
";

    #[test]
    fn the_index_holds_the_neighbours_address() {
        let neighbour = |if_index, device, called: &str, port| CdpNeighbour {
            protocol: VendorProtocol::Edp,
            if_index,
            device,
            name: called.into(),
            port,
            ..CdpNeighbour::default()
        };
        assert_eq!(
            recorded(SWITCH).cdp.neighbours,
            [
                neighbour(1007, Some(mac(9)), "s9", Some(name("1:9"))),
                neighbour(1009, None, "s7", None)
            ]
        );
    }
}
