//! The steps of a process set's calls at this rank, in bounded memory.
use super::clock;
use crate::helper::delivery;
use inventory::TopologyFile;
use policy::decision_table::{Collective, Way};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trace::file::{CallKind, ClockBounds, RankTrace, SUFFIX, TraceHeader, TracedNetwork};
use trace::step::{RankStep, STEP_OCTETS, TimedStep};

/// Steps that are kept: 8 MB. An all-to-all among 32 ranks takes some 300 of them.
const MOST_STEPS: usize = (8 << 20) / STEP_OCTETS;
/// Kinds of calls, networks and clock readings that are kept.
const MOST_KINDS: usize = 4096;
const MOST_NETWORKS: usize = 16;
const MOST_CLOCKS: usize = 4096;

/// Rank 0's order to record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceOrder {
    /// The folder of the traces.
    pub dir: PathBuf,
    /// The number by which the traces of this process set are known.
    pub job: u64,
}

/// The record of one process set at one rank.
#[derive(Debug)]
pub struct TraceRecorder {
    dir: PathBuf,
    header: TraceHeader,
    /// The last steps; where it is full, the oldest lies at `oldest`.
    steps: Vec<[u8; STEP_OCTETS]>,
    oldest: usize,
    calls: u32,
    /// The epoch that is followed.
    epoch: u64,
    /// Segments that connections had sent again by the end of the last call, by rank; `None` where
    /// nobody asked then.
    sent_again: Option<BTreeMap<u32, u32>>,
}

impl TraceRecorder {
    /// The record of `rank` in a process set on these hosts.
    pub fn new(order: TraceOrder, rank: u32, hosts: &[String]) -> TraceRecorder {
        TraceRecorder {
            dir: order.dir,
            header: TraceHeader {
                job: order.job,
                rank,
                hosts: hosts.to_vec(),
                kinds: Vec::new(),
                clocks: Vec::new(),
                networks: Vec::new(),
                lost: 0,
            },
            steps: Vec::new(),
            oldest: 0,
            calls: 0,
            epoch: 0,
            sent_again: Some(BTreeMap::new()),
        }
    }

    /// How often the ranks meet to compare their clocks this time.
    pub fn meetings(&self) -> usize {
        if self.header.clocks.is_empty() {
            clock::FIRST_MEETINGS
        } else {
            clock::LATER_MEETINGS
        }
    }

    /// Notes how far this rank's clock is ahead of that of rank 0.
    pub fn clocks_compared(&mut self, bounds: Option<ClockBounds>) {
        if self.header.clocks.len() < MOST_CLOCKS {
            self.header.clocks.extend(bounds);
        }
    }

    /// Notes the network that is followed from now on. Rank 0's is enough.
    pub fn follows(&mut self, epoch: u64, topology: &TopologyFile) {
        self.epoch = epoch;
        if self.header.rank == 0 && self.header.networks.len() < MOST_NETWORKS {
            self.header.networks.push(TracedNetwork {
                epoch,
                topology: topology.to_yaml(),
            });
        }
    }

    /// A call that this rank has come to begins.
    pub fn begin(&mut self, collective: Collective, way: Way, block: u64, came: Duration) {
        let kind = CallKind {
            collective,
            way,
            block,
            epoch: self.epoch,
        };
        let known = &mut self.header.kinds;
        let number = known
            .iter()
            .position(|known| *known == kind)
            .unwrap_or_else(|| {
                if known.len() < MOST_KINDS {
                    known.push(kind);
                }
                known.len() - 1
            });
        self.calls = self.calls.wrapping_add(1);
        self.keep(TimedStep {
            at: came,
            step: RankStep::CallBegan {
                call: self.calls,
                kind: number as u32,
            },
        });
    }

    /// The call is over.
    pub fn end(&mut self) {
        self.note(RankStep::CallEnded { call: self.calls });
    }

    pub(super) fn note(&mut self, step: RankStep) {
        let at = clock::now();
        self.keep(TimedStep { at, step });
    }

    fn keep(&mut self, step: TimedStep) {
        let octets = step.to_octets();
        if self.steps.len() < MOST_STEPS {
            self.steps.push(octets);
        } else {
            self.steps[self.oldest] = octets;
            self.oldest = (self.oldest + 1) % MOST_STEPS;
            self.header.lost += 1;
        }
    }

    pub(super) fn sent_again(&mut self, so_far: Option<Vec<(u32, u32)>>) {
        let so_far = so_far.map(BTreeMap::from_iter);
        if let (Some(before), Some(now)) = (self.sent_again.take(), &so_far) {
            for (&peer, &count) in now {
                let segments = count.saturating_sub(before.get(&peer).copied().unwrap_or(0));
                if segments > 0 {
                    self.note(RankStep::SentAgain { peer, segments });
                }
            }
        }
        self.sent_again = so_far;
    }

    /// Has the trace written. This waits a moment for it, and not for a file system that does not
    /// answer.
    pub fn finish(self, helper: &Path) {
        if self.steps.is_empty() {
            return;
        }
        let TraceHeader { job, rank, .. } = self.header;
        let (new, old) = self.steps.split_at(self.oldest);
        let octets = RankTrace::write(&self.header, old.iter().chain(new).copied());
        delivery::deliver(
            helper,
            &self.dir,
            format!("{job:016x}-{rank}.{SUFFIX}"),
            octets,
        );
    }
}
