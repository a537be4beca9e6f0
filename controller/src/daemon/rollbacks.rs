//! Watches the shared directory for an operator's order to publish an earlier epoch again.
use crate::engine::{ControllerEvent, OrderedRollback, StoredEpoch, TroubleArea};
use directory::epoch::EpochOutline;
use directory::layout::folder;
use directory::reading::reader;
use directory::rollback::RollbackOrder;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::task::spawn_blocking;

/// The time between two looks at the file.
const LOOK: Duration = Duration::from_secs(1);

/// Sends an event whenever the order changes, until the receiver is gone. A directory that does not
/// answer keeps one thread waiting; other watchers tell of it.
pub(super) async fn watch(dir: PathBuf, events: Sender<ControllerEvent>) {
    let mut every = tokio::time::interval(LOOK);
    let mut last = Ok(None);
    loop {
        every.tick().await;
        let place = dir.clone();
        let Ok(now) =
            spawn_blocking(move || RollbackOrder::read(&place).map_err(|e| e.to_string())).await
        else {
            return;
        };
        if now == last {
            continue;
        }
        let place = dir.clone();
        let order = now.clone();
        let Ok(event) = spawn_blocking(move || event(&place, order)).await else {
            return;
        };
        last = now;
        if events.send(event).await.is_err() {
            return;
        }
    }
}

fn event(dir: &Path, order: Result<Option<RollbackOrder>, String>) -> ControllerEvent {
    let ordered = order.and_then(|order| order.map(|order| ordered(dir, order)).transpose());
    match ordered {
        Ok(ordered) => ControllerEvent::Rollback(ordered.map(Box::new)),
        Err(problem) => {
            let hint = "the order is not carried out: give another one with heddle history \
                        --rollback, or take it back with --release";
            ControllerEvent::trouble(TroubleArea::Rollback, Some(format!("{problem}; {hint}")))
        }
    }
}

fn ordered(dir: &Path, order: RollbackOrder) -> Result<OrderedRollback, String> {
    let files = reader(dir.join(folder(order.epoch)));
    let outline = EpochOutline::open(order.epoch, files).map_err(|e| e.to_string())?;
    let epoch = StoredEpoch {
        number: order.epoch,
        network: outline.network.into(),
        file: outline.topology.into(),
    };
    Ok(OrderedRollback { order, epoch })
}

/// Removes the operator's order, which is over. If that fails, the next controller finds so.
pub(super) fn end(dir: PathBuf) {
    spawn_blocking(move || RollbackOrder::remove(&dir));
}
