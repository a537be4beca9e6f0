//! `HEDDLE_TRACE` and `heddle trace`: traces of real jobs, a recorded one, and those of strangers.
use crate::common::epochs::{OVER_TCP, TREE, shared};
use crate::common::golden::check_commands;
use crate::common::job::{BOTH, TestJob};
use crate::common::runtime::lib;
use crate::common::{HEDDLE, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const RANKS: usize = 4;

fn trace(dir: &Path, flags: &[&str]) -> String {
    let output = Command::new(HEDDLE)
        .arg("trace")
        .arg(dir)
        .args(flags)
        .output()
        .expect(HEDDLE);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The numbers of a call are the same at all ranks, the path explains the whole of it, and the
/// bytes are right.
#[test]
fn a_job_is_explained() {
    for mpi in BOTH {
        let (dir, place) = (shared(TREE), TempDir::new().unwrap());
        // A folder that is not there is made.
        let traces = place.path().join("traces");
        let flags = "--collective both --size 1000,100000 --iterations 5 --check";
        let output = TestJob::new(mpi, RANKS)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .env("HEDDLE_TRACE", traces.to_str().unwrap())
            .run(
                &lib().join(format!("bench-{mpi}")),
                &flags.split(' ').collect::<Vec<_>>(),
            );
        assert_eq!(
            output.out.matches("every byte checked").count(),
            4,
            "{}",
            output.out
        );
        let report: Value = serde_json::from_str(&trace(&traces, &["--format", "json"])).unwrap();
        assert_eq!(report["hosts"].as_array().unwrap().len(), RANKS, "{mpi}");
        let calls: Vec<&Value> = report["calls"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|call| call["block"] == 100_000)
            .collect();
        let way = |way: &str| calls.iter().filter(|call| call["way"] == way).count();
        // The median and the slowest of each.
        assert_eq!(
            (way("aapc tcp"), way("ring tcp")),
            (2, 2),
            "{mpi}: {report:#}"
        );
        for call in calls {
            let sinks = call["sinks_seconds"].as_object().unwrap();
            let explained: f64 = sinks.values().filter_map(Value::as_f64).sum();
            let took = call["seconds"].as_f64().unwrap();
            // Within the doubt that is left of clocks.
            assert!((explained - took).abs() < 0.1 * took, "{mpi}: {call:#}");
            assert!(
                call["links"]
                    .as_array()
                    .is_some_and(|links| !links.is_empty())
            );
        }
        let text = trace(&traces, &[]);
        assert!(
            text.contains("4 ranks") && text.contains("what it waited for"),
            "{text}"
        );
        assert!(trace(&traces, &["--format", "svg"]).ends_with("</svg>\n"));
        let chrome: Value = serde_json::from_str(&trace(&traces, &["--format", "chrome"])).unwrap();
        assert!(chrome["traceEvents"].as_array().unwrap().len() > RANKS * 10);
    }
}

/// A job whose traces cannot be written runs as any other, and says so.
#[test]
fn a_folder_that_cannot_be_made_costs_the_trace_alone() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let output = TestJob::new(mpi, 2)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .env("HEDDLE_TRACE", "/proc/nowhere")
            .run(
                &lib().join(format!("bench-{mpi}")),
                &["--iterations", "2", "--check"],
            );
        assert!(output.out.contains("every byte checked"), "{}", output.out);
        assert!(
            output
                .heddle
                .iter()
                .any(|line| line.contains("the trace of a rank is not written")),
            "{:?}",
            output.heddle
        );
    }
}

#[test]
fn transcripts() {
    let commands = [
        ("recorded", "trace recorded"),
        ("recorded-call", "trace recorded --call 2"),
        ("recorded-svg", "trace recorded --call 2 --format svg"),
        ("no-call", "trace recorded --call 99"),
        ("no-traces", "trace ."),
        ("hostile", "trace hostile"),
        ("no-job", "trace recorded --job 0123"),
    ];
    check_commands("trace", "txt", commands);
}

/// Traces that anybody may have written end a command in words.
#[test]
fn strangers_files_are_refused() {
    let place = TempDir::new().unwrap();
    for (name, octets) in [
        ("07-0", b"heddle trace 1\n\xff\xff\xff\xff".to_vec()),
        ("08-0", Vec::new()),
        (
            "09-0",
            [&b"heddle trace 1\n\x02\0\0\0{}"[..], &[7; 24]].concat(),
        ),
    ] {
        let file = place.path().join(format!("{name}.heddle-trace"));
        fs::write(&file, octets).unwrap();
        let output = Command::new(HEDDLE)
            .arg("trace")
            .arg(place.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(64), "{name}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("{name}.heddle-trace")));
    }
}
