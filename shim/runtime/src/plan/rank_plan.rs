//! A rank's parts of plans that are made for all ranks.
use super::chosen_ways::{ChosenWays, PlannedByWays};
use policy::ways::{PlannedPart, PlannedWay};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A rank's parts in the ways that were planned together.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RankPlan {
    rank: u32,
    /// A part for each way, in their order.
    pub(super) parts: Vec<PlannedPart>,
    /// The ways of its messages through a fabric.
    pub(super) chosen: Option<ChosenWays>,
}

impl RankPlan {
    pub(super) fn new(rank: u32) -> RankPlan {
        RankPlan {
            rank,
            parts: Vec::new(),
            chosen: None,
        }
    }

    /// In octets, for its rank.
    pub(super) fn share(&self) -> Option<(u32, Arc<[u8]>)> {
        Some((self.rank, postcard::to_stdvec(self).ok()?.into()))
    }

    /// Reads a share of [`RankPlan::share`]; `None` if it is not one of this rank.
    pub(super) fn read(octets: &[u8], rank: u32) -> Option<RankPlan> {
        let plan: RankPlan = postcard::from_bytes(octets).ok()?;
        (plan.rank == rank).then_some(plan)
    }

    /// Its part of this way, too.
    pub(super) fn add(&mut self, planned: &PlannedWay<'_>) {
        self.parts.push(planned.of_rank(self.rank));
    }

    /// Its messages of this all-to-all, too.
    pub(super) fn choose(&mut self, planned: &PlannedByWays<'_>) {
        let further = planned.of_rank(self.rank);
        self.chosen = Some(match self.chosen.take() {
            Some(chosen) => chosen.with(further),
            None => further,
        });
    }
}
