//! A process set's own schedule out of an epoch.
//!
//! Every rank plans for itself and comes to the same plan; [`FollowedEpoch::digest`] lets the ranks
//! make sure of it. They plan when a call first may go another way than the library's: a
//! [`UnplannedEpoch`] tells that from the decision table alone.
mod by_lengths;
#[cfg(test)]
mod tests;

use crate::host_leaders::HostLeaders;
use crate::process_set_view::{FollowError, ProcessSetView};
use crate::rank_host::RankHost;
use crate::settings::{ForcedWays, ReductionOrder};
use directory::epoch::LeanEpoch;
use inventory::{Bytes, MpiRoutines, TopologyFile, counted};
use policy::decision_table::{Collective, DataCarrier, DecisionTable, Way};
use policy::learned::{LearnedPlace, LearnedTiming};
use policy::learning::{self, CandidateGrounds, CandidateWay};
use policy::ways::{HostTraits, PlannedPart, PlanningSet, WAYS};
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::RankPart;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::time::Duration;

/// A plan takes about so long for each pair of ranks and each synchronization (docs/figures.md).
const PLANNED_PAIR: Duration = Duration::from_nanos(200);
/// A connection to another rank takes about so long.
const CONNECTION: Duration = Duration::from_micros(300);

/// An epoch before anything is planned.
#[derive(Debug)]
pub struct UnplannedEpoch {
    topology: TopologyFile,
    view: ProcessSetView,
    table: DecisionTable,
    force: ForcedWays,
    /// The figures of earlier jobs at this place, if this one learns.
    learned: Option<Vec<LearnedTiming>>,
}

impl UnplannedEpoch {
    /// An epoch under `mpi`, for the process set whose rank `r` runs on `hosts[r]`, and which
    /// learns ways from its calls or does not.
    ///
    /// # Errors
    /// [`FollowError`], the same on every rank.
    pub fn new(
        lean: LeanEpoch,
        hosts: &[RankHost],
        mpi: MpiRoutines,
        force: ForcedWays,
        learns: bool,
    ) -> Result<UnplannedEpoch, FollowError> {
        let view = ProcessSetView::of(&lean, hosts, mpi)?;
        let unmeasured = if view.has_all_addresses() {
            DecisionTable::unmeasured(&view.hosts, &view.host_of, view.delay, Some(mpi))
        } else {
            DecisionTable::default()
        };
        let learned = if lean.learned.is_empty() || !learns {
            Vec::new()
        } else {
            lean.learned.for_place(&view.place(mpi))
        };
        let family = mpi.family();
        let measured = if mpi.measured().is_some() {
            lean.table
        } else {
            lean.table.for_each_mpi()
        };
        Ok(UnplannedEpoch {
            topology: lean.topology,
            view,
            table: measured
                .for_mpi(family)
                .with_unmeasured(unmeasured)
                .with_learned(family, &learned)
                .for_mpi(family),
            force,
            learned: learns.then_some(learned),
        })
    }

    /// True if a call with blocks of this size may go another way than the library's.
    pub fn may_differ(&self, collective: Collective, block: u64) -> bool {
        let forced = self.force.ways(collective);
        let own = |way: Way| way != Way::Native;
        if forced.is_empty() {
            own(self.table.choose(collective, Bytes(block)))
        } else {
            forced.iter().copied().any(own)
        }
    }

    /// True if the way of a collective's calls is forced.
    pub fn is_forced(&self, collective: Collective) -> bool {
        !self.force.ways(collective).is_empty()
    }

    /// What may change the order in which reductions combine.
    pub fn reductions(&self) -> ReductionOrder {
        self.force.reductions
    }

    /// The way of a call with blocks of this size, as far as it is known before planning.
    pub fn likely_way(&self, collective: Collective, block: u64) -> Way {
        let forced = self.force.ways(collective).first().copied();
        forced.unwrap_or_else(|| self.table.choose(collective, Bytes(block)))
    }

    /// True if a call of this collective may, at some size.
    pub fn takes_part(&self, collective: Collective) -> bool {
        takes_part(&self.table, &self.force, collective)
            || self.learned.is_some() && may_learn(&self.view, collective)
    }

    /// The ways that calls of a collective with blocks of about this size may learn, the present
    /// one first; `is_even` if no block is far larger than the mean.
    pub fn candidates(
        &self,
        collective: Collective,
        block: u64,
        is_even: bool,
    ) -> Vec<CandidateWay> {
        let Self { view, table, .. } = self;
        candidates(
            view,
            table,
            &self.force,
            self.learned.as_deref(),
            (collective, block, is_even),
        )
    }

    /// The process set on the epoch's tree.
    pub fn view(&self) -> &ProcessSetView {
        &self.view
    }

    /// The same, to learn of it.
    pub fn view_mut(&mut self) -> &mut ProcessSetView {
        &mut self.view
    }

    /// The place for which learned figures hold.
    pub fn place(&self, mpi: MpiRoutines) -> LearnedPlace {
        self.view.place(mpi)
    }

    /// The time that the ranks need to plan and to connect, about.
    pub fn setup(&self) -> Duration {
        let ranks = self.view.host_of.len() as u32;
        let tried = self.learned.is_some().then_some(self.view.traits);
        let ways = ways(&self.table, &self.force, tried).into_iter();
        let plans = ways.filter(|way| way.sync().is_some()).count() as u32;
        PLANNED_PAIR * ranks.saturating_mul(ranks).saturating_mul(plans) + CONNECTION * ranks
    }

    /// Why a call goes the library's way, in a few words.
    pub fn why(&self, collective: Collective, block: u64) -> String {
        let decided = self
            .table
            .entry(collective, Bytes(block))
            .filter(|_| self.force.ways(collective).is_empty());
        decided.map_or_else(|| "forced".to_owned(), |entry| entry.grounds.to_string())
    }

    /// Plans, and keeps what `rank` needs.
    ///
    /// # Errors
    /// [`FollowError`], the same on every rank.
    pub fn plan(self, rank: u32) -> Result<FollowedEpoch, FollowError> {
        FollowedEpoch::plan(self, rank)
    }
}

/// None where the ways are forced, or for a job that does not learn.
fn candidates(
    view: &ProcessSetView,
    table: &DecisionTable,
    force: &ForcedWays,
    learned: Option<&[LearnedTiming]>,
    (collective, block, is_even): (Collective, u64, bool),
) -> Vec<CandidateWay> {
    let learned = learned.filter(|_| force.ways(collective).is_empty());
    learned.map_or_else(Vec::new, |learned| {
        let grounds = CandidateGrounds {
            table,
            learned,
            has_addresses: view.has_all_addresses(),
            hosts: view.traits,
            is_even,
            time: view.alltoall_time.as_ref(),
        };
        learning::candidates(grounds, collective, Bytes(block))
    })
}

/// True if calls of which each rank knows its own lengths only may go over TCP when that has been
/// learned: then the ranks have to know their size.
fn may_learn(view: &ProcessSetView, collective: Collective) -> bool {
    collective.has_own_lengths() && view.has_all_addresses()
}

fn takes_part(table: &DecisionTable, force: &ForcedWays, collective: Collective) -> bool {
    let forced = force.ways(collective);
    let own = |way: Way| way != Way::Native && way.serves(collective);
    if forced.is_empty() {
        table.entries(collective).iter().any(|entry| own(entry.way))
    } else {
        forced.iter().copied().any(own)
    }
}

/// An epoch as one rank of a process set follows it.
#[derive(Debug)]
pub struct FollowedEpoch {
    /// The process set on the epoch's tree.
    pub view: ProcessSetView,
    /// One line about the epoch and the plan.
    pub summary: String,
    table: DecisionTable,
    force: ForcedWays,
    learned: Option<Vec<LearnedTiming>>,
    /// By way, over MPI where it has a choice: those that a call may go.
    planned: Vec<(Way, PlannedPart)>,
    ring: Vec<u32>,
    leaders: Option<HostLeaders>,
    digest: u64,
    /// The phases for equal lengths, once a plan for others has been compared with them; none where
    /// they are wrong.
    phases: OnceLock<Option<TransferSchedule>>,
}

impl FollowedEpoch {
    fn plan(prospect: UnplannedEpoch, rank: u32) -> Result<FollowedEpoch, FollowError> {
        let UnplannedEpoch {
            topology,
            view,
            table,
            force,
            learned,
        } = prospect;
        let mut digest = DefaultHasher::new();
        (view.epoch, &force, &table).hash(&mut digest);
        let wrong = |violation| FollowError::Wrong {
            epoch: view.epoch,
            violation: Box::new(violation),
        };
        let trees = (&view.hosts, &view.leaves);
        let set = PlanningSet::new(rank, trees, &view.host_of, &topology).map_err(wrong)?;
        let mut planned: Vec<(Way, PlannedPart)> = Vec::new();
        for way in ways(&table, &force, learned.is_some().then_some(view.traits)) {
            let part = way.row().plan(way, &set).map_err(wrong)?;
            part.digest.hash(&mut digest);
            planned.push((way, part));
        }
        let phases = planned.iter().map(|(_, part)| part.phases).max();
        let mut summary = format!(
            "epoch {}, {} on {}, {}",
            view.epoch,
            counted(view.leaves.hosts(), "rank"),
            counted(view.hosts.hosts(), "host"),
            counted(phases.unwrap_or(0), "phase")
        );
        for note in planned.iter().filter_map(|(_, part)| part.note.as_ref()) {
            summary += &format!("; {note}");
        }
        let ring = set.ring().ring.clone();
        Ok(FollowedEpoch {
            leaders: HostLeaders::of(&ring, &view.host_of),
            view,
            summary,
            table,
            force,
            learned,
            planned,
            ring,
            digest: digest.finish() | 1,
            phases: OnceLock::new(),
        })
    }

    /// The ranks in the order of the ring.
    pub fn ring(&self) -> &[u32] {
        &self.ring
    }

    /// One rank a host; `None` where each host has one rank anyway.
    pub fn leaders(&self) -> Option<&HostLeaders> {
        self.leaders.as_ref()
    }

    /// The same on all ranks that made the same plan; never 0.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The way of a call with blocks of this size, before which `calls` of its kind came one after
    /// the other.
    pub fn way(&self, collective: Collective, block: u64, calls: u64) -> Way {
        let forced = self
            .force
            .way(collective, Bytes(block), calls)
            .filter(|&way| self.can(way, block));
        forced.unwrap_or_else(|| {
            let can = |way| self.can(self.instead(way), block);
            let way = self.table.choose_where(collective, Bytes(block), can);
            self.instead(way)
        })
    }

    /// The way, or the one in its place where these hosts cannot go it at all.
    fn instead(&self, way: Way) -> Way {
        let lacks = |way: &Way| self.planned(*way).is_none_or(|part| part.parts.is_none());
        let other = way.row().instead().filter(|_| lacks(&way));
        other.unwrap_or(way)
    }

    /// As [`UnplannedEpoch::candidates`].
    pub fn candidates(
        &self,
        collective: Collective,
        block: u64,
        is_even: bool,
    ) -> Vec<CandidateWay> {
        let Self { view, table, .. } = self;
        candidates(
            view,
            table,
            &self.force,
            self.learned.as_deref(),
            (collective, block, is_even),
        )
    }

    /// True if this communicator can go a way with blocks of this size, connections or not.
    pub fn can(&self, way: Way, block: u64) -> bool {
        let holds = |part: &PlannedPart| part.holds(Bytes(block));
        way == Way::Native || self.planned(way).is_some_and(holds)
    }

    /// A way as it is planned; `None` where [`FollowedEpoch::way`] never says so.
    fn planned(&self, way: Way) -> Option<&PlannedPart> {
        let way = way.with_carrier(DataCarrier::Mpi);
        let planned = self.planned.iter().find(|(known, _)| *known == way);
        planned.map(|(_, part)| part)
    }

    /// As [`UnplannedEpoch::reductions`].
    pub fn reductions(&self) -> ReductionOrder {
        self.force.reductions
    }

    /// As [`UnplannedEpoch::is_forced`].
    pub fn is_forced(&self, collective: Collective) -> bool {
        !self.force.ways(collective).is_empty()
    }

    /// True if this collective may ask for connections: if forced to, or where the topology
    /// says where every host is reached.
    pub fn may_connect(&self, collective: Collective) -> bool {
        self.is_forced(collective) || self.view.has_all_addresses()
    }

    /// The way in the place of one that needs connections which cannot be had.
    pub fn way_without_tcp(&self, collective: Collective, block: u64, way: Way) -> Way {
        let forced = !self.force.ways(collective).is_empty();
        let can = |way: Way| way.carrier() != Some(DataCarrier::Tcp) && self.can(way, block);
        if forced {
            let carried = way.with_carrier(DataCarrier::Mpi);
            if carried.carrier() == Some(DataCarrier::Tcp) {
                Way::Native
            } else {
                carried
            }
        } else {
            self.table.choose_where(collective, Bytes(block), can)
        }
    }

    /// Why a call that came to this way goes it, in a few words.
    pub fn why(&self, collective: Collective, block: u64, way: Way) -> String {
        let decided = self
            .table
            .entry(collective, Bytes(block))
            .filter(|_| self.force.ways(collective).is_empty());
        match decided {
            None => "forced".to_owned(),
            Some(entry) if self.way(collective, block, 0) == way => entry.grounds.to_string(),
            Some(entry) => format!("instead of {}, which cannot be gone", entry.way),
        }
    }

    /// True if the decision table, or the forced way, says so.
    pub fn decides(&self, collective: Collective, block: u64, way: Way) -> bool {
        self.way(collective, block, 0) == way
    }

    /// True if a call of this collective may go another way than the library's, at some size.
    pub fn takes_part(&self, collective: Collective) -> bool {
        takes_part(&self.table, &self.force, collective)
            || self.learned.is_some() && may_learn(&self.view, collective)
    }

    /// This rank's part of a way's schedule, in as many as its barriers divide it into; none where
    /// [`FollowedEpoch::way`] never says so.
    pub fn parts(&self, way: Way) -> &[RankPart] {
        let parts = self.planned(way).and_then(|part| part.parts.as_ref());
        parts.map_or(&[], Vec::as_slice)
    }
}

/// The ways to plan, over MPI where they have a choice: those that the table, or the forced way, can ask for,
/// those that go in their place, and those that a job that learns may try, on hosts as these.
fn ways(table: &DecisionTable, force: &ForcedWays, tried: Option<HostTraits>) -> Vec<Way> {
    let asked = Collective::ALL.into_iter().flat_map(|collective| {
        let forced = force.ways(collective).iter().copied();
        forced.chain(table.entries(collective).iter().map(|entry| entry.way))
    });
    let rows = || WAYS.iter().map(|row| row.usual());
    let is_tried = |way: &Way| tried.is_some_and(|hosts| way.row().is_tried(hosts));
    let asked: Vec<Way> = asked.chain(rows().filter(is_tried)).collect();
    let instead = asked.iter().filter_map(|way| way.row().instead());
    let mut ways: Vec<Way> = Vec::new();
    for way in asked.iter().copied().chain(instead) {
        let way = way.with_carrier(DataCarrier::Mpi);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}
