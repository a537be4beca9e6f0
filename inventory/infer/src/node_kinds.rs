//! The kind of each device: by its own statement, by its neighbours' statements, or by its tables.
//! A switch of the inventory is a switch, unless it routes and does not bridge.
use super::device::DeviceTables;
use super::identity::{ListedNode, NeighbourIdentity, NodeDirectory};
use super::statements::NeighbourStatement;
use super::{InferredNetwork, UnlistedPolicy};
use inventory::observation::SystemCapabilities;
use inventory::topology::NodeKind;
use std::collections::HashMap;

/// sysServices (RFC 3418): datalink or subnetwork, and internet.
const BRIDGES: u32 = 0x02;
const ROUTES: u32 = 0x04;

pub(super) fn settle_kinds(
    strangers: UnlistedPolicy,
    devices: &[DeviceTables<'_>],
    directory: &NodeDirectory<'_>,
    statements: &[NeighbourStatement<'_>],
    found: &mut InferredNetwork,
) {
    let mut said: HashMap<&str, SystemCapabilities> = HashMap::new();
    for statement in statements {
        if let (
            Some(c),
            NeighbourIdentity::Known {
                node: ListedNode::Switch(name),
                ..
            },
        ) = (
            statement.row.capabilities,
            directory.identify(&statement.row),
        ) {
            let all = said.entry(name).or_default();
            *all = SystemCapabilities {
                bridge: all.bridge || c.bridge,
                router: all.router || c.router,
            };
        }
    }
    for device in devices {
        let word = device
            .lldp()
            .and_then(|l| l.capabilities)
            .or_else(|| said.get(device.name).copied());
        let kind = match strangers {
            UnlistedPolicy::Shown => kind(device, word),
            UnlistedPolicy::Told if only_routes(device, word) => NodeKind::Router,
            UnlistedPolicy::Told => NodeKind::Switch,
        };
        found.node(device.name, kind).kind = kind;
    }
}

/// Routers with a few switch ports claim to be both. Only devices that bridge have base ports.
fn kind(device: &DeviceTables<'_>, word: Option<SystemCapabilities>) -> NodeKind {
    let ports = device
        .view
        .bridge
        .as_ref()
        .is_some_and(|b| !b.ports.is_empty());
    let services = device
        .view
        .system
        .as_ref()
        .and_then(|s| s.services)
        .unwrap_or_default();
    match word {
        _ if ports => NodeKind::Switch,
        Some(SystemCapabilities {
            bridge: true,
            router: false,
        }) => NodeKind::Switch,
        Some(SystemCapabilities { router: true, .. }) => NodeKind::Router,
        Some(_) => NodeKind::Host,
        None if services & ROUTES != 0 && services & BRIDGES == 0 => NodeKind::Router,
        None => NodeKind::Switch,
    }
}

/// A switch with unreadable tables looks like a router by its tables, but not by its own statement.
fn only_routes(device: &DeviceTables<'_>, word: Option<SystemCapabilities>) -> bool {
    word == Some(SystemCapabilities {
        bridge: false,
        router: true,
    }) && kind(device, word) == NodeKind::Router
}
