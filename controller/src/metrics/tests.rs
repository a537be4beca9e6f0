//! One snapshot as text.
use super::*;
use api::{LinkLoad, PathStatus, StageTimes};
use directory::job_record::JobRecord;
use inventory::{BitsPerSec, Millis};

/// Some of the lines, one of each sort.
const LINES: [&str; 10] = [
    "heddle_epoch 7",
    "heddle_switch_up{switch=\"s\\\"0\\\\\",address=\"10.0.0.1:161\"} 1",
    "heddle_link_bits_per_second{from=\"s0\",to=\"n0\"} 8000",
    "heddle_agent_up{host=\"n0\"} 1",
    "heddle_host_bits_per_second{host=\"n0\",direction=\"in\"} 0",
    "heddle_round_trip_seconds{from=\"n0\",to=\"n1\"} 0.00025",
    "heddle_epoch_stage_seconds{stage=\"published\"} 1.25",
    "heddle_jobs_not_shown 4711",
    "heddle_job_learning_saved_seconds{job=\"j\"} 2.5",
    "# TYPE heddle_switch_topology_changes_total counter",
];

fn snapshot() -> Snapshot {
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
    let job = api::JobStatus {
        record: JobRecord {
            learning_saved_seconds: Some(2.5),
            ..crate::jobs::tests::record("j", 7, 1, 1.0)
        },
        running: true,
        history: Vec::new(),
    };
    Snapshot {
        jobs: vec![job],
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
    }
}

#[test]
fn every_line_is_of_the_format() {
    let text = text(&snapshot());
    for line in LINES {
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
