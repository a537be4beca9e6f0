//! The report of a comparison of plan and network.
use super::Cable;
use inventory::counted;
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
    pub kind: FindingKind,
    /// The grade of the network's side.
    pub grade: LinkGrade,
    /// The planned cables of the finding.
    pub planned: Vec<Cable>,
    /// The found cables. If none is certain, the possible ones.
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
    /// One end of a cable is elsewhere, or both are at other ports of the same nodes.
    Moved,
    /// A planned cable is missing.
    Missing,
    /// A found cable is not planned.
    Extra,
    /// The rate is lower than planned.
    Slower,
    /// The cable is blocked, but planned as forwarding, or needed to connect the plan. As a note:
    /// spanning tree blocks it, because it must block one cable of every loop.
    Blocked,
    /// The cable is planned as blocked and forwards.
    Forwarding,
    /// The rate is higher than planned. A note.
    Faster,
    /// The cable may be as planned, but port, rate or place is not certain. A note.
    Unconfirmed,
}

impl CablingReport {
    /// True if the network is cabled as planned.
    pub fn is_as_planned(&self) -> bool {
        self.differences.is_empty()
    }
}

/// One line for each difference and note, then the number of cables that are as planned.
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
