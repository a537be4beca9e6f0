//! Views to topology, pure: which cables there are, where hosts hang, what STP lets through, and
//! what contradicts.
//!
//! LLDP is truth where it speaks; forwarding databases fill in the rest. Contradictions become
//! alarms and links of grade [`Ambiguous`](inventory::topology::LinkGrade::Ambiguous), never a
//! silent pick. The same views give the same topology, in the same order.
//!
//! ```text
//! Views --device--> ports and states --identity--> who each neighbour is
//!       --words--> what hosts' agents add
//!       --trunks, unspoken--> cables between switches --seats--> where each host hangs --stp--> what carries frames
//!       --clusters--> which hosts share a spanning tree without a router, a slow or a long link between them
//! ```
//!
//! | function | for |
//! |---|---|
//! | [`infer()`] | a network whose switches and hosts an inventory names |
//! | [`infer_recorded`] | recordings, where nobody said who belongs to the network |
//! | [`descriptions`] | how the ports of an inferred network are described |
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
use std::collections::{BTreeMap, BTreeSet};

/// Infers the network from what the inventory's switches said. Views of other devices are not used.
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

/// Infers the network from recordings alone: every device that said something, and everybody it
/// names.
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

/// What to look for.
struct InferenceScope<'a> {
    /// The devices that are asked, and where.
    switches: Vec<(&'a str, String)>,
    /// The hosts to find a place for.
    hosts: &'a IndexMap<String, InventoryHost>,
    /// What the operator states of links and clusters.
    stated: Option<&'a Inventory>,
    strangers: UnlistedPolicy,
}

/// What becomes of those who are named but not asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnlistedPolicy {
    /// Bridges and routers are nodes, with an alarm: somebody forgot them. Stations are only told
    /// of.
    Told,
    /// All are nodes: nobody said who belongs to the network.
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
    let mut suspects = Vec::new();
    let mut trunks = trunks::trunks(
        &devices,
        &directory,
        &statements,
        scope.strangers,
        &mut suspects,
        &mut found,
    );
    let learned: Vec<LearnedStations> = devices.iter().map(LearnedStations::new).collect();
    shared_segments::doubt_crossed(
        &devices,
        &directory,
        &learned,
        &mut trunks,
        scope.strangers,
        &mut found,
    );
    let missing = silent_switches::unplaced(scope, views, &trunks);
    silent_links::unspoken(
        &devices,
        &directory,
        &statements,
        &learned,
        (scope.strangers, &missing),
        &mut trunks,
        &mut found,
    );
    shared_segments::explain_suspects(&devices, suspects, &mut trunks, &mut found);
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

/// What is found on the way.
#[derive(Default)]
struct InferredNetwork {
    nodes: BTreeMap<String, Node>,
    links: Vec<Link>,
    alarms: Vec<Alarm>,
    /// Devices the operator states that cannot be asked.
    stated: BTreeSet<String>,
}

impl InferredNetwork {
    /// What is wrong with a node.
    fn alarm(&mut self, node: &str, kind: AlarmKind) {
        self.alarms.push(Alarm::node(node, kind));
    }

    fn node(&mut self, name: &str, kind: NodeKind) -> &mut Node {
        self.nodes
            .entry(name.to_owned())
            .or_insert_with(|| Node::new(name, kind))
    }

    /// A switch of the inventory, and what its silence is worth an alarm.
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

    /// Everything in its order: switches before hosts, then by name.
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
                std::mem::swap(&mut link.a, &mut link.b);
                std::mem::swap(&mut link.a_port, &mut link.b_port);
                link.members
                    .iter_mut()
                    .for_each(|m| std::mem::swap(&mut m.a_port, &mut m.b_port));
            }
        }
        let none = IndexMap::new();
        let stated = scope.stated.map_or(&none, |i| &i.clusters);
        let mut nodes: Vec<Node> = std::mem::take(&mut self.nodes).into_values().collect();
        for unseen in unseen_routers(
            &ClusterInput {
                nodes: &nodes,
                links: &self.links,
                views,
                stated,
            },
            &roots,
        ) {
            nodes.push(unseen.node);
            self.links.extend(unseen.links);
            self.alarms.push(unseen.alarm);
        }
        self.links.sort_by_cached_key(|l| {
            (
                rank(&l.a),
                natural(&l.a_port),
                rank(&l.b),
                natural(&l.b_port),
            )
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

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
