//! The result of one look at one device, before any judgement.
//!
//! An observation is also a line of the controller's journal. So this module has only plain data
//! that serializes, and no decisions.
pub(crate) mod neighbours;

use crate::model::host_report::HostReport;
use crate::{BitsPerSec, Bytes, Mac, Millis};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

pub use neighbours::{
    BridgeId, CdpNeighbour, CdpTable, ChassisIdKind, LldpNeighbour, LldpPort, LldpTable,
    NeighbourId, PortIdKind, SystemCapabilities, VendorProtocol,
};

/// One statement of one device at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// When the answer arrived.
    pub at: Millis,
    /// The device's name in the inventory.
    pub reporter: String,
    pub source: ObservationSource,
    /// The content.
    pub fact: DeviceFact,
}

/// The source of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObservationSource {
    /// Asked by SNMP.
    Snmp,
    /// Sent by the device itself as a notification.
    Trap,
    /// Read from a recorded walk.
    Recording,
    /// Reported by a host agent.
    Agent,
}

/// The tables of a device that can be read one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceTable {
    /// SNMPv2-MIB system group.
    System,
    /// IF-MIB ifTable and ifXTable.
    Interfaces,
    /// The local and remote tables of LLDP-MIB, and those of CISCO-CDP-MIB, because all facts about
    /// neighbours change together.
    Lldp,
    /// BRIDGE-MIB dot1dBase and dot1dStp.
    Bridge,
    /// BRIDGE-MIB dot1dTpFdbTable and Q-BRIDGE-MIB dot1qTpFdbTable.
    Fdb,
    /// IP-MIB ipNetToMedia.
    Arp,
    /// IP-FORWARD-MIB and BGP4-MIB: the next routers.
    Routes,
}

/// Its name in alarms and in journals.
impl fmt::Display for DeviceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceTable::System => "system",
            DeviceTable::Interfaces => "interfaces",
            DeviceTable::Lldp => "lldp",
            DeviceTable::Bridge => "bridge",
            DeviceTable::Fdb => "fdb",
            DeviceTable::Arp => "arp",
            DeviceTable::Routes => "routes",
        })
    }
}

impl DeviceTable {
    /// Every table, in the order of a full poll.
    pub const ALL: [DeviceTable; 7] = [
        DeviceTable::System,
        DeviceTable::Interfaces,
        DeviceTable::Lldp,
        DeviceTable::Bridge,
        DeviceTable::Fdb,
        DeviceTable::Arp,
        DeviceTable::Routes,
    ];
}

/// The content of one table, or the failure to read it. A fact replaces the whole former content of
/// its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceFact {
    /// See [`DeviceTable::System`].
    System(SystemGroup),
    /// See [`DeviceTable::Interfaces`].
    Interfaces(Vec<InterfaceRow>),
    /// See [`DeviceTable::Lldp`].
    Lldp(LldpTable),
    /// See [`DeviceTable::Bridge`].
    Bridge(BridgeTable),
    /// See [`DeviceTable::Fdb`].
    Fdb(Vec<FdbEntry>),
    /// See [`DeviceTable::Arp`].
    Arp(Vec<ArpEntry>),
    /// See [`DeviceTable::Routes`].
    Routes(NextRouters),
    /// The cheap counters that move first when something changes.
    Pulse(DevicePulse),
    /// A host agent's report.
    Host(HostReport),
    /// The device did not answer, or its answer was invalid. Its former facts become stale, but are
    /// not dropped.
    Failed {
        /// The table that was asked for; `None` when nothing could be asked at all.
        table: Option<DeviceTable>,
        /// The reason, for an operator: "no answer from 10.0.0.1:161 after 3 tries of 500 ms".
        problem: String,
        /// Set if the device answers, but refuses the credential.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<CredentialRefusal>,
    },
}

/// A device's refusal of a credential.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CredentialRefusal {
    /// The credential: `user "mon"`.
    pub credential: String,
    /// The reason: "wrong auth key or protocol".
    pub reason: String,
}

/// SNMPv2-MIB system group (RFC 3418).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SystemGroup {
    /// sysName.
    pub name: String,
    /// sysDescr.
    pub descr: String,
    /// sysUpTime in hundredths of a second.
    pub uptime: u32,
    /// sysServices: the layers on which it works, one bit each.
    #[serde(default)]
    pub services: Option<u32>,
}

/// One row of IF-MIB (RFC 2863).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InterfaceRow {
    /// ifIndex.
    pub index: u32,
    /// ifName, or ifDescr if ifName is empty.
    pub name: String,
    /// ifDescr. Neighbours often name a port by it.
    #[serde(default)]
    pub descr: String,
    /// ifAlias: the operator's description of the port.
    pub alias: String,
    /// ifPhysAddress, if it is a MAC address.
    pub mac: Option<Mac>,
    /// The sort of interface, by ifType. A device that says nothing of it leaves it unsaid.
    #[serde(default, skip_serializing_if = "InterfaceKind::is_unsaid")]
    pub kind: InterfaceKind,
    /// ifHighSpeed or ifSpeed; `None` if the device reports zero.
    pub rate: Option<BitsPerSec>,
    /// True if ifOperStatus is up(1) or unknown(4), or missing.
    pub up: bool,
    /// ifIndex of the aggregate that has it as a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<u32>,
    /// ifStackTable: the ifIndex of the only interface directly below, as of the cable under a Junos
    /// unit. An interface over several is an aggregate or a VLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u32>,
    /// ipAddressTable or ipAddrTable: its own IP addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// ipAddressPrefix or ipAdEntNetMask: its own addresses with the lengths of their prefixes, those of one
    /// link as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<(IpAddr, u8)>,
    /// ifHCInOctets, or ifInOctets.
    pub in_octets: u64,
    /// ifHCOutOctets, or ifOutOctets.
    pub out_octets: u64,
    /// The octets that it holds at least, if a table of its vendor tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Bytes>,
    /// Its counters of faults; `None` if the device has none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<PortFaults>,
}

/// The frames that a port lost. The counters have 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortFaults {
    /// ifInErrors.
    pub in_errors: u32,
    /// ifOutErrors.
    pub out_errors: u32,
    /// ifInDiscards.
    pub in_discards: u32,
    /// ifOutDiscards.
    pub out_discards: u32,
}

/// The sort of an interface. Many devices call each of their interfaces a cable's end, so
/// [`InterfaceKind::Cable`] proves nothing; the other sorts are hardly ever wrong.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum InterfaceKind {
    /// The device does not say.
    #[default]
    Unsaid,
    /// The end of a cable: ethernetCsmacd(6) and its older names.
    Cable,
    /// Several cables as one: ieee8023adLag(161), or a proprietary type with the name of an
    /// aggregate.
    Aggregate,
    /// A VLAN: l2vlan(135), l3ipvlan(136), l3ipxvlan(137).
    Vlan,
    /// A bridge inside the device: bridge(209).
    Bridge,
    /// A way through other networks, not a cable: tunnel(131), mplsTunnel(150) and others.
    Tunnel,
    /// softwareLoopback(24).
    Loopback,
    /// A proprietary part of the device: propVirtual(53), propMultiplexor(54). Junos units and the VLANs
    /// of some switches are such.
    Virtual,
    /// Any other type.
    Other,
}

impl InterfaceKind {
    /// True if the device does not say.
    pub fn is_unsaid(&self) -> bool {
        *self == InterfaceKind::Unsaid
    }
}

/// BRIDGE-MIB dot1dBase and dot1dStp (RFC 4188).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BridgeTable {
    /// dot1dBaseBridgeAddress.
    pub address: Option<Mac>,
    /// dot1dStpDesignatedRoot: priority and address of the root bridge.
    pub root_bridge: Option<BridgeId>,
    /// dot1dStpPriority of this bridge.
    pub priority: u16,
    /// dot1dStpTopChanges.
    pub top_changes: u32,
    /// dot1dBasePortTable joined with dot1dStpPortTable.
    pub ports: Vec<BridgePort>,
    /// The spanning trees of single VLANs or of MSTP's instances, if the device serves them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<SpanningInstance>,
    /// dot1qPvid: the VLAN of frames without a tag, by ifIndex.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vlans: BTreeMap<u32, u16>,
}

/// One of several spanning trees of a bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanningInstance {
    /// Its place among them.
    pub id: SpanningInstanceId,
    pub root_bridge: Option<BridgeId>,
    /// The state of each port in it, by ifIndex.
    pub states: BTreeMap<u32, StpState>,
}

/// The identifier of one of several spanning trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanningInstanceId {
    /// The tree of one VLAN.
    Vlan(u16),
    /// An instance of MSTP (IEEE 802.1Q-2018, 13), which serves any number of VLANs.
    Mst(u16),
}

/// One bridge port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgePort {
    /// dot1dBasePort.
    pub number: u32,
    /// dot1dBasePortIfIndex; 0 where the device tells none for this port. A device that tells none
    /// at all numbers its ports by ifIndex.
    pub if_index: u32,
    /// dot1dStpPortState; `None` if the device serves no STP table.
    pub state: Option<StpState>,
    /// dot1dStpPortDesignatedBridge.
    pub designated_bridge: Option<BridgeId>,
    /// dot1dStpPortDesignatedPort, the whole 16 bits.
    pub designated_port: Option<u16>,
}

/// dot1dStpPortState.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StpState {
    /// disabled(1)
    Disabled,
    /// blocking(2); discarding in RSTP
    Blocking,
    /// listening(3)
    Listening,
    /// learning(4)
    Learning,
    /// forwarding(5)
    Forwarding,
    /// broken(6)
    Broken,
}

impl fmt::Display for StpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StpState::Disabled => "disabled",
            StpState::Blocking => "blocking",
            StpState::Listening => "listening",
            StpState::Learning => "learning",
            StpState::Forwarding => "forwarding",
            StpState::Broken => "broken",
        })
    }
}

/// One learned row of the forwarding database. The reader leaves out rows that are not learned(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FdbEntry {
    /// The station.
    pub mac: Mac,
    /// dot1dBasePort behind which it was seen.
    pub port: u32,
    /// dot1qFdbId of the database that says so, or the VLAN of a context, if others have the station behind
    /// other ports; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub database: u32,
}

impl FdbEntry {
    /// A row of the one database that a bridge has.
    pub const fn new(mac: Mac, port: u32) -> FdbEntry {
        FdbEntry {
            mac,
            port,
            database: 0,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One row of ipNetToMediaTable or ipNetToPhysicalTable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArpEntry {
    /// The network address.
    pub ip: IpAddr,
    /// The station.
    pub mac: Mac,
    /// ifIndex of the interface behind which it is; 0 if that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub if_index: u32,
}

impl ArpEntry {
    /// A row of which the interface is not known.
    pub const fn new(ip: IpAddr, mac: Mac) -> ArpEntry {
        ArpEntry {
            ip,
            mac,
            if_index: 0,
        }
    }
}

/// The routers to which a device hands packets, or with which it speaks of routes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NextRouters {
    /// The next hops of its routes: the ifIndex, and the router's address.
    pub next_hops: Vec<(u32, IpAddr)>,
    /// Its established BGP sessions: its own address, and the peer's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<(IpAddr, IpAddr)>,
}

/// The answer to a cheap poll: a handful of scalars and the interface states.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DevicePulse {
    /// sysUpTime in hundredths of a second. If it goes back, the agent restarted.
    pub uptime: u32,
    /// dot1dStpTopChanges; `None` without BRIDGE-MIB.
    pub top_changes: Option<u32>,
    /// dot1dStpTimeSinceTopologyChange in hundredths of a second.
    pub since_top_change: Option<u32>,
    /// dot1dStpPortState per base port.
    pub stp_states: Vec<(u32, StpState)>,
    /// lldpStatsRemTablesLastChangeTime in hundredths of a second.
    pub lldp_last_change: Option<u32>,
    /// ifOperStatus is up, per ifIndex.
    pub up: Vec<(u32, bool)>,
    /// ifHCInOctets and ifHCOutOctets per ifIndex, for the load; ifInOctets and ifOutOctets where
    /// the device has no other.
    pub octets: Vec<(u32, u64, u64)>,
    /// `octets` are of 32 bits, and wrap.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub narrow: bool,
    /// Only the scalars were asked: nothing is known of ports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

impl DeviceFact {
    /// Returns whether this is a pulse.
    pub fn is_pulse(&self) -> bool {
        matches!(self, DeviceFact::Pulse(_))
    }
}

impl DevicePulse {
    /// Takes the scalars of a brief pulse; what was known of ports stays.
    pub fn take_scalars(&mut self, brief: &DevicePulse) {
        self.uptime = brief.uptime;
        self.top_changes = brief.top_changes;
        self.since_top_change = brief.since_top_change;
        self.lldp_last_change = brief.lldp_last_change;
        self.brief = true;
    }

    /// The same pulse; where it is brief, with what was known of ports before.
    pub fn completed(&self, before: Option<&DevicePulse>) -> DevicePulse {
        let Some(before) = before.filter(|_| self.brief) else {
            return self.clone();
        };
        let DevicePulse {
            stp_states,
            up,
            octets,
            narrow,
            ..
        } = before.clone();
        DevicePulse {
            stp_states,
            up,
            octets,
            narrow,
            ..self.clone()
        }
    }
}
