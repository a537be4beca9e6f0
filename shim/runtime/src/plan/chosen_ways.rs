//! Through the stages of a fabric each message of an all-to-all has a way of its own. Between two ranks
//! there is one message, so a connection takes its way, if it comes from a port that leads there.
use crate::process_set_view::{ProcessSetView, StagedLeaves};
use inventory::stages::flows::KnownFlow;
use schedules::alltoall::{self, AlltoallSchedule};
use schedules::stages::traced::{TracedPath, WayAnswers};
use schedules::synchronization::scheme::SyncScheme;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::verify::{self, ScheduleViolation};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// The ways of one rank's messages.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenWays {
    /// By synchronization: this rank's part, in as many as the schedule's barriers divide it into.
    parts: Vec<(SyncScheme, Vec<RankPart>)>,
    paths: Vec<Option<TracedPath>>,
    ports: Vec<Option<u16>>,
    is_called: bool,
    answers: HashSet<IpAddr>,
    ways: u64,
    plans: u64,
}

impl ChosenWays {
    /// This rank's part of the all-to-all with this synchronization; `None` if it is not planned by ways.
    pub fn parts(&self, sync: SyncScheme) -> Option<&[RankPart]> {
        let known = self.parts.iter().find(|(known, _)| *known == sync);
        known.map(|(_, parts)| parts.as_slice())
    }

    /// By rank: what shows the way of this rank's message to it; none where there is no choice.
    pub fn paths(&self) -> &[Option<TracedPath>] {
        &self.paths
    }

    /// By rank: the port of a known flow that takes this way to the door of the rank's host.
    pub fn ports(&self) -> &[Option<u16>] {
        &self.ports
    }

    /// True if this rank is called by known flows, being the only one of its host.
    pub fn has_known_flows(&self) -> bool {
        self.is_called
    }

    /// All addresses that answer on ways.
    pub fn answers(&self) -> &HashSet<IpAddr> {
        &self.answers
    }

    /// The same on all ranks; another one where messages take other ways.
    pub fn digest(&self) -> u64 {
        self.ways
    }

    /// The same on all ranks that have planned the same.
    pub fn digest_of_plans(&self) -> u64 {
        self.plans
    }

    /// With the parts of another synchronization, too; messages take the same ways with each.
    pub(super) fn with(self, further: ChosenWays) -> ChosenWays {
        ChosenWays {
            parts: [self.parts, further.parts].concat(),
            plans: digest_of((self.plans, further.plans)),
            ..self
        }
    }
}

/// An all-to-all through a fabric with one synchronization, planned for all ranks.
pub(super) struct PlannedByWays<'a> {
    view: &'a ProcessSetView,
    staged: &'a StagedLeaves,
    plan: AlltoallSchedule,
    schedule: TransferSchedule,
}

impl PlannedByWays<'_> {
    /// Nothing where no stage answers, and where some phase finds no room.
    pub(super) fn new(
        view: &ProcessSetView,
        sync: SyncScheme,
    ) -> Result<Option<PlannedByWays<'_>>, ScheduleViolation> {
        let Some(staged) = view.staged.as_ref().filter(|_| sync != SyncScheme::WINDOW) else {
            return Ok(None);
        };
        let plan = alltoall::plan(&staged.leaves, sync);
        if plan.paths.is_empty() {
            return Ok(None);
        }
        verify::alltoall(&staged.leaves, &plan)?;
        let schedule = TransferSchedule::on_tree(&staged.leaves, &plan)
            .unwrap_or_else(|wait| unreachable!("the verifier has found every message: {wait:?}"));
        Ok(Some(PlannedByWays {
            view,
            staged,
            plan,
            schedule,
        }))
    }

    /// The ways of a rank's messages.
    pub(super) fn of_rank(&self, rank: u32) -> ChosenWays {
        let PlannedByWays {
            view,
            staged,
            plan,
            schedule,
        } = self;
        let lead = plan.lead(&staged.leaves);
        let part = RankPart {
            lead,
            ..part::of(schedule, rank)
        };
        let answers = WayAnswers::new(&staged.hops);
        let ranks = staged.leaves.hosts() as usize;
        let (mut paths, mut ports) = (vec![None; ranks], vec![None; ranks]);
        let hosts = view.hosts_of_ranks();
        let flows = staged.flows.iter();
        let own: Vec<&KnownFlow> = flows
            .filter(|flow| flow.from == hosts[rank as usize])
            .collect();
        let messages = plan.phases.iter().flatten().zip(&plan.paths);
        for (m, &path) in messages.filter(|(m, _)| m.src == rank) {
            let (to, path) = (m.dst as usize, answers.of_path(&staged.leaves, *m, path));
            ports[to] = own
                .iter()
                .find(|flow| flow.to == hosts[to] && path.chosen_cables().eq(&flow.cables))
                .map(|flow| flow.port);
            paths[to] = Some(path);
        }
        ChosenWays {
            parts: vec![(plan.scheme, part.between(schedule.meetings()))],
            paths,
            ports,
            is_called: view.place_on_host(rank) == [0, 1]
                && staged
                    .flows
                    .iter()
                    .any(|flow| flow.to == hosts[rank as usize]),
            answers: answers.all(),
            ways: digest_of((&plan.phases, &plan.paths, &staged.hops, &staged.flows)),
            plans: digest_of((&plan.phases, &plan.paths, &plan.syncs, lead)),
        }
    }
}

/// Never 0.
fn digest_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish() | 1
}
