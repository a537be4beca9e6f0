//! Cables nobody speaks of by LLDP or CDP, found by what bridges know of each other: the designated port that spanning
//! tree names on each segment, and the ports that stations are learned on. What is found here is inferred, never certain.
//!
//! Only ports without a known cable come into question, and only pairs of which one does not speak LLDP: two that both
//! do would have named each other, so something stands between them.
mod designated;
mod facing;

#[cfg(test)]
mod tests;

use super::Found;
use super::device::{Device, Port};
use super::identity::{Directory, Known, Who};
use super::statements::{Protocol, Statement};
use super::trunks::{Trunk, cable};
use crate::order::natural;
use crate::topology::{Grade, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An end of a cable: number of the device, and its port.
type End = (usize, Port);

/// Two ends that share a segment, and why.
struct Pair {
    ends: [End; 2],
    evidence: Vec<String>,
    /// Whether nothing else can stand between them.
    sure: bool,
}

/// What both ways ask.
struct Context<'d, 'a> {
    devices: &'d [Device<'a>],
    directory: &'d Directory<'a>,
    /// The devices' numbers by their names.
    numbers: HashMap<&'a str, usize>,
    /// Ports that lead to somebody known, and their aggregates.
    taken: HashSet<End>,
    /// Devices that LLDP is heard from, or that hear it.
    speaking: HashSet<usize>,
    /// Devices joined by known cables.
    parts: UnionFind<usize>,
}

impl Context<'_, '_> {
    /// Whether two devices can have a cable that neither speaks of.
    fn unspoken(&self, a: usize, b: usize) -> bool {
        a != b && !(self.speaking.contains(&a) && self.speaking.contains(&b))
    }

    /// Whether such a cable would join what no known one does: forwarding databases only show what carries frames.
    fn apart(&self, a: usize, b: usize) -> bool {
        self.unspoken(a, b) && !self.parts.equiv(a, b)
    }

    /// Whether a cable between these ends would be news, and can be.
    fn open(&self, [a, b]: &[End; 2]) -> bool {
        let free = |end: &End| !self.taken.contains(end) && !self.devices[end.0].is_down(&end.1);
        self.unspoken(a.0, b.0) && free(a) && free(b)
    }

    fn take(&mut self, trunk: &Trunk) {
        let ends: Vec<usize> = [&trunk.link.a, &trunk.link.b].into_iter().filter_map(|n| self.numbers.get(n.as_str()).copied()).collect();
        for &number in &ends {
            let device = &self.devices[number];
            let Some(port) = trunk.end(device.name) else { continue };
            self.taken.insert((number, port.clone()));
            self.taken.extend(device.aggregate(port).map(|p| (number, p)));
        }
        if let [a, b] = ends[..] {
            self.parts.union(a, b);
        }
    }
}

/// The cables that neither LLDP nor CDP names.
pub(super) fn unspoken(
    devices: &[Device<'_>],
    directory: &Directory<'_>,
    statements: &[Statement<'_>],
    known: &[Trunk],
    found: &mut Found,
) -> Vec<Trunk> {
    let numbers: HashMap<&str, usize> = devices.iter().enumerate().map(|(i, d)| (d.name, i)).collect();
    let mut context = Context {
        devices,
        directory,
        taken: HashSet::new(),
        speaking: speaking(&numbers, directory, statements),
        numbers,
        parts: UnionFind::new(devices.len()),
    };
    known.iter().for_each(|t| context.take(t));
    let mut all = Vec::new();
    for way in [designated::pairs, facing::pairs] {
        let new = segments(&context, way(&context), found);
        new.iter().for_each(|t| context.take(t));
        all.extend(new);
    }
    all
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
    let mut trunks: Vec<Trunk> = unsure.iter().map(|pair| joined_by(context, pair, Grade::Ambiguous)).collect();
    for (ends, pairs) in segments.into_values() {
        let devices: BTreeSet<usize> = ends.iter().map(|e| e.0).collect();
        let whole = ends.len() == devices.len() && pairs.len() == ends.len() * (ends.len() - 1) / 2;
        match (whole, &pairs[..]) {
            (true, [pair]) => trunks.push(joined_by(context, pair, Grade::Inferred)),
            (true, several) => trunks.extend(unmanaged(context, &ends, several, found)),
            (false, several) => {
                let places = names(context, &ends).join(", ");
                let text = format!(
                    "{places}: they see each other, but not all of them all others; which are next to each other is ambiguous, let LLDP or CDP run there"
                );
                found.alarm(context.devices[several[0].ends[0].0].name, text);
                trunks.extend(several.iter().map(|pair| joined_by(context, pair, Grade::Ambiguous)));
            }
        }
    }
    trunks
}

fn names(context: &Context<'_, '_>, ends: &BTreeSet<&End>) -> Vec<String> {
    let mut names: Vec<String> = ends.iter().map(|(d, port)| format!("{} {}", context.devices[*d].name, port.name)).collect();
    names.sort_by_cached_key(|n| natural(n));
    names
}

fn joined_by(context: &Context<'_, '_>, pair: &Pair, grade: Grade) -> Trunk {
    let [a, b] = &pair.ends;
    let rates = [a, b].map(|(d, port)| context.devices[*d].rate(port));
    let ends = [a, b].map(|(d, port)| (context.devices[*d].name, port.clone()));
    cable(ends, rates, grade, pair.evidence.clone(), false)
}

/// Several ports on one segment: a bridge that says nothing of itself joins them.
fn unmanaged(context: &Context<'_, '_>, ends: &BTreeSet<&End>, pairs: &[&Pair], found: &mut Found) -> Vec<Trunk> {
    let places = names(context, ends);
    let name = format!("segment-{}", places[0].replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)), "-"));
    found.alarm(&name, format!("{}: all on one segment; an unmanaged bridge stands between, its rates are not known", places.join(", ")));
    found.node(&name, NodeKind::Unmanaged);
    let link = |(d, port): &&End| {
        let device = &context.devices[*d];
        let evidence = pairs.iter().filter(|p| p.ends.iter().any(|e| e.0 == *d && e.1 == *port)).flat_map(|p| p.evidence.clone()).collect();
        let far = Port { name: String::new(), index: None };
        cable([(device.name, port.clone()), (name.as_str(), far)], [device.rate(port), None], Grade::Inferred, evidence, false)
    };
    ends.iter().map(link).collect()
}
