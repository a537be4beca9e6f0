//! Shares the messages between groups out to phases, evenly.
//!
//! All messages are split between one half of the phases and the other half, each of these again,
//! and so on. A split by a share that is not whole leaves every flow a fraction. The fraction is
//! rounded up or down so that every set of the family also gets its share rounded up or down. The
//! fractions are a circulation: from a hub down the senders' sets, over the flow, up the receivers'
//! sets and back. Wherever a fraction meets a set there is a second one, so fractions form circles.
//! Pushing round a circle until one fraction is whole changes no other sum. Halves cost linear
//! time, because a circle of halves becomes whole at once.
use super::balance::SplitBalance;
use super::family::{LaminarFamily, NONE};
use super::groups::{GroupFlow, HostGroups};
use super::halves::FlowHalves;
use crate::random::SplitMix64;

/// The messages of each phase. For every set of the family, and so for every limit if the family is
/// safe, a phase gets the messages of the set divided by the phases, rounded up or down.
pub(super) fn split(groups: &HostGroups, family: &LaminarFamily) -> Vec<Vec<GroupFlow>> {
    let mut phases = Vec::with_capacity(groups.bound as usize);
    PhaseSplitter::new(groups, family).spread(groups.demand(), groups.bound, &mut phases);
    phases
}

/// A fraction between two sets, one of which may be the hub.
struct SplitArc {
    ends: [u32; 2],
    /// The size in parts; [`PhaseSplitter::whole`] parts are whole.
    part: u64,
}

struct PhaseSplitter<'a> {
    family: &'a LaminarFamily,
    /// Used where the family is not safe.
    balance: Option<SplitBalance<'a>>,
    /// For each two groups, row by row, the smallest sets of the messages from one to the other: as
    /// senders and as receivers.
    ends: Vec<[u32; 2]>,
    groups: usize,
    random: SplitMix64,
    whole: u64,
    /// The arcs, those of the flows first.
    arcs: Vec<SplitArc>,
    /// The two groups of each flow's arc, as the place of their row and column in `ends`.
    pairs: Vec<usize>,
    /// For each set as senders, each set as receivers, and the hub: an arc's end there, `2 * arc +
    /// end`, and after each such end the next.
    first: Vec<u32>,
    next: Vec<u32>,
    /// For each set, numbered as for `first`, the parts that it gets.
    parts: Vec<u64>,
    /// Bits of those sets, and of the hub, that have arcs. The others are skipped, because deep
    /// trees have many sets.
    touched: Vec<u64>,
    circle: ArcCircle,
    halves: FlowHalves,
}

/// The arcs walked so far, and the place in the walk where each set was met.
struct ArcCircle {
    walked: Vec<u32>,
    met: Vec<u32>,
}

impl<'a> PhaseSplitter<'a> {
    fn new(groups: &'a HostGroups, family: &'a LaminarFamily) -> PhaseSplitter<'a> {
        let sets = family.parent.len();
        let stops = 2 * sets + 1;
        let pairs = (0..groups.len()).flat_map(|from| (0..groups.len()).map(move |to| (from, to)));
        PhaseSplitter {
            family,
            balance: (!family.safe).then(|| SplitBalance::new(groups)),
            ends: pairs
                .map(|(from, to)| {
                    let turn = groups.turn(groups.spot[from], groups.spot[to]);
                    [family.set(from, turn), family.set(to, turn) + sets as u32]
                })
                .collect(),
            groups: groups.len(),
            random: SplitMix64::new(groups.bound),
            whole: 1,
            arcs: Vec::new(),
            pairs: Vec::new(),
            first: vec![NONE; stops],
            next: Vec::new(),
            parts: vec![0; stops],
            touched: vec![0; stops.div_ceil(64)],
            circle: ArcCircle {
                walked: Vec::new(),
                met: vec![NONE; stops],
            },
            halves: FlowHalves::new(family),
        }
    }

    /// Splits off the greatest power of two, because powers of two are halved to the end.
    fn spread(&mut self, flows: Vec<GroupFlow>, phases: u64, out: &mut Vec<Vec<GroupFlow>>) {
        if phases == 1 {
            return out.push(flows);
        }
        let share = 1 << (phases - 1).ilog2();
        // Halves weigh no limits: only a safe family keeps these by itself.
        let [these, those] = if phases == 2 * share && self.balance.is_none() {
            let (ends, groups) = (&self.ends, self.groups);
            self.halves.divide(
                &flows,
                |flow| ends[flow.from as usize * groups + flow.to as usize],
                self.family,
                &mut self.random,
            )
        } else {
            self.divide(&flows, share, phases).into()
        };
        drop(flows);
        self.spread(these, share, out);
        self.spread(those, phases - share, out);
    }

    /// Divides the flows into `share` of `whole` parts, and the rest.
    fn divide(
        &mut self,
        flows: &[GroupFlow],
        share: u64,
        whole: u64,
    ) -> (Vec<GroupFlow>, Vec<GroupFlow>) {
        // Each fraction is 1 part of 2 then, and a circle becomes whole at once.
        let (share, whole) = if whole == 2 * share {
            (1, 2)
        } else {
            (share, whole)
        };
        self.whole = whole;
        self.place(flows, share);
        self.round();
        let (mut these, mut those) = (
            Vec::with_capacity(flows.len()),
            Vec::with_capacity(flows.len()),
        );
        let mut rounded = self.arcs.iter();
        for &flow in flows {
            let (count, part) = cut(flow.count, share, whole);
            let up = part > 0 && rounded.next().is_some_and(|arc| arc.part == whole);
            let count = count + u32::from(up);
            if count > 0 {
                these.push(GroupFlow { count, ..flow });
            }
            if count < flow.count {
                those.push(GroupFlow {
                    count: flow.count - count,
                    ..flow
                });
            }
        }
        (these, those)
    }

    /// Lays out the arcs of every fraction.
    fn place(&mut self, flows: &[GroupFlow], share: u64) {
        self.clear();
        for flow in flows {
            let (_, part) = cut(flow.count, share, self.whole);
            if part > 0 {
                let pair = flow.from as usize * self.groups + flow.to as usize;
                let ends = self.ends[pair];
                self.pairs.push(pair);
                ends.iter()
                    .for_each(|&end| self.parts[end as usize] += part);
                self.arc(ends, part);
            }
        }
        let (sets, hub) = (self.family.parent.len(), 2 * self.family.parent.len());
        // A larger set has a larger number, so the parts passed on to it are still to come.
        let mut stop = 0;
        while let Some(next) = self.touched_from(stop).filter(|&stop| stop < hub) {
            let part = self.parts[next] % self.whole;
            if part > 0 {
                let receivers = if next < sets { 0 } else { sets };
                let above = match self.family.parent[next - receivers] {
                    NONE => hub,
                    parent => parent as usize + receivers,
                };
                self.parts[above] += part;
                self.arc(
                    if next < sets {
                        [above as u32, next as u32]
                    } else {
                        [next as u32, above as u32]
                    },
                    part,
                );
            }
            stop = next + 1;
        }
    }

    /// Forgets the arcs.
    fn clear(&mut self) {
        let mut stop = 0;
        while let Some(next) = self.touched_from(stop) {
            (self.first[next], self.parts[next]) = (NONE, 0);
            stop = next + 1;
        }
        self.touched.fill(0);
        self.arcs.clear();
        self.pairs.clear();
        self.next.clear();
    }

    /// The next stop that has arcs.
    fn touched_from(&self, stop: usize) -> Option<usize> {
        let first = (self.touched.get(stop / 64)? >> (stop % 64)) << (stop % 64);
        let rest = self.touched[stop / 64 + 1..].iter().copied();
        let found = std::iter::once(first)
            .chain(rest)
            .enumerate()
            .find(|(_, bits)| *bits != 0);
        found.map(|(word, bits)| (stop / 64 + word) * 64 + bits.trailing_zeros() as usize)
    }

    fn arc(&mut self, ends: [u32; 2], part: u64) {
        for stop in ends {
            self.next.push(self.first[stop as usize]);
            self.first[stop as usize] = self.next.len() as u32 - 1;
            self.touched[stop as usize / 64] |= 1 << (stop % 64);
        }
        self.arcs.push(SplitArc { ends, part });
    }

    /// Pushes round circles until every part is 0 or whole.
    fn round(&mut self) {
        self.balance.iter_mut().for_each(SplitBalance::reset);
        let mut start = 0;
        while let Some(next) = self.touched_from(start) {
            start = next + 1;
            let mut stop = next as u32;
            loop {
                let before = self.circle.walked.last().copied();
                let Some(end) = self.fraction_at(stop, before) else {
                    self.circle.met[stop as usize] = NONE;
                    break;
                };
                self.circle.met[stop as usize] = self.circle.walked.len() as u32;
                self.circle.walked.push(end);
                stop = self.arcs[end as usize / 2].ends[1 - end as usize % 2];
                let met = self.circle.met[stop as usize];
                if met != NONE {
                    self.push_round(met as usize);
                }
            }
        }
    }

    /// The first end from this one on whose arc is fractional.
    fn next_fraction(&self, mut end: u32) -> u32 {
        while end != NONE && [0, self.whole].contains(&self.arcs[end as usize / 2].part) {
            end = self.next[end as usize];
        }
        end
    }

    /// The end of a fractional arc at `stop`, other than the arc walked last.
    fn fraction_at(&mut self, stop: u32, before: Option<u32>) -> Option<u32> {
        let arrived = before.map(|end| end ^ 1);
        let mut end = self.next_fraction(self.first[stop as usize]);
        self.first[stop as usize] = end;
        if end == NONE || Some(end) != arrived {
            return Some(end).filter(|&end| end != NONE);
        }
        let kept = end;
        end = self.next_fraction(self.next[end as usize]);
        self.next[kept as usize] = end;
        Some(end).filter(|&end| end != NONE)
    }

    /// Pushes round the circle that begins at this step, and takes it out of the walk. Where both
    /// directions are possible, each is taken so often that the expected parts stay the same.
    fn push_round(&mut self, begin: usize) {
        let circle = self.circle.walked.split_off(begin);
        let (mut up, mut down) = (self.whole, self.whole);
        for &end in &circle {
            let part = self.arcs[end as usize / 2].part;
            let (more, less) = if end % 2 == 0 {
                (self.whole - part, part)
            } else {
                (part, self.whole - part)
            };
            (up, down) = (up.min(more), down.min(less));
        }
        let flows = circle
            .iter()
            .filter_map(|&end| Some((*self.pairs.get(end as usize / 2)?, end % 2 == 0)));
        let rise = match &mut self.balance {
            Some(balance) => balance.is_up(flows, up, down),
            None => self.random.below_wide(up + down) < down,
        };
        for &end in &circle {
            let arc = &mut self.arcs[end as usize / 2];
            self.circle.met[arc.ends[end as usize % 2] as usize] = NONE;
            match (end % 2 == 0, rise) {
                (true, true) => arc.part += up,
                (false, true) => arc.part -= up,
                (true, false) => arc.part -= down,
                (false, false) => arc.part += down,
            }
        }
    }
}

/// Cuts `count` times `share` of `whole` parts into whole ones and the remaining parts.
fn cut(count: u32, share: u64, whole: u64) -> (u32, u64) {
    if whole == 2 {
        // This is nearly always the case, and division is slow.
        return (count / 2, u64::from(count % 2));
    }
    let parts = u64::from(count) * share;
    ((parts / whole) as u32, parts % whole)
}
