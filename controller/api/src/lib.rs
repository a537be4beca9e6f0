//! What the HTTP API serves and the TUI shows. Plain data; `GET /v1/snapshot` gives a [`Snapshot`],
//! `GET /v1/events` a stream of them (server-sent events, one `snapshot` event a change or second).
use directory::job_record::JobRecord;
use inventory::units::milliseconds;
use inventory::{BitsPerSec, Millis, Topology};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything a viewer needs, at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was made.
    pub at: Millis,
    /// The controller's version.
    pub version: String,
    /// The shared directory it publishes to.
    pub directory: String,
    /// The network as last inferred; `pending` and `alarms` say what of it is not believed yet.
    pub topology: Topology,
    /// One entry per link of `topology`, in its order.
    pub loads: Vec<LinkLoad>,
    /// Every switch of the inventory.
    pub switches: Vec<SwitchStatus>,
    /// Every host whose agent has reported.
    #[serde(default)]
    pub agents: Vec<AgentStatus>,
    /// Newest last; the last one is current.
    pub epochs: Vec<EpochInfo>,
    /// A change that was seen but is not believed yet.
    pub pending: Option<PendingChange>,
    /// Jobs seen lately, running ones first; at most some hundred.
    pub jobs: Vec<JobStatus>,
    /// How many more there are.
    #[serde(default)]
    pub jobs_more: u64,
    /// Newest last, at most a few hundred.
    pub events: Vec<EventLine>,
    /// What an operator should look at, of the topology and of the controller itself.
    pub alarms: Vec<AlarmLine>,
}

/// What an operator should look at, in words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AlarmLine {
    /// What it is about: a node, `a-b` for what is between two, or a part of the controller's work.
    pub about: String,
    /// Object, place, problem, consequence, hint.
    pub text: String,
}

/// What a link has to carry and carries.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkLoad {
    /// The link's ends as in the topology.
    pub a: String,
    /// See `a`.
    pub b: String,
    /// Messages of one all-to-all among all hosts over it in one direction; 0 on a blocked link.
    pub aapc_load: u64,
    /// Its rate in units of the slowest host link, at least 1.
    pub capacity: u64,
    /// Phases it alone forces: ceil(load / capacity).
    pub phases: u64,
    /// Whether it is (one of) the bottleneck edges.
    pub bottleneck: bool,
    /// Measured, a to b, from interface counters; `None` before two readings.
    #[serde(default, deserialize_with = "measured")]
    pub a_to_b: Option<BitsPerSec>,
    /// Measured, b to a.
    #[serde(default, deserialize_with = "measured")]
    pub b_to_a: Option<BitsPerSec>,
}

/// A measured rate may be zero; a stated one, which [`BitsPerSec`] reads, may not.
fn measured<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<BitsPerSec>, D::Error> {
    Ok(Option::<u64>::deserialize(d)?.map(BitsPerSec))
}

/// How a switch answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SwitchStatus {
    /// Its name in the inventory.
    pub name: String,
    /// Its management address.
    pub address: String,
    /// When it last answered.
    pub seen: Option<Millis>,
    /// Why it is stale; `None` while it answers.
    pub problem: Option<String>,
    /// Whether it is the STP root bridge.
    pub root_bridge: bool,
    /// dot1dStpTopChanges.
    pub top_changes: Option<u32>,
}

/// What a host's agent says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The host.
    pub host: String,
    /// When it last reported.
    pub seen: Option<Millis>,
    /// Why it counts as silent; `None` while it reports.
    pub problem: Option<String>,
    /// Measured by its card's own counters, into the host; `None` before two readings.
    #[serde(default, deserialize_with = "measured")]
    pub inward: Option<BitsPerSec>,
    /// Measured, out of the host.
    #[serde(default, deserialize_with = "measured")]
    pub outward: Option<BitsPerSec>,
    /// The ways to others it probes.
    pub ways: Vec<PathStatus>,
}

/// The way from one host to another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathStatus {
    /// The other host.
    pub to: String,
    /// Routers between, also those that do not answer.
    pub hops: u32,
    /// Whether the other one answered.
    pub reached: bool,
    /// The shortest round trip, in microseconds.
    pub min_us: Option<u32>,
}

/// A published version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EpochInfo {
    /// Its number, from 1.
    pub number: u64,
    /// When `current` moved to it.
    pub at: Millis,
    /// Why: the differences to the former one, one line each.
    pub changes: Vec<String>,
    /// Phases of the all-to-all among all hosts.
    pub phases: u64,
    /// Whether that all-to-all is not written out, for want of a use with so many hosts; `phases`
    /// is then its bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound_only: bool,
    /// Its bottleneck edge, from and to.
    pub bottleneck: (String, String),
    /// Hosts planned for.
    pub hosts: u32,
    /// How long each stage took.
    pub stages: StageTimes,
}

/// From the first sign of a change to jobs that follow it: the time since the first sign, in the
/// API as milliseconds. In time, `inferred` comes before `believed`: the tree is inferred first and
/// must then hold still.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StageTimes {
    /// The first sign: when.
    pub seen: Millis,
    /// The view held still for the hold-down.
    #[serde(default, with = "milliseconds::optional")]
    pub believed: Option<Duration>,
    /// The topology was inferred.
    #[serde(default, with = "milliseconds::optional")]
    pub inferred: Option<Duration>,
    /// Schedules were planned and verified.
    #[serde(default, with = "milliseconds::optional")]
    pub planned: Option<Duration>,
    /// `current` points to it.
    #[serde(default, with = "milliseconds::optional")]
    pub published: Option<Duration>,
    /// The first running job follows it.
    #[serde(default, with = "milliseconds::optional")]
    pub taken_up: Option<Duration>,
}

/// A change seen, waiting for the hold-down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    /// When it was first seen.
    pub since: Millis,
    /// When it will be believed if nothing else moves.
    pub due: Millis,
    /// What differs.
    pub changes: Vec<String>,
}

/// A job's communicator with its recent past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// What it wrote last; `user` is the owner of its file.
    pub record: JobRecord,
    /// Whether it still writes.
    pub running: bool,
    /// Throughput of its collectives over time, oldest first, at most some hundred points.
    pub history: Vec<JobPoint>,
}

/// Throughput between two readings of a job's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobPoint {
    /// The later reading.
    pub at: Millis,
    /// Bytes all ranks received from others by its collectives, per second of time in them.
    pub bytes_per_sec: f64,
    /// Reached share of the payload bound, 0 to 1; `None` where no tree is known.
    pub share: Option<f64>,
    /// The epoch it followed.
    pub epoch: u64,
}

/// A line of the event panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLine {
    /// When.
    pub at: Millis,
    /// How grave.
    pub level: EventLevel,
    /// What, for an operator.
    pub text: String,
}

/// How grave an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventLevel {
    /// Good to know.
    Info,
    /// Look at it when you can.
    Warning,
    /// Look at it now.
    Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_link_reads_back() {
        let load = LinkLoad {
            a: "s0".into(),
            b: "n0".into(),
            a_to_b: Some(BitsPerSec(0)),
            b_to_a: None,
            ..LinkLoad::default()
        };
        let text = serde_json::to_string(&load).unwrap();
        assert_eq!(serde_json::from_str::<LinkLoad>(&text).unwrap(), load);
    }
}
