//! LLDP-MIB (IEEE 802.1AB-2005, clause 12) and LLDP-V2-MIB (IEEE 802.1AB-2016, 11.5). The subtype enumerations of chassis
//! and port differ (8.5.2.2 and 8.5.3.2 there); both end in one [`Id`].
use super::{Objects, cdp, number, plain, text};
use crate::walk::Answers;
use inventory::Mac;
use inventory::observation::{Capabilities, Cdp, Id, Lldp, LldpNeighbour, LldpPort};
use snmp::Value;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The objects of one edition of the MIB.
struct Edition {
    chassis_subtype: &'static [u32],
    chassis: &'static [u32],
    name: &'static [u32],
    /// The enabled system capabilities, here and of neighbours.
    capabilities: &'static [u32],
    port_subtype: &'static [u32],
    port: &'static [u32],
    port_descr: &'static [u32],
    rem_chassis_subtype: &'static [u32],
    rem_chassis: &'static [u32],
    rem_port_subtype: &'static [u32],
    rem_port: &'static [u32],
    rem_port_descr: &'static [u32],
    rem_name: &'static [u32],
    rem_capabilities: &'static [u32],
    /// Parts of the index of a neighbour; the second is the local port.
    rem_index: usize,
}

/// lldpRemTable is indexed by TimeMark, local port and neighbour.
const FIRST: Edition = Edition {
    chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 1],
    chassis: &[1, 0, 8802, 1, 1, 2, 1, 3, 2],
    name: &[1, 0, 8802, 1, 1, 2, 1, 3, 3],
    capabilities: &[1, 0, 8802, 1, 1, 2, 1, 3, 6],
    port_subtype: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2],
    port: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3],
    port_descr: &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4],
    rem_chassis_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 4],
    rem_chassis: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 5],
    rem_port_subtype: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 6],
    rem_port: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 7],
    rem_port_descr: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 8],
    rem_name: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 9],
    rem_capabilities: &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 12],
    rem_index: 3,
};

/// lldpV2RemTable is indexed by TimeMark, ifIndex, destination address and neighbour.
const SECOND: Edition = Edition {
    chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 1],
    chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 2],
    name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 3],
    capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 6],
    port_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 2],
    port: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 3],
    port_descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 3, 7, 1, 4],
    rem_chassis_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 5],
    rem_chassis: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 6],
    rem_port_subtype: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 7],
    rem_port: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 8],
    rem_port_descr: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 9],
    rem_name: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 10],
    rem_capabilities: &[1, 3, 111, 2, 802, 1, 1, 13, 1, 4, 1, 1, 13],
    rem_index: 4,
};

/// lldpStatsRemTablesLastChangeTime.
pub(crate) const LAST_CHANGE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 2, 1];

pub(crate) const OBJECTS: Objects = Objects {
    scalars: &[
        FIRST.chassis_subtype,
        FIRST.chassis,
        FIRST.name,
        FIRST.capabilities,
        SECOND.chassis_subtype,
        SECOND.chassis,
        SECOND.name,
        SECOND.capabilities,
        cdp::GLOBAL_DEVICE,
    ],
    columns: &[
        FIRST.port_subtype,
        FIRST.port,
        FIRST.port_descr,
        FIRST.rem_chassis_subtype,
        FIRST.rem_chassis,
        FIRST.rem_port_subtype,
        FIRST.rem_port,
        FIRST.rem_port_descr,
        FIRST.rem_name,
        FIRST.rem_capabilities,
        SECOND.port_subtype,
        SECOND.port,
        SECOND.port_descr,
        SECOND.rem_chassis_subtype,
        SECOND.rem_chassis,
        SECOND.rem_port_subtype,
        SECOND.rem_port,
        SECOND.rem_port_descr,
        SECOND.rem_name,
        SECOND.rem_capabilities,
        cdp::DEVICE,
        cdp::DEVICE_PORT,
        cdp::CAPABILITIES,
    ],
};

/// What a subtype says the octets are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Mac,
    Address,
    Text,
}

/// The first edition, unless only the second names neighbours: they number ports differently, so they are not mixed.
pub(crate) fn read(answers: &Answers) -> Lldp {
    let first = FIRST.read(answers);
    let second = SECOND.read(answers);
    let empty = |l: &Lldp| l.neighbours.is_empty() && (l.chassis.is_none() || l.ports.is_empty());
    let later = first.neighbours.is_empty() && (!second.neighbours.is_empty() || empty(&first) && !empty(&second));
    Lldp { cdp: cdp::read(answers), ..if later { second } else { first } }
}

impl Edition {
    fn read(&self, answers: &Answers) -> Lldp {
        Lldp {
            chassis: id(answers.scalar(self.chassis), chassis_kind(number(answers.scalar(self.chassis_subtype)))),
            name: text(answers.scalar(self.name)),
            capabilities: answers.scalar(self.capabilities).and_then(Value::as_bytes).and_then(capabilities),
            ports: answers.column(self.port).filter_map(|(index, value)| self.port(answers, index, value)).collect(),
            neighbours: self.neighbours(answers),
            cdp: Cdp::default(),
        }
    }

    fn port(&self, answers: &Answers, index: &[u32], value: &Value) -> Option<LldpPort> {
        let [number_] = index else { return None };
        let kind = port_kind(number(answers.cell(self.port_subtype, index)));
        Some(LldpPort { number: *number_, id: id(Some(value), kind)?, descr: text(answers.cell(self.port_descr, index)) })
    }

    /// Columns can be sparse, so a row is there when any of the naming columns has it. Indexes with other parts than
    /// their own occur and say nothing.
    fn neighbours(&self, answers: &Answers) -> Vec<LldpNeighbour> {
        let named = [self.rem_chassis, self.rem_port, self.rem_name];
        let indices: BTreeSet<&[u32]> = named.iter().flat_map(|column| answers.column(column)).map(|(index, _)| index).collect();
        let row = |index: &[u32]| {
            let cell = |column| answers.cell(column, index);
            LldpNeighbour {
                local_port: index[1],
                chassis: id(cell(self.rem_chassis), chassis_kind(number(cell(self.rem_chassis_subtype)))),
                port: id(cell(self.rem_port), port_kind(number(cell(self.rem_port_subtype)))),
                port_descr: text(cell(self.rem_port_descr)),
                name: text(cell(self.rem_name)),
                capabilities: cell(self.rem_capabilities).and_then(Value::as_bytes).and_then(capabilities),
            }
        };
        indices.into_iter().filter(|index| index.len() == self.rem_index).map(row).collect()
    }
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
pub(super) fn id(value: Option<&Value>, kind: Option<Kind>) -> Option<Id> {
    let octets = value?.as_bytes().filter(|o| !o.is_empty())?;
    let printable =
        std::str::from_utf8(octets).ok().map(|t| t.trim_end_matches('\0')).filter(|t| !t.is_empty() && !t.chars().any(char::is_control));
    let raw = || Mac::from_octets(octets);
    let written = || written_mac(printable?);
    let known = match kind {
        Some(Kind::Mac) => raw().or_else(written).map(Id::Mac),
        Some(Kind::Address) => address(octets).map(Id::Address),
        Some(Kind::Text) => None,
        None => raw().filter(|_| printable.is_none()).or_else(written).map(Id::Mac),
    };
    known.or_else(|| match printable {
        Some(text) => Some(Id::Text(plain(text))),
        None => Some(Id::Text(octets.iter().map(|o| format!("{o:02x}")).collect())),
    })
}

/// A MAC address as agents write it that do not send octets: `e4:f0:04:e1:89:18`, parted by hyphens, dots or blanks too.
fn written_mac(text: &str) -> Option<Mac> {
    let digits: String = text.trim().chars().filter(|c| !":-. ".contains(*c)).collect();
    let parted = digits.len() != text.trim().len();
    let whole: Option<u64> = (parted && digits.len() == 12).then(|| u64::from_str_radix(&digits, 16).ok()).flatten();
    whole.map(|n| n.to_be_bytes()).and_then(|octets| Mac::from_octets(&octets[2..])).or_else(|| text.parse().ok())
}

/// A network address: one octet of IANA address family, then the address. Some agents leave the family out, or write
/// the address as a text.
fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets {
        [a, b, c, d] => Some(IpAddr::from([*a, *b, *c, *d])),
        [1, rest @ ..] => <[u8; 4]>::try_from(rest).ok().map(IpAddr::from),
        [2, rest @ ..] => <[u8; 16]>::try_from(rest).ok().map(IpAddr::from),
        _ => None,
    }
    .or_else(|| std::str::from_utf8(octets).ok()?.trim().parse().ok())
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
    fn the_second_edition_counts_where_only_it_speaks() {
        let mut cells = vec![
            ("1.3.111.2.802.1.1.13.1.3.1.0", Value::Integer(4)),
            ("1.3.111.2.802.1.1.13.1.3.2.0", octets(MAC)),
            ("1.3.111.2.802.1.1.13.1.4.1.1.5.0.12.1.1", Value::Integer(4)),
            ("1.3.111.2.802.1.1.13.1.4.1.1.6.0.12.1.1", octets([2, 0, 0, 0, 0, 8])),
            ("1.3.111.2.802.1.1.13.1.4.1.1.8.0.12.1.1", octets("swp7")),
            ("1.3.111.2.802.1.1.13.1.4.1.1.10.0.12.1.1", octets("s7")),
            ("1.3.111.2.802.1.1.13.1.4.1.1.13.0.12.1.1", octets([0x20])),
            ("1.3.111.2.802.1.1.13.1.4.1.1.10.0.13.1", octets("index of the first edition")),
            ("1.0.8802.1.1.2.1.3.3.0", octets("s0")),
        ];
        let lldp = read(&answers(&cells));
        let expected = LldpNeighbour {
            local_port: 12,
            chassis: Some(Id::Mac(Mac([2, 0, 0, 0, 0, 8]))),
            port: Some(Id::Text("swp7".into())),
            name: "s7".into(),
            capabilities: Some(Capabilities { bridge: true, router: false }),
            ..LldpNeighbour::default()
        };
        assert_eq!((lldp.chassis, lldp.neighbours), (Some(Id::Mac(Mac(MAC))), vec![expected]));
        cells.push(("1.0.8802.1.1.2.1.4.1.1.9.0.5.1", octets("s9")));
        let lldp = read(&answers(&cells));
        assert_eq!((lldp.neighbours.len(), lldp.neighbours[0].local_port), (1, 5), "both speak: the first one");
    }

    #[test]
    fn identifiers_of_every_kind() {
        let of = |bytes: &[u8], kind| id(Some(&octets(bytes)), kind);
        assert_eq!(of(b"00:11:22:33:44:55", Some(Kind::Mac)), Some(Id::Mac(Mac([0, 0x11, 0x22, 0x33, 0x44, 0x55]))), "as text");
        for text in ["e4 f0 04 e1 89 18", "e4f0.04e1.8918", "E4-F0-04-E1-89-18"] {
            assert_eq!(of(text.as_bytes(), Some(Kind::Mac)), Some(Id::Mac(Mac([0xe4, 0xf0, 4, 0xe1, 0x89, 0x18]))), "{text}");
            assert_eq!(of(text.as_bytes(), None), of(text.as_bytes(), Some(Kind::Mac)), "{text}");
        }
        assert_eq!(of(b"e4f004e18918", None), Some(Id::Text("e4f004e18918".into())), "may as well be a name");
        assert_eq!(of(&[1, 10, 0, 0, 1], Some(Kind::Address)), Some(Id::Address("10.0.0.1".parse().unwrap())));
        assert_eq!(of(&[10, 0, 0, 1], Some(Kind::Address)), Some(Id::Address("10.0.0.1".parse().unwrap())), "without family");
        assert_eq!(of(b"fe80::1", Some(Kind::Address)), Some(Id::Address("fe80::1".parse().unwrap())), "as text");
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
