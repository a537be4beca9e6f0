//! One job record for the same members, on however many communicators. Where threads call at once
//! each communicator agrees on epochs for itself, but the controller sees one job.
use crate::world_ranks::WorldRanks;
use runtime::record::JobRecorder;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The recorders in use, by their members.
static IN_USE: Mutex<Vec<(WorldRanks, Weak<Mutex<JobRecorder>>)>> = Mutex::new(Vec::new());

fn in_use() -> MutexGuard<'static, Vec<(WorldRanks, Weak<Mutex<JobRecorder>>)>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A user's hold on a recorder; the last one to let it go finishes the record.
#[derive(Debug)]
pub(crate) struct SharedRecorder(Option<Arc<Mutex<JobRecorder>>>);

impl SharedRecorder {
    /// That of these members, or a new one.
    pub(crate) fn for_members(
        members: Option<&WorldRanks>,
        new: impl FnOnce() -> JobRecorder,
    ) -> SharedRecorder {
        let Some(members) = members else {
            return SharedRecorder(Some(Arc::new(Mutex::new(new()))));
        };
        let mut in_use = in_use();
        in_use.retain(|(_, recorder)| recorder.strong_count() > 0);
        let known = in_use
            .iter()
            .find(|(of, _)| of == members)
            .and_then(|(_, recorder)| recorder.upgrade());
        let recorder = known.unwrap_or_else(|| {
            let recorder = Arc::new(Mutex::new(new()));
            in_use.push((members.clone(), Arc::downgrade(&recorder)));
            recorder
        });
        SharedRecorder(Some(recorder))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, JobRecorder> {
        match &self.0 {
            Some(recorder) => recorder.lock().unwrap_or_else(PoisonError::into_inner),
            None => unreachable!("it is let go when this is dropped"),
        }
    }
}

impl Drop for SharedRecorder {
    fn drop(&mut self) {
        // Under the lock nobody else finds it between this look at the others and its end.
        let _in_use = in_use();
        if let Some(recorder) = self.0.take().and_then(Arc::into_inner) {
            recorder
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .finish();
        }
    }
}
