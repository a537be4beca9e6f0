//! Names that try to take over a terminal, a file or another program's syntax, through everything
//! heddle writes: exports, logs, API, metrics, history, epoch files, the terminal interface. The
//! network is the demo's, with some of its names replaced.
mod controller;
mod discovery;
mod foreign_files;
use crate::common::HEDDLE;
use inventory::sanitize;
use serde_json::Value;
use std::process::{Command, Output};

/// The names that the demo's devices use and their hostile replacements: hosts, ports, a
/// description.
fn names(longest: usize) -> [(&'static str, String); 7] {
    [
        ("n3", "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31mn3".to_owned()),
        ("n4", "../../../etc/passwd\r\nn4".to_owned()),
        ("n5", "n5\nSwitchName=evil Nodes=n0\n# HELP x".to_owned()),
        (
            "swp3",
            "swp\u{202e}3\u{2066}\u{200b}\u{feff}\u{e0041}".to_owned(),
        ),
        (
            "swp4",
            "swp4\"; } graph {\\ -- 'x' `$(reboot)` <b>{|".to_owned(),
        ),
        ("swp5", "x".repeat(longest)),
        (
            "Debian GNU/Linux 12 (bookworm) Linux 6.12.0 x86_64",
            "\0\0\u{2028}交换机".to_owned(),
        ),
    ]
}

/// Asserts that a text holds printable characters only, and that it is no longer than a name may
/// be.
#[track_caller]
fn is_plain(what: &str, text: &str) {
    let hidden = text.chars().find(|&c| c != '\n' && sanitize::is_hidden(c));
    assert_eq!(hidden, None, "{what}: {text:?}");
    assert!(
        !text.contains(&"x".repeat(sanitize::LONGEST + 1)),
        "{what}: {text:?}"
    );
}

/// The same for every text and every key of a JSON document, after it is parsed.
#[track_caller]
fn is_plain_json(what: &str, json: &str) -> Value {
    fn texts(value: &Value, look: &mut impl FnMut(&str)) {
        match value {
            Value::String(text) => look(text),
            Value::Array(all) => all.iter().for_each(|v| texts(v, look)),
            Value::Object(all) => all.iter().for_each(|(key, v)| {
                look(key);
                texts(v, look);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let value: Value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{what}: {e}: {json}"));
    texts(&value, &mut |text| is_plain(what, text));
    value
}

fn heddle(arguments: &[&str]) -> Output {
    Command::new(HEDDLE).args(arguments).output().unwrap()
}

/// The text of a command on both its outputs. The command must succeed.
#[track_caller]
fn output(arguments: &[&str]) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = heddle(arguments);
    let stderr = String::from_utf8(stderr).unwrap();
    is_plain("messages", &stderr);
    assert!(status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(stdout).unwrap()
}
