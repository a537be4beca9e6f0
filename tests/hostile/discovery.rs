//! The outputs of `heddle discover` and `heddle check`, and the way other programs read them.
use super::{is_plain, is_plain_json, names, output};
use crate::common::walks::demo_walks;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A recording of a device that nothing is connected to.
const ALONE: &str = "s9\u{1b}[2J\u{202e}\".snmprec";

/// The demo's walks with the names of one switch's neighbourhood replaced, and one device whose
/// file has a hostile name.
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

fn discover(walks: &Path, format: &str) -> String {
    let walks = walks.to_str().unwrap();
    output(&["discover", "--walks", walks, "--format", format])
}

#[test]
fn nothing_breaks_out_of_what_discover_prints() {
    let walks = walks();
    let json = is_plain_json("json", &discover(walks.path(), "json"));
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

    let text = discover(walks.path(), "text");
    is_plain("text", &text);
    assert!(text.contains("../../../etc/passwd n4 (eth0)"), "{text}");
    for format in ["slurm", "slurm-yaml", "topology"] {
        let text = discover(walks.path(), format);
        let foreign = text
            .chars()
            .find(|c| !c.is_ascii_alphanumeric() && !" \n-_.,:=[]{}'".contains(*c));
        assert_eq!(foreign, None, "{format}: {text}");
        assert!(
            text.lines().all(|l| !l.starts_with("SwitchName=evil")),
            "{format}: {text}"
        );
    }
}

#[test]
fn graphviz_draws_the_network_and_check_takes_the_drawing_for_a_plan() {
    let (walks, made) = (walks(), tempfile::tempdir().unwrap());
    let (dot, plan) = (discover(walks.path(), "dot"), made.path().join("plan.dot"));
    is_plain("dot", &dot);
    fs::write(&plan, &dot).unwrap();
    let dot = Command::new("dot")
        .arg("-Tdot_json")
        .arg(&plan)
        .output()
        .unwrap();
    let drawn = is_plain_json("drawing", &String::from_utf8(dot.stdout).unwrap());
    assert_eq!(
        (
            drawn["objects"].as_array().unwrap().len(),
            drawn["edges"].as_array().unwrap().len()
        ),
        (17, 16)
    );
    let [walks, plan] = [walks.path(), &plan].map(|path| path.to_str().unwrap());
    let check = output(&["check", "--walks", walks, "--plan", plan]);
    assert_eq!(
        check.lines().last(),
        Some("ok: 16 cables as planned"),
        "{check}"
    );
}

#[test]
fn schedules_are_made_for_the_topology_file_once_all_of_it_is_in_one_part() {
    let (walks, made) = (walks(), tempfile::tempdir().unwrap());
    fs::remove_file(walks.path().join(ALONE)).unwrap();
    let file = made.path().join("found.yaml");
    fs::write(&file, discover(walks.path(), "topology")).unwrap();
    let topology = file.to_str().unwrap();
    let schedule = ["schedule", "alltoall", "--format", "json", "--topology"];
    let plan = output(&[&schedule[..], &[topology]].concat());
    let hosts = is_plain_json("schedule", &plan)["hosts"].take();
    assert_eq!(hosts.as_array().unwrap().len(), 12, "{plan}");
}
