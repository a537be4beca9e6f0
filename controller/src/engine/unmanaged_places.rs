//! The places where no switch answers: hosts on a bridge that nobody asked.
use super::observed::ObservedNetwork;
use inventory::address::AddressLookup;
use inventory::inventory_file::Inventory;
use inventory::topology::{Link, NodeKind, Topology};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// With fewer hosts on a bridge no trunk behind it can bound a schedule.
const LEAST_HOSTS: usize = 3;
/// The most hosts elsewhere that take part.
const MOST_BESIDE: usize = 4;

/// Hosts on a bridge that nobody asked, or on several that flows told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnmanagedPlace {
    /// The bridge of the way in.
    pub(super) bridge: String,
    /// Its hosts, sorted.
    pub(super) hosts: Vec<String>,
}

/// The hosts of a measurement, with their addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlaceMembers {
    pub(super) inside: Vec<(String, IpAddr)>,
    pub(super) beside: Vec<(String, IpAddr)>,
}

/// The reason why a place cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnfitPlace {
    /// These hosts have no agent that takes part.
    Silent(Vec<String>),
    /// The hosts share no network.
    Networks,
    /// There are too many.
    TooMany(usize),
}

/// All places of a topology.
pub(super) fn unmanaged_places(topology: &Topology) -> Vec<UnmanagedPlace> {
    let kinds: HashMap<&str, NodeKind> = topology
        .nodes
        .iter()
        .map(|n| (n.name.as_str(), n.kind))
        .collect();
    let is = |name: &str, kind| kinds.get(name) == Some(&kind);
    // Flows told bridges of one place apart; the way in has the shortest name.
    let mut place_of: BTreeMap<&str, &str> = BTreeMap::new();
    let bridges = topology
        .nodes
        .iter()
        .filter(|n| n.kind == NodeKind::Unmanaged);
    place_of.extend(bridges.map(|n| (n.name.as_str(), n.name.as_str())));
    let both = |l: &&Link| [&l.a, &l.b].iter().all(|end| is(end, NodeKind::Unmanaged));
    for link in topology
        .links
        .iter()
        .filter(both)
        .filter(|l| l.is_measured())
    {
        let [a, b] = [place_of[link.a.as_str()], place_of[link.b.as_str()]];
        let whole = if (a.len(), a) < (b.len(), b) { a } else { b };
        for place in place_of.values_mut().filter(|p| **p == a || **p == b) {
            *place = whole;
        }
    }
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let carrying = topology.links.iter().filter(|link| link.carries_frames());
    for link in carrying.filter(|link| is(&link.b, NodeKind::Host)) {
        if let Some(place) = place_of.get(link.a.as_str()) {
            hosts.entry(place).or_default().insert(&link.b);
        }
    }
    let place = |(bridge, hosts): (&str, BTreeSet<&str>)| UnmanagedPlace {
        bridge: bridge.to_owned(),
        hosts: hosts.into_iter().map(str::to_owned).collect(),
    };
    let several = hosts
        .into_iter()
        .filter(|(_, hosts)| hosts.len() >= LEAST_HOSTS);
    several.map(place).collect()
}

impl ObservedNetwork {
    /// The hosts that measure a place: all of its own, and a few of other switches, so that the way
    /// into the place shows.
    pub(super) fn members(
        &self,
        place: &UnmanagedPlace,
        inventory: &Inventory,
        topology: &Topology,
    ) -> Result<PlaceMembers, UnfitPlace> {
        let seats = topology.attachments();
        let addresses = AddressLookup::new(&self.views);
        // Only hosts of the inventory have a place in a topology, and an agent that counts.
        let ready = |host: &str| {
            let view = self.views.get(host).filter(|view| view.stale.is_none())?;
            view.host.as_ref().filter(|report| report.measures)?;
            addresses.of(host, seats.get(host).map_or("", |seat| seat.1))
        };
        let found: Vec<(&String, Option<(IpAddr, u8)>)> =
            place.hosts.iter().map(|host| (host, ready(host))).collect();
        let silent = found.iter().filter(|(_, address)| address.is_none());
        let silent: Vec<String> = silent.map(|(host, _)| (*host).clone()).collect();
        if !silent.is_empty() {
            return Err(UnfitPlace::Silent(silent));
        }
        let own: Vec<(&String, (IpAddr, u8))> = found
            .into_iter()
            .filter_map(|(host, address)| Some((host, address?)))
            .collect();
        let Some((_, first)) = own.first().copied() else {
            return Err(UnfitPlace::Silent(Vec::new()));
        };
        if own
            .iter()
            .any(|(_, address)| !is_neighbour(first, *address))
        {
            return Err(UnfitPlace::Networks);
        }
        if own.len() + MOST_BESIDE > mapping::MOST_HOSTS {
            return Err(UnfitPlace::TooMany(own.len()));
        }
        let others = inventory
            .hosts
            .keys()
            .filter(|host| !place.hosts.contains(host))
            .filter_map(|host| {
                let seat = seats.get(host.as_str())?.0;
                let address = ready(host).filter(|address| is_neighbour(first, *address))?;
                Some((seat, host, address.0))
            });
        let beside = hosts_beside(others);
        Ok(PlaceMembers {
            inside: own
                .into_iter()
                .map(|(host, (address, _))| (host.clone(), address))
                .collect(),
            beside,
        })
    }
}

/// The first ones to ask of these hosts, each with its switch: one on each switch, then a second one
/// on each.
fn hosts_beside<'a>(
    hosts: impl Iterator<Item = (&'a str, &'a String, IpAddr)>,
) -> Vec<(String, IpAddr)> {
    let mut used: HashMap<&str, usize> = HashMap::new();
    let mut ordered: Vec<(usize, &String, IpAddr)> = hosts
        .map(|(switch, host, address)| {
            let turn = used.entry(switch).or_default();
            *turn += 1;
            (*turn, host, address)
        })
        .collect();
    ordered.sort();
    ordered
        .into_iter()
        .take(MOST_BESIDE)
        .map(|(_, host, address)| (host.clone(), address))
        .collect()
}

/// True if both addresses are in one network.
fn is_neighbour((a, prefix): (IpAddr, u8), (b, other): (IpAddr, u8)) -> bool {
    let differ = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()) << 96,
        (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
        _ => return false,
    };
    prefix == other && differ.leading_zeros() >= u32::from(prefix)
}
