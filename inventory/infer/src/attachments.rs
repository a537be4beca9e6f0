//! Where each host hangs: by LLDP, heard by its switch or by itself, else by the edge port its MAC
//! address is learned on and by what else it hears. A host has one seat; where the evidence fits
//! several, all are shown as ambiguous and an alarm says so.
use super::device::{DeviceTables, Port, show};
use super::host_statements::StatementsByHost;
use super::hosts;
use super::identity::{ListedNode, NeighbourIdentity, NodeDirectory};
use super::islands::{DeviceIslands, IslandExit};
use super::learned_hosts::LearnedHosts;
use super::trunks::{TrunkLink, slower};
use super::{InferenceScope, InferredNetwork};
use inventory::alarm::{AlarmKind, HostElsewhere, HostNotFound, HostPlace, NamedNode};
use inventory::evidence::{DevicePort, Evidence, NeighbourProtocol};
use inventory::natural_order::natural;
use inventory::observation::NeighbourId;
use inventory::topology::{AggregateMember, Link, LinkGrade, LinkState, NodeKind};
use inventory::{BitsPerSec, Mac};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A place where a host may hang.
pub(super) struct HostAttachment<'d, 'a> {
    pub(super) device: &'d DeviceTables<'a>,
    pub(super) port: Port,
    pub(super) host_port: String,
    /// The rate of the host's end, where the host says it.
    pub(super) rate: Option<BitsPerSec>,
    pub(super) grade: LinkGrade,
    pub(super) evidence: Vec<Evidence>,
    pub(super) trunk: bool,
    /// Whether who says so is silent by now.
    pub(super) old: bool,
    /// Whether no switch says so, only the host.
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

    /// The same place by the host's own word: it knows best what its card is called.
    pub(super) fn join(&mut self, word: HostAttachment<'_, '_>) {
        (self.host_port, self.rate) = (word.host_port, word.rate.or(self.rate));
        self.evidence.extend(word.evidence);
        self.old &= word.old;
    }
}

/// Ports by the MAC addresses learned on them.
pub(super) type PortsByMac<'d, 'a> = HashMap<Mac, Vec<(&'d DeviceTables<'a>, Port)>>;

/// Finds every host of the inventory its seat and adds node, link and alarms.
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
    let learned = learned(devices, directory, scope);
    let mut announced = announced(devices, directory, &is_trunk);
    let numbers: HashMap<&str, usize> = devices
        .iter()
        .enumerate()
        .map(|(i, d)| (d.name, i))
        .collect();
    let named = named(&numbers, &announced);
    let edges = LearnedHosts::new(scope, devices, directory, islands, &named, unplaced);
    let occupants = occupants(devices, directory);
    let mut seated: BTreeMap<(String, String), Vec<Link>> = BTreeMap::new();
    for name in scope.hosts.keys() {
        let macs: BTreeSet<Mac> = directory.macs_of_host(name).collect();
        found.node(name, NodeKind::Host).chassis = macs.iter().next().copied();
        let word = words.get(name.as_str());
        let claims = word
            .map(|w| hosts::claims(name, w, devices, directory, &is_trunk))
            .unwrap_or_default();
        let taken = |claim: &HostAttachment<'_, '_>| occupants.of(claim, name);
        let mut seats = hosts::confirm(
            name,
            announced.remove(name.as_str()).unwrap_or_default(),
            claims.certain,
            taken,
            found,
        );
        let mut behind = Vec::new();
        if seats.iter().all(|s| s.own) {
            let ends = edges.ends(&macs);
            let rows = at(devices, &macs, &ends);
            if seats.is_empty() && claims.inferred.is_empty() {
                behind = edges.links_beyond(name, &ends, found);
            }
            seats = match (seats.is_empty(), word) {
                (false, Some(word)) => hosts::compare_with_learned(seats, rows, word, &learned),
                _ => hosts::add_weak_evidence(rows, claims.inferred),
            };
        } else if seats.iter().all(|s| s.trunk) {
            // Heard through a trunk is heard through somebody who passes LLDP on: rows tell where
            // it comes from.
            let rows = at(devices, &macs, &edges.ends(&macs));
            seats = if rows.len() == 1 { rows } else { seats };
        } else if word.is_none() {
            let other = at(devices, &macs, &edges.denied_exits(&macs));
            seats.extend(
                other
                    .into_iter()
                    .filter(|o| o.device.lldp().is_none_or(|l| l.neighbours.is_empty()))
                    .map(|o| HostAttachment {
                        grade: LinkGrade::Ambiguous,
                        ..o
                    }),
            );
        }
        for seat in seats
            .iter_mut()
            .filter(|s| s.grade == LinkGrade::Certain && !s.own)
        {
            let port = seat
                .device
                .aggregate(&seat.port)
                .unwrap_or_else(|| seat.port.clone());
            if port
                .index
                .is_some_and(|index| edges.leads_elsewhere(numbers[seat.device.name], index))
            {
                seat.grade = LinkGrade::Ambiguous;
                seat.evidence.push(Evidence::OthersLearned(DevicePort::new(
                    seat.device.name,
                    port.name,
                )));
            }
        }
        let seats = narrow(hosts::merge_bonds(seats, word), &macs, &learned);
        if behind.is_empty() && seats.len() != 1 && macs.iter().any(|m| learned.contains_key(m)) {
            behind = edges.candidate_links(name);
        }
        match &seats[..] {
            several if scope.states(name) => found
                .links
                .extend(several.iter().map(|s| link(name, s, s.grade))),
            [] if hosts::place_on_silent_switch(name, &claims.mute, found) => {}
            [] if !behind.is_empty() => hidden(name, behind, found),
            [] => nowhere(name, &macs, &learned, found),
            // An aggregate without a name is no other one's port.
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

/// Who said by LLDP where it hangs.
fn announced<'d, 'a>(
    devices: &'d [DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
    is_trunk: &dyn Fn(&DeviceTables<'_>, &Port) -> bool,
) -> HashMap<&'a str, Vec<HostAttachment<'d, 'a>>> {
    let mut seats: HashMap<&str, Vec<HostAttachment<'_, '_>>> = HashMap::new();
    for device in devices {
        for row in device
            .lldp()
            .into_iter()
            .flat_map(|l| &l.neighbours)
            .filter(|r| r.local_port != 0)
        {
            let NeighbourIdentity::Known {
                node: ListedNode::Host(host),
                by,
            } = directory.identify(row)
            else {
                continue;
            };
            let port = device.local_port(row.local_port);
            let seats = seats.entry(host).or_default();
            if device.is_down(&port)
                || seats
                    .iter()
                    .any(|s| s.device.name == device.name && s.port == port)
            {
                continue;
            }
            let host_port = match &row.port {
                Some(NeighbourId::Text(text)) => text.clone(),
                Some(id) if row.port_descr.is_empty() => show(id),
                _ => row.port_descr.clone(),
            };
            let evidence = vec![Evidence::Names {
                protocol: NeighbourProtocol::Lldp,
                at: DevicePort::new(device.name, &port.name),
                neighbour: host.to_owned(),
                by,
                stale: device.stale(),
                down: false,
            }];
            let (trunk, old) = (is_trunk(device, &port), device.stale());
            let (grade, rate, members) = (LinkGrade::Certain, None, vec![]);
            seats.push(HostAttachment {
                device,
                port,
                host_port,
                rate,
                grade,
                evidence,
                trunk,
                old,
                own: false,
                members,
            });
        }
    }
    seats
}

/// Whom switches that answer hear on their ports by LLDP.
struct NeighboursByPort<'a>(HashMap<(&'a str, Port), BTreeSet<ListedNode<'a>>>);

fn occupants<'a>(
    devices: &[DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
) -> NeighboursByPort<'a> {
    let mut occupants: HashMap<_, BTreeSet<ListedNode<'_>>> = HashMap::new();
    for device in devices.iter().filter(|d| !d.stale()) {
        for row in device.lldp().into_iter().flat_map(|l| &l.neighbours) {
            if let NeighbourIdentity::Known { node, .. } = directory.identify(row) {
                occupants
                    .entry((device.name, device.local_port(row.local_port)))
                    .or_default()
                    .insert(node);
            }
        }
    }
    NeighboursByPort(occupants)
}

impl NeighboursByPort<'_> {
    /// Who else is where a host says it is.
    fn of(&self, claim: &HostAttachment<'_, '_>, host: &str) -> Option<HostElsewhere> {
        let others = self
            .0
            .get(&(claim.device.name, claim.port.clone()))?
            .iter()
            .filter(|o| **o != ListedNode::Host(host));
        let others: Vec<NamedNode> = others.map(|o| NamedNode::from(*o)).collect();
        (!others.is_empty()).then_some(HostElsewhere::Taken(others))
    }
}

/// Where the hosts' MAC addresses are learned.
fn learned<'d, 'a>(
    devices: &'d [DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
    scope: &InferenceScope<'a>,
) -> PortsByMac<'d, 'a> {
    let wanted: BTreeSet<Mac> = scope
        .hosts
        .keys()
        .flat_map(|h| directory.macs_of_host(h))
        .collect();
    let mut learned: PortsByMac<'_, '_> = HashMap::new();
    for device in devices {
        for entry in device.learned().iter().filter(|e| wanted.contains(&e.mac)) {
            let Some(port) = device.base_port(entry.port).filter(|p| !device.is_down(p)) else {
                continue;
            };
            let at = learned.entry(entry.mac).or_default();
            if !at.iter().any(|(d, p)| d.name == device.name && *p == port) {
                at.push((device, port));
            }
        }
    }
    learned
}

/// Ports with known cables to other switches, and their aggregates; and those on a segment that
/// several share, with the bridge that stands for it.
type TrunkPorts<'a> = (
    HashSet<(&'a str, String)>,
    HashMap<(&'a str, String), String>,
);

fn trunk_ports<'a>(
    devices: &[DeviceTables<'a>],
    trunks: &[TrunkLink],
    found: &InferredNetwork,
) -> TrunkPorts<'a> {
    let numbers: HashMap<&str, &DeviceTables<'a>> = devices.iter().map(|d| (d.name, d)).collect();
    let (mut inner, mut shared) = (HashSet::new(), HashMap::new());
    for trunk in trunks {
        for (near, far) in [
            (&trunk.link.a, &trunk.link.b),
            (&trunk.link.b, &trunk.link.a),
        ] {
            let Some((device, port)) = numbers
                .get(near.as_str())
                .and_then(|d| Some((*d, trunk.end(near)?)))
            else {
                continue;
            };
            let bridge = found
                .nodes
                .get(far)
                .is_some_and(|n| n.kind == NodeKind::Unmanaged);
            let members = port
                .index
                .into_iter()
                .flat_map(|index| device.names_of(index));
            for name in [
                Some(port.name.clone()),
                device.aggregate(port).map(|p| p.name),
            ]
            .into_iter()
            .flatten()
            .chain(members)
            {
                match bridge {
                    true => _ = shared.insert((device.name, name), far.clone()),
                    false => _ = inner.insert((device.name, name)),
                }
            }
        }
    }
    (inner, shared)
}

/// The device that hears each host, where one does.
fn named<'a>(
    numbers: &HashMap<&str, usize>,
    announced: &HashMap<&'a str, Vec<HostAttachment<'_, 'a>>>,
) -> HashMap<&'a str, usize> {
    let heard = |seats: &[HostAttachment<'_, '_>]| {
        seats
            .iter()
            .find(|s| !s.trunk)
            .map(|s| numbers[s.device.name])
    };
    announced
        .iter()
        .filter_map(|(host, seats)| Some((*host, heard(seats)?)))
        .collect()
}

/// The edge port rule: a station hangs on the port where the way of its frames began.
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

/// Hosts on a segment that several share hang on the bridge that stands for it.
fn on_segment(bridge: &str, links: Vec<Link>) -> impl Iterator<Item = Link> {
    links.into_iter().map(move |l| Link {
        a: bridge.to_owned(),
        a_port: String::new(),
        grade: LinkGrade::Inferred.max(l.grade),
        ..l
    })
}

/// A host behind those who do not answer, with an alarm where it cannot be told behind whom.
fn hidden(host: &str, behind: Vec<Link>, found: &mut InferredNetwork) {
    if behind.iter().any(|l| l.grade == LinkGrade::Ambiguous) {
        found.alarm(
            host,
            AlarmKind::HostHidden(behind.iter().map(|l| l.a.clone()).collect()),
        );
    }
    found.links.extend(behind);
}

/// Leaves the seats that the better evidence speaks for: switches that answer before stale ones,
/// edge ports before trunks, and of a host that just moved the port where its frames come in.
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

/// Keeps what fits, unless nothing does.
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

/// Several hosts behind one port: a bridge that says nothing of itself stands between.
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
