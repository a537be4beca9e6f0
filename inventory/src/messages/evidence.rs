//! Evidence for links: facts as types, with their words at the variant.
//!
//! In files and in the API the evidence for a link is its texts, in `evidence`, and beside them the code and
//! the arguments of each, in `facts`. A text alone, of another version, is [`Evidence::ReadBack`].

mod next_routers;

pub use next_routers::NextRouterProof;

use crate::config::name_ranges::fold;
use crate::messages::wording::{routed_hops, utc_minute};
use crate::messages::written::WrittenFact;
use crate::model::host_report::DiscoveryProtocol;
use crate::model::link_state::LinkState;
use crate::model::observation::{NeighbourId, StpState};
use crate::{BitsPerSec, Bytes, Mac, Millis};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use thiserror::Error;

/// The phrase for an operator's statement.
pub(crate) const STATED: &str = "stated in the inventory";

/// A port and the device it is on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Error, Serialize, Deserialize)]
#[error("{device} port {port}")]
pub struct DevicePort {
    /// The device's name.
    pub device: String,
    /// The port's name on the device.
    pub port: String,
}

/// The source of a statement about a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeighbourProtocol {
    /// IEEE 802.1AB.
    Lldp,
    /// Cisco's protocol.
    Cdp,
    /// A spanning tree frame (IEEE 802.1D).
    Stp,
}

/// The identifier by which a neighbour was recognized.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecognizedBy {
    #[error("chassis {0}")]
    Chassis(NeighbourId),
    /// One of its MAC addresses.
    #[error("MAC {0}")]
    Mac(Mac),
    /// Its system name.
    #[error("name {0}")]
    Name(String),
    /// Its system name, which its port and the databases of both ends confirm.
    #[error("name {0}, which the port and both databases confirm")]
    Witnessed(String),
    /// No identifier: it goes by the name that it announces.
    #[error("its own name")]
    OwnName,
}

/// A rate that no end of the link states.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssumedRate {
    #[error("neither end says it, 1G assumed")]
    Gigabit,
    /// The rate of the port before this bridge.
    #[error("that of the port before {0}; {0} does not say its own")]
    AsBefore(String),
    /// The rate of the slowest host.
    #[error("nothing says it, {0} assumed as the slowest host has")]
    AsSlowestHost(BitsPerSec),
    /// The rate of the fastest host on this switch.
    #[error("nothing says it; as fast as the fastest host on {0}, it is assumed")]
    AsFastestHost(String),
}

/// A finding of flows between hosts.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowFinding {
    /// Flows filled the trunk.
    #[error("flows between {hosts} hosts filled it {times} times, {}; {}", thousandths(*.probability), flows(*.rounds, *.moved, *.at))]
    Filled {
        /// How often, counted for each direction.
        times: u32,
        /// The probability of the trunk in thousandths.
        probability: u16,
        /// The hosts that took part.
        hosts: usize,
        /// The rounds of flows.
        rounds: u32,
        /// The bytes that they moved.
        moved: Bytes,
        /// The end of the measurement.
        at: Millis,
    },
    /// The cable leads to the bridge behind such a trunk.
    #[error("flows to the host cross the trunk to {0}")]
    Behind(String),
    /// Flows crossed the cable and never filled it, or nothing shows whether they did.
    #[error("flows between {hosts} hosts are not known to have filled it; {}", flows(*.rounds, *.moved, *.at))]
    NotFilled {
        /// The hosts that took part.
        hosts: usize,
        /// The rounds of flows.
        rounds: u32,
        /// The bytes that they moved.
        moved: Bytes,
        /// The end of the measurement.
        at: Millis,
    },
    /// Flows to and from the host reached this rate, on a cable whose rate no switch states.
    #[error("flows to and from the host reached {0}")]
    Reached(BitsPerSec),
    /// Flows to and from the host crossed the trunks as only a host here does.
    #[error("flows between {hosts} hosts tell that the host is here{}; {}; {}", of_nodes(.among), thousandths(*.probability), flows(*.rounds, *.moved, *.at))]
    #[serde(rename = "seat")]
    Attachment {
        /// The nodes on which it may be by what protocols say; empty if they say nothing.
        among: Vec<String>,
        /// The probability in thousandths.
        probability: u16,
        /// The hosts that took part.
        hosts: u32,
        /// The rounds of flows.
        rounds: u32,
        /// The bytes that they moved.
        moved: Bytes,
        /// The end of the measurement.
        at: Millis,
    },
}

/// The proof, from learned addresses, that two ports face each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FacingProof {
    /// Each device learned the other's own address there.
    #[error("each learned the other's address")]
    Both,
    /// One of the devices learned the other's own address there.
    #[error("one learned the other's address")]
    One,
    /// Neither did; the stations on either side are the proof.
    #[error("neither learned the other's address")]
    Stations,
}

/// The name of a designated bridge that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SilentBridge {
    /// It is known by this address.
    #[error("{0} ({1})")]
    Known(String, Mac),
    /// The address is unknown, and this is the only missing switch.
    #[error("{1}, and {0} is all that is missing,")]
    OnlyMissing(String, Mac),
    /// The address is unknown.
    #[error("{0}")]
    Unknown(Mac),
}

/// The reason why a host stays at its place in an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeptReason {
    /// Its link goes down again and again.
    #[error("its link flaps")]
    LinkFlaps,
    /// It has no place now.
    #[error("the host is seen nowhere now")]
    SeenNowhere,
}

/// The role of a link beside others.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideBySide {
    /// One of several ways without a bridge, over these switches.
    #[error("no spanning tree and nothing bridged: flows spread over the ways through {}", fold(.0.clone()))]
    Routed(Vec<String>),
    /// A cable to one of two switches that act as one.
    #[error("{} and {} act as one switch: flows spread over the cables to both", .0[0], .0[1])]
    AtPair([String; 2]),
    /// The cable between two switches that act as one.
    #[error("{} and {} act as one switch", .0[0], .0[1])]
    WithinPair([String; 2]),
    /// One of so many cables of an aggregate that no table names.
    #[error(
        "{0} cables of one rate side by side, outside the spanning tree that both ends run: members of an aggregate"
    )]
    Members(usize),
    /// One of so many cards of a host.
    #[error("one of the host's {0} cards on switches that a fabric joins")]
    Cards(usize),
}

/// A fact about a link.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "code", content = "arguments", rename_all = "kebab-case")]
pub enum Evidence {
    /// The operator states the link in the inventory.
    #[error("{STATED}")]
    Stated,
    /// The operator states it in a topology file.
    #[error("stated in a topology file")]
    InTopologyFile,
    /// The operator states the state of the link.
    #[error("{0}: {STATED}")]
    StateStated(LinkState),
    /// The operator states that this bridge is in between.
    #[error("behind {0}: {STATED}")]
    BehindBridge(String),
    /// Flows between hosts measured it.
    #[error("measured: {0}")]
    Measured(FlowFinding),
    /// No end states the rate.
    #[error("rate: {0}")]
    Rate(AssumedRate),
    #[error("port {} of {} is down", .0.port, .0.device)]
    PortDown(DevicePort),
    /// A device names its neighbour.
    #[error("{protocol}: {} names {neighbour} by {by}{}{}", .at.short(), if_so(*.stale, ", as last seen"), if_so(*.down, ", but the port is down"))]
    Names {
        protocol: NeighbourProtocol,
        /// The device that names, and its port.
        at: DevicePort,
        neighbour: String,
        /// The identifier by which the neighbour was recognized.
        by: RecognizedBy,
        /// True if the device no longer answers.
        stale: bool,
        /// True if the port is down.
        down: bool,
    },
    /// A host hears a switch.
    #[error("{protocol}: {} hears {}{}{}", .at.short(), .from.short(), recognized(.by.as_ref()), if_so(*.old, ", as last heard"))]
    Hears {
        protocol: NeighbourProtocol,
        /// The host and its card.
        at: DevicePort,
        /// The switch and its port.
        from: DevicePort,
        /// The identifier of the switch, if the frame does not carry its address.
        by: Option<RecognizedBy>,
        /// True if the host is silent by now.
        old: bool,
    },
    /// A device does not name another that names it.
    #[error("{device} does not name {other} back")]
    NotNamedBack {
        /// The device that could name the other.
        device: String,
        /// The other device.
        other: String,
    },
    /// A device does not answer, so it neither confirms nor denies.
    #[error("{0} does not answer, so it neither confirms nor denies this")]
    Unanswering(String),
    /// Neither of two devices answers, and no device names one of them.
    #[error(
        "neither {hidden} nor {unnamed} answers, and nobody names {unnamed}: it may be behind {hidden}"
    )]
    BehindPossible {
        /// The device that others name.
        hidden: String,
        /// The device that no other names.
        unnamed: String,
    },
    /// A port also names a further device, which does not confirm it.
    #[error("{} also names {named}, which nobody confirms", .at.short())]
    AlsoNames {
        at: DevicePort,
        /// The device that is named.
        named: String,
    },
    /// A port also names this port, whose device does not confirm it.
    #[error("{} also names {}, which {} does not confirm", .at.short(), .named.short(), .named.device)]
    NamedUnconfirmed {
        /// The port that names.
        at: DevicePort,
        /// The port that is named.
        named: DevicePort,
    },
    /// Stations of other places are learned at the port.
    #[error("FDB: others are learned on {}, who are elsewhere", .0.short())]
    OthersLearned(DevicePort),
    /// Other hosts may be at the port.
    #[error("FDB: others may be on {}, too", .0.short())]
    OthersPossible(DevicePort),
    /// A host's addresses were learned at a port that leads to no other switch.
    #[error("FDB: {} learned {} on edge port {}{}", .at.device, joined(.macs, " or "), .at.port, if_so(*.stale, ", as last seen"))]
    LearnedAtEdge {
        at: DevicePort,
        /// The host's addresses.
        macs: Vec<Mac>,
        /// True if the device no longer answers.
        stale: bool,
    },
    /// The host was learned in the direction of a silent device.
    #[error(
        "FDB: those who learned {host} have it beyond their own ports, where {silent} is or may be"
    )]
    LearnedBeyond {
        host: String,
        /// The silent device.
        silent: String,
    },
    /// The device forwards nothing through this port of its own, by which it is managed.
    #[error("{} is no bridge port, and only {} itself is behind it: it forwards nothing there", .0.short(), .0.device)]
    OwnPort(DevicePort),
    /// The host's card is in this VLAN, and others on the same switches are in others.
    #[error("its port is in VLAN {0}")]
    InVlan(u16),
    /// The state of the link in this VLAN, where it differs from that of others.
    #[error("STP: {1} in VLAN {0}")]
    StateInVlan(u16, LinkState),
    /// The number of hosts that are learned at one port.
    #[error("{0} hosts on one port")]
    HostsOnPort(usize),
    /// The network that the host shares with others, where the inventory lists no switch.
    #[error("in network {0}; no switch is listed")]
    SharesNetwork(String),
    /// Several cables of a host that form one link.
    #[error("LAG: {cables} cables of {}{}", .bond.as_deref().unwrap_or("one aggregate"), if_so(!.aggregated, "; the switch names no aggregate, so they count as one cable"))]
    HostBond {
        /// The number of cables.
        cables: usize,
        /// The host's name for it.
        bond: Option<String>,
        /// True if the switch has an aggregate of them.
        aggregated: bool,
    },
    /// Cables between two aggregates.
    #[error("LAG: {cables} cables between {} {} and {} {}", .a.0, .a.1.as_deref().unwrap_or("(not said)"), .b.0, .b.1.as_deref().unwrap_or("(not said)"))]
    Aggregate {
        /// The number of cables.
        cables: usize,
        /// One end, and the aggregate's name there, if it is known.
        a: (String, Option<String>),
        /// The other end.
        b: (String, Option<String>),
    },
    /// The members of an aggregate are matched by a guess.
    #[error("LAG: which member is joined to which is not told; matched in the ports' order")]
    MembersGuessed,
    /// The spanning tree states at the ends.
    #[error("STP: {}", states(.0))]
    PortStates(Vec<(DevicePort, StpState)>),
    /// There is no other path, so the link forwards.
    #[error("STP: not said at both ends, but there is no other way")]
    OnlyWay,
    /// Stations are learned over it, and over other links that join all switches without a loop.
    #[error("FDB: stations are learned over it, and the links like it are a tree")]
    StationsCross,
    /// No end learned anybody over it, although other links join its ends.
    #[error("FDB: neither end learned anybody over it, and each has all hosts over other links")]
    NobodyCrosses,
    /// No traced flow takes it, so that routes do not lead over it.
    #[error("traced: none of {flows} flows from {from} to {to} takes it")]
    Untraversed {
        flows: u32,
        from: String,
        to: String,
    },
    /// Flows spread over it and others.
    #[error("{0}")]
    SideBySide(SideBySide),
    /// A router's link: spanning tree does not cross it.
    #[error("routed: no spanning tree across")]
    Routed,
    /// A router's link, although packets may take another path.
    #[error("routed: there is another way, and nothing tells which one packets take")]
    RoutedElsewhere,
    /// A station was learned between two ports that name each other.
    #[error("FDB: {mac} was learned between {} and {}, as if something stood there", .ends[0].short(), .ends[1].short())]
    LearnedBetween {
        /// The station.
        mac: Mac,
        /// The two ports.
        ends: [DevicePort; 2],
    },
    /// The forwarding database of a bridge has the ends of a claimed cable behind two of its ports.
    #[error("FDB: {} has {} behind {} and {} behind {}, so it stands between them", .ports[0].device, .ends[0], .ports[0].port, .ends[1], .ports[1].port)]
    BridgeBetween {
        ports: [DevicePort; 2],
        /// The node behind each of them.
        ends: [String; 2],
    },
    /// A device has learned a node behind another port than the one of a claimed cable.
    #[error("FDB: {} has {node} behind another port than {}", .at.device, .at.port)]
    LearnedElsewhere {
        /// The port that the claim names.
        at: DevicePort,
        node: String,
    },
    /// Spanning tree names a third bridge at a port of a cable.
    #[error("STP: {} names {bridge} as the designated bridge, as if something stood between", .at.short())]
    ThirdDesignated {
        at: DevicePort,
        /// The third bridge: its name, or else its address.
        bridge: String,
    },
    /// Two ports face each other by their forwarding databases.
    #[error("FDB: {} and {} face each other: {proof}; {} stations on the one side, {} on the other{}", .ends[0], .ends[1], .sides.0, .sides.1, between_them(*.between))]
    Facing {
        /// The ports, or the names of nodes in the place of an unknown port.
        ends: [String; 2],
        proof: FacingProof,
        /// The number of stations on either side.
        sides: (usize, usize),
        /// The number of stations that were learned between them.
        between: usize,
    },
    /// These devices may be between two ports that face each other.
    #[error("FDB: {} may stand between, nothing says so or not", .0.join(" or "))]
    BetweenPossible(Vec<String>),
    /// A port that routes has another behind it.
    #[error("{}", .by.between(.at, .to))]
    NextRouter {
        at: DevicePort,
        /// The port behind it.
        to: DevicePort,
        by: NextRouterProof,
    },
    /// Spanning tree names a port as the designated one.
    #[error("STP: {} names {} as the designated port", .at.short(), .designated.short())]
    DesignatedPort {
        /// The port that names it.
        at: DevicePort,
        designated: DevicePort,
    },
    /// Spanning tree names a bridge that does not answer as the designated one.
    #[error("STP: {} names {bridge} as the designated bridge", .at.short())]
    DesignatedBridge {
        /// The port that names it.
        at: DevicePort,
        bridge: SilentBridge,
    },
    /// Packets pass routers from one host to another.
    #[error("{} from {from} to {to}", routed_hops(.hops))]
    RoutedHops {
        /// The routers; `None` for one that does not answer.
        hops: Vec<Option<IpAddr>>,
        /// The host that probed.
        from: String,
        /// The host that was probed.
        to: String,
    },
    /// The place of a router is assumed.
    #[error("its place on this side is assumed")]
    PlaceAssumed,
    /// The host stays as in an epoch.
    #[error("as in epoch {epoch}; {because}")]
    Kept { epoch: u64, because: KeptReason },
    /// The text read from a file.
    #[error("{0}")]
    ReadBack(String),
}

impl DevicePort {
    /// The port of this name on this device.
    pub fn new(device: impl Into<String>, port: impl Into<String>) -> DevicePort {
        DevicePort {
            device: device.into(),
            port: port.into(),
        }
    }

    /// The two words that name it.
    pub(crate) fn short(&self) -> String {
        format!("{} {}", self.device, self.port)
    }
}

impl Evidence {
    /// True if a link with it carries no frames, since one of its ends is a device's own port.
    pub fn is_of_own_port(&self) -> bool {
        matches!(self, Evidence::OwnPort(_))
    }

    /// True if one end of a cable states this about itself or about the other; it then belongs to
    /// that end.
    pub fn concerns(&self, node: &str) -> bool {
        let ends = if let Evidence::Names {
            at,
            neighbour: named,
            ..
        }
        | Evidence::AlsoNames { at, named } = self
        {
            [&at.device, named]
        } else if let Evidence::NotNamedBack { device, other } = self {
            [device, other]
        } else if let Evidence::NamedUnconfirmed { at, named } = self {
            [&at.device, &named.device]
        } else if let Evidence::Unanswering(device) = self {
            [device, device]
        } else {
            return false;
        };
        ends.iter().any(|end| *end == node)
    }
}

impl WrittenFact for Evidence {
    const TEXTS: &'static str = "evidence";
    const MAY_BE_LEFT_OUT: bool = false;

    fn of_text(text: String) -> Evidence {
        Evidence::ReadBack(text)
    }
}

impl From<DiscoveryProtocol> for NeighbourProtocol {
    fn from(protocol: DiscoveryProtocol) -> NeighbourProtocol {
        match protocol {
            DiscoveryProtocol::Lldp => NeighbourProtocol::Lldp,
            DiscoveryProtocol::Cdp => NeighbourProtocol::Cdp,
        }
    }
}

impl fmt::Display for NeighbourProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            NeighbourProtocol::Lldp => "LLDP",
            NeighbourProtocol::Cdp => "CDP",
            NeighbourProtocol::Stp => "STP",
        })
    }
}

pub(crate) fn joined<T: ToString>(items: impl IntoIterator<Item = T>, between: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(between)
}

fn if_so(is_so: bool, words: &str) -> &str {
    if is_so { words } else { "" }
}

fn recognized(by: Option<&RecognizedBy>) -> String {
    by.map(|by| format!(" by {by}")).unwrap_or_default()
}

fn thousandths(probability: u16) -> String {
    let (whole, part) = (probability / 1000, probability % 1000);
    format!("probability {whole}.{part:03}")
}

fn flows(rounds: u32, moved: Bytes, at: Millis) -> String {
    let (megabytes, at) = (moved.0 as f64 / 1e6, utc_minute(at));
    format!("{rounds} rounds, {megabytes:.1} MB, {at}")
}

fn of_nodes(nodes: &[String]) -> String {
    match nodes {
        [] => String::new(),
        nodes => format!(", among {}", nodes.join(", ")),
    }
}

fn between_them(stations: usize) -> String {
    match stations {
        0 => String::new(),
        n => format!(", {n} between: something unmanaged may stand there"),
    }
}

fn states(ends: &[(DevicePort, StpState)]) -> String {
    joined(
        ends.iter()
            .map(|(at, state)| format!("{} {state}", at.short())),
        ", ",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_within_another_name_is_not_meant() {
        let back = Evidence::NotNamedBack {
            device: "s10".into(),
            other: "s2".into(),
        };
        assert!(back.concerns("s10") && back.concerns("s2") && !back.concerns("s1"));
    }
}
