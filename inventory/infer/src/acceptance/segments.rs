//! Cables from pairs of ends that share a segment. Two ports alone on a segment are the ends of a
//! cable. If more ports share one, a bridge that nobody asked joins them. Ends that cannot all be on
//! one segment have ambiguous neighbours.
use super::findings::{Additions, Findings};
use super::known::Known;
use crate::claims::{Claim, ClaimEnd};
use crate::facts::{DeviceIx, Facts};
use crate::learned_between::denies;
use crate::ranking::ClaimGrounds;
use crate::readers::segments::{OpenPorts, SegmentEnd, SegmentPair};
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::evidence::Evidence;
use inventory::natural_order::natural;
use inventory::topology::LinkGrade;
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The cables of all pairs.
pub(super) fn accept(known: &Known<'_>, pairs: Vec<SegmentPair>) -> Additions {
    let open = OpenPorts::new(known);
    let (pairs, unsure): (Vec<SegmentPair>, Vec<SegmentPair>) =
        pairs.into_iter().partition(|p| p.sure);
    let mut found = Findings::new(known);
    let all = unsure.iter();
    found.add_cables(all.flat_map(|pair| candidates(known.facts, pair)));
    for segment in segments(&pairs) {
        segment.settle(known, &open, &mut found);
    }
    found.done()
}

/// Ends that share a segment, by all pairs that say so.
struct Segment<'p> {
    ends: BTreeSet<&'p SegmentEnd>,
    pairs: Vec<&'p SegmentPair>,
}

fn segments(pairs: &[SegmentPair]) -> Vec<Segment<'_>> {
    let ends: BTreeSet<&SegmentEnd> = pairs.iter().flat_map(|p| &p.ends).collect();
    let number: HashMap<&SegmentEnd, usize> =
        ends.iter().enumerate().map(|(i, e)| (*e, i)).collect();
    let mut joined = UnionFind::new(ends.len());
    for pair in pairs {
        joined.union(number[&pair.ends[0]], number[&pair.ends[1]]);
    }
    let mut segments: BTreeMap<usize, Segment<'_>> = BTreeMap::new();
    for pair in pairs {
        let segment = segments
            .entry(joined.find(number[&pair.ends[0]]))
            .or_insert_with(|| Segment {
                ends: BTreeSet::new(),
                pairs: Vec::new(),
            });
        segment.ends.extend(&pair.ends);
        segment.pairs.push(pair);
    }
    segments.into_values().collect()
}

impl Segment<'_> {
    /// Finds what joins the ends.
    fn settle(&self, known: &Known<'_>, open: &OpenPorts<'_>, found: &mut Findings<'_, '_>) {
        let dark: Vec<&SegmentEnd> = self.dark().collect();
        let claims = match (self.is_whole(known.facts), &dark[..], &self.pairs[..]) {
            (true, [], [pair]) if open.may_be_cable(pair) => {
                vec![joined(known.facts, pair)]
            }
            (true, [], _) => return self.join_by_bridge(found),
            // A device that does not answer joins the others.
            (true, [SegmentEnd::Dark(nodes)], several) if nodes.len() == 1 => several
                .iter()
                .filter(|p| p.ends.contains(dark[0]))
                .map(|pair| joined(known.facts, pair))
                .collect(),
            (true, [SegmentEnd::Dark(a), SegmentEnd::Dark(b)], [pair])
                if a.len() == 1 && b.len() == 1 =>
            {
                vec![joined(known.facts, pair)]
            }
            (is_whole, _, _) => {
                if !is_whole {
                    found.add_alarms([self.unclear(known)]);
                }
                let pairs = self.pairs.iter();
                let all = pairs.flat_map(|pair| candidates(known.facts, pair));
                all.collect()
            }
        };
        found.add_cables(claims);
    }

    fn dark(&self) -> impl Iterator<Item = &SegmentEnd> {
        self.ends.iter().copied().filter(|e| e.device().is_none())
    }

    /// True if all ends can be on one segment: each device has one end there, and those that no
    /// pair joins directly do not deny it. Two ports that share a segment with a third one share it
    /// with each other, even if the device of one has not learned the other's.
    fn is_whole(&self, facts: &Facts<'_>) -> bool {
        let devices: BTreeSet<DeviceIx> = self.ends.iter().filter_map(|e| e.device()).collect();
        if self.ends.len() != devices.len() + self.dark().count() {
            return false;
        }
        let count = self.ends.len();
        if self.pairs.len() >= count * (count - 1) / 2 {
            return true;
        }
        let paired: BTreeSet<[&SegmentEnd; 2]> = self
            .pairs
            .iter()
            .flat_map(|p| [[&p.ends[0], &p.ends[1]], [&p.ends[1], &p.ends[0]]])
            .collect();
        let ends: Vec<&SegmentEnd> = self.ends.iter().copied().collect();
        let mut missing = (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
        missing.all(|(i, j)| {
            paired.contains(&[ends[i], ends[j]])
                || match (ends[i], ends[j]) {
                    (SegmentEnd::At(a, p), SegmentEnd::At(b, q)) => {
                        !denies(facts, (*a, *p), *b) && !denies(facts, (*b, *q), *a)
                    }
                    _ => false,
                }
        })
    }

    /// Several ports on one segment: an unmanaged bridge joins them.
    fn join_by_bridge(&self, found: &mut Findings<'_, '_>) {
        let ends: Vec<ClaimEnd> = self
            .ends
            .iter()
            .filter(|e| e.device().is_some())
            .map(|e| e.cable_end())
            .collect();
        found.join_by_bridge(&ends, |end| {
            let pairs = self.pairs.iter();
            let own = pairs.filter(|p| p.ends.iter().any(|e| e.cable_end() == *end));
            own.flat_map(|p| p.evidence.clone()).collect()
        });
    }

    /// The alarm about ends that cannot all be on one segment.
    fn unclear(&self, known: &Known<'_>) -> Alarm {
        let mut names: Vec<String> = self.ends.iter().map(|end| end.label(known)).collect();
        names.sort_by_cached_key(|n| natural(n));
        let first = self.pairs[0].ends.iter().find_map(SegmentEnd::device);
        let subject = first.map_or(AlarmSubject::other("segment"), |d| {
            AlarmSubject::node(&known.facts[d].name)
        });
        let kind = AlarmKind::SegmentUnclear { places: names };
        Alarm { subject, kind }
    }
}

/// All cables that a pair may be.
fn candidates(facts: &Facts<'_>, pair: &SegmentPair) -> Vec<Claim> {
    let [a, b] = pair.ends.each_ref().map(|end| match end {
        SegmentEnd::At(..) => vec![end.cable_end()],
        SegmentEnd::Dark(nodes) => nodes.iter().map(|n| ClaimEnd::somewhere(*n)).collect(),
    });
    let pairs = a
        .iter()
        .flat_map(|x| b.iter().map(move |y| [x.clone(), y.clone()]));
    pairs
        .map(|ends| {
            let evidence: Vec<Evidence> = pair.evidence.clone();
            Claim::new(facts, ends, ClaimGrounds::FacingInDoubt, evidence)
        })
        .collect()
}

/// The cable of a pair.
pub(super) fn joined(facts: &Facts<'_>, pair: &SegmentPair) -> Claim {
    let ends = pair.ends.each_ref().map(SegmentEnd::cable_end);
    let mut claim = Claim::new(facts, ends, pair.grounds, pair.evidence.clone());
    claim.lower(LinkGrade::Inferred);
    claim
}
