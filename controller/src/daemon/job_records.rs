//! Turns changes of job records into events. The records are read on a thread of its own.
use super::lessons::LessonIntake;
use super::stall::StallNotice;
use crate::engine::{ControllerEvent, StalledWork, TroubleArea};
use crate::job_directory::{JobDirectory, JobScan};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;
use tokio::task::spawn_blocking;

/// The shortest and the longest pause between two scans of the job records.
const SCAN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// The pause after a scan, in multiples of its duration.
const SCAN_PAUSE: u32 = 4;
/// The shortest time between two versions of a problem: anybody can change it with each new file.
const SAY: Duration = Duration::from_secs(60);

/// The state of the last events.
#[derive(Default)]
struct JobNotices {
    lessons: LessonIntake,
    refused: Option<(usize, String)>,
    at: Option<Instant>,
    unread: usize,
}

impl JobNotices {
    fn events(&mut self, scan: JobScan, now: Instant) -> Vec<ControllerEvent> {
        let lessons = self.lessons.events(&scan.records, now);
        self.lessons.forget(&scan.gone);
        let mut events: Vec<ControllerEvent> =
            scan.records.into_iter().map(ControllerEvent::Job).collect();
        events.extend(lessons);
        events.extend(
            scan.gone
                .into_iter()
                .map(|id| ControllerEvent::JobGone { id }),
        );
        if self.unread != scan.unread {
            self.unread = scan.unread;
            events.push(ControllerEvent::JobsUnread {
                count: scan.unread as u64,
            });
        }
        let lately = self
            .at
            .is_some_and(|at| now.saturating_duration_since(at) < SAY);
        let reworded = self.refused.is_some() && scan.refused.is_some();
        if self.refused != scan.refused && !(reworded && lately) {
            self.at = Some(now);
            self.refused = scan.refused;
            let problem = self.refused.as_ref().map(|(count, example)| {
                format!(
                    "jobs/: {count} of its files are not job records, and are ignored; \
                         one of them: {example}; remove them"
                )
            });
            events.push(ControllerEvent::trouble(TroubleArea::Jobs, problem));
        }
        events
    }
}

/// Sends events for the job records in the shared directory, until the receiver is gone.
pub(super) async fn watch(dir: &Path, events: Sender<ControllerEvent>) {
    let jobs = dir.join(directory::layout::JOBS);
    let mut spool = JobDirectory::new(&jobs);
    let mut notices = JobNotices::default();
    loop {
        let began = Instant::now();
        let scanning = spawn_blocking(move || {
            let scan = spool.scan(Instant::now());
            (spool, scan)
        });
        let stall = StallNotice::new(
            StalledWork::Jobs,
            jobs.display(),
            "jobs are shown as they were read last, and everything else continues",
        );
        let Ok((back, scan)) = stall.wait(&events, scanning).await else {
            return;
        };
        spool = back;
        for event in notices.events(scan, Instant::now()) {
            if events.send(event).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(
            began
                .elapsed()
                .saturating_mul(SCAN_PAUSE)
                .clamp(SCAN.0, SCAN.1),
        )
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn troubles(notices: &mut JobNotices, refused: usize, at: Instant) -> usize {
        let refused = (refused > 0).then(|| (refused, "x".to_owned()));
        notices
            .events(
                JobScan {
                    refused,
                    ..JobScan::default()
                },
                at,
            )
            .len()
    }

    #[test]
    fn a_problem_that_changes_with_every_file_is_reported_now_and_then_and_its_end_at_once() {
        let (mut notices, now) = (JobNotices::default(), Instant::now());
        assert_eq!(
            (1..100)
                .map(|n| troubles(&mut notices, n, now))
                .sum::<usize>(),
            1
        );
        assert_eq!(troubles(&mut notices, 100, now + SAY), 1);
        assert_eq!(troubles(&mut notices, 0, now + SAY), 1);
        assert_eq!(troubles(&mut notices, 0, now + 2 * SAY), 0);
    }
}
