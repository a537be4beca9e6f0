//! Everything that is known in figures, as Prometheus text (exposition format 0.0.4).
//!
//! [`families`] is the table of all metrics; docs/metrics.md is made from it.
mod exposition;
pub mod families;
mod jobs;
mod network;
mod process;

use crate::engine::{EngineFigures, MeasuringFigures};
use agent::{ANSWER_TIMES, RequestFailure, RequestTotals};
use api::{AlarmSeverity, EpochInfo, EventLevel, Snapshot};
use exposition::PrometheusText;
use families as f;
use std::collections::BTreeMap;

/// The figures beside a snapshot.
#[derive(Debug, Clone, Default)]
pub struct ControllerFigures {
    /// Those of the engine.
    pub engine: EngineFigures,
    /// The SNMP requests to each switch.
    pub requests: BTreeMap<String, RequestTotals>,
}

/// Writes every metric.
pub fn text(snapshot: &Snapshot, figures: &ControllerFigures) -> String {
    let mut out = PrometheusText::default();
    out.family(&f::BUILD_INFO).sample([&snapshot.version], 1);
    epochs(&mut out, snapshot);
    alarms(&mut out, snapshot, figures);
    requests(&mut out, &figures.requests);
    network::switches(&mut out, &snapshot.switches);
    network::ports(&mut out, &figures.engine.ports);
    network::links(&mut out, snapshot);
    network::agents(&mut out, &snapshot.agents);
    measuring(&mut out, snapshot, &figures.engine.measuring);
    jobs::jobs(&mut out, snapshot);
    process::process(&mut out);
    out.text()
}

fn measuring(out: &mut PrometheusText, s: &Snapshot, figures: &MeasuringFigures) {
    let results = [
        ("measured", figures.measured),
        ("failed", figures.failed),
        ("refused", figures.refused),
    ];
    let family = out.family(&f::FLOW_MEASUREMENTS);
    for (result, count) in results {
        family.sample([result], count);
    }
    out.family(&f::FLOW_RUNNING)
        .sample([], u8::from(s.mapping.running.is_some()));
    out.family(&f::FLOW_SENT).sample([], figures.sent.0);
    let ended = figures.ended.map(|at| at.0 as f64 / 1000.0);
    out.family(&f::FLOW_ENDED).known([], ended);
}

fn epochs(out: &mut PrometheusText, s: &Snapshot) {
    let epoch: Option<&EpochInfo> = s.epochs.last();
    out.family(&f::EPOCH)
        .sample([], epoch.map_or(0, |e| e.number));
    out.family(&f::CHANGE_PENDING)
        .sample([], u8::from(s.pending.is_some()));
    let Some(epoch) = epoch else { return };
    out.family(&f::EPOCH_PUBLISHED)
        .sample([], epoch.at.0 as f64 / 1000.0);
    out.family(&f::EPOCH_HOSTS).sample([], epoch.hosts);
    out.family(&f::EPOCH_PHASES).sample([], epoch.phases);
    let stages = &epoch.stages;
    let stages = [
        ("inferred", stages.inferred),
        ("believed", stages.believed),
        ("planned", stages.planned),
        ("published", stages.published),
        ("taken_up", stages.taken_up),
    ];
    let out = out.family(&f::EPOCH_STAGE);
    for (stage, after) in stages {
        out.known([stage], after.map(|after| after.as_secs_f64()));
    }
}

fn alarms(out: &mut PrometheusText, s: &Snapshot, figures: &ControllerFigures) {
    let out_alarms = out.family(&f::ALARMS);
    for (severity, name) in [
        (AlarmSeverity::Info, "info"),
        (AlarmSeverity::Warning, "warning"),
        (AlarmSeverity::Error, "error"),
    ] {
        let of_severity = s.alarms.iter().filter(|a| a.severity == severity);
        out_alarms.sample([name], of_severity.count());
    }
    let mut by_code: BTreeMap<&str, usize> = BTreeMap::new();
    for alarm in &s.alarms {
        *by_code.entry(alarm.code().name()).or_default() += 1;
    }
    let out_codes = out.family(&f::ALARM_CODES);
    for (code, count) in by_code {
        out_codes.sample([code], count);
    }
    let out_events = out.family(&f::EVENTS);
    for (level, name) in [
        (EventLevel::Info, "info"),
        (EventLevel::Warning, "warning"),
        (EventLevel::Error, "error"),
    ] {
        let count = figures.engine.events.get(&level);
        out_events.sample([name], count.copied().unwrap_or_default());
    }
}

fn requests(out: &mut PrometheusText, requests: &BTreeMap<String, RequestTotals>) {
    let all = requests
        .values()
        .fold(RequestTotals::default(), |sum, more| sum.plus(more));
    out.family(&f::SNMP_DURATION)
        .histogram(&ANSWER_TIMES, &all.answers, all.seconds);
    let answers = out.family(&f::SNMP_ANSWERS);
    for (switch, totals) in requests {
        answers.sample([switch], totals.answered());
    }
    let seconds = out.family(&f::SNMP_SECONDS);
    for (switch, totals) in requests {
        seconds.sample([switch], totals.seconds);
    }
    let failures = out.family(&f::SNMP_FAILURES);
    for (switch, totals) in requests {
        for (reason, count) in RequestFailure::ALL.into_iter().zip(totals.failures) {
            failures.sample([switch, word(reason)], count);
        }
    }
}

fn word(failure: RequestFailure) -> &'static str {
    match failure {
        RequestFailure::Timeout => "timeout",
        RequestFailure::Refused => "refused",
        RequestFailure::Error => "error",
    }
}

#[cfg(test)]
mod tests;
