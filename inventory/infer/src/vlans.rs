//! Networks that are VLANs on the same switches and cables.
//!
//! Source: own; states by IEEE 802.1D, for each VLAN as PVST+ has them. Input: networks, links, the VLANs of
//! ports, the spanning trees of VLANs. Guarantee: a host's link names the VLAN of its port, and a trunk its
//! state in each VLAN in which both ends state another one than in general. Cost: one pass over links, only
//! where networks share switches.
use crate::facts::{DevicePortIx, Facts};
use crate::states::combined;
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::evidence::Evidence;
use inventory::networks::Network;
use inventory::observation::{SpanningInstanceId, StpState};
use inventory::topology::{Link, LinkState};
use std::collections::{BTreeSet, HashSet};

/// Gives the links on shared switches their VLANs.
pub(crate) fn mark_links(facts: &Facts<'_>, networks: &[Network], links: &mut [Link]) {
    let sharing: Vec<&Network> = networks.iter().filter(|n| !n.vlans.is_empty()).collect();
    let vlans: BTreeSet<u16> = sharing.iter().flat_map(|n| &n.vlans).copied().collect();
    let switches: HashSet<&String> = sharing.iter().flat_map(|n| &n.switches).collect();
    for link in links.iter_mut().filter(|link| switches.contains(&link.a)) {
        // This is done again where packets show a router between networks.
        link.evidence
            .retain(|e| !matches!(e, Evidence::InVlan(_) | Evidence::StateInVlan(..)));
        let marks = match switches.contains(&link.b) {
            true => states(facts, link, &vlans),
            false => port_vlan(facts, link)
                .map(Evidence::InVlan)
                .into_iter()
                .collect(),
        };
        link.evidence.extend(marks);
    }
}

/// An alarm for each network that shares switches with others.
pub(crate) fn sharing(networks: &[Network]) -> Vec<Alarm> {
    let alarms = networks.iter().filter_map(|network| {
        let others = networks.iter().filter(|other| other.name != network.name);
        let others = others
            .filter(|other| other.switches.iter().any(|s| network.switches.contains(s)))
            .map(|other| other.name.clone());
        let others: Vec<String> = others.collect();
        (!others.is_empty()).then(|| Alarm {
            subject: AlarmSubject::other(&network.name),
            kind: AlarmKind::NetworkShares { networks: others },
        })
    });
    alarms.collect()
}

fn port_vlan(facts: &Facts<'_>, link: &Link) -> Option<u16> {
    let (device, port) = facts.switch_port(link)?;
    let ports = &facts[device].ports;
    ports[port].vlan.or(ports[ports.whole(port)].vlan)
}

/// The states of a trunk in VLANs in which it has another one.
fn states(facts: &Facts<'_>, link: &Link, vlans: &BTreeSet<u16>) -> Vec<Evidence> {
    let ends = [(&link.a, &link.a_port), (&link.b, &link.b_port)].map(|(switch, port)| {
        let device = facts.device_of(facts.node_named(switch)?)?;
        let port = facts[device].ports.by_exact_name(port)?;
        Some((device, facts[device].ports.whole(port)))
    });
    let states = vlans.iter().map(|&vlan| {
        let states = ends.map(|end| state_in(facts, end?, SpanningInstanceId::Vlan(vlan)));
        (vlan, combined(states, false))
    });
    let other = states.filter(|(_, state)| *state != LinkState::Unknown && *state != link.state);
    other
        .map(|(vlan, state)| Evidence::StateInVlan(vlan, state))
        .collect()
}

fn state_in(
    facts: &Facts<'_>,
    (device, port): DevicePortIx,
    tree: SpanningInstanceId,
) -> Option<StpState> {
    let own = &facts[device];
    let index = own.ports[port].bridge.as_ref()?.if_index;
    let bridge = facts.views[&own.name].bridge.as_ref()?;
    let tree = bridge.instances.iter().find(|own| own.id == tree)?;
    tree.states.get(&index).copied()
}
