//! The snapshot as Prometheus text (exposition format 0.0.4).
use api::{EventLevel, Snapshot};
use std::fmt::{Display, Write};

/// Writes every metric of a snapshot.
pub fn text(s: &Snapshot) -> String {
    let mut out = PrometheusText::default();
    out.family("heddle_info", "gauge", "The controller's version")
        .sample(&[("version", &s.version)], 1);
    let epoch = s.epochs.last();
    out.family(
        "heddle_epoch",
        "gauge",
        "Number of the current epoch, 0 before the first",
    )
    .sample(&[], epoch.map_or(0, |e| e.number));
    if let Some(e) = epoch {
        out.family(
            "heddle_epoch_timestamp_seconds",
            "gauge",
            "When the current epoch was published",
        )
        .sample(&[], e.at.0 as f64 / 1000.0);
        out.family("heddle_epoch_hosts", "gauge", "Hosts planned for")
            .sample(&[], e.hosts);
        out.family(
            "heddle_epoch_phases",
            "gauge",
            "Phases of the all-to-all among all hosts",
        )
        .sample(&[], e.phases);
        out.family(
            "heddle_epoch_stage_seconds",
            "gauge",
            "From the first sign of the change to the end of a stage",
        );
        let st = &e.stages;
        let stages = [
            ("inferred", st.inferred),
            ("believed", st.believed),
            ("planned", st.planned),
            ("published", st.published),
            ("taken_up", st.taken_up),
        ];
        for (stage, after) in stages {
            out.samples(after.map(|after| (vec![("stage", stage)], after.as_secs_f64())));
        }
    }
    out.family(
        "heddle_change_pending",
        "gauge",
        "Whether a change waits for the hold-down",
    )
    .sample(&[], u8::from(s.pending.is_some()));
    out.family("heddle_alarms", "gauge", "What an operator should look at")
        .sample(&[], s.alarms.len());
    let errors = |level| s.events.iter().filter(|e| e.level == level).count();
    out.family("heddle_recent_events", "gauge", "Lines in the event panel");
    for (name, level) in [
        ("info", EventLevel::Info),
        ("warning", EventLevel::Warning),
        ("error", EventLevel::Error),
    ] {
        out.sample(&[("level", name)], errors(level));
    }
    out.family("heddle_switch_up", "gauge", "Whether a switch answers");
    for w in &s.switches {
        out.sample(
            &[("switch", &w.name), ("address", &w.address)],
            u8::from(w.problem.is_none() && w.seen.is_some()),
        );
    }
    out.family(
        "heddle_switch_topology_changes_total",
        "counter",
        "dot1dStpTopChanges",
    );
    for w in &s.switches {
        out.samples(
            w.top_changes
                .map(|n| (vec![("switch", w.name.as_str())], n)),
        );
    }
    out.family("heddle_agent_up", "gauge", "Whether a host's agent reports");
    for a in &s.agents {
        out.sample(&[("host", &a.host)], u8::from(a.problem.is_none()));
    }
    out.family(
        "heddle_host_bits_per_second",
        "gauge",
        "Measured load of a host's card by its own counters",
    );
    for a in &s.agents {
        out.samples(
            a.inward
                .map(|r| (vec![("host", a.host.as_str()), ("direction", "in")], r.0)),
        );
        out.samples(
            a.outward
                .map(|r| (vec![("host", a.host.as_str()), ("direction", "out")], r.0)),
        );
    }
    out.family(
        "heddle_round_trip_seconds",
        "gauge",
        "Shortest round trip between two hosts",
    );
    for (a, way) in s
        .agents
        .iter()
        .flat_map(|a| a.ways.iter().map(move |w| (a, w)))
    {
        out.samples(way.min_us.map(|us| {
            (
                vec![("from", a.host.as_str()), ("to", way.to.as_str())],
                f64::from(us) / 1e6,
            )
        }));
    }
    out.family(
        "heddle_link_bits_per_second",
        "gauge",
        "Measured load of a link in one direction",
    );
    for l in &s.loads {
        out.samples(
            l.a_to_b
                .map(|r| (vec![("from", l.a.as_str()), ("to", l.b.as_str())], r.0)),
        );
        out.samples(
            l.b_to_a
                .map(|r| (vec![("from", l.b.as_str()), ("to", l.a.as_str())], r.0)),
        );
    }
    out.family(
        "heddle_link_rate_bits_per_second",
        "gauge",
        "What a link can carry",
    );
    for l in &s.topology.links {
        out.sample(&[("a", &l.a), ("b", &l.b)], l.rate_bps.0);
    }
    out.family(
        "heddle_link_aapc_load",
        "gauge",
        "Messages of one all-to-all over a link in one direction",
    );
    for l in &s.loads {
        out.sample(&[("a", &l.a), ("b", &l.b)], l.aapc_load);
    }
    out.family(
        "heddle_job_running",
        "gauge",
        "Whether a job's communicator still writes",
    );
    for j in &s.jobs {
        out.sample(
            &[
                ("job", &j.record.id),
                ("program", &j.record.program),
                ("user", &j.record.user),
            ],
            u8::from(j.running),
        );
    }
    out.family(
        "heddle_jobs_not_shown",
        "gauge",
        "Jobs beyond those that are told of one by one",
    )
    .sample(&[], s.jobs_more);
    out.family("heddle_job_epoch", "gauge", "The epoch a job follows");
    for j in &s.jobs {
        out.sample(&[("job", &j.record.id)], j.record.epoch);
    }
    out.family(
        "heddle_job_bytes_per_second",
        "gauge",
        "Throughput of a job's collectives lately",
    );
    for j in s.jobs.iter().filter(|j| j.running) {
        out.samples(
            j.history
                .last()
                .map(|p| (vec![("job", j.record.id.as_str())], p.bytes_per_sec)),
        );
    }
    out.text
}

#[derive(Default)]
struct PrometheusText {
    text: String,
    name: &'static str,
}

impl PrometheusText {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> &mut Self {
        self.name = name;
        // A String takes everything.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self
    }

    fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.name);
        for (i, (label, text)) in labels.iter().enumerate() {
            let escaped = text
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let _ = write!(
                self.text,
                "{}{label}=\"{escaped}\"",
                if i == 0 { '{' } else { ',' }
            );
        }
        let _ = writeln!(
            self.text,
            "{} {value}",
            if labels.is_empty() { "" } else { "}" }
        );
    }

    fn samples<'a, V: Display>(&mut self, sample: Option<(Vec<(&'a str, &'a str)>, V)>) {
        if let Some((labels, value)) = sample {
            self.sample(&labels, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::{AgentStatus, EpochInfo, LinkLoad, PathStatus, StageTimes, SwitchStatus};
    use inventory::{BitsPerSec, Millis};

    #[test]
    fn every_line_is_of_the_format() {
        let switch = SwitchStatus {
            name: "s\"0\\".into(),
            address: "10.0.0.1:161".into(),
            seen: Some(Millis(1)),
            ..SwitchStatus::default()
        };
        let load = LinkLoad {
            a: "s0".into(),
            b: "n0".into(),
            a_to_b: Some(BitsPerSec(8000)),
            aapc_load: 3,
            ..LinkLoad::default()
        };
        let stages = StageTimes {
            published: Some(std::time::Duration::from_millis(1250)),
            ..StageTimes::default()
        };
        let way = PathStatus {
            to: "n1".into(),
            hops: 1,
            reached: true,
            min_us: Some(250),
        };
        let agent = AgentStatus {
            host: "n0".into(),
            inward: Some(BitsPerSec(0)),
            ways: vec![way],
            ..AgentStatus::default()
        };
        let snapshot = Snapshot {
            version: "0.1.0".into(),
            agents: vec![agent],
            switches: vec![switch],
            jobs_more: 4711,
            loads: vec![load],
            epochs: vec![EpochInfo {
                number: 7,
                stages,
                ..EpochInfo::default()
            }],
            ..Snapshot::default()
        };
        let text = text(&snapshot);
        for line in [
            "heddle_epoch 7",
            "heddle_switch_up{switch=\"s\\\"0\\\\\",address=\"10.0.0.1:161\"} 1",
            "heddle_link_bits_per_second{from=\"s0\",to=\"n0\"} 8000",
            "heddle_agent_up{host=\"n0\"} 1",
            "heddle_host_bits_per_second{host=\"n0\",direction=\"in\"} 0",
            "heddle_round_trip_seconds{from=\"n0\",to=\"n1\"} 0.00025",
            "heddle_epoch_stage_seconds{stage=\"published\"} 1.25",
            "heddle_jobs_not_shown 4711",
            "# TYPE heddle_switch_topology_changes_total counter",
        ] {
            assert!(
                text.lines().any(|l| l == line),
                "{line} is missing in\n{text}"
            );
        }
        let mut family = "";
        for line in text.lines() {
            match line.split_once(' ').unwrap() {
                ("#", rest) => family = rest.split(' ').nth(1).unwrap(),
                (sample, value) => {
                    assert_eq!(sample.split('{').next().unwrap(), family);
                    value.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
                }
            }
        }
    }
}
