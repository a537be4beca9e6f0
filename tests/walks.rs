//! `heddle discover --walks` from the outside. `tests/golden/walks/demo` holds the recorded answers
//! of the lab's `demo.yaml`.
use crate::common::golden::{check_commands, folder};
use crate::common::{HEDDLE, word};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn transcripts() {
    let commands = [
        ("text", "discover --walks demo"),
        ("json", "discover --walks demo --format json"),
        ("topology", "discover --walks demo --format topology"),
        ("broken", "discover --walks broken"),
        ("empty", "discover --walks empty"),
        ("subfolders", "discover --walks ."),
        ("none", "discover --walks nowhere"),
        ("both", "discover --walks demo --inventory inventory.yaml"),
        ("neither", "discover"),
    ];
    check_commands("walks", "golden", commands);
}

/// Two data switches and a management switch, on which the data switches' own management ports are, too.
#[test]
fn several_networks() {
    let commands = [
        ("text", "discover --walks walks"),
        ("management", "discover --walks walks --network m1"),
        ("topology", "discover --walks walks --format topology"),
        ("unknown", "discover --walks walks --network storage"),
    ];
    check_commands("networks", "golden", commands);
}

/// The switch cables found in the demo's walks after some subtrees were cut out: ends, state and
/// grade.
fn cables_without(subtrees: &[&str]) -> Vec<String> {
    let walks = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder("walks").join("demo")).unwrap() {
        let path = entry.unwrap().path();
        let cut = |line: &&str| {
            subtrees
                .iter()
                .any(|t| line.trim_start_matches('.').starts_with(t))
        };
        let kept: String = fs::read_to_string(&path)
            .unwrap()
            .lines()
            .filter(|l| !cut(l))
            .map(|l| format!("{l}\n"))
            .collect();
        fs::write(walks.path().join(path.file_name().unwrap()), kept).unwrap();
    }
    let found = discover(walks.path());
    let links = found["links"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|l| word(l, "b").starts_with('s'));
    links
        .map(|l| {
            ["a", "a_port", "b", "b_port", "state", "grade"]
                .map(|key| word(l, key))
                .join(" ")
        })
        .collect()
}

fn discover(walks: &Path) -> Value {
    let output = Command::new(HEDDLE)
        .args(["discover", "--format", "json", "--walks"])
        .arg(walks)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_less_is_reported_the_less_sure_it_is() {
    let (lldp, stp) = ("1.0.8802.1.1.2", "1.3.6.1.2.1.17.2");
    let all = |grade: &str| {
        let cables = [
            "s0 swp1 s1 swp1 forwarding",
            "s0 swp2 s3 swp1 forwarding",
            "s1 swp2 s2 swp1 forwarding",
            "s2 swp2 s3 swp2 blocked",
        ];
        cables.map(|c| format!("{c} {grade}"))
    };
    assert_eq!(cables_without(&[]), all("certain"));
    assert_eq!(
        cables_without(&[lldp]),
        all("inferred"),
        "spanning tree names who is next"
    );
    assert_eq!(
        cables_without(&[lldp, stp]),
        all("inferred")[..3],
        "no frame passes the blocked one, so nobody learns it is there"
    );
    assert_eq!(cables_without(&[lldp, stp, "1.3.6.1.2.1.17.4"]), [""; 0]);
}

/// Writes a walk of the demo, with what each port holds, into a folder.
fn record(walks: &Path, file: &str, octets: u32) {
    let mut walk = fs::read_to_string(folder("walks").join("demo").join(file)).unwrap();
    for port in 1..40 {
        let object = format!("1.3.6.1.4.1.9.9.580.1.4.8.1.3.{port}.1.0");
        walk += &match file.ends_with(".snmprec") {
            true => format!("{object}|66|{octets}\n"),
            false => format!(".{object} = Gauge32: {octets}\n"),
        };
    }
    fs::write(walks.join(file), walk).unwrap();
}

/// Ports whose vendor says what they hold: the least counts, if every switch says so.
#[test]
fn what_ports_hold_is_in_the_topology_with_a_word_about_the_switch() {
    let walks = tempfile::tempdir().unwrap();
    for (file, octets) in [
        ("s0.txt", 470_080),
        ("s1.snmprec", 470_080),
        ("s2.walk", 79_360),
        ("s3.snmprec", 470_080),
    ] {
        record(walks.path(), file, octets);
    }
    let word = "queue: 79360 octets, the least that a port of s2 holds, as its tables tell";
    for expected in [true, false] {
        let mut command = Command::new(HEDDLE);
        command.arg("discover").arg("--walks").arg(walks.path());
        let output = command.args(["--format", "topology"]).output().unwrap();
        let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(texts[0].contains("queue: '79360'\n"), expected, "{texts:?}");
        assert_eq!(texts[1].contains(word), expected, "{texts:?}");
        // An empty queue is none.
        record(walks.path(), "s1.snmprec", 0);
    }
}
