//! Names that try to take over a terminal, a file or another program's syntax, through everything
//! heddle writes: exports, logs, API, metrics, history, epoch files, the terminal interface. The
//! network is the demo's, with some of its names replaced.
use crate::common::HEDDLE;
use crate::common::daemon::ControllerProcess;
use crate::common::golden::folder;
use crate::common::until::{LIMIT, until_or_why};
use crate::common::walks::demo_walks;
use agent::recording::read_folder;
use fleet::responder::SnmpResponder;
use inventory::device_view::{DeviceView, DeviceViews, apply};
use inventory::{Mac, Millis, sanitize};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// What the demo's devices call things, and what they call them here: hosts, ports, a description.
fn names(longest: usize) -> [(&'static str, String); 7] {
    [
        ("n3", "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31mn3".to_owned()),
        ("n4", "../../../etc/passwd\r\nn4".to_owned()),
        ("n5", "n5\nSwitchName=evil Nodes=n0\n# HELP x".to_owned()),
        (
            "swp3",
            "swp\u{202e}3\u{2066}\u{200b}\u{feff}\u{e0041}".to_owned(),
        ),
        (
            "swp4",
            "swp4\"; } graph {\\ -- 'x' `$(reboot)` <b>{|".to_owned(),
        ),
        ("swp5", "x".repeat(longest)),
        (
            "Debian GNU/Linux 12 (bookworm) Linux 6.12.0 x86_64",
            "\0\0\u{2028}交换机".to_owned(),
        ),
    ]
}

/// Says of whatever is written that nothing in it does anything but be seen, and that no text is
/// longer than names may be.
#[track_caller]
fn is_plain(what: &str, text: &str) {
    let hidden = text.chars().find(|&c| c != '\n' && sanitize::is_hidden(c));
    assert_eq!(hidden, None, "{what}: {text:?}");
    assert!(
        !text.contains(&"x".repeat(sanitize::LONGEST + 1)),
        "{what}: {text:?}"
    );
}

/// The same of every text of a JSON document, once it is read, and of the keys.
#[track_caller]
fn is_plain_json(what: &str, json: &str) -> Value {
    fn texts(value: &Value, look: &mut impl FnMut(&str)) {
        match value {
            Value::String(text) => look(text),
            Value::Array(all) => all.iter().for_each(|v| texts(v, look)),
            Value::Object(all) => all.iter().for_each(|(key, v)| {
                look(key);
                texts(v, look);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let value: Value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{what}: {e}: {json}"));
    texts(&value, &mut |text| is_plain(what, text));
    value
}

fn heddle(arguments: &[&str]) -> Output {
    Command::new(HEDDLE).args(arguments).output().unwrap()
}

/// What a command says on both its outputs; it has to end well.
#[track_caller]
fn said(arguments: &[&str]) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = heddle(arguments);
    let stderr = String::from_utf8(stderr).unwrap();
    is_plain("messages", &stderr);
    assert!(status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(stdout).unwrap()
}

/// A recording of a device that nothing is connected to.
const ALONE: &str = "s9\u{1b}[2J\u{202e}\".snmprec";

/// The demo's walks with the names of one switch's neighbourhood replaced, and one device whose
/// file has such a name.
fn walks() -> tempfile::TempDir {
    let walks = demo_walks(|text| {
        names(10_000)
            .into_iter()
            .fold(text.to_owned(), |text, (good, evil)| {
                let octets: String = evil.bytes().map(|o| format!("{o:02x}")).collect();
                text.replace(&format!("|4|{good}\n"), &format!("|4x|{octets}\n"))
            })
    });
    fs::write(
        walks.path().join(ALONE),
        "1.3.6.1.2.1.1.5.0|4|s9\nrubbish\n",
    )
    .unwrap();
    walks
}

#[test]
fn nothing_breaks_out_of_what_discover_and_check_print() {
    let (folder, made) = (walks(), tempfile::tempdir().unwrap());
    let walks = folder.path().to_str().unwrap();
    let discover = |format| said(&["discover", "--walks", walks, "--format", format]);

    let json = is_plain_json("json", &discover("json"));
    let nodes: Vec<&str> = json["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (nodes.len(), json["links"].as_array().unwrap().len()),
        (17, 16),
        "all are there: {nodes:?}"
    );
    assert!(
        nodes.contains(&"[2J ]0;owned 31mn3") && nodes.contains(&"../../../etc/passwd n4"),
        "{nodes:?}"
    );

    let text = discover("text");
    is_plain("text", &text);
    assert!(text.contains("../../../etc/passwd n4 (eth0)"), "{text}");
    for format in ["slurm", "slurm-yaml", "topology"] {
        let text = discover(format);
        let foreign = text
            .chars()
            .find(|c| !c.is_ascii_alphanumeric() && !" \n-_.,:=[]{}'".contains(*c));
        assert_eq!(foreign, None, "{format}: {text}");
        assert!(
            text.lines().all(|l| !l.starts_with("SwitchName=evil")),
            "{format}: {text}"
        );
    }

    // Graphviz draws it, and it is a plan of what is there.
    let (dot, plan) = (discover("dot"), made.path().join("plan.dot"));
    is_plain("dot", &dot);
    fs::write(&plan, &dot).unwrap();
    let drawn = Command::new("dot")
        .arg("-Tdot_json")
        .arg(&plan)
        .output()
        .unwrap();
    let drawn = is_plain_json("drawing", &String::from_utf8(drawn.stdout).unwrap());
    assert_eq!(
        (
            drawn["objects"].as_array().unwrap().len(),
            drawn["edges"].as_array().unwrap().len()
        ),
        (17, 16)
    );
    let check = said(&["check", "--walks", walks, "--plan", plan.to_str().unwrap()]);
    assert_eq!(
        check.lines().last(),
        Some("ok: 16 cables as planned"),
        "{check}"
    );

    // The topology file is one that schedules are made for, once all of it is in one part.
    fs::remove_file(folder.path().join(ALONE)).unwrap();
    let file = made.path().join("found.yaml");
    fs::write(&file, discover("topology")).unwrap();
    let plan = said(&[
        "schedule",
        "alltoall",
        "--format",
        "json",
        "--topology",
        file.to_str().unwrap(),
    ]);
    assert!(
        is_plain_json("schedule", &plan)["hosts"]
            .as_array()
            .unwrap()
            .len()
            == 12,
        "{plan}"
    );
}

/// The demo's devices, saying names that are not made harmless before they are sent.
fn views() -> DeviceViews {
    let mut views = DeviceViews::new();
    for observation in read_folder(&folder("walks").join("demo"))
        .unwrap()
        .recordings
        .into_iter()
        .flat_map(|r| r.observations(Millis(1)))
    {
        apply(&mut views, &observation);
    }
    let replaced = |view: &DeviceView| {
        let mut text = serde_json::to_string(view).unwrap();
        for (good, evil) in names(900) {
            text = text.replace(
                &format!("\"{good}\""),
                &serde_json::to_string(&evil).unwrap(),
            );
        }
        serde_json::from_str(&text).unwrap()
    };
    let s1 = replaced(&views["s1"]);
    views.insert("s1".to_owned(), s1);
    views
}

#[test]
fn nothing_breaks_out_of_what_the_controller_says_and_writes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let devices = runtime
        .block_on(SnmpResponder::start(&views(), Duration::ZERO))
        .unwrap();
    // Of the three that go by other names two are known by their address, and the third is a
    // stranger.
    let hosts = (0..12).filter(|n| *n != 5).map(|n| {
        (
            format!("n{n}"),
            [3, 4].contains(&n).then_some(Mac([2, 0x4c, 2, 0, n, 0])),
        )
    });
    let hosts: Vec<(String, Option<Mac>)> = hosts.collect();
    fs::write(
        at("inventory.yaml"),
        devices.inventory(hosts.iter().map(|(host, mac)| (host.as_str(), *mac)), ""),
    )
    .unwrap();
    let (inventory, shared, journal) = (at("inventory.yaml"), at("shared"), at("journal"));
    fs::write(at("token"), "agents-show-this-one").unwrap();
    let more = [
        "--journal",
        &journal,
        "--log",
        "debug",
        "--agent-token-file",
        &at("token"),
    ];
    let daemon = ControllerProcess::start(Path::new(&inventory), Path::new(&shared), &more);
    until_or_why("an epoch is published", LIMIT, || {
        if Path::new(&at("shared/current")).exists() {
            Ok(())
        } else {
            Err(daemon.get("/v1/snapshot", ""))
        }
    });
    fs::write(at("shared/jobs/\u{1b}[2J\u{202e}.json"), "{}").unwrap();
    daemon.wait_for("of its files are not job records");

    let body = |path: &str| {
        daemon
            .get(path, "")
            .split_once("\r\n\r\n")
            .unwrap()
            .1
            .to_owned()
    };
    let snapshot = body("/v1/snapshot");
    let shown = is_plain_json("snapshot", &snapshot);
    assert!(
        shown["topology"]["links"]
            .to_string()
            .contains("swp4\\\"; } graph {"),
        "the names came through: {snapshot}"
    );
    assert!(
        shown["alarms"]
            .to_string()
            .contains("n5-SwitchName-evil-Nodes-n0"),
        "a stranger is told of: {snapshot}"
    );
    is_plain_json("topology", &body("/v1/topology"));
    is_plain_json("epochs", &body("/v1/epochs"));
    let metrics = body("/metrics");
    is_plain("metrics", &metrics);
    assert!(
        metrics
            .lines()
            .all(|line| line.starts_with("heddle_") || line.starts_with("# ")),
        "{metrics}"
    );
    let token = "Authorization: Bearer agents-show-this-one\r\nContent-Type: application/json\r\n";
    let answer = daemon.ask("POST /v1/hosts/n\u{202e}0/report", token, "{}");
    is_plain("refusal", &answer.replace('\r', ""));
    is_plain("log", &daemon.stop());

    for (what, arguments) in [
        ("history", &["history", "--dir", &shared][..]),
        ("replay", &["controller", "--replay", &journal]),
        (
            "picture",
            &[
                "tui",
                "--print",
                "200x60",
                "--snapshot",
                &at("snapshot.json"),
            ],
        ),
    ] {
        fs::write(at("snapshot.json"), &snapshot).unwrap();
        is_plain(what, &said(arguments));
    }
    is_plain_json(
        "history",
        &said(&["history", "--format", "json", "--dir", &shared]),
    );
    for line in fs::read_to_string(&journal).unwrap().lines() {
        is_plain_json("journal", line);
    }
    let epochs = fs::read_dir(at("shared/epochs"))
        .unwrap()
        .flat_map(|epoch| fs::read_dir(epoch.unwrap().path()).unwrap());
    for file in epochs.map(|file| file.unwrap().path()) {
        is_plain("a file's name", file.to_str().unwrap());
        match file.extension().and_then(|e| e.to_str()) {
            Some("json") => drop(is_plain_json("epoch", &fs::read_to_string(&file).unwrap())),
            Some("yaml") => is_plain("epoch", &fs::read_to_string(&file).unwrap()),
            _ => {}
        }
    }
}

/// Files that an operator was given by somebody else.
#[test]
fn what_foreign_files_say_reaches_no_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name).to_str().unwrap().to_owned()
    };
    let evil = "\\u001b[2J\\u202e\\u009b31m";
    let topology = file(
        "t.yaml",
        "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}\n",
    );
    let schedule = said(&[
        "schedule",
        "allgather",
        "--topology",
        &topology,
        "--format",
        "json",
    ])
    .replace("n1", evil);
    let recorded = fs::read_to_string(folder("controller").join("move.journal")).unwrap();
    let line = recorded
        .lines()
        .nth(1)
        .unwrap()
        .replace("\"started\"", "\"trouble\"");
    let trouble = format!("{{\"about\":\"{evil}\",\"problem\":\"{evil}\"}}}}}}");
    let (at, _) = line.split_once("\"trouble\":").unwrap();
    let journal = file("journal", &format!("{recorded}{at}\"trouble\":{trouble}\n"));
    let shared = dir.path().join("shared").to_str().unwrap().to_owned();
    said(&["publish", "--topology", &topology, "--dir", &shared]);
    let network = dir.path().join("shared/epochs/00000001/network.json");
    let renamed = fs::read_to_string(&network)
        .unwrap()
        .replace("\"n1\"", &format!("\"{evil}\""));
    fs::write(&network, renamed).unwrap();
    fs::write(
        dir.path().join("t2.yaml"),
        "switches: [s0]\nhosts: {n0: {switch: s0}}\n",
    )
    .unwrap();
    said(&[
        "publish",
        "--topology",
        dir.path().join("t2.yaml").to_str().unwrap(),
        "--dir",
        &shared,
    ]);

    for (status, arguments) in [
        (
            1,
            &[
                "verify",
                "--topology",
                &topology,
                &file("schedule.json", &schedule),
            ][..],
        ),
        (0, &["controller", "--replay", &journal]),
        (0, &["history", "--dir", &shared]),
        (
            64,
            &[
                "schedule",
                "alltoall",
                "--topology",
                &file("e.yaml", &format!("switches: [\"{evil}\"]\nhosts: {{}}\n")),
            ],
        ),
        (
            64,
            &[
                "discover",
                "--inventory",
                &file(
                    "i.yaml",
                    &format!("switches: {{\"{evil}\": {{address: 10.0.0.1}}}}\n"),
                ),
            ],
        ),
        (
            64,
            &[
                "check",
                "--walks",
                dir.path().to_str().unwrap(),
                "--plan",
                &file("p.dot", "graph { \"a\u{1b}[2J\u{202e}\" -- b }"),
            ],
        ),
        (
            64,
            &[
                "tui",
                "--print",
                "80x24",
                "--snapshot",
                &file("snapshot.json", &format!("{{\"{evil}\": 1}}")),
            ],
        ),
    ] {
        let Output {
            status: ended,
            stdout,
            stderr,
        } = heddle(arguments);
        let (stdout, stderr) = (
            String::from_utf8(stdout).unwrap(),
            String::from_utf8(stderr).unwrap(),
        );
        assert_eq!(
            ended.code(),
            Some(status),
            "{arguments:?}: {stdout}{stderr}"
        );
        is_plain("output", &stdout);
        is_plain("messages", &stderr);
    }
}
