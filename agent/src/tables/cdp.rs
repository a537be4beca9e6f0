//! CISCO-CDP-MIB cdpCacheTable: neighbours by Cisco's own protocol. Switches that do not speak CDP
//! forward it, so it is weaker evidence than LLDP.
use super::{mac_of_digits, text};
use crate::frames::cdp::capabilities;
use crate::frames::id;
use crate::walk::WalkAnswers;
use inventory::observation::{CdpNeighbour, CdpTable, NeighbourId};
use snmp::Value;
use std::collections::BTreeSet;

pub(super) const GLOBAL_DEVICE: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 3, 4];
/// cdpCacheAddress.
pub(super) const ADDRESS: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 4];
pub(super) const DEVICE: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 6];
pub(super) const DEVICE_PORT: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 7];
pub(super) const CAPABILITIES: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 9];
/// cdpCacheSysName, which not all devices have.
pub(super) const SYS_NAME: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 23, 1, 2, 1, 1, 17];

pub(super) fn read(answers: &WalkAnswers) -> CdpTable {
    CdpTable {
        device: text(answers.scalar(GLOBAL_DEVICE)),
        neighbours: rows(answers).into_iter().map(|(_, row)| row).collect(),
    }
}

/// The rows of the table, with their indexes.
pub(super) fn rows(answers: &WalkAnswers) -> Vec<(&[u32], CdpNeighbour)> {
    let named = [DEVICE, DEVICE_PORT];
    let indices: BTreeSet<&[u32]> = named
        .iter()
        .flat_map(|column| answers.column(column))
        .map(|(index, _)| index)
        .collect();
    let rows = indices.into_iter().filter_map(|index| {
        let [if_index, _] = index else { return None };
        let [device, port] = named.map(|column| {
            let octets = answers.cell(column, index).and_then(Value::as_bytes);
            id::read(octets?, None)
        });
        let called = text(answers.cell(SYS_NAME, index));
        let neighbour = CdpNeighbour {
            if_index: *if_index,
            device: device.map(|device| identified(device, &called)),
            name: called,
            port,
            capabilities: answers
                .cell(CAPABILITIES, index)
                .and_then(Value::as_bytes)
                .and_then(capabilities),
            ..CdpNeighbour::default()
        };
        Some((index, neighbour))
    });
    rows.collect()
}

/// Small switches of Cisco have their MAC address as device id, in digits alone (`020000000009`).
/// That could be a name, unless the neighbour has another.
fn identified(device: NeighbourId, called: &str) -> NeighbourId {
    match &device {
        NeighbourId::Text(text) if !called.is_empty() && text != called => {
            mac_of_digits(text).map_or(device, NeighbourId::Mac)
        }
        _ => device,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;
    use inventory::observation::SystemCapabilities;

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
    fn digits_are_an_address_only_where_the_neighbour_has_a_name_besides() {
        let cdp = read(&answers(&[
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.7.1", octets("020000000009")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.17.7.1", octets("s9")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.8.1", octets("020000000009")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.9.1", octets("020000000009")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.17.9.1", octets("020000000009")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.9.2", octets("s5(SSI1)")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.17.9.2", octets("s5")),
        ]));
        let text = |text: &str| Some(NeighbourId::Text(text.into()));
        let seen: Vec<_> = cdp
            .neighbours
            .into_iter()
            .map(|n| (n.if_index, n.device, n.name))
            .collect();
        assert_eq!(
            seen,
            [
                (
                    7,
                    Some(NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 9]))),
                    "s9".into()
                ),
                (8, text("020000000009"), String::new()),
                (9, text("020000000009"), "020000000009".into()),
                (9, text("s5(SSI1)"), "s5".into())
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
