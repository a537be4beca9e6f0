//! Alarms: problems that an operator should look at. Their texts exist in `Display` only.
//!
//! In files and in the API an alarm is `{"about": …, "code": …, "text": …}`; an alarm that is read back
//! is [`AlarmKind::ReadBack`]. Programs decide on the code ([`code`]); the text is for people.
pub mod causes;
pub mod code;
mod text;

use crate::evidence::{DevicePort, Evidence, NeighbourProtocol, RecognizedBy};
use crate::observation::{BridgeId, CredentialRefusal, DeviceTable, NeighbourId};
use crate::topology::{LinkState, NodeKind};
use crate::{BitsPerSec, Mac};
use code::AlarmCode;
use ipnet::IpNet;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::net::IpAddr;

/// A problem that an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The subject.
    pub subject: AlarmSubject,
    /// The problem.
    pub kind: AlarmKind,
}

/// The subject of an alarm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmSubject {
    /// A switch, host, router or bridge.
    Node(String),
    /// A link between two nodes, or the path between two hosts.
    Between(String, String),
    /// A cluster.
    Cluster(String),
    /// One of several networks.
    OneNetwork(String),
    /// A segment between devices without names.
    Segment,
    /// The root bridge.
    RootBridge,
    /// The whole network.
    Network,
    /// A part of the controller's work.
    Work(String),
    /// The text read from a file.
    ReadBack(String),
}

/// A switch or a host that the inventory knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NamedNode {
    /// A switch.
    Switch(String),
    /// A host.
    Host(String),
}

/// The reason why a host's statement about its place is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostElsewhere {
    /// The switch hears these nodes at that port.
    Taken(Vec<NamedNode>),
    /// Switches see the host at these ports.
    Seen(Vec<DevicePort>),
}

/// A place where a host may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPlace {
    /// At this port.
    At(DevicePort),
    /// Behind this switch, which does not answer.
    Behind(String),
}

/// The reason that a host is not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostNotFound {
    /// No device announces its name, and none of its addresses is known.
    NoName,
    /// Its addresses are in no table.
    Unlearned,
    /// Its addresses were learned at these ports only, which lead to other switches.
    TrunksOnly(Vec<DevicePort>),
    /// The inventory lists no switch, and no card of the host is in a network with another host.
    SharesNoNetwork,
}

/// The evidence against a measured trunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredConflict {
    /// It would part hosts that managed switches have behind one port.
    Protocols,
    /// It would part hosts that the operator states to be on one bridge.
    Operator,
}

/// The problem that an alarm reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmKind {
    /// The switch stopped answering.
    SwitchStale {
        /// The error of the last request.
        problem: String,
        /// Set if it refuses the credential.
        refused: Option<CredentialRefusal>,
    },
    /// The switch never answered.
    SwitchUnheard {
        /// The error of the last request.
        problem: String,
        /// Set if it refuses the credential.
        refused: Option<CredentialRefusal>,
    },
    /// One of the switch's tables could not be read.
    TableFailed {
        /// The table.
        table: DeviceTable,
        /// The error.
        problem: String,
    },
    /// Another switch announces the same chassis ID.
    ChassisTwice(NeighbourId),
    /// ARP tables give the host's address to several stations.
    AddressTwice(Vec<Mac>),
    /// The host's agent claims an address of another node; `None`: of several others.
    ForeignMac(Mac, Option<NamedNode>),
    /// Another node has the host's MAC address; `None`: several others.
    MacTwice(Mac, Option<NamedNode>),
    /// Other hosts announce the host's MAC address.
    MacAnnounced(Mac, Vec<String>),
    /// The agents of these hosts claim one MAC address.
    MacClaimed(Mac, Vec<String>),
    /// The host states that it is at this port, and switches contradict it.
    HostContradicted {
        /// The port that the host claims.
        at: DevicePort,
        /// The evidence against it.
        against: HostElsewhere,
    },
    /// The host is behind one of these nodes, which do not answer.
    HostHidden(Vec<String>),
    /// The host is found nowhere.
    HostUnfound(HostNotFound),
    /// The host may be at several places, or behind a port that leads to another switch.
    HostAmbiguous(Vec<HostPlace>),
    /// Several hosts are behind one port.
    HostsOnPort(DevicePort, Vec<String>),
    /// The inventory lists no switch, and hosts in this network are on a bridge that nobody asked.
    HostsInNetwork {
        /// The network, or several that have a switch in common.
        network: String,
        /// Its hosts.
        hosts: usize,
        /// The switches that hosts hear.
        switches: usize,
    },
    /// No address with the prefix of this stated network is seen.
    NetworkUnseen(IpNet),
    /// Several hosts of a network have this address.
    AddressShared(IpAddr, Vec<String>),
    /// It shares switches and cables with these networks, which are other VLANs.
    NetworkShares(Vec<String>),
    /// Stations of one of these networks were learned behind the host's card in the other.
    HostBridges([String; 2]),
    /// Probes between two other hosts met an address of the host, which has cards in several networks.
    HostRoutes {
        /// The address.
        address: IpAddr,
        /// The host that probed, and the one that it probed.
        between: [String; 2],
    },
    /// These nodes are on one segment, so an unmanaged bridge must join them.
    UnmanagedBridge(Vec<String>),
    /// Flows between hosts measured a trunk that the network cannot have.
    MeasuredOtherwise {
        /// The hosts that flows put on one side of the trunk.
        side: Vec<String>,
        /// The evidence against it.
        against: MeasuredConflict,
    },
    /// Links of these hosts were lost since flows measured their place.
    MeasuredBefore(Vec<String>),
    /// These nodes see each other, but not all of them see all others.
    SegmentUnclear(Vec<String>),
    /// A port is down and still names a neighbour.
    DownPortNames(DevicePort),
    /// A neighbour announces an identifier that is nobody's, such as 00:00:00:00:00:00, and no name.
    NobodysId(DevicePort, NeighbourId),
    /// A neighbour is heard across a tunnel: its name or chassis ID.
    OverTunnel(DevicePort, String),
    /// A neighbour is heard only at an interface inside the device, as a VLAN: its name or chassis ID.
    HeardInside(DevicePort, String),
    /// A port names another port that is down.
    NamedPortDown {
        /// The port that names the other.
        at: DevicePort,
        /// The port that is named.
        named: DevicePort,
        /// The protocol.
        protocol: NeighbourProtocol,
    },
    /// A node announces an identifier of another node.
    Impostor {
        /// The port it is plugged into.
        at: DevicePort,
        /// The name it announces.
        called: String,
        /// The identifier it announces.
        by: RecognizedBy,
        /// The protocol.
        protocol: NeighbourProtocol,
        /// The owner of the identifier.
        owner: String,
    },
    /// A port names a port that names another port.
    NamedByOther {
        /// The port that names the other.
        at: DevicePort,
        /// The port that is named.
        named: DevicePort,
        /// The ports that name each other.
        cable: [DevicePort; 2],
    },
    /// A port sees several neighbours on one cable.
    SeveralOnCable(DevicePort, Vec<String>),
    /// Two ports name each other, but there is evidence against a cable between them.
    CableDoubted {
        /// The ports.
        ends: [DevicePort; 2],
        /// The evidence against it.
        why: Evidence,
    },
    /// Spanning tree names a bridge that is none of the answering switches.
    BridgeUnknown(Mac),
    /// Routers join the link's ends by another path, too.
    RoutedTwice,
    /// The link closes a loop.
    Loop,
    /// No switch of the inventory is the root bridge.
    RootUnwatched(BridgeId),
    /// A station is not in the inventory.
    StationUnlisted(DevicePort),
    /// A switch or router is not in the inventory.
    DeviceUnlisted(NodeKind, DevicePort),
    /// The stated state of the link differs from the found one.
    StatedState {
        /// The stated value.
        stated: LinkState,
        /// The found value.
        found: LinkState,
    },
    /// The link is stated, and one of its ports is down.
    StatedDown(DevicePort),
    /// The stated rate of the link differs from the found one.
    StatedRate {
        /// The stated value.
        stated: BitsPerSec,
        /// The found value.
        found: BitsPerSec,
    },
    /// Another link is found at the place of a stated one.
    StatedElsewhere {
        /// The ends of the found link. Port names may be empty.
        found: [DevicePort; 2],
        /// The evidence for it.
        why: Option<Evidence>,
    },
    /// One probe met routed hops between two hosts, others met none.
    ProbesDiffer(Vec<Option<IpAddr>>),
    /// A probe met no hop although cables lead through a router.
    RouterUnmet,
    /// Routed hops between two hosts that switches join.
    VirtualLans(Vec<Option<IpAddr>>),
    /// Routed hops between two hosts that are stated to be in one cluster.
    StatedTogether([String; 2], Vec<Option<IpAddr>>),
    /// Packets pass a router that no device names.
    RouterUnseen {
        /// The path of the packets.
        way: Evidence,
        /// The devices it is assumed to be cabled to.
        at: Vec<String>,
        /// The assumed rate.
        rate: BitsPerSec,
    },
    /// The code and the text read from a file.
    ReadBack(AlarmCode, String),
}

impl AlarmSubject {
    /// A node by its name.
    pub fn node(name: impl Into<String>) -> AlarmSubject {
        AlarmSubject::Node(name.into())
    }

    /// The link or path between two nodes.
    pub fn between(a: impl Into<String>, b: impl Into<String>) -> AlarmSubject {
        AlarmSubject::Between(a.into(), b.into())
    }

    /// The nodes that it names: one, or both ends of a link.
    pub fn nodes(&self) -> Vec<String> {
        match self {
            AlarmSubject::Node(name) => vec![name.clone()],
            AlarmSubject::Between(a, b) => vec![a.clone(), b.clone()],
            AlarmSubject::Cluster(_)
            | AlarmSubject::OneNetwork(_)
            | AlarmSubject::Segment
            | AlarmSubject::RootBridge
            | AlarmSubject::Network
            | AlarmSubject::Work(_)
            | AlarmSubject::ReadBack(_) => Vec::new(),
        }
    }

    /// True if the subject is the node of this name.
    pub fn is_node(&self, name: &str) -> bool {
        matches!(self, AlarmSubject::Node(node) if node == name)
    }
}

impl Alarm {
    /// An alarm of the inference about the node of this name.
    pub fn node(name: impl Into<String>, kind: AlarmKind) -> Alarm {
        Alarm {
            subject: AlarmSubject::node(name),
            kind,
        }
    }

    /// An alarm about two nodes together.
    pub fn between(a: impl Into<String>, b: impl Into<String>, kind: AlarmKind) -> Alarm {
        Alarm {
            subject: AlarmSubject::between(a, b),
            kind,
        }
    }
}

impl Serialize for Alarm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut alarm = serializer.serialize_struct("Alarm", 3)?;
        alarm.serialize_field("about", &self.subject.to_string())?;
        alarm.serialize_field("code", &self.code())?;
        alarm.serialize_field("text", &self.to_string())?;
        alarm.end()
    }
}

impl<'de> Deserialize<'de> for Alarm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Alarm, D::Error> {
        #[derive(Deserialize)]
        struct AlarmFields {
            about: String,
            #[serde(default)]
            code: AlarmCode,
            text: String,
        }
        let AlarmFields { about, code, text } = AlarmFields::deserialize(deserializer)?;
        Ok(Alarm {
            subject: AlarmSubject::ReadBack(about),
            kind: AlarmKind::ReadBack(code, text),
        })
    }
}
