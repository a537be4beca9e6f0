//! The end of the inference: nodes, ports and networks get their names, and hosts their clusters.
use crate::claims::ClaimEnd;
use crate::clusters::{ClusterInput, clusters, unseen_routers};
use crate::draft::{DraftLink, DraftNetwork};
use crate::facts::{Facts, NodeIx};
use crate::host_addresses::{HostPorts, add_addresses};
use crate::networks::{LinkNodes, link_nodes, networks, whole};
use crate::{crossing_hosts, network_names, vlans};
use indexmap::IndexMap;
use inventory::alarm::Alarm;
use inventory::natural_order::{NaturalKey, natural};
use inventory::networks::Network;
use inventory::topology::{Link, LinkState, Node, NodeKind, Topology, WayAddress};
use std::collections::HashSet;

impl DraftNetwork<'_> {
    /// Gives names, finds clusters and sorts everything: switches before hosts, then by name.
    pub(crate) fn finish(mut self, roots: Vec<String>) -> Topology {
        let shown = self.shown();
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|n| shown[*n]).collect();
        order.sort_by_cached_key(|n| {
            let node = &self.nodes[*n];
            (node.kind == NodeKind::Host, natural(&node.name))
        });
        let mut rank = vec![usize::MAX; self.nodes.len()];
        for (place, node) in order.iter().enumerate() {
            rank[*node] = place;
        }
        for link in &mut self.links {
            let [a, b] = link.nodes();
            // So the host of a link is always its second end.
            if rank[b] < rank[a] {
                link.swap_ends();
            }
        }
        let facts = self.facts;
        self.sort_links(&rank);
        let way_addresses = self.way_addresses();
        let links = std::mem::take(&mut self.links);
        let numbers = links.iter().map(|link| {
            let ends = link.nodes().map(|node| rank[node]);
            (!ends.contains(&usize::MAX)).then_some(ends)
        });
        let ends: LinkNodes = numbers.collect();
        let links: Vec<Link> = links.into_iter().map(|l| self.named(l)).collect();
        let mut nodes: Vec<Option<Node>> = self.nodes.into_iter().map(Some).collect();
        let nodes: Vec<Node> = order.into_iter().filter_map(|n| nodes[n].take()).collect();
        Topology {
            way_addresses,
            ..in_clusters(facts, nodes, (links, ends), self.alarms, roots)
        }
    }

    /// Sorts the links by their ends; `rank` is the place of each node.
    fn sort_links(&mut self, rank: &[usize]) {
        let facts = self.facts;
        let first = |link: &DraftLink| {
            let [a, b] = link.nodes();
            (rank[a], port_order(facts, &link.ends[0]), rank[b])
        };
        self.links.sort_by_cached_key(first);
        // The port at the other end hardly ever decides, and the name of a host's port takes long to compare.
        for same in self
            .links
            .chunk_by_mut(|x, y| x.nodes() == y.nodes() && first(x) == first(y))
        {
            if same.len() > 1 {
                same.sort_by_cached_key(|link| port_order(facts, &link.ends[1]));
            }
        }
    }

    /// The addresses at the ends of links over which flows spread.
    fn way_addresses(&self) -> Vec<WayAddress> {
        let ways = self.links.iter();
        let ways = ways.filter(|link| link.state == LinkState::Multipath);
        let ends = ways.flat_map(|link| &link.ends);
        let ports = ends.filter_map(|end| {
            let (device, port) = end.device_port(self.facts)?;
            Some((end, &self.facts[device].ports[port].addresses))
        });
        let addresses = ports.flat_map(|(end, own)| own.iter().map(move |address| (end, *address)));
        addresses
            .map(|(end, address)| WayAddress {
                node: self.name(end.node).to_owned(),
                port: self.port_name(end).to_owned(),
                address,
            })
            .collect()
    }

    /// The nodes that the topology shows: an unlisted one only if it has a link.
    fn shown(&self) -> Vec<bool> {
        let mut shown: Vec<bool> = (0..self.nodes.len())
            .map(|n| u32::try_from(n).is_ok_and(|n| !self.facts.is_unlisted(NodeIx(n))))
            .collect();
        for link in &self.links {
            for node in link.nodes() {
                shown[node] = true;
            }
        }
        for node in &self.dropped {
            shown[node.0 as usize] = false;
        }
        shown
    }

    fn named(&self, link: DraftLink) -> Link {
        let [a, b] = &link.ends;
        Link {
            a: self.name(a.node).to_owned(),
            a_port: self.port_name(a).to_owned(),
            b: self.name(b.node).to_owned(),
            b_port: self.port_name(b).to_owned(),
            members: link.members,
            rate_bps: link.rate,
            state: link.state,
            grade: link.grade,
            evidence: link.evidence,
        }
    }
}

/// The place of a port among those of its node: by number where the device was asked, by name
/// elsewhere.
fn port_order(facts: &Facts<'_>, end: &ClaimEnd) -> (u32, Option<NaturalKey>) {
    match end.device_port(facts) {
        Some((device, port)) => (facts[device].ports.place_in_order(port), None),
        None => (0, Some(natural(end.port_name(facts)))),
    }
}

/// The whole topology, with routers that only packets show, and clusters.
fn in_clusters(
    facts: &Facts<'_>,
    mut nodes: Vec<Node>,
    (mut links, mut ends): (Vec<Link>, LinkNodes),
    mut alarms: Vec<Alarm>,
    roots: Vec<String>,
) -> Topology {
    let none = IndexMap::new();
    let stated = facts.scope.stated.map_or(&none, |i| &i.clusters);
    let (mut networks, about_networks) =
        several_networks(facts, &nodes, (&mut links, &ends), &roots);
    alarms.extend(about_networks);
    let routing = crossing_hosts::routing_hosts(&networks);
    alarms.extend(crossing_hosts::routing(facts, &routing));
    let unseen = unseen_routers(
        &ClusterInput {
            nodes: &nodes,
            links: &links,
            ends: &ends,
            views: facts.views,
            stated,
            routing: &routing,
        },
        &roots,
    );
    if !unseen.is_empty() {
        for unseen in unseen {
            nodes.push(unseen.node);
            links.extend(unseen.links);
            alarms.push(unseen.alarm);
        }
        sort(&mut nodes, &mut links);
        // The routers join parts, and nodes have other numbers now.
        ends = link_nodes(&nodes, &links);
        networks = several_networks(facts, &nodes, (&mut links, &ends), &roots).0;
    }
    let (clusters, contradictions) = clusters(&ClusterInput {
        nodes: &nodes,
        links: &links,
        ends: &ends,
        views: facts.views,
        stated,
        routing: &routing,
    });
    alarms.extend(contradictions);
    alarms.sort_by_cached_key(|a| (a.subject.to_string(), a.to_string()));
    alarms.dedup();
    let mut roots = roots.into_iter();
    Topology {
        networks,
        nodes,
        links,
        clusters,
        alarms,
        root_bridge: roots.next(),
        further_root_bridges: roots.collect(),
        ..Topology::default()
    }
}

/// The networks with names and addresses, and alarms about them; none if there is only one.
fn several_networks(
    facts: &Facts<'_>,
    nodes: &[Node],
    (links, ends): (&mut [Link], &LinkNodes),
    roots: &[String],
) -> (Vec<Network>, Vec<Alarm>) {
    let mut networks = networks(facts, nodes, (links, ends), roots);
    vlans::mark_links(facts, &networks, links);
    let links = &*links;
    let mut alarms = Vec::new();
    if let Some(inventory) = facts.scope.stated {
        // Several networks may be on the same cards: tagged VLANs, or several addresses of one
        // card.
        if networks.is_empty() && inventory.networks.len() > 1 {
            networks.push(whole(nodes, links, roots));
        }
        alarms = network_names::named(&inventory.networks, facts, links, &mut networks);
    }
    if !networks.is_empty() {
        let ports = HostPorts::new(facts, links);
        let about_addresses = add_addresses(facts, &ports, &mut networks);
        network_names::add_hosts(&mut networks);
        // `add_hosts` clears the list where one network is left.
        if !networks.is_empty() {
            alarms.extend(about_addresses);
        }
        alarms.extend(vlans::sharing(&networks));
        alarms.extend(crossing_hosts::bridging(facts, &ports, &networks));
    }
    (networks, alarms)
}

fn sort(nodes: &mut [Node], links: &mut [Link]) {
    let hosts: HashSet<String> = nodes
        .iter()
        .filter(|n| n.kind == NodeKind::Host)
        .map(|n| n.name.clone())
        .collect();
    links.sort_by_cached_key(|l| {
        [(&l.a, &l.a_port), (&l.b, &l.b_port)]
            .map(|(node, port)| (hosts.contains(node), natural(node), natural(port)))
    });
    nodes.sort_by_cached_key(|n| (n.kind == NodeKind::Host, natural(&n.name)));
}
