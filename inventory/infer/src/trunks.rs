//! Cables between switches, by LLDP and CDP: each end names the other, and the two statements
//! become one link.
use super::device::{DeviceTables, Port, show};
use super::identity::{ListedNode, NeighbourIdentity, NodeDirectory};
use super::shared_segments::{self, DeniedCables, HostsByPort, SuspectSegment};
use super::statements::NeighbourStatement;
use super::{InferredNetwork, UnlistedPolicy, lag, unlisted};
use inventory::BitsPerSec;
use inventory::alarm::AlarmKind;
use inventory::evidence::{AssumedRate, DevicePort, Evidence, NeighbourProtocol, RecognizedBy};
use inventory::host_report::DiscoveryProtocol;
use inventory::observation::LldpNeighbour;
use inventory::topology::{Link, LinkGrade, LinkState};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A cable between switches and its two ends.
pub(super) struct TrunkLink {
    pub(super) link: Link,
    pub(super) ends: [(String, Port); 2],
    both: bool,
}

/// The statement of one end: the neighbour at a port, and the key by which it is recognized.
struct EndStatement<'d> {
    at: usize,
    port: Port,
    row: &'d LldpNeighbour,
    by: RecognizedBy,
    protocol: DiscoveryProtocol,
    down: bool,
}

/// The statement of one end about a device that can also be asked.
struct TrunkHalf<'d> {
    said: EndStatement<'d>,
    to: usize,
    far: Option<Port>,
}

impl<'d> EndStatement<'d> {
    fn new(statement: &'d NeighbourStatement<'_>, by: RecognizedBy) -> EndStatement<'d> {
        EndStatement {
            at: statement.device,
            port: statement.port.clone(),
            row: &statement.row,
            by,
            protocol: statement.protocol,
            down: statement.down,
        }
    }

    /// LLDP frames do not pass a bridge (IEEE 802.1AB-2005, 8.1), CDP frames do. A row on a port
    /// that is down contradicts itself.
    fn grade(&self) -> LinkGrade {
        match self.protocol {
            _ if self.down => LinkGrade::Ambiguous,
            DiscoveryProtocol::Lldp => LinkGrade::Certain,
            DiscoveryProtocol::Cdp => LinkGrade::Inferred,
        }
    }

    /// The evidence for a cable from this device to that neighbour.
    fn evidence(&self, device: &DeviceTables<'_>, neighbour: &str) -> Evidence {
        Evidence::Names {
            protocol: self.protocol.into(),
            at: DevicePort::new(device.name, &self.port.name),
            neighbour: neighbour.to_owned(),
            by: self.by.clone(),
            stale: device.stale(),
            down: self.down,
        }
    }
}

impl TrunkLink {
    /// True if both ends state the cable.
    pub(super) fn confirmed(&self) -> bool {
        self.both
    }

    /// The port of a device that is its end of this cable.
    pub(super) fn end(&self, switch: &str) -> Option<&Port> {
        self.ends.iter().find(|(s, _)| s == switch).map(|(_, p)| p)
    }
}

/// All cables between devices, and to nodes that are named but not asked. Statements of a device
/// about itself are dropped.
pub(super) fn trunks(
    devices: &[DeviceTables<'_>],
    directory: &NodeDirectory<'_>,
    statements: &[NeighbourStatement<'_>],
    strangers: UnlistedPolicy,
    suspects: &mut Vec<SuspectSegment>,
    found: &mut InferredNetwork,
) -> Vec<TrunkLink> {
    let NeighbourCables {
        mut halves,
        mut trunks,
        strangers_met,
        hosts,
    } = neighbour_cables(devices, directory, statements, strangers, found);
    let key = |h: &TrunkHalf<'_>| (h.said.at, h.said.port.clone(), h.to, h.far.clone());
    halves.sort_by_key(key);
    halves.dedup_by_key(|h| key(h));
    let mut denied = DeniedCables::new();
    trunks.extend(pair(devices, &halves, &mut denied));
    let trunks = shared_segments::resolve_shared_ports(
        devices,
        lag::match_members(devices, trunks),
        &hosts,
        strangers,
        (suspects, &mut denied),
        found,
    );
    shared_segments::report_isolated_ports(devices, denied, &trunks, (&hosts, suspects), found);
    // A stranger does not exist if all its cables turned out to be another node's.
    let ends = trunks
        .iter()
        .flat_map(|t| [&t.link.a, &t.link.b])
        .chain(suspects.iter().flat_map(SuspectSegment::names));
    let ends: BTreeSet<&String> = ends.collect();
    strangers_met
        .iter()
        .filter(|name| !ends.contains(name))
        .for_each(|name| drop(found.nodes.remove(name)));
    trunks
}

/// The statements of devices about their neighbours, sorted by the neighbour.
#[derive(Default)]
struct NeighbourCables<'d> {
    /// Statements about devices that can also be asked.
    halves: Vec<TrunkHalf<'d>>,
    /// Cables to devices that cannot be asked.
    trunks: Vec<TrunkLink>,
    /// The names of neighbours that are not in the inventory.
    strangers_met: BTreeSet<String>,
    hosts: HostsByPort,
}

fn neighbour_cables<'s>(
    devices: &[DeviceTables<'_>],
    directory: &NodeDirectory<'_>,
    statements: &'s [NeighbourStatement<'_>],
    strangers: UnlistedPolicy,
    found: &mut InferredNetwork,
) -> NeighbourCables<'s> {
    let mut cables = NeighbourCables::default();
    let number: HashMap<&str, usize> = devices
        .iter()
        .enumerate()
        .map(|(i, d)| (d.name, i))
        .collect();
    for statement in statements {
        let device = &devices[statement.device];
        let row = statement.row.as_ref();
        let place = DevicePort::new(device.name, &statement.port.name);
        match directory.identify(row) {
            NeighbourIdentity::Known {
                node: ListedNode::Switch(name),
                by,
            } if name != device.name => {
                let said = EndStatement::new(statement, by);
                match number.get(name) {
                    Some(&to) => {
                        let far = devices[to].remote_port(row.port.as_ref(), &row.port_descr);
                        cables.halves.push(TrunkHalf { said, to, far });
                    }
                    None => cables.trunks.push(unanswered(device, &said, name)),
                }
            }
            NeighbourIdentity::Stranger(name) => {
                if let Some(name) = unlisted::add_unlisted(&name, &place, row, strangers, found) {
                    let said = EndStatement::new(statement, RecognizedBy::OwnName);
                    cables.trunks.push(mute(device, &said, &name, said.grade()));
                    cables.strangers_met.insert(name);
                }
            }
            NeighbourIdentity::Known {
                node: ListedNode::Host(host),
                ..
            } => {
                let at = (device.name.to_owned(), statement.port.name.clone());
                cables.hosts.entry(at).or_default().insert(host.to_owned());
                continue;
            }
            NeighbourIdentity::Known { .. } | NeighbourIdentity::Nobody => continue,
        }
        if statement.down {
            found.alarm(device.name, AlarmKind::DownPortNames(place));
        }
    }
    cables
}

/// A cable to a switch that never answered. It is a node all the same, but it cannot deny
/// statements about it.
fn unanswered(device: &DeviceTables<'_>, said: &EndStatement<'_>, name: &str) -> TrunkLink {
    let grade = said.grade().max(LinkGrade::Inferred);
    let mut trunk = mute(device, said, name, grade);
    trunk
        .link
        .evidence
        .push(Evidence::Unanswering(name.to_owned()));
    trunk
}

/// Joins the statements of both ends: first those whose ports agree on both sides, then those with
/// one unknown port, then those with just one statement left in each direction.
fn pair(
    devices: &[DeviceTables<'_>],
    halves: &[TrunkHalf<'_>],
    denied: &mut DeniedCables,
) -> Vec<TrunkLink> {
    let mut partner: Vec<Option<usize>> = vec![None; halves.len()];
    let agree = |far: &Option<Port>, port: &Port| far.as_ref() == Some(port);
    let mut between: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    halves
        .iter()
        .enumerate()
        .for_each(|(i, h)| between.entry((h.said.at, h.to)).or_default().push(i));
    for strict in [true, false] {
        for i in 0..halves.len() {
            let a = &halves[i];
            let fits = |b: &TrunkHalf<'_>| {
                let (there, back) = (agree(&a.far, &b.said.port), agree(&b.far, &a.said.port));
                if strict {
                    there && back
                } else {
                    (there && b.far.is_none()) || (back && a.far.is_none())
                }
            };
            let mut others = between
                .get(&(a.to, a.said.at))
                .into_iter()
                .flatten()
                .copied();
            if partner[i].is_none()
                && let Some(j) =
                    others.find(|&j| j != i && partner[j].is_none() && fits(&halves[j]))
            {
                (partner[i], partner[j]) = (Some(j), Some(i));
            }
        }
    }
    let mut left: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for i in (0..halves.len()).filter(|&i| partner[i].is_none() && halves[i].far.is_none()) {
        left.entry((halves[i].said.at, halves[i].to))
            .or_default()
            .push(i);
    }
    for ((at, to), mine) in &left {
        if let ([i], Some([j])) = (mine.as_slice(), left.get(&(*to, *at)).map(Vec::as_slice)) {
            partner[*i] = Some(*j);
        }
    }
    let trunk = |(i, half): (usize, &TrunkHalf<'_>)| match partner[i] {
        Some(j) if j < i => None,
        Some(j) => Some(joined(devices, half, Some(&halves[j]))),
        None => one_sided(devices, half, denied),
    };
    halves.iter().enumerate().filter_map(trunk).collect()
}

/// A cable that only one end states. It does not exist if the other end's port is down, or if the
/// named device has another name, because every node may announce a switch's identifiers.
fn one_sided(
    devices: &[DeviceTables<'_>],
    half: &TrunkHalf<'_>,
    denied: &mut DeniedCables,
) -> Option<TrunkLink> {
    let TrunkHalf { said, to, far } = half;
    let (near, other) = (&devices[said.at], &devices[*to]);
    let (at, protocol) = (
        DevicePort::new(near.name, &said.port.name),
        NeighbourProtocol::from(said.protocol),
    );
    let kind = match far.as_ref().filter(|p| other.is_down(p)) {
        Some(far) => AlarmKind::NamedPortDown {
            at,
            named: DevicePort::new(other.name, &far.name),
            protocol,
        },
        None if !other.may_be_called(&said.row.name) => {
            let (called, by, owner) = (
                said.row.name.clone(),
                said.by.clone(),
                other.name.to_owned(),
            );
            AlarmKind::Impostor {
                at,
                called,
                by,
                protocol,
                owner,
            }
        }
        None => return Some(joined(devices, half, None)),
    };
    denied.push(((near.name.to_owned(), said.port.name.clone()), kind));
    None
}

fn joined(
    devices: &[DeviceTables<'_>],
    half: &TrunkHalf<'_>,
    back: Option<&TrunkHalf<'_>>,
) -> TrunkLink {
    let TrunkHalf { said, to, far } = half;
    let (near, other) = (&devices[said.at], &devices[*to]);
    let far = back.map(|b| b.said.port.clone()).or_else(|| far.clone());
    let far = far.unwrap_or_else(|| Port {
        name: far_name(said.row),
        index: None,
    });
    let mut evidence = vec![said.evidence(near, other.name)];
    match back {
        Some(b) => evidence.push(b.said.evidence(other, near.name)),
        None => evidence.push(Evidence::NotNamedBack {
            device: other.name.to_owned(),
            other: near.name.to_owned(),
        }),
    }
    let rates = [near.rate(&said.port), other.rate(&far)];
    let grade = said
        .grade()
        .max(back.map_or(LinkGrade::Certain, |b| b.said.grade()));
    // One statement by LLDP is enough, whatever the other end states by CDP.
    let sure = [Some(said), back.map(|b| &b.said)]
        .into_iter()
        .flatten()
        .any(|s| s.protocol == DiscoveryProtocol::Lldp);
    let grade = if sure && grade == LinkGrade::Inferred {
        LinkGrade::Certain
    } else {
        grade
    };
    // A device that hears others by LLDP would hear this one, too. Another node may use its name.
    let unheard =
        back.is_none() && !other.stale() && other.lldp().is_some_and(|l| !l.neighbours.is_empty());
    let grade = if unheard {
        grade.max(LinkGrade::Inferred)
    } else {
        grade
    };
    cable(
        [(near.name, said.port.clone()), (other.name, far)],
        rates,
        grade,
        evidence,
        back.is_some(),
    )
}

/// A cable to a node that never answered.
fn mute(
    device: &DeviceTables<'_>,
    said: &EndStatement<'_>,
    name: &str,
    grade: LinkGrade,
) -> TrunkLink {
    let far = Port {
        name: far_name(said.row),
        index: None,
    };
    let rates = [device.rate(&said.port), None];
    cable(
        [(device.name, said.port.clone()), (name, far)],
        rates,
        grade,
        vec![said.evidence(device, name)],
        false,
    )
}

pub(super) fn cable(
    [(a, a_port), (b, b_port)]: [(&str, Port); 2],
    rates: [Option<BitsPerSec>; 2],
    grade: LinkGrade,
    mut evidence: Vec<Evidence>,
    both: bool,
) -> TrunkLink {
    TrunkLink {
        link: Link {
            a: a.to_owned(),
            a_port: a_port.name.clone(),
            b: b.to_owned(),
            b_port: b_port.name.clone(),
            members: vec![],
            rate_bps: slower(rates, &mut evidence),
            state: LinkState::Unknown,
            grade,
            evidence,
        },
        ends: [(a.to_owned(), a_port), (b.to_owned(), b_port)],
        both,
    }
}

fn far_name(row: &LldpNeighbour) -> String {
    row.port
        .as_ref()
        .map(show)
        .unwrap_or_else(|| row.port_descr.clone())
}

/// The rate of the slower end.
pub(super) fn slower(rates: [Option<BitsPerSec>; 2], evidence: &mut Vec<Evidence>) -> BitsPerSec {
    rates.into_iter().flatten().min().unwrap_or_else(|| {
        evidence.push(Evidence::Rate(AssumedRate::Gigabit));
        BitsPerSec::GIGABIT
    })
}
