//! Jobs by their records.
use super::exposition::PrometheusText;
use super::families as f;
use api::{JobStatus, Snapshot};
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
    let running = out.family(&f::JOB_RUNNING);
    for j in &s.jobs {
        running.sample([&j.record.id], u8::from(j.running));
    }
    let ranks = out.family(&f::JOB_RANKS);
    for j in &s.jobs {
        ranks.sample([&j.record.id], j.record.ranks);
    }
    let epoch = out.family(&f::JOB_EPOCH);
    for j in &s.jobs {
        epoch.sample([&j.record.id], j.record.epoch);
    }
    let aside = out.family(&f::JOB_ASIDE);
    for j in &s.jobs {
        aside.sample([&j.record.id], u8::from(j.record.aside.is_some()));
    }
    calls(out, &s.jobs);
    let throughput = out.family(&f::JOB_THROUGHPUT);
    for j in s.jobs.iter().filter(|j| j.running) {
        let last = j.history.last().map(|point| point.bytes_per_sec);
        throughput.known([&j.record.id], last);
    }
    let bound = out.family(&f::JOB_BOUND);
    for j in s.jobs.iter().filter(|j| j.running) {
        let last = j.history.last().and_then(|point| point.share);
        bound.known([&j.record.id], last);
    }
    let cost = out.family(&f::JOB_LEARNING_COST);
    for j in &s.jobs {
        cost.known([&j.record.id], j.record.learning_cost_seconds);
    }
    let saved = out.family(&f::JOB_LEARNING_SAVED);
    for j in &s.jobs {
        saved.known([&j.record.id], j.record.learning_saved_seconds);
    }
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
