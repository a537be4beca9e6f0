//! The epoch in the making: first a candidate in its hold-down, then a plan, then a publication.
use super::candidate::{EpochCandidate, PublishedNetwork};
use super::event::{ControllerEffect, EpochOrder, PlanSummary};
use super::hold_down::HoldDown;
use api::{EpochInfo, StageTimes};
use inventory::Millis;
use std::time::Duration;

/// Pause before publishing is tried again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// The progress of an epoch in the making.
#[derive(Debug, Clone, Copy, PartialEq)]
enum EpochTaskPhase {
    Planning,
    /// There is no plan for this tree.
    Unplannable,
    Publishing,
    /// Publishing failed; the time of the next try.
    Failed(Millis),
}

/// A plan under way.
#[derive(Debug, Clone)]
pub(super) struct EpochTask {
    ticket: u64,
    number: u64,
    candidate: EpochCandidate,
    changes: Vec<String>,
    stages: StageTimes,
    summary: Option<PlanSummary>,
    phase: EpochTaskPhase,
    /// The number of failed tries to publish.
    failures: u32,
    /// Only the measurements are new, not the network.
    remeasured: bool,
}

/// No epoch can follow, because this number is the highest possible one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumbersExhausted(pub(super) u64);

/// The epoch in the making.
#[derive(Debug, Default)]
pub(super) struct EpochInMaking {
    /// The candidate, while it is in its hold-down.
    pub(super) hold_down: HoldDown,
    task: Option<EpochTask>,
    /// The description of measurements that no epoch contains yet.
    pub(super) measured: Option<String>,
    tickets: u64,
    /// The highest epoch number that may be in use.
    pub(super) highest: u64,
}

impl EpochInMaking {
    /// Drops the plan of a tree that is no longer wanted, unless it is being published. Returns
    /// whether a plan was dropped.
    pub(super) fn drop_outdated(&mut self, settled: Option<&PublishedNetwork>) -> bool {
        let remeasured = self
            .task
            .as_ref()
            .filter(|task| task.remeasured)
            .and(settled);
        let wanted = self
            .hold_down
            .held()
            .map(|h| &h.candidate.key)
            .or(remeasured.map(|settled| &settled.key));
        // A publication is not called back: its pointer may be in place already.
        let outdated = self.task.as_ref().is_some_and(|t| {
            t.phase != EpochTaskPhase::Publishing && Some(&t.candidate.key) != wanted
        });
        if outdated {
            self.task = None;
        }
        outdated
    }

    /// Returns whether a plan is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.task.is_some()
    }

    /// Retries a failed publication, when that is due.
    pub(super) fn retry(&mut self, now: Millis) -> Option<ControllerEffect> {
        let task = self
            .task
            .as_mut()
            .filter(|task| matches!(task.phase, EpochTaskPhase::Failed(at) if now >= at))?;
        task.phase = EpochTaskPhase::Publishing;
        Some(ControllerEffect::Publish {
            ticket: task.ticket,
        })
    }

    /// Orders a plan for a candidate. It is made with the newest measurements.
    ///
    /// # Errors
    /// There is no number left.
    pub(super) fn order(
        &mut self,
        now: Millis,
        candidate: EpochCandidate,
        mut changes: Vec<String>,
        stages: StageTimes,
        settled: Option<&PublishedNetwork>,
    ) -> Result<ControllerEffect, NumbersExhausted> {
        let number = self
            .highest
            .checked_add(1)
            .ok_or(NumbersExhausted(self.highest))?;
        self.tickets += 1;
        let ticket = self.tickets;
        let EpochCandidate { file, network, .. } = candidate.clone();
        let remeasured = settled.is_some_and(|settled| settled.key == candidate.key);
        changes.extend(self.measured.take());
        let (summary, phase, failures) = (None, EpochTaskPhase::Planning, 0);
        self.task = Some(EpochTask {
            ticket,
            number,
            candidate,
            changes,
            stages,
            summary,
            phase,
            failures,
            remeasured,
        });
        Ok(ControllerEffect::Plan(Box::new(EpochOrder {
            ticket,
            number,
            at: now,
            file,
            network,
            flows: Vec::new(),
        })))
    }

    /// Takes the success of a plan, and has it published.
    pub(super) fn planned(
        &mut self,
        now: Millis,
        ticket: u64,
        summary: PlanSummary,
    ) -> Option<ControllerEffect> {
        let task = self
            .task
            .as_mut()
            .filter(|t| t.ticket == ticket && t.phase == EpochTaskPhase::Planning)?;
        task.stages.planned = Some(now.since(task.stages.seen));
        task.summary = Some(summary);
        task.phase = EpochTaskPhase::Publishing;
        self.highest = task.number; // From here on the number may be in use.
        Some(ControllerEffect::Publish { ticket })
    }

    /// No plan follows from this one. Returns whether it was wanted.
    pub(super) fn mark_unplannable(&mut self, ticket: u64) -> bool {
        let task = self.task.as_mut().filter(|t| t.ticket == ticket);
        task.map(|task| task.phase = EpochTaskPhase::Unplannable)
            .is_some()
    }

    /// Publishes it later. Returns whether the plan was wanted.
    pub(super) fn postpone(&mut self, now: Millis, ticket: u64) -> bool {
        let Some(task) = self.task.as_mut().filter(|t| t.ticket == ticket) else {
            return false;
        };
        // Six doublings of the first pause are beyond the longest one.
        let pause = (RETRY.0 * (1 << task.failures.min(6))).min(RETRY.1);
        task.phase = EpochTaskPhase::Failed(now.after(pause));
        task.failures += 1;
        true
    }

    /// Takes the success of a publication.
    pub(super) fn published(
        &mut self,
        now: Millis,
        ticket: u64,
    ) -> Option<(EpochInfo, PublishedNetwork)> {
        let mut task = self.task.take_if(|t| t.ticket == ticket)?;
        task.stages.published = Some(now.since(task.stages.seen));
        let PlanSummary {
            phases,
            bound_only,
            bottleneck,
            hosts,
        } = task.summary.unwrap_or_default();
        let EpochTask {
            number,
            changes,
            stages,
            ..
        } = task;
        let epoch = EpochInfo {
            number,
            at: now,
            changes,
            phases,
            bound_only,
            bottleneck,
            hosts,
            stages,
        };
        Some((epoch, PublishedNetwork::new(number, task.candidate)))
    }

    /// The time of the next try to publish.
    pub(super) fn retry_at(&self) -> Option<Millis> {
        self.task.as_ref().and_then(|t| {
            if let EpochTaskPhase::Failed(at) = t.phase {
                Some(at)
            } else {
                None
            }
        })
    }
}
