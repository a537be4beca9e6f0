//! The ranks of a process set learn together.
//!
//! Each rank times its own calls. At the end of a row all meet in a reduction: that is one moment on
//! all their clocks, but for the time in which the reduction lets them go. From then they count back
//! when each came to a call and left it, and compare. A call took from when the last one came to
//! when the last one left.
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use policy::learning::{CallClass, CallLearner};
use runtime::watchdog;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A timed call on this rank: when it came, and when it left.
type TimedCall = [Instant; 2];

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

    /// A call of a class that began then has ended. True if a row has, too. Collective.
    pub(crate) fn called(
        &mut self,
        learner: &mut CallLearner,
        within: &CallComm,
        (class, block): (CallClass, u64),
        began: Instant,
    ) -> MpiResult<bool> {
        let Some(counted) = learner.count(class, block) else {
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
        learner.end_row(class, busy(&least), agreement);
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
