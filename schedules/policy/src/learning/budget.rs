//! The budget of learning: one part in a hundred of the time that calls take, or of the time of a job in which other
//! process sets learn at once.
use std::time::Duration;

/// Trying ways and agreeing on their times takes at most one part in this many.
const COST: u32 = 100;
/// Where nothing is tried, agreeing takes at most one part in this many. A rank may be in several process
/// sets, and whom one of them keeps waiting is late to the others: with 4 ranks a host, of which each was
/// in three, agreements that took one part in 200 of each set's time cost LAMMPS 2 %.
const AGREEING: u32 = 1000;
/// A row has at most so many times the calls of the longest one before: the first calls may be short by chance.
const GROWTH: u32 = 4;
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
    /// Process sets that learn at once and share the parts above: a trial of one delays the calls of all that cross the
    /// same cables, and whoever waits for its agreements is late to the others'. Zero stands for one.
    sets: u32,
}

impl LearningBudget {
    /// Before the first way but the library's own can be gone, the ranks need about `setup` to plan and to connect.
    /// The ranks of the job make so many `sets` of this size, which may call at once: the rows and columns of a grid.
    pub fn new(setup: Duration, sets: u32) -> LearningBudget {
        LearningBudget {
            setup,
            sets,
            ..LearningBudget::default()
        }
    }

    /// Another way than the library's own is gone.
    pub(super) fn set_up(&mut self) {
        self.spent += std::mem::take(&mut self.setup);
    }

    /// The time of calls that has to pass before something of this cost may be tried.
    pub(super) fn wait_for(&self, cost: Duration) -> Duration {
        let cost = (self.spent + self.setup + cost) * COST;
        self.of_all_sets(cost).saturating_sub(self.calls)
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

    /// True if learning took so little that a change may be looked into at once. Calls of several sets at once wait for
    /// each other for times that vary, though nothing has changed.
    pub(super) fn allows_a_surprise(&self) -> bool {
        self.sets() == 1 && self.spent * SURPRISES <= self.calls
    }

    /// Beside a row of this length an agreement costs little.
    pub(super) fn least_row(&self) -> Duration {
        self.of_all_sets(self.agreement * AGREEING)
    }

    /// A row has at most so many times the calls of the longest one before. Where several sets learn at once, all of them
    /// together agree as rarely as one alone.
    pub(super) fn growth(&self) -> u32 {
        GROWTH.saturating_mul(self.sets())
    }

    /// Process sets that learn at once.
    pub(super) fn sets(&self) -> u32 {
        self.sets.max(1)
    }

    /// The cost to all sets, if each has this one.
    fn of_all_sets(&self, cost: Duration) -> Duration {
        cost.saturating_mul(self.sets())
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
