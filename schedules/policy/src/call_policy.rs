//! The one place that decides which way a call goes.
//!
//! Input: a decision table for the process set, what somebody forces, what earlier jobs learned, and the
//! times of this job's calls. Guarantee: ranks that receive the same decide the same, so the ways of a call
//! need no agreement. A way is planned when a call first is to go it: until then a decision says which way that is
//! likely to be.
#[cfg(test)]
mod tests;

use crate::call_time::{AlltoallTime, GatherTime};
use crate::decision_table::{Collective, CollectiveTraffic, DecisionTable};
use crate::forced::{ForcedWays, ReductionOrder};
use crate::learned::{LearnedPlace, LearnedTiming};
use crate::learning::{
    self, CallClass, CallLearner, CandidateGrounds, CandidateWay, LearningBudget, WayQuestion,
};
use crate::ways::{DataCarrier, HostTraits, PlannedPart, WAYS, Way};
use inventory::{Bytes, counted};
use schedules::transfers::part::RankPart;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The knowledge of the ways of a process set before a job tries any; by default nothing, and calls go the
/// library's way.
#[derive(Debug, Default)]
pub struct PolicyGrounds {
    /// The number of the epoch.
    pub epoch: u64,
    /// The ways by size, under the library of the job.
    pub table: DecisionTable,
    /// The ways that somebody forces.
    pub force: ForcedWays,
    /// The figures of earlier jobs at this place, if this one learns.
    pub learned: Option<Vec<LearnedTiming>>,
    /// True if each host's address is known, so that calls can go over TCP.
    pub has_addresses: bool,
    /// The traits of its hosts.
    pub hosts: HostTraits,
    /// The expected times of its all-to-alls.
    pub time: Option<AlltoallTime>,
    /// Those of its allgathers.
    pub gathers: Option<GatherTime>,
}

/// The ways that one rank has planned.
#[derive(Debug)]
struct PlannedWays {
    /// By way, over MPI where it has a choice: those that a call was to go.
    parts: Vec<(Way, PlannedPart)>,
    ring: Vec<u32>,
    digest: u64,
}

/// A call, as far as all ranks know it.
#[derive(Debug, Clone, Copy)]
pub struct PolicyCall {
    pub collective: Collective,
    /// Octets of a block; the mean where they differ.
    pub block: u64,
    /// True if no block is far larger than the mean.
    pub is_even: bool,
    /// True if its result depends on its way: after the first calls that changes only where it has to.
    pub is_steady: bool,
}

/// The decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallDecision {
    pub way: Way,
    /// The way in its place where it needs connections that cannot be had. None of a way that is learned:
    /// it is refused then ([`CallPolicy::refuse`]), and another decision is asked for.
    pub fallback: Option<Way>,
    /// The class for which the time of the call counts, if ways are learned.
    pub class: Option<CallClass>,
}

/// The policy of a process set: what it starts from, what it has planned, and what it learns.
#[derive(Debug, Default)]
pub struct CallPolicy {
    grounds: PolicyGrounds,
    /// The ways that a decision may take, over MPI where they have a choice.
    possible: Vec<Way>,
    planned: Option<PlannedWays>,
    learner: CallLearner,
    place: Option<LearnedPlace>,
    /// The last kind of calls that the table or somebody decided, and how many came before.
    row: Option<(Collective, u64, u64)>,
}

impl CallPolicy {
    /// Decides on these grounds from now on, at a place. True if that is another place: what calls taught at
    /// the same one holds; at another, learning begins anew with this budget.
    pub fn follow(
        &mut self,
        grounds: PolicyGrounds,
        place: LearnedPlace,
        budget: LearningBudget,
    ) -> bool {
        let has_moved = self.place.as_ref() != Some(&place);
        if has_moved {
            self.learner = CallLearner::new(budget);
            self.place = Some(place);
        }
        self.possible = grounds.possible_ways();
        (self.grounds, self.planned) = (grounds, None);
        has_moved
    }

    /// All calls go the library's way. Learned times stay.
    pub fn stand_aside(&mut self) {
        self.possible.clear();
        (self.grounds, self.planned) = (PolicyGrounds::default(), None);
    }

    /// Keeps the rank's part of a way that lacked a plan, of ranks in the order of this ring.
    pub fn keep_plan(&mut self, way: Way, part: PlannedPart, ring: &[u32]) {
        let PolicyGrounds {
            epoch,
            force,
            table,
            ..
        } = &self.grounds;
        let way = way.with_carrier(DataCarrier::Mpi);
        let planned = self.planned.get_or_insert_with(|| PlannedWays {
            parts: Vec::new(),
            ring: ring.to_vec(),
            digest: digest_of((epoch, force, table, ring)),
        });
        planned.digest = digest_of((planned.digest, way, part.digest));
        planned.parts.push((way, part));
    }

    /// True if a decision may take a way that is not planned yet.
    pub fn lacks_plan(&self, way: Way) -> bool {
        let way = way.with_carrier(DataCarrier::Mpi);
        self.possible.contains(&way) && self.planned(way).is_none()
    }

    /// The ways that lack a plan.
    pub fn unplanned(&self) -> Vec<Way> {
        let ways = self.possible.iter().copied();
        ways.filter(|&way| self.lacks_plan(way)).collect()
    }

    /// True once it keeps a plan.
    pub fn is_planned(&self) -> bool {
        self.planned.is_some()
    }

    /// The same on all ranks that made the same plan; 0 before.
    pub fn digest(&self) -> u64 {
        self.planned.as_ref().map_or(0, |planned| planned.digest)
    }

    /// The newest plan, as the end of a line: `aapc, 4 phases`, `lg among 2 clusters, 3 steps`.
    pub fn summary(&self) -> String {
        let planned = self.planned.as_ref();
        match planned.and_then(|planned| planned.parts.last()) {
            None => String::new(),
            Some((
                _,
                PlannedPart {
                    note: Some(note), ..
                },
            )) => note.clone(),
            Some((way, PlannedPart { phases: 0, .. })) => way.to_string(),
            Some((way, part)) => format!("{way}, {}", counted(part.phases, "phase")),
        }
    }

    /// The ranks in the order of the ring, once they have planned.
    pub fn ring(&self) -> &[u32] {
        self.planned.as_ref().map_or(&[], |planned| &planned.ring)
    }

    /// A way as it is planned; `None` where no call was to go it.
    fn planned(&self, way: Way) -> Option<&PlannedPart> {
        let way = way.with_carrier(DataCarrier::Mpi);
        let parts = &self.planned.as_ref()?.parts;
        let planned = parts.iter().find(|(known, _)| *known == way);
        planned.map(|(_, part)| part)
    }

    /// This rank's part of a way's schedule, in as many as its barriers divide it into; none where no call was to
    /// go it.
    pub fn parts(&self, way: Way) -> &[RankPart] {
        let parts = self.planned(way).and_then(|part| part.parts.as_ref());
        parts.map_or(&[], Vec::as_slice)
    }

    /// True if this communicator can go a way with blocks of this size, connections or not, as far as that is known
    /// before it is planned.
    pub fn can(&self, way: Way, block: u64) -> bool {
        let planned = self.planned(way);
        way == Way::Native
            || planned.map_or_else(|| self.lacks_plan(way), |part| part.holds(Bytes(block)))
    }

    /// The decision on a call: the way to learn by it, or else that of the table, or the forced one.
    pub fn decide(&mut self, call: &PolicyCall) -> CallDecision {
        let class = CallClass::new(call.collective, call.block);
        let learned = match call.is_steady {
            true => (self.learner).steady_way(class, || self.grounds.candidates(call)),
            false => (self.learner).way(class, || self.grounds.candidates(call)),
        };
        if let Some(way) = learned {
            return CallDecision {
                way,
                fallback: None,
                class: Some(class),
            };
        }
        let PolicyCall {
            collective, block, ..
        } = *call;
        let before = self.alike_before(collective, block);
        let way = self.decided_way(collective, block, before);
        // A call whose way has to be planned is decided again.
        if self.is_planned() && !self.lacks_plan(way) && self.takes_part(collective) {
            self.row = Some((collective, block, before));
        }
        let fallback = self.way_without_tcp(collective, block, way);
        let may_go = !self.is_planned() || self.may_connect(collective);
        CallDecision {
            way: if may_go { way } else { fallback },
            fallback: Some(fallback),
            class: None,
        }
    }

    /// The calls of this kind that came just before.
    fn alike_before(&self, collective: Collective, block: u64) -> u64 {
        let row = self
            .row
            .filter(|&(of, size, _)| (of, size) == (collective, block));
        row.map_or(0, |(_, _, before)| before + 1)
    }

    /// The way of the table, or the forced one, of a call before which so many of its kind came one after the
    /// other. Before anything is planned, that other than the library's which it may go.
    pub fn decided_way(&self, collective: Collective, block: u64, calls: u64) -> Way {
        let PolicyGrounds { table, force, .. } = &self.grounds;
        if !self.is_planned() {
            let mut forced = force.ways(collective).iter().copied();
            let other = forced.clone().find(|way| *way != Way::Native);
            let forced = other.or_else(|| forced.next());
            return forced.unwrap_or_else(|| table.choose(collective, Bytes(block)));
        }
        let forced = force.way(collective, Bytes(block), calls);
        forced
            .filter(|&way| self.can(way, block))
            .unwrap_or_else(|| {
                self.instead(table.choose_where(collective, Bytes(block), |way| {
                    self.can(self.instead(way), block)
                }))
            })
    }

    /// The way, or the one in its place where these hosts cannot go it at all.
    fn instead(&self, way: Way) -> Way {
        let is_there = match self.planned(way) {
            Some(part) => part.parts.is_some(),
            None => self.lacks_plan(way),
        };
        let other = way.row().instead().filter(|_| !is_there);
        other.unwrap_or(way)
    }

    /// The way in the place of one that needs connections which cannot be had.
    fn way_without_tcp(&self, collective: Collective, block: u64, way: Way) -> Way {
        if !way.is_over_tcp() {
            return way;
        }
        if self.is_forced(collective) {
            let carried = way.with_carrier(DataCarrier::Mpi);
            return Some(carried)
                .filter(|way| !way.is_over_tcp())
                .unwrap_or(Way::Native);
        }
        self.grounds
            .table
            .choose_where(collective, Bytes(block), |way| {
                !way.is_over_tcp() && self.can(way, block)
            })
    }

    /// This process set cannot go a way that was to be learned.
    pub fn refuse(&mut self, way: Way) {
        self.learner.refuse(|other| other == way);
    }

    /// The times that the job learns.
    pub fn learner(&self) -> &CallLearner {
        &self.learner
    }

    /// The same, to tell it of calls.
    pub fn learner_mut(&mut self) -> &mut CallLearner {
        &mut self.learner
    }

    /// True if a call of this class is to go a way that is only tried.
    pub fn is_trying(&self, class: CallClass) -> bool {
        let question = self.learner.question(class);
        question.is_some_and(WayQuestion::is_trying)
    }

    /// True if a call with blocks of this size may go another way than the library's; once that is planned,
    /// if a call of this collective may.
    pub fn may_differ(&self, collective: Collective, block: u64) -> bool {
        if self.is_planned() {
            self.takes_part(collective)
        } else {
            self.decided_way(collective, block, 0) != Way::Native
        }
    }

    /// True if a call of this collective may, at some size.
    pub fn takes_part(&self, collective: Collective) -> bool {
        let PolicyGrounds { table, force, .. } = &self.grounds;
        let forced = force.ways(collective);
        let entries = table.entries(collective).iter();
        let decided = entries.filter(|_| forced.is_empty()).map(|entry| entry.way);
        let mut ways = forced.iter().copied().chain(decided);
        let decides = ways.any(|way| way != Way::Native && way.serves(collective));
        // Calls of which each rank knows its own lengths only may go over TCP when that has been learned:
        // then the ranks have to know their size.
        decides
            || self.grounds.learned.is_some()
                && collective.has_own_lengths()
                && self.grounds.has_addresses
    }

    /// The way of a call with blocks of this size, as far as it is known before it.
    pub fn likely_way(&self, collective: Collective, block: u64) -> Way {
        if self.is_planned() {
            return self.decided_way(collective, block, 0);
        }
        let forced = self.grounds.force.ways(collective).first().copied();
        forced.unwrap_or_else(|| self.grounds.table.choose(collective, Bytes(block)))
    }

    /// True if the way of a collective's calls is forced.
    pub fn is_forced(&self, collective: Collective) -> bool {
        !self.grounds.force.ways(collective).is_empty()
    }

    /// The setting by which the order of reductions may change.
    pub fn reductions(&self) -> ReductionOrder {
        self.grounds.force.reductions
    }

    /// True if this collective may ask for connections: if forced to, or where the topology says where every
    /// host is reached.
    fn may_connect(&self, collective: Collective) -> bool {
        self.is_forced(collective) || self.grounds.has_addresses
    }

    /// True if a call takes the library's own routine so long, as far as anybody knows before it, that a
    /// program notices a single one.
    pub fn takes_long(&self, collective: Collective, block: u64) -> bool {
        let PolicyGrounds { time, gathers, .. } = &self.grounds;
        match collective.traffic() {
            CollectiveTraffic::Exchange => {
                (time.as_ref()).is_some_and(|time| time.is_long(Bytes(block)))
            }
            CollectiveTraffic::Gather => {
                (gathers.as_ref()).is_some_and(|time| time.is_long(collective, Bytes(block)))
            }
            _ => false,
        }
    }

    /// Why a call came to this way, in a few words; `is_learned` if its time counts for what is learned.
    pub fn why(&self, collective: Collective, block: u64, way: Way, is_learned: bool) -> String {
        let decides = || self.decided_way(collective, block, 0) == way;
        if is_learned && self.is_planned() && !decides() {
            return "learned".to_owned();
        }
        let entry = self.grounds.table.entry(collective, Bytes(block));
        match entry.filter(|_| !self.is_forced(collective)) {
            None => "forced".to_owned(),
            Some(entry) if !self.is_planned() || decides() => entry.grounds.to_string(),
            Some(entry) => format!("instead of {}, which cannot be gone", entry.way),
        }
    }
}

fn digest_of(planned: impl Hash) -> u64 {
    // `new` has the same keys in each process, and ranks of another build are found before (`presence`).
    let mut digest = DefaultHasher::new();
    planned.hash(&mut digest);
    // 0 stands for no plan.
    digest.finish() | 1
}

impl PolicyGrounds {
    /// The ways to learn from such calls, the present one first; none where the ways are forced, or for a job
    /// that does not learn.
    fn candidates(&self, call: &PolicyCall) -> Vec<CandidateWay> {
        let learned = self.learned.as_deref();
        let is_forced = !self.force.ways(call.collective).is_empty();
        let Some(learned) = learned.filter(|_| !is_forced) else {
            return Vec::new();
        };
        let grounds = CandidateGrounds {
            table: &self.table,
            learned,
            has_addresses: self.has_addresses,
            hosts: self.hosts,
            is_even: call.is_even,
            time: self.time.as_ref(),
            gathers: self.gathers.as_ref(),
        };
        learning::candidates(grounds, call.collective, Bytes(call.block))
    }

    /// The schedules of phases to plan, each with a synchronization of its own.
    pub fn schedules(&self) -> u32 {
        let ways = self.possible_ways().into_iter();
        ways.filter(|way| way.sync().is_some()).count() as u32
    }

    /// The ways that may be planned, over MPI where they have a choice: those that the table, or the forced way,
    /// can ask for, those that a job that learns may try, and those that go in their place.
    fn possible_ways(&self) -> Vec<Way> {
        let asked = Collective::ALL.into_iter().flat_map(|collective| {
            let forced = self.force.ways(collective).iter().copied();
            let entries = self.table.entries(collective).iter();
            forced.chain(entries.map(|entry| entry.way))
        });
        let asked: Vec<Way> = asked.collect();
        let tried = WAYS.iter().filter(|row| row.is_tried(self.hosts));
        let bolder = asked.iter().filter_map(|way| way.row().bolder(*way));
        let tried = tried.map(|row| row.usual()).chain(bolder);
        let tried = tried.filter(|_| self.learned.is_some());
        let asked: Vec<Way> = asked.iter().copied().chain(tried).collect();
        let instead = asked.iter().filter_map(|way| way.row().instead());
        let mut ways: Vec<Way> = Vec::new();
        for way in asked.iter().copied().chain(instead) {
            let way = way.with_carrier(DataCarrier::Mpi);
            let is_own = way != Way::Native && self.hosts.can_go(way);
            if is_own && !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }
}
