//! The kind of each device: by its own statement, by its neighbours' statements, or by its tables.
//! A switch of the inventory is a switch, unless it routes and does not bridge.
use super::{DeviceIx, Facts};
use inventory::observation::SystemCapabilities;
use inventory::topology::NodeKind;
use std::collections::{HashMap, HashSet};

/// sysServices (RFC 3418): datalink or subnetwork, internet, applications.
const BRIDGES: u32 = 0x02;
const ROUTES: u32 = 0x04;
const SERVES: u32 = 0x40;

/// A device with more ends of cables than this is not taken for a host only because it says
/// nothing.
const MOST_CARDS: usize = 4;

pub(super) fn settle_kinds(facts: &mut Facts<'_>) {
    let mut announced: HashMap<DeviceIx, SystemCapabilities> = HashMap::new();
    let mut routing = HashSet::new();
    for statement in facts.statements() {
        let able = statement.row.row.capabilities;
        routing.extend(
            able.filter(|able| able.router)
                .map(|_| statement.names.node),
        );
        let named = facts.device_of(statement.names.node);
        if let (Some(c), Some(device)) = (statement.row.row.capabilities, named) {
            let all = announced.entry(device).or_default();
            all.bridge |= c.bridge;
            all.router |= c.router;
        }
    }
    facts.routing_nodes = routing;
    let by_tables = facts.scope.policy.kinds_by_tables;
    let kinds: Vec<NodeKind> = facts
        .devices()
        .map(|(device, own)| {
            let word = own.capabilities.or_else(|| announced.get(&device).copied());
            let kind = kind(facts, device, word);
            match by_tables {
                true => kind,
                // A switch with unreadable tables looks like a router by its tables, but not by
                // its own statement.
                false if kind == NodeKind::Router && word == Some(ROUTER_ONLY) => kind,
                false => NodeKind::Switch,
            }
        })
        .collect();
    for (node, kind) in facts.nodes.iter_mut().zip(kinds) {
        node.kind = kind;
    }
}

const ROUTER_ONLY: SystemCapabilities = SystemCapabilities {
    bridge: false,
    router: true,
};

/// Routers with a few switch ports claim to be both. Only devices that bridge have base ports.
fn kind(facts: &Facts<'_>, device: DeviceIx, word: Option<SystemCapabilities>) -> NodeKind {
    let own = &facts[device];
    let services = own.services.unwrap_or_default();
    // sysServices adds 2 to the power of (layer - 1) for each layer (RFC 3418): a bridge is layer 2, a router layer
    // 3. Servers state layer 7, too, and many agents are built with one value for all devices: it comes last.
    match word {
        _ if own.bridges => NodeKind::Switch,
        Some(c) if c.bridge && !c.router => NodeKind::Switch,
        Some(c) if c.router => NodeKind::Router,
        Some(_) => NodeKind::Host,
        None if services & ROUTES != 0 && services & BRIDGES == 0 && services & SERVES == 0 => {
            NodeKind::Router
        }
        None if services & BRIDGES != 0 => NodeKind::Switch,
        None if is_quiet_host(facts, device) => NodeKind::Host,
        None => NodeKind::Switch,
    }
}

/// True for a device with few cards that takes no part in finding neighbours and names none, as a
/// server with an SNMP agent.
fn is_quiet_host(facts: &Facts<'_>, device: DeviceIx) -> bool {
    let own = &facts[device];
    let cards = own
        .ports
        .iter()
        .filter(|(_, p)| p.may_be_cabled() && p.mac.is_some_and(|m| m.is_station()))
        .count();
    (1..=MOST_CARDS).contains(&cards) && !own.speaks_lldp && !own.speaks_cdp
}
