//! `heddle check` from the outside, against the recorded answers of the lab's `demo.yaml`.
use crate::common::HEDDLE;
use crate::common::golden::{check_commands, folder};
use std::fs;
use std::process::Command;

#[test]
fn transcripts() {
    for (golden, plan) in [
        ("lab", "../../../lab/topologies/demo.yaml"),
        ("drawing", "as-found.dot"),
        ("trunks", "trunks.dot"),
        ("ports", "ports.yaml"),
        ("swapped", "swapped.dot"),
        ("swapped-json", "swapped.dot --format json"),
        ("twice", "twice.dot"),
        ("misspelt", "misspelt.yaml"),
        ("no-plan", "nowhere.yaml"),
    ] {
        let command = format!("check --walks ../walks/demo --plan {plan}");
        check_commands("check", "golden", [(golden, &*command)]);
    }
    let commands = [
        ("no-walks", "check --walks ../walks/empty --plan trunks.dot"),
        ("usage", "check --plan trunks.dot"),
        (
            "bad-inventory",
            "check --inventory misspelt.yaml --plan trunks.dot",
        ),
    ];
    check_commands("check", "golden", commands);
}

#[test]
fn a_network_that_does_not_answer_is_not_compared() {
    let closed = std::net::UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let inventory = tempfile::NamedTempFile::new().unwrap();
    let text = format!(
        "switches: {{s0: {{address: \"{closed}\"}}}}\nsnmp: \
         {{default: {{version: 2c, community: c}}}}\ntiming: {{timeout: 100ms, retries: 0}}\n"
    );
    fs::write(inventory.path(), text).unwrap();
    let mut heddle = Command::new(HEDDLE);
    let output = heddle
        .arg("check")
        .arg("--inventory")
        .arg(inventory.path())
        .arg("--plan")
        .arg(folder("check").join("trunks.dot"))
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let answer = String::from_utf8_lossy(&output.stderr);
    assert!(
        answer.contains("no switch answered; nothing is known of the network"),
        "{answer}"
    );
}

/// The demo's walks, where the port of s1 to s0 and that of n3 are described by words.
#[test]
fn ports_are_found_by_their_description_where_the_plan_asks_for_it() {
    let walks = tempfile::tempdir().unwrap();
    let own = (
        "1.0.8802.1.1.2.1.3.7.1.4.3|4|swp1",
        "1.0.8802.1.1.2.1.3.7.1.4.3|4|to the root",
    );
    let received = (
        "1.0.8802.1.1.2.1.4.1.1.8.100.5.4|4|eth0",
        "1.0.8802.1.1.2.1.4.1.1.8.100.5.4|4|storage, slot 2",
    );
    for entry in fs::read_dir(folder("walks").join("demo")).unwrap() {
        let path = entry.unwrap().path();
        let mut text = fs::read_to_string(&path).unwrap();
        if path.ends_with("s1.snmprec") {
            assert!(text.contains(own.0) && text.contains(received.0), "{text}");
            text = text.replace(own.0, own.1).replace(received.0, received.1);
        }
        fs::write(walks.path().join(path.file_name().unwrap()), text).unwrap();
    }
    let heddle = |args: &[&str]| {
        let output = Command::new(HEDDLE)
            .args(args)
            .arg("--walks")
            .arg(walks.path())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (_, drawing) = heddle(&["discover", "--format", "dot"]);
    let described = drawing
        .replace(r#""s1":"swp1""#, r#""s1":"to the root""#)
        .replace(r#""n3":"eth0""#, r#""n3":"storage, slot 2""#);
    let plan = tempfile::NamedTempFile::new().unwrap();
    let check = |text: &str| {
        fs::write(plan.path(), text).unwrap();
        heddle(&["check", "--plan", plan.path().to_str().unwrap()])
    };
    let by_name = check(&described);
    assert!(
        by_name.0 == Some(1)
            && by_name
                .1
                .ends_with("2 differences; 14 of 16 cables as planned\n"),
        "{}",
        by_name.1
    );
    let asked = check(&described.replacen('{', "{ LLDP=\"match_type=portdescr\"", 1));
    assert!(
        asked.0 == Some(0) && asked.1.ends_with("ok: 16 cables as planned\n"),
        "{}",
        asked.1
    );
}
