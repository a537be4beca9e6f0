//! Suspicions of several windows: one window may have been disturbed.
use super::judge::TreeSuspicion;
use inventory::alarm::arguments::SuspectedMove;

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
    /// Takes what a window showed.
    pub fn add(&mut self, suspicion: Option<TreeSuspicion>) {
        match (suspicion, &mut self.suspected) {
            (Some(suspicion), Some(before))
                if suspicion.best == before.best || suspicion.others.contains(&before.best) =>
            {
                if !self.stands {
                    // A suspicion that stands is not reworded by each window.
                    keep_common(&mut before.others, &suspicion);
                }
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

/// Only the moves that every window takes for possible.
fn keep_common(others: &mut Vec<SuspectedMove>, suspicion: &TreeSuspicion) {
    others.retain(|other| suspicion.best == *other || suspicion.others.contains(other));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspicion(to: &str) -> Option<TreeSuspicion> {
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
        windows.iter().for_each(|one| row.add(one.clone()));
        row.stands().is_some()
    }

    #[test]
    fn three_windows_in_a_row_or_more_with_a_gap() {
        let (same, other) = (suspicion("s1"), suspicion("s2"));
        let row = |windows: &[&Option<TreeSuspicion>]| {
            after(&windows.iter().map(|one| (*one).clone()).collect::<Vec<_>>())
        };
        assert!(!row(&[&same, &same]));
        assert!(row(&[&same, &same, &same]));
        assert!(!row(&[&same, &same, &None, &same]));
        assert!(row(&[&same, &same, &None, &same, &same]));
        assert!(!row(&[&same, &other, &same, &other, &same, &other, &same]));
    }

    #[test]
    fn moves_that_no_window_tells_apart_are_all_named() {
        let to = |to: &str| {
            let (host, to) = ("n0".to_owned(), to.to_owned());
            SuspectedMove::Host { host, to }
        };
        let window = |others: &[&str]| {
            let others = others.iter().map(|other| to(other)).collect();
            suspicion("s1").map(|one| TreeSuspicion { others, ..one })
        };
        let mut row = SuspicionRow::default();
        for others in [&["s2", "s3"][..], &["s3"], &["s3", "s2"], &[]] {
            row.add(window(others));
        }
        let stands = row.stands().unwrap();
        assert_eq!(stands.others, [to("s3")]);
        assert!(
            stands.to_string().starts_with(
                "host \"n0\" behaves as if it were plugged into switch \"s1\", or host \"n0\" \
                 behaves as if it were plugged into switch \"s3\": "
            ),
            "{stands}"
        );
    }

    #[test]
    fn it_is_over_when_windows_no_longer_say_so() {
        let mut windows = vec![suspicion("s1"); 9];
        windows.extend([None, None, None]);
        assert!(after(&windows));
        windows.push(None);
        assert!(!after(&windows));
    }
}
