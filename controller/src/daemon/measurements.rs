//! Watches the shared directory for new measurements of `heddle tune`.
use super::stall::StallNotice;
use crate::engine::{ControllerEvent, StalledWork, TroubleArea};
use directory::layout::TUNING;
use directory::reading;
use policy::measurements::TuningRuns;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::task::spawn_blocking;

/// The time between two reads of the file, which has some kilobytes.
const LOOK: Duration = Duration::from_secs(1);

/// The last content of the file.
pub(super) struct MeasurementWatcher {
    dir: PathBuf,
    last: Result<TuningRuns, String>,
}

impl MeasurementWatcher {
    /// Begins with the measurements of the current epoch.
    pub(super) fn new(dir: &Path) -> MeasurementWatcher {
        let last = reading::current_epoch(dir)
            .ok()
            .flatten()
            .map(|epoch| epoch.tuning)
            .unwrap_or_default();
        MeasurementWatcher {
            dir: dir.to_owned(),
            last: Ok(last),
        }
    }

    /// Sends events for new measurements, until the receiver is gone.
    pub(super) async fn watch(mut self, events: Sender<ControllerEvent>) {
        let mut every = tokio::time::interval(LOOK);
        loop {
            every.tick().await;
            let file = self.dir.join(TUNING);
            let stall = StallNotice::new(
                StalledWork::Measurements,
                file.display(),
                "new measurements are not seen, and everything else continues",
            );
            let looking = spawn_blocking(move || {
                let news = self.look();
                (self, news)
            });
            let Ok((back, news)) = stall.wait(&events, looking).await else {
                return;
            };
            self = back;
            for event in news {
                if events.send(event).await.is_err() {
                    return;
                }
            }
        }
    }

    fn look(&mut self) -> Vec<ControllerEvent> {
        let now = reading::measurements(&self.dir).map_err(|e| e.to_string());
        if now == self.last {
            return Vec::new();
        }
        let problem = now
            .as_ref()
            .err()
            .map(|e| format!("{e}; the decision table stays as it is"));
        let mut events = vec![ControllerEvent::trouble(TroubleArea::Measurements, problem)];
        let measured = now.as_ref().ok();
        events.extend(measured.map(|tuning| ControllerEvent::Measured { what: what(tuning) }));
        self.last = now;
        events
    }
}

fn what(tuning: &TuningRuns) -> String {
    let runs = tuning.runs.iter();
    let lines =
        runs.map(|run| format!("measured {} with {} ranks", run.mpi, run.place.hosts.len()));
    match lines.collect::<Vec<_>>() {
        runs if runs.is_empty() => {
            "the measurements were removed: ways are chosen by the built-in decision table"
                .to_owned()
        }
        runs => runs.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_measurements_are_reported_once_and_a_broken_file_as_a_trouble() {
        let dir = tempfile::tempdir().unwrap();
        let mut measurements = MeasurementWatcher::new(dir.path());
        assert_eq!(measurements.look(), []);
        std::fs::write(dir.path().join("tuning.json"), "{").unwrap();
        let events = measurements.look();
        let [ControllerEvent::Trouble { problem, .. }] = &events[..] else {
            panic!("expected one trouble: {events:?}")
        };
        let problem = problem.as_deref().unwrap();
        assert!(
            problem.contains("tuning.json: no measurements"),
            "{events:?}"
        );
        assert_eq!(measurements.look(), []);
        directory::publishing::write_measurements(dir.path(), &TuningRuns::default()).unwrap();
        let events = measurements.look();
        let [over, ControllerEvent::Measured { what }] = &events[..] else {
            panic!("expected the end of the trouble, and measurements: {events:?}")
        };
        assert!(
            matches!(over, ControllerEvent::Trouble { problem: None, .. }),
            "{events:?}"
        );
        assert!(what.contains("removed"), "{events:?}");
        assert_eq!(measurements.look(), []);
    }
}
