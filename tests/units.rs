//! The systemd units in docs: systemd accepts them, and heddle accepts the flags in them.
use crate::common::HEDDLE;
use std::fs;
use std::path::Path;
use std::process::Command;

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/systemd")
        .join(name);
    let unit = fs::read_to_string(&path).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join(name);
    fs::write(&copy, unit.replace("/usr/local/bin/heddle", HEDDLE)).unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&copy)
        .output();
    let output = output.expect("systemd-analyze, which `heddle doctor` asks for");
    let said = String::from_utf8_lossy(&output.stderr);
    let about: Vec<&str> = said.lines().filter(|line| line.contains(name)).collect();
    assert!(output.status.success() && about.is_empty(), "{said}");

    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/heddle "))
        .unwrap();
    let mut words = start.split_whitespace();
    let help = Command::new(HEDDLE)
        .args([words.next().unwrap(), "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for flag in words.filter(|word| word.starts_with("--")) {
        assert!(
            help.contains(&format!("{flag} ")),
            "{name}: {flag}: heddle has no such flag\n{help}"
        );
    }
    // Secrets that open the network are never on a command line.
    assert!(
        !start.contains("--token ") && unit.contains("LoadCredential="),
        "{start}"
    );
}

#[test]
fn systemd_takes_the_agents_unit() {
    check("heddle-agent.service");
}

#[test]
fn systemd_takes_the_controllers_unit() {
    check("heddle-controller.service");
}
