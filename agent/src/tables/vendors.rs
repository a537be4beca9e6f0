//! Tables of neighbours that a vendor serves instead of the standard ones. They are asked for where
//! the standard tables name nobody and the device says that it is the vendor's; in recordings they
//! are read always.
//!
//! A vendor is a file here, and a line in [`ALL`].
mod edp;
mod fdp;
mod mikrotik;
mod nms;
mod nokia;
mod tplink;

use super::TableObjects;
use crate::walk::WalkAnswers;
use inventory::observation::LldpTable;
use snmp::Value;

/// sysObjectID: the device's model, below its vendor's number.
pub(super) const OBJECT_ID: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 2];
const ENTERPRISES: &[u32] = &[1, 3, 6, 1, 4, 1];

/// A vendor's table.
struct VendorTable {
    /// The vendor's numbers in sysObjectID.
    vendors: &'static [u32],
    objects: TableObjects,
    /// Adds what the table tells to the content of the standard tables.
    read: fn(&WalkAnswers, &mut LldpTable),
}

const ALL: [VendorTable; 6] = [
    edp::TABLE,
    fdp::TABLE,
    mikrotik::TABLE,
    nms::TABLE,
    nokia::TABLE,
    tplink::TABLE,
];

/// The objects of every vendor.
pub(super) fn objects() -> impl Iterator<Item = TableObjects> {
    ALL.into_iter().map(|table| table.objects)
}

/// The further objects to ask for, after the answers for the standard tables.
pub(super) fn further(answers: &WalkAnswers) -> Option<TableObjects> {
    let vendor = vendor(answers)?;
    let table = ALL
        .into_iter()
        .find(|table| table.vendors.contains(&vendor))?;
    let standard = super::lldp::standard::standard(answers);
    // RouterOS until 7.7 serves rows without a port.
    let is_complete = standard.neighbours.iter().any(|n| n.local_port != 0)
        || !standard.cdp.neighbours.is_empty();
    (!is_complete).then_some(table.objects)
}

/// Adds what the vendors' tables tell.
pub(super) fn add(answers: &WalkAnswers, table: &mut LldpTable) {
    for vendor in &ALL {
        (vendor.read)(answers, table);
    }
}

/// The number of the device's vendor.
pub(super) fn vendor(answers: &WalkAnswers) -> Option<u32> {
    let Value::ObjectIdentifier(model) = answers.scalar(OBJECT_ID)? else {
        return None;
    };
    model.arcs().strip_prefix(ENTERPRISES)?.first().copied()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::recording::DeviceRecording;
    use crate::tables::tests::{answers, octets};
    use inventory::observation::{DeviceFact, NeighbourId};
    use inventory::{Mac, Millis};
    use snmp::Oid;

    /// The table of neighbours in a recording.
    pub(super) fn recorded(snmprec: &str) -> LldpTable {
        let recording = DeviceRecording::parse("s0", snmprec.as_bytes()).unwrap();
        let mut facts = recording.observations(Millis(1)).into_iter();
        facts
            .find_map(|o| match o.fact {
                DeviceFact::Lldp(table) => Some(table),
                _ => None,
            })
            .unwrap()
    }

    pub(super) fn mac(last: u8) -> NeighbourId {
        NeighbourId::Mac(Mac([2, 0, 0, 0, 0, last]))
    }

    pub(super) fn name(text: &str) -> NeighbourId {
        NeighbourId::Text(text.into())
    }

    const MODEL: &str = "1.3.6.1.2.1.1.2.0";

    fn model(text: &str) -> Value {
        Value::ObjectIdentifier(Oid::parse(text).unwrap())
    }

    #[test]
    fn a_vendors_table_is_asked_for_only_where_it_can_help() {
        let nokia = || model("1.3.6.1.4.1.6527.1.3.4");
        let asked = |cells: &[(&str, Value)]| further(&answers(cells)).is_some();
        assert!(asked(&[(MODEL, nokia())]));
        for other in [
            model("1.3.6.1.4.1.8072.3.2.10"),
            model("1.3.6.1.4.1"),
            model("1.3.6.1.6527"),
            octets("1.3.6.1.4.1.6527"),
        ] {
            assert!(!asked(&[(MODEL, other)]));
        }
        let neighbour = ("1.0.8802.1.1.2.1.4.1.1.9.0.5.1", octets("s9"));
        assert!(
            !asked(&[(MODEL, nokia()), neighbour]),
            "the standard speaks"
        );
        let nowhere = ("1.0.8802.1.1.2.1.4.1.1.9.0.0.1", octets("s9"));
        assert!(asked(&[(MODEL, nokia()), nowhere]), "but not of ports");
        let cdp = ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.7.2", octets("s9"));
        assert!(!asked(&[(MODEL, nokia()), cdp]));
    }
}
