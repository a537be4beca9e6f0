//! One snapshot as text: no series twice, whatever the network.
use super::*;
use crate::engine::{MeasuringFigures, PortFigures};
use api::{AgentStatus, JobPoint, JobStatus, LinkLoad, PathStatus, StageTimes, SwitchStatus};
use directory::job_record::JobRecord;
use inventory::observation::PortFaults;
use inventory::topology::Link;
use inventory::{BitsPerSec, Bytes, Millis};
use std::collections::HashSet;
use std::time::Duration;

/// Some of the lines, one of each sort.
const LINES: [&str; 20] = [
    "heddle_epoch 7",
    "heddle_alarms{severity=\"error\"} 1",
    "heddle_alarms_by_code{code=\"no-tree\"} 1",
    "heddle_events_total{level=\"warning\"} 3",
    "heddle_switch_up{switch=\"s\\\"0\\\\\"} 1",
    "heddle_port_receive_bytes_total{switch=\"s0\",port=\"swp1\"} 18446744073709551616",
    "heddle_port_transmit_errors_total{switch=\"s0\",port=\"swp1\"} 2",
    "heddle_link_load_bytes_per_second{from=\"s0\",from_port=\"swp1\",to=\"s1\",to_port=\"swp1\"} 1000",
    "heddle_link_load_bytes_per_second{from=\"s0\",from_port=\"swp2\",to=\"s1\",to_port=\"swp2\"} 2000",
    "heddle_link_speed_bytes_per_second{from=\"s1\",from_port=\"swp2\",to=\"s0\",to_port=\"swp2\"} 125000000",
    "heddle_link_alltoall_messages{from=\"s1\",from_port=\"swp1\",to=\"s0\",to_port=\"swp1\"} 3",
    "heddle_agent_up{host=\"n0\"} 1",
    "heddle_host_receive_bytes_per_second{host=\"n0\"} 0",
    "heddle_host_round_trip_seconds{from=\"n0\",to=\"n1\"} 0.00025",
    "heddle_epoch_stage_seconds{stage=\"published\"} 1.25",
    "heddle_jobs_not_shown 4711",
    "heddle_job_aside{job_id=\"j\"} 1",
    "heddle_job_bound_ratio{job_id=\"j\"} 0.88",
    "heddle_snmp_request_duration_seconds_bucket{le=\"+Inf\"} 3",
    "heddle_snmp_failures_total{switch=\"s0\",reason=\"refused\"} 5",
];

/// One of two parallel cables.
fn cable(port: &str, load: u64) -> (Link, LinkLoad) {
    let link = Link::new("s0", port, "s1", port);
    let load = LinkLoad {
        a: "s0".into(),
        b: "s1".into(),
        a_to_b: Some(BitsPerSec(load)),
        aapc_load: 3,
        ..LinkLoad::default()
    };
    (link, load)
}

fn job() -> JobStatus {
    let point = JobPoint {
        at: Millis(1),
        bytes_per_sec: 1e6,
        share: Some(0.88),
        epoch: 7,
    };
    JobStatus {
        record: JobRecord {
            learning_saved_seconds: Some(2.5),
            aside: Some("the library sends over mgmt0".into()),
            ..crate::jobs::tests::record("j", 7, 1, 1.0)
        },
        running: true,
        history: vec![point],
    }
}

pub(super) fn snapshot() -> Snapshot {
    let switch = SwitchStatus {
        name: "s\"0\\".into(),
        seen: Some(Millis(1)),
        top_changes: Some(4),
        ..SwitchStatus::default()
    };
    let stages = StageTimes {
        published: Some(Duration::from_millis(1250)),
        ..StageTimes::default()
    };
    let path = PathStatus {
        to: "n1".into(),
        min_us: Some(250),
        ..PathStatus::default()
    };
    let agent = AgentStatus {
        host: "n0".into(),
        inward: Some(BitsPerSec(0)),
        outward: Some(BitsPerSec(8)),
        ways: vec![path],
        ..AgentStatus::default()
    };
    let alarm = api::AlarmLine {
        kind: inventory::alarm::AlarmKind::NoTree {
            doubts: Vec::new(),
            epoch: None,
        },
        severity: AlarmSeverity::Error,
        ..api::AlarmLine::default()
    };
    // The last two cables have the same names, as where ports are not known.
    let cables = [("swp1", 8_000), ("swp2", 16_000), ("", 1), ("", 2)];
    let (links, loads) = cables
        .map(|(port, load)| cable(port, load))
        .into_iter()
        .unzip();
    let mut snapshot = Snapshot {
        jobs: vec![job()],
        version: "0.1.0".into(),
        agents: vec![agent],
        switches: vec![switch],
        jobs_more: 4711,
        loads,
        alarms: vec![alarm],
        epochs: vec![EpochInfo {
            number: 7,
            stages,
            ..EpochInfo::default()
        }],
        ..Snapshot::default()
    };
    snapshot.topology.links = links;
    snapshot
}

pub(super) fn figures() -> ControllerFigures {
    let port = PortFigures {
        switch: "s0".into(),
        port: "swp1".into(),
        up: true,
        octets: Some((1 << 64, 0)),
        faults: Some(PortFaults {
            out_errors: 2,
            ..PortFaults::default()
        }),
    };
    let mut totals = RequestTotals::default();
    (totals.answers[0], totals.answers[11], totals.failures[1]) = (2, 1, 5);
    ControllerFigures {
        engine: EngineFigures {
            ports: vec![port],
            events: BTreeMap::from([(EventLevel::Warning, 3)]),
            measuring: MeasuringFigures {
                measured: 2,
                sent: Bytes(31),
                ended: Some(Millis(1_500)),
                ..MeasuringFigures::default()
            },
        },
        requests: BTreeMap::from([("s0".to_owned(), totals)]),
    }
}

#[test]
fn every_line_is_of_the_format_and_no_series_comes_twice() {
    let text = text(&snapshot(), &figures());
    for line in LINES {
        assert!(
            text.lines().any(|l| l == line),
            "{line} is missing in\n{text}"
        );
    }
    let (mut family, mut seen) = ("", HashSet::new());
    for line in text.lines() {
        match line.split_once(' ').unwrap() {
            ("#", rest) => family = rest.split(' ').nth(1).unwrap(),
            _ => {
                let (series, value) = line.rsplit_once(' ').unwrap();
                assert!(series.starts_with(family), "{line}");
                assert!(seen.insert(series), "twice: {line}");
                value.parse::<f64>().unwrap();
            }
        }
    }
}

/// Here every family has a sample, so that each is seen by promtool in the end-to-end tests.
#[test]
fn every_family_is_written_once() {
    let mut snapshot = snapshot();
    snapshot.jobs[0].record.learning_cost_seconds = Some(1.0);
    let text = text(&snapshot, &figures());
    let heads: Vec<&str> = text
        .lines()
        .filter_map(|l| l.strip_prefix("# TYPE "))
        .collect();
    let expected: Vec<String> = f::ALL
        .iter()
        .map(|m| format!("{} {}", m.name, m.kind.word()))
        .collect();
    let (mut heads_sorted, mut expected_sorted) = (
        heads.clone(),
        expected.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    heads_sorted.sort_unstable();
    expected_sorted.sort_unstable();
    assert_eq!(heads_sorted, expected_sorted);
    for family in f::ALL {
        assert!(
            text.lines()
                .any(|l| l.starts_with(family.name) && !l.starts_with('#')),
            "{} has no sample",
            family.name
        );
    }
}
