//! Work on the shared directory may never come back: its file system is frozen, or the server of it
//! is away. Such work runs on a thread of its own, and who waits for it says so once.
use crate::engine::{ControllerEvent, StalledWork, TroubleArea};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

/// Work that takes longer is told of.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What is told while work does not come back.
pub(super) struct StallNotice {
    /// Which work.
    pub(super) work: StalledWork,
    /// Object, place, problem, consequence, hint.
    pub(super) problem: String,
    patience: Duration,
}

impl StallNotice {
    /// Work on `place` that does not come back, and what that means.
    pub(super) fn new(
        work: StalledWork,
        place: impl std::fmt::Display,
        consequence: &str,
    ) -> StallNotice {
        let problem = format!(
            "{place}: no answer of the file system for {} s; {consequence}; look whether it is \
             frozen or its server is away",
            PATIENCE.as_secs()
        );
        StallNotice {
            work,
            problem,
            patience: PATIENCE,
        }
    }

    /// Waits for work before there is anybody who takes events, however long it takes.
    pub(super) async fn wait_at_start<T>(self, mut work: JoinHandle<T>) -> Result<T, JoinError> {
        match timeout(self.patience, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                tracing::warn!("{}", self.problem);
                work.await
            }
        }
    }

    /// Waits for work, however long it takes.
    pub(super) async fn wait<T>(
        self,
        events: &Sender<ControllerEvent>,
        mut work: JoinHandle<T>,
    ) -> Result<T, JoinError> {
        if let Ok(done) = timeout(self.patience, &mut work).await {
            return done;
        }
        // Nobody listens any more once the shell stops.
        let _ = events
            .send(ControllerEvent::Trouble {
                about: TroubleArea::Stalled(self.work),
                problem: Some(self.problem),
            })
            .await;
        let done = work.await;
        let _ = events
            .send(ControllerEvent::Trouble {
                about: TroubleArea::Stalled(self.work),
                problem: None,
            })
            .await;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::{mpsc, oneshot};
    use tokio::task::spawn_blocking;

    #[tokio::test]
    async fn work_that_does_not_come_back_is_told_once_and_its_end_is() {
        let (events, mut told) = mpsc::channel(9);
        let (thaw, frozen) = oneshot::channel();
        let stall = StallNotice {
            patience: Duration::from_millis(10),
            ..StallNotice::new(StalledWork::Jobs, "/d", "all else goes on")
        };
        let waiting = tokio::spawn(async move { stall.wait(&events, tokio::spawn(frozen)).await });
        let Some(ControllerEvent::Trouble {
            about,
            problem: Some(problem),
        }) = told.recv().await
        else {
            panic!("not told")
        };
        assert_eq!(about, TroubleArea::Stalled(StalledWork::Jobs));
        assert!(
            problem.starts_with("/d: no answer of the file system for 5 s; all else goes on; "),
            "{problem}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(told.try_recv().is_err(), "told once");
        thaw.send(7).unwrap();
        assert_eq!(
            told.recv().await,
            Some(ControllerEvent::Trouble {
                about,
                problem: None
            })
        );
        assert_eq!(waiting.await.unwrap().unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn work_that_comes_back_is_not_told() {
        let (events, mut told) = mpsc::channel(9);
        let done = StallNotice::new(StalledWork::Jobs, "/d", "all else goes on")
            .wait(&events, spawn_blocking(|| 7))
            .await;
        assert_eq!(done.unwrap(), 7);
        assert!(told.try_recv().is_err());
    }
}
