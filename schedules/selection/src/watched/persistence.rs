//! Suspicions of several windows in a row: one window may have been disturbed.
use super::judge::{SuspectedMove, TreeSuspicion};

/// Windows in a row that must suspect the same move.
const LEAST_WINDOWS: u32 = 3;
/// Windows in a row without it after which a suspicion is over.
const LEAST_CALM: u32 = 3;

/// The suspicions of a process set's windows.
#[derive(Debug, Clone, Default)]
pub struct SuspicionRow {
    suspected: Option<TreeSuspicion>,
    /// Windows in a row that suspected it.
    windows: u32,
    /// Windows in a row that did not.
    calm: u32,
}

impl SuspicionRow {
    /// Takes what a window said.
    pub fn add(&mut self, said: Option<TreeSuspicion>) {
        let same = |a: &TreeSuspicion, b: &SuspectedMove| a.best == *b || a.others.contains(b);
        match (said, &self.suspected) {
            (Some(said), Some(before)) if same(&said, &before.best) => {
                // What stands is not reworded by each window.
                self.windows += 1;
                self.calm = 0;
            }
            (Some(_), Some(_)) | (None, Some(_)) if self.stands().is_some() => {
                self.calm += 1;
                if self.calm >= LEAST_CALM {
                    *self = SuspicionRow::default();
                }
            }
            (Some(said), _) => {
                *self = SuspicionRow {
                    suspected: Some(said),
                    windows: 1,
                    calm: 0,
                }
            }
            (None, _) => *self = SuspicionRow::default(),
        }
    }

    /// What enough windows in a row suspect.
    pub fn stands(&self) -> Option<&TreeSuspicion> {
        self.suspected
            .as_ref()
            .filter(|_| self.windows >= LEAST_WINDOWS)
    }
}
