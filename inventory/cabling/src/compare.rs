//! Compares a plan with the network. An ambiguous cable is never a difference by itself; an
//! inferred cable is marked as inferred.
use super::found_cables::{CabledNetwork, FoundCable, network};
use super::pairing::pair;
use super::report::{CablingFinding, CablingReport, FindingKind};
use super::{Cable, CableEnd, CablingPlan, fits};
use inventory::BitsPerSec;
use inventory::topology::{LinkGrade, LinkState, NodeKind, Topology};
use petgraph::unionfind::UnionFind;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// The differences between the network and the plan. If a plan names no host of the network, only
/// the other cables are compared. If a plan states no states, one cable of every planned loop may
/// be blocked.
pub fn compare(plan: &CablingPlan, topology: &Topology) -> CablingReport {
    if plan.plain {
        compare_named(plan, &topology.with_plain_names())
    } else {
        compare_named(plan, topology)
    }
}

/// The comparison, if plan and network have the same names for the nodes.
fn compare_named(plan: &CablingPlan, topology: &Topology) -> CablingReport {
    let CabledNetwork {
        cables: found,
        left_out,
    } = network(plan, topology);
    let pairs = pair(&plan.cables, &found);
    let mut report = CablingReport {
        planned: plan.cables.len(),
        ..CablingReport::default()
    };
    let spare = spare(&plan.cables, &found, &pairs);
    for (planned, pair) in plan.cables.iter().zip(&pairs) {
        let Some(i) = *pair else { continue };
        let before = report.differences.len();
        judge(planned, &found[i], spare.contains(&i), &mut report);
        report.as_planned += usize::from(report.differences.len() == before);
    }
    let paired: HashSet<usize> = pairs.iter().flatten().copied().collect();
    let mut rest = UnmatchedCables::new(
        topology,
        plan.cables
            .iter()
            .zip(&pairs)
            .filter(|(_, pair)| pair.is_none())
            .map(|(cable, _)| cable)
            .collect(),
        found
            .iter()
            .enumerate()
            .filter(|(i, _)| !paired.contains(i))
            .map(|(_, f)| f)
            .collect(),
    );
    // The narrowest explanation first: an exchange would also be two moves, and a move a missing
    // cable and an extra one.
    rest.swapped(&mut report);
    rest.moved(&mut report);
    rest.missing(&mut report);
    rest.extra(&mut report);
    report
        .notes
        .extend(left_out.into_iter().map(|text| CablingFinding {
            kind: FindingKind::Unconfirmed,
            grade: LinkGrade::Certain,
            planned: vec![],
            found: vec![],
            text,
        }));
    report.differences.sort_by_key(|f| f.kind);
    report.notes.sort_by_key(|f| f.kind);
    report
}

/// The found cables that are blocked although the other planned cables still connect their ends. If
/// the plan has a loop, spanning tree must block one cable of it, and it chooses which one.
fn spare(planned: &[Cable], found: &[FoundCable], pairs: &[Option<usize>]) -> HashSet<usize> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for cable in planned {
        for (node, _) in cable.ends() {
            let next = numbers.len();
            numbers.entry(node).or_insert(next);
        }
    }
    let mut parts = UnionFind::new(numbers.len());
    for (cable, _) in planned
        .iter()
        .zip(pairs)
        .filter(|(c, p)| c.state != Some(LinkState::Blocked) && !is_blocked(p, found))
    {
        parts.union(numbers[cable.a.as_str()], numbers[cable.b.as_str()]);
    }
    planned
        .iter()
        .zip(pairs)
        .filter(|(c, p)| {
            is_blocked(p, found)
                && parts.find(numbers[c.a.as_str()]) == parts.find(numbers[c.b.as_str()])
        })
        .filter_map(|(_, pair)| *pair)
        .collect()
}

fn is_blocked(pair: &Option<usize>, found: &[FoundCable]) -> bool {
    pair.is_some_and(|i| found[i].cable.state == Some(LinkState::Blocked))
}

/// Adds the findings about a planned cable that is present.
fn judge(planned: &Cable, found: &FoundCable, spare: bool, report: &mut CablingReport) {
    let cable = &found.cable;
    if found.grade == LinkGrade::Ambiguous {
        let text = "planned, and one of several readings of what is found".to_owned();
        let finding = found_otherwise(FindingKind::Unconfirmed, &text, planned, found);
        report.notes.push(finding);
        return;
    }
    for (end, there) in planned.ends().into_iter().zip(cable.ends()) {
        if !end.1.is_empty() && there.1.is_empty() {
            let (node, port) = end;
            let text = format!("planned at {node} ({port}), found at a port nobody names");
            let finding = found_otherwise(FindingKind::Unconfirmed, &text, planned, found);
            report.notes.push(finding);
        }
    }
    let state = state_finding(planned.state, cable.state, spare);
    let rate = planned
        .rate_bps
        .and_then(|wanted| rate_finding(wanted, cable.rate_bps));
    for (weight, kind, text) in rate.into_iter().chain(state) {
        let list = match weight {
            FindingWeight::Difference => &mut report.differences,
            FindingWeight::Note => &mut report.notes,
        };
        list.push(found_otherwise(kind, &text, planned, found));
    }
}

fn found_otherwise(
    kind: FindingKind,
    text: &str,
    planned: &Cable,
    found: &FoundCable,
) -> CablingFinding {
    CablingFinding {
        kind,
        grade: found.grade,
        planned: vec![planned.clone()],
        found: vec![found.cable.clone()],
        text: format!("{}: {text}", found.cable),
    }
}

/// The list of a report that a finding goes to.
enum FindingWeight {
    Difference,
    Note,
}

type WeighedFinding = (FindingWeight, FindingKind, String);

fn rate_finding(wanted: BitsPerSec, found: Option<BitsPerSec>) -> Option<WeighedFinding> {
    let Some(rate) = found else {
        let text = format!("planned {wanted}, found at a rate neither end says");
        return Some((FindingWeight::Note, FindingKind::Unconfirmed, text));
    };
    let text = format!("planned {wanted}, found {rate}");
    match rate.cmp(&wanted) {
        Ordering::Less => Some((FindingWeight::Difference, FindingKind::Slower, text)),
        Ordering::Greater => Some((FindingWeight::Note, FindingKind::Faster, text)),
        Ordering::Equal => None,
    }
}

fn state_finding(
    planned: Option<LinkState>,
    found: Option<LinkState>,
    spare: bool,
) -> Option<WeighedFinding> {
    let (weight, kind, text) = match (planned, found?) {
        (Some(LinkState::Forwarding), LinkState::Blocked) => (
            FindingWeight::Difference,
            FindingKind::Blocked,
            "planned forwarding, found blocked",
        ),
        (None, LinkState::Blocked) if spare => (
            FindingWeight::Note,
            FindingKind::Blocked,
            "planned in a loop, found blocked by spanning tree",
        ),
        (None, LinkState::Blocked) => (
            FindingWeight::Difference,
            FindingKind::Blocked,
            "planned forwarding, as no other planned cable takes its place, found blocked",
        ),
        (Some(LinkState::Blocked), LinkState::Forwarding) => (
            FindingWeight::Difference,
            FindingKind::Forwarding,
            "planned blocked, found forwarding",
        ),
        _ => return None,
    };
    Some((weight, kind, text.to_owned()))
}

/// Planned cables that are missing, and found cables that are not planned.
struct UnmatchedCables<'a> {
    topology: &'a Topology,
    hosts: HashSet<&'a str>,
    planned: Vec<&'a Cable>,
    found: Vec<&'a FoundCable>,
    /// By planned cable: true if it is already reported.
    planned_done: Vec<bool>,
    found_done: Vec<bool>,
    planned_at: HashMap<&'a str, Vec<usize>>,
    found_at: HashMap<&'a str, Vec<usize>>,
}

impl<'a> UnmatchedCables<'a> {
    fn new(topology: &'a Topology, planned: Vec<&'a Cable>, found: Vec<&'a FoundCable>) -> Self {
        let mut rest = UnmatchedCables {
            topology,
            hosts: topology.names(NodeKind::Host).collect(),
            planned_done: vec![false; planned.len()],
            found_done: vec![false; found.len()],
            planned_at: HashMap::new(),
            found_at: HashMap::new(),
            planned,
            found,
        };
        for (i, cable) in rest.planned.iter().enumerate() {
            cable
                .ends()
                .into_iter()
                .for_each(|(node, _)| rest.planned_at.entry(node).or_default().push(i));
        }
        for (i, found) in rest.found.iter().enumerate() {
            found
                .cable
                .ends()
                .into_iter()
                .for_each(|(node, _)| rest.found_at.entry(node).or_default().push(i));
        }
        rest
    }

    /// Planned cables that are not reported yet and have an end that may be this one, each with its
    /// other end.
    fn planned_with<'s>(
        &'s self,
        end: CableEnd<'s>,
    ) -> impl Iterator<Item = (usize, CableEnd<'a>)> + 's {
        let at = self.planned_at.get(end.0).into_iter().flatten();
        at.filter(|&&i| !self.planned_done[i])
            .filter_map(move |&i| Some((i, across(self.planned[i], end)?)))
    }

    /// Found cables that are not reported yet, not ambiguous, and have an end that may be this one,
    /// each with its other end.
    fn found_with<'s>(
        &'s self,
        end: CableEnd<'s>,
    ) -> impl Iterator<Item = (usize, CableEnd<'a>)> + 's {
        let at = self.found_at.get(end.0).into_iter().flatten();
        let open =
            at.filter(|&&i| !self.found_done[i] && self.found[i].grade != LinkGrade::Ambiguous);
        open.filter_map(move |&i| Some((i, across(&self.found[i].cable, end)?)))
    }

    fn tell(
        &mut self,
        kind: FindingKind,
        planned: &[usize],
        found: &[usize],
        report: &mut CablingReport,
    ) {
        planned.iter().for_each(|&i| self.planned_done[i] = true);
        found.iter().for_each(|&i| self.found_done[i] = true);
        let planned: Vec<Cable> = planned.iter().map(|&i| self.planned[i].clone()).collect();
        let grade = found
            .iter()
            .map(|&i| self.found[i].grade)
            .max()
            .unwrap_or(LinkGrade::Certain);
        let found: Vec<Cable> = found.iter().map(|&i| self.found[i].cable.clone()).collect();
        let text = format!(
            "planned {}; found {}",
            listed(&planned, " and "),
            listed(&found, " and ")
        );
        report.differences.push(CablingFinding {
            kind,
            grade,
            planned,
            found,
            text,
        });
    }

    /// Two planned cables with two other cables between their ends.
    fn swapped(&mut self, report: &mut CablingReport) {
        for p in 0..self.planned.len() {
            if let Some((q, f, g)) = self.swap_of(p) {
                self.tell(FindingKind::Swapped, &[p, q], &[f.min(g), f.max(g)], report);
            }
        }
    }

    fn swap_of(&self, p: usize) -> Option<(usize, usize, usize)> {
        if self.planned_done[p] {
            return None;
        }
        // A swap is visible from each of its ends: the end with fewer cables is used.
        let [x, y] = self.planned[p].ends();
        let (kept, lost) = if self.cables_found_at(x) <= self.cables_found_at(y) {
            (x, y)
        } else {
            (y, x)
        };
        for (f, other) in self.found_with(kept) {
            for (q, far) in self.planned_with(other).filter(|(q, _)| *q != p) {
                if let Some((g, _)) = self
                    .found_with(far)
                    .find(|(g, end)| *g != f && fits(*end, lost))
                {
                    return Some((q, f, g));
                }
            }
        }
        None
    }

    fn cables_found_at(&self, end: CableEnd<'_>) -> usize {
        self.found_at.get(end.0).map_or(0, Vec::len)
    }

    /// One end is as planned, at its host or named port, and the other is elsewhere; or the same
    /// two nodes are connected by other ports.
    fn moved(&mut self, report: &mut CablingReport) {
        for p in 0..self.planned.len() {
            if self.planned_done[p] {
                continue;
            }
            let [x, y] = self.planned[p].ends();
            let anchored = [x, y].into_iter().find_map(|end| match end {
                (host, _) if self.hosts.contains(host) => self.found_with(end).next(),
                (_, "") => None,
                _ => self
                    .found_with(end)
                    .find(|(f, _)| self.found[*f].cable.ends().contains(&end)),
            });
            if let Some((f, _)) =
                anchored.or_else(|| self.found_with((x.0, "")).find(|(_, other)| other.0 == y.0))
            {
                self.tell(FindingKind::Moved, &[p], &[f], report);
            }
        }
    }

    fn missing(&self, report: &mut CablingReport) {
        let nodes: HashMap<&str, bool> = self
            .topology
            .nodes
            .iter()
            .map(|n| (n.name.as_str(), n.stale))
            .collect();
        for (_, cable) in self
            .planned
            .iter()
            .enumerate()
            .filter(|(p, _)| !self.planned_done[*p])
        {
            let perhaps = self.readings(cable);
            let unknown = cable
                .ends()
                .into_iter()
                .map(|(node, _)| node)
                .find(|n| !nodes.contains_key(n));
            let silent = cable
                .ends()
                .into_iter()
                .map(|(node, _)| node)
                .find(|n| nodes.get(n) == Some(&true));
            let rate = cable.rate_bps.map(|r| format!(", {r}")).unwrap_or_default();
            let (why, grade) = match (unknown, silent) {
                _ if !perhaps.is_empty() => (
                    format!("nothing certain; perhaps {}", listed(&perhaps, " or ")),
                    LinkGrade::Ambiguous,
                ),
                (Some(node), _) => (format!("no \"{node}\" in the network"), LinkGrade::Certain),
                (None, Some(node)) => (
                    format!("none, but \"{node}\" does not answer"),
                    LinkGrade::Ambiguous,
                ),
                (None, None) => ("none".to_owned(), LinkGrade::Certain),
            };
            let text = format!("planned {cable}{rate}; found {why}");
            let planned = vec![(*cable).clone()];
            report.differences.push(CablingFinding {
                kind: FindingKind::Missing,
                grade,
                planned,
                found: perhaps,
                text,
            });
        }
    }

    /// Ambiguous cables at the host, or the named port, of a missing one.
    fn readings(&self, missing: &Cable) -> Vec<Cable> {
        let mut readings: Vec<Cable> = Vec::new();
        for end in missing
            .ends()
            .into_iter()
            .filter(|end| self.hosts.contains(end.0) || !end.1.is_empty())
        {
            let at = self
                .found_at
                .get(end.0)
                .into_iter()
                .flatten()
                .map(|&i| self.found[i]);
            let fitting = at
                .filter(|f| f.grade == LinkGrade::Ambiguous && across(&f.cable, end).is_some())
                .map(|f| &f.cable);
            for cable in fitting {
                if !readings.contains(cable) {
                    readings.push(cable.clone());
                }
            }
        }
        readings
    }

    fn extra(&self, report: &mut CablingReport) {
        for (_, &found) in self
            .found
            .iter()
            .enumerate()
            .filter(|(i, _)| !self.found_done[*i])
        {
            let rate = found
                .cable
                .rate_bps
                .map(|r| format!(", {r}"))
                .unwrap_or_default();
            match found.grade {
                LinkGrade::Ambiguous => report.notes.push(not_planned(
                    format!("perhaps {}{rate}; not planned", found.cable),
                    found,
                )),
                _ => report.differences.push(not_planned(
                    format!("found {}{rate}; not planned", found.cable),
                    found,
                )),
            }
        }
    }
}

fn not_planned(text: String, found: &FoundCable) -> CablingFinding {
    CablingFinding {
        kind: FindingKind::Extra,
        grade: found.grade,
        planned: vec![],
        found: vec![found.cable.clone()],
        text,
    }
}

/// The other end of a cable that has this end; `None` if the cable has another end.
fn across<'c>(cable: &'c Cable, end: CableEnd<'_>) -> Option<CableEnd<'c>> {
    let [x, y] = cable.ends();
    match () {
        () if fits(x, end) => Some(y),
        () if fits(y, end) => Some(x),
        () => None,
    }
}

fn listed(cables: &[Cable], between: &str) -> String {
    cables
        .iter()
        .map(Cable::to_string)
        .collect::<Vec<_>>()
        .join(between)
}
