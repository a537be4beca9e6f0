//! What the core takes and gives: plain data, so that it can be recorded, replayed and printed.
use super::directions::DirectionsByHost;
use super::trouble::TroubleArea;
use crate::triggers::TrapTopic;
use api::{EpochInfo, EventLine};
use directory::job_record::JobRecord;
use inventory::inventory_file::Inventory;
use inventory::observation::{DeviceFact, DeviceTable, Observation};
use inventory::topology_file::TopologyFile;
use inventory::{Millis, Topology};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// What happened. Everything the core decides on comes in as one of these, so a recorded stream of
/// them can be replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "the large one comes once a run")]
pub enum ControllerEvent {
    /// The shell is up and has read the shared directory.
    Started {
        /// The current epoch as found there.
        current: Option<StoredEpoch>,
        /// The highest epoch number in use there, published or not.
        highest: u64,
        /// Epochs published before, newest last.
        epochs: Vec<EpochInfo>,
        /// Why the current epoch could not be read, if it could not.
        problem: Option<String>,
    },
    /// The time [`ControllerEngine::deadline`](super::ControllerEngine::deadline) asked for has
    /// come.
    Tick,
    /// A device answered, or did not.
    Observed(Observation),
    /// A report was not taken, as who sent it is not who it says, or nobody known.
    ReportRefused {
        /// Who sent it.
        from: IpAddr,
        /// Object, problem, hint.
        problem: String,
    },
    /// A device sent a notification.
    Trap {
        /// Its address.
        source: IpAddr,
        /// What it says.
        kind: TrapTopic,
    },
    /// A job's record, as read.
    Job(JobRecord),
    /// A job's file is gone.
    JobGone {
        /// The record's id.
        id: String,
    },
    /// So many records are not read, as there are too many.
    JobsUnread {
        /// How many.
        count: u64,
    },
    /// Something is wrong with what the shell does, or no longer wrong.
    Trouble {
        /// What it is about.
        about: TroubleArea,
        /// Object, place, problem, consequence, hint; `None`: over.
        problem: Option<String>,
    },
    /// A plan is made and verified; the shell holds it ready.
    Planned {
        /// Which one.
        ticket: u64,
        /// What it comes to.
        summary: PlanSummary,
    },
    /// There is no plan.
    PlanFailed {
        /// Which one.
        ticket: u64,
        /// Why.
        problem: String,
    },
    /// `current` points to the epoch.
    Published {
        /// Which plan.
        ticket: u64,
    },
    /// Nothing was published.
    PublishFailed {
        /// Which plan.
        ticket: u64,
        /// Why.
        problem: String,
    },
    /// The shared directory holds measurements that no epoch has yet.
    Measured {
        /// Of what, for people.
        what: String,
    },
    /// The inventory was read again and is good.
    InventoryChanged(Box<Inventory>),
}

/// An epoch as found on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEpoch {
    /// Its number.
    pub number: u64,
    /// Its `network.json`.
    pub network: Topology,
    /// Its `topology.yaml`.
    pub file: TopologyFile,
}

/// What a plan comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanSummary {
    /// Phases of the all-to-all among all hosts.
    pub phases: u64,
    /// See [`EpochInfo::bound_only`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound_only: bool,
    /// The bottleneck edge, from and to.
    pub bottleneck: (String, String),
    /// Hosts planned for.
    pub hosts: u32,
}

/// What is to be done. Each effect that has an outcome answers by an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ControllerEffect {
    /// Ask a switch for its pulse now.
    Poll {
        /// The switch.
        switch: String,
    },
    /// Read tables of a switch; each answers by one [`ControllerEvent::Observed`].
    Read {
        /// The switch.
        switch: String,
        /// The tables.
        tables: Vec<DeviceTable>,
    },
    /// Plan and verify; answers by [`ControllerEvent::Planned`] or [`ControllerEvent::PlanFailed`].
    /// Replaces a plan under way.
    Plan(Box<EpochOrder>),
    /// Publish the plan; answers by [`ControllerEvent::Published`] or
    /// [`ControllerEvent::PublishFailed`].
    Publish {
        /// Which one.
        ticket: u64,
    },
    /// Tell agents what is wanted of them when they report next: every host of the inventory, no
    /// other.
    Direct(DirectionsByHost),
    /// Tell the operator.
    Say(EventLine),
}

/// What an epoch is to be made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpochOrder {
    /// Which plan the answer is about.
    pub ticket: u64,
    /// The epoch's number.
    pub number: u64,
    /// When it was ordered: the epoch's time.
    pub at: Millis,
    /// The tree to plan on.
    pub file: TopologyFile,
    /// The network as discovered.
    pub network: Topology,
}

impl fmt::Display for ControllerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerEvent::Started { .. } => f.write_str("started"),
            ControllerEvent::Tick => f.write_str("tick"),
            ControllerEvent::Observed(o) => write!(f, "{}: {}", o.reporter, word(&o.fact)),
            ControllerEvent::ReportRefused { from, problem } => {
                write!(f, "report of {from} refused: {problem}")
            }
            ControllerEvent::Trap { source, kind } => write!(f, "trap {kind:?} from {source}"),
            ControllerEvent::Job(job) => write!(f, "job {} follows epoch {}", job.id, job.epoch),
            ControllerEvent::JobGone { id } => write!(f, "job {id} gone"),
            ControllerEvent::JobsUnread { count } => write!(f, "{count} job records not read"),
            ControllerEvent::Trouble { about, problem } => write!(
                f,
                "trouble with {about}: {}",
                problem.as_deref().unwrap_or("over")
            ),
            ControllerEvent::Planned { ticket, summary } => {
                write!(f, "plan {ticket} made: {} phases", summary.phases)
            }
            ControllerEvent::PlanFailed { ticket, problem } => {
                write!(f, "plan {ticket} failed: {problem}")
            }
            ControllerEvent::Published { ticket } => write!(f, "plan {ticket} published"),
            ControllerEvent::PublishFailed { ticket, problem } => {
                write!(f, "plan {ticket} not published: {problem}")
            }
            ControllerEvent::Measured { what } => write!(f, "new measurements: {what}"),
            ControllerEvent::InventoryChanged(_) => f.write_str("inventory changed"),
        }
    }
}

fn word(fact: &DeviceFact) -> String {
    match fact {
        DeviceFact::System(_) => "system".to_owned(),
        DeviceFact::Interfaces(_) => "interfaces".to_owned(),
        DeviceFact::Lldp(_) => "lldp".to_owned(),
        DeviceFact::Bridge(_) => "bridge".to_owned(),
        DeviceFact::Fdb(_) => "fdb".to_owned(),
        DeviceFact::Arp(_) => "arp".to_owned(),
        DeviceFact::Pulse(_) => "pulse".to_owned(),
        DeviceFact::Host(_) => "host report".to_owned(),
        DeviceFact::Failed {
            table: None,
            problem,
        } => format!("failed: {problem}"),
        DeviceFact::Failed {
            table: Some(table),
            problem,
        } => format!("{table:?} failed: {problem}"),
    }
}

impl fmt::Display for ControllerEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerEffect::Poll { switch } => write!(f, "poll {switch}"),
            ControllerEffect::Read { switch, tables } if tables.len() == DeviceTable::ALL.len() => {
                write!(f, "read {switch}: everything")
            }
            ControllerEffect::Read { switch, tables } => write!(f, "read {switch}: {tables:?}"),
            ControllerEffect::Plan(order) => {
                write!(
                    f,
                    "plan {} as epoch {}: {}",
                    order.ticket,
                    order.number,
                    order
                        .file
                        .hosts
                        .keys()
                        .cloned()
                        .collect::<Vec<_>>()
                        .join(" ")
                )
            }
            ControllerEffect::Publish { ticket } => write!(f, "publish plan {ticket}"),
            ControllerEffect::Direct(rota) => {
                write!(
                    f,
                    "direct {} hosts: {} probes",
                    rota.len(),
                    rota.values().map(|d| d.peers.len()).sum::<usize>()
                )
            }
            ControllerEffect::Say(line) => write!(f, "{:?}: {}", line.level, line.text),
        }
    }
}
