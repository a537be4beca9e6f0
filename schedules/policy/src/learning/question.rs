//! The question which way is fastest, for the calls of one collective with blocks of about the same
//! size.
//!
//! Calls go the fastest way so far, but for short rows of calls that go another one, between rows
//! of the fastest. The time of a row is the same on all ranks, so all come to the same answer.
//!
//! A question opens with one call of the library's own routine and one of the table's way, unless
//! earlier jobs measured them here: whatever makes a way slow on this cluster, at most a call or two
//! pay for it. Where the times of the fastest way change by half, both are measured again.
use super::budget::LearningBudget;
use super::drift::{self, CallDrift};
use super::trials::{CallAmounts, TrialVerdict, WayTrials};
use super::{CandidateWay, CountedCall, RowTimes};
use crate::decision_table::{DataCarrier, Way};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// A row of the fastest way, while others are open.
const COMPARED: Duration = Duration::from_millis(120);
/// A row of the fastest way while nothing can be tried, and when the question is settled: at most so
/// long, or as long as one has to be beside an agreement. Early in a job it is one part in so many of
/// the time of its calls: no longer does a change go unnoticed.
const UNDISTURBED: Duration = Duration::from_secs(4);
const UNNOTICED: u32 = 50;
const MOST_CALLS: u32 = 1 << 16;
/// The first call that goes another way finds connections that have paused. Where calls take less
/// than this, there is one more, which is not timed.
const PAUSE_SHOWS: Duration = Duration::from_millis(20);
/// Ranks that came to a call over more than this part of its time had sent something before the last one came.
const SCATTERED: f64 = 1.25;
/// After so many rows of the fastest way it is known what its calls usually take.
const USUAL: usize = 8;
/// A way that was slower by this factor stays out when the question is opened again.
const HOPELESS: f64 = 3.0;

/// The last calls of a row are timed, so many at most: the ranks compare two times of each.
const MOST_TIMED: u32 = 16;

/// Calls one after the other that go one way.
#[derive(Debug, Clone, PartialEq, Default)]
struct TimedRow {
    /// The number of the way.
    way: usize,
    calls: u32,
    /// The last of them that are timed.
    timed: u32,
    /// The calls so far, and those of them that were timed.
    done: CallAmounts,
    done_timed: CallAmounts,
}

impl TimedRow {
    /// The first call of all, which is timed.
    fn first(way: usize) -> TimedRow {
        TimedRow {
            way,
            calls: 1,
            timed: 1,
            ..TimedRow::default()
        }
    }
}

/// The ways of some calls, and the fastest so far.
#[derive(Debug, Clone, PartialEq)]
pub struct WayQuestion {
    ways: Vec<WayTrials>,
    /// The number of the fastest way.
    fastest: usize,
    row: TimedRow,
    /// The most calls of a row so far.
    longest: u32,
    /// Octets of a block in the last row.
    block: u64,
    /// Once it is known what calls of the fastest way usually take.
    drift: Option<CallDrift>,
    /// The ways that the next calls go, a call each, before anything else.
    opening: VecDeque<usize>,
    /// Ways are compared when the question opens, and never tried otherwise.
    is_steady: bool,
}

impl WayQuestion {
    /// A question that calls go the first of `candidates` until there is an answer. Where so many sets learn at once,
    /// their first agreements come as rarely as those of one, unless another way than the library's is to begin.
    pub(super) fn new(candidates: &[CandidateWay], sets: u32) -> WayQuestion {
        let ways: Vec<WayTrials> = candidates.iter().copied().map(WayTrials::new).collect();
        let begins_native = ways.first().is_some_and(|first| first.way == Way::Native);
        let row = TimedRow {
            calls: if begins_native { sets } else { 1 },
            ..TimedRow::first(0)
        };
        let mut question = WayQuestion {
            ways,
            fastest: 0,
            row,
            longest: 1,
            block: 0,
            drift: None,
            opening: VecDeque::new(),
            is_steady: false,
        };
        if let Some(native) = question.native().filter(|&native| native != 0)
            && !question.ways[native].is_known
        {
            question.row = TimedRow::first(native);
            question.opening.push_back(0);
        }
        question
    }

    /// From now on ways are compared when the question opens, and never tried otherwise: the results of
    /// these calls depend on the way in their last digits. A trial under way, of calls before them whose
    /// results do not, ends.
    pub(super) fn keep_steady(&mut self) {
        let is_opening = self.ways[self.fastest].mean().is_none() || !self.opening.is_empty();
        if !self.is_steady && !is_opening && self.is_trying() {
            self.row = TimedRow::first(self.fastest);
        }
        self.is_steady = true;
    }

    /// True if no call of the row under way has ended.
    pub(super) fn is_between_rows(&self) -> bool {
        self.row.done.calls == 0
    }

    /// The number of the library's own routine.
    fn native(&self) -> Option<usize> {
        self.ways.iter().position(|way| way.way == Way::Native)
    }

    /// The way of the next call.
    pub(super) fn way(&self) -> Way {
        self.ways[self.row.way].way
    }

    /// The fastest way so far.
    pub fn fastest(&self) -> Way {
        self.ways[self.fastest].way
    }

    /// True if there is more than one way.
    pub(super) fn has_choice(&self) -> bool {
        self.ways.len() > 1
    }

    /// True if the next call goes another way than the fastest so far.
    pub fn is_trying(&self) -> bool {
        self.row.way != self.fastest
    }

    /// Counts a call.
    pub(super) fn count(&mut self, block: u64) -> CountedCall {
        let row = &mut self.row;
        row.done.add(block, 1);
        let is_timed = row.done.calls > row.calls - row.timed;
        if is_timed {
            row.done_timed.add(block, 1);
        }
        CountedCall {
            is_timed,
            ends_row: row.done.calls >= row.calls,
        }
    }

    /// The next calls that go the library's way and are not timed.
    pub(super) fn untimed(&self) -> u32 {
        let TimedRow {
            calls, timed, done, ..
        } = &self.row;
        let untimed = (calls - timed).saturating_sub(done.calls);
        if self.way() == Way::Native {
            untimed
        } else {
            0
        }
    }

    /// So many of them have been called.
    pub(super) fn count_untimed(&mut self, block: u64, calls: u32) {
        self.row.done.add(block, calls);
    }

    /// The timed calls of the row took so long together. The same on all ranks.
    pub(super) fn end_row(&mut self, times: RowTimes, budget: &mut LearningBudget) {
        let took = times.since_last;
        let row = std::mem::take(&mut self.row);
        let (done, timed) = (row.done, row.done_timed);
        self.block = (done.octets / u64::from(row.calls)).max(1);
        self.longest = self.longest.max(row.calls);
        if self.is_no_usual_call(&row, times) {
            budget.add_row(took, Duration::ZERO);
            self.row = TimedRow::first(row.way);
            return;
        }
        let usual = self.ways[self.fastest].mean();
        self.ways[row.way].add(times, timed, done);
        // The other calls took as long, for their octets.
        let all = took.mul_f64(done.octets as f64 / timed.octets.max(1) as f64);
        if row.way == self.fastest {
            budget.add_row(all, Duration::ZERO);
            self.watch(all, budget);
        } else {
            let usual = usual.map_or(all, |usual| nanoseconds(usual * done.octets as f64));
            budget.add_row(all, all.saturating_sub(usual));
            self.judge(row.way);
        }
        self.row = match self.opening.pop_front() {
            Some(way) => TimedRow::first(way),
            None => {
                self.follow_the_leader();
                self.next_row(row.way, budget)
            }
        };
    }

    /// True if this was the first call by a way while the question opens, and says little: the next one is measured in
    /// its place. The library connects in it, and in the first one by its messages, which counts unless it is
    /// hopeless; and what ranks sent that came long before the last one is not in its time.
    fn is_no_usual_call(&mut self, row: &TimedRow, times: RowTimes) -> bool {
        let took = times.since_last;
        let own = self.native().and_then(|native| self.ways[native].mean());
        let way = &mut self.ways[row.way];
        if std::mem::replace(&mut way.has_gone, true) {
            return false;
        }
        let is_opening = self.opening.len() == 1 && row.way != self.fastest;
        if way.way == Way::Native {
            let is_scattered = times.since_first > took.mul_f64(SCATTERED);
            return is_opening && (took < PAUSE_SHOWS || is_scattered);
        }
        let octet = took.as_nanos() as f64 / row.done_timed.octets.max(1) as f64;
        let is_close = own.is_some_and(|own| octet < HOPELESS * own);
        row.way == self.fastest && way.way.carrier() == Some(DataCarrier::Mpi) && is_close
    }

    /// Where few calls are known, they go the way whose calls were clearly the fastest so far. A way that
    /// lost against another one is open again where the fastest became slower than it was.
    fn follow_the_leader(&mut self) {
        let usual = self.ways[self.fastest].mean();
        self.ways
            .iter_mut()
            .for_each(|way| way.is_out &= !way.is_ahead_of(usual));
        let best = &self.ways[self.fastest];
        let leaders = (0..self.ways.len()).filter(|&way| self.ways[way].leads(best));
        let leader = leaders.min_by(|&a, &b| self.octet(a).total_cmp(&self.octet(b)));
        if let Some(leader) = leader {
            self.fastest = leader;
            self.drift = None;
        }
    }

    /// Ways that cannot be gone are no candidates any more.
    pub(super) fn refuse(&mut self, refused: impl Fn(Way) -> bool) {
        if !self.ways.iter().any(|trials| refused(trials.way)) {
            return;
        }
        let fastest = self.fastest();
        self.ways.retain(|trials| !refused(trials.way));
        if self.ways.is_empty() {
            self.ways.push(WayTrials::new(CandidateWay {
                way: Way::Native,
                expected: 1.0,
                is_known: false,
            }));
        }
        self.fastest = self
            .ways
            .iter()
            .position(|trials| trials.way == fastest)
            .or_else(|| {
                (0..self.ways.len())
                    .min_by(|a, b| self.ways[*a].expected.total_cmp(&self.ways[*b].expected))
            })
            .unwrap_or(0);
        self.drift = None;
        self.opening.clear();
        self.row = TimedRow::first(self.fastest);
    }

    /// The way of a row beside the fastest.
    fn judge(&mut self, tried: usize) {
        match self.ways[tried].beside(&self.ways[self.fastest]) {
            TrialVerdict::Faster => {
                self.ways[self.fastest].is_out = true;
                self.fastest = tried;
                self.drift = None;
            }
            TrialVerdict::Slower | TrialVerdict::Alike => self.ways[tried].is_out = true,
            TrialVerdict::Open => {}
        }
    }

    fn is_open(&self, way: usize) -> bool {
        way != self.fastest && !self.ways[way].is_out
    }

    /// Looks whether calls of the fastest way take longer than usual, a row of which took so long. Then
    /// what is known of the others may be wrong, too: the question is open again.
    fn watch(&mut self, took: Duration, budget: &LearningBudget) {
        let fastest = &self.ways[self.fastest];
        let (Some(mean), Some(last)) = (fastest.mean(), fastest.last()) else {
            return;
        };
        if let Some(before) = fastest.before_last()
            && drift::is_sudden(took, last / before)
        {
            self.reopen(before);
            if budget.allows_a_surprise() {
                self.opening.extend(self.opponent());
            }
            return;
        }
        let Some(drift) = &mut self.drift else {
            let is_open = (0..self.ways.len()).any(|way| self.is_open(way));
            let is_known = !is_open || fastest.rows() >= USUAL;
            self.drift = is_known.then(|| CallDrift::beside(mean));
            return;
        };
        if drift.add(took, last) {
            let usual = drift.usual();
            self.reopen(usual);
        }
    }

    /// All ways but hopeless ones may be tried again: calls of the fastest took `usual` nanoseconds an
    /// octet, and do not any more.
    fn reopen(&mut self, usual: f64) {
        self.drift = None;
        for (number, way) in self.ways.iter_mut().enumerate() {
            way.forget(usual, number == self.fastest);
            let is_hopeless = way.expected > HOPELESS && way.way != Way::Native;
            way.is_out = number != self.fastest && is_hopeless;
        }
    }

    /// The way beside which the fastest is measured again: the library's own, or the best of the others.
    fn opponent(&self) -> Option<usize> {
        let native = self.native().filter(|&native| native != self.fastest);
        let others = (0..self.ways.len()).filter(|&way| self.is_open(way));
        let best = others.min_by(|&a, &b| self.octet(a).total_cmp(&self.octet(b)));
        native.or(best)
    }

    /// The row after one that went the way `last`.
    fn next_row(&self, last: usize, budget: &LearningBudget) -> TimedRow {
        let open = (0..self.ways.len()).filter(|&way| self.is_open(way) && !self.is_steady);
        let next = open.min_by(|&a, &b| self.octet(a).total_cmp(&self.octet(b)));
        let Some(next) = next else {
            return self.row_of((self.fastest, last), undisturbed(budget), budget);
        };
        if last == self.fastest && self.ways[last].mean().is_some() {
            return self.trial(next, budget);
        }
        self.row_of((self.fastest, last), COMPARED, budget)
    }

    /// The longest row of the way `next` that may be tried now; where none may, one of the fastest way.
    fn trial(&self, next: usize, budget: &LearningBudget) -> TimedRow {
        let terms = self.terms(next);
        let ends = budget.agreement();
        let lengths = terms.rows.iter();
        let mut rows = lengths.map(|about| self.row_of((next, self.fastest), *about, budget));
        let affordable = rows
            .clone()
            .find(|row| budget.wait_for(self.cost(row, terms) + ends).is_zero());
        affordable.unwrap_or_else(|| {
            let shortest = rows
                .next_back()
                .map_or(Duration::ZERO, |row| self.cost(&row, terms));
            // The row of the fastest way has an end, too.
            let wait = budget.wait_for(shortest + 2 * ends);
            let about = wait.clamp(COMPARED, undisturbed(budget).max(COMPARED));
            self.row_of((self.fastest, self.fastest), about, budget)
        })
    }

    /// A row that takes about so long.
    fn row_of(
        &self,
        (way, last): (usize, usize),
        about: Duration,
        budget: &LearningBudget,
    ) -> TimedRow {
        let call = self.call(way);
        let calls = about.as_secs_f64() / call.as_secs_f64().max(1e-9);
        let most = self.longest.saturating_mul(budget.growth()).min(MOST_CALLS);
        let calls = (calls as u32).clamp(1, most);
        TimedRow {
            way,
            calls: calls + u32::from(way != last && call < PAUSE_SHOWS),
            timed: calls.min(MOST_TIMED),
            ..TimedRow::default()
        }
    }

    /// The time of a call, as far as it is known.
    fn call(&self, way: usize) -> Duration {
        nanoseconds(self.octet(way) * self.block as f64)
    }

    /// Nanoseconds an octet: the mean, or what is expected.
    fn octet(&self, way: usize) -> f64 {
        let fastest = self.ways[self.fastest].mean().unwrap_or(0.0);
        let trials = &self.ways[way];
        trials.mean().unwrap_or(trials.expected * fastest)
    }

    fn terms(&self, way: usize) -> TrialTerms {
        let trials = &self.ways[way];
        TrialTerms::for_way(trials.mean().is_some(), trials.is_known)
    }

    /// The time that a row counts for before it is tried: it may lose so much beside the fastest way.
    fn cost(&self, row: &TimedRow, terms: TrialTerms) -> Duration {
        let usual = self.call(self.fastest);
        let longer = self.call(row.way).saturating_sub(usual) * terms.weight;
        longer.max(usual.mul_f64(terms.least)) * row.calls
    }

    /// The time of the calls of the row under way, as far as it is known.
    pub(super) fn under_way(&self) -> Duration {
        nanoseconds(self.octet(self.row.way) * self.row.done.octets as f64)
    }

    /// The time of a call with such blocks by a way, by the newest row of it.
    pub fn last_call(&self, way: Way, block: u64) -> Option<RowTimes> {
        let trials = self.ways.iter().find(|trials| trials.way == way)?;
        Some(RowTimes {
            since_last: nanoseconds(trials.last()? * block as f64),
            since_first: nanoseconds(trials.crossed? * block as f64),
        })
    }

    /// Seconds saved beside the library's own routine; 0 where its time is unknown.
    pub(super) fn saved(&self) -> f64 {
        let own = self.tried().find(|trials| trials.way == Way::Native);
        own.and_then(WayTrials::mean).map_or(0.0, |octet| {
            self.tried().map(|trials| trials.saved(octet)).sum()
        })
    }

    /// The ways that calls went, with their trials.
    pub(super) fn tried(&self) -> impl Iterator<Item = &WayTrials> {
        self.ways.iter().filter(|trials| trials.mean().is_some())
    }
}

/// The fastest way, and what the others took: `aapc tcp 12.31 ms a call; native 15.02 ms`.
impl fmt::Display for WayQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = |octet: f64| 1e-6 * octet * self.block as f64;
        write!(
            f,
            "{} {:.3} ms a call",
            self.fastest(),
            call(self.octet(self.fastest))
        )?;
        let others = self.tried().filter(|trials| trials.way != self.fastest());
        others.into_iter().try_for_each(|trials| {
            write!(
                f,
                "; {} {:.3} ms",
                trials.way,
                call(trials.mean().unwrap_or(0.0))
            )
        })
    }
}

/// The longest row of the fastest way.
fn undisturbed(budget: &LearningBudget) -> Duration {
    let unnoticed = budget.calls() / UNNOTICED;
    unnoticed
        .clamp(COMPARED, UNDISTURBED)
        .max(budget.least_row())
}

fn nanoseconds(time: f64) -> Duration {
    Duration::from_nanos(time.clamp(0.0, 1e18) as u64)
}

/// The rows of a way that is tried: long beside an agreement. Early in a job a shorter one has to do.
const ROWS: [Duration; 3] = [
    Duration::from_millis(30),
    Duration::from_millis(8),
    Duration::from_millis(2),
];
/// The first row in a job: whatever is expected, the way may take many times as long.
const FIRST: [Duration; 1] = [ROWS[2]];

/// The terms on which a row is tried: its length and its allowed cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TrialTerms {
    /// The row takes about so long: the longest of these that can be paid for.
    pub(super) rows: &'static [Duration],
    /// The loss that is expected beside the fastest way counts so many times.
    pub(super) weight: u32,
    /// Each call counts for at least this part of one of the fastest way. A way that takes r times as
    /// long then costs (r - 1) / `least` hundredths of the time so far.
    pub(super) least: f64,
}

impl TrialTerms {
    /// The terms of a way that this job tried, or that earlier ones know. Those found it to be slower or
    /// guessed, so it may cost only a part of the budget.
    pub(super) fn for_way(is_tried: bool, is_known: bool) -> TrialTerms {
        let (rows, weight, least): (&'static [Duration], u32, f64) = match (is_tried, is_known) {
            (false, false) => (&FIRST, 1, 0.5),
            (false, true) => (&FIRST, 4, 0.1),
            (true, false) => (&ROWS, 1, 0.0),
            (true, true) => (&ROWS, 4, 0.0),
        };
        TrialTerms {
            rows,
            weight,
            least,
        }
    }
}
