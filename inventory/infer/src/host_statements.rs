//! The statements of hosts' agents, and the cards that they concern. A host speaks only for itself:
//! switches and the inventory know better which host has an address.
use super::{InferenceScope, InferredNetwork};
use inventory::Mac;
use inventory::alarm::AlarmKind;
use inventory::device_view::DeviceViews;
use inventory::host_report::{HostReport, Nic};
use inventory::inventory_file::InventoryHost;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The statements of one host.
pub(super) struct HostStatement<'a> {
    pub(super) report: &'a HostReport,
    /// Its cards on the cluster network: those named by the inventory, or else all.
    pub(super) cards: Vec<&'a Nic>,
    /// True if its agent is silent by now.
    pub(super) old: bool,
}

/// Statements by host.
pub(super) type StatementsByHost<'a> = BTreeMap<&'a str, HostStatement<'a>>;

/// The statements of the hosts in the scope.
pub(super) fn host_statements<'a>(
    scope: &InferenceScope<'a>,
    views: &'a DeviceViews,
) -> StatementsByHost<'a> {
    let word = |(name, host): (&'a String, &InventoryHost)| {
        let view = views.get(name)?;
        let report = view.host.as_ref()?;
        Some((
            name.as_str(),
            HostStatement {
                report,
                cards: cards(host, report),
                old: view.stale.is_some(),
            },
        ))
    };
    scope.hosts.iter().filter_map(word).collect()
}

/// The cards with the MAC or network address that the inventory states, and the members of a bond
/// with that address.
fn cards<'a>(host: &InventoryHost, report: &'a HostReport) -> Vec<&'a Nic> {
    let has = |nic: &Nic| match (host.mac, host.address) {
        (Some(mac), _) => nic.mac == Some(mac),
        (None, Some(address)) => nic.addresses.iter().any(|(a, _)| *a == address),
        (None, None) => true,
    };
    let meant: BTreeSet<&str> = report
        .nics
        .iter()
        .filter(|n| has(n))
        .flat_map(|n| [Some(n.name.as_str()), n.master.as_deref()])
        .flatten()
        .collect();
    let all = meant.is_empty();
    let belongs = |n: &&Nic| {
        all || meant.contains(n.name.as_str())
            || n.master.as_deref().is_some_and(|m| meant.contains(m))
    };
    report.nics.iter().filter(belongs).collect()
}

impl HostStatement<'_> {
    pub(super) fn card(&self, name: &str) -> Option<&Nic> {
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
pub(super) fn own_macs<'a>(
    words: &StatementsByHost<'a>,
    found: &mut InferredNetwork,
) -> Vec<(&'a str, Mac)> {
    let mut own = Vec::new();
    for (mac, hosts) in claimed(words, |word| word.macs().collect()) {
        match hosts[..] {
            [host] => own.push((host, mac)),
            [first, ..] => {
                found.alarm(
                    first,
                    AlarmKind::MacClaimed(mac, hosts.iter().map(|h| (*h).to_owned()).collect()),
                );
            }
            [] => {}
        }
    }
    own
}

/// The network addresses that belong to just one host each.
pub(super) fn own_addresses<'a>(words: &StatementsByHost<'a>) -> Vec<(&'a str, IpAddr)> {
    let addresses = |word: &HostStatement<'_>| {
        word.cards
            .iter()
            .flat_map(|c| c.addresses.iter().map(|a| a.0))
            .collect()
    };
    claimed(words, addresses)
        .into_iter()
        .filter_map(|(address, hosts)| {
            if let [host] = hosts[..] {
                Some((host, address))
            } else {
                None
            }
        })
        .collect()
}

/// The claims, with each host once.
fn claimed<'a, T: Ord>(
    words: &StatementsByHost<'a>,
    of: impl Fn(&HostStatement<'a>) -> BTreeSet<T>,
) -> BTreeMap<T, Vec<&'a str>> {
    let mut claimed: BTreeMap<T, Vec<&str>> = BTreeMap::new();
    for (host, word) in words {
        for what in of(word) {
            claimed.entry(what).or_default().push(host);
        }
    }
    claimed
}
