//! The snapshot as Prometheus text (exposition format 0.0.4).
use api::{AgentStatus, EpochInfo, EventLevel, Snapshot, SwitchStatus};
use std::fmt::{Display, Write};

/// Writes every metric of a snapshot.
pub fn text(s: &Snapshot) -> String {
    let mut out = PrometheusText::default();
    out.family("heddle_info", "gauge", "The controller's version")
        .sample(&[("version", &s.version)], 1);
    epoch(&mut out, s.epochs.last());
    controller(&mut out, s);
    switches(&mut out, &s.switches);
    agents(&mut out, &s.agents);
    links(&mut out, s);
    jobs(&mut out, s);
    out.text
}

fn epoch(out: &mut PrometheusText, epoch: Option<&EpochInfo>) {
    let help = "Number of the current epoch, 0 before the first";
    out.family("heddle_epoch", "gauge", help)
        .sample(&[], epoch.map_or(0, |e| e.number));
    let Some(e) = epoch else { return };
    let help = "When the current epoch was published";
    out.family("heddle_epoch_timestamp_seconds", "gauge", help)
        .sample(&[], e.at.0 as f64 / 1000.0);
    out.family("heddle_epoch_hosts", "gauge", "Hosts planned for")
        .sample(&[], e.hosts);
    let help = "Phases of the all-to-all among all hosts";
    out.family("heddle_epoch_phases", "gauge", help)
        .sample(&[], e.phases);
    let help = "From the first sign of the change to the end of a stage";
    out.family("heddle_epoch_stage_seconds", "gauge", help);
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

fn controller(out: &mut PrometheusText, s: &Snapshot) {
    let help = "Whether a change waits for the hold-down";
    out.family("heddle_change_pending", "gauge", help)
        .sample(&[], u8::from(s.pending.is_some()));
    out.family("heddle_alarms", "gauge", "Alarms that stand")
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
}

fn switches(out: &mut PrometheusText, switches: &[SwitchStatus]) {
    out.family("heddle_switch_up", "gauge", "Whether a switch answers");
    for w in switches {
        out.sample(
            &[("switch", &w.name), ("address", &w.address)],
            u8::from(w.problem.is_none() && w.seen.is_some()),
        );
    }
    let name = "heddle_switch_topology_changes_total";
    out.family(name, "counter", "dot1dStpTopChanges");
    for w in switches {
        let switch = vec![("switch", w.name.as_str())];
        out.samples(w.top_changes.map(|n| (switch, n)));
    }
}

fn agents(out: &mut PrometheusText, agents: &[AgentStatus]) {
    out.family("heddle_agent_up", "gauge", "Whether a host's agent reports");
    for a in agents {
        out.sample(&[("host", &a.host)], u8::from(a.problem.is_none()));
    }
    let help = "Measured load of a host's card by its own counters";
    out.family("heddle_host_bits_per_second", "gauge", help);
    for a in agents {
        for (direction, load) in [("in", a.inward), ("out", a.outward)] {
            let labels = vec![("host", a.host.as_str()), ("direction", direction)];
            out.samples(load.map(|rate| (labels, rate.0)));
        }
    }
    let help = "Shortest round trip between two hosts";
    out.family("heddle_round_trip_seconds", "gauge", help);
    for a in agents {
        for path in &a.ways {
            let labels = vec![("from", a.host.as_str()), ("to", path.to.as_str())];
            out.samples(path.min_us.map(|us| (labels, f64::from(us) / 1e6)));
        }
    }
}

fn links(out: &mut PrometheusText, s: &Snapshot) {
    let help = "Measured load of a link in one direction";
    out.family("heddle_link_bits_per_second", "gauge", help);
    for l in &s.loads {
        for (from, to, load) in [(&l.a, &l.b, l.a_to_b), (&l.b, &l.a, l.b_to_a)] {
            let labels = vec![("from", from.as_str()), ("to", to.as_str())];
            out.samples(load.map(|rate| (labels, rate.0)));
        }
    }
    let name = "heddle_link_rate_bits_per_second";
    out.family(name, "gauge", "The rate of a link");
    for l in &s.topology.links {
        out.sample(&[("a", &l.a), ("b", &l.b)], l.rate_bps.0);
    }
    let help = "Messages of one all-to-all over a link in one direction";
    out.family("heddle_link_aapc_load", "gauge", help);
    for l in &s.loads {
        out.sample(&[("a", &l.a), ("b", &l.b)], l.aapc_load);
    }
}

fn jobs(out: &mut PrometheusText, s: &Snapshot) {
    let help = "Whether a job's communicator still writes";
    out.family("heddle_job_running", "gauge", help);
    for j in &s.jobs {
        let labels = [
            ("job", j.record.id.as_str()),
            ("program", &j.record.program),
            ("user", &j.record.user),
        ];
        out.sample(&labels, u8::from(j.running));
    }
    let help = "Jobs beyond those that are listed one by one";
    out.family("heddle_jobs_not_shown", "gauge", help)
        .sample(&[], s.jobs_more);
    out.family("heddle_job_epoch", "gauge", "The epoch a job follows");
    for j in &s.jobs {
        out.sample(&[("job", &j.record.id)], j.record.epoch);
    }
    let help = "What trying ways cost a job";
    out.family("heddle_job_learning_cost_seconds", "gauge", help);
    for j in &s.jobs {
        let labels = vec![("job", j.record.id.as_str())];
        out.samples(j.record.learning_cost_seconds.map(|cost| (labels, cost)));
    }
    let help = "What a job took less than by the library's own routines; below zero if more";
    out.family("heddle_job_learning_saved_seconds", "gauge", help);
    for j in &s.jobs {
        let labels = vec![("job", j.record.id.as_str())];
        out.samples(j.record.learning_saved_seconds.map(|saved| (labels, saved)));
    }
    let help = "Throughput of a job's collectives lately";
    out.family("heddle_job_bytes_per_second", "gauge", help);
    for j in s.jobs.iter().filter(|j| j.running) {
        let labels = vec![("job", j.record.id.as_str())];
        out.samples(j.history.last().map(|p| (labels, p.bytes_per_sec)));
    }
}

#[derive(Default)]
struct PrometheusText {
    text: String,
    name: &'static str,
}

impl PrometheusText {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> &mut Self {
        self.name = name;
        // Writing to a String cannot fail.
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
mod tests;
