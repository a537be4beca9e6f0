//! Plans for calls of which each rank knows its own lengths only.
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use policy::decision_table::Collective;
use runtime::call_forecast::CallPlace;
use runtime::plan::FollowedEpoch;
use schedules::transfers::part::RankPart;

/// The plans of a process set under one epoch, by collective and place.
#[derive(Debug, Default)]
pub(super) struct LengthPlans {
    epoch: u64,
    /// `None` where the phases for equal lengths are as good.
    plans: Vec<(Collective, CallPlace, Option<RankPart>)>,
    /// The plan of the last call whose lengths had no place.
    last: Option<RankPart>,
}

impl LengthPlans {
    /// This rank's part of the plan for the calls of this place, if there is one that is better
    /// than the phases. At the first call of a place, and where a call has none, the ranks tell each
    /// other what they send, `own` on this rank. Collective.
    pub(super) fn part(
        &mut self,
        collective: Collective,
        place: Option<CallPlace>,
        within: &CallComm,
        follow: &FollowedEpoch,
        own: impl FnOnce() -> Vec<u64>,
    ) -> MpiResult<Option<&RankPart>> {
        if self.epoch != follow.view.epoch {
            *self = LengthPlans {
                epoch: follow.view.epoch,
                ..LengthPlans::default()
            };
        }
        let plan = || {
            let lengths = within.gather_numbers(own())?;
            Ok(follow.part_for_lengths(within.rank as u32, &lengths))
        };
        let Some(place) = place else {
            self.last = plan()?;
            return Ok(self.last.as_ref());
        };
        // Of lengths that came in other turns nothing is known any more.
        self.plans
            .retain(|(of, known, _)| *of != collective || known.is_of(place));
        let is_known = |plan: &(Collective, CallPlace, _)| (plan.0, plan.1) == (collective, place);
        if !self.plans.iter().any(is_known) {
            self.plans.push((collective, place, plan()?));
        }
        let plan = self.plans.iter().find(|plan| is_known(plan));
        Ok(plan.and_then(|(_, _, part)| part.as_ref()))
    }
}
