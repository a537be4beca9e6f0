//! From a judgement to an epoch: hold-down, plan, publication, and what becomes of each.
use super::candidate::EpochCandidate;
use super::judgement::NetworkJudgement;
use super::making::NumbersExhausted;
use super::{ControllerEffect, ControllerEngine, TroubleArea};
use api::StageTimes;
use directory::publishing::PublishError;
use inventory::Millis;
use std::time::Duration;

impl ControllerEngine {
    /// Compares a judgement's candidate, or the one that takes its place, with the published
    /// network. Returns whether anything is missing.
    pub(super) fn consider(
        &mut self,
        now: Millis,
        judgement: &NetworkJudgement,
        candidate: Option<EpochCandidate>,
    ) -> bool {
        self.making.hold_down.consider(
            now,
            candidate,
            self.public.settled.as_ref(),
            self.inventory.timing.hold_down,
        );
        let missing = !judgement.alarms.is_empty() || judgement.candidate.is_err();
        let calm = !missing && self.making.hold_down.held().is_none() && !self.is_waiting(now);
        self.making.hold_down.set_calm(calm);
        missing
    }

    /// Starts, drops or retries the epoch in the making.
    pub(super) fn decide(&mut self, now: Millis, fx: &mut Vec<ControllerEffect>) {
        if self.making.drop_outdated(self.public.settled.as_ref()) {
            self.note_trouble(TroubleArea::Publish, None);
            self.note_trouble(TroubleArea::Plan, None);
        }
        if self.making.is_busy() {
            return fx.extend(self.making.retry(now));
        }
        if let Some(held) = self
            .making
            .hold_down
            .due_candidate(now, self.is_waiting(now))
            .cloned()
        {
            let seen = self.making.hold_down.first_sign(held.since);
            let stages = StageTimes {
                seen,
                inferred: Some(held.from.since(seen)),
                believed: Some(now.since(seen)),
                ..StageTimes::default()
            };
            self.order(now, held.candidate, held.changes, stages, fx);
        } else if self.making.hold_down.held().is_none() {
            self.remeasure(now, fx);
        }
    }

    /// Plans the published network once more if there are new measurements. Without a published
    /// network the first epoch will contain them.
    fn remeasure(&mut self, now: Millis, fx: &mut Vec<ControllerEffect>) {
        let Some(settled) = self
            .public
            .settled
            .as_ref()
            .filter(|_| self.making.measured.is_some())
        else {
            return;
        };
        let candidate = EpochCandidate::new(settled.network.clone(), settled.key.clone());
        let stages = StageTimes {
            seen: now,
            inferred: Some(Duration::ZERO),
            believed: Some(Duration::ZERO),
            ..StageTimes::default()
        };
        self.order(now, candidate, Vec::new(), stages, fx);
    }

    fn order(
        &mut self,
        now: Millis,
        candidate: EpochCandidate,
        changes: Vec<String>,
        stages: StageTimes,
        fx: &mut Vec<ControllerEffect>,
    ) {
        match self.making.order(
            now,
            candidate,
            changes,
            stages,
            self.public.settled.as_ref(),
        ) {
            Ok(plan) => fx.push(plan),
            Err(NumbersExhausted(highest)) => {
                let exhausted = PublishError::Exhausted {
                    dir: self.options.directory.clone().into(),
                    highest,
                };
                self.note_trouble(TroubleArea::Publish, Some(exhausted.to_string()));
            }
        }
    }

    pub(super) fn plan_failed(&mut self, ticket: u64, problem: &str) {
        if self.making.plan_failed(ticket) {
            let stays = self.public.stays();
            self.note_trouble(
                TroubleArea::Plan,
                Some(format!(
                    "there is no schedule for the present tree: {problem}; {stays}"
                )),
            );
        }
    }

    pub(super) fn published(&mut self, now: Millis, ticket: u64, fx: &mut Vec<ControllerEffect>) {
        let Some((epoch, settled)) = self.making.published(now, ticket) else {
            return;
        };
        if self.learned.follow(settled.number, &settled.key) {
            self.watch.clear();
            self.shown_rates.clear();
        }
        self.public.publish(epoch, settled, fx);
        self.wake = true;
        for trouble in [
            TroubleArea::Publish,
            TroubleArea::Plan,
            TroubleArea::Current,
        ] {
            self.note_trouble(trouble, None);
        }
    }

    pub(super) fn publish_failed(&mut self, now: Millis, ticket: u64, problem: &str) {
        if self.making.publish_failed(now, ticket) {
            let stays = self.public.stays();
            self.note_trouble(TroubleArea::Publish, Some(format!("{problem}; {stays}")));
        }
    }
}
