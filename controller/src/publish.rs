//! Rules for publishing: the number of epochs kept, and the evidence for the ways in the next one.
use directory::epoch::Epoch;
use directory::reading::{current_epoch, learned, measurements};
use policy::learned::LearnedFigures;
use policy::measurements::TuningRuns;
use std::io;
use std::path::Path;

/// The default number of epochs kept.
pub const KEEP: u64 = 64;

/// The measurements for the next epoch. If their file cannot be used, those of the current epoch
/// stay, and the problem is returned.
pub fn measurements_for_next(dir: &Path) -> (TuningRuns, Option<String>) {
    or_published(dir, measurements(dir), |epoch| epoch.tuning)
}

/// The figures that jobs learned. If their file cannot be used, the figures of the current epoch
/// stay, and the problem is returned.
pub fn learned_so_far(dir: &Path) -> (LearnedFigures, Option<String>) {
    or_published(dir, learned(dir), |epoch| epoch.learned)
}

fn or_published<T: Default>(
    dir: &Path,
    file: io::Result<T>,
    published: impl FnOnce(Epoch) -> T,
) -> (T, Option<String>) {
    match file {
        Ok(content) => (content, None),
        Err(e) => {
            let epoch = current_epoch(dir).ok().flatten();
            (
                epoch.map(published).unwrap_or_default(),
                Some(e.to_string()),
            )
        }
    }
}
