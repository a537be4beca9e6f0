//! Golden files: output that a person once found right. `UPDATE_GOLDEN=1` writes them anew; look at
//! the difference.
use super::HEDDLE;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of golden files with this name.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Compares the transcripts of these commands of `heddle`, run in the folder with this name, with the golden files there.
pub(crate) fn check_commands<'a>(
    name: &str,
    ending: &str,
    commands: impl IntoIterator<Item = (&'a str, &'a str)>,
) {
    let folder = folder(name);
    for (golden, command) in commands {
        let args: Vec<&str> = command.split(' ').collect();
        let path = folder.join(golden).with_extension(ending);
        check(&path, &transcript(&folder, &args));
    }
}

/// Runs `heddle` in `folder` and returns the text that a person at a terminal sees.
fn transcript(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(HEDDLE)
        .args(args)
        .current_dir(folder)
        .output()
        .expect("heddle runs");
    let mut text = format!("$ heddle {}\n", args.join(" "));
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            write!(
                text,
                "--- {name}\n{}",
                std::str::from_utf8(bytes).expect("text")
            )
            .expect("memory");
        }
    }
    let status = output
        .status
        .code()
        .map_or_else(|| output.status.to_string(), |code| code.to_string());
    text + &format!("--- exit {status}\n")
}

/// Compares `actual` with the golden file at `path`.
pub(crate) fn check(path: &Path, actual: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, actual).expect("golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("{}: {e}; UPDATE_GOLDEN=1 writes it", path.display()));
    assert!(
        expected == actual,
        "{} differs; UPDATE_GOLDEN=1 writes it anew\n--- expected\n{expected}\n--- found\n{actual}",
        path.display()
    );
}
