//! Files that an operator got from somebody else.
use super::{heddle, is_plain, output};
use crate::common::golden::folder;
use std::fs;
use std::process::Output;
use tempfile::TempDir;

/// A terminal's control sequence, as JSON and YAML write it.
const EVIL: &str = "\\u001b[2J\\u202e\\u009b31m";

/// A folder with files that an operator got from somebody else.
struct ForeignFiles {
    dir: TempDir,
}

impl ForeignFiles {
    fn new() -> ForeignFiles {
        ForeignFiles {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn topology(&self) -> String {
        let text = "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}\n";
        self.file("t.yaml", text)
    }

    /// A schedule with a host of this name.
    fn schedule(&self) -> String {
        let topology = self.topology();
        let schedule = ["schedule", "allgather", "--format", "json", "--topology"];
        let text = output(&[&schedule[..], &[&topology]].concat());
        self.file("schedule.json", &text.replace("n1", EVIL))
    }

    /// A recorded journal with a trouble of this text.
    fn journal(&self) -> String {
        let recorded = fs::read_to_string(folder("controller").join("move.journal")).unwrap();
        let line = recorded
            .lines()
            .nth(1)
            .unwrap()
            .replace("\"started\"", "\"trouble\"");
        let trouble = format!("{{\"about\":\"{EVIL}\",\"problem\":\"{EVIL}\"}}}}}}");
        let (at, _) = line.split_once("\"trouble\":").unwrap();
        self.file("journal", &format!("{recorded}{at}\"trouble\":{trouble}\n"))
    }

    /// A shared directory with two epochs, where a host of the first has this name.
    fn shared(&self) -> String {
        let shared = self.dir.path().join("shared").to_str().unwrap().to_owned();
        output(&["publish", "--topology", &self.topology(), "--dir", &shared]);
        let network = self.dir.path().join("shared/epochs/00000001/network.json");
        let renamed = fs::read_to_string(&network)
            .unwrap()
            .replace("\"n1\"", &format!("\"{EVIL}\""));
        fs::write(&network, renamed).unwrap();
        let next = self.file("t2.yaml", "switches: [s0]\nhosts: {n0: {switch: s0}}\n");
        output(&["publish", "--topology", &next, "--dir", &shared]);
        shared
    }
}

/// Runs a command that must end with this status and print no control sequence of a terminal.
fn ends_plainly(status: i32, arguments: &[&str]) {
    let Output {
        status: ended,
        stdout,
        stderr,
    } = heddle(arguments);
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(
        ended.code(),
        Some(status),
        "{arguments:?}: {stdout}{stderr}"
    );
    is_plain("output", &stdout);
    is_plain("messages", &stderr);
}

#[test]
fn whole_files_with_such_names_are_read_and_reach_no_terminal() {
    let files = ForeignFiles::new();
    let (topology, schedule) = (files.topology(), files.schedule());
    ends_plainly(1, &["verify", "--topology", &topology, &schedule]);
    ends_plainly(0, &["controller", "--replay", &files.journal()]);
    ends_plainly(0, &["history", "--dir", &files.shared()]);
}

#[test]
fn bad_files_with_such_names_are_refused_and_reach_no_terminal() {
    let files = ForeignFiles::new();
    let topology = files.file("e.yaml", &format!("switches: [\"{EVIL}\"]\nhosts: {{}}\n"));
    let inventory = files.file(
        "i.yaml",
        &format!("switches: {{\"{EVIL}\": {{address: 10.0.0.1}}}}\n"),
    );
    let plan = files.file("p.dot", "graph { \"a\u{1b}[2J\u{202e}\" -- b }");
    let snapshot = files.file("snapshot.json", &format!("{{\"{EVIL}\": 1}}"));
    let walks = files.dir.path().to_str().unwrap();
    for arguments in [
        &["schedule", "alltoall", "--topology", &topology][..],
        &["discover", "--inventory", &inventory],
        &["check", "--walks", walks, "--plan", &plan],
        &["tui", "--print", "80x24", "--snapshot", &snapshot],
    ] {
        ends_plainly(64, arguments);
    }
}
