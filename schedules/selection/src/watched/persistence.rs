//! Suspicions of several windows: one window may have been disturbed.
use super::judge::TreeSuspicion;

/// So many more windows must suspect a move than do not, before it stands.
const ENOUGH: u32 = 3;
/// More do not make it last longer.
const MOST: u32 = 4;

/// The suspicions of a process set's windows, one after the other.
#[derive(Debug, Clone, Default)]
pub struct SuspicionRow {
    suspected: Option<TreeSuspicion>,
    /// The windows that suspected it, less those that did not.
    surplus: u32,
    stands: bool,
}

impl SuspicionRow {
    /// Takes what a window said.
    pub fn add(&mut self, said: Option<TreeSuspicion>) {
        let is_same = |said: &TreeSuspicion, before: &TreeSuspicion| {
            said.best == before.best || said.others.contains(&before.best)
        };
        match (said, &self.suspected) {
            // What is suspected is not reworded by each window.
            (Some(said), Some(before)) if is_same(&said, before) => {
                self.surplus = (self.surplus + 1).min(MOST);
                self.stands |= self.surplus >= ENOUGH;
            }
            (_, Some(_)) if self.surplus > 1 => self.surplus -= 1,
            (suspected, _) => {
                *self = SuspicionRow {
                    surplus: u32::from(suspected.is_some()),
                    suspected,
                    stands: false,
                }
            }
        }
    }

    /// The move that enough windows suspect.
    pub fn stands(&self) -> Option<&TreeSuspicion> {
        self.suspected.as_ref().filter(|_| self.stands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::SuspectedMove;

    fn said(to: &str) -> Option<TreeSuspicion> {
        let (host, to) = ("n0".to_owned(), to.to_owned());
        Some(TreeSuspicion {
            best: SuspectedMove::Host { host, to },
            gain: 20.0,
            others: Vec::new(),
            slow: Vec::new(),
        })
    }

    fn after(windows: &[Option<TreeSuspicion>]) -> bool {
        let mut row = SuspicionRow::default();
        windows.iter().for_each(|said| row.add(said.clone()));
        row.stands().is_some()
    }

    #[test]
    fn three_windows_in_a_row_or_more_with_a_gap() {
        let (same, other) = (said("s1"), said("s2"));
        let row = |windows: &[&Option<TreeSuspicion>]| {
            after(
                &windows
                    .iter()
                    .map(|said| (*said).clone())
                    .collect::<Vec<_>>(),
            )
        };
        assert!(!row(&[&same, &same]));
        assert!(row(&[&same, &same, &same]));
        assert!(!row(&[&same, &same, &None, &same]));
        assert!(row(&[&same, &same, &None, &same, &same]));
        assert!(!row(&[&same, &other, &same, &other, &same, &other, &same]));
    }

    #[test]
    fn it_is_over_when_windows_no_longer_say_so() {
        let mut windows = vec![said("s1"); 9];
        windows.extend([None, None, None]);
        assert!(after(&windows));
        windows.push(None);
        assert!(!after(&windows));
    }
}
