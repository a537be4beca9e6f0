//! The ways of a process set's calls, learned while it runs.
//!
//! Source: Faraj, Yuan, Lowenthal, "STAR-MPI: self tuned adaptive routines for MPI collective
//! operations", ICS 2006 (ways in turn at the calls of the application, then the fastest one; a
//! change of times opens the question again). Input: for each collective and size class the ways
//! that can be fastest, with what is expected of each, and the time of rows of calls, the same on
//! all ranks. Guarantee: trying other ways, and agreeing on times, takes at most one part in a
//! hundred of the time of all calls, as far as what is expected of a way before its first row holds.
//! Another way is taken if its rows are faster than those of the present one by more than the noise.
//! Every rank that receives the same times goes the same ways. Cost: a barrier and a small exchange a
//! row. Deviations: STAR-MPI has no bound on what a search costs, and times a call on each rank by
//! itself; here a call takes from when the last rank comes to when the last one leaves, so that a rank
//! that comes late does not count, and one that leaves late does.
mod budget;
mod candidates;
mod drift;
mod question;
#[cfg(test)]
mod tests;
mod trials;

pub use budget::LearningBudget;
pub use candidates::{CandidateGrounds, CandidateWay, candidates};
pub use question::WayQuestion;

use crate::decision_table::{Collective, Way};
use crate::learned::{LearnedTiming, size_class};
use inventory::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// More questions than any program asks that calls again and again with like blocks.
const MOST_QUESTIONS: usize = 128;

/// Calls of a collective with blocks from a power of two on, below the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallClass {
    pub collective: Collective,
    /// The smallest block.
    pub from: Bytes,
}

impl CallClass {
    /// The class of a call.
    pub fn new(collective: Collective, block: u64) -> CallClass {
        CallClass {
            collective,
            from: size_class(block),
        }
    }
}

/// The times of the timed calls of a row together, or of one call; the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTimes {
    /// Each since the last rank came to it and until the last one left it: a rank that came late does
    /// not count.
    pub since_last: Duration,
    /// Each since the first rank came to it: all that it moved has crossed the network since then.
    pub since_first: Duration,
}

/// The part of a call in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedCall {
    /// Its times count.
    pub is_timed: bool,
    /// It is the last one.
    pub ends_row: bool,
}

/// The state of learning of a process set, the same on each rank.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallLearner {
    questions: BTreeMap<CallClass, WayQuestion>,
    budget: LearningBudget,
}

impl CallLearner {
    /// Nothing learned yet.
    pub fn new(budget: LearningBudget) -> CallLearner {
        CallLearner {
            questions: BTreeMap::new(),
            budget,
        }
    }

    /// The way of the next call of a class; `None` where there is nothing to learn. `candidates` are
    /// asked for at the first call: the ways that can be fastest, the present one first.
    pub fn way(
        &mut self,
        class: CallClass,
        candidates: impl FnOnce() -> Vec<CandidateWay>,
    ) -> Option<Way> {
        if self.questions.len() >= MOST_QUESTIONS && !self.questions.contains_key(&class) {
            return None;
        }
        let question = self
            .questions
            .entry(class)
            .or_insert_with(|| WayQuestion::new(&candidates(), self.budget.sets()));
        let way = question.has_choice().then(|| question.way())?;
        if way != Way::Native {
            self.budget.set_up();
        }
        Some(way)
    }

    /// The same where the results of the call depend on its way: from now on ways are compared when the
    /// question opens, and never tried otherwise.
    pub fn steady_way(
        &mut self,
        class: CallClass,
        candidates: impl FnOnce() -> Vec<CandidateWay>,
    ) -> Option<Way> {
        self.way(class, candidates)?;
        let question = self.questions.get_mut(&class)?;
        question.keep_steady();
        Some(question.way())
    }

    /// True if no call of the row under way has ended.
    pub fn is_between_rows(&self, class: CallClass) -> bool {
        self.question(class)
            .is_none_or(WayQuestion::is_between_rows)
    }

    /// The question of a class.
    pub fn question(&self, class: CallClass) -> Option<&WayQuestion> {
        self.questions
            .get(&class)
            .filter(|question| question.has_choice())
    }

    /// The times of a call of a class by the library's own routine, and by the fastest way, as far as the
    /// ranks agreed on them.
    pub fn last_calls(&self, class: CallClass, block: u64) -> [Option<RowTimes>; 2] {
        self.question(class).map_or([None; 2], |question| {
            [Way::Native, question.fastest()].map(|way| question.last_call(way, block))
        })
    }

    /// Counts a call of a class; `None` where nothing is learned. The answer is the same on all
    /// ranks. After the last call of a row comes [`CallLearner::end_row`].
    pub fn count(&mut self, class: CallClass, block: u64) -> Option<CountedCall> {
        let question = self.questions.get_mut(&class)?;
        question.has_choice().then(|| question.count(block))
    }

    /// The next calls of a class that go the library's way and are not timed.
    pub fn untimed(&self, class: CallClass) -> u32 {
        self.question(class).map_or(0, WayQuestion::untimed)
    }

    /// So many of them have been called.
    pub fn count_untimed(&mut self, class: CallClass, block: u64, calls: u32) {
        if let Some(question) = self.questions.get_mut(&class) {
            question.count_untimed(block, calls);
        }
    }

    /// The row of a class has ended, and its timed calls took so long together. The agreement on these
    /// times took about as long as is stated. All ranks say the same.
    pub fn end_row(&mut self, class: CallClass, times: RowTimes, agreement: Duration) {
        self.budget.add_agreement(agreement);
        if let Some(question) = self.questions.get_mut(&class) {
            question.end_row(times, &mut self.budget);
        }
    }

    /// Ways that this process set cannot go.
    pub fn refuse(&mut self, refused: impl Fn(Way) -> bool) {
        self.questions
            .values_mut()
            .for_each(|question| question.refuse(&refused));
    }

    /// The cost of learning.
    pub fn budget(&self) -> LearningBudget {
        self.budget
    }

    /// The lesson: a timing for each class and each way that calls went.
    pub fn timings(&self) -> Vec<LearnedTiming> {
        self.questions
            .iter()
            .flat_map(|(&class, question)| {
                question
                    .tried()
                    .map(|trials| trials.timing(class))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// The time that calls would have taken beyond theirs if all had gone the library's way, as far
    /// as its times are known.
    pub fn saved(&self) -> Duration {
        let saved = self.questions.values().map(WayQuestion::saved).sum();
        Duration::try_from_secs_f64(saved).unwrap_or_default()
    }

    /// The time of all calls, those of rows under way as far as it is known.
    fn calls(&self) -> Duration {
        let asked = self
            .questions
            .values()
            .filter(|question| question.has_choice());
        self.budget.calls() + asked.map(WayQuestion::under_way).sum::<Duration>()
    }

    /// A line for each class in which calls went more than one way, and one on the cost.
    pub fn lines(&self) -> Vec<String> {
        let asked = self
            .questions
            .iter()
            .filter(|(_, question)| question.tried().count() > 1);
        let mut lines: Vec<String> = asked
            .map(|(class, question)| format!("learned: {class}: {question}"))
            .collect();
        let (calls, spent) = (self.calls(), self.budget.spent());
        if calls > Duration::ZERO {
            lines.push(format!(
                "learning took {:.3} s of {:.3} s in calls ({:.2} %) and saved {:.3} s beside the \
                 library's own routine",
                spent.as_secs_f64(),
                calls.as_secs_f64(),
                100.0 * spent.as_secs_f64() / calls.as_secs_f64(),
                self.saved().as_secs_f64(),
            ));
        }
        lines
    }
}

impl fmt::Display for CallClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallClass { collective, from } = self;
        write!(
            f,
            "{collective} of {} to {} B",
            from.0,
            2 * from.0.max(1) - 1
        )
    }
}
