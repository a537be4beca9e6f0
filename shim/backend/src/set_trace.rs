//! The trace of a process set's calls at this rank, where `HEDDLE_TRACE` asks for one.
use crate::call_comm::CallComm;
use crate::location::beside_this_library;
use crate::mpi_result::MpiResult;
use inventory::TopologyFile;
use policy::decision_table::{Collective, Way};
use runtime::rank_host::RankHost;
use runtime::tracing::recorder::{TraceOrder, TraceRecorder};
use runtime::tracing::{self, clock};
use std::time::Duration;

/// The recorder, if there is one.
#[derive(Debug, Default)]
pub(crate) struct SetTrace(Option<Box<TraceRecorder>>);

impl SetTrace {
    /// When this rank came to a call, where anybody asks.
    pub(crate) fn came(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |_| clock::now())
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Records from now on, if rank 0 orders it.
    pub(crate) fn obey(&mut self, order: Option<TraceOrder>, rank: u32, hosts: &[String]) {
        self.0 = self
            .0
            .take()
            .or_else(|| order.map(|order| Box::new(TraceRecorder::new(order, rank, hosts))));
    }

    /// This epoch is followed from now on.
    pub(crate) fn follows(&mut self, epoch: u64, topology: &TopologyFile) {
        if let Some(recorder) = &mut self.0 {
            recorder.follows(epoch, topology);
        }
    }

    /// Where a trace is recorded, the ranks find how far their clocks are apart. Collective.
    pub(crate) fn compare_clocks(
        &mut self,
        within: &CallComm,
        hosts: &[RankHost],
    ) -> MpiResult<()> {
        let Some(recorder) = &mut self.0 else {
            return Ok(());
        };
        let rank = within.rank as usize;
        let bounds = clock::compare(recorder.meetings(), rank, hosts, |own| {
            within.gather_all(own)
        })?;
        recorder.clocks_compared(bounds);
        Ok(())
    }

    /// Carries out a call that this rank `came` to.
    pub(crate) fn around<T>(
        &mut self,
        (collective, way, block): (Collective, Way, u64),
        came: Duration,
        call: impl FnOnce() -> T,
    ) -> T {
        if let Some(recorder) = &mut self.0 {
            recorder.begin(collective, way, block, came);
        }
        let result = tracing::during(&mut self.0, call);
        if let Some(recorder) = &mut self.0 {
            recorder.end();
        }
        result
    }

    /// Has it written.
    pub(crate) fn finish(&mut self) {
        if let Some(recorder) = self.0.take() {
            recorder.finish(&beside_this_library("heddle-helper"));
        }
    }
}
