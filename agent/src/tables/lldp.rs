//! LLDP-MIB (IEEE 802.1AB-2005, clause 12). The subtype enumerations of chassis and port differ (8.5.2.2 and
//! 8.5.3.2 there); both end in one [`Id`].
use super::{Objects, number, text};
use crate::walk::Answers;
use inventory::Mac;
use inventory::observation::{Capabilities, Id, Lldp, LldpNeighbour, LldpPort};
use snmp::Value;
use std::collections::BTreeSet;
use std::net::IpAddr;

const LOC_CHASSIS_SUBTYPE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 1];
const LOC_CHASSIS: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 2];
const LOC_SYS_NAME: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 3];
const LOC_PORT_SUBTYPE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2];
const LOC_PORT_ID: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3];
const LOC_PORT_DESCR: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4];
const REM_CHASSIS_SUBTYPE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 4];
const REM_CHASSIS: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 5];
const REM_PORT_SUBTYPE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 6];
const REM_PORT_ID: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 7];
const REM_PORT_DESCR: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 8];
const REM_SYS_NAME: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 9];
/// lldpRemSysCapEnabled.
const REM_CAPABILITIES: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 12];
/// lldpStatsRemTablesLastChangeTime.
pub(crate) const LAST_CHANGE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 2, 1];

pub(crate) const OBJECTS: Objects = Objects {
    scalars: &[LOC_CHASSIS_SUBTYPE, LOC_CHASSIS, LOC_SYS_NAME],
    columns: &[
        LOC_PORT_SUBTYPE,
        LOC_PORT_ID,
        LOC_PORT_DESCR,
        REM_CHASSIS_SUBTYPE,
        REM_CHASSIS,
        REM_PORT_SUBTYPE,
        REM_PORT_ID,
        REM_PORT_DESCR,
        REM_SYS_NAME,
        REM_CAPABILITIES,
    ],
};

/// What a subtype says the octets are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mac,
    Address,
    Text,
}

pub(crate) fn read(answers: &Answers) -> Lldp {
    Lldp {
        chassis: id(answers.scalar(LOC_CHASSIS), chassis_kind(number(answers.scalar(LOC_CHASSIS_SUBTYPE)))),
        name: text(answers.scalar(LOC_SYS_NAME)),
        ports: answers.column(LOC_PORT_ID).filter_map(|(index, value)| port(answers, index, value)).collect(),
        neighbours: neighbours(answers),
    }
}

fn port(answers: &Answers, index: &[u32], value: &Value) -> Option<LldpPort> {
    let [number_] = index else { return None };
    let kind = port_kind(number(answers.cell(LOC_PORT_SUBTYPE, index)));
    Some(LldpPort { number: *number_, id: id(Some(value), kind)?, descr: text(answers.cell(LOC_PORT_DESCR, index)) })
}

/// Columns can be sparse, so a row is there when any of the naming columns has it. Indexes are TimeMark, local
/// port, neighbour; those with other parts occur and say nothing.
fn neighbours(answers: &Answers) -> Vec<LldpNeighbour> {
    let named = [REM_CHASSIS, REM_PORT_ID, REM_SYS_NAME];
    let indices: BTreeSet<&[u32]> = named.iter().flat_map(|column| answers.column(column)).map(|(index, _)| index).collect();
    indices
        .into_iter()
        .filter(|index| index.len() == 3)
        .map(|index| {
            let cell = |column| answers.cell(column, index);
            LldpNeighbour {
                local_port: index[1],
                chassis: id(cell(REM_CHASSIS), chassis_kind(number(cell(REM_CHASSIS_SUBTYPE)))),
                port: id(cell(REM_PORT_ID), port_kind(number(cell(REM_PORT_SUBTYPE)))),
                port_descr: text(cell(REM_PORT_DESCR)),
                name: text(cell(REM_SYS_NAME)),
                capabilities: cell(REM_CAPABILITIES).and_then(Value::as_bytes).and_then(capabilities),
            }
        })
        .collect()
}

/// LldpSystemCapabilitiesMap is BITS: bit 0 is the highest of the first octet (RFC 2578, 7.1.4).
fn capabilities(bits: &[u8]) -> Option<Capabilities> {
    bits.first().map(|first| Capabilities { bridge: first & 0x20 != 0, router: first & 0x08 != 0 })
}

/// LldpChassisIdSubtype: macAddress(4), networkAddress(5); the rest are texts.
fn chassis_kind(subtype: Option<u32>) -> Option<Kind> {
    subtype.map(|n| match n {
        4 => Kind::Mac,
        5 => Kind::Address,
        _ => Kind::Text,
    })
}

/// LldpPortIdSubtype: macAddress(3), networkAddress(4); the rest are texts.
fn port_kind(subtype: Option<u32>) -> Option<Kind> {
    subtype.map(|n| match n {
        3 => Kind::Mac,
        4 => Kind::Address,
        _ => Kind::Text,
    })
}

/// An identifier from its octets. Where the subtype is missing, six unprintable octets are a MAC address.
fn id(value: Option<&Value>, kind: Option<Kind>) -> Option<Id> {
    let octets = value?.as_bytes().filter(|o| !o.is_empty())?;
    let printable =
        std::str::from_utf8(octets).ok().map(|t| t.trim_end_matches('\0')).filter(|t| !t.is_empty() && !t.chars().any(char::is_control));
    let as_mac = || Mac::from_octets(octets).or_else(|| printable?.parse().ok()).map(Id::Mac);
    let known = match kind {
        Some(Kind::Mac) => as_mac(),
        Some(Kind::Address) => address(octets).map(Id::Address),
        Some(Kind::Text) => None,
        None => printable.is_none().then(as_mac).flatten(),
    };
    known.or_else(|| match printable {
        Some(text) => Some(Id::Text(text.trim().to_owned())),
        None => Some(Id::Text(octets.iter().map(|o| format!("{o:02x}")).collect())),
    })
}

/// A network address: one octet of IANA address family, then the address.
fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets {
        [1, rest @ ..] => <[u8; 4]>::try_from(rest).ok().map(IpAddr::from),
        [2, rest @ ..] => <[u8; 16]>::try_from(rest).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

    #[test]
    fn reads_self_ports_and_neighbours() {
        let lldp = read(&answers(&[
            ("1.0.8802.1.1.2.1.3.1.0", Value::Integer(4)),
            ("1.0.8802.1.1.2.1.3.2.0", octets(MAC)),
            ("1.0.8802.1.1.2.1.3.3.0", octets("s0")),
            ("1.0.8802.1.1.2.1.3.7.1.2.5", Value::Integer(5)),
            ("1.0.8802.1.1.2.1.3.7.1.3.5", octets("swp5")),
            ("1.0.8802.1.1.2.1.4.1.1.4.100.5.1", Value::Integer(4)),
            ("1.0.8802.1.1.2.1.4.1.1.5.100.5.1", octets(MAC)),
            ("1.0.8802.1.1.2.1.4.1.1.6.100.5.1", Value::Integer(3)),
            ("1.0.8802.1.1.2.1.4.1.1.7.100.5.1", octets(MAC)),
            ("1.0.8802.1.1.2.1.4.1.1.9.200.6.2", octets("n3")),
            ("1.0.8802.1.1.2.1.4.1.1.5.6.2", octets("index with too few parts")),
        ]));
        assert_eq!((lldp.chassis, lldp.name.as_str()), (Some(Id::Mac(Mac(MAC))), "s0"));
        assert_eq!(lldp.ports, [LldpPort { number: 5, id: Id::Text("swp5".into()), descr: String::new() }]);
        assert_eq!(lldp.neighbours.len(), 2);
        assert_eq!((lldp.neighbours[0].local_port, &lldp.neighbours[0].port), (5, &Some(Id::Mac(Mac(MAC)))));
        assert_eq!((lldp.neighbours[1].local_port, lldp.neighbours[1].name.as_str(), &lldp.neighbours[1].chassis), (6, "n3", &None));
    }

    #[test]
    fn identifiers_of_every_kind() {
        let of = |bytes: &[u8], kind| id(Some(&octets(bytes)), kind);
        assert_eq!(of(b"00:11:22:33:44:55", Some(Kind::Mac)), Some(Id::Mac(Mac([0, 0x11, 0x22, 0x33, 0x44, 0x55]))), "as text");
        assert_eq!(of(&[1, 10, 0, 0, 1], Some(Kind::Address)), Some(Id::Address("10.0.0.1".parse().unwrap())));
        assert_eq!(of(&[7, 10], Some(Kind::Address)), Some(Id::Text("070a".into())), "unknown family");
        assert_eq!(of(&MAC, None), Some(Id::Mac(Mac(MAC))), "sparse subtype column");
        assert_eq!(of(b"switch", None), Some(Id::Text("switch".into())), "six printable octets are a name");
        assert_eq!(of(&MAC, Some(Kind::Text)), Some(Id::Text("020000000009".into())));
        assert_eq!((of(b"", Some(Kind::Text)), id(Some(&Value::Integer(1)), None)), (None, None));
        assert!(
            chassis_kind(Some(4)) == Some(Kind::Mac) && port_kind(Some(3)) == Some(Kind::Mac) && chassis_kind(Some(7)) == Some(Kind::Text)
        );
    }
}
