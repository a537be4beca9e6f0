//! The trees of the networks beside the main one.
//!
//! The main network is judged host by host. Of another one the tree is taken as it is inferred; where it
//! is none, the published one stays, and so does a host's published place that no switch sees any more.
use super::candidate::{EpochCandidate, PublishedNetwork, whole};
use inventory::alarm::arguments::TreeDoubt;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::networks::Network;
use inventory::topology_file::is_network_name;
use inventory::{Topology, TopologyFile, counted};
use std::sync::Arc;

/// The networks beside the main one, as last inferred, and what speaks against their trees.
#[derive(Debug, Default)]
pub(super) struct FurtherNetworks {
    /// The main one, if there are several.
    main: Option<Network>,
    pub(super) networks: Vec<(Network, Arc<Topology>)>,
    /// Their trees, as last judged.
    trees: Vec<TopologyFile>,
    doubts: Vec<(String, Vec<TreeDoubt>)>,
}

impl FurtherNetworks {
    /// Takes a new inference. True if it differs from the last one.
    pub(super) fn infer(&mut self, all: &Topology) -> bool {
        let mut named = all
            .networks
            .iter()
            .filter(|n| is_network_name(&n.name))
            .cloned();
        let main = named.next();
        // A host alone needs no schedules.
        let with_hosts = named.filter(|network| network.hosts.len() > 1);
        let networks = with_hosts.filter_map(|network| {
            let mut alone = all.in_network(&network.name).ok()?;
            alone.alarms.clear();
            Some((network, Arc::new(alone)))
        });
        let networks: Vec<(Network, Arc<Topology>)> = networks.collect();
        let differs = (&self.main, &self.networks) != (&main, &networks);
        (self.main, self.networks) = (main, networks);
        differs
    }

    /// Judges them, whether or not the main one has a tree.
    pub(super) fn judge(
        &mut self,
        inventory: &Inventory,
        views: &DeviceViews,
        settled: Option<&PublishedNetwork>,
    ) {
        self.doubts.clear();
        self.trees.clear();
        for (network, topology) in &self.networks {
            let name = &network.name;
            let before = settled.and_then(|settled| settled.key.networks.get(name));
            let tree = match whole(inventory, views, Arc::clone(topology), before) {
                Ok(found) => {
                    let mut file = TopologyFile::clone(&found.file);
                    keep_hosts(&mut file, before, inventory);
                    Some(file)
                }
                Err(doubts) => {
                    self.doubts.push((name.clone(), doubts));
                    before.map(TopologyFile::alone)
                }
            };
            self.trees.extend(tree.map(|file| TopologyFile {
                name: Some(name.clone()),
                prefix: network.prefix,
                ..file
            }));
        }
    }

    /// Gives the candidate their trees.
    pub(super) fn add_to(&self, candidate: &mut EpochCandidate) {
        candidate.set_networks(self.main.as_ref(), self.trees.clone());
    }

    /// Their trees while the main network has none: beside its published one, or alone where none of it is
    /// published.
    pub(super) fn without_main(
        &self,
        settled: Option<&PublishedNetwork>,
    ) -> Option<EpochCandidate> {
        let Some(settled) = settled else {
            return self.alone();
        };
        let published = settled.key.name.as_ref()?;
        if self.main.as_ref().map(|main| &main.name) == Some(published) {
            let file = Arc::clone(&settled.key);
            let mut candidate = EpochCandidate::new(Arc::clone(&settled.network), file);
            self.add_to(&mut candidate);
            return Some(candidate);
        }
        let mut names = self.trees.iter().filter_map(|tree| tree.name.as_ref());
        names.find(|name| *name == published)?;
        self.alone()
    }

    fn alone(&self) -> Option<EpochCandidate> {
        let (first, others) = self.trees.split_first()?;
        let mut networks = self.networks.iter();
        let (network, topology) = networks.find(|(n, _)| first.name.as_ref() == Some(&n.name))?;
        let mut candidate = EpochCandidate::new(Arc::clone(topology), first.alone());
        candidate.set_networks(Some(network), others.to_vec());
        Some(candidate)
    }

    /// The alarms about networks that have no tree now.
    pub(super) fn alarms(&self, published: Option<&PublishedNetwork>) -> Vec<Alarm> {
        let alarms = self.doubts.iter().map(|(name, doubts)| {
            let doubts = doubts.clone();
            let published = published.filter(|p| p.key.networks.contains_key(name));
            let epoch = published.map(|published| published.number);
            let kind = AlarmKind::NoFurtherTree { doubts, epoch };
            Alarm::other(format!("network {name}"), kind)
        });
        alarms.collect()
    }
}

/// Hosts of the inventory that nobody sees now stay where they are published.
fn keep_hosts(file: &mut TopologyFile, before: Option<&TopologyFile>, inventory: &Inventory) {
    for (name, host) in before.into_iter().flat_map(|before| &before.hosts) {
        if inventory.hosts.contains_key(name) && file.switches.contains(&host.switch) {
            let entry = file.hosts.entry(name.clone());
            entry.or_insert_with(|| host.clone());
        }
    }
}

/// The changes of networks beside the main one, for operators.
pub(super) fn changes(before: &TopologyFile, now: &TopologyFile) -> Vec<String> {
    let removed = before
        .networks
        .keys()
        .filter(|name| !now.networks.contains_key(*name));
    let gone = removed.map(|name| format!("network {name} is gone"));
    let all = now.networks.iter();
    let changed = all.filter_map(|(name, now)| {
        let change = change(before.networks.get(name), now)?;
        Some(format!("network {name}: {change}"))
    });
    gone.chain(changed).collect()
}

fn change(before: Option<&TopologyFile>, now: &TopologyFile) -> Option<String> {
    let Some(before) = before else {
        let hosts = counted(now.hosts.len(), "host");
        return Some(format!(
            "{hosts} on {}",
            counted(now.switches.len(), "switch")
        ));
    };
    if before == now {
        return None;
    }
    let all = before.hosts.keys().chain(now.hosts.keys());
    let mut moved: Vec<&String> = all
        .filter(|host| switch(before, host) != switch(now, host))
        .collect();
    moved.sort();
    moved.dedup();
    Some(match moved[..] {
        [] => "links, ranks or addresses differ".to_owned(),
        [host] => match (switch(before, host), switch(now, host)) {
            (Some(from), Some(to)) => format!("{host} from {from} to {to}"),
            (None, Some(to)) => format!("{host} is new on {to}"),
            (Some(from), None) => format!("{host} is gone from {from}"),
            (None, None) => return None,
        },
        _ => format!("{} have other places", counted(moved.len(), "host")),
    })
}

fn switch(file: &TopologyFile, host: &str) -> Option<String> {
    file.hosts.get(host).map(|h| h.switch.clone())
}
