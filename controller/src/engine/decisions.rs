//! From a judgement to an epoch: hold-down, plan, publication, and what becomes of each.
use super::candidate::EpochCandidate;
use super::event::EffectList;
use super::judgement::NetworkJudgement;
use super::making::{EpochInMaking, NumbersExhausted};
use super::public_record::PublicRecord;
use super::reads::PendingReads;
use super::{ControllerEffect, ControllerEngine, TroubleArea};
use api::StageTimes;
use directory::publishing::PublishError;
use inventory::Millis;
use std::time::Duration;

impl EpochInMaking {
    /// Returns whether requested tables are still missing that may change the held candidate.
    pub(super) fn is_waiting(&self, now: Millis, reads: &PendingReads) -> bool {
        let held = self.hold_down.held();
        reads.waiting(now, |switch| held.is_some_and(|held| held.concerns(switch)))
    }

    /// Starts, drops or retries it.
    pub(super) fn decide(
        &mut self,
        now: Millis,
        reads: &PendingReads,
        directory: &str,
        public: &mut PublicRecord,
        fx: &mut EffectList,
    ) {
        if self.drop_outdated(public.settled.as_ref()) {
            public.note_trouble(TroubleArea::Publish, None);
            public.note_trouble(TroubleArea::Plan, None);
        }
        if self.is_busy() {
            return fx.extend(self.retry(now));
        }
        let is_waiting = self.is_waiting(now, reads);
        let ordered = match self.hold_down.due_candidate(now, is_waiting).cloned() {
            Some(held) => {
                let seen = self.hold_down.first_sign(held.since);
                let stages = StageTimes {
                    seen,
                    inferred: Some(held.from.since(seen)),
                    believed: Some(now.since(seen)),
                    ..StageTimes::default()
                };
                let settled = public.settled.as_ref();
                Some(self.order(now, held.candidate, held.changes, stages, settled))
            }
            None => self.remeasure(now, public),
        };
        match ordered {
            None => {}
            Some(Ok(plan)) => fx.push(plan),
            Some(Err(NumbersExhausted(highest))) => {
                let exhausted = PublishError::Exhausted {
                    dir: directory.into(),
                    highest,
                };
                public.note_trouble(TroubleArea::Publish, Some(exhausted.to_string()));
            }
        }
    }

    /// Plans the published network once more if there are new measurements. Without a published
    /// network the first epoch will contain them.
    fn remeasure(
        &mut self,
        now: Millis,
        public: &PublicRecord,
    ) -> Option<Result<ControllerEffect, NumbersExhausted>> {
        let settled = public.settled.as_ref()?;
        if self.hold_down.held().is_some() || self.measured.is_none() {
            return None;
        }
        let candidate = EpochCandidate::new(settled.network.clone(), settled.key.clone());
        let stages = StageTimes {
            seen: now,
            inferred: Some(Duration::ZERO),
            believed: Some(Duration::ZERO),
            ..StageTimes::default()
        };
        Some(self.order(now, candidate, Vec::new(), stages, Some(settled)))
    }

    /// Takes the failure of a plan.
    pub(super) fn plan_failed(&mut self, ticket: u64, problem: &str, public: &mut PublicRecord) {
        if self.mark_unplannable(ticket) {
            let text = format!(
                "there is no schedule for the present tree: {problem}; {}",
                public.stays()
            );
            public.note_trouble(TroubleArea::Plan, Some(text));
        }
    }

    /// Takes the failure of a publication.
    pub(super) fn publish_failed(
        &mut self,
        now: Millis,
        ticket: u64,
        problem: &str,
        public: &mut PublicRecord,
    ) {
        if self.postpone(now, ticket) {
            let text = format!("{problem}; {}", public.stays());
            public.note_trouble(TroubleArea::Publish, Some(text));
        }
    }
}

impl ControllerEngine {
    /// Compares a judgement's candidate, or the one that takes its place, with the published
    /// network, which holds still since a time. Returns whether anything is missing.
    pub(super) fn consider(
        &mut self,
        (now, still): (Millis, Millis),
        judgement: &NetworkJudgement,
        found: Option<EpochCandidate>,
        fx: &mut EffectList,
    ) -> bool {
        let hold_down = self.inventory.timing.hold_down;
        let public = &mut self.public;
        let candidate = self.rollback.instead_of(now, found, hold_down, public, fx);
        let making = &mut self.making;
        let settled = self.public.settled.as_ref();
        making
            .hold_down
            .consider((now, still), candidate, settled, hold_down);
        let missing = !judgement.alarms.is_empty() || judgement.candidate.is_err();
        let is_waiting = making.is_waiting(now, &self.observed.reads);
        let is_calm = !missing && making.hold_down.held().is_none() && !is_waiting;
        making.hold_down.set_calm(is_calm);
        missing
    }

    /// Takes the success of a publication.
    pub(super) fn published(&mut self, now: Millis, ticket: u64, fx: &mut EffectList) {
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
            self.public.note_trouble(trouble, None);
        }
    }
}
