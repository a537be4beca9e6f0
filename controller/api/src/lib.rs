//! The types of the HTTP API, which the terminal interface shows. They are plain data. `GET
//! /v1/snapshot` gives a [`Snapshot`], `GET /v1/events` a stream of them (server-sent events: one
//! `snapshot` event for each change, and at least one a second).
pub mod mapping;
pub mod status;

use crate::mapping::MappingStatus;
use directory::job_record::JobRecord;
use inventory::units::milliseconds;
use inventory::{BitsPerSec, Millis, Topology};
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub use inventory::alarm::AlarmSubject;
pub use inventory::alarm::causes::{AlarmEvent, AlarmLine, AlarmSeverity};
pub use inventory::alarm::code::AlarmCode;

/// Everything a viewer needs, at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// The time at which it was made.
    pub at: Millis,
    /// The controller's version.
    pub version: String,
    /// The shared directory it publishes to.
    pub directory: String,
    /// The network as last inferred; `pending` and `alarms` name the parts that are not believed
    /// yet.
    pub topology: Topology,
    /// One entry for each link of `topology`, in its order.
    pub loads: Vec<LinkLoad>,
    /// The networks beside that of `topology`, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<FurtherNetwork>,
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
    /// The number of further jobs.
    #[serde(default)]
    pub jobs_more: u64,
    /// Newest last, at most a few hundred.
    pub events: Vec<EventLine>,
    /// The alarms of the topology and of the controller itself.
    pub alarms: Vec<AlarmLine>,
    /// Measurements of flows between hosts.
    #[serde(default)]
    pub mapping: MappingStatus,
}

/// A network beside the one in [`Snapshot::topology`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FurtherNetwork {
    /// The network as last inferred.
    pub topology: Topology,
    /// One entry for each link of `topology`, in its order.
    pub loads: Vec<LinkLoad>,
}

impl Snapshot {
    /// All networks with their loads, that of `topology` first.
    pub fn networks(&self) -> impl Iterator<Item = (&Topology, &[LinkLoad])> {
        let further = self.further.iter();
        std::iter::once((&self.topology, &self.loads[..]))
            .chain(further.map(|network| (&network.topology, &network.loads[..])))
    }

    /// Puts the network of this name into `topology`, if there is one; what was there is a further one then.
    pub fn show_network(&mut self, name: &str) {
        let network = self.further.iter_mut().find(|network| {
            let own = network.topology.own_network();
            own.is_some_and(|own| own.name == name)
        });
        if let Some(network) = network {
            std::mem::swap(&mut self.topology, &mut network.topology);
            std::mem::swap(&mut self.loads, &mut network.loads);
            // Alarms are those of all networks.
            std::mem::swap(&mut self.topology.alarms, &mut network.topology.alarms);
        }
    }
}

/// The planned and the measured load of a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkLoad {
    /// The link's ends as in the topology.
    pub a: String,
    /// See `a`.
    pub b: String,
    /// Messages of one all-to-all among all hosts on it, in one direction; 0 on a blocked link.
    pub aapc_load: u64,
    /// Its rate in units of the slowest host link, at least 1.
    pub capacity: u64,
    /// The phases that this link alone makes necessary: ceil(load / capacity). Those of networks that share
    /// the cable add up.
    pub phases: u64,
    /// It is a bottleneck edge.
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

/// The state of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SwitchStatus {
    /// Its name in the inventory.
    pub name: String,
    /// Its management address.
    pub address: String,
    /// The time of its last answer.
    pub seen: Option<Millis>,
    /// The reason why it is stale; `None` while it answers.
    pub problem: Option<String>,
    /// It is the root bridge of the spanning tree.
    pub root_bridge: bool,
    /// dot1dStpTopChanges.
    pub top_changes: Option<u32>,
}

/// The state of a host's agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentStatus {
    pub host: String,
    /// The time of its last report.
    pub seen: Option<Millis>,
    /// The reason why it counts as silent; `None` while it reports.
    pub problem: Option<String>,
    /// Measured load into the host, by its card's own counters; `None` before two readings.
    #[serde(default, deserialize_with = "measured")]
    pub inward: Option<BitsPerSec>,
    /// Measured load out of the host.
    #[serde(default, deserialize_with = "measured")]
    pub outward: Option<BitsPerSec>,
    /// The paths that it probes.
    pub ways: Vec<PathStatus>,
}

/// The path from one host to another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathStatus {
    /// The other host.
    pub to: String,
    /// The routers on the path, including those that do not answer.
    pub hops: u32,
    /// The other host answered.
    pub reached: bool,
    /// The shortest round trip, in microseconds.
    pub min_us: Option<u32>,
}

/// A published epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EpochInfo {
    /// Its number, from 1.
    pub number: u64,
    /// The time at which `current` moved to it.
    pub at: Millis,
    /// The differences from the epoch before, one line each.
    pub changes: Vec<String>,
    /// Phases of the all-to-all among all hosts.
    pub phases: u64,
    /// The schedule of that all-to-all was not made, because no job would use it with so many
    /// hosts; `phases` is then its lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound_only: bool,
    /// Its bottleneck edge, from and to.
    pub bottleneck: (String, String),
    /// Hosts planned for.
    pub hosts: u32,
    /// The time that each stage took.
    pub stages: StageTimes,
}

/// The stages from the first sign of a change to the jobs that follow it. Each has the time since
/// the first sign, in milliseconds in the API. `inferred` comes before `believed`: a tree is
/// inferred first, and must then hold still.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StageTimes {
    /// The time of the first sign.
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

/// A change that waits for its hold-down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChange {
    /// The time at which it was first seen.
    pub since: Millis,
    /// The time at which it is believed if nothing else changes.
    pub due: Millis,
    /// The differences from the published network, one line each.
    pub changes: Vec<String>,
}

/// A job's communicator with its recent past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its last record; `user` is the owner of the file.
    pub record: JobRecord,
    /// It still writes its record.
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
    /// The reached share of the payload bound, 0 to 1; `None` if the tree is not known.
    pub share: Option<f64>,
    /// The epoch it followed.
    pub epoch: u64,
}

/// A line of the event panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLine {
    pub at: Millis,
    /// The severity.
    pub level: EventLevel,
    /// The message, for an operator.
    pub text: String,
    /// The alarm that came or went, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<AlarmEvent>,
}

/// The severity of an event.
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

    /// A cable may be listed from either end, and names hold hyphens.
    #[test]
    fn an_alarm_concerns_the_link_of_its_nodes() {
        let alarm = AlarmLine {
            subject: AlarmSubject::between("s0-1", "n-0"),
            ..AlarmLine::default()
        };
        assert!(alarm.concerns_link("n-0", "s0-1") && alarm.concerns_link("s0-1", "n-0"));
        assert!(!alarm.concerns_link("s0", "1-n-0") && !alarm.concerns("s0-1-n-0"));
    }

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
