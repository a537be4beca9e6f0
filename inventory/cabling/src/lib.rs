//! Compares a plan of the cabling with the network as found, and writes a network in the forms that
//! other tools read. All of it is pure.
//!
//! | item | one idea |
//! |---|---|
//! | [`CablingPlan`] | the planned cables, as read from a file |
//! | [`compare()`] | the differences between a plan and a topology: a [`CablingReport`] |
//! | [`export`] | a topology as a drawing, for Graphviz, for Slurm |
//!
//! ```text
//! text --yaml | dot--> plan --ptm--> plan in the network's names --pairing--> pairs of planned
//! and found cables --compare--> report
//! ```
//!
//! A plan is a topology file that may name ports (a host then has one cable), or a Graphviz file as
//! the Prescriptive Topology Manager of Cumulus Linux reads it:
//!
//! ```yaml
//! switches: [s0, s1]
//! hosts:
//!   n0: {switch: s0, port: swp3, rate: 1G}
//! links:
//!   - {a: s0, a_port: swp1, b: s1, b_port: swp1, rate: 10G}
//! ```
//!
//! ```dot
//! graph plan {
//!   "s0":"swp1" -- "s1":"swp1"
//!   "s0":"swp3" -- "n0":"eth0"
//! }
//! ```
mod compare;
mod dot;
pub mod export;
mod found_cables;
mod pairing;
mod ptm;
mod report;
mod yaml;

pub use compare::compare;
pub use ptm::PtmNaming;
pub use report::{CablingFinding, CablingReport, FindingKind};

use inventory::topology::LinkState;
use inventory::topology_file::InputFileError;
use inventory::{BitsPerSec, end_name};
use serde::Serialize;
use std::collections::HashSet;
use std::fmt;

/// A plan of the cables of a network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CablingPlan {
    /// In the order of the file. No port is in two of them.
    pub cables: Vec<Cable>,
    /// The naming of the ends of each cable, in the same order.
    pub naming: Vec<PtmNaming>,
    /// True if nodes are named as in topology files, which do not allow some characters.
    pub plain: bool,
}

/// A cable, planned or found. An empty port is one that is not named, or not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cable {
    /// One end.
    pub a: String,
    /// Port name at `a`.
    pub a_port: String,
    /// The other end.
    pub b: String,
    /// Port name at `b`.
    pub b_port: String,
    /// The rate; `None` if a plan leaves it open or it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<BitsPerSec>,
    /// The state of the link; `None` if a plan leaves that to spanning tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<LinkState>,
}

/// A cable as written in a plan.
struct PlannedCable {
    /// Its line, in a Graphviz file.
    line: Option<usize>,
    cable: Cable,
    naming: PtmNaming,
}

/// An end of a cable: node and port.
type CableEnd<'a> = (&'a str, &'a str);

impl CablingPlan {
    /// Reads a plan in either form; `file` is used only in messages.
    ///
    /// # Errors
    /// [`InputFileError`] for a text in neither form, or with a contradiction; with the line if it
    /// is known.
    pub fn parse(file: &str, text: &str) -> Result<CablingPlan, InputFileError> {
        let plain = !dot::is_dot(text);
        let cables = if plain {
            yaml::read(file, text)?
        } else {
            dot::read(file, text)?
        };
        let mut taken = HashSet::new();
        for (number, PlannedCable { line, cable, .. }) in cables.iter().enumerate() {
            let twice = cable
                .ends()
                .into_iter()
                .find(|end| !end.1.is_empty() && !taken.insert(*end));
            if let Some((node, port)) = twice {
                let problem = format!(
                    "port {port} of \"{node}\" is planned for two cables; a port holds one"
                );
                return Err(InputFileError::Content {
                    file: file.to_owned(),
                    line: line.or_else(|| yaml::line_of_cable(text, number)),
                    problem,
                });
            }
        }
        let (cables, naming) = cables.into_iter().map(|p| (p.cable, p.naming)).unzip();
        Ok(CablingPlan {
            cables,
            naming,
            plain,
        })
    }
}

impl Cable {
    /// The cable's ends, in an order that does not depend on the way it is written.
    fn ends(&self) -> [CableEnd<'_>; 2] {
        let mut ends = [
            (self.a.as_str(), self.a_port.as_str()),
            (self.b.as_str(), self.b_port.as_str()),
        ];
        ends.sort_unstable();
        ends
    }
}

/// True if two ends may be the same: they have the same node, and not two different ports.
fn fits(one: CableEnd<'_>, other: CableEnd<'_>) -> bool {
    one.0 == other.0 && (one.1.is_empty() || other.1.is_empty() || one.1 == other.1)
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} - {}",
            end_name(&self.a, &self.a_port),
            end_name(&self.b, &self.b_port)
        )
    }
}

#[cfg(test)]
mod tests;
