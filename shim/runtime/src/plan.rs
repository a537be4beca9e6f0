//! An epoch as a process set follows it.
//!
//! Every rank plans for itself and comes to the same plan; [`CallPolicy::digest`] lets the ranks make sure of
//! it. They plan a way when a call first is to go it: the policy tells that before.
mod by_lengths;
mod chosen_ways;
mod rank_plan;
#[cfg(test)]
mod tests;

pub use chosen_ways::ChosenWays;

use chosen_ways::PlannedByWays;
use rank_plan::RankPlan;

use crate::host_leaders::HostLeaders;
use crate::once_a_host::{HostShares, once_a_host};
use crate::process_set_view::{FollowError, ProcessSetView};
use crate::rank_host::RankHost;
use directory::epoch::LeanEpoch;
use inventory::{MpiRoutines, TopologyFile, counted};
use policy::call_policy::{CallPolicy, PolicyGrounds};
use policy::call_time::{AlltoallTime, GatherTime};
use policy::decision_table::DecisionTable;
use policy::forced::ForcedWays;
use policy::ways::{self, DataCarrier, HostTraits, PlanningSet, Way};
use schedules::allgather::AllgatherSchedule;
use schedules::alltoall::AlltoallAlgorithm;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::RankPart;
use schedules::verify::ScheduleViolation;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::time::Duration;

/// A plan takes about so long for each pair of ranks and each synchronization (docs/figures.md).
const PLANNED_PAIR: Duration = Duration::from_nanos(200);
/// And so long more where trunks carry several messages at once,
const PLANNED_AT_ONCE: Duration = Duration::from_nanos(300);
/// and where each message is given its way through a fabric.
const PLANNED_WAY: Duration = Duration::from_nanos(730);
/// One rank of a host plans for the others where that takes longer than to hand each its part.
const WORTH_HANDING_ON: Duration = Duration::from_micros(500);
/// And is waited for so long: many times what any plan took.
const PLANNED_WITHIN: Duration = Duration::from_secs(60);
/// A connection to another rank takes about so long.
const CONNECTION: Duration = Duration::from_micros(300);

/// The name that ways have among the ranks that have this one.
fn name_of_ways(name: &str, ways: &[Way]) -> String {
    let mut hasher = DefaultHasher::new();
    ways.hash(&mut hasher);
    format!("{name}-{:016x}", hasher.finish())
}

/// An epoch as one rank of a process set follows it.
#[derive(Debug)]
pub struct FollowedEpoch {
    /// The process set on the epoch's tree.
    pub view: ProcessSetView,
    topology: TopologyFile,
    chosen_ways: Option<ChosenWays>,
    /// The ring of all ranks, once a way is planned.
    ring: OnceLock<AllgatherSchedule>,
    leaders: Option<HostLeaders>,
    /// The phases for equal lengths, once a plan for others has been compared with them; none where
    /// they are wrong.
    phases: OnceLock<Option<TransferSchedule>>,
}

impl FollowedEpoch {
    /// An epoch under `mpi`, for the process set whose rank `r` runs on `hosts[r]`, and which learns ways from
    /// its calls or does not; and on what its policy decides.
    ///
    /// # Errors
    /// [`FollowError`], the same on every rank.
    pub fn new(
        lean: LeanEpoch,
        hosts: &[RankHost],
        mpi: MpiRoutines,
        force: ForcedWays,
        learns: bool,
    ) -> Result<(FollowedEpoch, PolicyGrounds), FollowError> {
        let view = ProcessSetView::new(&lean, hosts)?;
        let has_addresses = view.has_all_addresses();
        let unmeasured = if has_addresses {
            let hosts = view
                .staged
                .as_ref()
                .map_or(&view.hosts, |staged| &staged.hosts);
            DecisionTable::unmeasured(hosts, &view.host_of, view.delay, Some(mpi))
        } else {
            DecisionTable::default()
        };
        let learned = if lean.learned.is_empty() || !learns {
            Vec::new()
        } else {
            lean.learned.for_place(&view.place(mpi))
        };
        let family = mpi.family();
        // Figures of MPICH's routines say nothing of a library with its interface and other routines (Intel MPI).
        let measured = if mpi.measured().is_some() {
            lean.table
        } else {
            lean.table.for_each_mpi()
        };
        let grounds = PolicyGrounds {
            epoch: view.epoch,
            table: measured
                .for_mpi(family)
                .with_unmeasured(unmeasured)
                .with_learned(family, &learned)
                .for_mpi(family),
            force,
            learned: learns.then_some(learned),
            has_addresses,
            hosts: HostTraits::of(&view.hosts, &view.host_of),
            time: AlltoallTime::of(&view.hosts, &view.host_of, view.delay, Some(mpi)),
            gathers: GatherTime::of(&view.hosts, &view.host_of, view.delay, Some(mpi)),
        };
        let followed = FollowedEpoch {
            view,
            topology: lean.topology,
            chosen_ways: None,
            ring: OnceLock::new(),
            leaders: None,
            phases: OnceLock::new(),
        };
        Ok((followed, grounds))
    }

    /// Its network.
    pub fn topology(&self) -> &TopologyFile {
        &self.topology
    }

    /// The time that the ranks need to plan by a policy and to connect, about.
    pub fn setup(&self, grounds: &PolicyGrounds) -> Duration {
        let ranks = self.view.host_of.len() as u32;
        let among = |number: u32| number.saturating_mul(number);
        let hosts = self.view.hosts.hosts();
        // Where hosts have several ranks, the messages between hosts may go in phases, too.
        let of_hosts = if hosts < ranks { among(hosts) } else { 0 };
        let pairs = among(ranks)
            .saturating_mul(grounds.schedules())
            .saturating_add(of_hosts);
        let peers = if grounds.hosts.have_many_ranks {
            hosts
        } else {
            ranks
        };
        self.planned_pair() * pairs + CONNECTION * peers
    }

    /// The time to plan the message of a pair of ranks, about.
    fn planned_pair(&self) -> Duration {
        let algorithm = AlltoallAlgorithm::faster_for(&self.view.hosts);
        PLANNED_PAIR
            + PLANNED_AT_ONCE * u32::from(algorithm == AlltoallAlgorithm::Capacity)
            + PLANNED_WAY * u32::from(self.view.staged.is_some())
    }

    /// Plans a way of a policy for `rank`, and gives a line about the epoch and the plan. Where that takes long, one
    /// rank of the host plans for those that have this `name` for the epoch and the process set, and nothing else.
    ///
    /// # Errors
    /// [`FollowError`], the same on every rank.
    pub fn plan(
        &mut self,
        rank: u32,
        policy: &mut CallPolicy,
        way: Way,
        name: Option<&str>,
    ) -> Result<String, FollowError> {
        let ways = self.planned_with(policy, way);
        let beside = self.view.ranks_beside(rank);
        let name = name.filter(|_| beside.len() > 1 && self.planning(&ways) >= WORTH_HANDING_ON);
        let plan = match name {
            Some(name) => once_a_host(
                &name_of_ways(name, &ways),
                rank,
                PLANNED_WITHIN,
                || self.plan_for_all(rank, &beside, &ways),
                |share| RankPlan::read(share, rank).map(Ok),
                || self.plan_alone(rank, &ways),
            )?,
            None => self.plan_alone(rank, &ways)?,
        };
        self.keep(plan, policy, &ways)?;
        Ok(self.summary(policy))
    }

    /// The ways that are planned when this one is to be.
    fn planned_with(&self, policy: &CallPolicy, way: Way) -> Vec<Way> {
        // Connections through a fabric are made once, for the ways of all messages.
        match self.view.staged {
            Some(_) => policy.unplanned(),
            None => vec![way],
        }
    }

    /// The time to plan ways, about.
    fn planning(&self, ways: &[Way]) -> Duration {
        let (hosts, ranks) = (self.view.hosts.hosts(), self.view.leaves.hosts());
        let pairs = ways.iter().map(|way| match way.row().is_by_hosts() {
            true => hosts.saturating_pow(2),
            false => ranks.saturating_pow(2),
        });
        self.planned_pair() * pairs.fold(0, u32::saturating_add)
    }

    /// The rank's parts in ways, and those of all ranks beside it for them to read.
    fn plan_for_all(
        &self,
        rank: u32,
        beside: &[u32],
        ways: &[Way],
    ) -> (Result<RankPlan, FollowError>, HostShares) {
        let others = beside.iter().copied().filter(|other| *other != rank);
        let ranks: Vec<u32> = std::iter::once(rank).chain(others).collect();
        match self.plans_of(&ranks, ways) {
            Ok(mut plans) => {
                let shares = plans[1..].iter().filter_map(RankPlan::share).collect();
                (Ok(plans.swap_remove(0)), shares)
            }
            Err(error) => (Err(error), HostShares::new()),
        }
    }

    fn plan_alone(&self, rank: u32, ways: &[Way]) -> Result<RankPlan, FollowError> {
        Ok(self.plans_of(&[rank], ways)?.swap_remove(0))
    }

    /// The ring of all ranks, planned now if it was not before.
    fn ring(&self) -> Result<&AllgatherSchedule, FollowError> {
        if let Some(ring) = self.ring.get() {
            return Ok(ring);
        }
        let ring = ways::planned_ring(&self.view.leaves).map_err(|v| self.wrong(v))?;
        Ok(self.ring.get_or_init(|| ring))
    }

    fn wrong(&self, violation: ScheduleViolation) -> FollowError {
        FollowError::Wrong {
            epoch: self.view.epoch,
            violation: Box::new(violation),
        }
    }

    /// The parts of these ranks in ways.
    fn plans_of(&self, ranks: &[u32], ways: &[Way]) -> Result<Vec<RankPlan>, FollowError> {
        let view = &self.view;
        let set = PlanningSet {
            hosts: &view.hosts,
            leaves: &view.leaves,
            host_of: &view.host_of,
            topology: &self.topology,
            ring: self.ring()?,
        };
        let mut plans: Vec<RankPlan> = ranks.iter().map(|&rank| RankPlan::new(rank)).collect();
        let mut synchronizations = HashSet::new();
        for way in ways {
            let way = way.with_carrier(DataCarrier::Mpi);
            let planned = way
                .row()
                .plan(way, &set)
                .map_err(|violation| self.wrong(violation))?;
            plans.iter_mut().for_each(|plan| plan.add(&planned));
            if let Some(sync) = way.sync().filter(|&sync| synchronizations.insert(sync))
                && let Some(planned) =
                    PlannedByWays::new(view, sync).map_err(|violation| self.wrong(violation))?
            {
                plans.iter_mut().for_each(|plan| plan.choose(&planned));
            }
        }
        Ok(plans)
    }

    /// Keeps the rank's parts in these ways.
    fn keep(
        &mut self,
        plan: RankPlan,
        policy: &mut CallPolicy,
        ways: &[Way],
    ) -> Result<(), FollowError> {
        let ring = &self.ring()?.ring;
        for (way, part) in ways.iter().zip(plan.parts) {
            policy.keep_plan(*way, part, ring);
        }
        self.chosen_ways = match (self.chosen_ways.take(), plan.chosen) {
            (Some(known), Some(further)) => Some(known.with(further)),
            (known, further) => known.or(further),
        };
        self.leaders = HostLeaders::along_ring(policy.ring(), &self.view.host_of);
        Ok(())
    }

    /// A line about the epoch and the newest plan.
    fn summary(&self, policy: &CallPolicy) -> String {
        let by_ways = match self.chosen_ways {
            Some(_) => "; each message of an all-to-all has its way through the fabric",
            None => "",
        };
        format!(
            "epoch {}, {} on {}, {}{by_ways}",
            self.view.epoch,
            counted(self.view.leaves.hosts(), "rank"),
            counted(self.view.hosts.hosts(), "host"),
            policy.summary()
        )
    }

    /// The ways of messages through the stages of a fabric, once they are planned, where they can be traced.
    pub fn chosen_ways(&self) -> Option<&ChosenWays> {
        self.chosen_ways.as_ref()
    }

    /// This rank's part of a way's schedule over connections that take the chosen ways; `None` if it is not
    /// planned for them.
    pub fn parts_by_ways(&self, way: Way) -> Option<&[RankPart]> {
        self.chosen_ways.as_ref()?.parts(way.sync()?)
    }

    /// One rank a host, once it is planned; `None` where each host has one rank anyway.
    pub fn leaders(&self) -> Option<&HostLeaders> {
        self.leaders.as_ref()
    }
}
