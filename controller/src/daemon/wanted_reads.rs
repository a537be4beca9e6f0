//! The reads that are wanted of one switch, between those who ask for them and the task that reads.
use inventory::observation::DeviceTable;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The requests for a switch, merged: two requests for a table before it is read make one read.
#[derive(Debug, Default)]
pub(super) struct WantedReads {
    pub(super) tables: Mutex<BTreeSet<DeviceTable>>,
    pub(super) read: Notify,
    pub(super) poll: Notify,
    /// A brief pulse is wanted, because the switch did not answer in a round.
    pub(super) brief: Notify,
    /// Rounds leave the switch alone, until its session got an answer or gave up.
    pub(super) in_session: AtomicBool,
}

impl WantedReads {
    pub(super) fn take(&self) -> BTreeSet<DeviceTable> {
        std::mem::take(&mut *self.lock())
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeSet<DeviceTable>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
