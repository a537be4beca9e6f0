//! The view that the readers of a shared directory have of it.
use directory::epoch::Epoch;
use directory::reading::{current_epoch, numbers};
use std::fs::{self};
use std::path::{Path, PathBuf};

/// The pointer and the epoch that the readers of a shared directory see.
#[derive(Debug)]
pub(super) struct PublishedView {
    shared: PathBuf,
    pointer: String,
    epoch: Epoch,
}

impl PublishedView {
    pub(super) fn read(shared: &Path) -> PublishedView {
        let pointer = fs::read_to_string(shared.join("current")).unwrap();
        PublishedView {
            shared: shared.to_owned(),
            pointer,
            epoch: current_epoch(shared).unwrap().unwrap(),
        }
    }

    pub(super) fn assert_unchanged(&self, after: &str) {
        let now = PublishedView::read(&self.shared);
        assert!(
            (&now.pointer, &now.epoch) == (&self.pointer, &self.epoch),
            "{after}: {now:?}"
        );
        assert_eq!(
            numbers(&self.shared.join("epochs")).unwrap(),
            [self.epoch.number],
            "{after}"
        );
    }
}
