//! Alarms: problems that an operator should look at. [`catalogue`] has a row for each.
//!
//! In files and in the API an alarm is `{"about": …, "nodes": …, "code": …, "arguments": …, "severity": …,
//! "text": …}`. Programs decide on the code ([`code`]) and its arguments; the text is for people, and for
//! readers of former versions, which knew no arguments. An alarm of another version, whose arguments are
//! not known here, is [`AlarmKind::TextOnly`].

pub mod arguments;
mod catalogue;
pub mod causes;
pub mod code;
mod origin;

pub use catalogue::AlarmKind;
use code::AlarmCode;
use origin::AlarmSeverity;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A problem that an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenAlarm", into = "WrittenAlarm")]
pub struct Alarm {
    pub subject: AlarmSubject,
    /// The problem.
    pub kind: AlarmKind,
}

/// The subject of an alarm. It is written as a name for people, and the names of its nodes for programs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "WrittenSubject", into = "WrittenSubject")]
pub enum AlarmSubject {
    /// A switch, host, router or bridge.
    Node(String),
    /// A link between two nodes, or the path between two hosts.
    Between(String, String),
    /// The network or a part of it, or a part of the controller's work.
    Other(String),
}

impl AlarmSubject {
    /// A node by its name.
    pub fn node(name: impl Into<String>) -> AlarmSubject {
        AlarmSubject::Node(name.into())
    }

    /// The link or path between two nodes.
    pub fn between(a: impl Into<String>, b: impl Into<String>) -> AlarmSubject {
        AlarmSubject::Between(a.into(), b.into())
    }

    /// The network or a part of it, or a part of the controller's work.
    pub fn other(name: impl Into<String>) -> AlarmSubject {
        AlarmSubject::Other(name.into())
    }

    /// The nodes that it names: one, or both ends of a link.
    pub fn nodes(&self) -> Vec<&str> {
        match self {
            AlarmSubject::Node(name) => vec![name],
            AlarmSubject::Between(a, b) => vec![a, b],
            AlarmSubject::Other(_) => Vec::new(),
        }
    }

    /// The one name that it has; a link has none.
    pub fn name(&self) -> Option<&str> {
        match self {
            AlarmSubject::Node(name) | AlarmSubject::Other(name) => Some(name),
            AlarmSubject::Between(..) => None,
        }
    }

    /// The name of the node that it is.
    pub fn node_name(&self) -> Option<&str> {
        match self {
            AlarmSubject::Node(name) => Some(name),
            AlarmSubject::Between(..) | AlarmSubject::Other(_) => None,
        }
    }

    /// True if the subject is the node of this name.
    pub fn is_node(&self, name: &str) -> bool {
        self.node_name() == Some(name)
    }
}

impl Alarm {
    /// An alarm of the inference about the node of this name.
    pub fn node(name: impl Into<String>, kind: AlarmKind) -> Alarm {
        Alarm {
            subject: AlarmSubject::node(name),
            kind,
        }
    }

    /// An alarm about two nodes together.
    pub fn between(a: impl Into<String>, b: impl Into<String>, kind: AlarmKind) -> Alarm {
        Alarm {
            subject: AlarmSubject::between(a, b),
            kind,
        }
    }

    /// An alarm about the network, a part of it, or a part of the controller's work.
    pub fn other(about: impl Into<String>, kind: AlarmKind) -> Alarm {
        Alarm {
            subject: AlarmSubject::other(about),
            kind,
        }
    }

    /// Its code.
    pub fn code(&self) -> AlarmCode {
        self.kind.code()
    }
}

impl fmt::Display for AlarmSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlarmSubject::Node(name) | AlarmSubject::Other(name) => f.write_str(name),
            AlarmSubject::Between(a, b) => write!(f, "{a}-{b}"),
        }
    }
}

impl Default for AlarmSubject {
    fn default() -> AlarmSubject {
        AlarmSubject::Other(String::new())
    }
}

impl Default for AlarmKind {
    fn default() -> AlarmKind {
        let (code, text) = Default::default();
        AlarmKind::TextOnly { code, text }
    }
}

/// A subject as it is written.
#[derive(Serialize, Deserialize)]
struct WrittenSubject {
    about: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<String>,
}

impl From<AlarmSubject> for WrittenSubject {
    fn from(subject: AlarmSubject) -> WrittenSubject {
        WrittenSubject {
            about: subject.to_string(),
            nodes: subject.nodes().into_iter().map(str::to_owned).collect(),
        }
    }
}

impl From<WrittenSubject> for AlarmSubject {
    fn from(WrittenSubject { about, nodes }: WrittenSubject) -> AlarmSubject {
        match <[String; 2]>::try_from(nodes) {
            Ok([a, b]) => AlarmSubject::Between(a, b),
            Err(one) if one == [&*about] => AlarmSubject::Node(about),
            Err(_) => AlarmSubject::Other(about),
        }
    }
}

/// An alarm as it is written.
#[derive(Serialize, Deserialize)]
struct WrittenAlarm {
    #[serde(flatten)]
    subject: AlarmSubject,
    #[serde(flatten)]
    kind: AlarmKind,
    #[serde(default)]
    severity: AlarmSeverity,
    text: String,
}

impl From<Alarm> for WrittenAlarm {
    fn from(alarm: Alarm) -> WrittenAlarm {
        WrittenAlarm {
            severity: alarm.code().severity(),
            text: alarm.to_string(),
            subject: alarm.subject,
            kind: alarm.kind,
        }
    }
}

impl From<WrittenAlarm> for Alarm {
    fn from(written: WrittenAlarm) -> Alarm {
        let mut alarm = Alarm {
            subject: written.subject,
            kind: written.kind,
        };
        if let AlarmKind::TextOnly { text, .. } = &mut alarm.kind {
            *text = written.text;
        }
        alarm
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::evidence::Evidence;

    #[track_caller]
    fn reads_back(alarm: &Alarm) {
        let json = serde_json::to_string(alarm).unwrap();
        assert_eq!(
            &serde_json::from_str::<Alarm>(&json).unwrap(),
            alarm,
            "{json}"
        );
    }

    #[test]
    fn an_alarm_is_its_code_arguments_and_text_and_reads_back() {
        let (stated, found) = (crate::BitsPerSec(1_000), crate::BitsPerSec(2_000));
        let rate = Alarm::between("s0", "s1", AlarmKind::StatedRate { stated, found });
        assert_eq!(
            serde_json::to_value(&rate).unwrap(),
            serde_json::json!({
                "about": "s0-s1", "nodes": ["s0", "s1"], "code": "stated-rate", "severity": "warning",
                "arguments": {"stated": 1000, "found": 2000}, "text": rate.to_string(),
            })
        );
        reads_back(&rate);
        reads_back(&Alarm::between("s0", "s1", AlarmKind::Loop));
        let why = Some(Evidence::Stated);
        let found =
            ["s0", "s1"].map(|switch| crate::messages::evidence::DevicePort::new(switch, "p1"));
        reads_back(&Alarm::node(
            "s0",
            AlarmKind::StatedElsewhere { found, why },
        ));
        let doubts = vec![arguments::TreeDoubt::Torn(
            crate::model::tree::TreeError::NoHost,
        )];
        let epoch = Some(7);
        reads_back(&Alarm::other(
            "network",
            AlarmKind::NoTree { doubts, epoch },
        ));
    }

    #[test]
    fn an_alarm_of_another_version_keeps_its_code_and_text() {
        let older = read(r#"{"about": "s1", "code": "loop-of-old", "text": "it loops"}"#);
        assert_eq!(
            (older.code(), older.to_string()),
            (AlarmCode::Other, "it loops".into())
        );
        let older = read(r#"{"about": "s1", "code": "switch-stale", "text": "no answer"}"#);
        let written = (older.code(), older.to_string());
        assert_eq!(written, (AlarmCode::SwitchStale, "no answer".into()));
        reads_back(&older);
        let text = r#"{"about": "s1", "nodes": ["s1"], "code": "switch-stale",
            "arguments": {"since": 3}, "severity": "error", "text": "silent"}"#;
        let newer = read(text);
        assert_eq!(newer.code(), AlarmCode::SwitchStale);
        assert!(newer.subject.is_node("s1"));
    }

    fn read(json: &str) -> Alarm {
        serde_json::from_str::<Alarm>(json).unwrap()
    }
}
