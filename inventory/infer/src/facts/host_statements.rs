//! The statements of hosts' agents, and the cards that they concern. A host speaks only for itself:
//! switches and the inventory know better which host has an address.
use super::{Facts, NodeIx};
use inventory::Mac;
use inventory::alarm::AlarmKind;
use inventory::host_report::{HostReport, Nic};
use inventory::inventory_file::InventoryHost;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// The statements of one host.
pub(crate) struct HostStatement<'a> {
    pub(crate) report: &'a HostReport,
    /// Its cards on the cluster network: those named by the inventory, or else all.
    pub(crate) cards: Vec<&'a Nic>,
    /// True if its agent is silent by now.
    pub(crate) old: bool,
}

/// The statements of the hosts in the scope, by the hosts' nodes.
pub(crate) fn host_statements<'a>(facts: &Facts<'a>) -> HashMap<NodeIx, HostStatement<'a>> {
    let views = facts.views;
    facts
        .hosts()
        .filter_map(|(node, name, host)| {
            let view = views.get(name)?;
            let report = view.host.as_ref()?;
            let statement = HostStatement {
                report,
                cards: cards(host, report),
                old: view.stale.is_some(),
            };
            Some((node, statement))
        })
        .collect()
}

/// The cards with the MAC or network address that the inventory states, and the members of a bond
/// with that address.
fn cards<'a>(host: &InventoryHost, report: &'a HostReport) -> Vec<&'a Nic> {
    let meant: BTreeSet<&str> = report
        .nics
        .iter()
        .filter(|n| match (host.mac, host.address) {
            (Some(mac), _) => n.mac == Some(mac),
            (None, Some(address)) => n.addresses.iter().any(|(a, _)| *a == address),
            (None, None) => true,
        })
        .flat_map(|n| [Some(n.name.as_str()), n.master.as_deref()])
        .flatten()
        .collect();
    let all = meant.is_empty();
    report
        .nics
        .iter()
        .filter(|n| {
            all || meant.contains(n.name.as_str())
                || n.master.as_deref().is_some_and(|m| meant.contains(m))
        })
        .collect()
}

impl HostStatement<'_> {
    pub(crate) fn card(&self, name: &str) -> Option<&Nic> {
        self.cards.iter().find(|n| n.name == name).copied()
    }

    fn macs(&self) -> impl Iterator<Item = Mac> {
        self.cards
            .iter()
            .filter_map(|n| n.mac)
            .filter(|m| m.is_station())
    }
}

/// The MAC addresses that hosts state as their own and that no other host claims. An alarm is
/// raised about a host that claims another's.
pub(crate) fn own_macs(facts: &mut Facts<'_>) -> Vec<(NodeIx, Mac)> {
    let mut own = Vec::new();
    for (mac, hosts) in claimed(facts, |statement| statement.macs().collect()) {
        match hosts[..] {
            [host] => own.push((host, mac)),
            [first, ..] => {
                let all = hosts
                    .iter()
                    .map(|host| facts.name(*host).to_owned())
                    .collect();
                let first = facts.name(first).to_owned();
                facts.alarm(&first, AlarmKind::MacClaimed { mac, hosts: all });
            }
            [] => {}
        }
    }
    own
}

/// The network addresses that belong to just one host each.
pub(crate) fn own_addresses(facts: &Facts<'_>) -> Vec<(NodeIx, IpAddr)> {
    claimed(facts, |statement| {
        let cards = statement.cards.iter();
        cards
            .flat_map(|c| c.addresses.iter().map(|a| a.0))
            .collect()
    })
    .into_iter()
    .filter_map(|(address, hosts)| match hosts[..] {
        [host] => Some((host, address)),
        _ => None,
    })
    .collect()
}

/// The claims, with each host once, in the order of hosts' names.
fn claimed<T: Ord>(
    facts: &Facts<'_>,
    of: impl Fn(&HostStatement<'_>) -> BTreeSet<T>,
) -> BTreeMap<T, Vec<NodeIx>> {
    let mut hosts: Vec<NodeIx> = facts.host_statements.keys().copied().collect();
    hosts.sort_by_key(|host| facts.name(*host));
    let mut claimed: BTreeMap<T, Vec<NodeIx>> = BTreeMap::new();
    for host in hosts {
        // A host that has an address on two cards is one claimant.
        for what in of(&facts.host_statements[&host]) {
            claimed.entry(what).or_default().push(host);
        }
    }
    claimed
}
