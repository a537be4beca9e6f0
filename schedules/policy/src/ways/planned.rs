//! The hosts that ways are planned for, and the plans.
use inventory::tree::{NodeNumber, Tree};
use inventory::{Bytes, TopologyFile};
use schedules::allgather::{self, AllgatherSchedule};
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::verify::{self, ScheduleViolation};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A process set for which ways are planned.
#[derive(Debug)]
pub struct PlanningSet<'a> {
    /// The tree of the hosts alone.
    pub hosts: &'a Tree,
    /// The same with rank `r` as leaf number `r`.
    pub leaves: &'a Tree,
    /// The host of each rank.
    pub host_of: &'a [NodeNumber],
    /// The network.
    pub topology: &'a TopologyFile,
    /// The ring of all ranks, that several ways go along.
    pub ring: &'a AllgatherSchedule,
}

impl PlanningSet<'_> {
    /// The hosts in the order in which the ring comes to them.
    pub(super) fn hosts_along_ring(&self) -> Vec<NodeNumber> {
        let ranks = self.ring.ring.iter();
        let mut hosts: Vec<NodeNumber> = ranks.map(|&rank| self.host_of[rank as usize]).collect();
        let mut known = HashSet::new();
        hosts.retain(|&host| known.insert(host));
        hosts
    }
}

/// The ring of all ranks, verified.
///
/// # Errors
/// The mistake of the planner.
pub fn planned_ring(leaves: &Tree) -> Result<AllgatherSchedule, ScheduleViolation> {
    let ring = allgather::plan(leaves);
    verify::allgather(leaves, &ring)?;
    Ok(ring)
}

/// A way, planned for all ranks of a process set.
#[derive(Default)]
pub struct PlannedWay<'a> {
    /// Cuts out a rank's transfers, in as many parts as barriers divide the schedule into; `None` where no call of the
    /// process set can go this way.
    pub(super) parts: Option<Box<dyn Fn(u32) -> Vec<RankPart> + 'a>>,
    /// The most blocks of a message that is put together.
    pub(super) together: u64,
    /// The phases, if it has such.
    pub(super) phases: usize,
    /// Its part of a line about the process set.
    pub(super) note: Option<String>,
    pub(super) digest: u64,
}

impl<'a> PlannedWay<'a> {
    /// A way on which each rank has these parts.
    pub(super) fn new(parts: impl Fn(u32) -> Vec<RankPart> + 'a) -> PlannedWay<'a> {
        PlannedWay {
            parts: Some(Box::new(parts)),
            ..PlannedWay::default()
        }
    }

    /// A schedule that no barrier divides.
    pub(super) fn undivided(schedule: TransferSchedule) -> PlannedWay<'a> {
        PlannedWay::new(move |rank| vec![part::of(&schedule, rank)])
    }

    /// With a digest of what all ranks plan alike.
    #[must_use]
    pub(super) fn with_digest(self, of: impl Hash) -> PlannedWay<'a> {
        let mut digest = DefaultHasher::new();
        of.hash(&mut digest);
        PlannedWay {
            digest: digest.finish(),
            ..self
        }
    }

    /// A rank's part of it.
    pub fn of_rank(&self, rank: u32) -> PlannedPart {
        PlannedPart {
            parts: self.parts.as_ref().map(|parts| parts(rank)),
            together: self.together,
            phases: self.phases,
            note: self.note.clone(),
            digest: self.digest,
        }
    }
}

/// A rank's part of a way.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPart {
    /// Its transfers, in as many parts as barriers divide the schedule into; `None` where no call of the
    /// process set can go this way.
    pub parts: Option<Vec<RankPart>>,
    /// The most blocks of a message that is put together.
    pub together: u64,
    /// The phases, if it has such.
    pub phases: usize,
    /// Its part of a line about the process set.
    pub note: Option<String>,
    /// The same number for all ranks that plan the same.
    pub digest: u64,
}

impl PlannedPart {
    /// True if blocks of this size fit in its messages. Those of several blocks are copied, and MPI counts
    /// them by `int`.
    pub fn holds(&self, block: Bytes) -> bool {
        const MOST: u64 = 1 << 30;
        self.parts.is_some() && block.0.saturating_mul(self.together) <= MOST
    }
}
