//! Identifiers of chassis and ports, as frames carry them and as LLDP-MIB and CDP-MIB pass them on.
use inventory::observation::NeighbourId;
use inventory::{Mac, sanitize};
use std::net::IpAddr;

/// The meaning that a subtype gives to the octets of an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdSubtype {
    Mac,
    Address,
    Text,
}

/// The meaning of a chassis ID's subtype (IEEE 802.1AB-2016, Table 8-2; LldpChassisIdSubtype): MAC
/// address (4), network address (5), otherwise text.
pub(crate) fn chassis_kind(subtype: u32) -> IdSubtype {
    match subtype {
        4 => IdSubtype::Mac,
        5 => IdSubtype::Address,
        _ => IdSubtype::Text,
    }
}

/// The meaning of a port ID's subtype, which is numbered differently (Table 8-3;
/// LldpPortIdSubtype): MAC address (3), network address (4), otherwise text.
pub(crate) fn port_kind(subtype: u32) -> IdSubtype {
    match subtype {
        3 => IdSubtype::Mac,
        4 => IdSubtype::Address,
        _ => IdSubtype::Text,
    }
}

/// Reads an identifier. If there is no subtype, six unprintable octets are a MAC address.
pub(crate) fn read(octets: &[u8], kind: Option<IdSubtype>) -> Option<NeighbourId> {
    if octets.is_empty() {
        return None;
    }
    let printable = printable(octets);
    let raw = || Mac::from_octets(octets);
    let written = || written_mac(printable.as_deref()?);
    let known = match kind {
        Some(IdSubtype::Mac) => raw().or_else(written).map(NeighbourId::Mac),
        Some(IdSubtype::Address) => address(octets).map(NeighbourId::Address),
        Some(IdSubtype::Text) => None,
        None => raw()
            .filter(|_| printable.is_none())
            .or_else(written)
            .map(NeighbourId::Mac),
    };
    let hexadecimal = || {
        sanitize::clean_line(
            &octets
                .iter()
                .map(|o| format!("{o:02x}"))
                .collect::<String>(),
        )
    };
    Some(known.unwrap_or_else(|| NeighbourId::Text(printable.unwrap_or_else(hexadecimal))))
}

/// A text without control characters that has at least one visible character.
fn printable(octets: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(octets).ok()?.trim_end_matches('\0');
    Some(sanitize::clean_line(text))
        .filter(|shown| !text.chars().any(char::is_control) && !shown.is_empty())
}

/// A MAC address that an agent sends as text instead of octets: `e4:f0:04:e1:89:18`, also separated
/// by hyphens, dots or blanks.
fn written_mac(text: &str) -> Option<Mac> {
    let digits: String = text
        .trim()
        .chars()
        .filter(|c| !":-. ".contains(*c))
        .collect();
    let parted = digits.len() != text.trim().len();
    let whole: Option<u64> = (parted && digits.len() == 12)
        .then(|| u64::from_str_radix(&digits, 16).ok())
        .flatten();
    whole
        .map(|n| n.to_be_bytes())
        .and_then(|octets| Mac::from_octets(&octets[2..]))
        .or_else(|| text.parse().ok())
}

/// A network address: one octet of IANA address family, then the address. Some agents omit the
/// family, or send the address as text.
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
    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

    fn mac(octets: [u8; 6]) -> Option<NeighbourId> {
        Some(NeighbourId::Mac(Mac(octets)))
    }

    fn address(text: &str) -> Option<NeighbourId> {
        Some(NeighbourId::Address(text.parse().unwrap()))
    }

    fn text(text: &str) -> Option<NeighbourId> {
        Some(NeighbourId::Text(text.into()))
    }

    #[test]
    fn mac_addresses_come_as_octets_or_as_text() {
        assert_eq!(
            read(b"00:11:22:33:44:55", Some(IdSubtype::Mac)),
            mac([0, 0x11, 0x22, 0x33, 0x44, 0x55])
        );
        for text in ["e4 f0 04 e1 89 18", "e4f0.04e1.8918", "E4-F0-04-E1-89-18"] {
            for subtype in [Some(IdSubtype::Mac), None] {
                let expected = mac([0xe4, 0xf0, 4, 0xe1, 0x89, 0x18]);
                assert_eq!(read(text.as_bytes(), subtype), expected, "{text}");
            }
        }
        assert_eq!(read(&MAC, None), mac(MAC), "sparse subtype column");
    }

    #[test]
    fn addresses_come_with_a_family_without_one_or_as_text() {
        for (octets, expected) in [
            (&[1, 10, 0, 0, 1][..], address("10.0.0.1")),
            (&[10, 0, 0, 1], address("10.0.0.1")),
            (b"fe80::1", address("fe80::1")),
            (&[7, 10], text("070a")),
        ] {
            assert_eq!(read(octets, Some(IdSubtype::Address)), expected);
        }
    }

    #[test]
    fn anything_else_is_a_text() {
        assert_eq!(
            read(b"e4f004e18918", None),
            text("e4f004e18918"),
            "it may just as well be a name"
        );
        assert_eq!(
            read(b"switch", None),
            text("switch"),
            "six printable octets are a name"
        );
        assert_eq!(read(&MAC, Some(IdSubtype::Text)), text("020000000009"));
        assert_eq!(
            read(b" \xe2\x80\x8e", Some(IdSubtype::Text)),
            text("20e2808e"),
            "a text without a visible character"
        );
        assert_eq!(read(b"", Some(IdSubtype::Text)), None);
    }

    #[test]
    fn chassis_and_ports_number_their_subtypes_differently() {
        let kinds = [IdSubtype::Mac, IdSubtype::Address, IdSubtype::Text];
        assert_eq!([4, 5, 7].map(chassis_kind), kinds);
        assert_eq!([3, 4, 5].map(port_kind), kinds);
    }
}
