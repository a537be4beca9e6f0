//! The sizes of the queues of ports, in the tables of the few vendors that tell them.
//!
//! | MIB | object | tells |
//! |---|---|---|
//! | HH3C-IFQOS2-MIB, HPNICF-IFQOS2-MIB | hh3cIfQoSQueueLengthInBytes | the octets that a queue can hold |
//! | CISCO-SWITCH-QOS-MIB | csqIfQosGroupInfoQueueSize | those that wait where they came in, for any port |
//!
//! Each is indexed by ifIndex and the queue or group; some of them are empty. A port holds at least what the
//! smallest does.
use super::{TableObjects, number, vendors};
use crate::walk::WalkAnswers;
use inventory::Bytes;
use std::collections::BTreeMap;

/// A vendor's numbers in sysObjectID, and its column.
struct QueueColumn {
    vendors: &'static [u32],
    objects: TableObjects,
}

const fn column(vendors: &'static [u32], columns: &'static [&'static [u32]]) -> QueueColumn {
    QueueColumn {
        vendors,
        objects: TableObjects {
            scalars: &[],
            columns,
        },
    }
}

const ALL: [QueueColumn; 3] = [
    // csqIfQosGroupInfoQueueSize.
    column(&[9], &[&[1, 3, 6, 1, 4, 1, 9, 9, 580, 1, 4, 8, 1, 3]]),
    // hh3cIfQoSQueueLengthInBytes.
    column(
        &[25506],
        &[&[1, 3, 6, 1, 4, 1, 25506, 2, 65, 1, 1, 2, 1, 1, 8]],
    ),
    // hpnicfIfQoSQueueLengthInBytes.
    column(
        &[11],
        &[&[1, 3, 6, 1, 4, 1, 11, 2, 14, 11, 15, 2, 65, 1, 1, 2, 1, 1, 8]],
    ),
];

/// No queue of a switch is shorter than the longest usual frame.
const LEAST: u32 = 1518;

/// The objects of every vendor.
pub(super) fn objects() -> impl Iterator<Item = TableObjects> {
    ALL.into_iter().map(|column| column.objects)
}

/// The objects to ask a device of this vendor for.
pub(super) fn further(answers: &WalkAnswers) -> Option<TableObjects> {
    let vendor = vendors::vendor(answers)?;
    let column = ALL
        .into_iter()
        .find(|column| column.vendors.contains(&vendor))?;
    Some(column.objects)
}

/// The least size of each port's queue, by ifIndex.
pub(super) fn read(answers: &WalkAnswers) -> BTreeMap<u32, Bytes> {
    let mut queues: BTreeMap<u32, Bytes> = BTreeMap::new();
    for column in objects().flat_map(|objects| objects.columns) {
        for (index, value) in answers.column(column) {
            if let ([if_index, _, ..], Some(octets)) = (index, number(Some(value)))
                && octets >= LEAST
            {
                let octets = Bytes(octets.into());
                let least = queues.entry(*if_index).or_insert(octets);
                *least = octets.min(*least);
            }
        }
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::DeviceRecording;
    use inventory::Millis;
    use inventory::observation::DeviceFact;

    /// The queues of a recorded device's ports, by name.
    fn recorded(snmprec: &str) -> Vec<(String, Option<u64>)> {
        let recording = DeviceRecording::parse("s0", snmprec.as_bytes()).unwrap();
        let mut facts = recording.observations(Millis(1)).into_iter();
        let rows = facts.find_map(|o| match o.fact {
            DeviceFact::Interfaces(rows) => Some(rows),
            _ => None,
        });
        let all = rows.unwrap().into_iter();
        all.map(|row| (row.name, row.queue.map(|queue| queue.0)))
            .collect()
    }

    fn named(rows: [(&str, Option<u64>); 2]) -> Vec<(String, Option<u64>)> {
        rows.map(|(name, queue)| (name.to_owned(), queue)).to_vec()
    }

    /// Written after CISCO-SWITCH-QOS-MIB of 2016: a row an interface, a direction (1 in, 2 out) and a group;
    /// zero where the direction has none.
    #[test]
    fn a_nexus_tells_what_waits_where_it_came_in() {
        let rows = recorded(
            "1.3.6.1.2.1.2.2.1.2.436207616|4|Ethernet1/1\n\
             1.3.6.1.2.1.2.2.1.2.436211712|4|Ethernet1/2\n\
             1.3.6.1.4.1.9.9.580.1.4.8.1.3.436207616.1.0|66|470080\n\
             1.3.6.1.4.1.9.9.580.1.4.8.1.3.436207616.1.1|66|79360\n\
             1.3.6.1.4.1.9.9.580.1.4.8.1.3.436207616.2.0|66|0\n",
        );
        let expected = [("Ethernet1/1", Some(79_360)), ("Ethernet1/2", None)];
        assert_eq!(rows, named(expected));
    }

    /// Written after HH3C-IFQOS2-MIB: a row an interface and a queue.
    #[test]
    fn comware_tells_what_each_queue_can_hold() {
        for root in ["1.3.6.1.4.1.25506.2", "1.3.6.1.4.1.11.2.14.11.15.2"] {
            let rows = recorded(&format!(
                "1.3.6.1.2.1.2.2.1.2.1|4|Ten-GigabitEthernet1/0/1\n\
                 1.3.6.1.2.1.2.2.1.2.2|4|Ten-GigabitEthernet1/0/2\n\
                 {root}.65.1.1.2.1.1.8.1.0|66|200000\n\
                 {root}.65.1.1.2.1.1.8.1.1|66|150000\n\
                 {root}.65.1.1.2.1.1.8.2.0|66|64\n"
            ));
            let names = ["Ten-GigabitEthernet1/0/1", "Ten-GigabitEthernet1/0/2"];
            // 64 octets hold no frame: it counts something else.
            assert_eq!(
                rows,
                named([(names[0], Some(150_000)), (names[1], None)]),
                "{root}"
            );
        }
    }

    #[test]
    fn each_vendors_devices_are_asked_for_their_own_table_alone() {
        for (model, vendor) in [
            ("1.3.6.1.4.1.9.12.3.1.3.1084", Some(9)),
            ("1.3.6.1.4.1.25506.11.1.1", Some(25506)),
            ("1.3.6.1.4.1.30065.1", None),
        ] {
            let oid = snmp::Value::ObjectIdentifier(snmp::Oid::parse(model).unwrap());
            let answers = super::super::tests::answers(&[("1.3.6.1.2.1.1.2.0", oid)]);
            let asked = further(&answers).map(|objects| objects.columns[0][6]);
            assert_eq!(asked, vendor, "{model}");
        }
    }
}
