//! Routers that are next to each other where no neighbour protocol says so: two ports that route have the two
//! addresses of a subnet without room for more, or each has the other, and nobody else, among its stations, next
//! hops and BGP peers.
//!
//! Source: own, after RFC 3021 (subnets of two addresses) and RFC 8950 (next hops that are known by an address
//! of one link). Guarantee: a cable is proposed only if both ends say so, no asked bridge learned an end's
//! address, and not on the word of stations alone, who share a network with many others. A bridge that nobody
//! asked may be in between all the same, so that such a link is inferred. Cost: one pass over addresses,
//! stations and next hops.
use crate::acceptance::known::Known;
use crate::claims::{Claim, ClaimEnd};
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts};
use crate::ranking::ClaimGrounds;
use inventory::Mac;
use inventory::address::{network_of, shares_network};
use inventory::device_view::DeviceView;
use inventory::evidence::{Evidence, NextRouterProof};
use inventory::observation::{InterfaceKind, InterfaceRow};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem::discriminant;
use std::net::IpAddr;

/// The device behind a port that routes, and the port of it, if that is known.
type FarEnd = (DeviceIx, Option<PortIx>);

/// The addresses of a subnet, each with the port that has it, if it may hold a cable.
type SubnetEnds = BTreeSet<(IpAddr, Option<DevicePortIx>)>;

/// All that is known to be behind ports that route.
struct RoutedPorts<'f> {
    facts: &'f Facts<'f>,
    /// The free ports that route, and what each has behind it; `None` for a station that is no asked device's.
    behind: BTreeMap<DevicePortIx, Vec<(Option<FarEnd>, NextRouterProof)>>,
    /// The only port that has an address.
    owners: HashMap<IpAddr, Option<DevicePortIx>>,
}

/// Claims between pairs of such ports.
pub(crate) fn propose(facts: &Facts<'_>, known: &Known<'_>) -> Vec<Claim> {
    let mut ports = RoutedPorts::free(facts, known);
    if ports.behind.len() < 2 {
        return vec![];
    }
    ports.add_owners();
    ports.add_narrow_subnets();
    ports.add_neighbours();
    ports.claims()
}

impl<'f> RoutedPorts<'f> {
    /// The ports that have addresses, are no bridge ports, and name no neighbour.
    fn free(facts: &'f Facts<'f>, known: &Known<'_>) -> RoutedPorts<'f> {
        let taken = known.taken();
        let mut behind = BTreeMap::new();
        for (device, own) in facts.devices() {
            let naming: BTreeSet<PortIx> = own.neighbours.iter().map(|row| row.port).collect();
            for row in rows(facts, device).filter(|row| !row.subnets.is_empty()) {
                let Some(at) = cable_port(facts, device, row.index) else {
                    continue;
                };
                let port = &own.ports[at.1];
                let whole = known.whole(at).1;
                let is_bridged = port.bridge.is_some() || own.ports[whole].bridge.is_some();
                let is_free = !taken.contains(&at) && !naming.contains(&at.1);
                if is_free && port.up && port.may_be_cabled() && !is_bridged {
                    behind.insert(at, Vec::new());
                }
            }
        }
        RoutedPorts {
            facts,
            behind,
            owners: HashMap::new(),
        }
    }

    /// Notes which port has each address, of all ports.
    fn add_owners(&mut self) {
        for (device, own) in self.facts.devices() {
            for row in rows(self.facts, device) {
                let Some(port) = own.ports.by_index(row.index) else {
                    continue;
                };
                for (address, _) in &row.subnets {
                    let owner = self.owners.entry(*address).or_insert(Some((device, port)));
                    owner.take_if(|known| *known != (device, port));
                }
            }
        }
    }

    /// Adds what subnets with two addresses tell.
    fn add_narrow_subnets(&mut self) {
        let mut subnets: BTreeMap<(IpAddr, u8), SubnetEnds> = BTreeMap::new();
        for (device, _) in self.facts.devices() {
            for row in rows(self.facts, device) {
                for &(address, length) in row.subnets.iter().filter(|subnet| is_narrow(subnet)) {
                    let at = cable_port(self.facts, device, row.index);
                    let network = (network_of(address, length), length);
                    subnets.entry(network).or_default().insert((address, at));
                }
            }
        }
        for ((network, length), ends) in subnets {
            let ends: Vec<_> = ends.into_iter().collect();
            let proof = NextRouterProof::Subnet(network, length);
            if let [(one, Some(a)), (other, Some(b))] = ends[..]
                && one != other
                && a.0 != b.0
            {
                self.add(a, Some((b.0, Some(b.1))), proof.clone());
                self.add(b, Some((a.0, Some(a.1))), proof);
            } else if ends.len() > 1 {
                // Addresses that are used again elsewhere tell nothing.
                for at in ends.into_iter().filter_map(|(_, at)| at) {
                    self.add(at, None, proof.clone());
                }
            }
        }
    }

    fn add(&mut self, at: DevicePortIx, far: Option<FarEnd>, proof: NextRouterProof) {
        if let Some(behind) = self.behind.get_mut(&at) {
            behind.push((far, proof));
        }
    }

    /// Adds the stations, next hops and peers of each device.
    fn add_neighbours(&mut self) {
        for (device, _) in self.facts.devices() {
            let own = OwnNeighbours::new(self.facts, device);
            for ((index, address), proof) in own.all() {
                if let Some(at) = cable_port(self.facts, device, index) {
                    let station = own.stations.get(&(index, address)).copied();
                    let far = self.far_end(address, station.or_else(|| modified_eui(address)));
                    self.add(at, far, proof);
                }
            }
        }
    }

    /// The asked device that has an address at a port that routes, or borrows it there from a loopback.
    fn far_end(&self, address: IpAddr, station: Option<Mac>) -> Option<FarEnd> {
        let identity = &self.facts.identity;
        let by_mac = match station {
            Some(mac) => Some(self.facts.device_of(identity.owner_of(mac)?)?),
            None => None,
        };
        match (self.owners.get(&address).copied().flatten(), by_mac) {
            (Some((device, _)), Some(other)) if device != other => None,
            (Some((device, port)), by_mac) => {
                let own = &self.facts[device].ports[port];
                let cable = own.carrier.unwrap_or(port);
                match own.kind {
                    _ if self.behind.contains_key(&(device, cable)) => Some((device, Some(cable))),
                    InterfaceKind::Loopback => {
                        by_mac.map(|device| (device, self.port_of(device, station)))
                    }
                    _ => None,
                }
            }
            (None, by_mac) => by_mac.map(|device| (device, self.port_of(device, station))),
        }
    }

    /// The only port of a device with this address, if it routes.
    fn port_of(&self, device: DeviceIx, station: Option<Mac>) -> Option<PortIx> {
        let port = self.facts[device].ports.by_mac(station?)?;
        Some(port).filter(|port| self.behind.contains_key(&(device, *port)))
    }

    /// The device behind each port that has just one.
    fn neighbours(&self) -> BTreeMap<DevicePortIx, FarEnd> {
        let known = self.behind.iter().filter_map(|(at, behind)| {
            let far = only_end(behind.iter().map(|(end, _)| *end))?;
            (far.0 != at.0).then_some((*at, far))
        });
        known.collect()
    }

    fn claims(&self) -> Vec<Claim> {
        let neighbours = self.neighbours();
        let mut claims = Vec::new();
        for (&at, &(device, port)) in &neighbours {
            let far = match port {
                Some(port) => Some((device, port)),
                None => only_far_port(&neighbours, at, device),
            };
            let far = far.filter(|far| {
                neighbours
                    .get(far)
                    .is_some_and(|(back, own)| *back == at.0 && own.is_none_or(|own| own == at.1))
            });
            // Each cable once, from its lower end.
            if let Some(far) = far.filter(|far| at < *far)
                && !self.is_learned(at)
                && !self.is_learned(far)
            {
                claims.extend(self.claim(at, far));
            }
        }
        claims
    }

    /// True if an asked bridge learned the address of a port, so that frames are bridged behind the port.
    fn is_learned(&self, (device, port): DevicePortIx) -> bool {
        let own = &self.facts[device].ports;
        let alone = own[port].mac.filter(|mac| own.by_mac(*mac) == Some(port));
        let mut others = self.facts.devices();
        alone.is_some_and(|mac| others.any(|(_, other)| other.learned.port_of(mac).is_some()))
    }

    /// The claim of a cable, unless only stations speak for it.
    fn claim(&self, a: DevicePortIx, b: DevicePortIx) -> Option<Claim> {
        let places = [a, b].map(|(device, port)| self.facts[device].place(port));
        let mut evidence = Vec::new();
        for (end, [at, to]) in [(a, [0, 1]), (b, [1, 0])] {
            // One of each kind suffices, and a subnet is of both.
            let mut kinds = HashSet::new();
            for (_, proof) in &self.behind[&end] {
                let is_stated = matches!(proof, NextRouterProof::Subnet(..)) && at == 1;
                if !is_stated && kinds.insert(discriminant(proof)) {
                    evidence.push(Evidence::NextRouter {
                        at: places[at].clone(),
                        to: places[to].clone(),
                        by: proof.clone(),
                    });
                }
            }
        }
        if evidence.iter().all(is_of_station) {
            return None;
        }
        let ends = [a, b].map(|(device, port)| ClaimEnd::at(device, port));
        Some(Claim::new(
            self.facts,
            ends,
            ClaimGrounds::NextRouters,
            evidence,
        ))
    }
}

/// What one device has behind its interfaces, by its own tables.
struct OwnNeighbours<'f> {
    view: &'f DeviceView,
    /// The addresses of stations, by ifIndex.
    stations: HashMap<(u32, IpAddr), Mac>,
    /// Its own addresses, by ifIndex.
    subnets: BTreeMap<u32, &'f [(IpAddr, u8)]>,
}

impl<'f> OwnNeighbours<'f> {
    fn new(facts: &'f Facts<'_>, device: DeviceIx) -> OwnNeighbours<'f> {
        let view = &facts.views[&facts[device].name];
        let rows = view.arp.iter().flatten();
        OwnNeighbours {
            view,
            stations: rows.map(|row| ((row.if_index, row.ip), row.mac)).collect(),
            subnets: self::rows(facts, device)
                .map(|row| (row.index, row.subnets.as_slice()))
                .collect(),
        }
    }

    /// Each address behind an interface, with the reason why it is there; next hops first.
    fn all(&self) -> Vec<((u32, IpAddr), NextRouterProof)> {
        let routes = self.view.routes.iter();
        let next_hops = routes.clone().flat_map(|routes| &routes.next_hops);
        let peers = routes.flat_map(|routes| &routes.peers);
        let next_hops = next_hops.map(|at| (*at, NextRouterProof::NextHop(at.1)));
        let peers = peers.filter_map(|(own, peer)| {
            Some((
                (self.interface_of(*own)?, *peer),
                NextRouterProof::Peer(*peer),
            ))
        });
        let routers = next_hops
            .chain(peers)
            .filter(|(at, _)| self.is_on_link(*at));
        let stations = self.stations.iter();
        let stations = stations.map(|(at, mac)| (*at, NextRouterProof::Station(at.1, *mac)));
        let mut all: Vec<_> = routers.chain(stations).collect();
        all.sort_unstable_by(|one, other| one.1.cmp(&other.1));
        all
    }

    /// The only interface with this address.
    fn interface_of(&self, own: IpAddr) -> Option<u32> {
        let all = self.subnets.iter();
        let mut with_own = all.filter(|(_, subnets)| subnets.iter().any(|(ip, _)| *ip == own));
        let (index, _) = with_own.next()?;
        with_own.next().is_none().then_some(*index)
    }

    /// True if no router is before this address.
    fn is_on_link(&self, (index, address): (u32, IpAddr)) -> bool {
        let mut own = self.subnets.get(&index).copied().into_iter().flatten();
        self.stations.contains_key(&(index, address))
            || own.any(|(own, length)| shares_network(*own, address, *length))
    }
}

/// The one end that all of these are; a port that one of them lacks is that of another.
fn only_end(mut ends: impl Iterator<Item = Option<FarEnd>>) -> Option<FarEnd> {
    let (device, mut port) = ends.next()??;
    for end in ends {
        let (other, further) = end?;
        let differs = port.is_some() && further.is_some() && port != further;
        if other != device || differs {
            return None;
        }
        port = port.or(further);
    }
    Some((device, port))
}

/// The only port of a device that faces a port of which only the device behind it is known, if that is the
/// only one between the two.
fn only_far_port(
    neighbours: &BTreeMap<DevicePortIx, FarEnd>,
    at: DevicePortIx,
    device: DeviceIx,
) -> Option<DevicePortIx> {
    let mut here = between(neighbours, at.0, device);
    let mut there = between(neighbours, device, at.0);
    let far = there.next()?;
    let is_only = here.next() == Some(at) && here.next().is_none() && there.next().is_none();
    is_only.then_some(far)
}

/// The ports of a device that have another behind them.
fn between(
    neighbours: &BTreeMap<DevicePortIx, FarEnd>,
    from: DeviceIx,
    to: DeviceIx,
) -> impl Iterator<Item = DevicePortIx> + '_ {
    let all = neighbours.iter();
    all.filter(move |(end, far)| end.0 == from && far.0 == to)
        .map(|(end, _)| *end)
}

fn is_of_station(evidence: &Evidence) -> bool {
    matches!(
        evidence,
        Evidence::NextRouter {
            by: NextRouterProof::Station(..),
            ..
        }
    )
}

fn rows<'f>(facts: &'f Facts<'_>, device: DeviceIx) -> impl Iterator<Item = &'f InterfaceRow> {
    let view = &facts.views[&facts[device].name];
    view.interfaces.iter().flatten()
}

/// The port of a device with the cable of an interface: its own, or that of the interface that carries it.
fn cable_port(facts: &Facts<'_>, device: DeviceIx, if_index: u32) -> Option<DevicePortIx> {
    let ports = &facts[device].ports;
    let port = ports.by_index(if_index)?;
    Some((device, ports[port].carrier.unwrap_or(port)))
}

/// True for a subnet with room for two.
fn is_narrow((address, length): &(IpAddr, u8)) -> bool {
    match address {
        // A /31 by RFC 3021, a /127 by RFC 6164.
        IpAddr::V4(_) => matches!(length, 30 | 31),
        IpAddr::V6(_) => matches!(length, 126 | 127),
    }
}

/// The MAC address in an address of one link, as RFC 4291, appendix A, forms it.
fn modified_eui(address: IpAddr) -> Option<Mac> {
    match address {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => match ip.octets()[8..] {
            [a, b, c, 0xff, 0xfe, d, e, f] => Some(Mac([a ^ 2, b, c, d, e, f])),
            _ => None,
        },
        _ => None,
    }
}
