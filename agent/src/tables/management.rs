//! The management addresses of neighbours: lldpRemManAddrTable (IEEE 802.1AB-2005, clause 12), the
//! same of LLDP-V2-MIB, and cdpCacheAddress of CISCO-CDP-MIB. Nobody polls them: they are read once,
//! when an inventory is begun.
use super::lldp::remote::RemoteColumns;
use super::lldp::standard::{self, FIRST_REMOTE, SECOND_REMOTE};
use super::{TableObjects, cdp, system, text};
use crate::walk::WalkAnswers;
use inventory::observation::{NeighbourId, SystemCapabilities};
use snmp::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// lldpRemManAddrIfSubtype, indexed as lldpRemTable and by subtype and address behind that. The
/// address itself is not accessible.
const FIRST_ADDRESS: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 2, 1, 3];
/// lldpV2RemManAddrIfSubtype.
const SECOND_ADDRESS: &[u32] = &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 2, 1, 3];

/// The types of addresses in LLDP (IANA address family numbers).
const IPV4: u32 = 1;
const IPV6: u32 = 2;

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[
        system::NAME,
        system::DESCR,
        standard::CHASSIS_SUBTYPE,
        standard::CHASSIS,
        standard::SECOND_CHASSIS_SUBTYPE,
        standard::SECOND_CHASSIS,
    ],
    columns: &[
        FIRST_REMOTE.chassis_subtype,
        FIRST_REMOTE.chassis,
        FIRST_REMOTE.port_subtype,
        FIRST_REMOTE.port,
        FIRST_REMOTE.port_descr,
        FIRST_REMOTE.name,
        FIRST_REMOTE.capabilities,
        FIRST_ADDRESS,
        SECOND_REMOTE.chassis_subtype,
        SECOND_REMOTE.chassis,
        SECOND_REMOTE.port_subtype,
        SECOND_REMOTE.port,
        SECOND_REMOTE.port_descr,
        SECOND_REMOTE.name,
        SECOND_REMOTE.capabilities,
        SECOND_ADDRESS,
        cdp::DEVICE,
        cdp::DEVICE_PORT,
        cdp::CAPABILITIES,
        cdp::SYS_NAME,
        cdp::ADDRESS,
    ],
};

/// A device's own names, and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NeighbourList {
    /// sysName.
    pub name: String,
    /// sysDescr.
    pub descr: String,
    /// Its chassis id, by which its neighbours know it.
    pub chassis: Option<NeighbourId>,
    /// Its neighbours, by LLDP or CDP.
    pub neighbours: Vec<ManagedNeighbour>,
}

/// A neighbour, as it announced itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedNeighbour {
    /// Its name; may be empty.
    pub name: String,
    pub chassis: Option<NeighbourId>,
    /// The kind of device that it says it is; `None`: it does not say.
    pub capabilities: Option<SystemCapabilities>,
    /// True if its chassis id is also its port's: a network card that speaks for itself.
    pub is_card: bool,
    /// The addresses at which it says it is managed.
    pub addresses: Vec<IpAddr>,
}

/// Reads the answers. Both editions of the MIB count here: what one of them names twice is the same
/// device again.
pub(crate) fn read(answers: &WalkAnswers) -> NeighbourList {
    let first = lldp_neighbours(answers, &FIRST_REMOTE, FIRST_ADDRESS);
    let second = lldp_neighbours(answers, &SECOND_REMOTE, SECOND_ADDRESS);
    NeighbourList {
        name: text(answers.scalar(system::NAME)),
        descr: text(answers.scalar(system::DESCR)),
        chassis: standard::own_chassis(answers),
        neighbours: first
            .into_iter()
            .chain(second)
            .chain(cdp_neighbours(answers))
            .collect(),
    }
}

fn lldp_neighbours(
    answers: &WalkAnswers,
    remote: &RemoteColumns,
    column: &[u32],
) -> Vec<ManagedNeighbour> {
    let stated: Vec<&[u32]> = answers.column(column).map(|(index, _)| index).collect();
    let rows = remote.rows(answers).into_iter();
    let neighbours = rows.map(|(index, local)| {
        let row = remote.row(answers, index, local);
        ManagedNeighbour {
            is_card: row.chassis.is_some() && row.chassis == row.port,
            name: row.name,
            chassis: row.chassis,
            capabilities: row.capabilities,
            addresses: stated
                .iter()
                .filter_map(|stated| stated.strip_prefix(index).and_then(address))
                .collect(),
        }
    });
    neighbours.collect()
}

/// An address behind the index of a neighbour: its type, its length, its octets. Some agents leave
/// out the length.
fn address(parts: &[u32]) -> Option<IpAddr> {
    let (kind, rest) = parts.split_first()?;
    let parts: Vec<u8> = rest
        .iter()
        .map(|part| u8::try_from(*part).ok())
        .collect::<Option<_>>()?;
    let octets = match &parts[..] {
        [length, rest @ ..] if usize::from(*length) == rest.len() => rest,
        all => all,
    };
    match *kind {
        IPV4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into()),
        IPV6 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into()),
        _ => None,
    }
}

fn cdp_neighbours(answers: &WalkAnswers) -> Vec<ManagedNeighbour> {
    let neighbours = cdp::rows(answers).into_iter().map(|(index, row)| {
        let octets = answers.cell(cdp::ADDRESS, index).and_then(Value::as_bytes);
        let address: Option<IpAddr> = octets.and_then(|octets| match octets.len() {
            4 => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
            _ => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
        });
        let named = match &row.device {
            Some(NeighbourId::Text(text)) => text.clone(),
            _ => String::new(),
        };
        ManagedNeighbour {
            name: if row.name.is_empty() { named } else { row.name },
            chassis: row.device.filter(|id| matches!(id, NeighbourId::Mac(_))),
            capabilities: row.capabilities,
            is_card: false,
            addresses: Vec::from_iter(address),
        }
    });
    neighbours.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use snmp::Value;

    #[test]
    fn addresses_stand_behind_the_index_of_their_neighbour() {
        let list = read(&answers(&[
            ("1.3.6.1.2.1.1.5.0", octets("s0")),
            ("1.3.6.1.2.1.1.1.0", octets("Linux")),
            ("1.0.8802.1.1.2.1.3.1.0", Value::Integer(4)),
            ("1.0.8802.1.1.2.1.3.2.0", octets([2, 0, 0, 0, 0, 1])),
            ("1.0.8802.1.1.2.1.4.1.1.4.0.5.1", Value::Integer(4)),
            ("1.0.8802.1.1.2.1.4.1.1.5.0.5.1", octets([2, 0, 0, 0, 0, 2])),
            ("1.0.8802.1.1.2.1.4.1.1.9.0.5.1", octets("s1")),
            ("1.0.8802.1.1.2.1.4.1.1.12.0.5.1", octets([0x28])),
            ("1.0.8802.1.1.2.1.4.1.1.9.0.6.1", octets("n1")),
            (
                "1.0.8802.1.1.2.1.4.2.1.3.0.5.1.1.4.10.0.0.2",
                Value::Integer(2),
            ),
            (
                "1.0.8802.1.1.2.1.4.2.1.3.0.5.1.1.10.0.0.3",
                Value::Integer(2),
            ),
            (
                "1.0.8802.1.1.2.1.4.2.1.3.0.5.1.2.16.253.0.0.0.0.0.0.0.0.0.0.0.0.0.0.9",
                Value::Integer(2),
            ),
            (
                "1.0.8802.1.1.2.1.4.2.1.3.0.5.1.6.6.2.0.0.0.0.9",
                Value::Integer(2),
            ),
            (
                "1.0.8802.1.1.2.1.4.2.1.3.0.6.1.1.4.10.0.0.300",
                Value::Integer(2),
            ),
        ]));
        assert_eq!((list.name.as_str(), list.descr.as_str()), ("s0", "Linux"));
        assert!(matches!(list.chassis, Some(NeighbourId::Mac(_))));
        let [s1, n1] = &list.neighbours[..] else {
            panic!("{list:?}");
        };
        let addresses: Vec<String> = s1.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.2", "10.0.0.3", "fd00::9"]);
        let capabilities = s1.capabilities.unwrap();
        assert!(capabilities.bridge && capabilities.router && s1.name == "s1");
        assert_eq!((n1.name.as_str(), n1.addresses.len()), ("n1", 0));
    }

    #[test]
    fn cdp_names_an_address_too() {
        let list = read(&answers(&[
            (
                "1.3.6.1.4.1.9.9.23.1.2.1.1.6.7.2",
                octets("core.example.org"),
            ),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.4.7.2", octets([10, 0, 0, 9])),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.9.7.2", octets([0, 0, 0, 0x28])),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.6.8.1", octets("short")),
            ("1.3.6.1.4.1.9.9.23.1.2.1.1.4.8.1", octets([10, 0])),
        ]));
        let seen: Vec<_> = list
            .neighbours
            .iter()
            .map(|n| (n.name.as_str(), n.addresses.len()))
            .collect();
        assert_eq!(seen, [("core.example.org", 1), ("short", 0)]);
    }
}
