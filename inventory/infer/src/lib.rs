//! Infers a topology from device views, as a pure function: cables, the places of hosts, the state
//! of links by spanning tree (STP), and contradictions.
//!
//! LLDP is taken as true if a device speaks it; forwarding databases fill the gaps. Contradictions
//! become alarms and links of grade [`Ambiguous`](inventory::topology::LinkGrade::Ambiguous);
//! nothing is chosen silently. The same views give the same topology, in the same order.
//!
//! ```text
//! views  --device-->                ports and their states
//!        --identity-->              the device that each neighbour is
//!        --host_statements-->       the statements of host agents
//!        --trunks, silent_links-->  cables between switches
//!        --attachments-->           the place of each host
//!        --stp-->                   links that carry frames
//!        --clusters-->              hosts that share a spanning tree, without a router, a slow
//!                                   link or a long link between them
//! ```
//!
//! | function | for |
//! |---|---|
//! | [`infer()`] | a network whose switches and hosts an inventory names |
//! | [`infer_recorded`] | recordings, without a list of the devices that belong to the network |
//! | [`descriptions`] | the port descriptions of an inferred network |
mod attachments;
mod clusters;
mod descriptions;
mod device;
mod host_statements;
mod hosts;
mod identity;
mod islands;
mod lag;
mod learned_hosts;
mod node_kinds;
mod routed;
mod shared_segments;
mod silent_links;
mod silent_switches;
mod stated;
mod statements;
mod stp;
mod trunks;
mod unlisted;

pub use descriptions::descriptions;

use clusters::{ClusterInput, clusters, unseen_routers};
use device::DeviceTables;
use identity::NodeDirectory;
use indexmap::IndexMap;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::device_view::DeviceViews;
use inventory::inventory_file::{Inventory, InventoryHost};
use inventory::natural_order::natural;
use inventory::topology::{Link, Node, NodeKind, Topology};
use islands::{DeviceIslands, LearnedStations};
use statements::NeighbourStatement;
use std::collections::{BTreeMap, BTreeSet};
use trunks::TrunkLink;

/// Infers the network from the statements of the inventory's switches. Views of other devices are
/// not used.
pub fn infer(inventory: &Inventory, views: &DeviceViews) -> Topology {
    let switches = inventory
        .switches
        .iter()
        .map(|(name, s)| (name.as_str(), s.address.to_string()))
        .collect();
    infer_in(
        &InferenceScope {
            switches,
            hosts: &inventory.hosts,
            stated: Some(inventory),
            strangers: UnlistedPolicy::Told,
        },
        views,
    )
}

/// Infers the network from recordings alone: every device that answered, and every node that they
/// name.
pub fn infer_recorded(views: &DeviceViews) -> Topology {
    let switches = views
        .keys()
        .map(|name| (name.as_str(), "its recording".to_owned()))
        .collect();
    infer_in(
        &InferenceScope {
            switches,
            hosts: &IndexMap::new(),
            stated: None,
            strangers: UnlistedPolicy::Shown,
        },
        views,
    )
}

/// The devices and hosts of an inference.
struct InferenceScope<'a> {
    /// The devices that are asked, and their addresses.
    switches: Vec<(&'a str, String)>,
    /// The hosts that need a place.
    hosts: &'a IndexMap<String, InventoryHost>,
    /// The operator's statements about links and clusters.
    stated: Option<&'a Inventory>,
    strangers: UnlistedPolicy,
}

/// The treatment of devices that are named but not listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnlistedPolicy {
    /// Bridges and routers are nodes, with an alarm, because they are missing in the inventory.
    /// Stations are only reported in an alarm.
    Told,
    /// All are nodes, because there is no list of the devices that belong to the network.
    Shown,
}

fn infer_in(scope: &InferenceScope<'_>, views: &DeviceViews) -> Topology {
    let devices: Vec<DeviceTables<'_>> = scope
        .switches
        .iter()
        .filter_map(|(n, _)| Some(DeviceTables::new(n, views.get(*n)?)))
        .collect();
    let mut found = InferredNetwork::default();
    for (name, place) in &scope.switches {
        found.switch(name, place, views);
    }
    stated::add_stated_devices(scope, &mut found);
    let statements = statements::statements(&devices, scope.strangers);
    let words = host_statements::host_statements(scope, views);
    let mut directory = NodeDirectory::new(scope, &devices, &words, &mut found);
    directory.add_from_statements(&devices, &statements);
    node_kinds::settle_kinds(
        scope.strangers,
        &devices,
        &directory,
        &statements,
        &mut found,
    );
    let learned: Vec<LearnedStations> = devices.iter().map(LearnedStations::new).collect();
    let inputs = CableInputs {
        scope,
        views,
        devices: &devices,
        directory: &directory,
        statements: &statements,
        learned: &learned,
    };
    let mut trunks = inputs.cables(&mut found);
    let unplaced = silent_switches::unplaced(scope, views, &trunks);
    silent_switches::missing(scope, views, &mut trunks);
    let islands = DeviceIslands::new(&devices, &learned, &trunks);
    attachments::attach_hosts(
        scope,
        &devices,
        &directory,
        &trunks,
        (&islands, &unplaced),
        &words,
        &mut found,
    );
    found.links.extend(lag::joined(&devices, trunks));
    stated::apply(scope, &devices, &mut found);
    let roots = stp::set_link_states(scope, &devices, &learned, &mut found);
    found.finish(scope, views, roots)
}

/// The facts from which cables between devices are inferred.
struct CableInputs<'i, 'a> {
    scope: &'i InferenceScope<'a>,
    views: &'i DeviceViews,
    devices: &'i [DeviceTables<'a>],
    directory: &'i NodeDirectory<'a>,
    statements: &'i [NeighbourStatement<'a>],
    learned: &'i [LearnedStations],
}

impl CableInputs<'_, '_> {
    /// The cables between devices: first those that devices name, then those that only tables and
    /// spanning tree reveal.
    fn cables(&self, found: &mut InferredNetwork) -> Vec<TrunkLink> {
        let strangers = self.scope.strangers;
        let mut suspects = Vec::new();
        let mut trunks = trunks::trunks(
            self.devices,
            self.directory,
            self.statements,
            strangers,
            &mut suspects,
            found,
        );
        shared_segments::doubt_crossed(
            self.devices,
            self.directory,
            self.learned,
            &mut trunks,
            strangers,
            found,
        );
        let missing = silent_switches::unplaced(self.scope, self.views, &trunks);
        silent_links::unspoken(
            self.devices,
            self.directory,
            self.statements,
            self.learned,
            (strangers, &missing),
            &mut trunks,
            found,
        );
        shared_segments::explain_suspects(self.devices, suspects, &mut trunks, found);
        trunks
    }
}

/// The network as found so far.
#[derive(Default)]
struct InferredNetwork {
    nodes: BTreeMap<String, Node>,
    links: Vec<Link>,
    alarms: Vec<Alarm>,
    /// Stated devices that cannot be asked.
    stated: BTreeSet<String>,
}

impl InferredNetwork {
    /// Adds an alarm about a node.
    fn alarm(&mut self, node: &str, kind: AlarmKind) {
        self.alarms.push(Alarm::node(node, kind));
    }

    fn node(&mut self, name: &str, kind: NodeKind) -> &mut Node {
        self.nodes
            .entry(name.to_owned())
            .or_insert_with(|| Node::new(name, kind))
    }

    /// A switch of the inventory, and the alarm if it is silent.
    fn switch(&mut self, name: &str, address: &str, views: &DeviceViews) {
        let view = views.get(name);
        let silent = view.and_then(|v| v.stale.as_ref());
        let seen = view.is_some_and(|v| v.seen.is_some());
        let node = self.node(name, NodeKind::Switch);
        node.stale = silent.is_some() || !seen;
        node.chassis = view.and_then(device::chassis);
        let problem = silent.map_or(format!("{address} was not asked yet"), |(_, problem)| {
            problem.clone()
        });
        match (silent, seen) {
            (Some(_), true) => self.alarm(name, AlarmKind::SwitchStale { problem }),
            (_, false) => self.alarm(name, AlarmKind::SwitchUnheard { problem }),
            (None, true) => {}
        }
        for (table, problem) in view.into_iter().flat_map(|v| &v.failed) {
            self.alarm(
                name,
                AlarmKind::TableFailed {
                    table: table.clone(),
                    problem: problem.clone(),
                },
            );
        }
    }

    /// Sorts everything: switches before hosts, then by name.
    fn finish(
        mut self,
        scope: &InferenceScope<'_>,
        views: &DeviceViews,
        roots: Vec<String>,
    ) -> Topology {
        let hosts: BTreeSet<String> = self
            .nodes
            .values()
            .filter(|n| n.kind == NodeKind::Host)
            .map(|n| n.name.clone())
            .collect();
        let rank = |name: &str| (hosts.contains(name), natural(name));
        for link in &mut self.links {
            if rank(&link.b) < rank(&link.a) {
                swap_ends(link);
            }
        }
        let none = IndexMap::new();
        let stated = scope.stated.map_or(&none, |i| &i.clusters);
        let mut nodes: Vec<Node> = std::mem::take(&mut self.nodes).into_values().collect();
        let input = ClusterInput {
            nodes: &nodes,
            links: &self.links,
            views,
            stated,
        };
        for unseen in unseen_routers(&input, &roots) {
            nodes.push(unseen.node);
            self.links.extend(unseen.links);
            self.alarms.push(unseen.alarm);
        }
        self.links.sort_by_cached_key(|l| {
            let ports = (natural(&l.a_port), natural(&l.b_port));
            (rank(&l.a), ports.0, rank(&l.b), ports.1)
        });
        nodes.sort_by_cached_key(|n| (n.kind == NodeKind::Host, natural(&n.name)));
        let (clusters, contradictions) = clusters(&ClusterInput {
            nodes: &nodes,
            links: &self.links,
            views,
            stated,
        });
        self.alarms.extend(contradictions);
        self.alarms
            .sort_by_cached_key(|a| (a.subject.to_string(), a.to_string()));
        self.alarms.dedup();
        let mut roots = roots.into_iter();
        Topology {
            nodes,
            links: self.links,
            clusters,
            alarms: self.alarms,
            root_bridge: roots.next(),
            further_root_bridges: roots.collect(),
        }
    }
}

fn swap_ends(link: &mut Link) {
    std::mem::swap(&mut link.a, &mut link.b);
    std::mem::swap(&mut link.a_port, &mut link.b_port);
    for member in &mut link.members {
        std::mem::swap(&mut member.a_port, &mut member.b_port);
    }
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
