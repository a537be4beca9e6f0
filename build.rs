//! Tells the program its commit. A build for development does not ask: it would link everything again
//! after every commit.
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=share/commit");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release { commit() } else { None };
    println!(
        "cargo::rustc-env=HEDDLE_SOURCE={}",
        commit.unwrap_or_else(|| "development build".to_owned())
    );
}

/// Commit and date, from git or from a tarball.
fn commit() -> Option<String> {
    let logs = output("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    // A commit, a checkout or a merge writes to this file.
    if let Some(logs) = logs.filter(|file| Path::new(file).exists()) {
        println!("cargo::rerun-if-changed={logs}");
    }
    let source = output("share/source-commit", &[])?;
    let mut words = source.split_whitespace();
    let (commit, date) = (words.next()?, words.next()?);
    match commit.get(..12) {
        Some(short) => Some(format!("{short}, {date}")),
        None => Some("source without a commit".to_owned()),
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let done = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}
