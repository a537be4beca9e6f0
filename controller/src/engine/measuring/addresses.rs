//! The addresses between which flows are measured.
use crate::engine::observed::ObservedNetwork;
use inventory::address::{AddressLookup, shares_network};
use inventory::device_view::DeviceView;
use inventory::topology::Topology;
use std::collections::HashMap;
use std::net::IpAddr;

/// An address with the length of its network's prefix.
pub(super) type PrefixedAddress = (IpAddr, u8);

/// Looks up where hosts take part in measurements.
pub(super) struct MeasuringAddresses<'a> {
    observed: &'a ObservedNetwork,
    lookup: AddressLookup<'a>,
    /// Each host that has a place: its switch, and its card there.
    attachments: HashMap<&'a str, (&'a str, &'a str)>,
    /// The networks of hosts that have a place and take part, by an address in each.
    networks: Vec<PrefixedAddress>,
}

impl<'a> MeasuringAddresses<'a> {
    pub(super) fn new(
        observed: &'a ObservedNetwork,
        topology: &'a Topology,
    ) -> MeasuringAddresses<'a> {
        let mut addresses = MeasuringAddresses {
            observed,
            lookup: AddressLookup::new(&observed.views),
            attachments: topology.attachments(),
            networks: Vec::new(),
        };
        let attached = addresses.attachments.keys();
        let mut known: Vec<PrefixedAddress> =
            attached.filter_map(|host| addresses.of(host)).collect();
        known.sort_unstable();
        known.dedup_by(|a, b| is_neighbour(*a, *b));
        addresses.networks = known;
        addresses
    }

    /// The switch of a host.
    pub(super) fn attachment(&self, host: &str) -> Option<&'a str> {
        Some(self.attachments.get(host)?.0)
    }

    /// The address of a host whose agent takes part. Of a host that no switch has seen, it is one in a
    /// network of the others, if it has one: another card may be for management.
    pub(super) fn of(&self, host: &str) -> Option<PrefixedAddress> {
        self.observed
            .views
            .get(host)
            .filter(|view| measures(view))?;
        let card = self.attachments.get(host).map_or("", |(_, card)| card);
        if let Some(address) = self.lookup.at_card(host, card) {
            return Some(address);
        }
        let all = self.lookup.of_unseen(host);
        let own = all
            .iter()
            .find(|own| {
                let mut networks = self.networks.iter();
                networks.any(|network| is_neighbour(*network, **own))
            })
            .or(all.first());
        own.copied().filter(|_| card.is_empty())
    }
}

/// True if both addresses are in one network.
pub(super) fn is_neighbour((a, prefix): PrefixedAddress, (b, other): PrefixedAddress) -> bool {
    prefix == other && shares_network(a, b, prefix)
}

/// True if the agent of this host reports and takes part in measurements.
fn measures(view: &DeviceView) -> bool {
    view.stale.is_none() && view.host.as_ref().is_some_and(|report| report.measures)
}
