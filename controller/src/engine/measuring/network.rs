//! The network that is measured, for reading only.
use super::addresses::MeasuringAddresses;
use super::doubtful_hosts::{doubtful_hosts, host_targets};
use super::target::{DoubtfulHost, MappingTarget};
use super::unmanaged_places::UnmanagedPlaces;
use crate::engine::judged::JudgedNetwork;
use crate::engine::observed::ObservedNetwork;
use inventory::host_report::HostReport;
use inventory::inventory_file::Inventory;
use inventory::mapped_place::CardLosses;
use inventory::topology::{NodeKind, Topology};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The state that measurements look at, and do not change.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredNetwork<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) observed: &'a ObservedNetwork,
    pub(super) judged: &'a JudgedNetwork,
    /// The published network.
    pub(super) published: Option<&'a Topology>,
    /// An epoch is published, and no candidate waits for the hold-down.
    pub(super) is_published: bool,
}

impl<'a> MeasuredNetwork<'a> {
    pub(super) fn topology(&self) -> &'a Topology {
        &self.judged.topology
    }

    /// True if no change of the tree is about to come.
    pub(super) fn is_steady(&self) -> bool {
        self.is_published && !self.judged.awaits_frames()
    }

    /// True where the inventory lists no switch.
    pub(super) fn lists_no_switch(&self) -> bool {
        self.inventory.switches.is_empty()
    }

    /// All that flows can tell: hosts first, because a place is measured with all of its hosts.
    pub(super) fn targets(&self) -> Vec<MappingTarget> {
        let mut targets = self.host_targets(self.doubtful());
        targets.extend(self.places().targets());
        targets
    }

    pub(super) fn host_targets(&self, hosts: Vec<DoubtfulHost>) -> Vec<MappingTarget> {
        host_targets(hosts, &self.addresses())
    }

    pub(super) fn places(&self) -> UnmanagedPlaces<'a> {
        UnmanagedPlaces::new(self.topology(), self.lists_no_switch())
    }

    pub(super) fn addresses(&self) -> MeasuringAddresses<'a> {
        MeasuringAddresses::new(self.observed, self.topology())
    }

    pub(super) fn doubtful(&self) -> Vec<DoubtfulHost> {
        doubtful_hosts(self.topology(), &self.observed.views, self.inventory)
    }

    pub(super) fn report(&self, host: &str) -> Option<&'a HostReport> {
        self.observed.views.get(host)?.host.as_ref()
    }

    /// The switch of each host that hears one, where none is listed.
    pub(super) fn hearing(&self) -> BTreeMap<&'a str, &'a str> {
        let kinds = self.topology().kinds();
        let attachments = self.topology().attachments().into_iter();
        let on_switch = attachments.map(|(host, (node, _))| (host, node));
        on_switch
            .filter(|(_, node)| {
                self.lists_no_switch() && kinds.get(node) == Some(&NodeKind::Switch)
            })
            .collect()
    }

    /// The switches that these hosts hear.
    pub(super) fn switches_of(&self, hosts: &[(String, IpAddr)]) -> BTreeMap<String, String> {
        let hearing = self.hearing();
        let known = hosts.iter().filter_map(|(host, _)| {
            let switch = *hearing.get(host.as_str())?;
            Some((host.clone(), switch.to_owned()))
        });
        known.collect()
    }

    /// How often the cards with these addresses lost their link.
    pub(super) fn link_losses(&self, hosts: &[(String, IpAddr)]) -> BTreeMap<String, CardLosses> {
        let known = hosts.iter().filter_map(|(host, address)| {
            let report = self.report(host)?;
            let card = report
                .nics
                .iter()
                .find(|nic| nic.addresses.iter().any(|(own, _)| own == address))?
                .name
                .clone();
            let times = *report.link_losses.get(&card)?;
            Some((host.clone(), CardLosses { card, times }))
        });
        known.collect()
    }
}
