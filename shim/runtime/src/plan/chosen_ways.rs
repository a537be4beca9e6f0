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
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// The ways of one rank's messages.
#[derive(Debug)]
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

    /// Plans with this synchronization, too; messages take the same ways with each. Nothing where no stage
    /// answers, and where some phase finds no room.
    pub(super) fn add(
        chosen: &mut Option<ChosenWays>,
        view: &ProcessSetView,
        rank: u32,
        sync: SyncScheme,
    ) -> Result<(), ScheduleViolation> {
        let Some(staged) = view.staged.as_ref().filter(|_| sync != SyncScheme::WINDOW) else {
            return Ok(());
        };
        if chosen.as_ref().is_some_and(|own| own.parts(sync).is_some()) {
            return Ok(());
        }
        let plan = alltoall::plan(&staged.leaves, sync);
        if plan.paths.is_empty() {
            return Ok(());
        }
        verify::alltoall(&staged.leaves, &plan)?;
        let chosen = chosen.get_or_insert_with(|| ChosenWays::for_rank(view, staged, &plan, rank));
        let schedule = TransferSchedule::on_tree(&staged.leaves, &plan)
            .unwrap_or_else(|wait| unreachable!("the verifier has found every message: {wait:?}"));
        let lead = plan.lead(&staged.leaves);
        let part = RankPart {
            lead,
            ..part::of(&schedule, rank)
        };
        chosen.plans = digest_of((chosen.plans, &plan.phases, &plan.paths, &plan.syncs, lead));
        let parts = part.between(schedule.meetings());
        chosen.parts.push((sync, parts));
        Ok(())
    }

    fn for_rank(
        view: &ProcessSetView,
        staged: &StagedLeaves,
        plan: &AlltoallSchedule,
        rank: u32,
    ) -> ChosenWays {
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
            parts: Vec::new(),
            paths,
            ports,
            is_called: view.place_on_host(rank) == [0, 1]
                && staged
                    .flows
                    .iter()
                    .any(|flow| flow.to == hosts[rank as usize]),
            answers: answers.all(),
            ways: digest_of((&plan.phases, &plan.paths, &staged.hops, &staged.flows)),
            plans: 0,
        }
    }
}

/// Never 0.
fn digest_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish() | 1
}
