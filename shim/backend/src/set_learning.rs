//! What the ranks of a process set learn together: each times its own calls, and at the end of a
//! row, when all have left the last call, they agree on the least time that one of them spent in
//! the row. That is the time since the last rank came.
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use runtime::watchdog;
use selection::decision_table::Way;
use selection::learning::{CallClass, CallLearner, CandidateWay, WayQuestion};
use std::time::{Duration, Instant};

/// A process set's learner, and this rank's share in it.
#[derive(Debug, Default)]
pub(crate) struct SetLearning {
    learner: CallLearner,
    /// This rank's time in the last agreement.
    agreement: Duration,
}

impl SetLearning {
    /// For ranks that first need so long to plan and to connect, before they can try anything.
    pub(crate) fn new(setup: Duration) -> SetLearning {
        SetLearning {
            learner: CallLearner::new(setup),
            agreement: Duration::ZERO,
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

    /// True if the next call of a class goes a way that is only tried.
    pub(crate) fn is_trying(&self, class: CallClass) -> bool {
        self.learner
            .question(class)
            .is_some_and(WayQuestion::is_trying)
    }

    /// Ways that the process set cannot go.
    pub(crate) fn refuse(&mut self, refused: impl Fn(Way) -> bool) {
        self.learner.refuse(refused);
    }

    /// What has been learned.
    pub(crate) fn learner(&self) -> &CallLearner {
        &self.learner
    }

    /// A call of a class has taken this long here. Collective.
    pub(crate) fn called(
        &mut self,
        within: &CallComm,
        class: CallClass,
        block: u64,
        took: Duration,
    ) -> MpiResult<()> {
        let Some(row) = self.learner.count(class, block, took) else {
            return Ok(());
        };
        watchdog::begin_wait(|| format!("rank {}: the times of all ranks", within.rank));
        // Ranks leave a call one after the other: it has ended when the last one comes here.
        let began = Instant::now();
        within.barrier()?;
        let waited = began.elapsed();
        let began = Instant::now();
        let [row, agreement] = least(within, [row + waited, self.agreement])?;
        self.learner.end_row(class, row, agreement);
        // The barrier took about as long, beside the wait.
        self.agreement = 2 * began.elapsed();
        Ok(())
    }
}

/// The least of each of these times on any rank. Collective.
fn least<const N: usize>(within: &CallComm, own: [Duration; N]) -> MpiResult<[Duration; N]> {
    let octets: Vec<u8> = own
        .iter()
        .flat_map(|time| nanoseconds(*time).to_le_bytes())
        .collect();
    let all = within.gather_all(&octets)?;
    let mut least = [u64::MAX; N];
    for rank in all.chunks_exact(octets.len()) {
        for (least, time) in least.iter_mut().zip(rank.chunks_exact(8)) {
            let time = time
                .iter()
                .rev()
                .fold(0, |n, &octet| n << 8 | u64::from(octet));
            *least = time.min(*least);
        }
    }
    Ok(least.map(Duration::from_nanos))
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}
