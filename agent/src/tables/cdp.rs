//! CISCO-CDP-MIB cdpCacheTable: neighbours by Cisco's own protocol. Switches that do not speak CDP
//! forward it, so it is weaker evidence than LLDP.
use super::text;
use crate::frames::cdp::capabilities;
use crate::frames::id;
use crate::walk::WalkAnswers;
use inventory::observation::{CdpNeighbour, CdpTable};
use snmp::Value;
use std::collections::BTreeSet;

pub(super) const GLOBAL_DEVICE: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 3, 4];
pub(super) const DEVICE: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 6];
pub(super) const DEVICE_PORT: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 7];
pub(super) const CAPABILITIES: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 9];

pub(super) fn read(answers: &WalkAnswers) -> CdpTable {
    let named = [DEVICE, DEVICE_PORT];
    let indices: BTreeSet<&[u32]> = named
        .iter()
        .flat_map(|column| answers.column(column))
        .map(|(index, _)| index)
        .collect();
    let name = |column: &[u32], index: &[u32]| {
        answers
            .cell(column, index)
            .and_then(Value::as_bytes)
            .and_then(|bytes| id::read(bytes, None))
    };
    let row = |index: &[u32]| {
        let [if_index, _] = index else { return None };
        Some(CdpNeighbour {
            if_index: *if_index,
            device: name(DEVICE, index),
            port: name(DEVICE_PORT, index),
            capabilities: answers
                .cell(CAPABILITIES, index)
                .and_then(Value::as_bytes)
                .and_then(capabilities),
            ..CdpNeighbour::default()
        })
    };
    CdpTable {
        device: text(answers.scalar(GLOBAL_DEVICE)),
        neighbours: indices.into_iter().filter_map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;
    use inventory::observation::{NeighbourId, SystemCapabilities};

    #[test]
    fn reads_names_and_addresses() {
        let cdp = read(&answers(&[
            ("1.3.6.1.4.1.9.9.23.1.3.4.0", octets("Switch1")),
            (
                "1.3.6.1.4.1.9.9.23.1.2.1.1.6.10101.1",
                octets("Router1.example.org"),
            ),
            (
                "1.3.6.1.4.1.9.9.23.1.2.1.1.7.10101.1",
                octets("FastEthernet0/0"),
            ),
            (
                "1.3.6.1.4.1.9.9.23.1.2.1.1.9.10101.1",
                octets([0, 0, 0, 0x29]),
            ),
            (
                "1.3.6.1.4.1.9.9.23.1.2.1.1.6.7.2",
                octets([0, 0x1f, 0xf2, 7, 0x99, 0x4f]),
            ),
        ]));
        assert_eq!(cdp.device, "Switch1");
        let mac = Some(NeighbourId::Mac(Mac([0, 0x1f, 0xf2, 7, 0x99, 0x4f])));
        assert_eq!(
            cdp.neighbours,
            [
                CdpNeighbour {
                    if_index: 7,
                    device: mac,
                    ..CdpNeighbour::default()
                },
                CdpNeighbour {
                    if_index: 10101,
                    device: Some(NeighbourId::Text("Router1.example.org".into())),
                    port: Some(NeighbourId::Text("FastEthernet0/0".into())),
                    capabilities: Some(SystemCapabilities {
                        bridge: true,
                        router: true
                    }),
                    ..CdpNeighbour::default()
                },
            ]
        );
    }

    #[test]
    fn refuses_indexes_and_types_that_are_none() {
        let cdp = read(&answers(&[
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.7", octets("short")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.7.1.1", octets("long")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.8.1", Value::Integer(1)),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.9.8.1", octets([1])),
        ]));
        assert_eq!(
            cdp.neighbours,
            [CdpNeighbour {
                if_index: 8,
                ..CdpNeighbour::default()
            }]
        );
    }
}
