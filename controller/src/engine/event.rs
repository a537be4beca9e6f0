//! The engine's input and output: plain data, so that it can be recorded, replayed and printed.
use super::directions::DirectionsByHost;
use super::measuring::{MappingOrder, MappingOutcome};
use super::moved_cables::WatchOrder;
use super::trouble::TroubleArea;
use crate::triggers::TrapTopic;
use api::{EpochInfo, EventLine};
use directory::job_record::JobRecord;
use directory::rollback::RollbackOrder;
use inventory::inventory_file::Inventory;
use inventory::mapped_place::MappedPlaces;
use inventory::observation::{DeviceFact, DeviceTable, Observation};
use inventory::stages::flows::KnownFlow;
use inventory::topology_file::TopologyFile;
use inventory::{Millis, Topology, counted};
use policy::learned::LearnedFigures;
use serde::{Deserialize, Serialize};
use simulation::watched::TreeSuspicion;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// An input of the engine. All its decisions rest on these, so a recorded stream of them can be
/// replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "the large one comes once a run")]
pub enum ControllerEvent {
    /// The daemon is up, and has read the shared directory.
    Started {
        /// The current epoch in that directory.
        current: Option<StoredEpoch>,
        /// The highest epoch number in use there; it may be unpublished.
        highest: u64,
        /// The epochs published before, newest last.
        epochs: Vec<EpochInfo>,
        /// The reason why the current epoch cannot be read, if it cannot.
        problem: Option<String>,
        /// The figures that jobs learned before.
        #[serde(default, skip_serializing_if = "LearnedFigures::is_empty")]
        learned: LearnedFigures,
        /// The places that earlier measurements found.
        #[serde(default, skip_serializing_if = "MappedPlaces::is_empty")]
        mapped: MappedPlaces,
    },
    /// The time that [`ControllerEngine::deadline`](super::ControllerEngine::deadline) gave has
    /// come.
    Tick,
    /// A device answered, or failed to.
    Observed(Observation),
    /// A report was refused: its sender is unknown, or is not the host it claims to be.
    ReportRefused {
        /// The sender.
        from: IpAddr,
        /// Object, problem, hint.
        problem: String,
    },
    /// A device sent a notification.
    Trap {
        /// Its address.
        source: IpAddr,
        /// The topic of the notification.
        kind: TrapTopic,
    },
    /// The name of a switch was looked up, and has another address than before.
    LookedUp {
        switch: String,
        /// The address of its name.
        address: IpAddr,
    },
    /// A job record was read.
    Job(JobRecord),
    /// A job record says more of what the job learned. It comes beside [`ControllerEvent::Job`],
    /// but not as often.
    Taught(Box<JobRecord>),
    /// A window of a job is judged.
    Judged {
        /// The id of the job's record.
        job: String,
        /// The user of the job.
        user: String,
        /// The epoch that it followed.
        epoch: u64,
        /// The job's evidence against the published tree, if there is any.
        // Journals of earlier releases have this name, and are replayed.
        #[serde(rename = "said")]
        suspicion: Option<TreeSuspicion>,
    },
    /// The learned figures are written, or could not be written.
    LearnedKept {
        /// The reason why it is not.
        problem: Option<String>,
    },
    /// A job record was removed.
    JobGone {
        /// The record's id.
        id: String,
    },
    /// There are too many job records to read them all.
    JobsUnread {
        /// The number of unread records.
        count: u64,
    },
    /// A part of the daemon's work fails, or works again.
    Trouble {
        /// The part of the work.
        about: TroubleArea,
        /// Object, place, problem, consequence, hint; `None`: it works again.
        problem: Option<String>,
    },
    /// An operator ordered that an earlier epoch is published again; `None`: there is no order any
    /// more.
    Rollback(Option<Box<OrderedRollback>>),
    /// A plan is made and verified; the daemon holds it ready.
    Planned {
        /// The ticket of the plan.
        ticket: u64,
        /// The plan in figures.
        summary: PlanSummary,
    },
    /// Planning failed.
    PlanFailed {
        /// The ticket of the plan.
        ticket: u64,
        /// The reason.
        problem: String,
    },
    /// The epoch is published: `current` points to it.
    Published {
        /// The ticket of the plan.
        ticket: u64,
    },
    /// Publishing failed.
    PublishFailed {
        /// The ticket of the plan.
        ticket: u64,
        /// The reason.
        problem: String,
    },
    /// The shared directory holds measurements that no epoch contains yet.
    Measured {
        /// A description of the measurements, for people.
        what: String,
    },
    /// An operator orders that unmanaged places are measured now.
    MappingOrdered {
        /// The number of the order.
        request: u64,
    },
    /// A measurement of flows between hosts is over.
    PlaceMapped {
        /// The ticket of its order.
        ticket: u64,
        outcome: Box<MappingOutcome>,
    },
    /// The inventory was read again, and it is valid.
    InventoryChanged(Box<Inventory>),
}

/// An epoch read from disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEpoch {
    pub number: u64,
    /// Its `network.json`.
    pub network: Arc<Topology>,
    /// Its `topology.yaml`.
    pub file: Arc<TopologyFile>,
}

/// An order, with the epoch that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderedRollback {
    pub order: RollbackOrder,
    /// The epoch whose network is published again.
    pub epoch: StoredEpoch,
}

/// A plan in figures.
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

/// Outputs, in the order in which they are carried out.
pub(crate) type EffectList = Vec<ControllerEffect>;

/// An output of the engine, to be carried out. An effect that has an outcome is answered by an
/// event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ControllerEffect {
    /// Ask a switch for its pulse now.
    Poll { switch: String },
    /// Read tables of a switch; each is answered by one [`ControllerEvent::Observed`].
    Read {
        switch: String,
        tables: Vec<DeviceTable>,
    },
    /// Plan and verify; the answer is [`ControllerEvent::Planned`] or
    /// [`ControllerEvent::PlanFailed`]. It replaces a plan under way.
    Plan(Box<EpochOrder>),
    /// Publish the plan; the answer is [`ControllerEvent::Published`] or
    /// [`ControllerEvent::PublishFailed`].
    Publish {
        /// The ticket of the plan.
        ticket: u64,
    },
    /// Answer each agent's next report with these directions. They cover exactly the hosts of the
    /// inventory.
    Direct(DirectionsByHost),
    /// Write what jobs learned; the answer is [`ControllerEvent::LearnedKept`].
    KeepLearned(Arc<LearnedFigures>),
    /// Judge a window of a job; the answer is [`ControllerEvent::Judged`].
    Judge(Box<WatchOrder>),
    /// Measure flows between hosts; the answer is [`ControllerEvent::PlaceMapped`].
    MapPlace(Box<MappingOrder>),
    /// End the measurement under way: the operator does not allow it any more.
    EndMapping,
    /// Write what flows between hosts found.
    KeepMapped(Arc<MappedPlaces>),
    /// Remove the operator's order to publish an earlier epoch: it is over.
    EndRollback,
    /// Tell the operator.
    Say(EventLine),
}

/// The order for a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpochOrder {
    /// The plan's ticket; the answer quotes it.
    pub ticket: u64,
    /// The epoch's number.
    pub number: u64,
    /// The time of the order, which is the epoch's time.
    pub at: Millis,
    /// The tree to plan on.
    pub file: Arc<TopologyFile>,
    /// The network as discovered.
    pub network: Arc<Topology>,
    /// Flows whose ways are known in it.
    pub flows: Vec<KnownFlow>,
}

impl ControllerEvent {
    pub(crate) fn trouble(about: TroubleArea, problem: Option<String>) -> ControllerEvent {
        ControllerEvent::Trouble { about, problem }
    }
}

impl fmt::Display for ControllerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerEvent::Started { .. } => f.write_str("started"),
            ControllerEvent::Tick => f.write_str("tick"),
            ControllerEvent::Observed(o) => write!(f, "{}: {}", o.reporter, fact_name(&o.fact)),
            ControllerEvent::ReportRefused { from, problem } => {
                write!(f, "report of {from} refused: {problem}")
            }
            ControllerEvent::Trap { source, kind } => write!(f, "trap {kind:?} from {source}"),
            ControllerEvent::LookedUp { switch, address } => {
                write!(f, "switch {switch} is at {address}")
            }
            ControllerEvent::Job(job) => write!(f, "job {} follows epoch {}", job.id, job.epoch),
            ControllerEvent::Taught(job) => {
                write!(f, "job {} learned: {} timings", job.id, job.learned.len())
            }
            ControllerEvent::Judged { job, suspicion, .. } => match suspicion {
                Some(suspicion) => write!(f, "job {job}: {suspicion}"),
                None => write!(f, "job {job}: its rates fit the tree"),
            },
            ControllerEvent::LearnedKept { problem: None } => f.write_str("learned figures kept"),
            ControllerEvent::LearnedKept {
                problem: Some(problem),
            } => write!(f, "learned figures not kept: {problem}"),
            ControllerEvent::JobGone { id } => write!(f, "job {id} gone"),
            ControllerEvent::JobsUnread { count } => write!(f, "{count} job records not read"),
            ControllerEvent::Trouble { about, problem } => write!(
                f,
                "trouble with {about}: {}",
                problem.as_deref().unwrap_or("over")
            ),
            ControllerEvent::Rollback(Some(ordered)) => {
                write!(f, "rollback to epoch {} ordered", ordered.order.epoch)
            }
            ControllerEvent::Rollback(None) => f.write_str("no rollback is ordered"),
            ControllerEvent::Planned { ticket, summary } => {
                let phases = counted(summary.phases, "phase");
                write!(f, "plan {ticket} made: {phases}")
            }
            ControllerEvent::PlanFailed { ticket, problem } => {
                write!(f, "plan {ticket} failed: {problem}")
            }
            ControllerEvent::Published { ticket } => write!(f, "plan {ticket} published"),
            ControllerEvent::PublishFailed { ticket, problem } => {
                write!(f, "plan {ticket} not published: {problem}")
            }
            ControllerEvent::Measured { what } => write!(f, "new measurements: {what}"),
            ControllerEvent::MappingOrdered { request } => {
                write!(f, "measurement {request} ordered")
            }
            ControllerEvent::PlaceMapped { ticket, outcome } => match &outcome.place {
                Some(place) => write!(f, "measurement {ticket}: {}", place.bridge),
                None => {
                    let problem = outcome.problem.as_deref().unwrap_or_default();
                    write!(f, "measurement {ticket} failed: {problem}")
                }
            },
            ControllerEvent::InventoryChanged(_) => f.write_str("inventory changed"),
        }
    }
}

fn fact_name(fact: &DeviceFact) -> String {
    match fact {
        DeviceFact::System(_) => "system".to_owned(),
        DeviceFact::Interfaces(_) => "interfaces".to_owned(),
        DeviceFact::Lldp(_) => "lldp".to_owned(),
        DeviceFact::Bridge(_) => "bridge".to_owned(),
        DeviceFact::Fdb(_) => "fdb".to_owned(),
        DeviceFact::Arp(_) => "arp".to_owned(),
        DeviceFact::Routes(_) => "routes".to_owned(),
        DeviceFact::Pulse(_) => "pulse".to_owned(),
        DeviceFact::Host(_) => "host report".to_owned(),
        DeviceFact::Failed {
            table: None,
            problem,
            ..
        } => format!("failed: {problem}"),
        DeviceFact::Failed {
            table: Some(table),
            problem,
            ..
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
            ControllerEffect::Direct(assignment) => {
                write!(
                    f,
                    "direct {} hosts: {} probes",
                    assignment.len(),
                    assignment.values().map(|d| d.peers.len()).sum::<usize>()
                )
            }
            ControllerEffect::Judge(order) => write!(f, "judge a window of job {}", order.job),
            ControllerEffect::KeepLearned(figures) => {
                write!(f, "keep figures of {} places", figures.places().count())
            }
            ControllerEffect::MapPlace(order) => {
                let hosts = order.inside.len() + order.beside.len();
                write!(f, "measure {} among {hosts} hosts", order.place)
            }
            ControllerEffect::EndMapping => f.write_str("end the measurement"),
            ControllerEffect::KeepMapped(mapped) => {
                let places = mapped.places.len() + mapped.attachments.len();
                write!(f, "keep measurements of {places} places")
            }
            ControllerEffect::EndRollback => f.write_str("end the rollback"),
            ControllerEffect::Say(line) => write!(f, "{:?}: {}", line.level, line.text),
        }
    }
}
