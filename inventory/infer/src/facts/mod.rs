//! The facts of an inference: the tables of all devices joined and interned, and who is who. They
//! do not change while cables are inferred.
//!
//! | module | the fact |
//! |---|---|
//! | `device` | what one device states, from its own view alone |
//! | `ports`, `port_names` | the port that a number, a name or an id means |
//! | `port_reading`, `far_reading` | what the numbers of a device's tables are |
//! | `learned` | the port behind which a station is |
//! | `host_statements` | what the agents of hosts state |
//! | `by_host` | a table of hosts |
//! | `identity`, `names` | the node that an id, an address or a name means |
//! | `unlisted` | names for neighbours that nobody listed |
//! | `node_kinds` | switch, router or host |
pub(crate) mod by_host;
pub(crate) mod device;
pub(crate) mod far_reading;
pub(crate) mod host_statements;
pub(crate) mod identity;
pub(crate) mod learned;
pub(crate) mod names;
mod node_kinds;
pub(crate) mod port_names;
pub(crate) mod port_reading;
pub(crate) mod ports;
pub(crate) mod unlisted;

use crate::policy::InferencePolicy;
use device::{DeviceFacts, NeighbourRow};
use host_statements::{HostStatement, host_statements};
use identity::{NeighbourIdentity, NodeDirectory};
use indexmap::IndexMap;
use inventory::alarm::arguments::NamedNode;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::evidence::RecognizedBy;
use inventory::inventory_file::{Inventory, InventoryHost};
use inventory::mapped_place::MappedPlaces;
use inventory::topology::{Link, Node, NodeKind};
use ports::PortIx;
use std::collections::{HashMap, HashSet};
use std::ops::{Index, Range};
use std::sync::Arc;
use unlisted::{SharedName, UnlistedNames};

/// The number of a device that answered at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DeviceIx(pub(crate) u32);

/// The number of a node. Devices come first, with the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeIx(pub(crate) u32);

impl From<DeviceIx> for NodeIx {
    fn from(device: DeviceIx) -> NodeIx {
        NodeIx(device.0)
    }
}

/// A port of a device.
pub(crate) type DevicePortIx = (DeviceIx, PortIx);

/// The devices and hosts of an inference.
pub(crate) struct InferenceScope<'a> {
    /// The devices that are asked, and their addresses.
    pub(crate) switches: Vec<(&'a str, String)>,
    /// The hosts that need a place.
    pub(crate) hosts: &'a IndexMap<String, InventoryHost>,
    /// The operator's statements about links and clusters.
    pub(crate) stated: Option<&'a Inventory>,
    pub(crate) policy: InferencePolicy,
    /// The findings of flows between hosts.
    pub(crate) mapped: &'a MappedPlaces,
}

impl InferenceScope<'_> {
    /// True if an inventory lists hosts and no switch.
    pub(crate) fn lists_no_switch(&self) -> bool {
        self.stated.is_some() && self.switches.is_empty()
    }
}

/// A statement of a device about a neighbour, and the node that is meant.
pub(crate) struct NeighbourStatement<'f> {
    pub(crate) device: DeviceIx,
    pub(crate) row: &'f NeighbourRow,
    pub(crate) names: &'f NamedNeighbour,
}

/// The node that a statement names, and the key by which it is recognized.
#[derive(Debug, Clone)]
pub(crate) struct NamedNeighbour {
    pub(crate) node: NodeIx,
    pub(crate) by: RecognizedBy,
    /// True if the key is a name that the node's own chassis id contradicts elsewhere.
    pub(crate) doubtful: bool,
}

pub(crate) struct Facts<'a> {
    pub(crate) scope: &'a InferenceScope<'a>,
    pub(crate) views: &'a DeviceViews,
    devices: &'a [Arc<DeviceFacts>],
    /// Nodes by number: devices, listed switches that never answered, stated devices, hosts,
    /// unlisted neighbours.
    nodes: Vec<Node>,
    by_name: HashMap<String, NodeIx>,
    hosts: Range<u32>,
    /// The listed switches that never answered.
    pub(crate) silent: Vec<NodeIx>,
    /// Nodes that the operator states and that cannot be asked.
    stated: Range<u32>,
    /// The statements of hosts' agents, by the hosts' nodes.
    pub(crate) host_statements: HashMap<NodeIx, HostStatement<'a>>,
    pub(crate) identity: NodeDirectory,
    /// The neighbour that each row of each device names.
    named: Vec<Vec<Option<NamedNeighbour>>>,
    /// Nodes of which neighbours hear that they route.
    routing_nodes: HashSet<NodeIx>,
    pub(crate) alarms: Vec<Alarm>,
}

impl Index<DeviceIx> for Facts<'_> {
    type Output = DeviceFacts;

    fn index(&self, device: DeviceIx) -> &DeviceFacts {
        &self.devices[device.0 as usize]
    }
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        scope: &'a InferenceScope<'a>,
        views: &'a DeviceViews,
        devices: &'a [Arc<DeviceFacts>],
    ) -> Facts<'a> {
        let mut facts = Facts {
            scope,
            views,
            devices,
            nodes: Vec::new(),
            by_name: HashMap::with_capacity(devices.len() + scope.hosts.len()),
            hosts: 0..0,
            silent: Vec::new(),
            stated: 0..0,
            host_statements: HashMap::new(),
            identity: NodeDirectory::default(),
            named: Vec::new(),
            routing_nodes: HashSet::new(),
            alarms: Vec::new(),
        };
        facts.add_listed_nodes();
        facts.host_statements = host_statements(&facts);
        facts.identity = NodeDirectory::new(&mut facts);
        facts.name_neighbours();
        node_kinds::settle_kinds(&mut facts);
        facts
    }

    /// Adds the nodes that are known before anybody is read.
    fn add_listed_nodes(&mut self) {
        // In this order: the numbers of nodes tell devices, listed switches, stated nodes and hosts
        // apart.
        for device in self.devices {
            let view = &self.views[&device.name];
            let stale = view.stale.is_some() || view.seen.is_none();
            let node = Node {
                chassis: device::chassis(view),
                stale,
                ..Node::new(&device.name, NodeKind::Switch)
            };
            self.add_node(node);
        }
        for (name, address) in &self.scope.switches {
            let view = self.views.get(*name);
            if view.is_none() {
                let node = Node {
                    stale: true,
                    ..Node::new(*name, NodeKind::Switch)
                };
                self.add_node(node);
            }
            if view.is_none_or(|v| v.seen.is_none()) {
                self.silent.push(self.by_name[*name]);
            }
            self.alarm_about_switch(name, address, view);
        }
        let begin = self.node_count();
        if let Some(inventory) = self.scope.stated {
            for (kind, names) in [
                (NodeKind::Router, &inventory.routers),
                (NodeKind::Unmanaged, &inventory.unmanaged),
            ] {
                for name in names {
                    self.add_node(Node::new(name, kind));
                }
            }
        }
        self.stated = begin..self.node_count();
        let begin = self.node_count();
        for name in self.scope.hosts.keys() {
            self.add_node(Node::new(name, NodeKind::Host));
        }
        self.hosts = begin..self.node_count();
    }

    /// Raises the alarms about a switch that is silent, or whose tables could not be read.
    fn alarm_about_switch(&mut self, name: &str, address: &str, view: Option<&DeviceView>) {
        let silent = view.and_then(|v| v.stale.as_ref());
        let seen = view.is_some_and(|v| v.seen.is_some());
        let problem = silent.map_or(format!("{address} was not asked yet"), |(_, problem)| {
            problem.clone()
        });
        let refused = view.and_then(|v| v.refused.clone());
        match (silent, refused) {
            (None, _) if seen => {}
            (_, Some(refusal)) => self.alarm(
                name,
                AlarmKind::SwitchRefuses {
                    refusal,
                    problem,
                    answered: seen,
                },
            ),
            _ if seen => self.alarm(name, AlarmKind::SwitchStale { problem }),
            _ => self.alarm(name, AlarmKind::SwitchUnheard { problem }),
        }
        for (table, problem) in view.into_iter().flat_map(|v| &v.failed) {
            let (table, problem) = (*table, problem.clone());
            self.alarm(name, AlarmKind::TableFailed { table, problem });
        }
    }

    fn node_count(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// Adds a node, or finds the one that has its name.
    fn add_node(&mut self, node: Node) -> NodeIx {
        if let Some(known) = self.by_name.get(&node.name) {
            return *known;
        }
        let number = NodeIx(self.node_count());
        self.by_name.insert(node.name.clone(), number);
        self.nodes.push(node);
        number
    }

    fn alarm(&mut self, node: &str, kind: AlarmKind) {
        self.alarms.push(Alarm::node(node, kind));
    }

    /// Finds the node that each row means. Neighbours that nobody listed become nodes.
    fn name_neighbours(&mut self) {
        let identity = std::mem::take(&mut self.identity);
        let identified = self.devices().map(|(device, own)| {
            let rows = own.neighbours.iter();
            let rows = rows.map(|row| (row, identity.identify(&row.row, device.into())));
            rows.collect()
        });
        let identified: Vec<Vec<(&NeighbourRow, NeighbourIdentity)>> = identified.collect();
        let strangers = identified
            .iter()
            .flatten()
            .filter(|(_, who)| matches!(who, NeighbourIdentity::Stranger));
        let unlisted = UnlistedNames::new(
            strangers.map(|(row, _)| &row.row),
            identity.names(),
            SharedName::MayBeOne,
            !self.scope.policy.shows_unlisted,
        );
        for ((_, facts), rows) in self.devices().zip(identified) {
            let named = rows.into_iter().map(|(row, who)| match who {
                NeighbourIdentity::Known(known) => Some(known),
                NeighbourIdentity::Nobody => None,
                NeighbourIdentity::Stranger => Some(NamedNeighbour {
                    node: self.add_neighbour(unlisted.node(&row.row, || {
                        format!("unknown-{}-{}", facts.name, facts.ports[row.port].name)
                    })),
                    by: RecognizedBy::OwnName,
                    doubtful: false,
                }),
            });
            let named = named.collect();
            self.named.push(named);
        }
        self.identity = identity;
    }

    /// Adds a neighbour that nobody listed, or what another row says of it.
    fn add_neighbour(&mut self, node: Node) -> NodeIx {
        let chassis = node.chassis;
        let number = self.add_node(node);
        let known = &mut self.nodes[number.0 as usize];
        known.chassis = known.chassis.or(chassis);
        number
    }

    /// All devices, with their numbers.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (DeviceIx, &'a DeviceFacts)> + use<'a> {
        self.devices
            .iter()
            .enumerate()
            .map(|(n, d)| (DeviceIx(u32::try_from(n).unwrap_or(u32::MAX)), d.as_ref()))
    }

    /// The number of devices.
    pub(crate) fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// The device that a node is.
    pub(crate) fn device_of(&self, node: NodeIx) -> Option<DeviceIx> {
        ((node.0 as usize) < self.devices.len()).then_some(DeviceIx(node.0))
    }

    /// The nodes that are known from listing and naming.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node by its name.
    pub(crate) fn node_named(&self, name: &str) -> Option<NodeIx> {
        self.by_name.get(name).copied()
    }

    /// The switch's port at a host's link.
    pub(crate) fn switch_port(&self, link: &Link) -> Option<DevicePortIx> {
        let device = self.device_of(self.node_named(&link.a)?)?;
        let port = self[device].ports.by_exact_name(&link.a_port)?;
        Some((device, port))
    }

    /// True for a host of the inventory.
    pub(crate) fn name(&self, node: NodeIx) -> &str {
        &self.nodes[node.0 as usize].name
    }

    pub(crate) fn is_host(&self, node: NodeIx) -> bool {
        self.hosts.contains(&node.0)
    }

    /// True for a node that cannot be asked and of which neighbours hear that it routes.
    pub(crate) fn announces_routing(&self, node: NodeIx) -> bool {
        self.device_of(node).is_none() && self.routing_nodes.contains(&node)
    }

    /// True for a switch that the inventory lists, or that was recorded.
    pub(crate) fn is_listed_switch(&self, node: NodeIx) -> bool {
        node.0 < self.stated.start
    }

    /// True for a node that the operator states and that cannot be asked.
    pub(crate) fn is_stated(&self, node: NodeIx) -> bool {
        self.stated.contains(&node.0)
    }

    /// True for a neighbour that nobody listed.
    pub(crate) fn is_unlisted(&self, node: NodeIx) -> bool {
        node.0 >= self.hosts.end
    }

    /// The hosts of the inventory, in its order.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (NodeIx, &'a str, &'a InventoryHost)> {
        let first = self.hosts.start;
        self.scope
            .hosts
            .iter()
            .enumerate()
            .map(move |(n, (name, host))| {
                (
                    NodeIx(first + u32::try_from(n).unwrap_or(0)),
                    name.as_str(),
                    host,
                )
            })
    }

    /// A node in the words of an alarm.
    pub(crate) fn named_node(&self, node: NodeIx) -> NamedNode {
        let name = self.nodes[node.0 as usize].name.clone();
        if self.is_host(node) {
            NamedNode::Host(name)
        } else {
            NamedNode::Switch(name)
        }
    }

    /// The statements of all devices about neighbours, in the order of devices. In a living network
    /// rows on ports that are down are left out.
    pub(crate) fn statements(&self) -> impl Iterator<Item = NeighbourStatement<'_>> {
        let keeps_down = self.scope.policy.mixes_moments;
        self.devices().flat_map(move |(device, facts)| {
            let named = &self.named[device.0 as usize];
            facts
                .neighbours
                .iter()
                .zip(named)
                .filter(move |(row, _)| keeps_down || !row.down)
                .filter_map(move |(row, named)| {
                    let names = named.as_ref()?;
                    Some(NeighbourStatement { device, row, names })
                })
        })
    }
}
