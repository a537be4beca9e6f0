//! The order of the messages of an all-to-all whose lengths all ranks know, where that is better
//! than the phases that are planned for equal lengths. They know lengths that repeat from call to
//! call, and tell each other those of calls beside which that and a plan take no time.
use super::FollowedEpoch;
use inventory::Bytes;
use schedules::synchronization::SyncKind;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::{alltoall, alltoallv, bound, verify};
use std::time::Duration;

/// Every rank plans, for at most so many: [`PLANNED`] holds up to here.
const MOST_RANKS: u32 = 64;
/// A plan takes each rank at most about so long times the third power of their number: 0.13 s for 64.
const PLANNED: Duration = Duration::from_nanos(500);
/// Lengths that do not repeat are planned for where that takes at most such a part of a call.
const PART_OF_CALL: f64 = 0.02;
/// A plan takes at most this share of the phases' time.
const WORTH: f64 = 0.97;

impl FollowedEpoch {
    /// True if the ranks are few enough for a plan of their lengths.
    fn may_plan_lengths(&self) -> bool {
        self.view.leaves.hosts() <= MOST_RANKS
    }

    /// True if the lengths of a call with blocks of this size, on average, are planned for; those
    /// that repeat from call to call are so once only.
    pub fn plans_lengths(&self, block: u64, repeats: bool) -> bool {
        let ranks = self.view.leaves.hosts();
        let seconds = bound::payload_bound_seconds(&self.view.leaves, Bytes(block));
        let planning = PLANNED.as_secs_f64() * f64::from(ranks).powi(3);
        self.may_plan_lengths() && (repeats || planning < PART_OF_CALL * seconds)
    }

    /// The part of `rank` in a plan for these lengths, by sender and receiver; `None` where the
    /// phases take about as long. The same schedule on every rank.
    pub fn part_for_lengths(&self, rank: u32, lengths: &[u64]) -> Option<RankPart> {
        let tree = &self.view.leaves;
        let plan = alltoallv::plan(tree, lengths).filter(|_| self.may_plan_lengths())?;
        let phases = self.phases.get_or_init(|| {
            let phases = alltoall::plan(tree, SyncKind::Receiver);
            TransferSchedule::try_from(&phases).ok()
        });
        let usual = alltoallv::time(tree, phases.as_ref()?, lengths)?;
        let is_worth_it = plan.time.as_secs_f64() < WORTH * usual.as_secs_f64();
        // A plan that is wrong is a mistake of the planner: the phases are right.
        let is_sound = is_worth_it && verify::alltoallv(tree, lengths, &plan).is_ok();
        is_sound.then(|| part::of(&TransferSchedule::from(&plan), rank))
    }
}
