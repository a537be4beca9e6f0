//! TPLINK-LLDPINFO-MIB (JetStream): LLDP as its web page shows it. Subtypes are words, so an
//! identifier says itself whether it is an address.
use super::{TableObjects, VendorTable};
use crate::tables::lldp::remote::id;
use crate::tables::text;
use crate::walk::WalkAnswers;
use inventory::observation::{LldpNeighbour, LldpPort, LldpTable};
use std::collections::BTreeSet;

/// lldpLocalInfoTable, indexed by ifIndex: chassis id, port id, port description, device name.
const LOCAL_CHASSIS: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 1, 1, 3];
const LOCAL_PORT: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 1, 1, 5];
const LOCAL_PORT_DESCR: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 1, 1, 7];
const LOCAL_NAME: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 1, 1, 8];

/// lldpNeighborInfoTable, indexed by ifIndex and neighbour.
const CHASSIS: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 2, 1, 4];
const PORT: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 2, 1, 6];
const PORT_DESCR: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 2, 1, 8];
const NAME: &[u32] = &[1, 3, 6, 1, 4, 1, 11863, 6, 35, 1, 2, 2, 1, 9];

pub(super) const TABLE: VendorTable = VendorTable {
    vendors: &[11863],
    objects: TableObjects {
        scalars: &[],
        columns: &[
            LOCAL_CHASSIS,
            LOCAL_PORT,
            LOCAL_PORT_DESCR,
            LOCAL_NAME,
            CHASSIS,
            PORT,
            PORT_DESCR,
            NAME,
        ],
    },
    read,
};

fn read(answers: &WalkAnswers, table: &mut LldpTable) {
    if !table.neighbours.is_empty() {
        return;
    }
    table.neighbours = neighbours(answers);
    if table.neighbours.is_empty() {
        return;
    }
    table.ports = answers
        .column(LOCAL_PORT)
        .filter_map(|(index, value)| match index {
            [interface] => Some(LldpPort {
                number: *interface,
                kind: None,
                id: id(Some(value), None)?,
                descr: text(answers.cell(LOCAL_PORT_DESCR, index)),
            }),
            _ => None,
        })
        .collect();
    // Each port repeats the device's own identity.
    table.chassis = table
        .chassis
        .take()
        .or_else(|| id(Some(answers.column(LOCAL_CHASSIS).next()?.1), None));
    if table.name.is_empty() {
        table.name = text(answers.column(LOCAL_NAME).next().map(|(_, value)| value));
    }
}

fn neighbours(answers: &WalkAnswers) -> Vec<LldpNeighbour> {
    let named = [CHASSIS, PORT, NAME];
    let indices: BTreeSet<&[u32]> = named
        .into_iter()
        .flat_map(|column| answers.column(column))
        .map(|(index, _)| index)
        .collect();
    indices
        .into_iter()
        .filter_map(|index| {
            let [interface, _] = index else { return None };
            Some(LldpNeighbour {
                local_port: *interface,
                if_index: Some(*interface),
                chassis: id(answers.cell(CHASSIS, index), None),
                port: id(answers.cell(PORT, index), None),
                port_descr: text(answers.cell(PORT_DESCR, index)),
                name: text(answers.cell(NAME, index)),
                ..LldpNeighbour::default()
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{mac, name, recorded};

    /// A made-up switch with one neighbour.
    const SWITCH: &str = "\
1.3.6.1.4.1.11863.6.35.1.2.1.1.3.49153|4|02:00:00:00:00:01
1.3.6.1.4.1.11863.6.35.1.2.1.1.5.49153|4|GigabitEthernet1/0/1
1.3.6.1.4.1.11863.6.35.1.2.1.1.7.49153|4|uplink
1.3.6.1.4.1.11863.6.35.1.2.1.1.8.49153|4|s0
1.3.6.1.4.1.11863.6.35.1.2.2.1.4.49153.1|4|02:00:00:00:00:09
1.3.6.1.4.1.11863.6.35.1.2.2.1.6.49153.1|4|swp9
1.3.6.1.4.1.11863.6.35.1.2.2.1.8.49153.1|4|to s0
1.3.6.1.4.1.11863.6.35.1.2.2.1.9.49153.1|4|s9
1.3.6.1.4.1.11863.6.35.1.2.2.1.9.49153|4|an index of another form
1.3.6.1.4.1.11863.6.35.1.2.2.1.9.49154.1|2|9
";

    #[test]
    fn the_switch_and_its_neighbour_are_shown_as_words() {
        let table = recorded(SWITCH);
        assert_eq!((&table.chassis, table.name.as_str()), (&Some(mac(1)), "s0"));
        assert_eq!(
            (
                table.ports[0].number,
                &table.ports[0].id,
                table.ports[0].descr.as_str()
            ),
            (49153, &name("GigabitEthernet1/0/1"), "uplink")
        );
        let one = &table.neighbours[0];
        assert_eq!(
            (one.if_index, &one.chassis, &one.port),
            (Some(49153), &Some(mac(9)), &Some(name("swp9")))
        );
        assert_eq!(
            (one.name.as_str(), one.port_descr.as_str()),
            ("s9", "to s0")
        );
        let nameless = &table.neighbours[1];
        assert_eq!(
            (nameless.if_index, nameless.name.as_str()),
            (Some(49154), ""),
            "a number is no name"
        );
    }
}
