//! The direction in which a circle is pushed where the family does not keep every limit.
//!
//! Either direction keeps the sets of the family even. The directions differ in their effect on the
//! limits, and the one that leaves the limits more even is taken.
use super::groups::{HostGroups, LimitNumber};

/// The surplus of one side of a split over its share, for each limit and in parts.
pub(super) struct SplitBalance<'a> {
    groups: &'a HostGroups,
    beyond: Vec<i64>,
    /// For each limit, the number of the circle's flows that rise with it minus those that fall.
    rising: Vec<i64>,
    touched: Vec<LimitNumber>,
    way: Vec<LimitNumber>,
}

impl<'a> SplitBalance<'a> {
    pub(super) fn new(groups: &'a HostGroups) -> SplitBalance<'a> {
        let none = vec![0; groups.limits()];
        SplitBalance {
            groups,
            beyond: none.clone(),
            rising: none,
            touched: Vec::new(),
            way: Vec::new(),
        }
    }

    /// A new split begins.
    pub(super) fn reset(&mut self) {
        self.beyond.fill(0);
    }

    /// True if it is more even to push a circle up by so many parts. `flows` are the circle's pairs
    /// of groups, each with true if it rises when the circle is pushed up.
    pub(super) fn is_up(
        &mut self,
        flows: impl Iterator<Item = (usize, bool)>,
        up: u64,
        down: u64,
    ) -> bool {
        for (pair, rises) in flows {
            self.groups.limits_between(
                pair / self.groups.len(),
                pair % self.groups.len(),
                &mut self.way,
            );
            for &limit in &self.way {
                self.rising[limit] += if rises { 1 } else { -1 };
                self.touched.push(limit);
            }
        }
        self.touched.sort_unstable();
        self.touched.dedup();
        let (up, down) = (up as i64, -(down as i64));
        let [uneven_up, uneven_down] = [up, down].map(|by| -> i128 {
            let touched = self.touched.iter();
            touched
                .map(|&limit| i128::from(self.beyond[limit] + by * self.rising[limit]).pow(2))
                .sum()
        });
        let by = if uneven_up <= uneven_down { up } else { down };
        for limit in self.touched.drain(..) {
            self.beyond[limit] += by * std::mem::take(&mut self.rising[limit]);
        }
        by == up
    }
}
