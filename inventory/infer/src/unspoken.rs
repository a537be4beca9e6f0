//! Cables nobody speaks of by LLDP or CDP, found by what bridges know of each other: the designated port that spanning
//! tree names on each segment, and the ports that stations are learned on. What is found here is inferred, never certain.
//!
//! Only ports without a known cable come into question, and only pairs of which one does not speak LLDP: two that both
//! do would have named each other, so something stands between them.
mod designated;
mod facing;

#[cfg(test)]
mod tests;

use super::device::{Device, Port};
use super::identity::{Directory, Known, Who};
use super::islands::{Islands, Learned};
use super::statements::{Protocol, Statement};
use super::trunks::{Trunk, cable};
use super::{Found, Strangers};
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::evidence::Evidence;
use inventory::order::natural;
use inventory::topology::{Grade, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Where something is plugged in that nobody speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum End {
    /// At a port of a device, by number.
    At(usize, Port),
    /// Somewhere among these, who do not answer.
    Dark(Vec<String>),
}

/// Two ends that share a segment, and why.
struct Pair {
    ends: [End; 2],
    evidence: Vec<Evidence>,
    /// Whether nothing else can stand between them.
    sure: bool,
    /// Whether stations were learned between them.
    parted: bool,
}

impl End {
    fn device(&self) -> Option<usize> {
        if let End::At(device, _) = self { Some(*device) } else { None }
    }

    fn told(&self, context: &Context<'_, '_>) -> String {
        match self {
            End::At(device, port) => format!("{} {}", context.devices[*device].name, port.name),
            End::Dark(names) => names.join(" or "),
        }
    }
}

/// What both ways ask.
struct Context<'d, 'a> {
    devices: &'d [Device<'a>],
    directory: &'d Directory<'a>,
    /// The devices' numbers by their names.
    numbers: HashMap<&'a str, usize>,
    /// Ports that lead to somebody known, and their aggregates.
    taken: HashSet<(usize, Port)>,
    /// Devices that LLDP is heard from, or that hear it.
    speaking: HashSet<usize>,
    strangers: Strangers,
}

impl Context<'_, '_> {
    /// Whether two ends can be one cable's that neither speaks of.
    fn unspoken(&self, ends: &[End; 2]) -> bool {
        !ends.iter().all(|end| end.device().is_some_and(|d| self.speaking.contains(&d)))
    }

    /// Whether what joins these ends would be news, and can be.
    fn open(&self, [a, b]: &[End; 2]) -> bool {
        let free = |end: &End| match end {
            End::At(device, port) => !self.taken.contains(&(*device, port.clone())) && !self.devices[*device].is_down(port),
            End::Dark(_) => true,
        };
        (a.device().is_none() || a.device() != b.device()) && free(a) && free(b)
    }

    fn take(&mut self, trunk: &Trunk) {
        for name in [&trunk.link.a, &trunk.link.b] {
            let Some(&number) = self.numbers.get(name.as_str()) else { continue };
            let device = &self.devices[number];
            let Some(port) = trunk.end(device.name) else { continue };
            self.taken.insert((number, port.clone()));
            self.taken.extend(device.aggregate(port).map(|p| (number, p)));
        }
    }
}

/// The cables that neither LLDP nor CDP names, added to those that are known.
pub(super) fn unspoken(
    devices: &[Device<'_>],
    directory: &Directory<'_>,
    statements: &[Statement<'_>],
    learned: &[Learned],
    (strangers, missing): (Strangers, &[&str]),
    trunks: &mut Vec<Trunk>,
    found: &mut Found,
) {
    let numbers: HashMap<&str, usize> = devices.iter().enumerate().map(|(i, d)| (d.name, i)).collect();
    let speaking = speaking(&numbers, directory, statements);
    let mut context = Context { devices, directory, taken: HashSet::new(), speaking, numbers, strangers };
    trunks.iter().for_each(|t| context.take(t));
    let new = segments(&context, designated::pairs(&context), found);
    new.iter().for_each(|t| context.take(t));
    trunks.extend(new);
    if strangers == Strangers::Told {
        let dark: Vec<Trunk> = designated::dark(&context, missing, found).iter().map(|p| joined_by(&context, p, Grade::Inferred)).collect();
        dark.iter().for_each(|t| context.take(t));
        trunks.extend(dark);
    }
    let islands = Islands::new(devices, learned, trunks);
    trunks.extend(segments(&context, facing::pairs(&context, &islands), found));
}

/// Who takes part in LLDP.
fn speaking(numbers: &HashMap<&str, usize>, directory: &Directory<'_>, statements: &[Statement<'_>]) -> HashSet<usize> {
    let mut speaking = HashSet::new();
    for statement in statements.iter().filter(|s| s.protocol == Protocol::Lldp) {
        speaking.insert(statement.device);
        if let Who::Known { node: Known::Switch(name), .. } = directory.who(&statement.row) {
            speaking.extend(numbers.get(name));
        }
    }
    speaking
}

/// Pairs to cables: two ports alone on a segment are a cable's ends; more of them, each with each other, hang on something
/// that bridges without a word. Where it is not each with each other, it cannot be told who is next to whom.
fn segments(context: &Context<'_, '_>, pairs: Vec<Pair>, found: &mut Found) -> Vec<Trunk> {
    let (pairs, unsure): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(|p| p.sure);
    let ends: Vec<End> = pairs.iter().flat_map(|p| p.ends.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let number: HashMap<&End, usize> = ends.iter().enumerate().map(|(i, e)| (e, i)).collect();
    let mut joined = UnionFind::new(ends.len());
    for pair in &pairs {
        joined.union(number[&pair.ends[0]], number[&pair.ends[1]]);
    }
    let mut segments: BTreeMap<usize, (BTreeSet<&End>, Vec<&Pair>)> = BTreeMap::new();
    for pair in &pairs {
        let segment = segments.entry(joined.find(number[&pair.ends[0]])).or_default();
        segment.0.extend(&pair.ends);
        segment.1.push(pair);
    }
    let mut trunks: Vec<Trunk> = unsure.iter().flat_map(|pair| candidates(context, pair)).collect();
    for (ends, pairs) in segments.into_values() {
        trunks.extend(segment(context, &ends, &pairs, found));
    }
    trunks
}

/// What joins the ends of one segment.
fn segment(context: &Context<'_, '_>, ends: &BTreeSet<&End>, pairs: &[&Pair], found: &mut Found) -> Vec<Trunk> {
    let devices: BTreeSet<usize> = ends.iter().filter_map(|e| e.device()).collect();
    let dark: Vec<&End> = ends.iter().copied().filter(|e| e.device().is_none()).collect();
    let whole = ends.len() == devices.len() + dark.len() && pairs.len() == ends.len() * (ends.len() - 1) / 2;
    match (whole, &dark[..], pairs) {
        (true, [], [pair]) if context.unspoken(&pair.ends) && !pair.parted => vec![joined_by(context, pair, Grade::Inferred)],
        (true, [], several) => unmanaged(context, ends, several, found),
        // Whoever does not answer is what joins the others.
        (true, [End::Dark(names)], several) if names.len() == 1 => {
            several.iter().filter(|p| p.ends.contains(dark[0])).map(|pair| joined_by(context, pair, Grade::Inferred)).collect()
        }
        (true, [End::Dark(a), End::Dark(b)], [pair]) if a.len() == 1 && b.len() == 1 => vec![joined_by(context, pair, Grade::Inferred)],
        (true, _, several) => several.iter().flat_map(|pair| candidates(context, pair)).collect(),
        (false, _, several) => {
            let first = several[0].ends.iter().find_map(End::device).map(|d| AlarmSubject::node(context.devices[d].name));
            let kind = AlarmKind::SegmentUnclear(names(context, ends));
            found.alarms.push(Alarm { subject: first.unwrap_or(AlarmSubject::Segment), kind });
            several.iter().flat_map(|pair| candidates(context, pair)).collect()
        }
    }
}

fn names(context: &Context<'_, '_>, ends: &BTreeSet<&End>) -> Vec<String> {
    let mut names: Vec<String> = ends.iter().map(|end| end.told(context)).collect();
    names.sort_by_cached_key(|n| natural(n));
    names
}

/// Every cable a pair may be.
fn candidates(context: &Context<'_, '_>, pair: &Pair) -> Vec<Trunk> {
    let several = |end: &End| match end {
        End::At(..) => vec![end.clone()],
        End::Dark(names) => names.iter().map(|n| End::Dark(vec![n.clone()])).collect(),
    };
    let [a, b] = pair.ends.each_ref().map(several);
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| [x.clone(), y.clone()]));
    pairs
        .map(|ends| joined_by(context, &Pair { ends, evidence: pair.evidence.clone(), sure: false, parted: false }, Grade::Ambiguous))
        .collect()
}

/// The cable of a pair; of those who do not answer the first is meant.
fn joined_by(context: &Context<'_, '_>, pair: &Pair, grade: Grade) -> Trunk {
    let rates = pair.ends.each_ref().map(|end| match end {
        End::At(d, port) => context.devices[*d].rate(port),
        End::Dark(_) => None,
    });
    let ends = pair.ends.each_ref().map(|end| match end {
        End::At(d, port) => (context.devices[*d].name, port.clone()),
        End::Dark(names) => (names.first().map_or("", String::as_str), Port { name: String::new(), index: None }),
    });
    cable(ends, rates, grade, pair.evidence.clone(), false)
}

/// Several ports on one segment: a bridge that says nothing of itself joins them.
fn unmanaged(context: &Context<'_, '_>, ends: &BTreeSet<&End>, pairs: &[&Pair], found: &mut Found) -> Vec<Trunk> {
    let places = names(context, ends);
    let name = format!("segment-{}", places[0].replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)), "-"));
    found.alarm(&name, AlarmKind::UnmanagedBridge(places));
    found.node(&name, NodeKind::Unmanaged);
    let link = |end: &&End| {
        let End::At(d, port) = end else { return None };
        let device = &context.devices[*d];
        let evidence = pairs.iter().filter(|p| p.ends.contains(end)).flat_map(|p| p.evidence.clone()).collect();
        let far = Port { name: String::new(), index: None };
        Some(cable([(device.name, port.clone()), (name.as_str(), far)], [device.rate(port), None], Grade::Inferred, evidence, false))
    };
    ends.iter().filter_map(link).collect()
}
