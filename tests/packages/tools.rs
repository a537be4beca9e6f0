//! Packages as `make packages-deb` and its sisters make them, from the tree under test.
use crate::common::runtime::lib;
use crate::common::text;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packs what the tests run, uncompressed, and gives the packages.
pub(super) fn packed(format: &str) -> Vec<PathBuf> {
    let built = lib().parent().expect("lib is in a folder");
    let done = Command::new("share/packages/build")
        .arg(format)
        .arg(built)
        .env("PACKAGES", built.join("packages"))
        .env("PACKING", "-Znone")
        .env("DEB_BUILD_OPTIONS", "noautodbgsym")
        .output()
        .expect("share/packages/build");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}; see scripts/packages");
    let listed = String::from_utf8(done.stdout).expect("text");
    listed.lines().map(PathBuf::from).collect()
}

/// The output of a command that must end well.
pub(super) fn output_of(command: &mut Command) -> String {
    let done = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        done.status.success(),
        "{command:?}: {}\n{}{}",
        done.status,
        text(&done.stdout),
        text(&done.stderr)
    );
    text(&done.stdout)
}

/// The paths in a package, as `lister` lists them: a path alone, or last in a line as of ls.
pub(super) fn contents(lister: &[&str], package: &Path) -> Vec<String> {
    let listed = output_of(Command::new(lister[0]).args(&lister[1..]).arg(package));
    listed
        .lines()
        .map(|line| {
            let path = line.split_whitespace().nth(5).unwrap_or(line);
            path.trim_start_matches('.').to_owned()
        })
        .collect()
}
