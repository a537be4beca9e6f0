//! BRIDGE-MIB dot1dBase and dot1dStp (RFC 4188), which have the common spanning tree.
use super::instances::{self, bridge_id};
use super::{TableObjects, mac, number};
use crate::walk::WalkAnswers;
use inventory::observation::{BridgePort, BridgeTable, StpState};
use snmp::Value;
use std::collections::BTreeMap;

const ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 1, 1];
const PRIORITY: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 2, 2];
/// dot1dStpTimeSinceTopologyChange.
pub(crate) const SINCE_TOP_CHANGE: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 2, 3];
/// dot1dStpTopChanges.
pub(crate) const TOP_CHANGES: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 2, 4];
const DESIGNATED_ROOT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 2, 5];
const PORT_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 1, 4, 1, 2];
/// dot1dStpPortState.
pub(crate) const PORT_STATE: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 2, 15, 1, 3];
const PORT_DESIGNATED_BRIDGE: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 2, 15, 1, 8];
const PORT_DESIGNATED_PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 2, 15, 1, 9];
/// Q-BRIDGE-MIB dot1qPvid (RFC 4363).
const PORT_VLAN: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 4, 5, 1, 1];
/// The largest number of a VLAN (IEEE 802.1Q-2018, 9.6).
const LARGEST_VLAN: u16 = 4094;

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[ADDRESS, PRIORITY, TOP_CHANGES, DESIGNATED_ROOT],
    columns: &[
        PORT_IF_INDEX,
        PORT_STATE,
        PORT_DESIGNATED_BRIDGE,
        PORT_DESIGNATED_PORT,
        PORT_VLAN,
        instances::ROOT,
        instances::PORT_STATE,
    ],
};

pub(crate) fn read(answers: &WalkAnswers) -> BridgeTable {
    let mut ports: Vec<BridgePort> = answers
        .column(PORT_IF_INDEX)
        .filter_map(|(index, value)| {
            let [number_] = index else { return None };
            Some(BridgePort {
                number: *number_,
                if_index: number(Some(value))?,
                state: number(answers.cell(PORT_STATE, index)).and_then(state),
                designated_bridge: bridge_id(answers.cell(PORT_DESIGNATED_BRIDGE, index)),
                designated_port: answers
                    .cell(PORT_DESIGNATED_PORT, index)
                    .and_then(two_octets),
            })
        })
        .collect();
    // Some devices leave dot1dBasePortIfIndex at 0 throughout.
    if ports.iter().all(|p| p.if_index == 0) {
        ports.iter_mut().for_each(|p| p.if_index = p.number);
    }
    BridgeTable {
        address: mac(answers.scalar(ADDRESS)),
        root_bridge: bridge_id(answers.scalar(DESIGNATED_ROOT)),
        priority: number(answers.scalar(PRIORITY))
            .and_then(|p| u16::try_from(p).ok())
            .unwrap_or_default(),
        top_changes: number(answers.scalar(TOP_CHANGES)).unwrap_or_default(),
        instances: instances::read(answers, &ports),
        vlans: vlans(answers, &ports),
        ports,
    }
}

/// The VLAN of frames without a tag at each port, by ifIndex.
fn vlans(answers: &WalkAnswers, ports: &[BridgePort]) -> BTreeMap<u32, u16> {
    ports
        .iter()
        .filter_map(|port| {
            // dot1qPortVlanTable augments dot1dBasePortTable, so its index is a base port (RFC
            // 4363).
            let cell = number(answers.cell(PORT_VLAN, &[port.number]))?;
            let vlan = u16::try_from(cell).ok()?;
            let is_one = (1..=LARGEST_VLAN).contains(&vlan);
            is_one.then_some((port.if_index, vlan))
        })
        .collect()
}

/// dot1dStpPortState.
pub(crate) fn state(value: u32) -> Option<StpState> {
    Some(match value {
        1 => StpState::Disabled,
        2 => StpState::Blocking,
        3 => StpState::Listening,
        4 => StpState::Learning,
        5 => StpState::Forwarding,
        6 => StpState::Broken,
        _ => return None,
    })
}

fn two_octets(value: &Value) -> Option<u16> {
    value.as_bytes()?.try_into().ok().map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;
    use inventory::observation::BridgeId;

    const ID: [u8; 8] = [0x80, 0, 2, 0, 0, 0, 0, 1];

    #[test]
    fn reads_ports_with_and_without_stp() {
        let bridge = read(&answers(&[
            ("1.3.6.1.2.1.17.1.1.0", octets([2, 0, 0, 0, 0, 1])),
            ("1.3.6.1.2.1.17.2.2.0", Value::Integer(32768)),
            ("1.3.6.1.2.1.17.2.4.0", Value::Counter32(3)),
            ("1.3.6.1.2.1.17.2.5.0", octets(ID)),
            ("1.3.6.1.2.1.17.1.4.1.2.1", Value::Integer(12)),
            ("1.3.6.1.2.1.17.1.4.1.2.2", Value::Integer(13)),
            ("1.3.6.1.2.1.17.2.15.1.3.1", Value::Integer(5)),
            ("1.3.6.1.2.1.17.2.15.1.8.1", octets(ID)),
            ("1.3.6.1.2.1.17.2.15.1.9.1", octets([0x80, 2])),
        ]));
        let root = BridgeId {
            priority: 0x8000,
            address: Mac([2, 0, 0, 0, 0, 1]),
        };
        assert_eq!(
            (bridge.priority, bridge.top_changes, bridge.root_bridge),
            (32768, 3, Some(root))
        );
        assert_eq!(
            bridge.ports,
            [
                BridgePort {
                    number: 1,
                    if_index: 12,
                    state: Some(StpState::Forwarding),
                    designated_bridge: Some(root),
                    designated_port: Some(0x8002)
                },
                BridgePort {
                    number: 2,
                    if_index: 13,
                    state: None,
                    designated_bridge: None,
                    designated_port: None
                },
            ]
        );
    }

    #[test]
    fn a_bridge_that_tells_no_interface_at_all_numbers_its_ports_by_them() {
        let numbers = |indices: [i32; 2]| {
            let bridge = read(&answers(&[
                ("1.3.6.1.2.1.17.1.4.1.2.1", Value::Integer(indices[0])),
                ("1.3.6.1.2.1.17.1.4.1.2.2", Value::Integer(indices[1])),
            ]));
            [bridge.ports[0].if_index, bridge.ports[1].if_index]
        };
        assert_eq!(numbers([0, 0]), [1, 2]);
        assert_eq!(numbers([0, 12]), [0, 12], "nobody knows which one is meant");
    }

    #[test]
    fn reads_the_vlan_of_each_port_by_its_interface() {
        let bridge = read(&answers(&[
            ("1.3.6.1.2.1.17.1.4.1.2.1", Value::Integer(12)),
            ("1.3.6.1.2.1.17.1.4.1.2.2", Value::Integer(13)),
            ("1.3.6.1.2.1.17.1.4.1.2.3", Value::Integer(14)),
            ("1.3.6.1.2.1.17.7.1.4.5.1.1.1", Value::Gauge32(10)),
            ("1.3.6.1.2.1.17.7.1.4.5.1.1.2", Value::Gauge32(4095)),
            ("1.3.6.1.2.1.17.7.1.4.5.1.1.3", Value::Gauge32(4094)),
            ("1.3.6.1.2.1.17.7.1.4.5.1.1.9", Value::Gauge32(20)),
        ]));
        assert_eq!(bridge.vlans, BTreeMap::from([(12, 10), (14, 4094)]));
    }

    #[test]
    fn refuses_what_is_no_bridge_id_and_no_state() {
        assert_eq!(
            bridge_id(Some(&octets("8000.020000000001"))),
            None,
            "as text"
        );
        assert_eq!(bridge_id(Some(&octets([0; 8]))), None, "nobody");
        assert_eq!(
            (state(0), state(7), state(2)),
            (None, None, Some(StpState::Blocking))
        );
        let wild = read(&answers(&[
            ("1.3.6.1.2.1.17.1.4.1.2.1", octets("swp1")),
            ("1.3.6.1.2.1.17.2.2.0", Value::Integer(70_000)),
        ]));
        assert_eq!(wild, BridgeTable::default());
    }
}
