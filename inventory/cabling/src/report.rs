//! The report of a comparison of plan and network.
use super::Cable;
use inventory::topology::LinkGrade;
use serde::Serialize;
use std::fmt;

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CablingReport {
    /// The number of planned cables.
    pub planned: usize,
    /// The number of planned cables that are found as planned.
    pub as_planned: usize,
    /// The differences between network and plan, by kind, then in the order of the plan.
    pub differences: Vec<CablingFinding>,
    /// Findings that are not differences, but worth knowing.
    pub notes: Vec<CablingFinding>,
}

/// One thing found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CablingFinding {
    /// The kind of finding.
    pub kind: FindingKind,
    /// The grade of the network's side.
    pub grade: LinkGrade,
    /// The planned cables it is about.
    pub planned: Vec<Cable>,
    /// The found ones: where nothing certain is there, those that are possible.
    pub found: Vec<Cable>,
    /// One line for people.
    pub text: String,
}

/// Kinds of findings, in the order they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// Two cables whose ends are exchanged.
    Swapped,
    /// A cable has one end elsewhere, or both at other ports of the same nodes.
    Moved,
    /// A planned cable is not there.
    Missing,
    /// A cable is there that is not planned.
    Extra,
    /// It carries less than planned.
    Slower,
    /// It is blocked: planned forwarding, or needed to keep the plan in one piece. As a note: by
    /// spanning tree, which has to block one cable of every loop.
    Blocked,
    /// It is planned blocked and forwards.
    Forwarding,
    /// It carries more than planned. A note.
    Faster,
    /// It may be as planned, but port or rate or place is not known for certain. A note.
    Unconfirmed,
}

impl CablingReport {
    /// Whether the network is cabled as planned.
    pub fn is_as_planned(&self) -> bool {
        self.differences.is_empty()
    }
}

/// A line each: differences, notes, and how many cables are as planned.
impl fmt::Display for CablingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.differences {
            writeln!(f, "{finding}")?;
        }
        for finding in &self.notes {
            writeln!(f, "note: {finding}")?;
        }
        match self.is_as_planned() {
            true => writeln!(f, "ok: {} as planned", counted(self.planned, "cable")),
            false => writeln!(
                f,
                "{}; {} of {} as planned",
                counted(self.differences.len(), "difference"),
                self.as_planned,
                counted(self.planned, "cable")
            ),
        }
    }
}

/// `1 cable`, `2 cables`.
pub(super) fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl fmt::Display for CablingFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sure = if self.grade == LinkGrade::Certain {
            String::new()
        } else {
            format!(" ({})", self.grade)
        };
        write!(f, "{}{sure}: {}", self.kind, self.text)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FindingKind::Swapped => "swapped",
            FindingKind::Moved => "moved",
            FindingKind::Missing => "missing",
            FindingKind::Extra => "extra",
            FindingKind::Slower => "slower",
            FindingKind::Blocked => "blocked",
            FindingKind::Forwarding => "forwarding",
            FindingKind::Faster => "faster",
            FindingKind::Unconfirmed => "unconfirmed",
        })
    }
}
