//! Evidence for links: facts as types. Their texts exist in `Display` only.
//!
//! In files a piece of evidence is its text. A text that is read back becomes
//! [`Evidence::ReadBack`], except for the few facts that decisions depend on.
mod text;

use crate::host_report::DiscoveryProtocol;
use crate::observation::{NeighbourId, StpState};
use crate::topology::LinkState;
use crate::{BitsPerSec, Bytes, Mac, Millis};
use serde::{Deserialize, Serialize, Serializer};
use std::net::IpAddr;

/// The phrase that begins or ends the text of an operator's statement.
pub(crate) const STATED: &str = "stated in the inventory";

/// The beginning of the text that states an assumed rate.
const RATE: &str = "rate: ";

/// The beginning of the text of a flow's finding.
const MEASURED: &str = "measured: ";

/// A port and the device it is on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePort {
    /// The device's name.
    pub device: String,
    /// The port's name on the device.
    pub port: String,
}

/// The source of a statement about a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeighbourProtocol {
    /// IEEE 802.1AB.
    Lldp,
    /// Cisco's protocol.
    Cdp,
    /// A spanning tree frame (IEEE 802.1D).
    Stp,
}

/// The identifier by which a neighbour was recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecognizedBy {
    /// Its chassis ID.
    Chassis(NeighbourId),
    /// One of its MAC addresses.
    Mac(Mac),
    /// Its system name.
    Name(String),
    /// Its system name, which its port and the databases of both ends confirm.
    Witnessed(String),
    /// No identifier: it goes by the name that it announces.
    OwnName,
}

/// A rate that no end of the link states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssumedRate {
    /// A gigabit.
    Gigabit,
    /// The rate of the port before this bridge.
    AsBefore(String),
    /// The rate of the slowest host.
    AsSlowestHost(BitsPerSec),
    /// The rate of the fastest host on this switch.
    AsFastestHost(String),
    /// The text read from a file.
    ReadBack(String),
}

/// A finding of flows between hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowFinding {
    /// Flows filled the trunk.
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
    Behind(String),
    /// Flows crossed the cable and never filled it, or it could not be told.
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
    Reached(BitsPerSec),
    /// Flows to and from the host crossed the trunks as only a host here does.
    Seat {
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
    /// The text read from a file.
    ReadBack(String),
}

/// The proof, from learned addresses, that two ports face each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FacingProof {
    /// Each device learned the other's own address there.
    Both,
    /// One of the devices learned the other's own address there.
    One,
    /// Neither did; the stations on either side are the proof.
    Stations,
}

/// The name of a designated bridge that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SilentBridge {
    /// It is known by this address.
    Known(String, Mac),
    /// The address is unknown, and this is the only missing switch.
    OnlyMissing(String, Mac),
    /// The address is unknown.
    Unknown(Mac),
}

/// The reason why a host stays at its place in an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptReason {
    /// Its link goes down again and again.
    LinkFlaps,
    /// It has no place now.
    SeenNowhere,
}

/// What a link is beside others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SideBySide {
    /// One of several ways without a bridge, over these switches.
    Routed(Vec<String>),
    /// A cable to one of two switches that act as one.
    AtPair([String; 2]),
    /// The cable between two switches that act as one.
    WithinPair([String; 2]),
    /// One of so many cables of an aggregate that no table names.
    Members(usize),
    /// One of so many cards of a host.
    Cards(usize),
}

/// A fact about a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The operator states the link in the inventory.
    Stated,
    /// The operator states it in a topology file.
    InTopologyFile,
    /// The operator states the state of the link.
    StateStated(LinkState),
    /// The operator states that this bridge is in between.
    BehindBridge(String),
    /// Flows between hosts measured it.
    Measured(FlowFinding),
    /// No end states the rate.
    Rate(AssumedRate),
    /// The port is down.
    PortDown(DevicePort),
    /// A device names its neighbour.
    Names {
        /// The protocol.
        protocol: NeighbourProtocol,
        /// The device that names, and its port.
        at: DevicePort,
        /// The neighbour.
        neighbour: String,
        /// The identifier by which the neighbour was recognized.
        by: RecognizedBy,
        /// True if the device no longer answers.
        stale: bool,
        /// True if the port is down.
        down: bool,
    },
    /// A host hears a switch.
    Hears {
        /// The protocol.
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
    NotNamedBack {
        /// The device that could name the other.
        device: String,
        /// The other device.
        other: String,
    },
    /// A device does not answer, so it neither confirms nor denies.
    Unanswering(String),
    /// Neither of two devices answers, and no device names one of them.
    BehindPossible {
        /// The device that others name.
        hidden: String,
        /// The device that no other names.
        unnamed: String,
    },
    /// A port also names a further device, which does not confirm it.
    AlsoNames {
        /// The port.
        at: DevicePort,
        /// The device that is named.
        named: String,
    },
    /// A port also names this port, whose device does not confirm it.
    NamedUnconfirmed {
        /// The port that names.
        at: DevicePort,
        /// The port that is named.
        named: DevicePort,
    },
    /// Stations of other places are learned at the port.
    OthersLearned(DevicePort),
    /// Other hosts may be at the port.
    OthersPossible(DevicePort),
    /// A host's addresses were learned at a port that leads to no other switch.
    LearnedAtEdge {
        /// The port.
        at: DevicePort,
        /// The host's addresses.
        macs: Vec<Mac>,
        /// True if the device no longer answers.
        stale: bool,
    },
    /// The host was learned in the direction of a silent device.
    LearnedBeyond {
        /// The host.
        host: String,
        /// The silent device.
        silent: String,
    },
    /// The device forwards nothing through this port of its own, by which it is managed.
    OwnPort(DevicePort),
    /// The host's card is in this VLAN, and others on the same switches are in others.
    InVlan(u16),
    /// The state of the link in this VLAN, where it differs from that of others.
    StateInVlan(u16, LinkState),
    /// The number of hosts that are learned at one port.
    HostsOnPort(usize),
    /// The network that the host shares with others, where the inventory lists no switch.
    SharesNetwork(String),
    /// Several cables of a host that form one link.
    HostBond {
        /// The number of cables.
        cables: usize,
        /// The host's name for it.
        bond: Option<String>,
        /// True if the switch has an aggregate of them.
        aggregated: bool,
    },
    /// Cables between two aggregates.
    Aggregate {
        /// The number of cables.
        cables: usize,
        /// One end, and the aggregate's name there, if it is known.
        a: (String, Option<String>),
        /// The other end.
        b: (String, Option<String>),
    },
    /// The members of an aggregate are matched by a guess.
    MembersGuessed,
    /// The spanning tree states at the ends.
    PortStates(Vec<(DevicePort, StpState)>),
    /// There is no other path, so the link forwards.
    OnlyWay,
    /// Flows spread over it and others.
    SideBySide(SideBySide),
    /// A router's link: spanning tree does not cross it.
    Routed,
    /// A router's link, although packets may take another path.
    RoutedElsewhere,
    /// A station was learned between two ports that name each other.
    LearnedBetween {
        /// The station.
        mac: Mac,
        /// The two ports.
        ends: [DevicePort; 2],
    },
    /// The forwarding database of a bridge has the ends of a claimed cable behind two of its ports.
    BridgeBetween {
        /// The bridge's ports.
        ports: [DevicePort; 2],
        /// The node behind each of them.
        ends: [String; 2],
    },
    /// A device has learned a node behind another port than the one of a claimed cable.
    LearnedElsewhere {
        /// The port that the claim names.
        at: DevicePort,
        /// The node.
        node: String,
    },
    /// Spanning tree names a third bridge at a port of a cable.
    ThirdDesignated {
        /// The port.
        at: DevicePort,
        /// The third bridge: its name, or else its address.
        bridge: String,
    },
    /// Two ports face each other by their forwarding databases.
    Facing {
        /// The ports, or the names of nodes in the place of an unknown port.
        ends: [String; 2],
        /// The proof.
        proof: FacingProof,
        /// The number of stations on either side.
        sides: (usize, usize),
        /// The number of stations that were learned between them.
        between: usize,
    },
    /// These devices may be between two ports that face each other.
    BetweenPossible(Vec<String>),
    /// Spanning tree names a port as the designated one.
    DesignatedPort {
        /// The port that names it.
        at: DevicePort,
        /// The designated port.
        designated: DevicePort,
    },
    /// Spanning tree names a bridge that does not answer as the designated one.
    DesignatedBridge {
        /// The port that names it.
        at: DevicePort,
        /// The bridge.
        bridge: SilentBridge,
    },
    /// Packets pass routers from one host to another.
    RoutedHops {
        /// The routers; `None` for one that does not answer.
        hops: Vec<Option<IpAddr>>,
        /// The host that probed.
        from: String,
        /// The host that was probed.
        to: String,
    },
    /// The place of a router is assumed.
    PlaceAssumed,
    /// The host stays as in an epoch.
    Kept {
        /// The epoch.
        epoch: u64,
        /// The reason.
        because: KeptReason,
    },
    /// The text read from a file.
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
        match self {
            Evidence::Names { at, neighbour, .. } => at.device == node || neighbour == node,
            Evidence::NotNamedBack { device, other } => device == node || other == node,
            Evidence::Unanswering(device) => device == node,
            Evidence::AlsoNames { at, named } => at.device == node || named == node,
            Evidence::NamedUnconfirmed { at, named } => at.device == node || named.device == node,
            _ => false,
        }
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

impl From<String> for Evidence {
    /// Reads a text from a file. Only texts that decisions depend on become facts again.
    fn from(text: String) -> Evidence {
        let known = [Evidence::Stated, Evidence::Rate(AssumedRate::Gigabit)];
        match known.into_iter().find(|e| e.to_string() == text) {
            Some(known) => known,
            None => match (text.strip_prefix(RATE), text.strip_prefix(MEASURED)) {
                (Some(rate), _) => Evidence::Rate(AssumedRate::ReadBack(rate.to_owned())),
                (_, Some(what)) => Evidence::Measured(FlowFinding::ReadBack(what.to_owned())),
                _ => Evidence::ReadBack(text),
            },
        }
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Evidence {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Evidence, D::Error> {
        Ok(Evidence::from(String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_on_is_known_again_when_a_file_is_read_back() {
        let json = r#"["stated in the inventory","rate: neither end says it, 1G assumed","rate: as in older files","LLDP: s0 p1 names s1 by name s1","measured: as in older files"]"#;
        let read: Vec<Evidence> = serde_json::from_str(json).unwrap();
        assert_eq!(
            read[..2],
            [Evidence::Stated, Evidence::Rate(AssumedRate::Gigabit)]
        );
        assert!(
            matches!(
                &read[2..],
                [
                    Evidence::Rate(AssumedRate::ReadBack(_)),
                    Evidence::ReadBack(_),
                    Evidence::Measured(FlowFinding::ReadBack(_))
                ]
            ),
            "{read:?}"
        );
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }

    #[test]
    fn a_name_within_another_name_is_not_meant() {
        let back = Evidence::NotNamedBack {
            device: "s10".into(),
            other: "s2".into(),
        };
        assert!(back.concerns("s10") && back.concerns("s2") && !back.concerns("s1"));
    }
}
