//! The throughput of each collective of the jobs over the last minutes, from the counters of
//! successive pictures. The controller's own history has all collectives of a job in one line, which
//! jumps where they differ.
use api::{JobPoint, JobStatus, Snapshot};
use directory::job_record::{BoundShare, CallTotal, JobRecord, RecordedName};
use inventory::Millis;
use policy::decision_table::Collective;
use std::collections::HashMap;

/// The readings that are kept for each collective.
const KEPT: usize = 120;
/// The most collectives of a job that are followed.
const MOST: usize = 8;
/// With fewer readings, a series is no picture of the past yet.
const ENOUGH: usize = 5;

/// One collective of a job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CollectiveSeries {
    pub(crate) collective: RecordedName<Collective>,
    /// The oldest first.
    pub(crate) points: Vec<JobPoint>,
}

/// The jobs of the last picture.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobPast(HashMap<String, JobReadings>);

#[derive(Debug, Clone)]
struct JobReadings {
    updated: Millis,
    calls: Vec<CallTotal>,
    series: Vec<CollectiveSeries>,
}

impl JobPast {
    /// Takes in a picture; jobs that it does not have are forgotten.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        let mut before = std::mem::take(&mut self.0);
        for job in &snapshot.jobs {
            let record = &job.record;
            let readings = match before.remove(&record.id) {
                Some(known) if known.updated == record.updated => known,
                Some(known) => known.with(record),
                None => JobReadings {
                    updated: record.updated,
                    calls: record.calls.clone(),
                    series: Vec::new(),
                },
            };
            self.0.insert(record.id.clone(), readings);
        }
    }

    /// The collectives of a job, once there are enough readings.
    pub(crate) fn series(&self, job: &JobStatus) -> &[CollectiveSeries] {
        let series = self.0.get(&job.record.id).map(|r| r.series.as_slice());
        series
            .filter(|s| s.iter().any(|s| s.points.len() >= ENOUGH))
            .unwrap_or_default()
    }
}

impl JobReadings {
    fn with(mut self, record: &JobRecord) -> JobReadings {
        let mut collectives: Vec<RecordedName<Collective>> = Vec::new();
        for call in &record.calls {
            if !collectives.contains(&call.collective) {
                collectives.push(call.collective.clone());
            }
        }
        for collective in collectives {
            let Some(point) = point(&collective, &self.calls, record) else {
                continue;
            };
            let known = self.series.iter().position(|s| s.collective == collective);
            if let Some(at) = known {
                let points = &mut self.series[at].points;
                points.push(point);
                let surplus = points.len().saturating_sub(KEPT);
                points.drain(..surplus);
            } else if self.series.len() < MOST {
                self.series.push(CollectiveSeries {
                    collective,
                    points: vec![point],
                });
            }
        }
        self.updated = record.updated;
        self.calls.clone_from(&record.calls);
        self
    }
}

/// The throughput of a collective since `before`; `None` if it had no calls since then, or if the
/// counters give no finite number.
fn point(
    collective: &RecordedName<Collective>,
    before: &[CallTotal],
    record: &JobRecord,
) -> Option<JobPoint> {
    let (mut bytes, mut seconds, mut bounded) = (0.0, 0.0, Vec::new());
    let ranks = f64::from(record.ranks);
    let calls = record.calls.iter();
    for call in calls.filter(|c| c.collective == *collective) {
        let before = before.iter().find(|b| {
            b.collective == call.collective && b.way == call.way && b.block == call.block
        });
        let new = call.calls.checked_sub(before.map_or(0, |b| b.calls))?;
        bytes += new as f64 * ranks * (ranks - 1.0).max(0.0) * call.block as f64;
        seconds += call.seconds - before.map_or(0.0, |b| b.seconds);
        bounded.extend(call.share_since(before));
    }
    let bytes_per_sec = Some(bytes / seconds).filter(|rate| seconds > 0.0 && rate.is_finite())?;
    Some(JobPoint {
        at: record.updated,
        bytes_per_sec,
        share: bounded.into_iter().sum::<BoundShare>().share(),
        epoch: record.epoch,
    })
}
