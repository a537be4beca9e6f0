//! The systemd units: systemd accepts them, and heddle accepts the flags in them.
use crate::common::HEDDLE;
use std::fs;
use std::path::Path;
use std::process::Command;

const CONTROLLER: &str = "heddle-controller.service";
const TOKENS: &str = "heddle-tokens.service";
const AGENT: &str = "heddle-agent.service";

/// A unit as installed with the prefix /usr.
fn installed(name: &str) -> String {
    let filled = Command::new("share/fill")
        .args(["/usr", "/srv/heddle"])
        .arg(Path::new("share/systemd").join(name))
        .output()
        .expect("share/fill");
    String::from_utf8(filled.stdout).expect("text")
}

#[test]
fn systemd_takes_the_units() {
    let dir = tempfile::tempdir().unwrap();
    let here = env!("CARGO_MANIFEST_DIR");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for name in [CONTROLLER, TOKENS, AGENT] {
        let unit = installed(name)
            .replace("/usr/bin/heddle", HEDDLE)
            .replace("/usr/share/heddle", &format!("{here}/share"));
        fs::write(dir.path().join(name), unit).unwrap();
        verify.arg(dir.path().join(name));
    }
    let output = verify
        .output()
        .expect("systemd-analyze, which `heddle doctor` asks for");
    let text = String::from_utf8_lossy(&output.stderr);
    let about: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("heddle"))
        .collect();
    assert!(output.status.success() && about.is_empty(), "{text}");
}

#[test]
fn heddle_takes_the_flags_in_the_units() {
    for name in [CONTROLLER, AGENT] {
        let unit = installed(name);
        let start = unit
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart=/usr/bin/heddle "))
            .unwrap();
        let mut words = start.split_whitespace();
        let output = Command::new(HEDDLE)
            .args([words.next().unwrap(), "--help"])
            .output()
            .unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
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
}
