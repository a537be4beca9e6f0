//! Members of aggregates that spanning tree calls blocking although the aggregate forwards.
use super::*;
use inventory::observation::InterfaceKind;

const AGGREGATE: u32 = 100;

fn bridge_id(switch: &str) -> BridgeId {
    BridgeId {
        priority: 32768,
        address: mac(switch, 0),
    }
}

/// Two switches, of which s0 is the root, with two cables whose ends block, and on each an aggregate that
/// forwards at the rate of both and names no members.
fn blocking_members() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1]");
    for port in [1, 2] {
        net.cable(
            ("s0", port, StpState::Blocking),
            ("s1", port, StpState::Blocking),
        );
    }
    for switch in ["s0", "s1"] {
        net.host(if switch == "s0" { "n0" } else { "n1" }, switch, 5);
        let view = net.view(switch);
        view.interfaces.as_mut().unwrap().push(InterfaceRow {
            index: AGGREGATE,
            name: "BAGG1".into(),
            kind: InterfaceKind::Aggregate,
            rate: Some(BitsPerSec(2_000_000_000)),
            up: true,
            ..InterfaceRow::default()
        });
        let bridge = view.bridge.as_mut().unwrap();
        bridge.root_bridge = Some(bridge_id("s0"));
        bridge.address = Some(bridge_id(switch).address);
        bridge.ports.push(BridgePort {
            number: AGGREGATE,
            if_index: AGGREGATE,
            state: Some(StpState::Forwarding),
            designated_bridge: None,
            designated_port: None,
        });
        for port in &mut bridge.ports {
            let is_trunk = port.number < 25 || port.number == AGGREGATE;
            port.designated_bridge = Some(bridge_id(if is_trunk { "s0" } else { switch }));
            port.designated_port = Some(0x8000 + u16::try_from(port.number).unwrap());
        }
    }
    net
}

fn trunks(net: &InferenceFixture) -> Vec<(String, LinkState)> {
    let t = net.infer();
    let trunks = t.links.iter().filter(|l| l.b.starts_with('s'));
    trunks
        .map(|l| (format!("{} {}", l.a_port, l.b_port), l.state))
        .collect()
}

#[test]
fn members_that_block_do_not_block_their_aggregate() {
    let net = blocking_members();
    let whole = [("BAGG1 BAGG1".to_owned(), LinkState::Forwarding)];
    assert_eq!(trunks(&net), whole);
    // One end tells enough: the root's ports are designated, and those of the other stand beside the aggregate.
    for silent in ["s0", "s1"] {
        let mut net = blocking_members();
        net.view(silent).bridge = None;
        for switch in ["s0", "s1"] {
            if let Some(bridge) = &mut net.view(switch).bridge {
                // LLDP's chassis is the same address.
                bridge.address = None;
            }
        }
        let found = trunks(&net);
        assert!(
            found.iter().all(|(_, state)| *state != LinkState::Blocked),
            "{silent}: {found:?}"
        );
    }
}

#[test]
fn ports_that_block_beside_an_aggregate_of_another_rate_or_elsewhere_block() {
    for change in [0, 1] {
        let mut net = blocking_members();
        net.view("s0").bridge = None;
        let view = net.view("s1");
        if change == 0 {
            view.interfaces.as_mut().unwrap().last_mut().unwrap().rate =
                Some(BitsPerSec(4_000_000_000));
        } else {
            let ports = &mut view.bridge.as_mut().unwrap().ports;
            ports.last_mut().unwrap().designated_bridge = Some(bridge_id("s1"));
        }
        let found = trunks(&net);
        assert_eq!(found.len(), 2, "{change}: {found:?}");
        assert!(
            found.iter().all(|(_, state)| *state == LinkState::Blocked),
            "{change}: {found:?}"
        );
    }
}
