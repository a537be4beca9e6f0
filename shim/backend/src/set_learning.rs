//! The ranks of a process set learn together.
//!
//! Each rank times its own calls. At the end of a row all meet in a reduction: that is one moment on
//! all their clocks, but for the time in which the reduction lets them go. From then they count back
//! when each came to a call and left it, and compare. A call took from when the last one came to
//! when the last one left.
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use policy::decision_table::Way;
use policy::learned::LearnedPlace;
use policy::learning::{CallClass, CallLearner, CandidateWay, WayQuestion};
use runtime::watchdog;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A timed call on this rank: when it came, and when it left.
type TimedCall = [Instant; 2];

/// A process set's learner, and this rank's share in it.
#[derive(Debug, Default)]
pub(crate) struct SetLearning {
    learner: CallLearner,
    /// The timed calls of each row under way.
    rows: BTreeMap<CallClass, Vec<TimedCall>>,
    /// This rank's time in the last agreement.
    agreement: Duration,
    /// Where it holds.
    place: Option<LearnedPlace>,
}

impl SetLearning {
    /// From now on the ranks are at this place. What they learned at the same one holds; at another,
    /// they first need so long to plan and to connect, before they can try anything.
    pub(crate) fn move_to(&mut self, place: LearnedPlace, setup: Duration) {
        if self.place.as_ref() != Some(&place) {
            *self = SetLearning {
                learner: CallLearner::new(setup),
                place: Some(place),
                ..SetLearning::default()
            };
        }
    }

    /// The way of the next call of a class; `None` where there is nothing to learn.
    pub(crate) fn way(
        &mut self,
        class: CallClass,
        candidates: impl FnOnce() -> Vec<CandidateWay>,
    ) -> Option<Way> {
        self.learner.way(class, candidates)
    }

    /// The same where the results of the call depend on its way: from now on it changes only where it has
    /// to.
    pub(crate) fn steady_way(
        &mut self,
        class: CallClass,
        candidates: impl FnOnce() -> Vec<CandidateWay>,
    ) -> Option<Way> {
        let way = self.learner.steady_way(class, candidates);
        if self.learner.is_between_rows(class) {
            // Those of a trial that ended with this call.
            self.rows.remove(&class);
        }
        way
    }

    /// True if the next call of a class goes a way that is only tried.
    pub(crate) fn is_trying(&self, class: CallClass) -> bool {
        self.learner
            .question(class)
            .is_some_and(WayQuestion::is_trying)
    }

    /// Ways that the process set cannot go.
    pub(crate) fn refuse(&mut self, refused: impl Fn(Way) -> bool) {
        self.learner.refuse(refused);
        self.rows.clear();
    }

    /// The learner.
    pub(crate) fn learner(&self) -> &CallLearner {
        &self.learner
    }

    /// The times of a call of a class by the library's own routine, and by the fastest way, as far as the
    /// ranks agreed on them.
    pub(crate) fn last_calls(&self, class: CallClass, block: u64) -> [Option<Duration>; 2] {
        self.learner.question(class).map_or([None; 2], |question| {
            [Way::Native, question.fastest()].map(|way| question.last_call(way, block))
        })
    }

    /// The next calls of a class that go the library's way and are not timed.
    pub(crate) fn untimed(&self, class: CallClass) -> u32 {
        self.learner.untimed(class)
    }

    /// So many of them have been called.
    pub(crate) fn passed(&mut self, class: CallClass, block: u64, calls: u32) {
        self.learner.count_untimed(class, block, calls);
    }

    /// A call of a class that began then has ended. True if a row has, too. Collective.
    pub(crate) fn called(
        &mut self,
        within: &CallComm,
        class: CallClass,
        block: u64,
        began: Instant,
    ) -> MpiResult<bool> {
        let Some(counted) = self.learner.count(class, block) else {
            return Ok(false);
        };
        if counted.is_timed {
            let calls = self.rows.entry(class).or_default();
            calls.push([began, Instant::now()]);
        }
        if !counted.ends_row {
            return Ok(false);
        }
        watchdog::begin_wait(|| format!("rank {}: the times of all ranks", within.rank));
        let calls = self.rows.remove(&class).unwrap_or_default();
        let came = Instant::now();
        // As good as a barrier, and over a long cable at most as long: it crosses it once.
        within.least_numbers(&[0])?;
        let met = Instant::now();
        let mut ago: Vec<Duration> = calls.iter().flatten().map(|&at| met - at).collect();
        ago.push(self.agreement);
        let mut least = least(within, &ago)?;
        let agreement = least.pop().unwrap_or_default();
        self.learner.end_row(class, busy(&least), agreement);
        // The least of any rank is that of the one that came last.
        self.agreement = came.elapsed();
        Ok(true)
    }
}

/// The time of calls together, from when the last rank came to each and left it, so long ago. Ranks
/// may come to a call before others have left the one before.
fn busy(ago: &[Duration]) -> Duration {
    let calls = ago.chunks_exact(2);
    let began = calls.clone().scan(Duration::MAX, |left, call| {
        let began = call[0].min(*left);
        *left = call[1];
        Some(began)
    });
    let each = began.zip(calls);
    each.map(|(began, call)| began.saturating_sub(call[1]))
        .sum()
}

/// The least of each of these times on any rank. Collective.
fn least(within: &CallComm, own: &[Duration]) -> MpiResult<Vec<Duration>> {
    let own: Vec<u64> = own.iter().copied().map(nanoseconds).collect();
    let least = within.least_numbers(&own)?;
    Ok(least.into_iter().map(Duration::from_nanos).collect())
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_overlap_count_once() {
        let ago = [100, 70, 80, 40, 30, 10].map(Duration::from_millis);
        // 30 ms; from 70 ms ago, 30 ms; 20 ms.
        assert_eq!(busy(&ago), Duration::from_millis(80));
        assert_eq!(busy(&[]), Duration::ZERO);
    }
}
