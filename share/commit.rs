//! A part of build scripts: the commit of this source. A build for development does not ask: it would
//! link everything again after every commit.
use std::path::Path;
use std::process::Command;

/// Commit and date in a release build, from git or from a tarball; `root` is the folder of this source.
pub(crate) fn of_source(root: &Path) -> Option<String> {
    println!(
        "cargo::rerun-if-changed={}",
        root.join("share/commit").display()
    );
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        commit(root)
    } else {
        None
    }
}

fn commit(root: &Path) -> Option<String> {
    let logs = output(Command::new("git").current_dir(root).args([
        "rev-parse",
        "--git-path",
        "logs/HEAD",
    ]));
    // A commit, a checkout or a merge writes to this file.
    if let Some(logs) = logs
        .map(|file| root.join(file))
        .filter(|file| file.exists())
    {
        println!("cargo::rerun-if-changed={}", logs.display());
    }
    let source = output(&mut Command::new(root.join("share/source-commit")))?;
    let mut words = source.split_whitespace();
    let (commit, date) = (words.next()?, words.next()?);
    match commit.get(..12) {
        Some(short) => Some(format!("{short}, {date}")),
        None => Some("source without a commit".to_owned()),
    }
}

fn output(command: &mut Command) -> Option<String> {
    let done = command.output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}
