//! The tables of neighbours: LLDP-MIB, and what vendors have besides.
use crate::Mac;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// LLDP-MIB (IEEE 802.1AB-2005): the device's own identity and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LldpTable {
    /// lldpLocChassisId, as shown by [`NeighbourId`].
    pub chassis: Option<NeighbourId>,
    /// lldpLocSysName.
    pub name: String,
    /// lldpLocSysCapEnabled.
    #[serde(default)]
    pub capabilities: Option<SystemCapabilities>,
    /// lldpLocPortTable: local port number to port id and description.
    pub ports: Vec<LldpPort>,
    /// lldpRemTable.
    pub neighbours: Vec<LldpNeighbour>,
    /// The neighbours by the protocols of vendors, Cisco's first of all.
    #[serde(default)]
    pub cdp: CdpTable,
}

/// One row of lldpLocPortTable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LldpPort {
    /// lldpLocPortNum. In general it is neither ifIndex nor base port.
    pub number: u32,
    /// lldpLocPortIdSubtype; `None` if the column is sparse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PortIdKind>,
    /// lldpLocPortId. Some devices give all their ports the same.
    pub id: NeighbourId,
    /// lldpLocPortDesc.
    pub descr: String,
}

/// One row of lldpRemTable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LldpNeighbour {
    /// lldpRemLocalPortNum.
    pub local_port: u32,
    /// The ifIndex of the local port, where the table tells it instead of a number of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_index: Option<u32>,
    /// lldpRemChassisIdSubtype; `None` if the column is sparse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chassis_kind: Option<ChassisIdKind>,
    /// lldpRemChassisId.
    pub chassis: Option<NeighbourId>,
    /// lldpRemPortIdSubtype; `None` if the column is sparse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_kind: Option<PortIdKind>,
    /// lldpRemPortId.
    pub port: Option<NeighbourId>,
    /// lldpRemPortDesc.
    pub port_descr: String,
    /// lldpRemSysName; empty if the column is sparse.
    pub name: String,
    /// lldpRemSysCapEnabled; `None` if the column is sparse.
    #[serde(default)]
    pub capabilities: Option<SystemCapabilities>,
}

/// The subtype of a chassis id (IEEE 802.1AB-2016, Table 8-2; LldpChassisIdSubtype).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChassisIdKind {
    /// chassisComponent(1)
    ChassisComponent,
    /// interfaceAlias(2)
    InterfaceAlias,
    /// portComponent(3)
    PortComponent,
    /// macAddress(4)
    MacAddress,
    /// networkAddress(5)
    NetworkAddress,
    /// interfaceName(6)
    InterfaceName,
    /// local(7), or a number that the standard does not know.
    Local,
}

impl ChassisIdKind {
    /// The kind with a number.
    pub fn from_number(number: u32) -> ChassisIdKind {
        match number {
            1 => ChassisIdKind::ChassisComponent,
            2 => ChassisIdKind::InterfaceAlias,
            3 => ChassisIdKind::PortComponent,
            4 => ChassisIdKind::MacAddress,
            5 => ChassisIdKind::NetworkAddress,
            6 => ChassisIdKind::InterfaceName,
            _ => ChassisIdKind::Local,
        }
    }
}

/// The subtype of a port id, which is numbered differently (Table 8-3; LldpPortIdSubtype).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortIdKind {
    /// interfaceAlias(1)
    InterfaceAlias,
    /// portComponent(2)
    PortComponent,
    /// macAddress(3)
    MacAddress,
    /// networkAddress(4)
    NetworkAddress,
    /// interfaceName(5)
    InterfaceName,
    /// agentCircuitId(6)
    AgentCircuitId,
    /// local(7), or a number that the standard does not know.
    Local,
}

impl PortIdKind {
    /// The kind with a number.
    pub fn from_number(number: u32) -> PortIdKind {
        match number {
            1 => PortIdKind::InterfaceAlias,
            2 => PortIdKind::PortComponent,
            3 => PortIdKind::MacAddress,
            4 => PortIdKind::NetworkAddress,
            5 => PortIdKind::InterfaceName,
            6 => PortIdKind::AgentCircuitId,
            _ => PortIdKind::Local,
        }
    }
}

/// The neighbours by the protocols of vendors: CISCO-CDP-MIB, and what others serve instead.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CdpTable {
    /// cdpGlobalDeviceId.
    pub device: String,
    /// cdpCacheTable.
    pub neighbours: Vec<CdpNeighbour>,
}

/// One row of cdpCacheTable, or of the table of another vendor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CdpNeighbour {
    /// The protocol that the table speaks of.
    #[serde(default, skip_serializing_if = "VendorProtocol::is_cdp")]
    pub protocol: VendorProtocol,
    /// cdpCacheIfIndex.
    pub if_index: u32,
    /// cdpCacheDeviceId: a name, or an address.
    pub device: Option<NeighbourId>,
    /// The neighbour's name, where `device` is something else; empty if the table does not tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// cdpCacheDevicePort.
    pub port: Option<NeighbourId>,
    /// cdpCacheCapabilities.
    pub capabilities: Option<SystemCapabilities>,
}

/// A vendor's neighbour protocol. A bridge that does not speak it passes its frames on, so a
/// neighbour may be several cables away.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum VendorProtocol {
    /// Cisco.
    #[default]
    Cdp,
    /// Foundry, Brocade, Ruckus.
    Fdp,
    /// Extreme.
    Edp,
    /// MikroTik. It is broadcast, so each device of the network is everybody's neighbour.
    Mndp,
}

impl VendorProtocol {
    /// True for Cisco's.
    pub fn is_cdp(&self) -> bool {
        *self == VendorProtocol::Cdp
    }

    /// True if any bridge passes its frames on, whoever made it.
    pub fn is_broadcast(self) -> bool {
        self == VendorProtocol::Mndp
    }
}

/// The capabilities of a neighbour, by its own statement (IEEE 802.1AB-2005,
/// LldpSystemCapabilitiesMap), as far as they matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SystemCapabilities {
    /// bridge(2).
    pub bridge: bool,
    /// router(4).
    pub router: bool,
}

/// An LLDP chassis or port identifier, reduced to the part by which it can be matched (IEEE 802.1AB
/// 8.5.2, 8.5.3). The two subtype enumerations differ; the reader resolves them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeighbourId {
    /// A MAC address.
    Mac(Mac),
    /// A network address.
    Address(IpAddr),
    /// An interface name, alias, component or locally assigned text; unprintable octets are
    /// hexadecimal.
    Text(String),
}

impl NeighbourId {
    /// True if it cannot be one device's or port's own: the null address, a group address, one that
    /// every device or each of a group has, one that counts on a single link only, or a text of nothing
    /// but zeros.
    pub fn names_nobody(&self) -> bool {
        match self {
            NeighbourId::Mac(mac) => mac.names_nobody(),
            NeighbourId::Address(address) => is_anywhere(*address),
            NeighbourId::Text(text) => {
                text.parse::<Mac>().is_ok_and(Mac::names_nobody)
                    || text.parse().is_ok_and(is_anywhere)
                    || text.len() >= 12 && text.bytes().all(|b| b == b'0')
                    || text.trim().is_empty()
            }
        }
    }
}

/// True for an address that may be any device's: unspecified, loopback, group, broadcast, or of one
/// link only (RFC 3927, RFC 4291).
fn is_anywhere(address: IpAddr) -> bool {
    let of_one_link = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    of_one_link || address.is_unspecified() || address.is_loopback() || address.is_multicast()
}

impl fmt::Display for NeighbourId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NeighbourId::Mac(mac) => write!(f, "{mac}"),
            NeighbourId::Address(address) => write!(f, "{address}"),
            NeighbourId::Text(text) => f.write_str(text),
        }
    }
}

/// An IEEE 802.1D bridge identifier: 16 bits of priority, 48 of address (9.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BridgeId {
    /// The priority with any system id extension.
    pub priority: u16,
    pub address: Mac,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_group_addresses_name_nobody_in_any_form() {
        for nobody in [
            NeighbourId::Mac(Mac([0; 6])),
            NeighbourId::Mac(Mac([0xff; 6])),
            address("0.0.0.0"),
            address("127.0.0.1"),
            address("169.254.1.1"),
            address("255.255.255.255"),
            address("fe80::1"),
            text("127.0.0.1"),
            address("ff02::1"),
            text("00-00-00-00-00-00"),
            text("000000000000"),
            text(" "),
        ] {
            assert!(nobody.names_nobody(), "{nobody}");
        }
        for somebody in [
            NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 1])),
            address("10.0.0.1"),
            text("0"),
            text("sw1"),
        ] {
            assert!(!somebody.names_nobody(), "{somebody}");
        }
    }

    fn text(text: &str) -> NeighbourId {
        NeighbourId::Text(text.into())
    }

    fn address(text: &str) -> NeighbourId {
        NeighbourId::Address(text.parse().unwrap())
    }

    /// Journals and recordings of views that were written before a field was there.
    #[test]
    fn tables_written_before_are_still_read() {
        let text = r#"{"chassis": null, "name": "s0", "neighbours": [{"local_port": 5,
            "chassis": {"mac": "02:00:00:00:00:09"}, "port": null, "port_descr": "", "name": ""}],
            "ports": [{"number": 5, "id": {"text": "swp5"}, "descr": ""}],
            "cdp": {"device": "", "neighbours": [
            {"if_index": 7, "device": null, "port": null, "capabilities": null}]}}"#;
        let table: LldpTable = serde_json::from_str(text).unwrap();
        assert_eq!(
            (table.ports[0].kind, table.neighbours[0].if_index),
            (None, None)
        );
        assert_eq!(table.cdp.neighbours[0].protocol, VendorProtocol::Cdp);
        let again = serde_json::to_string(&table).unwrap();
        assert!(
            !again.contains("protocol") && !again.contains("kind"),
            "{again}"
        );
    }
}
