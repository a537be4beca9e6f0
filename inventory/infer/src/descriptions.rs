//! Descriptions of ports, for operators who know ports by their description.
use crate::facts::device::{DeviceFacts, described_ports};
use inventory::descriptions::PortDescriptions;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::topology::{Link, Topology};
use std::collections::HashMap;

/// The LLDP port descriptions (IEEE 802.1AB 8.5.5) of a network inferred from `views`: each
/// device's own, and those that it hears from the other ends of its links. If a device describes no
/// port by LLDP, its ifAlias and ifDescr are taken.
pub fn descriptions(views: &DeviceViews, topology: &Topology) -> PortDescriptions {
    let mut descriptions = PortDescriptions::default();
    let far = far_ends(&topology.links);
    for (name, view) in views {
        let device = DeviceFacts::new(name, view);
        for (description, port) in own(&device, view) {
            descriptions.add(name, description, &port);
        }
        for neighbour in &device.neighbours {
            let port = device.ports[neighbour.port].name.as_str();
            if let Some(Some((node, far_port))) = far.get(&(name.as_str(), port)) {
                descriptions.add(node, &neighbour.row.port_descr, far_port);
            }
        }
    }
    descriptions
}

fn own<'v>(device: &DeviceFacts, view: &'v DeviceView) -> Vec<(&'v str, String)> {
    let announced = described_ports(view, device);
    if !announced.is_empty() {
        return announced;
    }
    let interfaces = view.interfaces.iter().flatten();
    interfaces
        .flat_map(|i| [&i.alias, &i.descr].map(|text| (text.as_str(), i.name.clone())))
        .collect()
}

/// The other end of each cable's end; `None` if there are several.
fn far_ends(links: &[Link]) -> HashMap<(&str, &str), Option<(&str, &str)>> {
    let cables = links.iter().flat_map(|l| {
        let whole = l
            .members
            .is_empty()
            .then_some((l.a_port.as_str(), l.b_port.as_str()));
        let ports = l
            .members
            .iter()
            .map(|m| (m.a_port.as_str(), m.b_port.as_str()))
            .chain(whole);
        ports.map(|(a_port, b_port)| [(l.a.as_str(), a_port), (l.b.as_str(), b_port)])
    });
    let mut far = HashMap::new();
    for (from, to) in cables.flat_map(|[a, b]| [(a, b), (b, a)]) {
        far.entry(from)
            .and_modify(|known| *known = None)
            .or_insert(Some(to));
    }
    far
}
