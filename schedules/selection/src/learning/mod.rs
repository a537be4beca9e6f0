//! The ways of a process set's calls, learned while it runs.
//!
//! Source: Faraj, Yuan, Lowenthal, "STAR-MPI: self tuned adaptive routines for MPI collective
//! operations", ICS 2006 (ways in turn at the calls of the application, then the fastest one; a
//! change of times opens the question again). Input: for each collective and size class the ways
//! that can be fastest, with what is expected of each, and the time of rows of calls, the same on
//! all ranks. Guarantee: trying other ways, and agreeing on times, takes at most one part in a
//! hundred of the time of all calls, as far as what is expected of a way before its first row holds.
//! Another way is taken if its rows are faster than those of the present one by more than the noise.
//! Every rank that is told the same times goes the same ways. Cost: a reduction of two numbers a
//! row. Deviations: STAR-MPI has no bound on what a search costs, and times a call on each rank by
//! itself; a row here counts with the least time that a rank spent in it, so that a rank that comes
//! late does not count.
mod budget;
mod candidates;
mod question;
#[cfg(test)]
mod tests;
mod trials;

pub use budget::LearningBudget;
pub use candidates::{CandidateGrounds, CandidateWay, candidates};
pub use question::WayQuestion;

use crate::decision_table::{Collective, Way};
use inventory::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;

/// More questions than any program asks that calls again and again with like blocks.
const MOST_QUESTIONS: usize = 128;

/// Calls of a collective with blocks from a power of two on, below the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallClass {
    /// The collective.
    pub collective: Collective,
    /// The smallest block.
    pub from: Bytes,
}

impl CallClass {
    /// The class of a call.
    pub fn of(collective: Collective, block: u64) -> CallClass {
        let from = Bytes(block.checked_ilog2().map_or(0, |log| 1 << log));
        CallClass { collective, from }
    }
}

/// What the ranks of a process set have learned, the same on each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallLearner {
    questions: BTreeMap<CallClass, WayQuestion>,
    budget: LearningBudget,
}

/// What the calls of a class taught.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnedClass {
    /// The calls.
    pub class: CallClass,
    /// The way of its timed calls.
    pub way: Way,
    /// The rows that were timed and are remembered.
    pub rows: u32,
    /// The timed calls.
    pub calls: u64,
    /// The mean time of a call with the smallest block of the class.
    pub mean: Duration,
    /// The standard error of that mean.
    pub error: Duration,
    /// True of the fastest way of its class.
    pub is_fastest: bool,
}

impl CallLearner {
    /// Nothing learned yet. Before the first way but the library's own can be gone, the ranks need
    /// about so long to plan and to connect.
    pub fn new(setup: Duration) -> CallLearner {
        CallLearner {
            questions: BTreeMap::new(),
            budget: LearningBudget::new(setup),
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
            .or_insert_with(|| WayQuestion::new(&candidates()));
        let way = question.has_choice().then(|| question.way())?;
        if way != Way::Native {
            self.budget.set_up();
        }
        Some(way)
    }

    /// The question of a class.
    pub fn question(&self, class: CallClass) -> Option<&WayQuestion> {
        self.questions
            .get(&class)
            .filter(|question| question.has_choice())
    }

    /// A call of a class has taken this long on this rank. Gives this rank's time of the row, if
    /// the row has ended, on all ranks at the same call: [`CallLearner::end_row`] comes next.
    pub fn count(&mut self, class: CallClass, block: u64, own: Duration) -> Option<Duration> {
        let question = self.questions.get_mut(&class)?;
        question.count(block, own)
    }

    /// The least time that a rank spent in the calls of the row, and in the agreement on the row
    /// before.
    pub fn end_row(&mut self, class: CallClass, took: Duration, agreement: Duration) {
        self.budget.add_agreement(agreement);
        if let Some(question) = self.questions.get_mut(&class) {
            question.end_row(took, &mut self.budget);
        }
    }

    /// Ways that this process set cannot go.
    pub fn refuse(&mut self, refused: impl Fn(Way) -> bool) {
        self.questions
            .values_mut()
            .for_each(|question| question.refuse(&refused));
    }

    /// What learning cost.
    pub fn budget(&self) -> LearningBudget {
        self.budget
    }

    /// What was learned, by class.
    pub fn learned(&self) -> impl Iterator<Item = LearnedClass> {
        self.questions.iter().flat_map(|(&class, question)| {
            let call = move |octet: f64| Duration::from_nanos((octet * class.from.0 as f64) as u64);
            question.tried().map(move |trials| LearnedClass {
                class,
                way: trials.way,
                rows: trials.rows() as u32,
                calls: trials.calls,
                mean: call(trials.mean().unwrap_or(0.0)),
                error: call(trials.error()),
                is_fastest: trials.way == question.fastest(),
            })
        })
    }
}
