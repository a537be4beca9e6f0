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
    /// The oldest first. Shares of the bound are over 1 where rank 0, whose time counts, was ahead of
    /// the others: the chart finds the bound by them.
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
        share: bounded.into_iter().sum::<BoundShare>().ratio(),
        epoch: record.epoch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::decision_table::Way;

    /// All-to-alls of so many seconds, and seconds at the bound.
    fn total(calls: u64, seconds: f64, bound_seconds: f64) -> CallTotal {
        CallTotal {
            collective: Collective::Alltoall.into(),
            way: "native".parse::<Way>().unwrap().into(),
            block: 1_000,
            calls,
            seconds,
            bound_seconds,
            bounded_seconds: None,
        }
    }

    fn record(total: &CallTotal) -> JobRecord {
        serde_json::from_value(serde_json::json!({
            "id": "n0-1-1-1", "program": "a.out", "user": "ann", "started": 1, "updated": 2,
            "hosts": ["n0", "n1", "n2"], "ranks": 3, "mpi": "mpich", "epoch": 1,
            "epoch_since": 1, "calls": [total],
        }))
        .unwrap()
    }

    /// After a cable was moved, rank 0 took 4 s for a call, and a quarter of the bound for the next.
    #[test]
    fn a_reading_above_the_bound_does_not_raise_the_bound() {
        let totals = [total(1, 1.0, 1.0), total(2, 5.0, 2.0), total(3, 5.25, 3.0)];
        let bounds = totals.windows(2).map(|pair| {
            let point = point(&pair[0].collective, &pair[..1], &record(&pair[1])).unwrap();
            point.bytes_per_sec / point.share.unwrap()
        });
        assert_eq!(bounds.collect::<Vec<_>>(), [6_000.0, 6_000.0]);
    }
}
