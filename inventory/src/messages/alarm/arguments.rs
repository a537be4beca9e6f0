//! The arguments of alarms that are more than names and numbers, with their words at the variant.
use super::AlarmSubject;
use crate::messages::evidence::{DevicePort, Evidence, joined};
use crate::messages::wording::{counted, end_name};
use crate::model::tree::TreeError;
use crate::model::units::milliseconds;
use crate::{Mac, Millis};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use thiserror::Error;

/// A switch or a host that the inventory knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Error, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamedNode {
    #[error("switch \"{0}\"")]
    Switch(String),
    #[error("host \"{0}\"")]
    Host(String),
}

/// The reason why a host's statement about its place is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostElsewhere {
    /// The switch hears these nodes at that port.
    #[error("that switch hears {} there", joined(.0, " and "))]
    Taken(Vec<NamedNode>),
    /// Switches see the host at these ports.
    #[error("switches see it on {}", joined(.0, " and "))]
    Seen(Vec<DevicePort>),
}

/// A place where a host may be.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostPlace {
    #[error("{0}")]
    At(DevicePort),
    /// Behind this switch, which does not answer.
    #[error("{0}, which does not answer,")]
    Behind(String),
}

/// The reason that a host is not found.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostNotFound {
    /// No device announces its name, and none of its addresses is known.
    #[error(
        "no LLDP under this name; check host and cable, or state its mac so that forwarding tables can tell"
    )]
    NoName,
    /// Its addresses are in no table.
    #[error("neither LLDP nor any forwarding table knows it; check host and cable")]
    Unlearned,
    /// Its addresses were learned at these ports only, which lead to other switches.
    #[error("learned only on trunk ports ({}); its own switch says nothing of it", short(.0))]
    TrunksOnly(Vec<DevicePort>),
    /// The inventory lists no switch, and no card of the host is in a network with another host.
    #[error(
        "no agent reports an address of it in a network with another host, and the inventory lists no \
         switch; look at its agent and its card"
    )]
    SharesNoNetwork,
}

/// The evidence against a measured trunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeasuredConflict {
    /// It would part hosts that managed switches have behind one port.
    #[error("managed switches have them at several places")]
    Protocols,
    /// It would part hosts that the operator states to be on one bridge.
    #[error("the inventory states one bridge for them")]
    Operator,
}

/// The end of keeping a host in a place where it is not seen.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeptUntil {
    /// Until its new place is certain and forwards.
    #[error("until its new place is certain and forwards")]
    Settled,
    /// Until it hears a switch, but not longer than this.
    #[error("until it hears a switch, or for {} s", .0.as_secs())]
    Heard(#[serde(with = "milliseconds")] Duration),
    /// Until so long after it vanished. Then it is dropped.
    #[error("{}, so it is dropped {} s after it vanished", .0, .1.as_secs())]
    Dropped(AbsenceSign, #[serde(with = "milliseconds")] Duration),
    /// Without end: there is no evidence that it is gone.
    #[error("{0}, so it stays there: check host and cable")]
    Unproven(PresenceDoubt),
}

/// The sign that a host is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbsenceSign {
    #[error("its port there is down")]
    PortDown,
    /// Its switch does not answer, and no link leads there from another switch.
    #[error("that switch does not answer, and no link leads there from another one")]
    SwitchCutOff,
    /// No switch is listed, and its agent says that its card is down.
    #[error("its card there is down")]
    CardDown,
}

/// The reason why it is not certain that a host is gone.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PresenceDoubt {
    #[error("port {} of \"{}\" is up", .0.port, .0.device)]
    PortUp(DevicePort),
    /// The interfaces of its switch have not been read yet.
    #[error("the interfaces of \"{0}\" have not been read yet")]
    Unread(String),
    /// Its switch does not answer.
    #[error("switch \"{0}\" does not answer")]
    SwitchSilent(String),
    /// No switch was listed, or is, and nobody tells where it is.
    #[error("its agent does not tell where it is")]
    Untold,
}

/// How often a part of the network was lost, and until when it is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlapCount {
    /// The name of the part for operators.
    pub name: String,
    /// Its losses.
    pub times: u32,
    /// The time in which they were.
    #[serde(with = "milliseconds")]
    pub within: Duration,
    /// The earliest end.
    pub until: Millis,
}

/// One reason why there is no tree to plan on.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeDoubt {
    /// It is not certain that a link between switches carries frames.
    #[error("link {0}-{1}: {2}")]
    Link(String, String, LinkDoubt),
    /// No forwarding link leads from one host to others.
    #[error(
        "no forwarding link leads from \"{from}\" to {}; if a router that cannot be asked joins them, \
         state it under routers, and its cables under links, in the inventory",
        .lost.join(", ")
    )]
    CutOff {
        /// The host.
        from: String,
        /// The others.
        lost: Vec<String>,
    },
    /// The forwarding links do not make a tree.
    #[error("{0}")]
    Torn(TreeError),
    /// A link between switches flaps, so the links of this epoch stay; with them there are these
    /// reasons.
    #[error(
        "a link between switches flaps; with the links of epoch {} there is no tree either: {}",
        .0,
        joined(.1, "; ")
    )]
    Frozen(u64, Vec<TreeDoubt>),
    /// Before the first epoch: a switch does not answer.
    #[error("switch \"{0}\" does not answer")]
    SwitchSilent(String),
    /// Before the first epoch: a host is not seen.
    #[error("host \"{0}\" is not seen yet")]
    HostUnseen(String),
}

/// The reason why it is not certain that a link carries frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkDoubt {
    /// A port at one of its ends listens or learns.
    #[error("a port listens or learns")]
    InTransition,
    /// Neither end states whether the link forwards.
    #[error("its ends do not say whether it forwards")]
    Unsaid,
    /// The link may not exist.
    #[error("more than one reading fits the evidence")]
    Ambiguous,
}

/// A cable that behaves as if it had moved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Error, Serialize, Deserialize)]
pub enum SuspectedMove {
    /// A host hangs on another switch.
    #[error("host \"{host}\" behaves as if it were plugged into switch \"{to}\"")]
    Host {
        host: String,
        /// The switch.
        to: String,
    },
    /// A trunk leads to another switch.
    #[error(
        "the cable between switches \"{switch}\" and \"{from}\" behaves as if it led from \"{switch}\" to \
         \"{to}\""
    )]
    Trunk {
        /// The switch at the end that stays.
        switch: String,
        /// The switch at the other end on the published tree.
        from: String,
        /// The one that it seems to lead to.
        to: String,
    },
}

impl SuspectedMove {
    /// The host, or the switches of the cable, that seems to have moved.
    pub fn subject(&self) -> AlarmSubject {
        match self {
            SuspectedMove::Host { host, .. } => AlarmSubject::node(host),
            SuspectedMove::Trunk { switch, from, .. } => AlarmSubject::between(switch, from),
        }
    }
}

impl FlapCount {
    pub(super) fn often(&self) -> String {
        let seconds = self.within.as_millis().div_ceil(1000);
        format!("{} times in {seconds} s", self.times)
    }

    pub(super) fn calm(&self) -> String {
        let seconds = self.until.0 / 1000 % 86_400;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        format!(
            "until it is calm, at the earliest at {hours:02}:{minutes:02}:{:02} UTC",
            seconds % 60
        )
    }
}

/// The consequence of a failure: what stays in force.
pub fn stays(epoch: Option<u64>) -> String {
    epoch.map_or_else(
        || "nothing is published yet".to_owned(),
        |number| format!("epoch {number} stays"),
    )
}

/// The same for a network that jobs use beside the main one.
pub(super) fn further_stays(epoch: Option<u64>) -> String {
    epoch.map_or_else(
        || "jobs that use it have no schedules".to_owned(),
        |number| format!("its tree of epoch {number} stays"),
    )
}

/// The text after the first of so many links with wrong rates.
pub fn and_more_links(links: usize) -> String {
    match links {
        0 | 1 => String::new(),
        2 => ", and 1 link more is as wrong or less".to_owned(),
        n => format!(", and {} links more are as wrong or less", n - 1),
    }
}

/// The most moves that are named beside the best one.
const MOST_LISTED: usize = 3;

/// The moves that explain the rates of so many pairs of hosts, the best first.
pub fn moved(moves: &[SuspectedMove], pairs: usize) -> String {
    let named = &moves[..moves.len().min(1 + MOST_LISTED)];
    let more = match moves.len() - named.len() {
        0 => String::new(),
        more => format!(", or one of {more} other cables moved"),
    };
    let slow = match pairs {
        1 => "1 pair of hosts is slowed down as it would be then".to_owned(),
        pairs => format!("{pairs} pairs of hosts slow each other down as they would then"),
    };
    format!("{}{more}: {slow}", joined(named, ", or "))
}

/// Ports in two words each.
pub(super) fn short(ports: &[DevicePort]) -> String {
    joined(ports.iter().map(DevicePort::short), ", ")
}

/// One of the nodes that a subject names, or the subject.
pub(super) fn node(about: &AlarmSubject, number: usize) -> String {
    let node = about.nodes().get(number).map(|node| (*node).to_owned());
    node.unwrap_or_else(|| about.to_string())
}

/// Both nodes of a link.
pub(super) fn both(about: &AlarmSubject) -> String {
    match about {
        AlarmSubject::Between(a, b) => format!("{a} and {b}"),
        AlarmSubject::Node(name) | AlarmSubject::Other(name) => name.clone(),
    }
}

pub(super) fn quoted(names: &[String]) -> String {
    joined(names.iter().map(|name| format!("\"{name}\"")), ", ")
}

pub(super) fn owner(owner: Option<&NamedNode>, several: &str) -> String {
    owner.map_or_else(|| several.to_owned(), NamedNode::to_string)
}

/// The first card of one of two machines.
pub(super) fn card(card: Option<Mac>) -> String {
    card.map(|mac| mac.to_string()).unwrap_or_default()
}

/// The places where a host may be.
pub(super) fn seen(places: &[HostPlace]) -> String {
    match places {
        [one] => format!("seen behind {one}, which leads to another switch"),
        several => format!("seen on {}", joined(several, " and ")),
    }
}

/// How the hosts of a network are joined where the inventory lists no switch.
pub(super) fn on_bridges(switches: usize) -> String {
    match switches {
        0 => "so all its hosts are on one unmanaged bridge, and the rates behind it are not known"
            .to_owned(),
        switches => format!(
            "and hosts hear {}; how they are joined, and the rates between them, are not known",
            counted(switches, "switch")
        ),
    }
}

/// True if flows can find trunks between so many hosts: there are some to find, and not too many hosts.
pub fn are_measurable(hosts: usize) -> bool {
    (3..=124).contains(&hosts)
}

/// The hint for hosts on one bridge that nobody asked.
pub(super) fn measurable(are_measurable: bool) -> &'static str {
    match are_measurable {
        true => ": `heddle map --controller` measures them",
        false => "",
    }
}

/// The rule that applies where there is evidence against a cable.
pub(super) fn doubted(why: &Evidence) -> &'static str {
    if let Evidence::BridgeBetween { .. } = why {
        "no cable between them is shown: that bridge passes LLDP on"
    } else {
        "LLDP's word stands as inferred: look for a bridge between them that passes LLDP on"
    }
}

/// An end of a link, with its port if that is known.
pub(super) fn end(at: &DevicePort) -> String {
    end_name(&at.device, &at.port)
}
