//! The order to measure a place, and its outcome.
use crate::engine::counted_ways::FlowQuestion;
use inventory::mapped_place::MappedPlace;
use inventory::stages::flows::MappedWays;
use inventory::units::milliseconds;
use inventory::{BitsPerSec, Bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The order to measure a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MappingOrder {
    /// Its number; the answer quotes it.
    pub ticket: u64,
    /// The unmanaged bridge, or the hosts whose switch is sought.
    pub place: String,
    /// The hosts behind the bridge, or these hosts, with their addresses.
    pub inside: Vec<(String, IpAddr)>,
    /// Hosts elsewhere.
    pub beside: Vec<(String, IpAddr)>,
    /// The bytes to move at most.
    pub budget: Bytes,
    /// The time to take at most.
    #[serde(with = "milliseconds")]
    pub longest: Duration,
    /// The part of the time in which flows run, from 0 to 1.
    pub share: f64,
    /// It is about the ways of flows.
    pub ways: Option<FlowQuestion>,
}

/// The outcome of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MappingOutcome {
    /// The place; `None` if it is not known.
    pub place: Option<MappedPlace>,
    /// The rates of the cables of its hosts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, BitsPerSec>,
    /// The ways of flows, as far as they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<MappedWays>,
    /// The bytes moved.
    pub moved: Bytes,
    /// The reason why it is not known.
    pub problem: Option<String>,
}

impl MappingOutcome {
    /// A measurement that moved nothing.
    pub(crate) fn failed(problem: String) -> MappingOutcome {
        MappingOutcome {
            place: None,
            rates: BTreeMap::new(),
            ways: None,
            moved: Bytes(0),
            problem: Some(problem),
        }
    }
}
