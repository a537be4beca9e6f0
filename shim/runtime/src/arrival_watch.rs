//! Rank 0's share in the watch over moved cables: when the ranks tell how fast blocks came, and what
//! the last windows say together.
use crate::process_set_view::ProcessSetView;
use simulation::watched::{BlockArrivals, SuspicionRow, TreeSuspicion, judge};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A window lasts so long at least.
const WINDOW: Duration = Duration::from_secs(5);
/// Calls of a window whose blocks were metered, at least: a pair's rate is the middle one of as
/// many.
const LEAST_CALLS: u32 = 3;
/// Telling takes one part in so many of the time at most.
const COST: u32 = 500;
/// Windows that are kept for what the job says at its end.
const KEPT: usize = 8;
/// Judging them keeps the job from its end for so long at most, and a window more.
const JUDGING: Duration = Duration::from_secs(3);

/// The windows of a process set, as its rank 0 knows them.
#[derive(Debug)]
pub struct ArrivalWatch {
    next: Instant,
    last: VecDeque<BlockArrivals>,
}

impl ArrivalWatch {
    /// The first window begins.
    pub fn new(now: Instant) -> ArrivalWatch {
        ArrivalWatch {
            next: now + WINDOW,
            last: VecDeque::new(),
        }
    }

    /// True if the window is over.
    pub fn is_over(&self, now: Instant, metered_calls: u32) -> bool {
        now >= self.next && metered_calls >= LEAST_CALLS
    }

    /// It has been reported, which took so long: the next one begins. It may have held nothing.
    pub fn reported(&mut self, now: Instant, took: Duration, arrivals: Option<BlockArrivals>) {
        self.next = now + WINDOW.max(took * COST);
        self.last.extend(arrivals);
        if self.last.len() > KEPT {
            self.last.pop_front();
        }
    }

    /// Another tree is followed: what came before says nothing of it.
    pub fn forget(&mut self) {
        self.last.clear();
    }

    /// The evidence of the last windows against the tree that is followed, if they have any.
    pub fn suspicion(&self, view: &ProcessSetView) -> Option<TreeSuspicion> {
        let mut row = SuspicionRow::default();
        let began = Instant::now();
        for arrivals in self.last.iter().take_while(|_| began.elapsed() < JUDGING) {
            row.add(judge::judge(&view.hosts, &view.host_of, arrivals));
        }
        row.stands().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lasts_seconds_and_calls_and_longer_where_telling_is_slow() {
        let start = Instant::now();
        let mut pace = ArrivalWatch::new(start);
        assert!(!pace.is_over(start + WINDOW / 2, LEAST_CALLS));
        assert!(!pace.is_over(start + WINDOW, LEAST_CALLS - 1));
        assert!(pace.is_over(start + WINDOW, LEAST_CALLS));
        // Blocks may come so fast that no rate is known; telling so costs as much.
        pace.reported(start + WINDOW, WINDOW, None);
        assert!(!pace.is_over(start + WINDOW * COST, LEAST_CALLS));
        assert!(pace.is_over(start + WINDOW * (COST + 1), LEAST_CALLS));
    }
}
