//! Jobs by their own records: throughput from the cumulative counters of successive readings.
use crate::allowance::{OwnerShares, RecordAllowance};
use api::{JobPoint, JobStatus};
use directory::job_record::{BoundShare, CallTotal, JobRecord};
use inventory::Millis;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem::size_of;
use std::time::Duration;

/// A job without a new record for this time counts as not running: it may compute, hang, or be
/// killed.
pub const SILENT: Duration = Duration::from_secs(15);
/// The time for which an ended job stays visible.
const SHOWN: Duration = Duration::from_secs(600);
const POINTS: usize = 120;

/// The limits of followed records and remembered jobs. Up to 8 users can use their full share at
/// once.
pub(crate) const FOLLOWED: OwnerShares = OwnerShares {
    each: RecordAllowance {
        things: 512,
        bytes: 8 << 20,
    },
    all: RecordAllowance {
        things: 4096,
        bytes: 64 << 20,
    },
};
/// The limits of jobs in a snapshot.
const SHOWN_JOBS: OwnerShares = OwnerShares {
    each: RecordAllowance {
        things: 256,
        bytes: 2 << 20,
    },
    all: RecordAllowance {
        things: 512,
        bytes: 8 << 20,
    },
};
/// The surplus over [`FOLLOWED`] at which jobs are forgotten, so that not every new job causes a
/// search.
const SLACK: usize = 512;
/// The bytes that a job takes beyond its record.
const JOB: usize = 1024 + POINTS * size_of::<JobPoint>();

/// The approximate bytes of memory that following a record takes.
pub(crate) fn cost(record: &JobRecord) -> usize {
    JOB + record.memory()
}

#[derive(Debug, Clone)]
struct TrackedJob {
    record: JobRecord,
    cost: usize,
    last: Millis,
    history: Vec<JobPoint>,
}

impl TrackedJob {
    fn runs(&self, now: Millis) -> bool {
        !self.record.finished && now.since(self.last) < SILENT
    }
}

/// The recent jobs, within bounds.
#[derive(Debug, Clone, Default)]
pub struct JobTracker {
    jobs: BTreeMap<String, TrackedJob>,
    /// The sum of the costs.
    bytes: usize,
    /// The number of unread records; there are too many to read them all.
    unread: u64,
}

impl JobTracker {
    /// Takes a record as read. Lost or repeated readings do no harm.
    pub fn record(&mut self, now: Millis, record: JobRecord) {
        let cost = cost(&record);
        self.bytes += cost;
        match self.jobs.get_mut(&record.id) {
            Some(job) => {
                let same_job = record.started == job.record.started;
                if let Some(point) = point(now, &job.record.calls, &record).filter(|_| same_job) {
                    job.history.push(point);
                    let surplus = job.history.len().saturating_sub(POINTS);
                    job.history.drain(..surplus);
                }
                job.last = if record == job.record { job.last } else { now };
                self.bytes -= std::mem::replace(&mut job.cost, cost);
                job.record = record;
            }
            None => {
                let history = point(now, &[], &record).into_iter().collect();
                self.jobs.insert(
                    record.id.clone(),
                    TrackedJob {
                        record,
                        cost,
                        last: now,
                        history,
                    },
                );
            }
        }
        if self.jobs.len() > FOLLOWED.all.things + SLACK
            || self.bytes > FOLLOWED.all.bytes + FOLLOWED.each.bytes
        {
            self.forget_surplus(now);
        }
    }

    /// Forgets the jobs beyond the limits, and first those that do not run.
    fn forget_surplus(&mut self, now: Millis) {
        let mut before: BTreeMap<String, TrackedJob> = std::mem::take(&mut self.jobs);
        let wanted = most_wanted(&before, now);
        let kept = FOLLOWED.select_kept(
            wanted
                .iter()
                .map(|id| (before[id].record.user.clone(), before[id].cost)),
        );
        self.jobs = kept
            .into_iter()
            .filter_map(|index| before.remove_entry(&wanted[index]))
            .collect();
        self.bytes = self.jobs.values().map(|job| job.cost).sum();
    }

    /// Notes the number of unread records.
    pub fn unread(&mut self, count: u64) {
        self.unread = count;
    }

    /// Notes that the job's record was removed: the job will not write again.
    pub fn record_removed(&mut self, id: &str) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.record.finished = true;
        }
    }

    /// Forgets jobs that ended long ago.
    pub fn forget_old(&mut self, now: Millis) {
        self.jobs.retain(|_, job| now.since(job.last) < SHOWN);
        self.bytes = self.jobs.values().map(|job| job.cost).sum();
    }

    /// The jobs for viewers, running ones first, then by start; and the number of further jobs.
    pub fn status(&self, now: Millis) -> (Vec<JobStatus>, u64) {
        let wanted = most_wanted(&self.jobs, now);
        let kept = SHOWN_JOBS.select_kept(
            wanted
                .iter()
                .map(|id| (self.jobs[id].record.user.as_str(), self.jobs[id].cost)),
        );
        let more = (wanted.len() - kept.len()) as u64 + self.unread;
        let mut shown: Vec<JobStatus> = kept
            .into_iter()
            .map(|index| {
                let job = &self.jobs[&wanted[index]];
                JobStatus {
                    record: job.record.clone(),
                    running: job.runs(now),
                    history: job.history.clone(),
                }
            })
            .collect();
        shown.sort_by_key(|j| (!j.running, j.record.started, j.record.id.clone()));
        (shown, more)
    }
}

/// The ids of the jobs, running ones first, then by their last record, newest first.
fn most_wanted(jobs: &BTreeMap<String, TrackedJob>, now: Millis) -> Vec<String> {
    let mut wanted: Vec<_> = jobs
        .iter()
        .map(|(id, job)| (!job.runs(now), Reverse(job.last), id))
        .collect();
    wanted.sort_unstable();
    wanted.into_iter().map(|(_, _, id)| id.clone()).collect()
}

/// The throughput of the calls since `before`; `None` if there were none, if the counters began
/// anew, or if they do not give a finite number: a record may contain anything, and JSON has no
/// infinity.
fn point(at: Millis, before: &[CallTotal], record: &JobRecord) -> Option<JobPoint> {
    let (mut bytes, mut seconds, mut bounded) = (0.0, 0.0, Vec::new());
    for call in &record.calls {
        let before = before.iter().find(|b| {
            b.collective == call.collective && b.way == call.way && b.block == call.block
        });
        let (calls, s) = before.map_or((0, 0.0), |b| (b.calls, b.seconds));
        let ranks = f64::from(record.ranks);
        bytes += call.calls.checked_sub(calls)? as f64
            * ranks
            * (ranks - 1.0).max(0.0)
            * call.block as f64;
        seconds += call.seconds - s;
        bounded.extend(call.share_since(before));
    }
    let share = bounded.into_iter().sum::<BoundShare>().share();
    let bytes_per_sec = Some(bytes / seconds).filter(|rate| seconds > 0.0 && rate.is_finite())?;
    Some(JobPoint {
        at,
        bytes_per_sec,
        share,
        epoch: record.epoch,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use directory::job_record::RecordedName;
    use policy::decision_table::{Collective, Mpi};
    use policy::learned::RankLayout;

    pub(crate) fn record(id: &str, epoch: u64, calls: u64, seconds: f64) -> JobRecord {
        let call = CallTotal {
            collective: Collective::Alltoall.into(),
            way: RecordedName::Known("aapc".parse().unwrap()),
            block: 1000,
            calls,
            seconds,
            bound_seconds: seconds * 0.9,
            bounded_seconds: None,
        };
        JobRecord {
            id: id.into(),
            program: "a.out".into(),
            user: "ann".into(),
            started: Millis(1),
            updated: Millis(calls),
            hosts: vec!["n0".into(), "n1".into()],
            ranks: 4,
            layout: RankLayout::default(),
            mpi: inventory::MpiRoutines::from(Mpi::Mpich).into(),
            epoch,
            epoch_since: Millis(1),
            aside: None,
            finished: false,
            calls: vec![call],
            learned: Vec::new(),
            learning_cost_seconds: None,
            learning_saved_seconds: None,
            watched: None,
            network: None,
            fast_call: None,
        }
    }

    #[test]
    fn throughput_counts_the_bytes_between_readings() {
        let mut jobs = JobTracker::default();
        jobs.record(Millis(1000), record("a", 1, 10, 1.0));
        jobs.record(Millis(2000), record("a", 1, 30, 2.0));
        jobs.record(Millis(3000), record("a", 1, 30, 2.0));
        let status = jobs.status(Millis(3000)).0;
        let points: Vec<f64> = status[0].history.iter().map(|p| p.bytes_per_sec).collect();
        assert_eq!(points, [10.0 * 12.0 * 1000.0, 20.0 * 12.0 * 1000.0]);
        assert!((status[0].history[1].share.unwrap() - 0.9).abs() < 1e-9);
        assert!(status[0].running);
    }

    /// A job that had no epoch for most of its time has no bound for that time.
    #[test]
    fn time_without_an_epoch_does_not_lower_the_share_of_the_bound() {
        let mut jobs = JobTracker::default();
        jobs.record(Millis(1000), bounded_record(10, 4.0, 0.0));
        jobs.record(Millis(2000), bounded_record(20, 6.0, 0.7));
        let history = jobs.status(Millis(2000)).0.remove(0).history;
        assert_eq!(history[0].share, None);
        assert!((history[1].share.unwrap() - 0.88).abs() < 1e-9);
    }

    fn bounded_record(calls: u64, seconds: f64, bounded: f64) -> JobRecord {
        let mut record = record("a", 1, calls, seconds);
        record.calls[0].bound_seconds = bounded * 0.88;
        record.calls[0].bounded_seconds = Some(bounded);
        record
    }

    #[test]
    fn counters_that_began_anew_give_no_point() {
        let mut jobs = JobTracker::default();
        jobs.record(Millis(1000), record("a", 1, 10, 1.0));
        jobs.record(Millis(2000), record("a", 1, 3, 0.1));
        assert_eq!(jobs.status(Millis(2000)).0[0].history.len(), 1);
    }

    /// Viewers can read the snapshot, whatever a record contains.
    #[test]
    fn counters_beyond_any_machine_leave_the_snapshot_readable() {
        for (count, seconds) in [(u64::MAX, f64::MIN_POSITIVE), (1, 0.0), (1, f64::MAX)] {
            let mut jobs = JobTracker::default();
            let mut wild = record("a", 1, count, seconds);
            wild.calls[0].block = u64::MAX;
            wild.calls.extend(vec![wild.calls[0].clone(); 2]);
            jobs.record(Millis(1000), wild);
            let json = serde_json::to_string(&jobs.status(Millis(1000)).0).unwrap();
            assert!(
                serde_json::from_str::<Vec<JobStatus>>(&json).is_ok(),
                "{json}"
            );
        }
    }

    #[test]
    fn silent_finished_and_old_jobs() {
        let mut jobs = JobTracker::default();
        jobs.record(Millis(0), record("a", 1, 10, 1.0));
        jobs.record(Millis(0), record("b", 1, 10, 1.0));
        jobs.record_removed("a");
        let names: Vec<_> = jobs
            .status(Millis(1))
            .0
            .iter()
            .map(|j| (j.record.id.clone(), j.running))
            .collect();
        assert_eq!(names, [("b".to_owned(), true), ("a".to_owned(), false)]);
        assert!(!jobs.status(Millis(0).after(SILENT)).0[0].running);
        jobs.forget_old(Millis(0).after(SHOWN));
        assert!(jobs.status(Millis(0).after(SHOWN)).0.is_empty());
    }

    /// A user who writes new records without end gets no memory beyond one share, and displaces
    /// nobody.
    #[test]
    fn jobs_without_number_are_bounded_and_counted() {
        let mut jobs = JobTracker::default();
        jobs.record(Millis(0), record("ann", 1, 10, 1.0));
        for n in 0..3 * FOLLOWED.all.things {
            jobs.record(
                Millis(1),
                JobRecord {
                    user: "eve".into(),
                    ..record(&format!("eve{n}"), 1, 10, 1.0)
                },
            );
            assert!(
                jobs.jobs.len() <= FOLLOWED.all.things + SLACK
                    && jobs.bytes <= FOLLOWED.all.bytes + FOLLOWED.each.bytes
            );
        }
        jobs.unread(1000);
        assert_eq!(
            jobs.bytes,
            jobs.jobs
                .values()
                .map(|job| cost(&job.record))
                .sum::<usize>()
        );
        let (shown, more) = jobs.status(Millis(2));
        assert!(
            shown.iter().any(|job| job.record.id == "ann"),
            "the first one is kept"
        );
        assert_eq!(
            (shown.len(), more),
            (
                1 + SHOWN_JOBS.each.things,
                1000 + (jobs.jobs.len() - shown.len()) as u64
            )
        );
    }
}
