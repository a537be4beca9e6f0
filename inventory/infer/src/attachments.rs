//! The place of each host. LLDP tells it, heard by the host's switch or by the host itself.
//! Otherwise the edge port on which its MAC address is learned tells it, with the other frames that
//! the host hears. A host has one seat; if the evidence fits several, all are shown as ambiguous
//! and raise an alarm.
mod port_tables;

use super::device::{DeviceTables, Port};
use super::host_statements::{HostStatement, StatementsByHost};
use super::hosts::{self, HostClaims, SilentSwitchPort};
use super::identity::NodeDirectory;
use super::islands::{DeviceIslands, IslandExit};
use super::learned_hosts::LearnedHosts;
use super::trunks::{TrunkLink, slower};
use super::{InferenceScope, InferredNetwork};
use inventory::alarm::{AlarmKind, HostNotFound, HostPlace};
use inventory::evidence::{DevicePort, Evidence};
use inventory::natural_order::natural;
use inventory::topology::{AggregateMember, Link, LinkGrade, LinkState, NodeKind};
use inventory::{BitsPerSec, Mac};
pub(super) use port_tables::PortsByMac;
use port_tables::{
    BridgesByPort, NeighboursByPort, announced, learned, named, occupants, trunk_ports,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A place to which a host may be cabled.
pub(super) struct HostAttachment<'d, 'a> {
    pub(super) device: &'d DeviceTables<'a>,
    pub(super) port: Port,
    pub(super) host_port: String,
    /// The rate of the host's end, if the host states it.
    pub(super) rate: Option<BitsPerSec>,
    pub(super) grade: LinkGrade,
    pub(super) evidence: Vec<Evidence>,
    pub(super) trunk: bool,
    /// True if the source of the statement is silent by now.
    pub(super) old: bool,
    /// True if only the host states the place, and no switch.
    pub(super) own: bool,
    /// The cables of an aggregate.
    pub(super) members: Vec<AggregateMember>,
}

impl HostAttachment<'_, '_> {
    pub(super) fn is_at(&self, device: &DeviceTables<'_>, port: &Port) -> bool {
        self.device.name == device.name && self.port == *port
    }

    pub(super) fn place(&self) -> DevicePort {
        DevicePort::new(self.device.name, &self.port.name)
    }

    /// The rate of the slower end.
    pub(super) fn slower(&self) -> Option<BitsPerSec> {
        [self.device.rate(&self.port), self.rate]
            .into_iter()
            .flatten()
            .min()
    }

    /// Adds the host's own statement about the same place. The host knows the name of its card
    /// best.
    pub(super) fn join(&mut self, word: HostAttachment<'_, '_>) {
        (self.host_port, self.rate) = (word.host_port, word.rate.or(self.rate));
        self.evidence.extend(word.evidence);
        self.old &= word.old;
    }
}

/// The seats found for one host.
struct HostSeats<'d, 'a> {
    macs: BTreeSet<Mac>,
    seats: Vec<HostAttachment<'d, 'a>>,
    /// Links to devices that do not answer and that the host may be behind.
    behind: Vec<Link>,
    /// Switches that never answered and whose frames the host hears.
    mute: Vec<SilentSwitchPort>,
}

/// Links of hosts with one seat each, by switch and port.
type LinksByPort = BTreeMap<(String, String), Vec<Link>>;

/// All facts about the places of hosts.
struct SeatSearch<'i, 'd, 'a> {
    scope: &'i InferenceScope<'a>,
    devices: &'d [DeviceTables<'a>],
    directory: &'i NodeDirectory<'a>,
    numbers: HashMap<&'a str, usize>,
    learned: PortsByMac<'d, 'a>,
    occupants: NeighboursByPort<'a>,
    edges: LearnedHosts<'i>,
}

/// Finds the seat of every host of the inventory and adds node, link and alarms.
pub(super) fn attach_hosts<'a>(
    scope: &InferenceScope<'a>,
    devices: &[DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
    trunks: &[TrunkLink],
    (islands, unplaced): (&DeviceIslands<'_>, &[&str]),
    words: &StatementsByHost<'a>,
    found: &mut InferredNetwork,
) {
    let (inner, shared) = trunk_ports(devices, trunks, found);
    let is_trunk =
        |device: &DeviceTables<'_>, port: &Port| inner.contains(&(device.name, port.name.clone()));
    let mut announced = announced(devices, directory, &is_trunk);
    let numbers = devices
        .iter()
        .enumerate()
        .map(|(i, d)| (d.name, i))
        .collect();
    let named = named(&numbers, &announced);
    let search = SeatSearch {
        scope,
        devices,
        directory,
        learned: learned(devices, directory, scope),
        occupants: occupants(devices, directory),
        edges: LearnedHosts::new(scope, devices, directory, islands, &named, unplaced),
        numbers,
    };
    let mut seated = LinksByPort::new();
    for name in scope.hosts.keys() {
        let word = words.get(name.as_str());
        let claims = word
            .map(|w| hosts::claims(name, w, devices, directory, &is_trunk))
            .unwrap_or_default();
        let announced = announced.remove(name.as_str()).unwrap_or_default();
        let seats = search.seats(name, word, announced, claims, found);
        found.node(name, NodeKind::Host).chassis = seats.macs.first().copied();
        search.settle(name, seats, &mut seated, found);
    }
    add_seated(seated, &shared, found);
}

impl<'d, 'a> SeatSearch<'_, 'd, 'a> {
    /// The seats of a host that the evidence allows.
    fn seats(
        &self,
        name: &str,
        word: Option<&HostStatement<'_>>,
        announced: Vec<HostAttachment<'d, 'a>>,
        claims: HostClaims<'d, 'a>,
        found: &mut InferredNetwork,
    ) -> HostSeats<'d, 'a> {
        let (devices, edges) = (self.devices, &self.edges);
        let macs: BTreeSet<Mac> = self.directory.macs_of_host(name).collect();
        let taken = |claim: &HostAttachment<'_, '_>| self.occupants.of(claim, name);
        let mut seats = hosts::confirm(name, announced, claims.certain, taken, found);
        let mut behind = Vec::new();
        if seats.iter().all(|s| s.own) {
            let ends = edges.ends(&macs);
            let rows = at(devices, &macs, &ends);
            if seats.is_empty() && claims.inferred.is_empty() {
                behind = edges.links_beyond(name, &ends, found);
            }
            seats = match (seats.is_empty(), word) {
                (false, Some(word)) => {
                    hosts::compare_with_learned(seats, rows, word, &self.learned)
                }
                _ => hosts::add_weak_evidence(rows, claims.inferred),
            };
        } else if seats.iter().all(|s| s.trunk) {
            // A host that is heard through a trunk is behind a device that passes LLDP on. The
            // learned rows tell where its frames come from.
            let rows = at(devices, &macs, &edges.ends(&macs));
            seats = if rows.len() == 1 { rows } else { seats };
        } else if word.is_none() {
            seats.extend(self.denied(&macs));
        }
        self.doubt(&mut seats);
        let seats = narrow(hosts::merge_bonds(seats, word), &macs, &self.learned);
        let is_learned = macs.iter().any(|m| self.learned.contains_key(m));
        if behind.is_empty() && seats.len() != 1 && is_learned {
            behind = edges.candidate_links(name);
        }
        HostSeats {
            macs,
            seats,
            behind,
            mute: claims.mute,
        }
    }

    /// Further possible seats of a host that switches hear: seats on devices that pass LLDP on.
    fn denied(
        &self,
        macs: &BTreeSet<Mac>,
    ) -> impl Iterator<Item = HostAttachment<'d, 'a>> + use<'d, 'a> {
        at(self.devices, macs, &self.edges.denied_exits(macs))
            .into_iter()
            .filter(|o| o.device.lldp().is_none_or(|l| l.neighbours.is_empty()))
            .map(|o| HostAttachment {
                grade: LinkGrade::Ambiguous,
                ..o
            })
    }

    /// Marks a seat as ambiguous if rows show that its port leads on to other switches.
    fn doubt(&self, seats: &mut [HostAttachment<'d, 'a>]) {
        for seat in seats
            .iter_mut()
            .filter(|s| s.grade == LinkGrade::Certain && !s.own)
        {
            let device = seat.device;
            let port = device
                .aggregate(&seat.port)
                .unwrap_or_else(|| seat.port.clone());
            let number = self.numbers[device.name];
            if port
                .index
                .is_some_and(|index| self.edges.leads_elsewhere(number, index))
            {
                seat.grade = LinkGrade::Ambiguous;
                let at = DevicePort::new(device.name, port.name);
                seat.evidence.push(Evidence::OthersLearned(at));
            }
        }
    }

    /// Links a host to its seat, or raises the alarm that it has none or several.
    fn settle(
        &self,
        name: &str,
        host: HostSeats<'d, 'a>,
        seated: &mut LinksByPort,
        found: &mut InferredNetwork,
    ) {
        let HostSeats {
            macs,
            seats,
            behind,
            mute,
        } = host;
        match &seats[..] {
            several if self.scope.states(name) => found
                .links
                .extend(several.iter().map(|s| link(name, s, s.grade))),
            [] if hosts::place_on_silent_switch(name, &mute, found) => {}
            [] if !behind.is_empty() => hidden(name, behind, found),
            [] => nowhere(name, &macs, &self.learned, found),
            // An aggregate without a name is never the port of another host, too.
            [seat] if !seat.trunk && seat.port.name.is_empty() => {
                found.links.push(link(name, seat, seat.grade))
            }
            [seat] if !seat.trunk && behind.is_empty() => {
                seated
                    .entry((seat.device.name.to_owned(), seat.port.name.clone()))
                    .or_default()
                    .push(link(name, seat, seat.grade));
            }
            several => contradiction(name, several, behind, found),
        }
    }
}

/// Adds the links of hosts with one seat. If another host may have the port, too, they are
/// inferred. Several hosts on one port get a bridge between.
fn add_seated(seated: LinksByPort, shared: &BridgesByPort<'_>, found: &mut InferredNetwork) {
    let disputed: HashSet<(String, String)> = found
        .links
        .iter()
        .filter(|l| l.grade == LinkGrade::Ambiguous)
        .map(|l| (l.a.clone(), l.a_port.clone()))
        .collect();
    for ((switch, port), mut links) in seated {
        if disputed.contains(&(switch.clone(), port.clone())) {
            for link in &mut links {
                link.grade = link.grade.max(LinkGrade::Inferred);
                link.evidence
                    .push(Evidence::OthersPossible(DevicePort::new(&switch, &port)));
            }
        }
        match (links.len(), shared.get(&(switch.as_str(), port.clone()))) {
            (_, Some(bridge)) => found.links.extend(on_segment(bridge, links)),
            (1, None) => found.links.extend(links),
            _ => unmanaged(&switch, &port, links, found),
        }
    }
}

/// The edge port rule: a station is cabled to the port at which the path of its frames began.
fn at<'d, 'a>(
    devices: &'d [DeviceTables<'a>],
    macs: &BTreeSet<Mac>,
    ends: &BTreeSet<IslandExit>,
) -> Vec<HostAttachment<'d, 'a>> {
    let seat = |exit: &IslandExit| {
        let IslandExit::Port(number, index) = exit else {
            return None;
        };
        let device = &devices[*number];
        let port = device.base_port_of(*index)?;
        let (at, macs) = (
            DevicePort::new(device.name, &port.name),
            macs.iter().copied().collect(),
        );
        let evidence = vec![Evidence::LearnedAtEdge {
            at,
            macs,
            stale: device.stale(),
        }];
        let (host_port, grade, old) = (String::new(), LinkGrade::Inferred, device.stale());
        Some(HostAttachment {
            device,
            port,
            host_port,
            rate: None,
            grade,
            evidence,
            trunk: false,
            old,
            own: false,
            members: vec![],
        })
    };
    ends.iter().filter_map(seat).collect()
}

/// Cables the hosts of a shared segment to the bridge that stands for it.
fn on_segment(bridge: &str, links: Vec<Link>) -> impl Iterator<Item = Link> {
    links.into_iter().map(move |l| Link {
        a: bridge.to_owned(),
        a_port: String::new(),
        grade: LinkGrade::Inferred.max(l.grade),
        ..l
    })
}

/// A host behind devices that do not answer. An alarm is raised if it may be behind several of
/// them.
fn hidden(host: &str, behind: Vec<Link>, found: &mut InferredNetwork) {
    if behind.iter().any(|l| l.grade == LinkGrade::Ambiguous) {
        found.alarm(
            host,
            AlarmKind::HostHidden(behind.iter().map(|l| l.a.clone()).collect()),
        );
    }
    found.links.extend(behind);
}

/// Keeps the seats with the better evidence: switches that answer before stale ones, edge ports
/// before trunks. For a host that just moved, it keeps the port at which its frames come in.
fn narrow<'d, 'a>(
    mut seats: Vec<HostAttachment<'d, 'a>>,
    macs: &BTreeSet<Mac>,
    learned: &PortsByMac<'d, 'a>,
) -> Vec<HostAttachment<'d, 'a>> {
    prefer(&mut seats, |s| !s.old);
    prefer(&mut seats, |s| !s.trunk);
    let heard = |s: &HostAttachment<'_, '_>| {
        macs.iter()
            .flat_map(|m| learned.get(m).into_iter().flatten())
            .any(|(d, p)| s.is_at(d, p))
    };
    let disputed = seats.iter().any(|s| s.grade == LinkGrade::Ambiguous);
    if !disputed && seats.iter().filter(|s| heard(s)).count() == 1 {
        prefer(&mut seats, heard);
    }
    seats
}

/// Keeps the seats that fit, or all if none fits.
fn prefer<'d, 'a>(
    seats: &mut Vec<HostAttachment<'d, 'a>>,
    fits: impl Fn(&HostAttachment<'d, 'a>) -> bool,
) {
    if seats.iter().any(&fits) {
        seats.retain(fits);
    }
}

fn link(host: &str, seat: &HostAttachment<'_, '_>, grade: LinkGrade) -> Link {
    let mut evidence = seat.evidence.clone();
    Link {
        a: seat.device.name.to_owned(),
        a_port: seat.port.name.clone(),
        b: host.to_owned(),
        b_port: seat.host_port.clone(),
        members: seat.members.clone(),
        rate_bps: slower([seat.device.rate(&seat.port), seat.rate], &mut evidence),
        state: LinkState::Unknown,
        grade,
        evidence,
    }
}

fn nowhere(
    host: &str,
    macs: &BTreeSet<Mac>,
    learned: &PortsByMac<'_, '_>,
    found: &mut InferredNetwork,
) {
    let learned = macs
        .iter()
        .flat_map(|m| learned.get(m).into_iter().flatten());
    let far: BTreeSet<DevicePort> = learned
        .map(|(d, p)| DevicePort::new(d.name, &p.name))
        .collect();
    let why = match (macs.is_empty(), far.is_empty()) {
        (true, _) => HostNotFound::NoName,
        (false, true) => HostNotFound::Unlearned,
        (false, false) => HostNotFound::TrunksOnly(far.into_iter().collect()),
    };
    found.alarm(host, AlarmKind::HostUnfound(why));
}

fn contradiction(
    host: &str,
    seats: &[HostAttachment<'_, '_>],
    behind: Vec<Link>,
    found: &mut InferredNetwork,
) {
    let mut places: Vec<HostPlace> = seats.iter().map(|s| HostPlace::At(s.place())).collect();
    places.extend(behind.iter().map(|l| HostPlace::Behind(l.a.clone())));
    places.sort_by_cached_key(|p| natural(&p.to_string()));
    found.alarm(host, AlarmKind::HostAmbiguous(places));
    found
        .links
        .extend(seats.iter().map(|s| link(host, s, LinkGrade::Ambiguous)));
    found.links.extend(behind.into_iter().map(|l| Link {
        grade: LinkGrade::Ambiguous,
        ..l
    }));
}

/// Several hosts behind one port: an unmanaged bridge is between.
fn unmanaged(switch: &str, port: &str, links: Vec<Link>, found: &mut InferredNetwork) {
    let port_text: String = port
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    let name = format!("{switch}-{port_text}");
    let hosts = links.iter().map(|l| l.b.clone()).collect();
    found.alarm(
        &name,
        AlarmKind::HostsOnPort(DevicePort::new(switch, port), hosts),
    );
    found.node(&name, NodeKind::Unmanaged);
    let rate = links[0].rate_bps;
    let up = Link {
        a: switch.to_owned(),
        a_port: port.to_owned(),
        b: name.clone(),
        b_port: String::new(),
        members: vec![],
        rate_bps: rate,
        state: LinkState::Unknown,
        grade: LinkGrade::Inferred,
        evidence: vec![Evidence::HostsOnPort(links.len())],
    };
    found.links.push(up);
    found.links.extend(links.into_iter().map(|l| Link {
        a: name.clone(),
        a_port: String::new(),
        grade: LinkGrade::Inferred,
        ..l
    }));
}
