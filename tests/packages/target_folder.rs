//! Cargo may build into another folder than `target/`. Programs are run, installed and packed from there.
use super::tools::output_of;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn make_runs_and_installs_what_cargo_built() {
    let mut dry = Command::new("make");
    dry.args(["-n", "demo", "install"]);
    let lines = output_of(dry.env("CARGO_TARGET_DIR", "/built"));
    for line in [
        "\n/built/release/heddle demo\n",
        "share/install /built/release ",
    ] {
        assert!(lines.contains(line), "{line}\n{lines}");
    }
}

#[test]
fn packages_hold_what_cargo_built() {
    let empty = TempDir::new().unwrap();
    let mut build = Command::new("share/packages/build");
    build.arg("tarball").env_remove("PACKAGES");
    let done = build
        .env("CARGO_TARGET_DIR", empty.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stderr);
    let sought = empty.path().join("release/heddle").display().to_string();
    assert!(!done.status.success() && text.contains(&sought), "{text}");
    assert!(empty.path().join("packages").is_dir());
}
