//! Work on the shared directory may hang: its file system is frozen, or its server is away. Such
//! work runs on a thread of its own, and the task that waits for it sends one message.
use super::trouble::send_trouble;
use crate::engine::{ControllerEvent, StalledWork, TroubleArea};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

/// The time after which work counts as hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The message about work that hangs.
pub(super) struct StallNotice {
    pub(super) work: StalledWork,
    /// Object, place, problem, consequence, hint.
    pub(super) problem: String,
    patience: Duration,
}

impl StallNotice {
    /// A notice for work on `place`, with the consequence if it hangs.
    pub(super) fn new(
        work: StalledWork,
        place: impl std::fmt::Display,
        consequence: &str,
    ) -> StallNotice {
        let problem = format!(
            "{place}: the file system has not answered for {} s; {consequence}; check whether it \
             is frozen or its server is away",
            PATIENCE.as_secs()
        );
        StallNotice {
            work,
            problem,
            patience: PATIENCE,
        }
    }

    /// Waits for work without a time limit, and logs a stall. For the start, when nothing takes
    /// events yet.
    pub(super) async fn wait_at_start<T>(self, mut work: JoinHandle<T>) -> Result<T, JoinError> {
        match timeout(self.patience, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                tracing::warn!("{}", self.problem);
                work.await
            }
        }
    }

    /// Waits for work without a time limit, and sends events for a stall and its end.
    pub(super) async fn wait<T>(
        self,
        events: &Sender<ControllerEvent>,
        mut work: JoinHandle<T>,
    ) -> Result<T, JoinError> {
        if let Ok(done) = timeout(self.patience, &mut work).await {
            return done;
        }
        let about = TroubleArea::Stalled(self.work);
        send_trouble(events, about.clone(), Some(self.problem)).await;
        let done = work.await;
        send_trouble(events, about, None).await;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::{mpsc, oneshot};
    use tokio::task::spawn_blocking;

    #[tokio::test]
    async fn work_that_does_not_come_back_is_reported_once_and_its_end_is() {
        let (events, mut received) = mpsc::channel(9);
        let (thaw, frozen) = oneshot::channel();
        let stall = StallNotice {
            patience: Duration::from_millis(10),
            ..StallNotice::new(StalledWork::Jobs, "/d", "all else goes on")
        };
        let waiting = tokio::spawn(async move { stall.wait(&events, tokio::spawn(frozen)).await });
        let Some(ControllerEvent::Trouble {
            about,
            problem: Some(problem),
        }) = received.recv().await
        else {
            panic!("not reported")
        };
        assert_eq!(about, TroubleArea::Stalled(StalledWork::Jobs));
        assert!(
            problem.starts_with("/d: the file system has not answered for 5 s; all else goes on; "),
            "{problem}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(received.try_recv().is_err(), "reported once");
        thaw.send(7).unwrap();
        assert_eq!(
            received.recv().await,
            Some(ControllerEvent::Trouble {
                about,
                problem: None
            })
        );
        assert_eq!(waiting.await.unwrap().unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn work_that_comes_back_is_not_reported() {
        let (events, mut received) = mpsc::channel(9);
        let done = StallNotice::new(StalledWork::Jobs, "/d", "all else goes on")
            .wait(&events, spawn_blocking(|| 7))
            .await;
        assert_eq!(done.unwrap(), 7);
        assert!(received.try_recv().is_err());
    }
}
