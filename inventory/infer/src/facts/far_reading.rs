//! The meaning of a device's LLDP numbers by the statements of other devices: where its own tables fit two
//! numberings, the ports that its neighbours name decide.
use super::device::DeviceFacts;
use super::port_reading::PortNumbering;
use super::ports::PortIx;
use super::{DeviceIx, Facts};
use std::collections::HashSet;
use std::sync::Arc;

/// The devices again, those that others settle read anew; `None` if there are none.
pub(crate) fn settled(facts: &Facts<'_>) -> Option<Vec<Arc<DeviceFacts>>> {
    let open = facts
        .devices()
        .filter(|(_, own)| own.lldp_ports.is_undecided());
    let read: Vec<(DeviceIx, DeviceFacts)> = open
        .filter_map(|(device, own)| {
            let view = &facts.views[&own.name];
            let [a, b] = PortNumbering::ALL.map(|n| DeviceFacts::read(&own.name, view, Some(n)));
            let named = named_by_others(facts, device);
            let [fit_a, fit_b] = [&a, &b].map(|read| {
                let rows = read.neighbours.iter();
                rows.filter(|row| named.contains(&row.port)).count()
            });
            match fit_a.cmp(&fit_b) {
                std::cmp::Ordering::Less => Some((device, b)),
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Greater => Some((device, a)),
            }
        })
        .collect();
    if read.is_empty() {
        return None;
    }
    let mut devices = facts.devices.to_vec();
    for (device, own) in read {
        devices[device.0 as usize] = Arc::new(own);
    }
    Some(devices)
}

/// The ports of a device that its neighbours name, by other names than numbers of which two may be meant.
fn named_by_others(facts: &Facts<'_>, device: DeviceIx) -> HashSet<PortIx> {
    let own = facts.named[device.0 as usize].iter().flatten();
    let neighbours: HashSet<DeviceIx> = own.filter_map(|n| facts.device_of(n.node)).collect();
    let mut ports = HashSet::new();
    for far in neighbours {
        let named = &facts.named[far.0 as usize];
        for (row, named) in facts[far].neighbours.iter().zip(named) {
            if named.as_ref().is_some_and(|n| n.node == device.into()) {
                let (id, descr) = (row.row.port.as_ref(), &row.row.port_descr);
                let own = &facts[device];
                let port = own.remote_port(id, descr);
                ports.extend(port.filter(|_| !own.is_remote_guess(id, descr)));
            }
        }
    }
    ports
}
