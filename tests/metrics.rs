//! The metrics as Prometheus reads them: its own tools, a real scrape, the dashboard and the rules
//! in share/.
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until_or_why};
use controller::metrics::families::{self, MetricFamily};
use lab::plan::CONTROL;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Two switches with two cables between them, of which spanning tree blocks one.
const PARALLEL: &str = "switches: [s0, s1]
hosts:
  n0: {switch: s0, rate: 20M}
  n1: {switch: s1, rate: 20M}
links:
  - {a: s0, b: s1, rate: 20M}
  - {a: s0, b: s1, rate: 20M, state: blocked}
";
const PROMETHEUS: &str = "http://127.0.0.1:9090";

fn shared(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("share")
        .join(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Runs promtool, which must have nothing to complain about.
fn promtool(arguments: &[&str], folder: &Path, input: &str) {
    let mut child = Command::new("promtool")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool; scripts/packages tests installs it");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let octets = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&octets);
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
}

/// Every query of the dashboard, with all controllers chosen.
fn dashboard_queries() -> Vec<String> {
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(
                    fields
                        .get("expr")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
                fields.values().for_each(|field| collect(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            _ => {}
        }
    }
    let dashboard = serde_json::from_str(&read(&shared("grafana/heddle.json"))).unwrap();
    let mut found = Vec::new();
    collect(&dashboard, &mut found);
    found
        .into_iter()
        .map(|query| query.replace("$instance", ".+"))
        .collect()
}

/// The words in a query that may be names of metrics.
fn metric_words(query: &str) -> BTreeSet<&str> {
    query
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("heddle_") || word.starts_with("process_"))
        .collect()
}

/// The family whose series a name means.
fn family(name: &str) -> Option<&'static MetricFamily> {
    let parts = ["_bucket", "_sum", "_count"];
    of_name(name).or_else(|| {
        parts
            .iter()
            .find_map(|part| of_name(name.strip_suffix(part)?))
    })
}

fn of_name(name: &str) -> Option<&'static MetricFamily> {
    families::ALL.iter().copied().find(|f| f.name == name)
}

#[test]
fn every_query_names_a_metric_that_there_is() {
    let rules = read(&shared("prometheus/heddle.rules"));
    let mut queries = dashboard_queries();
    assert!(queries.len() > 20, "{queries:#?}");
    queries.extend(
        rules
            .lines()
            .filter_map(|line| Some(line.split_once("expr: ")?.1.to_owned())),
    );
    let unknown: Vec<&str> = queries
        .iter()
        .flat_map(|query| metric_words(query))
        .filter(|name| family(name).is_none())
        .collect();
    assert_eq!(unknown, [] as [&str; 0]);
}

#[test]
fn the_dashboard_is_whole() {
    let dashboard: Value = serde_json::from_str(&read(&shared("grafana/heddle.json"))).unwrap();
    assert_eq!(dashboard["uid"], "heddle");
    let variables: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert_eq!(variables, ["datasource", "instance"]);
    let (mut numbers, mut ends) = (BTreeSet::new(), 0);
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(numbers.insert(panel["id"].as_u64().unwrap()), "{panel:#}");
        for text in ["title", "description", "type"] {
            assert!(!panel[text].as_str().unwrap().is_empty(), "{panel:#}");
        }
        assert!(place("x", panel) + place("w", panel) <= 24, "{panel:#}");
        assert!(
            place("y", panel) >= ends || place("x", panel) > 0,
            "{panel:#}"
        );
        ends = place("y", panel);
        let targets = panel["targets"].as_array().unwrap();
        let marks: BTreeSet<_> = targets.iter().map(|t| t["refId"].as_str()).collect();
        assert!(
            !targets.is_empty() && marks.len() == targets.len(),
            "{panel:#}"
        );
        for target in targets.iter().chain([panel]) {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{panel:#}");
        }
    }
}

fn place(key: &str, panel: &Value) -> u64 {
    panel["gridPos"][key].as_u64().unwrap()
}

#[test]
fn the_rules_fire_when_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let rules = shared("prometheus/heddle.rules");
    fs::copy(&rules, folder.path().join("heddle.rules")).unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/metrics/rules.yaml");
    fs::copy(tests, folder.path().join("rules.yaml")).unwrap();
    promtool(&["check", "rules", "heddle.rules"], folder.path(), "");
    promtool(&["test", "rules", "rules.yaml"], folder.path(), "");
}

/// docs/metrics.md has the table of the code; UPDATE_GOLDEN=1 writes it.
#[test]
fn the_documentation_has_every_metric() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let (text, table) = (read(&path), families::markdown());
    let begin = text.find("metric | type").expect("a table");
    let end = text[begin..]
        .find("\n\n")
        .map_or(text.len(), |end| begin + end + 1);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text[..begin].to_owned() + &table + &text[end..]).unwrap();
    } else {
        assert!(
            text[begin..end] == table,
            "docs/metrics.md; UPDATE_GOLDEN=1 writes it anew"
        );
    }
}

/// The value of a query, as promtool prints it: `{labels} => value @[time]`, a line for each series.
fn query(up: &RunningLab, query: &str) -> Vec<String> {
    let output = up.exec(
        CONTROL,
        &["promtool", "query", "instant", PROMETHEUS, query],
    );
    output
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Waits until a query has one series with this value.
fn until_value(up: &RunningLab, what: &str, value: &str) {
    until_or_why(what, LIMIT, || match &query(up, what)[..] {
        [line] if line.contains(&format!("=> {value} @")) => Ok(()),
        other => Err(format!("{other:#?}")),
    });
}

fn start_prometheus(up: &RunningLab) -> KilledAtEnd {
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
         rule_files: [{}]\n\
         scrape_configs:\n\
         - {{job_name: heddle, static_configs: [{{targets: ['127.0.0.1:7171']}}]}}\n\
         - {{job_name: prometheus, static_configs: [{{targets: ['127.0.0.1:9090']}}]}}\n",
        shared("prometheus/heddle.rules").display()
    );
    let file = up.path("prometheus.yml");
    fs::write(&file, config).unwrap();
    let arguments = [
        format!("--config.file={}", file.display()),
        format!("--storage.tsdb.path={}", up.path("data").display()),
        "--web.listen-address=127.0.0.1:9090".to_owned(),
    ];
    let program = std::iter::once("prometheus").chain(arguments.iter().map(String::as_str));
    KilledAtEnd(up.start(CONTROL, "prometheus.log", program))
}

/// Parallel cables once gave two series with the same labels, and Prometheus refused all.
#[test]
fn a_real_prometheus_scrapes_the_controller_of_a_lab() {
    let up = RunningLab::new("metrics", PARALLEL);
    let _controller = KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"]));
    let _prometheus = start_prometheus(&up);
    until_or_why("prometheus answers", LIMIT, || {
        let ready = ["promtool", "query", "instant", PROMETHEUS, "vector(1)"];
        let asked = up.lab.exec(CONTROL, ready).output().unwrap();
        asked.status.success().then_some(()).ok_or("not yet")
    });
    until_value(&up, "heddle_epoch", "1");
    until_value(&up, "up{job=\"heddle\"}", "1");
    until_value(
        &up,
        "count(heddle_link_speed_bytes_per_second{from=\"s0\",to=\"s1\"})",
        "2",
    );
    until_value(
        &up,
        "count(heddle_link_load_bytes_per_second / heddle_link_speed_bytes_per_second)",
        "8",
    );
    until_value(&up, "count(heddle_snmp_failures_total)", "6");
    until_value(
        &up,
        "heddle_snmp_request_duration_seconds_count > bool 10",
        "1",
    );
    for failures in [
        "sum(prometheus_target_scrapes_sample_duplicate_timestamp_total)",
        "sum(prometheus_rule_evaluation_failures_total)",
    ] {
        until_value(&up, failures, "0");
    }
    for text in dashboard_queries() {
        query(&up, &text);
    }
    let api = "127.0.0.1:7171".parse().unwrap();
    let answer = up.ask(CONTROL, api, "GET /metrics", "", "").unwrap();
    let (head, metrics) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    promtool(&["check", "metrics"], up.folder.path(), metrics);
}
