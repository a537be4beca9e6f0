//! One rank's parts of the schedules of all ways that calls of a process set may go.
//!
//! Every schedule is verified before its parts are kept.
use crate::clusters;
use crate::process_set_view::{FollowError, ProcessSetView};
use crate::settings::ForcedWays;
use inventory::{Bytes, TopologyFile};
use policy::decision_table::{DataCarrier, DecisionTable, Way};
use schedules::alltoall::AlltoallAlgorithm;
use schedules::synchronization::SyncKind;
use schedules::synchronization::credit::LaneCredit;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::verify::{self, ScheduleViolation};
use schedules::window::{OctetWindow, PORT_QUEUE};
use schedules::{allgather, alltoall, bundled, lg};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The ways planned so far, and a digest of their schedules.
pub(super) struct PlannedWays<'a> {
    view: &'a ProcessSetView,
    rank: u32,
    parts: Vec<(Way, Vec<RankPart>)>,
    digest: DefaultHasher,
}

impl<'a> PlannedWays<'a> {
    /// No way yet. The digest covers the epoch, the forced ways and the decision table.
    pub(super) fn new(
        view: &'a ProcessSetView,
        rank: u32,
        table: &DecisionTable,
        force: &ForcedWays,
    ) -> PlannedWays<'a> {
        let mut digest = DefaultHasher::new();
        (view.epoch, force, table).hash(&mut digest);
        PlannedWays {
            view,
            rank,
            parts: Vec::new(),
            digest,
        }
    }

    /// Plans the ring of all-gathers, and returns its ranks in their order.
    pub(super) fn add_ring(&mut self) -> Result<Vec<u32>, FollowError> {
        let plan = allgather::plan(&self.view.leaves);
        self.verified(verify::allgather(&self.view.leaves, &plan))?;
        plan.ring.hash(&mut self.digest);
        let over = DataCarrier::Mpi;
        self.add_whole(Way::Ring { over }, &TransferSchedule::from(&plan));
        Ok(plan.ring)
    }

    /// Plans several rings, where slow trunks make one slower and each host has one rank.
    pub(super) fn add_rings(&mut self) -> Result<(), FollowError> {
        let leaves = &self.view.leaves;
        let may = self.view.gains_by_rings;
        let Some(plan) = allgather::rings::plan(leaves).filter(|_| may) else {
            return Ok(());
        };
        self.verified(verify::rings(leaves, &plan))?;
        (plan.schedule.ends(), plan.schedule.waits()).hash(&mut self.digest);
        self.add_whole(Way::Rings, &plan.schedule);
        Ok(())
    }

    /// Plans the phases of an all-to-all with this synchronization, and returns their number.
    pub(super) fn add_aapc(&mut self, sync: SyncScheme) -> Result<usize, FollowError> {
        let plan = alltoall::plan(&self.view.leaves, sync);
        self.verified(verify::alltoall(&self.view.leaves, &plan))?;
        (&plan.phases, &plan.syncs).hash(&mut self.digest);
        let schedule = TransferSchedule::try_from(&plan);
        let schedule = schedule
            .unwrap_or_else(|wait| unreachable!("the verifier has found every message: {wait:?}"));
        let over = DataCarrier::Mpi;
        let part = RankPart {
            window: self.window(sync)?,
            lead: self.lead(plan.algorithm, sync),
            ..part::of(&schedule, self.rank)
        };
        self.parts
            .push((Way::Aapc { sync, over }, part.between(schedule.meetings())));
        Ok(plan.phases.len())
    }

    /// The octets of a block that are still to come when its receiver gives tokens, if this
    /// synchronization is by credit.
    fn lead(&mut self, algorithm: AlltoallAlgorithm, sync: SyncScheme) -> Option<Bytes> {
        let is_credit = sync.mechanism() == SyncMechanism::Credit;
        let leaves = &self.view.leaves;
        let capacities = is_credit.then(|| algorithm.capacities(leaves))?;
        let LaneCredit(octets) = LaneCredit::of(leaves, &capacities, PORT_QUEUE);
        octets.hash(&mut self.digest);
        Some(octets)
    }

    /// The octets that a rank may have under way, if this synchronization limits them.
    fn window(&mut self, sync: SyncScheme) -> Result<Option<Bytes>, FollowError> {
        if sync != SyncScheme::WINDOW {
            return Ok(None);
        }
        let ProcessSetView { hosts, host_of, .. } = self.view;
        let window = OctetWindow::of(hosts, host_of);
        self.verified(verify::window(hosts, host_of, window))?;
        window.hash(&mut self.digest);
        Ok(Some(window.octets))
    }

    /// Plans the all-to-all that carries the blocks between two hosts in one message.
    pub(super) fn add_bundled(&mut self) {
        let phases = alltoall::plan(&self.view.hosts, SyncKind::None).phases;
        phases.hash(&mut self.digest);
        let part = bundled::part(&self.view.host_of, &phases, self.rank);
        self.parts.push((Way::Bundled, vec![part]));
    }

    /// Plans LG where the ranks span clusters; the answer ends the summary, and says why there is
    /// no such plan.
    pub(super) fn add_lg(&mut self, topology: &TopologyFile) -> Result<String, FollowError> {
        let ProcessSetView {
            hosts,
            leaves,
            host_of,
            ..
        } = self.view;
        let clusters = match clusters::of_ranks(topology, hosts, leaves, host_of) {
            Ok(clusters) => clusters,
            Err(reason) => return Ok(format!("; no lg: {reason}")),
        };
        let plan = lg::plan(leaves, &clusters, None);
        self.verified(verify::lg(leaves, &plan))?;
        // The digest covers the tree and the ring already: LG adds only the clusters.
        for cluster in &plan.clusters {
            cluster.hosts.hash(&mut self.digest);
        }
        self.add_whole(Way::Lg, &TransferSchedule::from(&plan));
        Ok(format!(
            "; lg among {} clusters, {} steps",
            plan.clusters.len(),
            plan.steps.len()
        ))
    }

    /// The parts by way, and the digest, which is never 0.
    pub(super) fn finish(self) -> (Vec<(Way, Vec<RankPart>)>, u64) {
        (self.parts, self.digest.finish() | 1)
    }

    /// Adds a schedule that no barrier divides.
    fn add_whole(&mut self, way: Way, schedule: &TransferSchedule) {
        self.parts.push((way, vec![part::of(schedule, self.rank)]));
    }

    /// The verifier's result, with the number of the epoch.
    fn verified(&self, result: Result<(), ScheduleViolation>) -> Result<(), FollowError> {
        result.map_err(|violation| FollowError::Wrong {
            epoch: self.view.epoch,
            violation: Box::new(violation),
        })
    }
}
