//! On each segment spanning tree has one designated port, and every other port there names it (IEEE 802.1D-2004, 17.21;
//! RFC 4188, dot1dStpPortDesignatedBridge): a root port or a blocked one tells whom it faces. Bridges without spanning
//! tree between the two pass its frames on and stay unseen.
use super::{Context, End, Pair};
use crate::observation::{BridgePort, StpState};

pub(super) fn pairs(context: &Context<'_, '_>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (number, device) in context.devices.iter().enumerate() {
        for port in device.view.bridge.iter().flat_map(|b| &b.ports) {
            let Some((other, far)) = designated(context, number, port) else { continue };
            let Some(near) = device.base_port(port.number) else { continue };
            let evidence = vec![format!(
                "STP: {} {} names {} {} as the designated port",
                device.name, near.name, context.devices[other].name, far.name
            )];
            pairs.push(Pair { ends: [(other, far), (number, near)], evidence, sure: true });
        }
    }
    pairs.retain(|p| context.open(&p.ends));
    with_neighbours(pairs)
}

/// The designated port of a port's segment, where it is another device's. A port that takes no part names nobody.
fn designated(context: &Context<'_, '_>, own: usize, port: &BridgePort) -> Option<End> {
    if !matches!(port.state?, StpState::Blocking | StpState::Forwarding | StpState::Listening | StpState::Learning) {
        return None;
    }
    let owner = context.directory.switch_of(port.designated_bridge?.address)?;
    let number = context.numbers.get(owner).copied().filter(|n| *n != own)?;
    // The number is 12 bits of the identifier, 8 before IEEE 802.1t.
    let id = u32::from(port.designated_port?);
    let far = [id & 0xfff, id & 0xff].into_iter().find_map(|n| context.devices[number].base_port(n))?;
    Some((number, far))
}

/// Ports that name one designated port share its segment with each other, too.
fn with_neighbours(pairs: Vec<Pair>) -> Vec<Pair> {
    let mut all = Vec::new();
    for (i, pair) in pairs.iter().enumerate() {
        for other in &pairs[..i] {
            if other.ends[0] == pair.ends[0] && other.ends[1].0 != pair.ends[1].0 {
                all.push(Pair { ends: [other.ends[1].clone(), pair.ends[1].clone()], evidence: vec![], sure: true });
            }
        }
    }
    all.extend(pairs);
    all
}
