//! The budget of learning: one part in a hundred of the time that calls take.
use std::time::Duration;

/// Trying ways and agreeing on their times takes at most one part in this many.
const COST: u32 = 100;
/// Where nothing is tried, agreeing takes at most one part in this many. A rank may be in several process
/// sets, and whom one of them keeps waiting is late to the others: with 4 ranks a host, of which each was
/// in three, agreements that took one part in 200 of each set's time cost LAMMPS 2 %.
const AGREEING: u32 = 1000;
/// A change is looked into at once as long as learning took at most one part in this many.
const SURPRISES: u32 = 50;

/// The time of the calls of a process set, and the part of it that learning took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LearningBudget {
    calls: Duration,
    spent: Duration,
    /// The last agreement on a time.
    agreement: Duration,
    /// The cost of the first way besides the library's own, without its calls.
    setup: Duration,
}

impl LearningBudget {
    pub(super) fn new(setup: Duration) -> LearningBudget {
        LearningBudget {
            setup,
            ..LearningBudget::default()
        }
    }

    /// Another way than the library's own is gone.
    pub(super) fn set_up(&mut self) {
        self.spent += std::mem::take(&mut self.setup);
    }

    /// The time of calls that has to pass before something of this cost may be tried.
    pub(super) fn wait_for(&self, cost: Duration) -> Duration {
        ((self.spent + self.setup + cost) * COST).saturating_sub(self.calls)
    }

    /// A row of calls took so long, of which a faster way would have saved a part.
    pub(super) fn add_row(&mut self, took: Duration, lost: Duration) {
        self.calls += took;
        self.spent += lost;
    }

    /// The ranks agreed on a time, which took so long.
    pub(super) fn add_agreement(&mut self, took: Duration) {
        self.agreement = took;
        self.calls += took;
        self.spent += took;
    }

    /// True if learning took so little that a change may be looked into at once.
    pub(super) fn allows_a_surprise(&self) -> bool {
        self.spent * SURPRISES <= self.calls
    }

    /// Beside a row of this length an agreement costs little.
    pub(super) fn least_row(&self) -> Duration {
        self.agreement * AGREEING
    }

    /// The expected time of the next agreement.
    pub(super) fn agreement(&self) -> Duration {
        self.agreement
    }

    /// The time of all calls.
    pub fn calls(&self) -> Duration {
        self.calls
    }

    /// The time that learning took.
    pub fn spent(&self) -> Duration {
        self.spent
    }
}
