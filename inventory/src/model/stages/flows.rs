//! Flows between hosts whose ways are known, because counters of cables have shown them. Through aggregates
//! and pairs of switches no router answers; but a switch chooses a cable by addresses, protocol and ports,
//! so each connection from a port to [`DOOR`] takes the same one.
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Where the only rank of a host is called if flows to it are known.
pub const DOOR: u16 = 60_999;
/// The source ports of flows: those that a kernel gives nobody by itself, as a rule (ip_local_port_range).
pub const SOURCES: RangeInclusive<u16> = 61_000..=65_535;

/// A cable of a stage in one direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WayCable {
    /// The box that it leaves.
    pub from: String,
    /// The box at which it arrives.
    pub at: String,
    /// Its place among the cables between these two, in the order of the topology file.
    pub cable: u32,
}

/// A flow whose way is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFlow {
    /// The host that sends it.
    pub from: String,
    /// The host that receives it.
    pub to: String,
    /// The source port.
    pub port: u16,
    /// The cables that it takes where it has a choice, in this order.
    pub cables: Vec<WayCable>,
}

/// A cable of a stage in one direction, and the counter of what it carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedCable {
    pub cable: WayCable,
    /// The switch that counts.
    pub switch: String,
    /// Its port there.
    pub port: String,
    /// It counts what it sends; else what it receives.
    pub is_sent: bool,
}

/// The ways between hosts, by counters. They hold as long as these cables lie side by side: switches
/// choose anew when one goes or comes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappedWays {
    /// The cables among which flows had a choice.
    pub cables: Vec<CountedCable>,
    /// The flows whose ways are known.
    pub flows: Vec<KnownFlow>,
    /// Each way between each two hosts has a flow.
    pub is_complete: bool,
}
