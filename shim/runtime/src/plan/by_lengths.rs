//! The order of the messages of an all-to-all whose lengths repeat from call to call, where that is
//! better than the phases that are planned for equal lengths.
use super::FollowedEpoch;
use schedules::synchronization::SyncKind;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::{alltoall, alltoallv, verify};

/// Every rank plans: that takes time and memory that grow with the fourth power of their number,
/// 0.1 s for so many.
const MOST_RANKS: u32 = 64;
/// A plan takes at most this share of the phases' time.
const WORTH: f64 = 0.97;

impl FollowedEpoch {
    /// True if the ranks are few enough for a plan of their lengths.
    pub fn may_plan_lengths(&self) -> bool {
        self.view.leaves.hosts() <= MOST_RANKS
    }

    /// The part of `rank` in a plan for these lengths, by sender and receiver; `None` where the
    /// phases take about as long. The same schedule on every rank.
    pub fn part_for_lengths(&self, rank: u32, lengths: &[u64]) -> Option<RankPart> {
        let tree = &self.view.leaves;
        let plan = alltoallv::plan(tree, lengths).filter(|_| self.may_plan_lengths())?;
        let phases = alltoall::plan(tree, SyncKind::Receiver);
        let phases = TransferSchedule::try_from(&phases).ok()?;
        let usual = alltoallv::time(tree, &phases, lengths)?;
        let is_worth_it = plan.time.as_secs_f64() < WORTH * usual.as_secs_f64();
        // A plan that is wrong is a mistake of the planner: the phases are right.
        let is_sound = is_worth_it && verify::alltoallv(tree, lengths, &plan).is_ok();
        is_sound.then(|| part::of(&TransferSchedule::from(&plan), rank))
    }
}
