//! The reader of a command's output may go away: no command ends with a panic then.
use crate::common::HEDDLE;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

/// The exit status of a panic.
const PANIC: i32 = 101;

/// The writing end of a pipe that nobody reads.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Stdio::from(OwnedFd::from(writer))
}

fn full() -> Stdio {
    let device: File = OpenOptions::new().write(true).open("/dev/full").unwrap();
    Stdio::from(device)
}

fn status(line: &str, out: Stdio, err: Stdio) -> i32 {
    let mut command = Command::new(HEDDLE);
    command.args(line.split(' ')).stdout(out).stderr(err);
    command.status().unwrap().code().expect("ended by a signal")
}

#[test]
fn a_closed_pipe_ends_no_command_with_a_panic() {
    let lines = [
        "history --dir /nonexistent",
        "publish --topology /nonexistent --dir /nonexistent",
        "what-if --topology lab/topologies/demo.yaml --advise",
        "schedule alltoall --topology lab/topologies/demo.yaml",
        "controller --inventory /nonexistent --dir /nonexistent",
        "tui --snapshot /nonexistent",
        "lab status --name no-such-lab",
        "completions bash",
        "no-such-command",
        "--help",
    ];
    for line in lines {
        let expected = status(line, Stdio::null(), Stdio::null());
        assert_ne!(expected, PANIC, "{line}");
        assert_eq!(status(line, unread(), unread()), expected, "{line}");
        assert_eq!(status(line, Stdio::null(), full()), expected, "{line}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let line = "what-if --topology lab/topologies/demo.yaml --advise";
    assert_eq!(status(line, full(), Stdio::null()), 64);
}
