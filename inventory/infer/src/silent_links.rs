//! Cables that no device names by LLDP or CDP. They are found by the bridges' tables: the
//! designated port that spanning tree names on each segment, and the ports on which stations are
//! learned. Links found here are inferred, never certain.
//!
//! Only ports without a known cable are considered, and only pairs in which at least one device
//! does not speak LLDP. Two devices that both speak it would have named each other, so another
//! device is between them.
mod designated;
mod facing;

#[cfg(test)]
mod tests;

use super::device::{DeviceTables, Port};
use super::identity::{ListedNode, NeighbourIdentity, NodeDirectory};
use super::islands::{DeviceIslands, LearnedStations};
use super::statements::NeighbourStatement;
use super::trunks::{TrunkLink, cable};
use super::{InferredNetwork, UnlistedPolicy};
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::evidence::Evidence;
use inventory::host_report::DiscoveryProtocol;
use inventory::natural_order::natural;
use inventory::topology::{LinkGrade, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An end of a segment that no device names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum SegmentEnd {
    /// At a port of a device, by number.
    At(usize, Port),
    /// Somewhere among these nodes, which do not answer.
    Dark(Vec<String>),
}

/// Two ends that share a segment, and the evidence.
struct SegmentPair {
    ends: [SegmentEnd; 2],
    evidence: Vec<Evidence>,
    /// True if no other device can be between them.
    sure: bool,
    /// True if stations were learned between them.
    parted: bool,
}

impl SegmentEnd {
    fn device(&self) -> Option<usize> {
        if let SegmentEnd::At(device, _) = self {
            Some(*device)
        } else {
            None
        }
    }

    fn told(&self, context: &SilentLinkContext<'_, '_>) -> String {
        match self {
            SegmentEnd::At(device, port) => {
                format!("{} {}", context.devices[*device].name, port.name)
            }
            SegmentEnd::Dark(names) => names.join(" or "),
        }
    }
}

/// The facts that both methods use.
struct SilentLinkContext<'d, 'a> {
    devices: &'d [DeviceTables<'a>],
    directory: &'d NodeDirectory<'a>,
    /// The devices' numbers by their names.
    numbers: HashMap<&'a str, usize>,
    /// Ports that lead to known nodes, and their aggregates.
    taken: HashSet<(usize, Port)>,
    /// Devices that send LLDP, or that hear it.
    speaking: HashSet<usize>,
    strangers: UnlistedPolicy,
}

impl SilentLinkContext<'_, '_> {
    /// True if the two ends can belong to one cable that neither device names.
    fn unspoken(&self, ends: &[SegmentEnd; 2]) -> bool {
        !ends
            .iter()
            .all(|end| end.device().is_some_and(|d| self.speaking.contains(&d)))
    }

    /// True if a link between these ends would be new and possible.
    fn open(&self, [a, b]: &[SegmentEnd; 2]) -> bool {
        let free = |end: &SegmentEnd| match end {
            SegmentEnd::At(device, port) => {
                !self.taken.contains(&(*device, port.clone()))
                    && !self.devices[*device].is_down(port)
            }
            SegmentEnd::Dark(_) => true,
        };
        (a.device().is_none() || a.device() != b.device()) && free(a) && free(b)
    }

    fn take(&mut self, trunk: &TrunkLink) {
        for name in [&trunk.link.a, &trunk.link.b] {
            let Some(&number) = self.numbers.get(name.as_str()) else {
                continue;
            };
            let device = &self.devices[number];
            let Some(port) = trunk.end(device.name) else {
                continue;
            };
            self.taken.insert((number, port.clone()));
            self.taken
                .extend(device.aggregate(port).map(|p| (number, p)));
        }
    }
}

/// The cables that neither LLDP nor CDP names, added to the known cables.
pub(super) fn unspoken(
    devices: &[DeviceTables<'_>],
    directory: &NodeDirectory<'_>,
    statements: &[NeighbourStatement<'_>],
    learned: &[LearnedStations],
    (strangers, missing): (UnlistedPolicy, &[&str]),
    trunks: &mut Vec<TrunkLink>,
    found: &mut InferredNetwork,
) {
    let numbers: HashMap<&str, usize> = devices
        .iter()
        .enumerate()
        .map(|(i, d)| (d.name, i))
        .collect();
    let speaking = speaking(&numbers, directory, statements);
    let mut context = SilentLinkContext {
        devices,
        directory,
        taken: HashSet::new(),
        speaking,
        numbers,
        strangers,
    };
    trunks.iter().for_each(|t| context.take(t));
    let new = segments(&context, designated::pairs(&context), found);
    new.iter().for_each(|t| context.take(t));
    trunks.extend(new);
    if strangers == UnlistedPolicy::Told {
        let dark: Vec<TrunkLink> = designated::silent_designated(&context, missing, found)
            .iter()
            .map(|p| joined_by(&context, p, LinkGrade::Inferred))
            .collect();
        dark.iter().for_each(|t| context.take(t));
        trunks.extend(dark);
    }
    let islands = DeviceIslands::new(devices, learned, trunks);
    trunks.extend(segments(&context, facing::pairs(&context, &islands), found));
}

/// The devices that take part in LLDP.
fn speaking(
    numbers: &HashMap<&str, usize>,
    directory: &NodeDirectory<'_>,
    statements: &[NeighbourStatement<'_>],
) -> HashSet<usize> {
    let mut speaking = HashSet::new();
    for statement in statements
        .iter()
        .filter(|s| s.protocol == DiscoveryProtocol::Lldp)
    {
        speaking.insert(statement.device);
        if let NeighbourIdentity::Known {
            node: ListedNode::Switch(name),
            ..
        } = directory.identify(&statement.row)
        {
            speaking.extend(numbers.get(name));
        }
    }
    speaking
}

/// Turns pairs into cables. Two ports alone on a segment are the ends of a cable. If more ports all
/// pair with each other, a silent bridge joins them. If not all of them pair with each other, their
/// neighbours are ambiguous.
fn segments(
    context: &SilentLinkContext<'_, '_>,
    pairs: Vec<SegmentPair>,
    found: &mut InferredNetwork,
) -> Vec<TrunkLink> {
    let (pairs, unsure): (Vec<SegmentPair>, Vec<SegmentPair>) =
        pairs.into_iter().partition(|p| p.sure);
    let ends: Vec<SegmentEnd> = pairs
        .iter()
        .flat_map(|p| p.ends.clone())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let number: HashMap<&SegmentEnd, usize> =
        ends.iter().enumerate().map(|(i, e)| (e, i)).collect();
    let mut joined = UnionFind::new(ends.len());
    for pair in &pairs {
        joined.union(number[&pair.ends[0]], number[&pair.ends[1]]);
    }
    let mut segments: BTreeMap<usize, (BTreeSet<&SegmentEnd>, Vec<&SegmentPair>)> = BTreeMap::new();
    for pair in &pairs {
        let segment = segments
            .entry(joined.find(number[&pair.ends[0]]))
            .or_default();
        segment.0.extend(&pair.ends);
        segment.1.push(pair);
    }
    let mut trunks: Vec<TrunkLink> = unsure
        .iter()
        .flat_map(|pair| candidates(context, pair))
        .collect();
    for (ends, pairs) in segments.into_values() {
        trunks.extend(segment(context, &ends, &pairs, found));
    }
    trunks
}

/// The node that joins the ends of one segment.
fn segment(
    context: &SilentLinkContext<'_, '_>,
    ends: &BTreeSet<&SegmentEnd>,
    pairs: &[&SegmentPair],
    found: &mut InferredNetwork,
) -> Vec<TrunkLink> {
    let devices: BTreeSet<usize> = ends.iter().filter_map(|e| e.device()).collect();
    let dark: Vec<&SegmentEnd> = ends
        .iter()
        .copied()
        .filter(|e| e.device().is_none())
        .collect();
    let whole = ends.len() == devices.len() + dark.len()
        && pairs.len() == ends.len() * (ends.len() - 1) / 2;
    match (whole, &dark[..], pairs) {
        (true, [], [pair]) if context.unspoken(&pair.ends) && !pair.parted => {
            vec![joined_by(context, pair, LinkGrade::Inferred)]
        }
        (true, [], several) => unmanaged(context, ends, several, found),
        // A device that does not answer joins the others.
        (true, [SegmentEnd::Dark(names)], several) if names.len() == 1 => several
            .iter()
            .filter(|p| p.ends.contains(dark[0]))
            .map(|pair| joined_by(context, pair, LinkGrade::Inferred))
            .collect(),
        (true, [SegmentEnd::Dark(a), SegmentEnd::Dark(b)], [pair])
            if a.len() == 1 && b.len() == 1 =>
        {
            vec![joined_by(context, pair, LinkGrade::Inferred)]
        }
        (true, _, several) => several
            .iter()
            .flat_map(|pair| candidates(context, pair))
            .collect(),
        (false, _, several) => {
            let first = several[0]
                .ends
                .iter()
                .find_map(SegmentEnd::device)
                .map(|d| AlarmSubject::node(context.devices[d].name));
            let kind = AlarmKind::SegmentUnclear(names(context, ends));
            found.alarms.push(Alarm {
                subject: first.unwrap_or(AlarmSubject::Segment),
                kind,
            });
            several
                .iter()
                .flat_map(|pair| candidates(context, pair))
                .collect()
        }
    }
}

fn names(context: &SilentLinkContext<'_, '_>, ends: &BTreeSet<&SegmentEnd>) -> Vec<String> {
    let mut names: Vec<String> = ends.iter().map(|end| end.told(context)).collect();
    names.sort_by_cached_key(|n| natural(n));
    names
}

/// All cables that a pair may be.
fn candidates(context: &SilentLinkContext<'_, '_>, pair: &SegmentPair) -> Vec<TrunkLink> {
    let several = |end: &SegmentEnd| match end {
        SegmentEnd::At(..) => vec![end.clone()],
        SegmentEnd::Dark(names) => names
            .iter()
            .map(|n| SegmentEnd::Dark(vec![n.clone()]))
            .collect(),
    };
    let [a, b] = pair.ends.each_ref().map(several);
    let pairs = a
        .iter()
        .flat_map(|x| b.iter().map(move |y| [x.clone(), y.clone()]));
    pairs
        .map(|ends| {
            joined_by(
                context,
                &SegmentPair {
                    ends,
                    evidence: pair.evidence.clone(),
                    sure: false,
                    parted: false,
                },
                LinkGrade::Ambiguous,
            )
        })
        .collect()
}

/// The cable of a pair. Of several nodes that do not answer, it takes the first.
fn joined_by(
    context: &SilentLinkContext<'_, '_>,
    pair: &SegmentPair,
    grade: LinkGrade,
) -> TrunkLink {
    let rates = pair.ends.each_ref().map(|end| match end {
        SegmentEnd::At(d, port) => context.devices[*d].rate(port),
        SegmentEnd::Dark(_) => None,
    });
    let ends = pair.ends.each_ref().map(|end| match end {
        SegmentEnd::At(d, port) => (context.devices[*d].name, port.clone()),
        SegmentEnd::Dark(names) => (
            names.first().map_or("", String::as_str),
            Port {
                name: String::new(),
                index: None,
            },
        ),
    });
    cable(ends, rates, grade, pair.evidence.clone(), false)
}

/// Several ports on one segment: an unmanaged bridge joins them.
fn unmanaged(
    context: &SilentLinkContext<'_, '_>,
    ends: &BTreeSet<&SegmentEnd>,
    pairs: &[&SegmentPair],
    found: &mut InferredNetwork,
) -> Vec<TrunkLink> {
    let places = names(context, ends);
    let name = format!(
        "segment-{}",
        places[0].replace(
            |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)),
            "-"
        )
    );
    found.alarm(&name, AlarmKind::UnmanagedBridge(places));
    found.node(&name, NodeKind::Unmanaged);
    let link = |end: &&SegmentEnd| {
        let SegmentEnd::At(d, port) = end else {
            return None;
        };
        let device = &context.devices[*d];
        let evidence = pairs
            .iter()
            .filter(|p| p.ends.contains(end))
            .flat_map(|p| p.evidence.clone())
            .collect();
        let far = Port {
            name: String::new(),
            index: None,
        };
        Some(cable(
            [(device.name, port.clone()), (name.as_str(), far)],
            [device.rate(port), None],
            LinkGrade::Inferred,
            evidence,
            false,
        ))
    };
    ends.iter().filter_map(link).collect()
}
