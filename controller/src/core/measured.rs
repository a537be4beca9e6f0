//! New measurements make a new epoch on the tree as it is published.
use super::candidate::Candidate;
use super::{Core, Effect};
use api::Stages;
use inventory::Millis;
use std::time::Duration;

impl Core {
    /// There are measurements that no epoch has yet. A plan under way may have read the file before.
    pub(super) fn new_measurements(&mut self, what: String) {
        self.measured = Some(what);
        self.wake = true;
    }

    /// Plans once more for what is published, if there is something new to plan with; before anything is published, the first epoch
    /// will have it.
    pub(super) fn remeasure(&mut self, now: Millis, fx: &mut Vec<Effect>) {
        let Some(settled) = self.settled.as_ref().filter(|_| self.measured.is_some()) else { return };
        let candidate = Candidate::new(settled.network.clone(), settled.key.clone());
        let stages = Stages { seen: now, inferred: Some(Duration::ZERO), believed: Some(Duration::ZERO), ..Stages::default() };
        self.begin_task(now, candidate, Vec::new(), stages, fx);
    }
}
