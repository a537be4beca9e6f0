//! The way of each call of a process set, decided by the sizes and times of the calls before it.
//!
//! Calls that go the library's way for as long as an epoch is followed, or until the next one of their row is timed,
//! take the shortest way through the process set, and pass without coming here.
use crate::call::{CallRole, CollectiveCall};
use crate::call_amount::CallAmount;
use crate::call_comm::CallComm;
use crate::length_forecasts::LengthForecasts;
use crate::mpi_result::MpiResult;
use crate::passing::{PassingKind, PassingKinds};
use crate::private_comm::PrivateComm;
use crate::relayed;
use crate::set_learning::{SetLearning, TimedCall};
use policy::call_policy::{CallDecision, CallPolicy, PolicyCall, PolicyGrounds};
use policy::decision_table::{Collective, DataCarrier, Way};
use policy::forced::ReductionOrder;
use policy::learned::LearnedPlace;
use policy::learning::{CallClass, CallLearner, LearningBudget};
use policy::ways::MessageForm;
use runtime::agreement_pace;
use runtime::call_forecast::CallSize;
use std::time::{Duration, Instant};

/// The policy of a process set, and what this rank knows of its calls.
#[derive(Debug)]
pub(super) struct SetPolicy {
    policy: CallPolicy,
    /// So many sets of this size the ranks of the job make: they may call at once.
    sets_of_the_job: u32,
    learning: SetLearning,
    forecasts: LengthForecasts,
    /// The last kind of calls that go to the library's own routine for as long as this epoch is
    /// followed.
    settled: Option<(Collective, u64)>,
    passing: PassingKinds,
}

/// True if all calls with blocks of this size are as this one. One in place is served up to another
/// size than others.
fn is_all_of_its_kind(amount: CallAmount) -> bool {
    amount.fits && !amount.differs
}

impl SetPolicy {
    pub(super) fn new(sets_of_the_job: u32) -> SetPolicy {
        SetPolicy {
            policy: CallPolicy::default(),
            sets_of_the_job,
            learning: SetLearning::default(),
            forecasts: LengthForecasts::default(),
            settled: None,
            passing: PassingKinds::default(),
        }
    }

    pub(super) fn call_policy(&self) -> &CallPolicy {
        &self.policy
    }

    /// The same, to keep plans.
    pub(super) fn call_policy_mut(&mut self) -> &mut CallPolicy {
        &mut self.policy
    }

    pub(super) fn learner(&self) -> &CallLearner {
        self.policy.learner()
    }

    /// Decides on these grounds from now on, at a place where planning and connecting take so long.
    pub(super) fn follow(&mut self, grounds: PolicyGrounds, place: LearnedPlace, setup: Duration) {
        self.settled = None;
        let budget = LearningBudget::new(setup, self.sets_of_the_job);
        if self.policy.follow(grounds, place, budget) {
            self.learning = SetLearning::default();
        }
    }

    /// All calls go the library's way.
    pub(super) fn stand_aside(&mut self) {
        self.settled = None;
        self.passing.refuse_all();
        self.policy.stand_aside();
    }

    /// The size of a call of which each rank knows its own part only; `None` where no rank needs that of all.
    /// Collective.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(super) unsafe fn common_size(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        private: Option<&PrivateComm>,
        own: CallAmount,
    ) -> MpiResult<Option<CallSize>> {
        if !own.differs {
            return Ok(None);
        }
        let (policy, collective) = (&self.policy, call.collective);
        if !policy.takes_part(collective) {
            self.forecasts.forget(collective)?;
            return Ok(None);
        }
        // SAFETY: passed on to the caller.
        let known = unsafe { call.own(within.size as usize, own) };
        let private = private.filter(|_| !policy.is_forced(collective));
        let size = self
            .forecasts
            .size(collective, (within, private), known, |block| {
                policy.likely_way(collective, block)
            })?;
        Ok(Some(size))
    }

    /// The communicator goes on which words about sizes may be under way.
    pub(super) fn rest(&mut self) -> MpiResult<()> {
        self.forecasts.wait()
    }

    /// A call as the policy sees it; `None` where it goes the library's way, whatever the policy says.
    /// Collective.
    pub(super) fn policy_call(
        &self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
    ) -> MpiResult<Option<PolicyCall>> {
        let CallAmount {
            block,
            fits,
            is_even,
            ..
        } = amount;
        let collective = call.collective;
        let is_common = !amount.differs || self.policy.takes_part(collective);
        if block == 0 || !fits || !is_common {
            return Ok(None);
        }
        let order = relayed::order(call, self.policy.reductions());
        if matches!(call.role, CallRole::Reduction(_)) {
            let goes = order != ReductionOrder::Librarys
                && self.policy.may_differ(collective, block)
                && relayed::may_go(call, within)?;
            if !goes {
                return Ok(None);
            }
        }
        Ok(Some(PolicyCall {
            collective,
            block,
            is_even,
            is_steady: order == ReductionOrder::Steady,
        }))
    }

    /// True if ranks can put blocks together for this way: none is far larger than the mean, of this very call. The
    /// ranks agree on the next one before it where they did not on this one. The same on all ranks.
    pub(super) fn may_put_together(
        &mut self,
        collective: Collective,
        way: Way,
        amount: CallAmount,
    ) -> bool {
        if !amount.differs || !matches!(way.form(), MessageForm::Bundles { .. }) {
            return true;
        }
        if !amount.is_agreed {
            self.forecasts.distrust(collective);
        }
        amount.is_agreed && amount.is_even
    }

    pub(super) fn decide(&mut self, call: &PolicyCall) -> CallDecision {
        let decision = self.policy.decide(call);
        if let Some(class) = decision.class.filter(|_| call.is_steady)
            && self.learner().is_between_rows(class)
        {
            // Those of a trial that ended with this call.
            self.learning.forget_row(class);
        }
        decision
    }

    /// This process set cannot go a way that was to be learned.
    pub(super) fn refuse(&mut self, way: Way) {
        self.passing.refuse_all();
        self.learning.forget_rows();
        self.policy.refuse(way);
    }

    /// A call of a class has come and left then, and all ranks have met at some moment since, or have not.
    /// True if a row of calls has ended. Collective.
    pub(super) fn learn(
        &mut self,
        within: &CallComm,
        call: (CallClass, u64),
        times: TimedCall,
        met: Option<Instant>,
    ) -> MpiResult<bool> {
        let learner = self.policy.learner_mut();
        self.learning.called(learner, within, call, times, met)
    }

    /// True if calls like this one are known to go the library's way, with nothing to learn.
    pub(super) fn is_settled(&self, call: &CollectiveCall, amount: CallAmount) -> bool {
        self.settled == Some((call.collective, amount.block))
    }

    /// A call goes a way. Where it `may_pass`, all of its kind may settle on it.
    pub(super) fn settle(
        &mut self,
        call: &CollectiveCall,
        amount: CallAmount,
        (way, class): (Way, Option<CallClass>),
        may_pass: bool,
    ) {
        let stays = may_pass && way == Way::Native && class.is_none();
        self.settled = (stays && matches!(call.role, CallRole::Blocks))
            .then_some((call.collective, amount.block));
        if way.carrier() == Some(DataCarrier::Mpi) {
            // Over MPI not every block can be carried.
            self.forecasts.distrust(call.collective);
        }
    }

    /// True if all calls of this one's kind may go as it does: none is forced to take ways in turn.
    pub(super) fn may_pass(&self, collective: Collective, amount: CallAmount) -> bool {
        is_all_of_its_kind(amount) && !self.policy.is_forced(collective)
    }

    /// So many calls like this one pass without coming here, if all go the library's way and nobody times them.
    pub(super) fn let_pass(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
        class: Option<CallClass>,
        most: u32,
    ) {
        let learned = class.map_or(u32::MAX, |class| self.learner().untimed(class));
        let kind = PassingKind {
            collective: call.collective,
            block: amount.block,
            work: agreement_pace::work(within.size as u64, amount.moved),
            class,
        };
        self.passing.allow(call, kind, learned.min(most));
    }

    /// The calls that passed since the last question; the learner counts them.
    pub(super) fn passed(&mut self) -> Vec<(PassingKind, u32)> {
        let passed: Vec<_> = self.passing.passed().collect();
        for &(PassingKind { class, block, .. }, calls) in &passed {
            if let Some(class) = class {
                let learner = self.policy.learner_mut();
                learner.count_untimed(class, block, calls);
            }
        }
        passed
    }

    pub(super) fn passing(&mut self) -> &mut PassingKinds {
        &mut self.passing
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_not_served_says_nothing_of_others_of_its_size() {
        let amount = CallAmount {
            block: 1 << 20,
            fits: true,
            differs: false,
            moved: 1 << 20,
            is_agreed: true,
            is_even: false,
            place: None,
        };
        assert!(is_all_of_its_kind(amount));
        for other in [
            CallAmount {
                fits: false,
                ..amount
            },
            CallAmount {
                differs: true,
                ..amount
            },
        ] {
            assert!(!is_all_of_its_kind(other), "{other:?}");
        }
    }
}
