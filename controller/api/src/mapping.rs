//! Measurements of flows between hosts, for viewers.
use inventory::Bytes;
use serde::{Deserialize, Serialize};

/// The answer to an order to measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingTicket {
    /// The number of the order.
    pub request: u64,
}

/// The measurement under way, and the results of the last order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MappingStatus {
    /// The operator allows it.
    pub allowed: bool,
    /// The number of the last order that the controller took up; 0 before the first.
    pub request: u64,
    /// The measurement under way.
    pub running: Option<MappingProgress>,
    /// The places whose measurements wait.
    pub waiting: Vec<String>,
    /// The results of the last order so far, one line each.
    pub results: Vec<String>,
    /// The number of refusals and failures among `results`.
    pub failures: u64,
}

impl MappingStatus {
    /// True if nothing is under way or waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }
}

/// A measurement under way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MappingProgress {
    /// The unmanaged bridge.
    pub place: String,
    /// The hosts that take part.
    pub hosts: u32,
    /// The rounds so far.
    pub rounds: u32,
    /// The bytes moved so far.
    pub moved: Bytes,
    /// The bytes that it may move.
    pub budget: Bytes,
}
