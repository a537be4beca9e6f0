//! The ranks of a process set learn together.
//!
//! Each rank times its own calls. At the end of a row all meet in a reduction: that is one moment on
//! all their clocks, but for the time in which the reduction lets them go. From then they count back
//! when each came to a call and left it, and compare. A call took from when the last one came to
//! when the last one left. Its blocks crossed the network since the first one came.
use crate::call_comm::{CallComm, MOST_NUMBER};
use crate::mpi_result::MpiResult;
use policy::learning::{CallClass, CallLearner, RowTimes};
use runtime::watchdog;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A timed call on this rank: when it came, and when it left.
pub(crate) type TimedCall = [Instant; 2];

/// This rank's share in what its process set learns.
#[derive(Debug, Default)]
pub(crate) struct SetLearning {
    /// The timed calls of each row under way.
    rows: BTreeMap<CallClass, Vec<TimedCall>>,
    /// This rank's time in the last agreement.
    agreement: Duration,
}

impl SetLearning {
    /// No row is under way.
    pub(crate) fn forget_rows(&mut self) {
        self.rows.clear();
    }

    /// No row of this class is.
    pub(crate) fn forget_row(&mut self, class: CallClass) {
        self.rows.remove(&class);
    }

    /// A call of a class has ended. True if a row has, too. All ranks have `met` since then, if they have.
    /// Collective.
    pub(crate) fn called(
        &mut self,
        learner: &mut CallLearner,
        within: &CallComm,
        (class, block): (CallClass, u64),
        call: TimedCall,
        met: Option<Instant>,
    ) -> MpiResult<bool> {
        let Some(counted) = learner.count(class, block) else {
            return Ok(false);
        };
        if counted.is_timed {
            let calls = self.rows.entry(class).or_default();
            calls.push(call);
        }
        if !counted.ends_row {
            return Ok(false);
        }
        watchdog::begin_wait(|| format!("rank {}: the times of all ranks", within.rank));
        let calls = self.rows.remove(&class).unwrap_or_default();
        let came = Instant::now();
        let met = match met {
            Some(met) => met,
            None => {
                // As good as a barrier, and over a long cable at most as long: it crosses it once.
                within.least_numbers(&[0])?;
                Instant::now()
            }
        };
        let ago: Vec<TimesAgo> = calls.iter().map(|call| TimesAgo::new(call, met)).collect();
        let (ago, agreement) = of_all_ranks(within, &ago, self.agreement)?;
        let times = RowTimes {
            since_last: busy(&ago, |call| call.last_came),
            since_first: busy(&ago, |call| call.first_came),
        };
        learner.end_row(class, times, agreement);
        // The least of any rank is that of the one that came last.
        self.agreement = came.elapsed();
        Ok(true)
    }
}

/// How long before a moment the ranks came to a call and left it: one rank, or all.
#[derive(Debug, Clone, Copy)]
struct TimesAgo {
    first_came: Duration,
    last_came: Duration,
    last_left: Duration,
}

impl TimesAgo {
    /// Of this rank alone.
    fn new(&[came, left]: &TimedCall, now: Instant) -> TimesAgo {
        TimesAgo {
            first_came: now - came,
            last_came: now - came,
            last_left: now - left,
        }
    }

    /// As numbers whose least ones on any rank are those of all ranks.
    fn numbers(self) -> [u64; 3] {
        let [first_came, last_came, last_left] =
            [self.first_came, self.last_came, self.last_left].map(nanoseconds);
        [MOST_NUMBER - first_came, last_came, last_left]
    }

    fn of_numbers([first_came, last_came, last_left]: [u64; 3]) -> TimesAgo {
        TimesAgo {
            first_came: Duration::from_nanos(MOST_NUMBER - first_came),
            last_came: Duration::from_nanos(last_came),
            last_left: Duration::from_nanos(last_left),
        }
    }
}

/// The time of calls together, from a moment of each to when the last rank left it. Ranks may come to a
/// call before others have left the one before.
fn busy(calls: &[TimesAgo], began: impl Fn(&TimesAgo) -> Duration) -> Duration {
    let mut left = Duration::MAX;
    let each = calls.iter().map(|call| {
        let began = began(call).min(left);
        left = call.last_left;
        began.saturating_sub(left)
    });
    each.sum()
}

/// The figures that are the same on all ranks: when they came to calls and left them, and the time of a rank that did
/// not wait for others. Collective.
fn of_all_ranks(
    within: &CallComm,
    own: &[TimesAgo],
    time: Duration,
) -> MpiResult<(Vec<TimesAgo>, Duration)> {
    let mut numbers: Vec<u64> = own.iter().flat_map(|call| call.numbers()).collect();
    numbers.push(nanoseconds(time));
    let least = within.least_numbers(&numbers)?;
    let (calls, time) = least.as_chunks::<3>();
    let calls = calls.iter().copied().map(TimesAgo::of_numbers).collect();
    let time = time.first().copied().unwrap_or_default();
    Ok((calls, Duration::from_nanos(time)))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(MOST_NUMBER, |time| time.min(MOST_NUMBER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_overlap_count_once() {
        let call = |[first_came, last_came, last_left]: [u64; 3]| TimesAgo {
            first_came: Duration::from_millis(first_came),
            last_came: Duration::from_millis(last_came),
            last_left: Duration::from_millis(last_left),
        };
        let ago = [[120, 100, 70], [90, 80, 40], [30, 30, 10]].map(call);
        // 30 ms; from 70 ms ago, 30 ms; 20 ms.
        assert_eq!(busy(&ago, |call| call.last_came), Duration::from_millis(80));
        // 50 ms, and the same.
        let crossed = busy(&ago, |call| call.first_came);
        assert_eq!(crossed, Duration::from_millis(100));
        assert_eq!(busy(&[], |call| call.last_came), Duration::ZERO);
    }

    #[test]
    fn the_first_rank_and_the_last_one_count() {
        let ranks = [[50, 10], [20, 5]].map(|[came, left]| TimesAgo {
            first_came: Duration::from_millis(came),
            last_came: Duration::from_millis(came),
            last_left: Duration::from_millis(left),
        });
        let [a, b] = ranks.map(TimesAgo::numbers);
        let all = TimesAgo::of_numbers(std::array::from_fn(|i| a[i].min(b[i])));
        let all = [all.first_came, all.last_came, all.last_left];
        assert_eq!(all, [50, 20, 5].map(Duration::from_millis));
    }
}
