//! The commands under test, and topologies for them.
use crate::common::HEDDLE;
use std::path::Path;
use std::process::{Command, Output};

pub(super) fn heddle() -> Command {
    Command::new(HEDDLE)
}

/// A topology of `hosts` hosts on two switches; `odd` cables the last one elsewhere.
pub(super) fn topology(hosts: usize, odd: bool) -> String {
    let hosts: String = (0..hosts)
        .map(|h| {
            let switch = if h + 1 == hosts {
                usize::from(odd)
            } else {
                h % 2
            };
            format!("  n{h}: {{switch: s{switch}}}\n")
        })
        .collect();
    format!("switches: [s0, s1]\nhosts:\n{hosts}links: [{{a: s0, b: s1}}]\n")
}

pub(super) fn publish(file: &Path, dir: &Path) -> Output {
    heddle()
        .arg("publish")
        .arg("--topology")
        .arg(file)
        .arg("--dir")
        .arg(dir)
        .output()
        .unwrap()
}

pub(super) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
