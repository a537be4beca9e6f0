//! IEEE8021-MSTP-MIB (IEEE 802.1Q-2018, 17.7.6): the spanning trees of MSTP beside the common one,
//! which BRIDGE-MIB has.
use super::number;
use crate::walk::WalkAnswers;
use inventory::Mac;
use inventory::observation::{
    BridgeId, BridgePort, SpanningInstance, SpanningInstanceId, StpState,
};
use snmp::Value;
use std::collections::BTreeMap;

/// ieee8021MstpDesignatedRoot, indexed by component and instance.
pub(super) const ROOT: &[u32] = &[1, 3, 111, 2, 802, 1, 1, 6, 1, 2, 1, 7];
/// ieee8021MstpPortState, indexed by component, instance and bridge port.
pub(super) const PORT_STATE: &[u32] = &[1, 3, 111, 2, 802, 1, 1, 6, 1, 4, 1, 5];

/// The largest number of an instance.
const LARGEST: u32 = 4094;

/// The instances of the first component. The others of a provider's bridge have ports of their own.
pub(super) fn read(answers: &WalkAnswers, ports: &[BridgePort]) -> Vec<SpanningInstance> {
    let interfaces: BTreeMap<u32, u32> = ports.iter().map(|p| (p.number, p.if_index)).collect();
    let first = answers
        .column(PORT_STATE)
        .next()
        .and_then(|(index, _)| index.first().copied());
    let mut instances: BTreeMap<u16, BTreeMap<u32, StpState>> = BTreeMap::new();
    for (index, value) in answers.column(PORT_STATE) {
        // Instance 0 is the common tree, which BRIDGE-MIB has.
        let [component, instance @ 1..=LARGEST, port] = index else {
            continue;
        };
        let interface = interfaces.get(port).filter(|i| **i != 0);
        let state = number(Some(value)).and_then(state);
        if let (true, Some(interface), Some(state)) = (Some(*component) == first, interface, state)
        {
            let states = instances.entry(*instance as u16).or_default();
            states.insert(*interface, state);
        }
    }
    instances
        .into_iter()
        .map(|(id, states)| SpanningInstance {
            id: SpanningInstanceId::Mst(id),
            root_bridge: first.and_then(|c| bridge_id(answers.cell(ROOT, &[c, id.into()]))),
            states,
        })
        .collect()
}

/// ieee8021MstpPortState numbers the states differently from dot1dStpPortState.
fn state(value: u32) -> Option<StpState> {
    Some(match value {
        1 => StpState::Disabled,
        2 => StpState::Listening,
        3 => StpState::Learning,
        4 => StpState::Forwarding,
        5 => StpState::Blocking,
        _ => return None,
    })
}

/// A BridgeId: two octets of priority, six of address.
pub(super) fn bridge_id(value: Option<&Value>) -> Option<BridgeId> {
    let [p, q, address @ ..] = value?.as_bytes()? else {
        return None;
    };
    let address = Mac::from_octets(address).filter(|m| m.is_station())?;
    Some(BridgeId {
        priority: u16::from_be_bytes([*p, *q]),
        address,
    })
}

#[cfg(test)]
mod tests {
    use super::super::bridge;
    use super::super::tests::{answers, octets};
    use super::*;

    #[test]
    fn a_port_may_forward_in_one_instance_and_block_in_another() {
        let integer = Value::Integer;
        let bridge = bridge::read(&answers(&[
            ("1.3.6.1.2.1.17.1.4.1.2.7", integer(107)),
            ("1.3.6.1.2.1.17.1.4.1.2.8", integer(0)),
            (
                "1.3.111.2.802.1.1.6.1.2.1.7.1.2",
                octets([0x80, 2, 2, 0, 0, 0, 0, 1]),
            ),
            ("1.3.111.2.802.1.1.6.1.4.1.5.1.2.7", integer(4)),
            ("1.3.111.2.802.1.1.6.1.4.1.5.1.3.7", integer(5)),
            ("1.3.111.2.802.1.1.6.1.4.1.5.2.4.7", integer(4)),
            ("1.3.111.2.802.1.1.6.1.4.1.5.1.2.8", integer(4)),
            ("1.3.111.2.802.1.1.6.1.4.1.5.1.2.9", integer(4)),
            ("1.3.111.2.802.1.1.6.1.4.1.5.1.5000.7", integer(4)),
            ("1.3.111.2.802.1.1.6.1.4.1.5.1.3.7.1", integer(4)),
            ("1.3.111.2.802.1.1.6.1.4.1.5.1.6.7", octets("forwarding")),
        ]));
        let seen: Vec<_> = bridge
            .instances
            .iter()
            .map(|i| (i.id, i.root_bridge.is_some(), i.states.clone()))
            .collect();
        let states = |state| BTreeMap::from([(107, state)]);
        assert_eq!(
            seen,
            [
                (
                    SpanningInstanceId::Mst(2),
                    true,
                    states(StpState::Forwarding)
                ),
                (
                    SpanningInstanceId::Mst(3),
                    false,
                    states(StpState::Blocking)
                )
            ]
        );
    }
}
