//! The epoch that a process set follows, planned or not yet.
use policy::decision_table::{Collective, Way};
use policy::learning::CandidateWay;
use runtime::plan::{FollowedEpoch, UnplannedEpoch};
use runtime::process_set_view::ProcessSetView;
use runtime::settings::ReductionOrder;

/// The epoch that the process set follows.
#[derive(Debug, Default)]
pub(crate) enum FollowState {
    /// The library's own routines run.
    #[default]
    Nothing,
    /// An epoch for which nobody has asked for another way yet.
    Unplanned(Box<UnplannedEpoch>),
    Planned(Box<FollowedEpoch>),
}

impl FollowState {
    pub(crate) fn may_differ(&self, collective: Collective, block: u64) -> bool {
        match self {
            FollowState::Nothing => false,
            FollowState::Unplanned(prospect) => prospect.may_differ(collective, block),
            FollowState::Planned(follow) => follow.takes_part(collective),
        }
    }

    pub(crate) fn takes_part(&self, collective: Collective) -> bool {
        match self {
            FollowState::Nothing => false,
            FollowState::Unplanned(prospect) => prospect.takes_part(collective),
            FollowState::Planned(follow) => follow.takes_part(collective),
        }
    }

    pub(crate) fn candidates(
        &self,
        collective: Collective,
        block: u64,
        is_even: bool,
    ) -> Vec<CandidateWay> {
        match self {
            FollowState::Nothing => Vec::new(),
            FollowState::Unplanned(prospect) => prospect.candidates(collective, block, is_even),
            FollowState::Planned(follow) => follow.candidates(collective, block, is_even),
        }
    }

    /// The process set on the tree that it follows.
    pub(crate) fn view(&self) -> Option<&ProcessSetView> {
        match self {
            FollowState::Nothing => None,
            FollowState::Unplanned(prospect) => Some(prospect.view()),
            FollowState::Planned(follow) => Some(&follow.view),
        }
    }

    /// The same, to learn of it.
    pub(crate) fn view_mut(&mut self) -> Option<&mut ProcessSetView> {
        match self {
            FollowState::Nothing => None,
            FollowState::Unplanned(prospect) => Some(prospect.view_mut()),
            FollowState::Planned(follow) => Some(&mut follow.view),
        }
    }

    /// The way of a call with blocks of this size, as far as it is known before it.
    pub(crate) fn likely_way(&self, collective: Collective, block: u64) -> Way {
        match self {
            FollowState::Nothing => Way::Native,
            FollowState::Unplanned(prospect) => prospect.likely_way(collective, block),
            FollowState::Planned(follow) => follow.way(collective, block, 0),
        }
    }

    /// What may change the order in which reductions combine.
    pub(crate) fn reductions(&self) -> ReductionOrder {
        match self {
            FollowState::Nothing => ReductionOrder::Librarys,
            FollowState::Unplanned(prospect) => prospect.reductions(),
            FollowState::Planned(follow) => follow.reductions(),
        }
    }

    /// True if the environment says which way calls of a collective go.
    pub(crate) fn is_forced(&self, collective: Collective) -> bool {
        match self {
            FollowState::Nothing => false,
            FollowState::Unplanned(prospect) => prospect.is_forced(collective),
            FollowState::Planned(follow) => follow.is_forced(collective),
        }
    }

    /// Why a call goes a way, for people.
    pub(crate) fn why(&self, collective: Collective, block: u64, way: Way, learns: bool) -> String {
        match self {
            FollowState::Nothing => String::new(),
            FollowState::Unplanned(prospect) => prospect.why(collective, block),
            FollowState::Planned(follow) if learns && !follow.decides(collective, block, way) => {
                "learned".to_owned()
            }
            FollowState::Planned(follow) => follow.why(collective, block, way),
        }
    }
}
