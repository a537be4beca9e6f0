//! The file of one rank: a line that names the format, a header, and the rank's last steps.
//!
//! ```text
//! "heddle trace 1\n"   the length of the header, four octets, the least first   JSON   steps
//! ```
//! Anybody may have written it. Its reader takes any octets, needs memory in proportion to them,
//! and refuses what no rank writes.
use crate::step::{STEP_OCTETS, TimedStep};
use inventory::TopologyFile;
use policy::decision_table::{Collective, Way};
use serde::{Deserialize, Serialize};

const MAGIC: &[u8] = b"heddle trace 1\n";
/// A header of more octets is refused: ranks keep far below.
const LONGEST_HEADER: usize = 16 << 20;
/// Ranks of a job: more are refused.
pub const MOST_RANKS: u32 = 1 << 16;
/// The end of the name of a trace's file.
pub const SUFFIX: &str = "heddle-trace";

/// The properties that many calls share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallKind {
    pub collective: Collective,
    /// The way it went.
    pub way: Way,
    /// Octets of a block; where blocks differ, the mean.
    pub block: u64,
    /// The epoch that was followed; 0 without one.
    pub epoch: u64,
}

/// Bounds of how far a host's clock is ahead of that of rank 0, in nanoseconds: the clock showed
/// between `least` and `most` more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockBounds {
    /// When they were found, by this rank's clock.
    pub at: u64,
    /// At least so much ahead.
    pub least: i64,
    /// At most so much ahead.
    pub most: i64,
}

impl ClockBounds {
    /// The best estimate.
    pub fn middle(&self) -> i64 {
        self.least.midpoint(self.most)
    }
}

/// The network of an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedNetwork {
    /// The epoch's number.
    pub epoch: u64,
    /// Its topology, as in a topology file.
    pub topology: String,
}

/// A rank's data about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHeader {
    /// The same on all ranks of a process set, and different in another one.
    pub job: u64,
    pub rank: u32,
    /// The host of each rank.
    pub hosts: Vec<String>,
    pub kinds: Vec<CallKind>,
    /// Its clock against that of rank 0.
    pub clocks: Vec<ClockBounds>,
    /// The networks of its epochs; of rank 0 only.
    pub networks: Vec<TracedNetwork>,
    /// Steps that found no room any more: the oldest were given up.
    pub lost: u64,
}

/// A rank's trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankTrace {
    /// Its data about itself.
    pub header: TraceHeader,
    /// Its steps, the oldest first.
    pub steps: Vec<TimedStep>,
}

/// The reason why octets are not a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceFileError {
    /// Another file.
    #[error(
        "it does not begin with \"heddle trace 1\": it is not a trace, or one of another heddle"
    )]
    NoTrace,
    /// It ends in the midst.
    #[error("it ends too early, or its header is longer than 16 MB")]
    CutShort,
    /// The header is wrong.
    #[error("its header cannot be read: {0}")]
    Header(String),
    /// A step is wrong.
    #[error("step {0} is none")]
    Step(usize),
}

impl RankTrace {
    /// As octets; `steps` are the octets of the steps.
    pub fn write(header: &TraceHeader, steps: impl Iterator<Item = [u8; STEP_OCTETS]>) -> Vec<u8> {
        let json = serde_json::to_vec(header)
            .unwrap_or_else(|e| unreachable!("text and numbers always serialize: {e}"));
        let mut octets = MAGIC.to_vec();
        octets.extend((json.len() as u32).to_le_bytes());
        octets.extend(json);
        steps.for_each(|step| octets.extend(step));
        octets
    }

    /// Reads what [`RankTrace::write`] wrote.
    pub fn read(octets: &[u8]) -> Result<RankTrace, TraceFileError> {
        let rest = octets.strip_prefix(MAGIC).ok_or(TraceFileError::NoTrace)?;
        let (length, rest) = rest.split_first_chunk().ok_or(TraceFileError::CutShort)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > rest.len().min(LONGEST_HEADER) {
            return Err(TraceFileError::CutShort);
        }
        let (json, rest) = rest.split_at(length);
        let header: TraceHeader =
            serde_json::from_slice(json).map_err(|e| TraceFileError::Header(e.to_string()))?;
        header.check().map_err(TraceFileError::Header)?;
        let (steps, left) = rest.as_chunks::<STEP_OCTETS>();
        if !left.is_empty() {
            return Err(TraceFileError::CutShort);
        }
        let steps = (0..)
            .zip(steps)
            .map(|(at, octets)| TimedStep::from_octets(octets).ok_or(TraceFileError::Step(at)));
        Ok(RankTrace {
            header,
            steps: steps.collect::<Result<_, _>>()?,
        })
    }
}

impl TraceHeader {
    /// Refuses a header that no rank writes.
    fn check(&self) -> Result<(), String> {
        let ranks = self.hosts.len();
        if ranks > MOST_RANKS as usize || self.rank as usize >= ranks {
            return Err(format!("rank {} of {ranks}", self.rank));
        }
        if self.clocks.iter().any(|clock| clock.least > clock.most) {
            return Err("a clock is ahead by less than at least".to_owned());
        }
        for TracedNetwork { epoch, topology } in &self.networks {
            TopologyFile::parse(&format!("epoch {epoch}"), topology).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// How far this rank's clock is ahead of that of rank 0 at a time of its own: between two
    /// meetings of the ranks, what lies between.
    pub fn ahead(&self, at: u64) -> i64 {
        let after = self.clocks.partition_point(|clock| clock.at <= at);
        match (
            after.checked_sub(1).map(|before| self.clocks[before]),
            self.clocks.get(after),
        ) {
            (None, None) => 0,
            (Some(only), None) => only.middle(),
            (None, Some(only)) => only.middle(),
            (Some(a), Some(b)) => {
                let share = (at - a.at) as f64 / (b.at - a.at).max(1) as f64;
                let drift = b.middle().saturating_sub(a.middle()) as f64;
                a.middle().saturating_add((drift * share) as i64)
            }
        }
    }
}
