//! A port holds one cable. If several neighbours are heard on it, a device in between passes LLDP
//! on, against IEEE 802.1AB-2005, 8.1: the ports share a segment.
use super::device::{DeviceTables, Port};
use super::identity::NodeDirectory;
use super::islands::{LearnedStations, StationsByPort};
use super::trunks::{TrunkLink, cable};
use super::{InferredNetwork, UnlistedPolicy};
use inventory::Mac;
use inventory::alarm::AlarmKind;
use inventory::evidence::{DevicePort, Evidence};
use inventory::observation::StpState;
use inventory::topology::{Link, LinkGrade, NodeKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The hosts heard on each port, by switch and port name.
pub(super) type HostsByPort = BTreeMap<PortKey, BTreeSet<String>>;

/// A switch and its port's name.
type PortKey = (String, String);

/// A port's statement about a cable that cannot exist, and the reason.
pub(super) type DeniedCables = Vec<(PortKey, AlarmKind)>;

/// Ends that hear each other although a device is in between. Weaker evidence may identify that
/// device.
pub(super) struct SuspectSegment {
    /// Nodes, and their known ports.
    ends: Vec<(String, Port)>,
    evidence: Vec<Evidence>,
}

impl SuspectSegment {
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.ends.iter().map(|(name, _)| name)
    }
}

/// Of several statements about one port, the statement that both ends make is kept, if the other
/// ones could have been confirmed. If all nodes on a segment hear each other, a device joins them.
/// Otherwise they cannot be told apart, and all are ambiguous.
pub(super) fn resolve_shared_ports(
    devices: &[DeviceTables<'_>],
    mut trunks: Vec<TrunkLink>,
    hosts: &HostsByPort,
    strangers: UnlistedPolicy,
    (suspects, denied): (&mut Vec<SuspectSegment>, &mut DeniedCables),
    found: &mut InferredNetwork,
) -> Vec<TrunkLink> {
    let mut seen = BTreeSet::new();
    trunks.retain(|t| {
        seen.insert((
            t.link.a.clone(),
            t.link.a_port.clone(),
            t.link.b.clone(),
            t.link.b_port.clone(),
        ))
    });
    let hears: BTreeSet<&str> = devices
        .iter()
        .filter(|d| {
            d.lldp()
                .is_some_and(|l| !l.neighbours.is_empty() || !l.cdp.neighbours.is_empty())
        })
        .map(|d| d.name)
        .collect();
    let trunks = without_denied(trunks, &hears, denied);
    let at = spots(&trunks);
    let mut segment: Vec<Option<usize>> = vec![None; trunks.len()];
    let mut segments: Vec<Vec<usize>> = Vec::new();
    for first in 0..trunks.len() {
        if segment[first].is_some() {
            continue;
        }
        let (mut all, mut next) = (vec![], vec![first]);
        while let Some(trunk) = next.pop() {
            if segment[trunk].replace(segments.len()).is_none() {
                all.push(trunk);
                next.extend(
                    spots_of(&trunks[trunk])
                        .filter_map(|s| at.get(&s))
                        .flatten(),
                );
            }
        }
        all.sort_unstable();
        segments.push(all);
    }
    let mut trunks: Vec<Option<TrunkLink>> = trunks.into_iter().map(Some).collect();
    let mut kept = Vec::new();
    for all in segments {
        let all: Vec<TrunkLink> = all.into_iter().filter_map(|i| trunks[i].take()).collect();
        kept.extend(
            SharedSegment::new(all, hosts, &hears).settle(devices, strangers, suspects, found),
        );
    }
    kept
}

/// The ends of a cable whose port is known for certain.
fn spots_of(trunk: &TrunkLink) -> impl Iterator<Item = PortKey> {
    trunk
        .ends
        .iter()
        .filter(|(_, port)| names_one(port))
        .map(|(switch, port)| (switch.clone(), port.name.clone()))
}

fn spots(trunks: &[TrunkLink]) -> BTreeMap<PortKey, Vec<usize>> {
    let mut at: BTreeMap<PortKey, Vec<usize>> = BTreeMap::new();
    for (i, trunk) in trunks.iter().enumerate() {
        spots_of(trunk).for_each(|spot| at.entry(spot).or_default().push(i));
    }
    at
}

/// True if the port's name belongs to one port only. Some devices send no name, or zeros for all
/// ports.
fn names_one(port: &Port) -> bool {
    !port.name.is_empty() && port.name.parse().map_or(true, Mac::is_station)
}

/// Drops a statement of one end that the other end could confirm but does not, if another cable on
/// the port is confirmed.
fn without_denied(
    mut trunks: Vec<TrunkLink>,
    hears: &BTreeSet<&str>,
    denied: &mut DeniedCables,
) -> Vec<TrunkLink> {
    let mut dropped = BTreeSet::new();
    for ((switch, port), all) in spots(&trunks) {
        let confirmed: Vec<usize> = all
            .iter()
            .copied()
            .filter(|i| trunks[*i].confirmed())
            .collect();
        let could = |t: &TrunkLink| {
            [&t.link.a, &t.link.b]
                .into_iter()
                .all(|n| hears.contains(n.as_str()))
        };
        let refuted = |i: &usize| {
            !confirmed.contains(i)
                && (could(&trunks[*i]) || trunks[*i].link.grade == LinkGrade::Certain)
        };
        // A single old row is an outdated row; several rows belong to a segment.
        let ([one], 2, Some(other)) =
            (&confirmed[..], all.len(), all.iter().copied().find(refuted))
        else {
            continue;
        };
        // If only one end states a cable, that end comes first.
        let [(who, at), (named, _)] = &trunks[other].ends;
        let naming = DevicePort::new(who, &at.name);
        let evidence = if *who == switch {
            Evidence::AlsoNames {
                at: naming,
                named: named.clone(),
            }
        } else {
            let cable = trunks[*one]
                .ends
                .each_ref()
                .map(|(device, port)| DevicePort::new(device, &port.name));
            let named = DevicePort::new(&switch, &port);
            let kind = AlarmKind::NamedByOther {
                at: naming.clone(),
                named: named.clone(),
                cable,
            };
            denied.push(((who.clone(), at.name.clone()), kind));
            Evidence::NamedUnconfirmed { at: naming, named }
        };
        trunks[*one].link.evidence.push(evidence);
        dropped.insert(other);
    }
    let mut number = 0..;
    trunks.retain(|_| !number.next().is_some_and(|i: usize| dropped.contains(&i)));
    trunks
}

/// Raises alarms about dropped statements at ports that are left without any neighbour. Silent
/// devices are left out, because their rows may be old.
pub(super) fn report_isolated_ports(
    devices: &[DeviceTables<'_>],
    denied: DeniedCables,
    trunks: &[TrunkLink],
    (hosts, suspects): (&HostsByPort, &[SuspectSegment]),
    found: &mut InferredNetwork,
) {
    let mut taken: BTreeSet<PortKey> = trunks
        .iter()
        .flat_map(spots_of)
        .chain(hosts.keys().cloned())
        .collect();
    taken.extend(
        suspects
            .iter()
            .flat_map(|s| &s.ends)
            .map(|(name, port)| (name.clone(), port.name.clone())),
    );
    for (spot, kind) in denied {
        let silent = devices.iter().any(|d| d.name == spot.0 && d.stale());
        if !silent && !taken.contains(&spot) {
            found.alarm(&spot.0, kind);
        }
    }
}

/// Cables that meet at ports.
struct SharedSegment<'h> {
    trunks: Vec<TrunkLink>,
    /// Each node on the segment, and the ports that are said to be on it.
    points: BTreeMap<String, BTreeSet<Port>>,
    /// The ports that hear others.
    hearing: Vec<PortKey>,
    hosts: BTreeMap<&'h PortKey, &'h BTreeSet<String>>,
}

impl<'h> SharedSegment<'h> {
    fn new(
        trunks: Vec<TrunkLink>,
        hosts: &'h HostsByPort,
        hears: &BTreeSet<&str>,
    ) -> SharedSegment<'h> {
        let mut points: BTreeMap<String, BTreeSet<Port>> = BTreeMap::new();
        for (name, port) in trunks.iter().flat_map(|t| &t.ends) {
            points.entry(name.clone()).or_default().insert(port.clone());
        }
        let spots: BTreeSet<PortKey> = trunks.iter().flat_map(spots_of).collect();
        let hearing = spots
            .iter()
            .filter(|(name, _)| hears.contains(name.as_str()))
            .cloned()
            .collect();
        let hosts = spots
            .iter()
            .filter_map(|spot| hosts.get_key_value(spot))
            .collect();
        SharedSegment {
            trunks,
            points,
            hearing,
            hosts,
        }
    }

    fn settle(
        self,
        devices: &[DeviceTables<'_>],
        strangers: UnlistedPolicy,
        suspects: &mut Vec<SuspectSegment>,
        found: &mut InferredNetwork,
    ) -> Vec<TrunkLink> {
        let alone = self.trunks.len() == 1;
        match self.whole(devices) {
            false if alone => self.trunks,
            false => self.unclear(found),
            true if alone && self.hosts.is_empty() => self.trunks,
            // Recordings hold rows of many moments.
            true if strangers == UnlistedPolicy::Shown => {
                if alone {
                    self.trunks
                } else {
                    self.unclear(found)
                }
            }
            true => {
                suspects.push(self.suspect());
                vec![]
            }
        }
    }

    /// True if all nodes that hear any other hear all others, or at least two of them.
    fn whole(&self, devices: &[DeviceTables<'_>]) -> bool {
        let mut joined: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for TrunkLink { link, .. } in &self.trunks {
            joined.entry(&link.a).or_default().insert(&link.b);
            joined.entry(&link.b).or_default().insert(&link.a);
        }
        let hosts: BTreeSet<&String> = self.hosts.values().copied().flatten().collect();
        let hosts_heard = |spot: &PortKey| {
            hosts
                .iter()
                .all(|h| self.hosts.get(spot).is_some_and(|heard| heard.contains(*h)))
        };
        let one_each = self.points.iter().all(|(name, ports)| {
            let device = devices.iter().find(|d| d.name == name.as_str());
            let whole = |p: &Port| {
                device
                    .and_then(|d| d.aggregate(p))
                    .map_or_else(|| p.name.clone(), |p| p.name)
            };
            ports
                .iter()
                .filter(|p| names_one(p))
                .map(whole)
                .collect::<BTreeSet<_>>()
                .len()
                <= 1
        });
        let all = |spot: &PortKey| {
            joined[spot.0.as_str()].len() + 1 == self.points.len() && hosts_heard(spot)
        };
        one_each && (self.hearing.iter().all(all) || joined.values().all(|others| others.len() > 1))
    }

    fn suspect(self) -> SuspectSegment {
        let evidence = self
            .trunks
            .into_iter()
            .flat_map(|t| t.link.evidence)
            .collect();
        let end = |(name, ports): (String, BTreeSet<Port>)| {
            (
                name,
                ports
                    .into_iter()
                    .max_by_key(|p| p.index)
                    .unwrap_or(nowhere()),
            )
        };
        SuspectSegment {
            ends: self.points.into_iter().map(end).collect(),
            evidence,
        }
    }

    fn unclear(mut self, found: &mut InferredNetwork) -> Vec<TrunkLink> {
        let mut at: HashMap<PortKey, BTreeSet<String>> = HashMap::new();
        for trunk in &self.trunks {
            for (i, (switch, port)) in trunk
                .ends
                .iter()
                .enumerate()
                .filter(|(_, (_, p))| names_one(p))
            {
                at.entry((switch.clone(), port.name.clone()))
                    .or_default()
                    .insert(trunk.ends[1 - i].0.clone());
            }
        }
        for ((switch, port), names) in at.into_iter().filter(|(_, names)| names.len() > 1) {
            let at = DevicePort::new(&switch, port);
            found.alarm(
                &switch,
                AlarmKind::SeveralOnCable(at, names.into_iter().collect()),
            );
        }
        self.trunks
            .iter_mut()
            .for_each(|t| t.link.grade = LinkGrade::Ambiguous);
        self.trunks
    }
}

fn nowhere() -> Port {
    Port {
        name: String::new(),
        index: None,
    }
}

/// The device between ends that hear each other: an unlisted bridge, if nothing else explains their
/// ports.
pub(super) fn explain_suspects(
    devices: &[DeviceTables<'_>],
    suspects: Vec<SuspectSegment>,
    trunks: &mut Vec<TrunkLink>,
    found: &mut InferredNetwork,
) {
    let taken: BTreeSet<PortKey> = trunks.iter().flat_map(spots_of).collect();
    for SuspectSegment { ends, evidence } in suspects {
        let (open, told): (Vec<_>, Vec<_>) = ends
            .into_iter()
            .partition(|(name, port)| !taken.contains(&(name.clone(), port.name.clone())));
        match (&open[..], &told[..]) {
            ([], _) => {}
            ([one], [other, ..]) => trunks.push(between(
                devices,
                [one, other],
                LinkGrade::Ambiguous,
                &evidence,
            )),
            _ => trunks.extend(join(devices, &open, &evidence, found)),
        }
    }
}

/// Cables from each end to an unlisted bridge.
fn join(
    devices: &[DeviceTables<'_>],
    ends: &[(String, Port)],
    evidence: &[Evidence],
    found: &mut InferredNetwork,
) -> Vec<TrunkLink> {
    let places: Vec<String> = ends
        .iter()
        .map(|(name, port)| format!("{name} {}", port.name).trim().to_owned())
        .collect();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = format!("segment-{}", places[0])
        .chars()
        .map(plain)
        .collect();
    found.alarm(&name, AlarmKind::UnmanagedBridge(places));
    found.node(&name, NodeKind::Unmanaged);
    let bridge = (name, nowhere());
    ends.iter()
        .map(|end| between(devices, [end, &bridge], LinkGrade::Inferred, evidence))
        .collect()
}

/// A cable with the evidence that concerns its first end.
fn between(
    devices: &[DeviceTables<'_>],
    ends: [&(String, Port); 2],
    grade: LinkGrade,
    evidence: &[Evidence],
) -> TrunkLink {
    let rate = |(name, port): &(String, Port)| {
        devices
            .iter()
            .find(|d| d.name == name.as_str())
            .and_then(|d| d.rate(port))
    };
    let own = evidence
        .iter()
        .filter(|e| e.concerns(&ends[0].0))
        .cloned()
        .collect();
    let [a, b] = ends.map(|(name, port)| (name.as_str(), port.clone()));
    cable([a, b], ends.map(rate), grade, own, false)
}

/// Lowers the grade of cables that weaker evidence contradicts. Either a station is learned at both
/// ends as beyond the other, as if its frames came in between (Y. Breitbart et al., "Topology
/// discovery in heterogeneous IP networks", INFOCOM 2000: the databases of two ports that face each
/// other have no address in common), or spanning tree names a third bridge as the designated one.
///
/// The cable itself stays, because bridges must not pass LLDP on (IEEE 802.1D-2004, 7.12.6), while
/// tables that are read one after the other, hosts that move and VLANs give the same picture as a
/// bridge in between.
pub(super) fn doubt_crossed(
    devices: &[DeviceTables<'_>],
    directory: &NodeDirectory<'_>,
    learned: &[LearnedStations],
    trunks: &mut [TrunkLink],
    strangers: UnlistedPolicy,
    found: &mut InferredNetwork,
) {
    let number: HashMap<&str, usize> = devices
        .iter()
        .enumerate()
        .map(|(i, d)| (d.name, i))
        .collect();
    let behind: Vec<StationsByPort> = learned.iter().map(LearnedStations::by_port).collect();
    for trunk in trunks
        .iter_mut()
        .filter(|t| t.link.grade == LinkGrade::Certain)
    {
        let ends = [&trunk.link.a, &trunk.link.b].map(|n| {
            number
                .get(n.as_str())
                .and_then(|&d| Some((d, trunk.end(n)?.clone())))
        });
        let third = ends
            .iter()
            .flatten()
            .find_map(|(d, port)| third(directory, devices, *d, port, trunk));
        let crossed = match &ends {
            [Some(a), Some(b)] => crossed(devices, learned, &behind, [a, b]),
            _ => None,
        };
        // A single station may just be moving. Recordings hold rows of many moments and VLANs.
        let alarming = strangers == UnlistedPolicy::Told
            && (third.is_some() || crossed.as_ref().is_some_and(|c| c.0 > 1));
        let Some(why) = third.or(crossed.map(|c| c.1)) else {
            continue;
        };
        if alarming {
            let Link {
                a,
                a_port,
                b,
                b_port,
                ..
            } = &trunk.link;
            let ends = [DevicePort::new(a, a_port), DevicePort::new(b, b_port)];
            found.alarm(
                a,
                AlarmKind::CableDoubted {
                    ends,
                    why: why.clone(),
                },
            );
        }
        trunk.link.grade = LinkGrade::Inferred;
        trunk.link.evidence.push(why);
    }
}

/// Stations that both of two facing ports learned, or that one learned although the other blocks:
/// their number, and the first one.
fn crossed(
    devices: &[DeviceTables<'_>],
    learned: &[LearnedStations],
    behind: &[StationsByPort],
    ends: [&(usize, Port); 2],
) -> Option<(usize, Evidence)> {
    let whole = |(d, port): &(usize, Port)| {
        devices[*d]
            .aggregate(port)
            .and_then(|p| p.index)
            .or(port.index)
    };
    let [(a, x), (b, y)] = ends;
    let (p, q) = (whole(ends[0])?, whole(ends[1])?);
    let blocks = |d: usize, index| {
        matches!(
            devices[d].state_at(index),
            Some(StpState::Blocking | StpState::Broken)
        )
    };
    let (a_blocks, b_blocks) = (blocks(*a, p), blocks(*b, q));
    // A blocked port still sends its own frames.
    let own = |mac: Mac| {
        devices[*a]
            .macs()
            .chain(devices[*b].macs())
            .any(|own| own == mac)
    };
    let at = |d: usize, port: u32| behind[d].get(&port).into_iter().flatten().copied();
    let both =
        || at(*a, p).filter(|mac| (b_blocks || learned[*b].get(*mac) == Some(q)) && !own(*mac));
    let only = || at(*b, q).filter(|mac| a_blocks && !own(*mac));
    let mac = both().chain(only()).next()?;
    let count = if a_blocks || b_blocks {
        1
    } else {
        both().count()
    };
    let ends = [
        DevicePort::new(devices[*a].name, &x.name),
        DevicePort::new(devices[*b].name, &y.name),
    ];
    Some((count, Evidence::LearnedBetween { mac, ends }))
}

/// A third bridge that spanning tree names on a cable between two devices that both state their own
/// address.
fn third(
    directory: &NodeDirectory<'_>,
    devices: &[DeviceTables<'_>],
    number: usize,
    port: &Port,
    trunk: &TrunkLink,
) -> Option<Evidence> {
    let named = devices[number].designated_at(port.index?)?;
    let ends: Vec<&DeviceTables<'_>> = devices
        .iter()
        .filter(|d| trunk.ends.iter().any(|(name, _)| name == d.name))
        .collect();
    let told = ends.len() == 2
        && ends
            .iter()
            .all(|d| d.view.bridge.as_ref().is_some_and(|b| b.address.is_some()));
    let owner = directory.switch_of(named).map(str::to_owned);
    let on_it = match &owner {
        Some(owner) => trunk.ends.iter().any(|(name, _)| name == owner),
        None => !told || ends.iter().any(|d| d.macs().any(|m| m == named)),
    };
    let owner = owner.unwrap_or_else(|| named.to_string());
    let at = DevicePort::new(devices[number].name, &port.name);
    (!on_it).then_some(Evidence::ThirdDesignated { at, bridge: owner })
}
