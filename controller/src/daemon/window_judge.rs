//! Judges windows of jobs beside the engine: that takes up to seconds.
use super::FinishedWork;
use crate::engine::{ControllerEvent, WatchOrder};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::spawn_blocking;

/// The answer comes as an event.
pub(super) fn judge(order: WatchOrder, done: UnboundedSender<FinishedWork>) {
    spawn_blocking(move || {
        let said = order.judge();
        let (job, user) = (order.job, order.user);
        let event = ControllerEvent::Judged { job, user, said };
        // Nobody waits once the daemon stops.
        let _ = done.send(FinishedWork::Judged(Box::new(event)));
    });
}
