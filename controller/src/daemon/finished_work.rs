//! Work on threads beside the daemon's loop, and what becomes of it.
use super::ControllerDaemon;
use crate::engine::{ControllerEvent, PlanSummary, WatchOrder};
use directory::epoch::{PlanError, VerifiedEpoch};
use directory::publishing::PublishError;
use std::convert::Infallible;
use std::error::Error;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinError, spawn_blocking};

/// The outcome of work in another task; the number is the plan's ticket.
pub(super) enum FinishedWork {
    Planned(u64, Result<Box<VerifiedEpoch>, WorkError<PlanError>>),
    Published(u64, Result<(), WorkError<PublishError>>),
    KeptLearned(Result<(), WorkError<PublishError>>),
    Judged(Box<ControllerEvent>),
}

/// Why work on a thread of its own came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkError<E: Error> {
    #[error(transparent)]
    Failed(E),
    /// The engine waits for an answer, whatever becomes of the work.
    #[error("heddle has a fault here, please report it: {0}")]
    Panicked(#[source] JoinError),
}

impl ControllerDaemon {
    pub(super) fn finish(&mut self, done: FinishedWork) {
        match done {
            FinishedWork::Judged(event) => self.step(*event),
            FinishedWork::KeptLearned(kept) => {
                let problem = kept.err().map(|e| e.to_string());
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
            FinishedWork::Planned(ticket, Err(e)) => {
                let problem = e.to_string();
                self.step(ControllerEvent::PlanFailed { ticket, problem })
            }
            FinishedWork::Published(ticket, Ok(())) => {
                self.plan = None;
                self.step(ControllerEvent::Published { ticket });
            }
            FinishedWork::Published(ticket, Err(e)) => {
                let problem = e.to_string();
                self.step(ControllerEvent::PublishFailed { ticket, problem })
            }
        }
    }
}

/// The outcome of work on a thread of its own.
pub(super) fn outcome<T, E: Error>(
    work: Result<Result<T, E>, JoinError>,
) -> Result<T, WorkError<E>> {
    work.map_err(WorkError::Panicked)?
        .map_err(WorkError::Failed)
}

/// The answer comes as an event.
pub(super) fn judge(order: WatchOrder, done: UnboundedSender<FinishedWork>) {
    let (job, user, epoch) = (order.job.clone(), order.user.clone(), order.epoch);
    tokio::spawn(async move {
        let judged = spawn_blocking(move || Ok::<_, Infallible>(order.judge())).await;
        // No window is judged before this one is answered for.
        let suspicion = outcome(judged).unwrap_or_else(|fault| {
            tracing::error!("a window of job {job} is not judged: {fault}");
            None
        });
        let event = ControllerEvent::Judged {
            job,
            user,
            epoch,
            suspicion,
        };
        // Nobody waits once the daemon stops.
        let _ = done.send(FinishedWork::Judged(Box::new(event)));
    });
}
