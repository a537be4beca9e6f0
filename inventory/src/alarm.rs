//! What an operator should look at: about whom, and what. The words exist in `Display` only.
//!
//! In files and in the API an alarm is `{"about": …, "text": …}`; what is read back from there is
//! [`AlarmKind::ReadBack`].
use crate::evidence::{DevicePort, Evidence, NeighbourProtocol, RecognizedBy, STATED};
use crate::observation::{BridgeId, NeighbourId};
use crate::topology::{LinkState, NodeKind};
use crate::wording::{routed_hops, short_list};
use crate::{BitsPerSec, Mac};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;

/// Something an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// What it is about.
    pub subject: AlarmSubject,
    /// What is wrong with it.
    pub kind: AlarmKind,
}

/// What an alarm is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmSubject {
    /// A switch, host, router or bridge.
    Node(String),
    /// A link between two nodes, or the way between two hosts.
    Between(String, String),
    /// A cluster.
    Cluster(String),
    /// A segment between devices of which none has a name.
    Segment,
    /// The root bridge.
    RootBridge,
    /// The whole network.
    Network,
    /// As a file says it.
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

/// Why a host is not believed where it says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostElsewhere {
    /// The switch hears these there.
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

/// What is missing to find a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostNotFound {
    /// Nobody announces its name, and no address of it is known.
    NoName,
    /// Its addresses are in no table.
    Unlearned,
    /// Its addresses were learned at these ports only, which lead to other switches.
    TrunksOnly(Vec<DevicePort>),
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmKind {
    /// The switch stopped answering.
    SwitchStale {
        /// How its silence shows.
        problem: String,
    },
    /// The switch never answered.
    SwitchUnheard {
        /// How its silence shows.
        problem: String,
    },
    /// One of the switch's tables could not be read.
    TableFailed {
        /// The table's name.
        table: String,
        /// Why.
        problem: String,
    },
    /// Another switch announces the same chassis ID.
    ChassisTwice(NeighbourId),
    /// ARP tables give the host's address to several stations.
    AddressTwice(Vec<Mac>),
    /// The host's agent claims an address that is another's; `None`: that of several others.
    ForeignMac(Mac, Option<NamedNode>),
    /// Another has the host's MAC address; `None`: several others.
    MacTwice(Mac, Option<NamedNode>),
    /// Other hosts announce the host's MAC address.
    MacAnnounced(Mac, Vec<String>),
    /// The agents of these hosts claim one MAC address.
    MacClaimed(Mac, Vec<String>),
    /// The host says it is at this port, and switches say otherwise.
    HostContradicted {
        /// Where it says it is.
        at: DevicePort,
        /// What speaks against it.
        against: HostElsewhere,
    },
    /// The host is behind one of these, which do not answer.
    HostHidden(Vec<String>),
    /// The host is found nowhere.
    HostUnfound(HostNotFound),
    /// The host may be at several places, or behind a port that leads to another switch.
    HostAmbiguous(Vec<HostPlace>),
    /// These hosts are behind one port.
    HostsOnPort(DevicePort, Vec<String>),
    /// These are on one segment, which an unmanaged bridge must join.
    UnmanagedBridge(Vec<String>),
    /// These see each other, but not all of them all others.
    SegmentUnclear(Vec<String>),
    /// A port is down and names a neighbour all the same.
    DownPortNames(DevicePort),
    /// A port names another that is down.
    NamedPortDown {
        /// The port that names.
        at: DevicePort,
        /// The port that is named.
        named: DevicePort,
        /// By which protocol.
        protocol: NeighbourProtocol,
    },
    /// Somebody announces what is another's.
    Impostor {
        /// Where it is plugged in.
        at: DevicePort,
        /// What it calls itself.
        called: String,
        /// What it announces.
        by: RecognizedBy,
        /// By which protocol.
        protocol: NeighbourProtocol,
        /// Whose that is.
        owner: String,
    },
    /// A port names one that names another.
    NamedByOther {
        /// The port that names.
        at: DevicePort,
        /// The port that is named.
        named: DevicePort,
        /// The ports that name each other.
        cable: [DevicePort; 2],
    },
    /// A port sees several on one cable.
    SeveralOnCable(DevicePort, Vec<String>),
    /// Two ports name each other, and this speaks against a cable between them.
    CableDoubted {
        /// The ports.
        ends: [DevicePort; 2],
        /// What speaks against it.
        why: Evidence,
    },
    /// Spanning tree names a bridge that nobody who answers is.
    BridgeUnknown(Mac),
    /// Routers join the link's ends by another way, too.
    RoutedTwice,
    /// The link closes a loop.
    Loop,
    /// No switch of the inventory is the root bridge.
    RootUnwatched(BridgeId),
    /// A station is not in the inventory.
    StationUnlisted(DevicePort),
    /// A switch or router is not in the inventory.
    DeviceUnlisted(NodeKind, DevicePort),
    /// The link's state is stated otherwise.
    StatedState {
        /// As stated.
        stated: LinkState,
        /// As found.
        found: LinkState,
    },
    /// The link is stated, and a port of it is down.
    StatedDown(DevicePort),
    /// The link's rate is stated otherwise.
    StatedRate {
        /// As stated.
        stated: BitsPerSec,
        /// As found.
        found: BitsPerSec,
    },
    /// Another link is found where this one is stated.
    StatedElsewhere {
        /// The ends of the other: port names may be empty.
        found: [DevicePort; 2],
        /// What speaks for it.
        why: Option<Evidence>,
    },
    /// Routed hops between two hosts by one probe, and none by others.
    ProbesDiffer(Vec<Option<IpAddr>>),
    /// A probe met no hop though cables lead through a router.
    RouterUnmet,
    /// Routed hops between two hosts that switches join.
    VirtualLans(Vec<Option<IpAddr>>),
    /// Routed hops between two hosts that are stated to be in one cluster.
    StatedTogether([String; 2], Vec<Option<IpAddr>>),
    /// Packets pass a router that nothing tells of.
    RouterUnseen {
        /// The packets.
        way: Evidence,
        /// Where it is taken to be cabled.
        at: Vec<String>,
        /// With which rate.
        rate: BitsPerSec,
    },
    /// As a file says it.
    ReadBack(String),
}

impl AlarmSubject {
    /// A node by its name.
    pub fn node(name: impl Into<String>) -> AlarmSubject {
        AlarmSubject::Node(name.into())
    }

    /// What is between two nodes.
    pub fn between(a: impl Into<String>, b: impl Into<String>) -> AlarmSubject {
        AlarmSubject::Between(a.into(), b.into())
    }

    /// Whether it is the node of this name.
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

    /// The same alarm where it is about the two together.
    pub fn between(a: impl Into<String>, b: impl Into<String>, kind: AlarmKind) -> Alarm {
        Alarm {
            subject: AlarmSubject::between(a, b),
            kind,
        }
    }
}

impl fmt::Display for AlarmSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlarmSubject::Node(name)
            | AlarmSubject::Cluster(name)
            | AlarmSubject::ReadBack(name) => f.write_str(name),
            AlarmSubject::Between(a, b) => write!(f, "{a}-{b}"),
            AlarmSubject::Segment => f.write_str("segment"),
            AlarmSubject::RootBridge => f.write_str("root bridge"),
            AlarmSubject::Network => f.write_str("network"),
        }
    }
}

impl fmt::Display for NamedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamedNode::Switch(name) => write!(f, "switch \"{name}\""),
            NamedNode::Host(name) => write!(f, "host \"{name}\""),
        }
    }
}

impl fmt::Display for HostElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostElsewhere::Taken(others) => {
                write!(f, "that switch hears {} there", joined(others, " and "))
            }
            HostElsewhere::Seen(places) => {
                write!(f, "switches see it on {}", joined(places, " and "))
            }
        }
    }
}

impl fmt::Display for HostPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPlace::At(port) => write!(f, "{port}"),
            HostPlace::Behind(switch) => write!(f, "{switch}, which does not answer,"),
        }
    }
}

impl fmt::Display for HostNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostNotFound::NoName => f.write_str(
                "no LLDP under this name; check host and cable, or state its mac so \
                             that forwarding tables can tell",
            ),
            HostNotFound::Unlearned => f.write_str(
                "neither LLDP nor any forwarding table knows \
                it; check host and cable",
            ),
            HostNotFound::TrunksOnly(ports) => {
                let ports: Vec<String> = ports.iter().map(DevicePort::short).collect();
                write!(
                    f,
                    "learned only on trunk ports ({}); its own switch says nothing of it",
                    ports.join(", ")
                )
            }
        }
    }
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = &self.subject;
        match &self.kind {
            AlarmKind::SwitchStale { problem } => write!(
                f,
                "switch \"{about}\" is stale: {problem}; its links stay as last seen"
            ),
            AlarmKind::SwitchUnheard { problem } => {
                write!(
                    f,
                    "switch \"{about}\" never answered: {problem}; nothing is known of its ports"
                )
            }
            AlarmKind::TableFailed { table, problem } => {
                write!(
                    f,
                    "switch \"{about}\", table {table}: {problem}; its former content stays in use"
                )
            }
            AlarmKind::BridgeUnknown(address) => write!(
                f,
                "bridge {address}: spanning tree names it, but no switch that answers has this \
                 address; what is behind it stays unknown: see that it is asked"
            ),
            AlarmKind::RoutedTwice => write!(
                f,
                "link {about}: routers join both ends by another way, too; schedules count that \
                 one: state the link that packets do not take as blocked, under links in the \
                 inventory"
            ),
            AlarmKind::Loop => {
                write!(
                    f,
                    "link {about}: closes a loop among forwarding links; frames may circle and \
                     nothing is planned: check STP on "
                )?;
                if let AlarmSubject::Between(a, b) = about {
                    write!(f, "{a} and {b}")
                } else {
                    write!(f, "{about}")
                }
            }
            AlarmKind::RootUnwatched(root) => write!(
                f,
                "root bridge {:04x}.{}: no switch of the inventory has this address; the tree \
                 hangs from a switch that is not watched",
                root.priority, root.address
            ),
            AlarmKind::StationUnlisted(at) => {
                write!(
                    f,
                    "station \"{about}\" on {at}: not among the inventory's hosts; left out, list \
                     it under hosts if it runs ranks"
                )
            }
            AlarmKind::DeviceUnlisted(kind, at) => {
                let what = if *kind == NodeKind::Router {
                    "router"
                } else {
                    "switch"
                };
                write!(
                    f,
                    "{what} \"{about}\" on {at}: not in the inventory; shown but not asked, what \
                     is behind it stays unknown: list it under switches"
                )
            }
            AlarmKind::ReadBack(text) => f.write_str(text),
            AlarmKind::ChassisTwice(_)
            | AlarmKind::AddressTwice(_)
            | AlarmKind::ForeignMac(..)
            | AlarmKind::MacTwice(..)
            | AlarmKind::MacAnnounced(..)
            | AlarmKind::MacClaimed(..) => self.identity(f),
            AlarmKind::HostContradicted { .. }
            | AlarmKind::HostHidden(_)
            | AlarmKind::HostUnfound(_)
            | AlarmKind::HostAmbiguous(_)
            | AlarmKind::HostsOnPort(..) => self.host(f),
            AlarmKind::UnmanagedBridge(_)
            | AlarmKind::SegmentUnclear(_)
            | AlarmKind::DownPortNames(_)
            | AlarmKind::NamedPortDown { .. }
            | AlarmKind::Impostor { .. }
            | AlarmKind::NamedByOther { .. }
            | AlarmKind::SeveralOnCable(..)
            | AlarmKind::CableDoubted { .. } => self.cable(f),
            AlarmKind::StatedState { .. }
            | AlarmKind::StatedDown(_)
            | AlarmKind::StatedRate { .. }
            | AlarmKind::StatedElsewhere { .. } => self.stated(f),
            AlarmKind::ProbesDiffer(_)
            | AlarmKind::RouterUnmet
            | AlarmKind::VirtualLans(_)
            | AlarmKind::StatedTogether(..)
            | AlarmKind::RouterUnseen { .. } => self.routed(f),
        }
    }
}

impl Alarm {
    /// Who is who.
    fn identity(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = &self.subject;
        let quoted = |names: &[String]| {
            names
                .iter()
                .map(|n| format!("\"{n}\""))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let owner = |owner: &Option<NamedNode>, several: &str| {
            owner
                .as_ref()
                .map_or_else(|| several.to_owned(), NamedNode::to_string)
        };
        match &self.kind {
            AlarmKind::ChassisTwice(id) => {
                write!(
                    f,
                    "switch \"{about}\": another switch announces its LLDP chassis id {id}; \
                     neither is recognized by it"
                )
            }
            AlarmKind::AddressTwice(macs) => write!(
                f,
                "host \"{about}\": its address is claimed by {}; ARP tables contradict each \
                 other, state its mac",
                joined(macs, ", ")
            ),
            AlarmKind::ForeignMac(mac, other) => write!(
                f,
                "host \"{about}\": its agent claims MAC address {mac}, which is that of {}; the \
                 claim is not believed",
                owner(other, "several others")
            ),
            AlarmKind::MacTwice(mac, other) => write!(
                f,
                "host \"{about}\": its MAC address {mac} is claimed by {} too; neither is \
                 recognized by it",
                owner(other, "others")
            ),
            AlarmKind::MacAnnounced(mac, others) => {
                write!(
                    f,
                    "host \"{about}\": its MAC address {mac} is claimed by host {} too; give each \
                     its own address",
                    quoted(others)
                )
            }
            AlarmKind::MacClaimed(mac, hosts) => {
                write!(
                    f,
                    "MAC address {mac}: the agents of hosts {} each claim it; none is recognized \
                     by it",
                    quoted(hosts)
                )
            }
            _ => Ok(()),
        }
    }

    /// Where a host is.
    fn host(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AMBIGUOUS: &str =
            "its place is ambiguous, nothing is planned on it until one remains";
        let about = &self.subject;
        match &self.kind {
            AlarmKind::HostContradicted { at, against } => {
                write!(
                    f,
                    "host \"{about}\": says it is on {at}, but {against}; the switches' word \
                     stands: check host and cable"
                )
            }
            AlarmKind::HostHidden(places) => {
                write!(
                    f,
                    "host \"{about}\": somewhere behind {}, who does not answer; {AMBIGUOUS}",
                    places.join(" or ")
                )
            }
            AlarmKind::HostUnfound(why) => write!(
                f,
                "host \"{about}\": seen nowhere: {why}; left out of every schedule"
            ),
            AlarmKind::HostAmbiguous(places) => match &places[..] {
                [one] => write!(
                    f,
                    "host \"{about}\": seen behind {one}, which leads to another switch; \
                     {AMBIGUOUS}"
                ),
                several => write!(
                    f,
                    "host \"{about}\": seen on {}; {AMBIGUOUS}",
                    joined(several, " and ")
                ),
            },
            AlarmKind::HostsOnPort(DevicePort { device, port }, hosts) => write!(
                f,
                "switch \"{device}\" port {port}: {} are all behind it; an unmanaged bridge \
                 stands between, its rates are not known",
                hosts.join(", ")
            ),
            _ => Ok(()),
        }
    }

    /// What joins devices.
    fn cable(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            AlarmKind::UnmanagedBridge(places) => {
                write!(
                    f,
                    "{}: all on one segment; an unmanaged bridge stands between, its rates are \
                     not known",
                    places.join(", ")
                )
            }
            AlarmKind::SegmentUnclear(places) => write!(
                f,
                "{}: they see each other, but not all of them all others; which are next to each \
                 other is ambiguous, let LLDP or CDP run there",
                places.join(", ")
            ),
            AlarmKind::DownPortNames(at) => {
                write!(
                    f,
                    "{at}: names a neighbour, but is down; the link is ambiguous, one of the two \
                     is old"
                )
            }
            AlarmKind::NamedPortDown {
                at,
                named,
                protocol,
            } => write!(
                f,
                "{}: names {} by {protocol}, but that port is down; no link is shown there: check \
                 the cable; the row may be an old one",
                at.short(),
                named.short()
            ),
            AlarmKind::Impostor {
                at,
                called,
                by,
                protocol,
                owner,
            } => write!(
                f,
                "{}: \"{called}\" there announces {by} by {protocol}, which is switch \
                 \"{owner}\"'s, and that one does not name {} back; no link is shown there: check \
                 who is plugged in there and what announces for it",
                at.short(),
                at.device
            ),
            AlarmKind::NamedByOther {
                at,
                named,
                cable: [a, b],
            } => write!(
                f,
                "{0}: names {1}, but {2} and {3} name each other; no link {4}-{5} is shown: check \
                 the cable at {0}; the row may be an old one, or something between passes LLDP on",
                at.short(),
                named.short(),
                a.short(),
                b.short(),
                at.device,
                named.device
            ),
            AlarmKind::SeveralOnCable(DevicePort { device, port }, names) => write!(
                f,
                "switch \"{device}\" port {port}: sees {} on one cable; the links are ambiguous, \
                 something between them forwards LLDP",
                names.join(" and ")
            ),
            AlarmKind::CableDoubted { ends: [a, b], why } => write!(
                f,
                "{} and {} name each other by LLDP, but {why}; LLDP's word stands as inferred: \
                 look for a bridge between them that passes LLDP on",
                a.short(),
                b.short()
            ),
            _ => Ok(()),
        }
    }

    /// What is stated against what is found.
    fn stated(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {}: {STATED}", self.subject)?;
        match &self.kind {
            AlarmKind::StatedState { stated, found } => write!(
                f,
                " to be {stated}, but found {found}; what is stated counts"
            ),
            AlarmKind::StatedDown(at) => write!(
                f,
                ", but port {} of \"{}\" is down: check the cable",
                at.port, at.device
            ),
            AlarmKind::StatedRate { stated, found } => write!(
                f,
                " with {stated}, but found with {found}; what is stated counts"
            ),
            AlarmKind::StatedElsewhere { found, why } => {
                let end = |at: &DevicePort| {
                    if at.port.is_empty() {
                        at.device.clone()
                    } else {
                        format!("{} ({})", at.device, at.port)
                    }
                };
                let why = why.as_ref().map(Evidence::to_string).unwrap_or_default();
                let [a, b] = found.each_ref().map(end);
                write!(
                    f,
                    ", but found {a} - {b}, {why}; what is stated counts: check the cable or the \
                     inventory"
                )
            }
            _ => Ok(()),
        }
    }

    /// What is between hosts.
    fn routed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = &self.subject;
        match (&self.kind, about) {
            (AlarmKind::ProbesDiffer(hops), AlarmSubject::Between(a, b)) => write!(
                f,
                "hosts \"{a}\" and \"{b}\": {} between them by one probe and none by others; the \
                 probe with hops counts for nothing: check the routes of both",
                routed_hops(hops)
            ),
            (AlarmKind::RouterUnmet, AlarmSubject::Between(prober, target)) => write!(
                f,
                "host \"{prober}\": its probe met no routed hop on the way to \"{target}\", but \
                 cables lead there only through a router; the probe joins nothing: check its \
                 routes, and that both are probed on this network"
            ),
            (AlarmKind::VirtualLans(hops), AlarmSubject::Between(a, b)) => write!(
                f,
                "hosts \"{a}\" and \"{b}\": {} between them though switches join them; they are \
                 taken for two clusters: two virtual LANs, or a wrong route on one of them",
                routed_hops(hops)
            ),
            (AlarmKind::StatedTogether([a, b], hops), _) => write!(
                f,
                "cluster \"{about}\": \"{a}\" and \"{b}\" are in it as {STATED}, but there is {} \
                 between them; what is stated counts",
                routed_hops(hops)
            ),
            (AlarmKind::RouterUnseen { way, at, rate }, _) => write!(
                f,
                "router \"{about}\": packets pass it ({way}) and nothing tells where it is; it is \
                 taken to be cabled to {} with {rate} each: list it under switches, or state it \
                 under routers and its cables under links",
                short_list(at.iter().map(String::as_str))
            ),
            _ => Ok(()),
        }
    }
}

fn joined<T: ToString>(items: &[T], between: &str) -> String {
    items
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(between)
}

impl Serialize for Alarm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut alarm = serializer.serialize_struct("Alarm", 2)?;
        alarm.serialize_field("about", &self.subject.to_string())?;
        alarm.serialize_field("text", &self.to_string())?;
        alarm.end()
    }
}

impl<'de> Deserialize<'de> for Alarm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Alarm, D::Error> {
        #[derive(Deserialize)]
        struct AlarmFields {
            about: String,
            text: String,
        }
        let AlarmFields { about, text } = AlarmFields::deserialize(deserializer)?;
        Ok(Alarm {
            subject: AlarmSubject::ReadBack(about),
            kind: AlarmKind::ReadBack(text),
        })
    }
}
