//! Judges windows of jobs beside the engine: that takes up to seconds.
use super::FinishedWork;
use super::finished_work::outcome;
use crate::engine::{ControllerEvent, WatchOrder};
use std::convert::Infallible;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::spawn_blocking;

/// The answer comes as an event.
pub(super) fn judge(order: WatchOrder, done: UnboundedSender<FinishedWork>) {
    let (job, user, epoch) = (order.job.clone(), order.user.clone(), order.epoch);
    tokio::spawn(async move {
        let judged = spawn_blocking(move || Ok::<_, Infallible>(order.judge())).await;
        // No window is judged before this one is answered for.
        let said = outcome(judged).unwrap_or_else(|fault| {
            tracing::error!("a window of job {job} is not judged: {fault}");
            None
        });
        let event = ControllerEvent::Judged {
            job,
            user,
            epoch,
            said,
        };
        // Nobody waits once the daemon stops.
        let _ = done.send(FinishedWork::Judged(Box::new(event)));
    });
}
