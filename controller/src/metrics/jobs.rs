//! Jobs by their records.
use super::exposition::PrometheusText;
use super::families as f;
use api::{JobPoint, JobStatus, Snapshot};
use std::collections::BTreeMap;

/// Calls and seconds by collective and way.
type CallSums = BTreeMap<(String, String), (u64, f64)>;

pub(super) fn jobs(out: &mut PrometheusText, s: &Snapshot) {
    let states = out.family(&f::JOBS);
    let running = s.jobs.iter().filter(|j| j.running).count();
    states.sample(["running"], running);
    states.sample(["ended"], s.jobs.len() - running);
    out.family(&f::JOBS_MORE).sample([], s.jobs_more);
    let info = out.family(&f::JOB_INFO);
    for JobStatus { record: r, .. } in &s.jobs {
        info.sample([&r.id, &r.program, &r.user, &r.mpi.to_string()], 1);
    }
    let all = (&s.jobs[..], (|j| &j.record.id) as fn(&JobStatus) -> &str);
    out.each(&f::JOB_RUNNING, all, |j| Some(u8::from(j.running)));
    out.each(&f::JOB_RANKS, all, |j| Some(j.record.ranks));
    out.each(&f::JOB_EPOCH, all, |j| Some(j.record.epoch));
    out.each(&f::JOB_ASIDE, all, |j| {
        Some(u8::from(j.record.aside.is_some()))
    });
    calls(out, &s.jobs);
    out.each(&f::JOB_THROUGHPUT, all, |j| Some(latest(j)?.bytes_per_sec));
    out.each(&f::JOB_BOUND, all, |j| latest(j)?.share);
    out.each(&f::JOB_LEARNING_COST, all, |j| {
        j.record.learning_cost_seconds
    });
    out.each(&f::JOB_LEARNING_SAVED, all, |j| {
        j.record.learning_saved_seconds
    });
}

fn latest(job: &JobStatus) -> Option<&JobPoint> {
    job.history.last().filter(|_| job.running)
}

/// The calls of each job, summed over the sizes of blocks.
fn calls(out: &mut PrometheusText, jobs: &[JobStatus]) {
    let sums: Vec<(&str, CallSums)> = jobs
        .iter()
        .map(|j| (j.record.id.as_str(), sums(j)))
        .collect();
    let counts = out.family(&f::JOB_CALLS);
    for (job, sums) in &sums {
        for ((collective, way), (calls, _)) in sums {
            counts.sample([job, collective, way], calls);
        }
    }
    let seconds = out.family(&f::JOB_SECONDS);
    for (job, sums) in &sums {
        for ((collective, way), (_, spent)) in sums {
            seconds.sample([job, collective, way], spent);
        }
    }
}

fn sums(job: &JobStatus) -> CallSums {
    let mut sums = CallSums::new();
    for call in &job.record.calls {
        let key = (call.collective.to_string(), call.way.to_string());
        let (calls, seconds) = sums.entry(key).or_default();
        // A record may contain anything.
        *calls = calls.saturating_add(call.calls);
        *seconds += call.seconds;
    }
    sums
}
