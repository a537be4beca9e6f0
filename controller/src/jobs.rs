//! Jobs as they tell of themselves: throughput from the cumulative counters of successive readings.
use crate::api::{JobPoint, JobStatus};
use inventory::Millis;
use schedules::job::{CallTotal, JobRecord};
use std::collections::BTreeMap;

/// A job that wrote nothing for so long counts as not running: it may compute, hang, or be killed.
pub const SILENT_MS: u64 = 15_000;
/// A job that ended stays visible so long.
const SHOWN_MS: u64 = 600_000;
const POINTS: usize = 120;

#[derive(Debug, Clone)]
struct Job {
    record: JobRecord,
    heard: Millis,
    history: Vec<JobPoint>,
}

/// Every job heard of lately.
#[derive(Debug, Clone, Default)]
pub struct Jobs {
    jobs: BTreeMap<String, Job>,
}

impl Jobs {
    /// Takes a record as read. Lost or repeated readings cost nothing.
    pub fn record(&mut self, now: Millis, record: JobRecord) {
        match self.jobs.get_mut(&record.id) {
            Some(job) => {
                let same_job = record.started == job.record.started;
                if let Some(point) = point(now, &job.record.calls, &record).filter(|_| same_job) {
                    job.history.push(point);
                    let surplus = job.history.len().saturating_sub(POINTS);
                    job.history.drain(..surplus);
                }
                job.heard = if record == job.record { job.heard } else { now };
                job.record = record;
            }
            None => {
                let history = point(now, &[], &record).into_iter().collect();
                self.jobs.insert(record.id.clone(), Job { record, heard: now, history });
            }
        }
    }

    /// The job's file is gone: it will not write again.
    pub fn gone(&mut self, id: &str) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.record.finished = true;
        }
    }

    /// Drops jobs that ended long ago.
    pub fn forget_old(&mut self, now: Millis) {
        self.jobs.retain(|_, job| now.since(job.heard) < SHOWN_MS);
    }

    /// Jobs for viewers, running ones first, then by start.
    pub fn status(&self, now: Millis) -> Vec<JobStatus> {
        let running = |job: &Job| !job.record.finished && now.since(job.heard) < SILENT_MS;
        let status = |job: &Job| JobStatus { record: job.record.clone(), running: running(job), history: job.history.clone() };
        let mut all: Vec<JobStatus> = self.jobs.values().map(status).collect();
        all.sort_by_key(|j| (!j.running, j.record.started, j.record.id.clone()));
        all
    }
}

/// Throughput of what was called since `before`; `None` where nothing was, the counters began anew, or they give no number: a record
/// may say anything, and JSON knows no infinity.
fn point(at: Millis, before: &[CallTotal], record: &JobRecord) -> Option<JobPoint> {
    let (mut bytes, mut seconds, mut bound, mut bounded) = (0.0, 0.0, 0.0, 0.0);
    for call in &record.calls {
        let same = |b: &&CallTotal| b.collective == call.collective && b.way == call.way && b.block == call.block;
        let (calls, s, b) = before.iter().find(same).map_or((0, 0.0, 0.0), |b| (b.calls, b.seconds, b.bound_seconds));
        let ranks = f64::from(record.ranks);
        bytes += call.calls.checked_sub(calls)? as f64 * ranks * (ranks - 1.0).max(0.0) * call.block as f64;
        seconds += call.seconds - s;
        if call.bound_seconds > b {
            bound += call.bound_seconds - b;
            bounded += call.seconds - s;
        }
    }
    let share = (bounded > 0.0).then(|| (bound / bounded).clamp(0.0, 1.0)).filter(|share| share.is_finite());
    let bytes_per_sec = Some(bytes / seconds).filter(|rate| seconds > 0.0 && rate.is_finite())?;
    Some(JobPoint { at, bytes_per_sec, share, epoch: record.epoch })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(id: &str, epoch: u64, calls: u64, seconds: f64) -> JobRecord {
        let call =
            CallTotal { collective: "alltoall".into(), way: "aapc".into(), block: 1000, calls, seconds, bound_seconds: seconds * 0.9 };
        JobRecord {
            id: id.into(),
            program: "a.out".into(),
            user: "ann".into(),
            started: Millis(1),
            updated: Millis(calls),
            hosts: vec!["n0".into(), "n1".into()],
            ranks: 4,
            mpi: "mpich".into(),
            epoch,
            epoch_since: Millis(1),
            aside: None,
            finished: false,
            calls: vec![call],
        }
    }

    #[test]
    fn throughput_is_what_came_between_readings() {
        let mut jobs = Jobs::default();
        jobs.record(Millis(1000), record("a", 1, 10, 1.0));
        jobs.record(Millis(2000), record("a", 1, 30, 2.0));
        jobs.record(Millis(3000), record("a", 1, 30, 2.0));
        let status = jobs.status(Millis(3000));
        let points: Vec<f64> = status[0].history.iter().map(|p| p.bytes_per_sec).collect();
        assert_eq!(points, [10.0 * 12.0 * 1000.0, 20.0 * 12.0 * 1000.0]);
        assert!((status[0].history[1].share.unwrap() - 0.9).abs() < 1e-9);
        assert!(status[0].running);
    }

    #[test]
    fn counters_that_began_anew_give_no_point() {
        let mut jobs = Jobs::default();
        jobs.record(Millis(1000), record("a", 1, 10, 1.0));
        jobs.record(Millis(2000), record("a", 1, 3, 0.1));
        assert_eq!(jobs.status(Millis(2000))[0].history.len(), 1);
    }

    /// A viewer reads what the job said, whatever that is.
    #[test]
    fn counters_beyond_any_machine_leave_the_snapshot_readable() {
        for (count, seconds) in [(u64::MAX, f64::MIN_POSITIVE), (1, 0.0), (1, f64::MAX)] {
            let mut jobs = Jobs::default();
            let mut wild = record("a", 1, count, seconds);
            wild.calls[0].block = u64::MAX;
            wild.calls.extend(vec![wild.calls[0].clone(); 2]);
            jobs.record(Millis(1000), wild);
            let json = serde_json::to_string(&jobs.status(Millis(1000))).unwrap();
            assert!(serde_json::from_str::<Vec<JobStatus>>(&json).is_ok(), "{json}");
        }
    }

    #[test]
    fn silent_finished_and_old_jobs() {
        let mut jobs = Jobs::default();
        jobs.record(Millis(0), record("a", 1, 10, 1.0));
        jobs.record(Millis(0), record("b", 1, 10, 1.0));
        jobs.gone("a");
        let names: Vec<_> = jobs.status(Millis(1)).iter().map(|j| (j.record.id.clone(), j.running)).collect();
        assert_eq!(names, [("b".to_owned(), true), ("a".to_owned(), false)]);
        assert!(!jobs.status(Millis(SILENT_MS))[0].running);
        jobs.forget_old(Millis(SHOWN_MS));
        assert!(jobs.status(Millis(SHOWN_MS)).is_empty());
    }
}
