//! `heddle check` from the outside, against what the lab's `demo.yaml` once answered.
mod common;

use common::golden::{check, folder, transcript};
use std::fs;
use std::process::Command;

#[test]
fn transcripts() {
    let folder = folder("check");
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
        check(&folder.join(format!("{golden}.golden")), &transcript(&folder, &command.split(' ').collect::<Vec<_>>()));
    }
    for (golden, command) in [
        ("no-walks", "check --walks ../walks/empty --plan trunks.dot"),
        ("usage", "check --plan trunks.dot"),
        ("bad-inventory", "check --inventory misspelt.yaml --plan trunks.dot"),
    ] {
        check(&folder.join(format!("{golden}.golden")), &transcript(&folder, &command.split(' ').collect::<Vec<_>>()));
    }
}

#[test]
fn a_network_that_does_not_answer_is_not_compared() {
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let inventory = tempfile::NamedTempFile::new().unwrap();
    let text = format!(
        "switches: {{s0: {{address: \"{closed}\"}}}}\nsnmp: {{default: {{version: 2c, community: c}}}}\ntiming: {{timeout: 100ms, retries: 0}}\n"
    );
    fs::write(inventory.path(), text).unwrap();
    let mut heddle = Command::new(env!("CARGO_BIN_EXE_heddle"));
    let output =
        heddle.arg("check").arg("--inventory").arg(inventory.path()).arg("--plan").arg(folder("check").join("trunks.dot")).output();
    let output = output.unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no switch answered; nothing is known of the network"), "{said}");
}
