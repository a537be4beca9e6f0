//! Rules for publishing: the number of epochs kept, and the measurements of the next one.
use directory::reading::{current_epoch, measurements};
use selection::tuning::TuningRuns;
use std::path::Path;

/// The default number of epochs kept.
pub const KEEP: u64 = 64;

/// The measurements for the next epoch. If their file cannot be used, those of the current epoch
/// stay, and the problem is returned.
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
