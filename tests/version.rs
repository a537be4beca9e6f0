//! The output of `heddle --version`, and the source of a build's commit.
use crate::common::HEDDLE;
use crate::common::runtime::lib;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn output(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_version_names_its_source_its_epoch_format_and_its_backends() {
    let built = lib().canonicalize().unwrap();
    let source = concat!(env!("CARGO_PKG_VERSION"), " (", env!("HEDDLE_SOURCE"), ")");
    let long = output(Command::new(HEDDLE).arg("--version"));
    assert_eq!(
        long,
        format!(
            "heddle {source}\nepoch format 1\nbackends: openmpi, mpich, abi ({})\n",
            built.display()
        )
    );
    let short = output(Command::new(HEDDLE).arg("-V"));
    assert_eq!(short, format!("heddle {source}\n"));
}

#[test]
fn a_program_alone_has_no_backends_and_says_which_package_has() {
    let alone = TempDir::new().unwrap();
    let copy = alone.path().join("heddle");
    fs::copy(HEDDLE, &copy).unwrap();
    let long = output(Command::new(&copy).arg("--version"));
    assert!(
        long.ends_with("\nbackends: none; the package heddle-mpi has them\n"),
        "{long}"
    );
}

/// A source without a repository, with this in share/commit.
fn source_commit(commit: &str) -> String {
    let source = TempDir::new().unwrap();
    fs::create_dir(source.path().join("share")).unwrap();
    let share = |name: &str| Path::new("share").join(name);
    fs::copy(
        share("source-commit"),
        source.path().join(share("source-commit")),
    )
    .unwrap();
    fs::write(source.path().join(share("commit")), commit).unwrap();
    fs::write(source.path().join("Cargo.lock"), "").unwrap();
    let mut command = Command::new(source.path().join(share("source-commit")));
    output(command.env("GIT_CEILING_DIRECTORIES", "/"))
}

#[test]
fn a_source_without_git_knows_its_commit_from_the_tarball_or_says_that_it_is_unknown() {
    assert!(source_commit("$Format:%H %cs %ct$\n").starts_with("unknown 20"));
    let archived = "6f920b07cc0b4cd22c47fa988bf8674eb61555a6 2026-11-23 1795415748\n";
    assert_eq!(source_commit(archived), archived);
}
