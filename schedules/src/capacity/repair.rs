//! Makes phases keep every limit where an even share does not.
//!
//! Messages beyond a limit are taken out of their phase and put into a phase that has room for
//! them. Where no phase has room, they go where they push out the fewest other messages. Those then
//! look for a place themselves, and do not return soon to the phase they came from. When that fails
//! for too long, one more phase is added.
//!
//! Guarantee: every limit is kept. The number of phases is not guaranteed, but measured in the
//! tests.
use super::groups::{GroupFlow, HostGroups, LimitNumber};
use crate::random::SplitMix64;

/// The number of phases tried for a message that fits nowhere.
const LOOKED_AT: usize = 256;
/// The number of pushed-out messages that are remembered.
const REMEMBERED: usize = 24;
/// The number of placements before there are more phases: a constant, and a factor for the messages
/// taken out at first. A thousandth of the phases is added, or one. Once there are a hundredth
/// more, the phases are doubled, so that the search ends.
const TRIES: (u64, u64) = (4_000, 2);

/// The phases, repaired.
pub(super) fn repair(groups: &HostGroups, phases: Vec<Vec<GroupFlow>>) -> Vec<Vec<GroupFlow>> {
    let mut repair = PhaseRepair::new(groups, phases);
    let tries = TRIES.0 + TRIES.1 * repair.homeless.len() as u64;
    loop {
        for _ in 0..tries {
            if repair.homeless.is_empty() {
                return repair.phases;
            }
            repair.place_one();
        }
        let more = repair.phases.len() as u64 - groups.bound;
        let step = if more <= groups.bound / 100 {
            (groups.bound / 1000).max(1)
        } else {
            more
        };
        (0..step).for_each(|_| repair.add_phase());
    }
}

/// One message from group to group.
type GroupMessage = (u32, u32);

struct PhaseRepair<'a> {
    groups: &'a HostGroups,
    phases: Vec<Vec<GroupFlow>>,
    /// For each 64 phases and each limit, a bit for each phase in which the limit is reached.
    full: Vec<u64>,
    homeless: Vec<GroupMessage>,
    /// The messages pushed out last, and their phases.
    remembered: [(usize, GroupMessage); REMEMBERED],
    pushed_out: usize,
    random: SplitMix64,
    /// For each limit its use in the current phase.
    used: Vec<u64>,
    way: Vec<LimitNumber>,
}

impl<'a> PhaseRepair<'a> {
    fn new(groups: &'a HostGroups, phases: Vec<Vec<GroupFlow>>) -> PhaseRepair<'a> {
        let mut repair = PhaseRepair {
            groups,
            full: vec![0; phases.len().div_ceil(64) * groups.limits()],
            phases,
            homeless: Vec::new(),
            remembered: [(usize::MAX, (0, 0)); REMEMBERED],
            pushed_out: 0,
            random: SplitMix64::new(groups.bound),
            used: vec![0; groups.limits()],
            way: Vec::new(),
        };
        (0..repair.phases.len()).for_each(|phase| repair.settle(phase, None));
        repair
    }

    fn add_phase(&mut self) {
        self.phases.push(Vec::new());
        self.full
            .resize(self.phases.len().div_ceil(64) * self.groups.limits(), 0);
    }

    /// Finds a place for one of the messages without a phase.
    fn place_one(&mut self) {
        let pick = self.random.below_wide(self.homeless.len() as u64) as usize;
        let one = self.homeless.swap_remove(pick);
        let mut way = std::mem::take(&mut self.way);
        self.groups
            .limits_between(one.0 as usize, one.1 as usize, &mut way);
        let phase = self
            .with_room(&way)
            .unwrap_or_else(|| self.least_full(&way, one));
        self.way = way;
        match self.phases[phase]
            .iter_mut()
            .find(|flow| (flow.from, flow.to) == one)
        {
            Some(flow) => flow.count += 1,
            None => self.phases[phase].push(GroupFlow {
                from: one.0,
                to: one.1,
                count: 1,
            }),
        }
        self.settle(phase, Some(one));
    }

    /// A phase in which no limit on the path is reached.
    fn with_room(&mut self, way: &[LimitNumber]) -> Option<usize> {
        let words = self.phases.len().div_ceil(64);
        let start = self.random.below_wide(words as u64) as usize;
        (start..words).chain(0..start).find_map(|word| {
            let last = self.phases.len() - word * 64;
            // The last word may have more bits than there are phases.
            let exist = if last >= 64 {
                u64::MAX
            } else {
                (1 << last) - 1
            };
            let full = way.iter().fold(0, |full, limit| {
                full | self.full[word * self.groups.limits() + limit]
            });
            (exist & !full != 0).then(|| word * 64 + (exist & !full).trailing_zeros() as usize)
        })
    }

    /// Of some phases the one in which the fewest limits on the path are reached.
    fn least_full(&mut self, way: &[LimitNumber], one: GroupMessage) -> usize {
        let barred: Vec<usize> = self
            .remembered
            .iter()
            .filter(|(_, other)| *other == one)
            .map(|&(phase, _)| phase)
            .collect();
        let count = self.phases.len();
        let start = self.random.below_wide(count as u64) as usize;
        let looked_at = (0..count.min(LOOKED_AT))
            .map(|step| (start + step * (count / LOOKED_AT).max(1)) % count);
        let least = looked_at.min_by_key(|&phase| {
            let bits = &self.full[phase / 64 * self.groups.limits()..];
            let full = way
                .iter()
                .filter(|&&limit| bits[limit] >> (phase % 64) & 1 == 1);
            full.count() + if barred.contains(&phase) { 3 } else { 0 }
        });
        least.unwrap_or(0)
    }

    /// Takes the messages beyond the limits out of a phase, but not `newcomer` if that can be
    /// avoided.
    fn settle(&mut self, phase: usize, newcomer: Option<GroupMessage>) {
        let mut flows = std::mem::take(&mut self.phases[phase]);
        self.used.fill(0);
        for flow in &flows {
            self.groups
                .limits_between(flow.from as usize, flow.to as usize, &mut self.way);
            self.way
                .iter()
                .for_each(|&limit| self.used[limit] += u64::from(flow.count));
        }
        while let Some(out) = self.most_in_the_way(&flows, newcomer) {
            let one = (flows[out].from, flows[out].to);
            self.groups
                .limits_between(one.0 as usize, one.1 as usize, &mut self.way);
            self.way.iter().for_each(|&limit| self.used[limit] -= 1);
            flows[out].count -= 1;
            if flows[out].count == 0 {
                flows.swap_remove(out);
            }
            self.homeless.push(one);
            self.remembered[self.pushed_out % REMEMBERED] = (phase, one);
            self.pushed_out += 1;
        }
        self.phases[phase] = flows;
        let bits = &mut self.full[phase / 64 * self.groups.limits()..];
        for (limit, (&used, bits)) in self.used.iter().zip(bits).enumerate() {
            let full = u64::from(used >= self.groups.capacity(limit));
            *bits = *bits & !(1 << (phase % 64)) | full << (phase % 64);
        }
    }

    /// The flow that exceeds the most limits, if one does. A flow between the same groups as the
    /// newcomer is taken only if it is the only one.
    fn most_in_the_way(
        &mut self,
        flows: &[GroupFlow],
        newcomer: Option<GroupMessage>,
    ) -> Option<usize> {
        let mut worst = None;
        for (index, flow) in flows.iter().enumerate() {
            self.groups
                .limits_between(flow.from as usize, flow.to as usize, &mut self.way);
            let exceeded = self
                .way
                .iter()
                .filter(|limit| self.used[**limit] > self.groups.capacity(**limit))
                .count();
            if exceeded > 0 {
                let key = (
                    // `true` is the greater one: the newcomer is the last to go.
                    newcomer != Some((flow.from, flow.to)),
                    exceeded,
                    self.random.next(),
                );
                worst = worst.max(Some((key, index)));
            }
        }
        worst.map(|(_, index)| index)
    }
}
