//! Calls that go the library's way for as long as this epoch is followed, or until the next one of
//! their row is timed: they take the shortest way here, and pass without coming here.
use super::ProcessSet;
use crate::call::{CallAmount, CallRole, CollectiveCall};
use crate::passing::PassingKind;
use policy::decision_table::{Collective, Way};
use policy::learning::CallClass;
use runtime::{agreement_pace, watchdog};

/// True if all calls with blocks of this size are as this one. One in place is served up to another
/// size than others.
fn is_all_of_its_kind(amount: CallAmount) -> bool {
    amount.fits && !amount.differs
}

impl ProcessSet {
    /// The kind of this call, if all of that kind go as it does: the library's way, with nothing to
    /// learn.
    pub(super) fn settles(
        &self,
        call: &CollectiveCall,
        amount: CallAmount,
        way: Way,
        class: Option<CallClass>,
    ) -> Option<(Collective, u64)> {
        let is_plain = way == Way::Native && class.is_none() && is_all_of_its_kind(amount);
        let stays = is_plain && !self.may_change(call.collective);
        (stays && matches!(call.role, CallRole::Blocks)).then_some((call.collective, amount.block))
    }

    /// True if each call has to be looked at: ways are taken in turn, or recorded.
    fn may_change(&self, collective: Collective) -> bool {
        self.policy.is_forced(collective) || self.trace.is_recording()
    }

    /// A call of the settled kind. It may take a few microseconds: all that is done is counted.
    pub(super) fn pass(&mut self, call: &CollectiveCall, amount: CallAmount) -> i32 {
        let (collective, block) = (call.collective, amount.block);
        watchdog::begin_wait(|| {
            let me = self.me();
            format!("{me}: {collective} of {block} B a block, the library's routine")
        });
        let timer = (self.root.as_mut()).map(|root| root.begin(collective, Way::Native, block));
        let code = (call.native)();
        if let (Some(root), Some(timer)) = (&mut self.root, &timer) {
            root.done(timer);
        }
        self.let_pass(call, amount, None);
        code
    }

    /// Calls like this one pass without coming here, as long as they all go the library's way and
    /// nobody times them.
    pub(super) fn let_pass(
        &mut self,
        call: &CollectiveCall,
        amount: CallAmount,
        class: Option<CallClass>,
    ) {
        let (collective, block) = (call.collective, amount.block);
        if !is_all_of_its_kind(amount) || self.may_change(collective) {
            return;
        }
        let learned = class.map_or(u32::MAX, |class| self.policy.learner().untimed(class));
        let root = self.root.as_mut();
        let recorded = root.map_or(u32::MAX, |root| root.untimed(collective, block));
        let work = agreement_pace::work(self.hosts.len() as u64, amount.moved);
        let kind = PassingKind {
            collective,
            block,
            work,
            class,
        };
        self.passing.allow(call, kind, learned.min(recorded));
    }

    /// Counts calls that passed, as if they had come here.
    pub(super) fn count_passed(&mut self) {
        for (kind, calls) in self.passing.passed() {
            self.pace.pass(kind.work, calls);
            if let Some(class) = kind.class {
                let learner = self.policy.learner_mut();
                learner.count_untimed(class, kind.block, calls);
            }
            if let Some(root) = &mut self.root {
                root.passed(kind.collective, kind.block, calls);
            }
        }
    }

    /// The same, and none passes any more.
    pub(crate) fn end_passing(&mut self) {
        self.count_passed();
        self.passing.refuse_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_not_served_says_nothing_of_others_of_its_size() {
        let amount = CallAmount {
            block: 1 << 20,
            fits: true,
            differs: false,
            moved: 1 << 20,
            is_even: false,
            place: None,
        };
        assert!(is_all_of_its_kind(amount));
        for other in [
            CallAmount {
                fits: false,
                ..amount
            },
            CallAmount {
                differs: true,
                ..amount
            },
        ] {
            assert!(!is_all_of_its_kind(other), "{other:?}");
        }
    }
}
