//! Troubles of tasks beside the daemon's loop.
use crate::engine::{ControllerEvent, TroubleArea};
use tokio::sync::mpsc::Sender;

/// Lets the engine know of a trouble, or that it is over.
pub(super) async fn send_trouble(
    events: &Sender<ControllerEvent>,
    about: TroubleArea,
    problem: Option<String>,
) {
    // The daemon stops first, and the task that sends with it.
    let _ = events.send(ControllerEvent::trouble(about, problem)).await;
}
