//! What the controller decides about publishing.
use directory::reading::{current_epoch, measurements};
use selection::tuning::TuningRuns;
use std::path::Path;

/// How many epochs are kept when nothing else is asked for.
pub const KEEP: u64 = 64;

/// The measurements for the next epoch: where the file of them cannot be used, those of the current
/// epoch stay, and the problem is told.
pub fn measurements_for_next(dir: &Path) -> (TuningRuns, Option<String>) {
    match measurements(dir) {
        Ok(tuning) => (tuning, None),
        Err(e) => (
            current_epoch(dir)
                .ok()
                .flatten()
                .map(|epoch| epoch.tuning)
                .unwrap_or_default(),
            Some(e.to_string()),
        ),
    }
}
