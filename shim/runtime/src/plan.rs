//! A process set's own schedule out of an epoch.
//!
//! Every rank plans for itself and comes to the same plan; [`FollowedEpoch::digest`] lets the ranks
//! make sure of it. They plan when a call first may go another way than the library's: a
//! [`UnplannedEpoch`] tells that from the decision table alone.
mod by_lengths;
mod planned_ways;
#[cfg(test)]
mod tests;

use crate::host_leaders::HostLeaders;
use crate::process_set_view::{FollowError, ProcessSetView};
use crate::rank_host::RankHost;
use crate::settings::{ForcedWays, ReductionOrder};
use directory::epoch::LeanEpoch;
use inventory::{Bytes, MpiRoutines, TopologyFile, counted};
use planned_ways::PlannedWays;
use policy::decision_table::{Collective, DataCarrier, DecisionTable, Way};
use policy::learned::{LearnedPlace, LearnedTiming};
use policy::learning::{self, CandidateGrounds, CandidateWay};
use schedules::bundled;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::RankPart;
use std::sync::OnceLock;
use std::time::Duration;

/// Messages of several blocks are copied, and MPI counts them by `int`: where they could have more
/// octets, the call goes another way.
const MOST_TOGETHER: u64 = 1 << 30;
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
        let ways: Vec<Way> = ways(&self.table, &self.force).collect();
        let plans = schemes(&ways).len().max(1) as u32;
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
            shares_hosts: shares_hosts(view),
            has_slow_trunks: view.gains_by_rings,
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
    /// By way, over MPI: this rank's part, in as many as the schedule's barriers divide it into.
    /// Only the ways that the table or the forced way can ask for; LG only where the ranks span
    /// clusters.
    parts: Vec<(Way, Vec<RankPart>)>,
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
        let mut planned = PlannedWays::new(&view, rank, &table, &force);
        let ring = planned.add_ring()?;
        let mut phases = 0;
        let tried = learned.as_ref().map(|_| tried_ways(&view));
        let ways: Vec<Way> = ways(&table, &force)
            .chain(tried.into_iter().flatten())
            .collect();
        for sync in schemes(&ways) {
            phases = planned.add_aapc(sync)?;
        }
        if ways.contains(&Way::Bundled) {
            planned.add_bundled();
        }
        if ways.contains(&Way::Rings) {
            planned.add_rings()?;
        }
        let mut summary = format!(
            "epoch {}, {} on {}, {}",
            view.epoch,
            counted(view.leaves.hosts(), "rank"),
            counted(view.hosts.hosts(), "host"),
            counted(phases, "phase")
        );
        if ways.contains(&Way::Lg) {
            summary += &planned.add_lg(&topology)?;
        }
        let (parts, digest) = planned.finish();
        Ok(FollowedEpoch {
            leaders: HostLeaders::of(&ring, &view.host_of),
            view,
            summary,
            table,
            force,
            learned,
            parts,
            ring,
            digest,
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

    /// The way, or one ring where a table of other hosts says several: these may have no slow trunk.
    fn instead(&self, way: Way) -> Way {
        if way == Way::Rings && self.parts(way).is_empty() {
            let over = DataCarrier::Tcp;
            Way::Ring { over }
        } else {
            way
        }
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
        let together = |blocks: u64| block.saturating_mul(blocks) <= MOST_TOGETHER;
        match way {
            Way::Lg => {
                self.parts(way).iter().any(|part| part.phases > 0)
                    && together(self.view.host_of.len() as u64)
            }
            Way::Bundled => {
                !self.parts(way).is_empty() && together(bundled::most_blocks(&self.view.host_of))
            }
            Way::Native => true,
            Way::Relay => !self.ring.is_empty(),
            Way::Aapc { .. } | Way::Ring { .. } | Way::Rings => !self.parts(way).is_empty(),
        }
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
        let way = way.with_carrier(DataCarrier::Mpi);
        self.parts
            .iter()
            .find(|(known, _)| *known == way)
            .map_or(&[], |(_, parts)| parts)
    }
}

/// The ways that the table, or the forced way, can ask for.
fn ways<'a>(table: &'a DecisionTable, force: &'a ForcedWays) -> impl Iterator<Item = Way> + 'a {
    Collective::ALL.into_iter().flat_map(|collective| {
        let forced = force.ways(collective).iter().copied();
        forced.chain(table.entries(collective).iter().map(|entry| entry.way))
    })
}

/// Ways that a job that learns may try, beside those of the table.
fn tried_ways(view: &ProcessSetView) -> impl Iterator<Item = Way> + use<> {
    let aapc = Way::Aapc {
        sync: SyncKind::Receiver.into(),
        over: DataCarrier::Mpi,
    };
    let window = Way::Aapc {
        sync: SyncScheme::WINDOW,
        over: DataCarrier::Tcp,
    };
    let timed = shares_hosts(view).then_some([Way::Bundled, window]);
    let rings = view.gains_by_rings.then_some(Way::Rings);
    std::iter::once(aapc)
        .chain(timed.into_iter().flatten())
        .chain(rings)
}

/// True if some host has several ranks.
fn shares_hosts(view: &ProcessSetView) -> bool {
    view.hosts.hosts() < view.leaves.hosts()
}

/// Their synchronizations.
fn schemes(ways: &[Way]) -> Vec<SyncScheme> {
    let mut schemes: Vec<SyncScheme> = ways
        .iter()
        .filter_map(|&way| {
            if let Way::Aapc { sync, .. } = way {
                Some(sync)
            } else {
                None
            }
        })
        .collect();
    schemes.sort_unstable();
    schemes.dedup();
    schemes
}
