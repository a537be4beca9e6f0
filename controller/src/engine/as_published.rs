//! The published state that stays while the network is in doubt: places of hosts, clusters, links
//! between switches, and the claims of agents.
use super::candidate::{EpochCandidate, PublishedNetwork};
use super::damping::FlapDamping;
use inventory::Topology;
use inventory::evidence::{Evidence, KeptReason};
use inventory::topology::{Cluster, Link, LinkState, Node, NodeKind};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Puts a host back to its published place, with the reason as evidence.
pub(crate) fn put_back(
    network: &mut Topology,
    settled: &PublishedNetwork,
    host: &str,
    because: KeptReason,
) {
    if !network.nodes.iter().any(|n| n.name == host) {
        let published = settled.network.nodes.iter().find(|n| n.name == host);
        network
            .nodes
            .push(published.cloned().unwrap_or_else(|| Node {
                name: host.to_owned(),
                kind: NodeKind::Host,
                chassis: None,
                stale: true,
            }));
    }
    if let Some(link) = settled.network.links.iter().find(|l| l.b == host) {
        let evidence = vec![Evidence::Kept {
            epoch: settled.number,
            because,
        }];
        network.links.push(Link {
            state: LinkState::Forwarding,
            evidence,
            ..link.clone()
        });
    }
}

/// Puts the switch or bridge of a host back if nobody hears it any more, with its published cables, and
/// all that is missing on its way to the others.
pub(crate) fn keep_bridge(network: &mut Topology, settled: &PublishedNetwork, host: &str) {
    let settled = &settled.network;
    let bridges: Vec<&Node> = settled
        .nodes
        .iter()
        .filter(|n| n.kind != NodeKind::Host)
        .collect();
    let own = settled
        .links
        .iter()
        .find(|l| l.b == host)
        .map(|l| l.a.as_str());
    let mut missing: Vec<&str> = own.into_iter().collect();
    while let Some(name) = missing.pop() {
        let is_shown = network.nodes.iter().any(|n| n.name == name);
        let node = bridges.iter().find(|n| n.name == name && !is_shown);
        let Some(node) = node else {
            continue;
        };
        network.nodes.push((*node).clone());
        for link in &settled.links {
            let far = match (link.a == name, link.b == name) {
                (true, false) => link.b.as_str(),
                (false, true) => link.a.as_str(),
                _ => continue,
            };
            // A cable to another missing bridge comes with that one.
            match network
                .nodes
                .iter()
                .any(|n| n.name == far && n.kind != NodeKind::Host)
            {
                true => network.links.push(link.clone()),
                false => missing.push(far),
            }
        }
    }
}

/// Puts hosts that keep their place into their published clusters: a host that is not seen gives no
/// evidence of its cluster.
pub(crate) fn keep_clusters(
    network: &mut Topology,
    settled: &PublishedNetwork,
    kept: &BTreeSet<&str>,
) {
    let known: HashSet<&str> = kept_clusters(settled, kept)
        .flat_map(|c| &c.hosts)
        .map(String::as_str)
        .filter(|h| kept.contains(h))
        .collect();
    network
        .clusters
        .iter_mut()
        .for_each(|c| c.hosts.retain(|h| !known.contains(h.as_str())));
    let placed: HashSet<&str> = network.links.iter().map(|l| l.b.as_str()).collect();
    let now: HashMap<String, usize> = network
        .clusters
        .iter()
        .enumerate()
        .flat_map(|(i, c)| c.hosts.iter().map(move |h| (h.clone(), i)))
        .collect();
    for cluster in kept_clusters(settled, kept) {
        let back = cluster
            .hosts
            .iter()
            .filter(|h| known.contains(h.as_str()) && placed.contains(h.as_str()))
            .cloned();
        let same = network.clusters.iter().position(|c| c.name == cluster.name);
        // The cluster may have another name now. Then the host follows its former companions.
        match same.or_else(|| cluster.hosts.iter().find_map(|h| now.get(h).copied())) {
            Some(at) => {
                let position: HashMap<&str, usize> = cluster
                    .hosts
                    .iter()
                    .enumerate()
                    .map(|(i, h)| (h.as_str(), i))
                    .collect();
                let hosts = &mut network.clusters[at].hosts;
                hosts.extend(back);
                hosts.sort_by_key(|h| position.get(h.as_str()).copied().unwrap_or(usize::MAX));
            }
            None => network.clusters.push(Cluster {
                hosts: back.collect(),
                ..cluster.clone()
            }),
        }
    }
    network.clusters.retain(|c| !c.hosts.is_empty());
}

fn kept_clusters<'a>(
    settled: &'a PublishedNetwork,
    kept: &'a BTreeSet<&str>,
) -> impl Iterator<Item = &'a Cluster> {
    settled
        .network
        .clusters
        .iter()
        .filter(|c| c.hosts.iter().any(|h| kept.contains(h.as_str())))
}

/// Puts every held host to its published place.
pub(crate) fn freeze_hosts(
    damping: &FlapDamping,
    network: &mut Topology,
    settled: &PublishedNetwork,
) {
    for host in damping.hosts() {
        network.links.retain(|l| l.b != host);
        if settled.key.hosts.contains_key(host) {
            put_back(network, settled, host, KeptReason::LinkFlaps);
        }
    }
}

/// Gives every host whose claims are held its published ranks and address.
pub(crate) fn freeze_claims(
    damping: &FlapDamping,
    candidate: EpochCandidate,
    settled: &PublishedNetwork,
) -> EpochCandidate {
    let EpochCandidate {
        network, mut file, ..
    } = candidate.clone();
    for host in damping.held_claims() {
        let file = Arc::make_mut(&mut file);
        if let (Some(now), Some(published)) =
            (file.hosts.get_mut(host), settled.key.hosts.get(host))
        {
            (now.ranks, now.address) = (published.ranks, published.address);
        }
    }
    if Arc::ptr_eq(&file, &candidate.file) {
        candidate
    } else {
        EpochCandidate::new(network, file)
    }
}

/// Gives a network the published links between switches, and the published clusters of hosts that
/// did not move. Hosts keep their present places.
pub(crate) fn freeze_trunks(network: &Topology, settled: &PublishedNetwork) -> Topology {
    let (now, then) = (network.kinds(), settled.network.kinds());
    let mut frozen = network.clone();
    frozen.links.retain(|l| ends_at_host(&now, l));
    frozen.links.extend(
        settled
            .network
            .links
            .iter()
            .filter(|l| !ends_at_host(&then, l))
            .cloned(),
    );
    let missing: Vec<_> = settled
        .network
        .nodes
        .iter()
        .filter(|n| n.kind != NodeKind::Host && !now.contains_key(n.name.as_str()))
        .cloned()
        .collect();
    frozen.nodes.extend(missing);
    let (before, after) = (upstream_nodes(&settled.network), upstream_nodes(network));
    keep_clusters(
        &mut frozen,
        settled,
        &settled
            .key
            .hosts
            .keys()
            .map(String::as_str)
            .filter(|host| before.get(*host) == after.get(*host))
            .collect(),
    );
    frozen
}

fn ends_at_host(kinds: &HashMap<&str, NodeKind>, l: &Link) -> bool {
    kinds.get(l.b.as_str()) == Some(&NodeKind::Host)
}

fn upstream_nodes(t: &Topology) -> HashMap<String, String> {
    t.links.iter().map(|l| (l.b.clone(), l.a.clone())).collect()
}
