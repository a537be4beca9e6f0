//! Views to topology: which cables there are, where hosts hang, what STP lets through, and what contradicts.
//!
//! LLDP is truth where it speaks; forwarding databases fill in the rest. Contradictions become alarms and links of
//! grade [`Ambiguous`](crate::topology::Grade::Ambiguous), never a silent pick. The same views give the same
//! topology, in the same order.
//!
//! ```text
//! Views --device--> ports and states --identity--> who each neighbour is
//!       --trunks--> cables between switches --seats--> where each host hangs --stp--> what carries frames
//! ```
mod device;
mod identity;
mod seats;
mod stp;
mod trunks;

use crate::inventory_file::Inventory;
use crate::order::natural;
use crate::topology::{Alarm, Cluster, Link, Node, NodeKind, Topology};
use crate::view::Views;
use device::Device;
use identity::Directory;
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Infers the network from what the inventory's switches said. Views of other devices are not used.
pub fn infer(inventory: &Inventory, views: &Views) -> Topology {
    let devices: Vec<Device<'_>> = inventory.switches.keys().filter_map(|n| Some(Device::new(n, views.get(n)?))).collect();
    let mut found = Found::default();
    for (name, switch) in &inventory.switches {
        found.switch(name, &switch.address.to_string(), views);
    }
    let directory = Directory::new(inventory, &devices, &mut found);
    let trunks = trunks::trunks(&devices, &directory, &mut found);
    seats::seats(inventory, &devices, &directory, &trunks, &mut found);
    found.links.extend(trunks.into_iter().map(|t| t.link));
    let root_bridge = stp::settle(&devices, &mut found);
    found.finish(inventory, root_bridge)
}

/// What is found on the way.
#[derive(Default)]
struct Found {
    nodes: BTreeMap<String, Node>,
    links: Vec<Link>,
    alarms: BTreeSet<Alarm>,
}

impl Found {
    fn alarm(&mut self, about: &str, text: String) {
        self.alarms.insert(Alarm { about: about.to_owned(), text });
    }

    fn node(&mut self, name: &str, kind: NodeKind) -> &mut Node {
        self.nodes.entry(name.to_owned()).or_insert_with(|| Node { name: name.to_owned(), kind, chassis: None, stale: false })
    }

    /// A switch of the inventory, and what its silence is worth an alarm.
    fn switch(&mut self, name: &str, address: &str, views: &Views) {
        let view = views.get(name);
        let silent = view.and_then(|v| v.stale.as_ref());
        let seen = view.is_some_and(|v| v.seen.is_some());
        let node = self.node(name, NodeKind::Switch);
        node.stale = silent.is_some() || !seen;
        node.chassis = view.and_then(device::chassis);
        let problem = silent.map_or(format!("{address} was not asked yet"), |(_, problem)| problem.clone());
        match (silent, seen) {
            (Some(_), true) => self.alarm(name, format!("switch \"{name}\" is stale: {problem}; its links stay as last seen")),
            (_, false) => self.alarm(name, format!("switch \"{name}\" never answered: {problem}; nothing is known of its ports")),
            (None, true) => {}
        }
        for (table, problem) in view.into_iter().flat_map(|v| &v.failed) {
            self.alarm(name, format!("switch \"{name}\", table {table}: {problem}; its former content stays in use"));
        }
    }

    /// Everything in its order: switches before hosts, then by name.
    fn finish(mut self, inventory: &Inventory, root_bridge: Option<String>) -> Topology {
        let kinds: HashMap<&str, NodeKind> = self.nodes.iter().map(|(n, node)| (n.as_str(), node.kind)).collect();
        let rank = |name: &str| (kinds.get(name) == Some(&NodeKind::Host), natural(name));
        for link in &mut self.links {
            if rank(&link.b) < rank(&link.a) {
                std::mem::swap(&mut link.a, &mut link.b);
                std::mem::swap(&mut link.a_port, &mut link.b_port);
            }
        }
        self.links.sort_by_cached_key(|l| (rank(&l.a), natural(&l.a_port), rank(&l.b), natural(&l.b_port)));
        let clusters = clusters(inventory, &self.links, root_bridge.as_deref());
        let mut nodes: Vec<Node> = self.nodes.into_values().collect();
        nodes.sort_by_cached_key(|n| (n.kind == NodeKind::Host, natural(&n.name)));
        Topology { nodes, links: self.links, clusters, alarms: self.alarms.into_iter().collect(), root_bridge }
    }
}

/// The hosts of each connected part. Blocked links count: what they join shares a spanning tree.
fn clusters(inventory: &Inventory, links: &[Link], root_bridge: Option<&str>) -> Vec<Cluster> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for name in links.iter().flat_map(|l| [l.a.as_str(), l.b.as_str()]) {
        let next = numbers.len();
        numbers.entry(name).or_insert(next);
    }
    let mut parts = UnionFind::new(numbers.len());
    for link in links {
        parts.union(numbers[link.a.as_str()], numbers[link.b.as_str()]);
    }
    let mut hosts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for host in inventory.hosts.keys() {
        if let Some(&n) = numbers.get(host.as_str()) {
            hosts.entry(parts.find(n)).or_default().push(host.clone());
        }
    }
    let alone = hosts.len() == 1;
    let mut clusters: Vec<Cluster> = hosts
        .into_iter()
        .map(|(part, mut hosts)| {
            hosts.sort_by_cached_key(|h| natural(h));
            let mut switches: Vec<&str> =
                numbers.iter().filter(|(n, i)| parts.find(**i) == part && !inventory.hosts.contains_key(**n)).map(|(n, _)| *n).collect();
            switches.sort_by_cached_key(|s| (Some(*s) != root_bridge, natural(s)));
            let name = if alone { "cluster".to_owned() } else { format!("cluster-{}", switches.first().unwrap_or(&"alone")) };
            Cluster { name, hosts }
        })
        .collect();
    clusters.sort_by_cached_key(|c| natural(&c.name));
    clusters
}

#[cfg(test)]
mod tests;
