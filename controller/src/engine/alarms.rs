//! The controller's own alarms, in addition to those of the inference. Their text exists in
//! `Display` only.
use super::moved_cables::StandingSuspicion;
use super::shown_rates::StandingRates;
use super::tree_doubt::{LinkDoubt, TreeDoubt};
use super::trouble::TroubleArea;
use inventory::alarm::AlarmSubject;
use inventory::alarm::causes::{AlarmCause, AlarmOrigin, CausalAlarm};
use inventory::alarm::code::AlarmCode;
use inventory::{Mac, Millis};
use simulation::watched::SuspectedMove;
use std::fmt;
use std::time::Duration;

/// An alarm of the controller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ControllerAlarm {
    /// A host keeps its place of the last epoch although it is not seen there.
    HostKept {
        /// The host.
        host: String,
        /// It is seen at a place that is not certain, or does not forward.
        elsewhere: bool,
        /// The epoch.
        epoch: u64,
        /// The switch it stays on.
        switch: String,
        /// The end of that.
        until: KeptUntil,
    },
    /// A part of the network flaps.
    Flaps(FlapAlarm),
    /// Two machines report as one host: its name, and the first card of each machine.
    TwoMachines(String, [Option<Mac>; 2]),
    /// There is no tree to plan on: the reasons, and the epoch that stays.
    NoTree(Vec<TreeDoubt>, Option<u64>),
    /// There is no tree of a network beside the main one.
    NoFurtherTree {
        /// Its name.
        network: String,
        /// The reasons.
        doubts: Vec<TreeDoubt>,
        /// The epoch whose tree of it stays.
        epoch: Option<u64>,
    },
    /// No switch is listed, and no agent reports any more; the epoch that stays.
    NobodyReports(Option<u64>),
    /// The rates of jobs' blocks contradict the published tree.
    Contradicted(StandingSuspicion),
    /// Calls of jobs ended sooner than published rates allow.
    WrongRates(StandingRates),
    /// A part of the controller's work fails: object, place, problem, consequence, hint.
    Trouble(TroubleArea, String),
}

/// The end of keeping a host in a place where it is not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeptUntil {
    /// Until its new place is certain and forwards.
    Settled,
    /// Until it hears a switch, but not longer than this.
    Heard(Duration),
    /// Until so long after it vanished. Then it is dropped.
    Dropped(AbsenceSign, Duration),
    /// Without end: there is no evidence that it is gone.
    Unproven(PresenceDoubt),
}

/// The sign that a host is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsenceSign {
    /// Its port is down.
    PortDown,
    /// Its switch does not answer, and no link leads there from another switch.
    SwitchCutOff,
    /// No switch is listed, and its agent says that its card is down.
    CardDown,
}

/// The reason why it is not certain that a host is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PresenceDoubt {
    /// Its port is up.
    PortUp {
        /// The switch.
        switch: String,
        /// The port.
        port: String,
    },
    /// The interfaces of its switch have not been read yet.
    Unread(String),
    /// Its switch does not answer.
    SwitchSilent(String),
    /// No switch was listed, or is, and nobody tells where it is.
    Untold,
}

/// A flapping part, its losses, and the end of holding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlapAlarm {
    /// Its name for operators.
    pub(crate) name: String,
    pub(crate) what: FlapSubject,
    pub(crate) times: u32,
    pub(crate) within: Duration,
    pub(crate) until: Millis,
}

/// The kind of a flapping part, with the epoch whose state it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlapSubject {
    /// A link between two switches.
    Trunk(String, String, u64),
    /// The link of a switch to a host.
    Seat(String, String, u64),
    /// The ranks and the address that a host's agent reports.
    Claim(String, u64),
    /// A host's cluster.
    Cluster(String, u64),
    /// A switch's answers.
    Answers(String),
}

impl CausalAlarm for ControllerAlarm {
    fn subject(&self) -> AlarmSubject {
        match self {
            ControllerAlarm::HostKept { host, .. } | ControllerAlarm::TwoMachines(host, _) => {
                AlarmSubject::node(host)
            }
            ControllerAlarm::NoTree(..) | ControllerAlarm::NobodyReports(_) => {
                AlarmSubject::Network
            }
            ControllerAlarm::NoFurtherTree { network, .. } => {
                AlarmSubject::OneNetwork(format!("network {network}"))
            }
            ControllerAlarm::Contradicted(standing) => match &standing.suspicion.best {
                SuspectedMove::Host { host, .. } => AlarmSubject::node(host),
                SuspectedMove::Trunk { switch, from, .. } => AlarmSubject::between(switch, from),
            },
            ControllerAlarm::WrongRates(standing) => {
                let (a, b) = &standing.link.ends;
                AlarmSubject::between(a, b)
            }
            ControllerAlarm::Trouble(area, _) => AlarmSubject::Work(area.to_string()),
            ControllerAlarm::Flaps(flap) => match &flap.what {
                FlapSubject::Trunk(a, b, _) | FlapSubject::Seat(a, b, _) => {
                    AlarmSubject::between(a, b)
                }
                FlapSubject::Claim(name, _)
                | FlapSubject::Cluster(name, _)
                | FlapSubject::Answers(name) => AlarmSubject::node(name),
            },
        }
    }

    fn code(&self) -> AlarmCode {
        match self {
            ControllerAlarm::HostKept { .. } => AlarmCode::HostKept,
            ControllerAlarm::TwoMachines(..) => AlarmCode::TwoMachines,
            ControllerAlarm::NoTree(..) => AlarmCode::NoTree,
            ControllerAlarm::NoFurtherTree { .. } => AlarmCode::NoFurtherTree,
            ControllerAlarm::NobodyReports(_) => AlarmCode::NobodyReports,
            ControllerAlarm::Contradicted(_) => AlarmCode::CableMoved,
            ControllerAlarm::WrongRates(_) => AlarmCode::WrongRates,
            ControllerAlarm::Trouble(area, _) => area.code(),
            ControllerAlarm::Flaps(flap) => match flap.what {
                FlapSubject::Trunk(..) => AlarmCode::LinkFlaps,
                FlapSubject::Seat(..) => AlarmCode::HostFlaps,
                FlapSubject::Claim(..) => AlarmCode::AgentFlaps,
                FlapSubject::Cluster(..) => AlarmCode::ClusterFlaps,
                FlapSubject::Answers(_) => AlarmCode::SwitchFlaps,
            },
        }
    }

    fn states(&self) -> Option<AlarmCause> {
        match self {
            ControllerAlarm::Trouble(TroubleArea::Stalled(_), _) => {
                Some(AlarmCause::StalledDirectory)
            }
            ControllerAlarm::Flaps(FlapAlarm {
                what: FlapSubject::Answers(switch),
                ..
            }) => Some(AlarmCause::StaleSwitch(switch.clone())),
            _ => None,
        }
    }

    fn silent_switch(&self) -> Option<&str> {
        match self {
            ControllerAlarm::Flaps(FlapAlarm {
                what: FlapSubject::Answers(switch),
                ..
            }) => Some(switch),
            _ => None,
        }
    }

    fn origin(&self) -> AlarmOrigin {
        match self {
            ControllerAlarm::HostKept {
                until: KeptUntil::Unproven(PresenceDoubt::SwitchSilent(switch)),
                ..
            } => AlarmOrigin::Silence(vec![switch.clone()]),
            ControllerAlarm::NoTree(doubts, _) => origin_of_all(doubts),
            _ => AlarmOrigin::Own,
        }
    }

    fn missed_host(&self) -> Option<&str> {
        match self {
            ControllerAlarm::HostKept { host, .. } => Some(host),
            _ => None,
        }
    }

    fn consequence(&self) -> Option<String> {
        match self {
            ControllerAlarm::NoTree(_, epoch) => Some(format!(
                "without it there is no complete tree to plan on; {}",
                stays(*epoch)
            )),
            _ => None,
        }
    }
}

/// The silence from which all doubts about the tree may follow.
fn origin_of_all(doubts: &[TreeDoubt]) -> AlarmOrigin {
    let mut silent = Vec::new();
    for doubt in doubts {
        match doubt {
            TreeDoubt::SwitchSilent(switch) => silent.push(switch.clone()),
            TreeDoubt::Link(a, b, LinkDoubt::Unsaid) => silent.extend([a.clone(), b.clone()]),
            TreeDoubt::HostUnseen(_) | TreeDoubt::CutOff { .. } => {}
            TreeDoubt::Link(..) | TreeDoubt::Torn(_) | TreeDoubt::Frozen(..) => {
                return AlarmOrigin::Own;
            }
        }
    }
    if silent.is_empty() {
        AlarmOrigin::AnyUnheard
    } else {
        AlarmOrigin::Silence(silent)
    }
}

impl fmt::Display for ControllerAlarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControllerAlarm::HostKept {
                host,
                elsewhere,
                epoch,
                switch,
                until,
            } => {
                let seen = if *elsewhere {
                    "on its way"
                } else {
                    "seen nowhere"
                };
                write!(
                    f,
                    "host \"{host}\": {seen}, epoch {epoch} keeps it on \"{switch}\"; {until}"
                )
            }
            ControllerAlarm::Flaps(flap) => write!(f, "{flap}"),
            ControllerAlarm::TwoMachines(host, cards) => {
                let [former, now] =
                    cards.map(|card| card.map(|mac| mac.to_string()).unwrap_or_default());
                write!(
                    f,
                    "host \"{host}\": two machines report under this name in turn, with cards \
                     {former} and {now}; neither is believed: give each agent its own name"
                )
            }
            ControllerAlarm::NoTree(doubts, epoch) => no_tree(f, "network", doubts, &stays(*epoch)),
            ControllerAlarm::NoFurtherTree {
                network,
                doubts,
                epoch,
            } => {
                let stays = epoch.map_or_else(
                    || "jobs that use it have no schedules".to_owned(),
                    |number| format!("its tree of epoch {number} stays"),
                );
                no_tree(f, &format!("network {network}"), doubts, &stays)
            }
            ControllerAlarm::NobodyReports(epoch) => write!(
                f,
                "network: no agent reports any more, and no switch is listed, so nobody sees \
                 changes; {}; look at the agents",
                stays(*epoch)
            ),
            ControllerAlarm::Contradicted(standing) => write!(f, "{standing}"),
            ControllerAlarm::WrongRates(standing) => write!(f, "{standing}"),
            ControllerAlarm::Trouble(_, problem) => f.write_str(problem),
        }
    }
}

fn no_tree(
    f: &mut fmt::Formatter<'_>,
    network: &str,
    doubts: &[TreeDoubt],
    stays: &str,
) -> fmt::Result {
    let doubts: Vec<String> = doubts.iter().map(TreeDoubt::to_string).collect();
    let doubts = doubts.join("; ");
    write!(
        f,
        "{network}: there is no complete tree to plan on: {doubts}; {stays}"
    )
}

/// The consequence of a failure: what stays in force.
pub(crate) fn stays(epoch: Option<u64>) -> String {
    epoch.map_or_else(
        || "nothing is published yet".to_owned(),
        |number| format!("epoch {number} stays"),
    )
}

impl fmt::Display for KeptUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeptUntil::Settled => f.write_str("until its new place is certain and forwards"),
            KeptUntil::Heard(longest) => {
                write!(f, "until it hears a switch, or for {} s", longest.as_secs())
            }
            KeptUntil::Dropped(sign, after) => write!(
                f,
                "{sign}, so it is dropped {} s after it vanished",
                after.as_secs()
            ),
            KeptUntil::Unproven(why) => write!(f, "{why}, so it stays there: check host and cable"),
        }
    }
}

impl fmt::Display for AbsenceSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AbsenceSign::PortDown => "its port there is down",
            AbsenceSign::CardDown => "its card there is down",
            AbsenceSign::SwitchCutOff => {
                "that switch does not answer, and no link leads there from another one"
            }
        })
    }
}

impl fmt::Display for PresenceDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PresenceDoubt::PortUp { switch, port } => {
                write!(f, "port {port} of \"{switch}\" is up")
            }
            PresenceDoubt::Unread(switch) => {
                write!(f, "the interfaces of \"{switch}\" have not been read yet")
            }
            PresenceDoubt::SwitchSilent(switch) => write!(f, "switch \"{switch}\" does not answer"),
            PresenceDoubt::Untold => f.write_str("its agent does not tell where it is"),
        }
    }
}

impl fmt::Display for FlapAlarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlapAlarm {
            name,
            what,
            times,
            within,
            until,
        } = self;
        let (within, calm) = (
            within.as_millis().div_ceil(1000),
            format!("until it is calm, at the earliest at {} UTC", clock(*until)),
        );
        match what {
            FlapSubject::Trunk(.., epoch) => write!(
                f,
                "{name}: flaps, {times} times in {within} s; links between switches stay as in \
                 epoch {epoch} {calm}; check cable and ports"
            ),
            FlapSubject::Seat(_, host, epoch) => write!(
                f,
                "{name}: flaps, {times} times in {within} s; host \"{host}\" stays as in epoch \
                 {epoch} {calm}; check cable and ports"
            ),
            FlapSubject::Claim(_, epoch) => write!(
                f,
                "{name}: its agent changed the number of ranks or the address {times} times in \
                 {within} s; ranks and address stay as in epoch {epoch} {calm}; check the host \
                 and its agent"
            ),
            FlapSubject::Cluster(_, epoch) => write!(
                f,
                "{name}: changed {times} times in {within} s; it stays as in epoch {epoch} {calm}; \
                 check the host and its agent"
            ),
            FlapSubject::Answers(_) => write!(
                f,
                "{name}: flaps, fell silent {times} times in {within} s; its last answers stay in \
                 use while it is silent; this alarm stays {calm}; check the switch and the path \
                 to it"
            ),
        }
    }
}

/// The time of day, UTC.
fn clock(at: Millis) -> String {
    let seconds = at.0 / 1000 % 86_400;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}
