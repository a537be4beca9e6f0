//! An earlier epoch is published again because an operator ordered it, and stays until the network
//! changes or the operator takes the order back.
//!
//! While the order is in force, its network takes the place of the candidate. So it goes through the
//! same hold-down, planner, verifier and publication as any other. The network as it was seen right
//! after that is remembered: as long as nothing else is seen, nothing else is published.
use super::candidate::EpochCandidate;
use super::event::{EffectList, OrderedRollback};
use super::public_record::PublicRecord;
use super::trouble::TroubleArea;
use super::{ControllerEffect, ControllerEngine};
use api::EventLevel;
use directory::rollback::RollbackOrder;
use inventory::{Millis, TopologyFile};
use std::sync::Arc;
use std::time::Duration;

/// An order in force, if there is one.
#[derive(Debug, Default)]
pub(super) struct OrderedNetwork {
    hold: Option<RollbackHold>,
}

/// An order in force.
#[derive(Debug)]
struct RollbackHold {
    order: RollbackOrder,
    candidate: EpochCandidate,
    /// The network that is not published, once the ordered one is.
    against: Option<Arc<TopologyFile>>,
    /// Since when yet another network is seen.
    differs: Option<Millis>,
}

impl OrderedNetwork {
    /// The time at which a change ends the order, if nothing else is seen before.
    pub(super) fn deadline(&self, hold_down: Duration) -> Option<Millis> {
        let since = self.hold.as_ref()?.differs?;
        Some(since.after(hold_down))
    }

    /// Takes a new order, or that there is none any more.
    pub(super) fn take(
        &mut self,
        now: Millis,
        ordered: Option<OrderedRollback>,
        directory: &str,
        public: &mut PublicRecord,
        fx: &mut EffectList,
    ) {
        let Some(OrderedRollback { order, epoch }) = ordered else {
            // Also the alarm of an order that could not be read is over.
            public.note_trouble(TroubleArea::Rollback, None);
            if let Some(hold) = self.hold.take() {
                let text = format!(
                    "the order to stay with the network of epoch {} was taken back",
                    hold.order.epoch
                );
                public.log(now, EventLevel::Info, text, fx);
            }
            return;
        };
        let candidate = EpochCandidate::new(epoch.network, epoch.file);
        let settled = public.settled.as_ref();
        let is_current = settled.is_some_and(|s| s.number == order.replaced);
        let is_done = settled.is_some_and(|s| s.key == candidate.key);
        if !is_current && !is_done {
            // The network changed since; or before the order could be removed, when the last
            // controller ended.
            let RollbackOrder { epoch, replaced } = order;
            let text = format!(
                "the order to publish the network of epoch {epoch} again was given while epoch \
                 {replaced} was current, which is over; the order is dropped"
            );
            public.log(now, EventLevel::Warning, text, fx);
            return self.end(public, fx);
        }
        public.note_trouble(
            TroubleArea::Rollback,
            Some(format!(
                "the network of epoch {} is published by an operator's order; the network as found \
                 differs, and is published once it changes, or after: heddle history --dir \
                 {directory} --release",
                order.epoch
            )),
        );
        self.hold = Some(RollbackHold {
            order,
            candidate,
            against: None,
            differs: None,
        });
    }

    fn end(&mut self, public: &mut PublicRecord, fx: &mut EffectList) {
        self.hold = None;
        public.note_trouble(TroubleArea::Rollback, None);
        fx.push(ControllerEffect::EndRollback);
    }

    /// The candidate that counts: the ordered one, unless the network changed.
    pub(super) fn instead_of(
        &mut self,
        now: Millis,
        found: Option<EpochCandidate>,
        hold_down: Duration,
        public: &mut PublicRecord,
        fx: &mut EffectList,
    ) -> Option<EpochCandidate> {
        let Some(hold) = &mut self.hold else {
            return found;
        };
        let settled = public.settled.as_ref();
        if !settled.is_some_and(|s| s.key == hold.candidate.key) {
            return Some(hold.candidate.clone());
        }
        // Without a whole tree nothing is known of changes.
        let Some(found) = found else {
            hold.differs = None;
            return None;
        };
        let against = hold.against.get_or_insert_with(|| Arc::clone(&found.key));
        if *against == found.key {
            hold.differs = None;
            return Some(hold.candidate.clone());
        }
        let since = *hold.differs.get_or_insert(now);
        if now.since(since) < hold_down {
            return Some(hold.candidate.clone());
        }
        let text = format!(
            "the network changed, so the order to stay with that of epoch {} is over",
            hold.order.epoch
        );
        public.log(now, EventLevel::Info, text, fx);
        self.end(public, fx);
        Some(found)
    }
}

impl ControllerEngine {
    pub(super) fn take_rollback(
        &mut self,
        now: Millis,
        ordered: Option<OrderedRollback>,
        fx: &mut EffectList,
    ) {
        self.wake = true;
        let directory = &self.options.directory;
        self.rollback
            .take(now, ordered, directory, &mut self.public, fx);
    }
}
