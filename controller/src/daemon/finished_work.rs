//! Work on threads beside the daemon's loop, and what becomes of it.
use super::ControllerDaemon;
use crate::engine::{ControllerEvent, PlanSummary};
use directory::epoch::VerifiedEpoch;
use tokio::task::JoinError;

/// The outcome of work in another task; the number is the plan's ticket.
pub(super) enum FinishedWork {
    Planned(u64, Result<Box<VerifiedEpoch>, String>),
    Published(u64, Result<(), String>),
    KeptLearned(Result<(), String>),
    Judged(Box<ControllerEvent>),
}

impl ControllerDaemon {
    pub(super) fn finish(&mut self, done: FinishedWork) {
        match done {
            FinishedWork::Judged(event) => self.step(*event),
            FinishedWork::KeptLearned(kept) => {
                let problem = kept.err();
                self.step(ControllerEvent::LearnedKept { problem });
            }
            FinishedWork::Planned(ticket, Ok(_))
                if self.plan.as_ref().is_some_and(|(held, _)| *held > ticket) => {} // Overtaken.
            FinishedWork::Planned(ticket, Ok(plan)) => {
                let epoch = plan.epoch();
                let summary = PlanSummary {
                    phases: epoch.schedules.bound.phases,
                    bound_only: epoch.schedules.alltoall.is_none(),
                    bottleneck: epoch.schedules.bound.edge.clone(),
                    hosts: epoch.schedules.allgather.hosts.len() as u32,
                };
                self.plan = Some((ticket, plan.into()));
                self.step(ControllerEvent::Planned { ticket, summary });
            }
            FinishedWork::Planned(ticket, Err(problem)) => {
                self.step(ControllerEvent::PlanFailed { ticket, problem })
            }
            FinishedWork::Published(ticket, Ok(())) => {
                self.plan = None;
                self.step(ControllerEvent::Published { ticket });
            }
            FinishedWork::Published(ticket, Err(problem)) => {
                self.step(ControllerEvent::PublishFailed { ticket, problem })
            }
        }
    }
}

/// The outcome of work on a thread of its own. A panic is a failure, too: the engine waits for an
/// answer.
pub(super) fn outcome<T>(work: Result<Result<T, String>, JoinError>) -> Result<T, String> {
    work.unwrap_or_else(|e| Err(format!("heddle has a fault here, please report it: {e}")))
}
