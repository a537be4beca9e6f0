//! Evidence for links: facts as types. Their texts exist in `Display` only.
//!
//! In files a piece of evidence is its text. What is read back from one is [`Evidence::ReadBack`],
//! but for the few facts that something is decided on.
mod text;

use crate::host_report::DiscoveryProtocol;
use crate::observation::{NeighbourId, StpState};
use crate::topology::LinkState;
use crate::{BitsPerSec, Mac};
use serde::{Deserialize, Serialize, Serializer};
use std::net::IpAddr;

/// The phrase that begins or ends the text of an operator's statement.
pub(crate) const STATED: &str = "stated in the inventory";

/// The beginning of the text that states an assumed rate.
const RATE: &str = "rate: ";

/// A port and the device it is on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePort {
    /// The device's name.
    pub device: String,
    /// The port's name, as the device has it.
    pub port: String,
}

/// The source of a statement about a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeighbourProtocol {
    /// IEEE 802.1AB.
    Lldp,
    /// Cisco's.
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
    /// Not at all: it goes by the name it announces.
    OwnName,
}

/// A rate that no end of the link says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssumedRate {
    /// A gigabit.
    Gigabit,
    /// The rate of the port before this bridge.
    AsBefore(String),
    /// The rate of the slowest host.
    AsSlowestHost(BitsPerSec),
    /// The text read from a file.
    ReadBack(String),
}

/// The proof, from learned addresses, that two ports face each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FacingProof {
    /// Each device learned the other's own address there.
    Both,
    /// One of them did.
    One,
    /// Neither did: the stations on either side tell.
    Stations,
}

/// The name of a designated bridge that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SilentBridge {
    /// It is known by this address.
    Known(String, Mac),
    /// Nobody knows the address, and this switch is all that is missing.
    OnlyMissing(String, Mac),
    /// Nobody knows the address.
    Unknown(Mac),
}

/// Why a host stays where an epoch has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptReason {
    /// Its link goes down again and again.
    LinkFlaps,
    /// It is seen nowhere.
    SeenNowhere,
}

/// A fact that speaks for a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The operator states the link in the inventory.
    Stated,
    /// The operator states it in a topology file.
    InTopologyFile,
    /// The operator states that it has this state.
    StateStated(LinkState),
    /// The operator states that this bridge stands between.
    BehindBridge(String),
    /// No end says the rate.
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
        /// Whether the device does not answer any more.
        stale: bool,
        /// Whether the port is down.
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
        /// The identifier of the switch, where the frame does not carry its address.
        by: Option<RecognizedBy>,
        /// Whether the host is silent by now.
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
    /// Neither of two devices answers, and nobody names one of them.
    BehindPossible {
        /// The device that others name.
        hidden: String,
        /// The one that nobody names.
        unnamed: String,
    },
    /// A port names one more, too, whom nobody confirms.
    AlsoNames {
        /// The port.
        at: DevicePort,
        /// The device that is named.
        named: String,
    },
    /// A port names this one, too, which the other does not confirm.
    NamedUnconfirmed {
        /// The port that names.
        at: DevicePort,
        /// The port that is named.
        named: DevicePort,
    },
    /// Stations are learned at the port that hang elsewhere.
    OthersLearned(DevicePort),
    /// Other hosts may be at the port.
    OthersPossible(DevicePort),
    /// A host's addresses were learned at a port that leads to no other switch.
    LearnedAtEdge {
        /// The port.
        at: DevicePort,
        /// The host's addresses.
        macs: Vec<Mac>,
        /// Whether the device does not answer any more.
        stale: bool,
    },
    /// The host was learned where a silent device is or may be.
    LearnedBeyond {
        /// The host.
        host: String,
        /// The silent device.
        silent: String,
    },
    /// So many hosts are learned at one port.
    HostsOnPort(usize),
    /// Cables of a host that are one.
    HostBond {
        /// The number of cables.
        cables: usize,
        /// The host's name for it.
        bond: Option<String>,
        /// Whether the switch has an aggregate of them.
        aggregated: bool,
    },
    /// Cables between two aggregates.
    Aggregate {
        /// The number of cables.
        cables: usize,
        /// One end, and the aggregate's name there, where it is said.
        a: (String, Option<String>),
        /// The other.
        b: (String, Option<String>),
    },
    /// Nothing says which member of an aggregate is joined to which.
    MembersGuessed,
    /// The spanning tree states at the ends.
    PortStates(Vec<(DevicePort, StpState)>),
    /// There is no other way, so it forwards.
    OnlyWay,
    /// A router's link: no spanning tree across.
    Routed,
    /// A router's link where packets may go another way.
    RoutedElsewhere,
    /// A station was learned between two ports that name each other.
    LearnedBetween {
        /// The station.
        mac: Mac,
        /// The two ports.
        ends: [DevicePort; 2],
    },
    /// Spanning tree names a third bridge at a port of a cable.
    ThirdDesignated {
        /// The port.
        at: DevicePort,
        /// The third bridge: its name, else its address.
        bridge: String,
    },
    /// Two ports face each other by their forwarding databases.
    Facing {
        /// The ports, or who is there instead of one.
        ends: [String; 2],
        /// The proof.
        proof: FacingProof,
        /// Stations on either side.
        sides: (usize, usize),
        /// Stations that were learned between them.
        between: usize,
    },
    /// These may stand between two ports that face each other.
    BetweenPossible(Vec<String>),
    /// Spanning tree names a port as the designated one.
    DesignatedPort {
        /// Where.
        at: DevicePort,
        /// The designated port.
        designated: DevicePort,
    },
    /// Spanning tree names a bridge that does not answer as the designated one.
    DesignatedBridge {
        /// Where.
        at: DevicePort,
        /// The bridge.
        bridge: SilentBridge,
    },
    /// Packets pass routers from one host to another.
    RoutedHops {
        /// The routers, where they answer.
        hops: Vec<Option<IpAddr>>,
        /// The host that probed.
        from: String,
        /// The host that was probed.
        to: String,
    },
    /// The place of a router is assumed.
    PlaceAssumed,
    /// It stays as an epoch has it.
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
    /// Whether one end of a cable says this of itself or of the other: it then goes with that end.
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
    /// Reads a text from a file. Only texts that decide something become facts again.
    fn from(text: String) -> Evidence {
        let known = [Evidence::Stated, Evidence::Rate(AssumedRate::Gigabit)];
        match known.into_iter().find(|e| e.to_string() == text) {
            Some(known) => known,
            None => match text.strip_prefix(RATE) {
                Some(rate) => Evidence::Rate(AssumedRate::ReadBack(rate.to_owned())),
                None => Evidence::ReadBack(text),
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
        let json = r#"["stated in the inventory","rate: neither end says it, 1G assumed","rate: as in older files","LLDP: s0 p1 names s1 by name s1"]"#;
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
                    Evidence::ReadBack(_)
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
