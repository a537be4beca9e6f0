//! Snapshots for viewers, made while somebody looks. A snapshot of a large network takes a tenth of
//! a second, and most of the time nobody looks.
use super::ServedSnapshot;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// A viewer gets the last snapshot if no new one is made for so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// The viewers' side.
#[derive(Debug, Clone)]
pub struct SnapshotFeed {
    shown: watch::Receiver<ServedSnapshot>,
    demand: Arc<SnapshotDemand>,
}

/// The demand for snapshots.
#[derive(Debug, Default)]
struct SnapshotDemand {
    /// Requests that wait for a snapshot.
    asked: AtomicUsize,
    /// Viewers that want each snapshot.
    followers: AtomicUsize,
    news: Notify,
}

/// The controller's side.
#[derive(Debug)]
pub struct SnapshotSender {
    shown: watch::Sender<ServedSnapshot>,
    demand: Arc<SnapshotDemand>,
}

/// Counts in a demand as long as it lives.
#[derive(Debug)]
pub(super) struct DemandShare(Arc<SnapshotDemand>, fn(&SnapshotDemand) -> &AtomicUsize);

impl Drop for DemandShare {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, SeqCst);
    }
}

/// A feed that begins with this snapshot, and its source.
pub fn snapshot_feed(first: ServedSnapshot) -> (SnapshotSender, SnapshotFeed) {
    let (shown, look) = watch::channel(first);
    let demand = Arc::new(SnapshotDemand::default());
    let source = SnapshotSender {
        shown,
        demand: Arc::clone(&demand),
    };
    (
        source,
        SnapshotFeed {
            shown: look,
            demand,
        },
    )
}

impl SnapshotFeed {
    fn share(&self, of: fn(&SnapshotDemand) -> &AtomicUsize) -> DemandShare {
        of(&self.demand).fetch_add(1, SeqCst);
        self.demand.news.notify_one();
        DemandShare(Arc::clone(&self.demand), of)
    }

    /// The snapshot as of now; the last one if the controller makes none.
    pub(super) async fn fresh(&mut self) -> ServedSnapshot {
        // A snapshot from before the request may be out of date, so only a later one counts.
        self.shown.mark_unchanged();
        let _asked = self.share(|demand| &demand.asked);
        // A source that is gone, or too slow, leaves the last one.
        let _ = tokio::time::timeout(PATIENCE, self.shown.changed()).await;
        self.shown.borrow().clone()
    }

    /// Wants each snapshot from now on, as long as the share lives.
    pub(super) fn follow(&self) -> DemandShare {
        self.share(|demand| &demand.followers)
    }

    /// The next snapshot that was not seen yet; `None` once the controller stops.
    pub(super) async fn next(&mut self) -> Option<ServedSnapshot> {
        self.shown.changed().await.ok()?;
        Some(self.shown.borrow_and_update().clone())
    }
}

impl SnapshotSender {
    /// Returns whether anybody waits for a snapshot: a request, or, if it is `due`, a follower.
    pub fn is_wanted(&self, due: bool) -> bool {
        self.demand.asked.load(SeqCst) > 0 || (due && self.demand.followers.load(SeqCst) > 0)
    }

    /// Waits for a further viewer.
    pub async fn viewer(&self) {
        self.demand.news.notified().await;
    }

    /// Shows a snapshot to all who wait.
    pub fn show(&self, snapshot: ServedSnapshot) {
        self.shown.send_replace(snapshot);
    }

    #[cfg(test)]
    pub(super) fn shown(&self) -> ServedSnapshot {
        self.shown.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Snapshot;
    use inventory::Millis;

    fn snapshot(at: u64) -> ServedSnapshot {
        ServedSnapshot::new(Snapshot {
            at: Millis(at),
            ..Snapshot::default()
        })
    }

    #[tokio::test]
    async fn a_request_waits_for_a_snapshot_of_its_own_time() {
        let (source, mut feed) = snapshot_feed(snapshot(1));
        assert!(!source.is_wanted(true), "nobody looks");
        let making = async {
            source.viewer().await;
            assert!(source.is_wanted(false));
            source.show(snapshot(2));
        };
        let (fresh, ()) = tokio::join!(feed.fresh(), making);
        assert_eq!(fresh.snapshot.at, Millis(2));
        assert!(!source.is_wanted(true), "nobody looks any more");
    }

    #[tokio::test]
    async fn a_follower_gets_each_snapshot_while_it_follows() {
        let (source, mut feed) = snapshot_feed(snapshot(1));
        let share = feed.follow();
        assert!(source.is_wanted(true) && !source.is_wanted(false));
        source.show(snapshot(2));
        assert_eq!(feed.next().await.unwrap().snapshot.at, Millis(2));
        drop(share);
        assert!(!source.is_wanted(true));
    }

    #[tokio::test]
    async fn without_a_source_the_last_snapshot_is_served() {
        let (source, mut feed) = snapshot_feed(snapshot(1));
        drop(source);
        assert_eq!(feed.fresh().await.snapshot.at, Millis(1));
    }
}
