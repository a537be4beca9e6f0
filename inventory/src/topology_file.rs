//! The topology file of the contract: switches, hosts and cables as somebody states them.
use crate::topology::LinkState;
use crate::tree::{Cable, Tree, TreeError};
use crate::{BitsPerSec, unique};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A topology file, checked: every name is unique, every reference resolves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyFile {
    /// Switch names. In the lab the first one becomes the STP root bridge.
    pub switches: Vec<String>,
    /// Hosts by name, in rank order.
    #[serde(deserialize_with = "unique::map")]
    pub hosts: IndexMap<String, Host>,
    /// Cables between switches.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Clusters by name; empty: one cluster, found from the network.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty", deserialize_with = "unique::map")]
    pub clusters: IndexMap<String, Vec<String>>,
}

/// A host and its cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The switch it hangs on.
    pub switch: String,
    /// Its cable's rate.
    #[serde(default = "gigabit")]
    pub rate: BitsPerSec,
    /// How many ranks it runs.
    #[serde(default = "one")]
    pub ranks: u32,
}

/// A cable between two switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// One end.
    pub a: String,
    /// The other.
    pub b: String,
    /// What it carries.
    #[serde(default = "gigabit")]
    pub rate: BitsPerSec,
    /// Whether it carries frames; stated links forward unless marked `blocked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<LinkState>,
}

pub(crate) fn gigabit() -> BitsPerSec {
    BitsPerSec::GIGABIT
}

pub(crate) fn one() -> u32 {
    1
}

/// A file that cannot be used: where, what, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// No YAML, or not of the expected shape; the text names line and column.
    #[error("{file}:{}{problem}; file ignored", place(*line))]
    Syntax {
        /// File name as given.
        file: String,
        /// Line, from 1, where the parser names one.
        line: Option<usize>,
        /// What was found and what was expected.
        problem: String,
    },
    /// Well-formed, but it contradicts itself.
    #[error("{file}:{}{problem}; file ignored", place(*line))]
    Content {
        /// File name as given.
        file: String,
        /// Line, from 1, where it is known.
        line: Option<usize>,
        /// Object, problem, hint.
        problem: String,
    },
}

impl FileError {
    /// Wraps a YAML error with its line.
    pub fn yaml(file: &str, error: &serde_yaml::Error) -> FileError {
        let line = error.location().map(|l| l.line());
        // The parser repeats the place behind its text.
        let text = error.to_string();
        let problem = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]).to_owned();
        FileError::Syntax { file: file.to_owned(), line, problem }
    }
}

fn place(line: Option<usize>) -> String {
    line.map_or(" ".to_owned(), |n| format!("{n}: "))
}

/// Whether a text can name a switch or host: 1 to 64 letters, digits, `-`, `_` or `.`.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

impl TopologyFile {
    /// Reads a topology file; `file` is only for messages.
    ///
    /// # Errors
    /// [`FileError`] for anything that is no topology file or contradicts itself. A loop or a part without
    /// connection is no error here (the lab wants both): [`TopologyFile::tree`] reports it.
    pub fn parse(file: &str, text: &str) -> Result<TopologyFile, FileError> {
        let parsed: TopologyFile = serde_yaml::from_str(text).map_err(|e| FileError::yaml(file, &e))?;
        parsed.checked(file)
    }

    /// Itself, where it does not contradict itself.
    pub(crate) fn checked(self, file: &str) -> Result<TopologyFile, FileError> {
        match self.contradiction() {
            None => Ok(self),
            Some(problem) => Err(FileError::Content { file: file.to_owned(), line: None, problem }),
        }
    }

    fn contradiction(&self) -> Option<String> {
        let mut seen = HashSet::new();
        for name in self.switches.iter().chain(self.hosts.keys()) {
            if !is_name(name) {
                return Some(format!("name {name:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\""));
            }
            if !seen.insert(name.as_str()) {
                return Some(format!("name \"{name}\" declared twice; every switch and host needs its own"));
            }
        }
        let switches: HashSet<&str> = self.switches.iter().map(String::as_str).collect();
        for (name, host) in &self.hosts {
            if !switches.contains(host.switch.as_str()) {
                return Some(format!("host \"{name}\": unknown switch \"{}\"; known switches: {}", host.switch, self.switches.join(", ")));
            }
            if host.ranks == 0 || host.ranks > 65_536 {
                return Some(format!("host \"{name}\": ranks {}: expected 1 to 65536", host.ranks));
            }
        }
        for link in &self.links {
            for end in [&link.a, &link.b] {
                if !switches.contains(end.as_str()) {
                    return Some(format!(
                        "link {}-{}: unknown switch \"{end}\"; known switches: {}",
                        link.a,
                        link.b,
                        self.switches.join(", ")
                    ));
                }
            }
            if link.a == link.b {
                return Some(format!("link {}-{}: both ends are the same switch", link.a, link.b));
            }
        }
        let mut member = HashSet::new();
        for (cluster, hosts) in &self.clusters {
            for host in hosts {
                if !self.hosts.contains_key(host) {
                    return Some(format!("cluster \"{cluster}\": unknown host \"{host}\""));
                }
                if !member.insert(host) {
                    return Some(format!("cluster \"{cluster}\": host \"{host}\" is in two clusters"));
                }
            }
        }
        None
    }

    /// The tree of the links that carry frames: those without a state, and those stated `forwarding`.
    ///
    /// # Errors
    /// See [`TreeError`].
    pub fn tree(&self) -> Result<Tree, TreeError> {
        let hosts: Vec<(&str, u32)> = self.hosts.iter().map(|(n, h)| (n.as_str(), h.ranks)).collect();
        let switches: Vec<&str> = self.switches.iter().map(String::as_str).collect();
        let trunks = self.links.iter().filter(|l| matches!(l.state, None | Some(LinkState::Forwarding))).map(|l| Cable {
            a: &l.a,
            b: &l.b,
            rate: l.rate,
        });
        let uplinks = self.hosts.iter().map(|(n, h)| Cable { a: n, b: &h.switch, rate: h.rate });
        Tree::new(&hosts, &switches, &trunks.chain(uplinks).collect::<Vec<_>>())
    }

    /// The file as text, readable by [`TopologyFile::parse`].
    pub fn to_yaml(&self) -> String {
        serde_yaml::to_string(self).unwrap_or_else(|e| unreachable!("plain maps and strings always serialize: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "switches: [s0, s1]\nhosts:\n  n0: {switch: s0}\n  n1: {switch: s1, rate: 100M, ranks: 2}\nlinks:\n  - {a: s0, b: s1, rate: 10G}\n";

    #[test]
    fn reads_the_contract_form_and_writes_it_back() {
        let t = TopologyFile::parse("t.yaml", GOOD).unwrap();
        assert_eq!(t.hosts["n0"].rate, BitsPerSec::GIGABIT);
        assert_eq!(t.hosts["n1"].ranks, 2);
        assert_eq!(TopologyFile::parse("t.yaml", &t.to_yaml()).unwrap(), t);
        assert_eq!(t.tree().unwrap().hosts(), 2);
    }

    #[test]
    fn names_file_line_and_expectation() {
        let err = |text: &str| TopologyFile::parse("t.yaml", text).unwrap_err().to_string();
        assert!(
            err("switches: [s0]\nhosts:\n  n0: {swich: s0}\n").contains("t.yaml:3"),
            "{}",
            err("switches: [s0]\nhosts:\n  n0: {swich: s0}\n")
        );
        assert!(err("switches: [s0\n").starts_with("t.yaml:"));
        assert!(err("switches: [s0]\nhosts: {n0: {switch: s1}}").contains("unknown switch \"s1\""));
        assert!(err("switches: [s0, s0]\nhosts: {}").contains("twice"));
        assert!(err("switches: [s0]\nhosts: {s0: {switch: s0}}").contains("twice"));
        assert!(err("switches: [s0]\nhosts: {n0: {switch: s0, rate: 0}}").contains("rate"));
        assert!(err("switches: [s0]\nhosts: {n0: {switch: s0}, n0: {switch: s0}}").contains("n0"));
        assert!(err("switches: [\"s\\e[31m\"]\nhosts: {}").contains("letters"));
    }

    #[test]
    fn a_loop_is_told_when_the_tree_is_asked_for() {
        let text = "switches: [s0, s1, s2]\nhosts: {n0: {switch: s0}}\nlinks: [{a: s0, b: s1}, {a: s1, b: s2}, {a: s2, b: s0}]";
        let t = TopologyFile::parse("t.yaml", text).unwrap();
        assert!(t.tree().unwrap_err().to_string().contains("loop"));
        let open = text.replace("{a: s2, b: s0}", "{a: s2, b: s0, state: blocked}");
        assert_eq!(TopologyFile::parse("t.yaml", &open).unwrap().tree().unwrap().nodes(), 4);
    }
}
