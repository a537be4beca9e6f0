//! What the controller itself has to tell an operator, beside what the inference found. The words
//! exist in `Display` only.
use super::tree_doubt::TreeDoubt;
use super::trouble::TroubleArea;
use api::AlarmLine;
use inventory::alarm::AlarmSubject;
use inventory::{Mac, Millis};
use std::fmt;
use std::time::Duration;

/// Something the controller tells an operator.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ControllerAlarm {
    /// A host that is not where an epoch has it stays there.
    HostKept {
        /// The host.
        host: String,
        /// Whether it is seen somewhere, but at no place that is certain and forwards.
        elsewhere: bool,
        /// The epoch.
        epoch: u64,
        /// The switch it stays on.
        switch: String,
        /// What it waits for.
        until: KeptUntil,
    },
    /// Something is lost again and again.
    Flaps(FlapAlarm),
    /// Two machines report as one host; the first card of each.
    TwoMachines(String, [Option<Mac>; 2]),
    /// There is no tree to plan on, and what stays: an epoch, or nothing.
    NoTree(Vec<TreeDoubt>, Option<u64>),
    /// Something the controller does goes wrong: object, place, problem, consequence, hint.
    Trouble(TroubleArea, String),
}

/// How long a host stays where it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeptUntil {
    /// Until its new place is certain and forwards.
    Settled,
    /// It is dropped so long after it vanished: its port is down.
    Dropped(Duration),
    /// For ever: nothing shows that it is gone.
    Unproven(PresenceDoubt),
}

/// Why it is not certain that a host is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PresenceDoubt {
    /// Its port is up.
    PortUp {
        /// The switch.
        switch: String,
        /// The port.
        port: String,
    },
    /// The interfaces of its switch were not read yet.
    Unread(String),
    /// Its switch does not answer.
    SwitchSilent(String),
}

/// What flaps, how often, and until when it is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlapAlarm {
    /// Its name for operators.
    pub(crate) name: String,
    pub(crate) what: FlapSubject,
    pub(crate) times: u32,
    pub(crate) within: Duration,
    pub(crate) until: Millis,
}

/// What flaps, and the epoch it stays as in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlapSubject {
    /// A link between two switches.
    Trunk(String, String, u64),
    /// The link of a switch to a host.
    Seat(String, String, u64),
    /// What a host's agent says.
    Claim(String, u64),
    /// A host's cluster.
    Cluster(String, u64),
    /// A switch's answers.
    Answers(String),
}

impl ControllerAlarm {
    /// As viewers have it.
    pub(crate) fn line(&self) -> AlarmLine {
        AlarmLine {
            about: self.about(),
            text: self.to_string(),
        }
    }

    fn about(&self) -> String {
        match self {
            ControllerAlarm::HostKept { host, .. } | ControllerAlarm::TwoMachines(host, _) => {
                host.clone()
            }
            ControllerAlarm::NoTree(..) => AlarmSubject::Network.to_string(),
            ControllerAlarm::Trouble(area, _) => area.to_string(),
            ControllerAlarm::Flaps(flap) => match &flap.what {
                FlapSubject::Trunk(a, b, _) | FlapSubject::Seat(a, b, _) => {
                    AlarmSubject::between(a, b).to_string()
                }
                FlapSubject::Claim(name, _)
                | FlapSubject::Cluster(name, _)
                | FlapSubject::Answers(name) => name.clone(),
            },
        }
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
            ControllerAlarm::NoTree(doubts, epoch) => {
                let doubts: Vec<String> = doubts.iter().map(TreeDoubt::to_string).collect();
                write!(
                    f,
                    "network: no whole tree to plan on: {}; {}",
                    doubts.join("; "),
                    stays(*epoch)
                )
            }
            ControllerAlarm::Trouble(_, problem) => f.write_str(problem),
        }
    }
}

/// What is in force while something goes wrong.
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
            KeptUntil::Dropped(after) => write!(
                f,
                "its port there is down, so it is dropped {} s after it vanished",
                after.as_secs()
            ),
            KeptUntil::Unproven(why) => write!(f, "{why}, so it stays there: check host and cable"),
        }
    }
}

impl fmt::Display for PresenceDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PresenceDoubt::PortUp { switch, port } => {
                write!(f, "port {port} of \"{switch}\" is up")
            }
            PresenceDoubt::Unread(switch) => {
                write!(f, "the interfaces of \"{switch}\" were not read yet")
            }
            PresenceDoubt::SwitchSilent(switch) => write!(f, "switch \"{switch}\" does not answer"),
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
            format!("until it was calm, not before {} UTC", clock(*until)),
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
                "{name}: its agent says another number of ranks or another address again and \
                 again, {times} times in {within} s; what epoch {epoch} has stays {calm}; check \
                 the host and its agent"
            ),
            FlapSubject::Cluster(_, epoch) => write!(
                f,
                "{name}: is another one again and again, {times} times in {within} s; what epoch \
                 {epoch} has stays {calm}; check the host and its agent"
            ),
            FlapSubject::Answers(_) => write!(
                f,
                "{name}: answers on and off, fell silent {times} times in {within} s; what it \
                 said last stays in use while it is silent, and this is told {calm}; check the \
                 switch and the way to it"
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
