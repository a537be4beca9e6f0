//! A host that moves to another switch, in the truth and in the statements of both switches.
use super::GeneratedNetwork;
use inventory::Mac;
use inventory::device_view::DeviceView;
use inventory::observation::{FdbEntry, LldpNeighbour, StpState};
use inventory::topology::Link;

impl GeneratedNetwork {
    /// Moves a host's cable to a free port of another switch, in the truth and in the statements of
    /// the two switches. Gives the names of both switches. `None`: there is no such host, it is on
    /// that switch already, or no port is free. Switches must number LLDP ports by ifIndex, as
    /// [`NetworkOptions::regular`](crate::network::NetworkOptions::regular) makes them do.
    pub fn recable(&mut self, host: &str, to: &str) -> Option<[String; 2]> {
        let link = self
            .truth
            .links
            .iter_mut()
            .find(|l| l.b == host && l.a != to)?;
        let free = free_port(self.views.get(to)?)?;
        let mac = self.truth.nodes.iter().find(|n| n.name == host)?.chassis?;
        let old = self.views.get_mut(&link.a)?;
        let index = old
            .interfaces
            .iter()
            .flatten()
            .find(|i| i.name == link.a_port)?
            .index;
        let neighbours = unplug(old, index, mac);
        link.a_port = plug(self.views.get_mut(to)?, free, mac, neighbours, link);
        let from = std::mem::replace(&mut link.a, to.to_owned());
        Some([from, to.to_owned()])
    }
}

/// The ifIndex of a port that nothing is plugged into.
fn free_port(view: &DeviceView) -> Option<u32> {
    view.interfaces
        .iter()
        .flatten()
        .find(|i| {
            !i.up
                && view
                    .bridge
                    .iter()
                    .flat_map(|b| &b.ports)
                    .any(|p| p.if_index == i.index)
        })
        .map(|i| i.index)
}

/// Takes a port down, with the station behind it. Gives the LLDP rows of that port.
fn unplug(view: &mut DeviceView, index: u32, mac: Mac) -> Vec<LldpNeighbour> {
    set_state(view, index, false);
    view.fdb
        .iter_mut()
        .for_each(|rows| rows.retain(|r| r.mac != mac));
    view.lldp
        .iter_mut()
        .flat_map(|l| l.neighbours.extract_if(.., |n| n.local_port == index))
        .collect()
}

/// Takes a port up, with a station behind it and its LLDP rows. Gives the port's name.
fn plug(
    view: &mut DeviceView,
    index: u32,
    mac: Mac,
    neighbours: Vec<LldpNeighbour>,
    link: &Link,
) -> String {
    set_state(view, index, true);
    let base = view
        .bridge
        .iter()
        .flat_map(|b| &b.ports)
        .find(|p| p.if_index == index)
        .map(|p| p.number);
    if let Some(rows) = &mut view.fdb {
        rows.retain(|r| r.mac != mac);
        rows.extend(base.map(|port| FdbEntry::new(mac, port)));
    }
    if let Some(lldp) = &mut view.lldp {
        lldp.neighbours
            .extend(neighbours.into_iter().map(|n| LldpNeighbour {
                local_port: index,
                ..n
            }));
    }
    let port = view
        .interfaces
        .iter_mut()
        .flatten()
        .find(|i| i.index == index);
    port.map_or_else(String::new, |i| {
        i.rate = Some(link.rate_bps);
        i.name.clone()
    })
}

fn set_state(view: &mut DeviceView, index: u32, up: bool) {
    view.interfaces
        .iter_mut()
        .flatten()
        .filter(|i| i.index == index)
        .for_each(|i| i.up = up);
    let ports = view.bridge.iter_mut().flat_map(|b| &mut b.ports);
    let state = if up {
        StpState::Forwarding
    } else {
        StpState::Disabled
    };
    ports
        .filter(|p| p.if_index == index)
        .for_each(|p| p.state = p.state.map(|_| state));
}
