//! Statements of devices about neighbours: by LLDP and, on ports without LLDP rows, by CDP.
use super::UnlistedPolicy;
use super::device::{DeviceTables, Port, show};
use inventory::host_report::DiscoveryProtocol;
use inventory::observation::{CdpNeighbour, LldpNeighbour, NeighbourId};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The statement that a device has a neighbour at a port.
pub(super) struct NeighbourStatement<'a> {
    /// Number of the device.
    pub(super) device: usize,
    pub(super) port: Port,
    pub(super) row: Cow<'a, LldpNeighbour>,
    /// CDP passes through switches that do not speak it, so the neighbour may be further away.
    pub(super) protocol: DiscoveryProtocol,
    /// True if the same device says that the port is down.
    pub(super) down: bool,
}

/// All statements, in the order of the devices. Rows on local port 0 and rows that name no
/// neighbour are left out: they occur in the field and have no meaning. In a living network, rows
/// on ports that are down are left out, too.
pub(super) fn statements<'a>(
    devices: &[DeviceTables<'a>],
    strangers: UnlistedPolicy,
) -> Vec<NeighbourStatement<'a>> {
    let mut all = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        let state = |port, row: Cow<'a, LldpNeighbour>, protocol| {
            let down = device.is_down(&port);
            let counts = names_somebody(&row) && (!down || strangers == UnlistedPolicy::Shown);
            counts.then_some(NeighbourStatement {
                device: number,
                port,
                row,
                protocol,
                down,
            })
        };
        let rows = device
            .lldp()
            .into_iter()
            .flat_map(|l| &l.neighbours)
            .filter(|r| r.local_port != 0);
        let heard = rows.filter_map(|row| {
            state(
                device.local_port(row.local_port),
                Cow::Borrowed(row),
                DiscoveryProtocol::Lldp,
            )
        });
        let heard: Vec<NeighbourStatement<'_>> = heard.collect();
        let spoken: BTreeSet<Port> = heard.iter().map(|s| s.port.clone()).collect();
        all.extend(heard);

        let rows = device
            .lldp()
            .into_iter()
            .flat_map(|l| &l.cdp.neighbours)
            .filter(|r| r.if_index != 0);
        let heard = rows.filter_map(|row| {
            state(
                device.indexed_port(row.if_index),
                Cow::Owned(as_lldp(row)),
                DiscoveryProtocol::Cdp,
            )
        });
        all.extend(heard.filter(|s| !spoken.contains(&s.port)));
    }
    all
}

fn names_somebody(row: &LldpNeighbour) -> bool {
    row.chassis.is_some() || !row.name.is_empty()
}

/// A CDP row in the form of an LLDP row: the device id is a name, or an address that names the
/// chassis. NX-OS and CatOS append the serial number in brackets.
fn as_lldp(row: &CdpNeighbour) -> LldpNeighbour {
    let (chassis, name) = match &row.device {
        Some(NeighbourId::Text(text)) => (
            None,
            text.split_once('(')
                .map_or(text.as_str(), |(name, _)| name)
                .trim()
                .to_owned(),
        ),
        Some(id) => (Some(id.clone()), String::new()),
        None => (None, String::new()),
    };
    // Devices that know a neighbour only by LLDP list its chassis id here, as a text.
    let written = name.parse().ok().map(NeighbourId::Mac);
    let name = if written.is_some() {
        String::new()
    } else {
        name
    };
    let port_descr = row.port.as_ref().map(show).unwrap_or_default();
    LldpNeighbour {
        local_port: row.if_index,
        chassis: chassis.or(written),
        port: row.port.clone(),
        port_descr,
        name,
        capabilities: row.capabilities,
        ..LldpNeighbour::default()
    }
}
