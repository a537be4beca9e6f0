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
    /// A number of no known form (RFC 3046), unless it is a text.
    Circuit,
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
/// LldpPortIdSubtype): MAC address (3), network address (4), agent circuit ID (6), otherwise text.
pub(crate) fn port_kind(subtype: u32) -> IdSubtype {
    match subtype {
        3 => IdSubtype::Mac,
        4 => IdSubtype::Address,
        6 => IdSubtype::Circuit,
        _ => IdSubtype::Text,
    }
}

/// Reads an identifier. Six octets that are not text are a MAC address, and so is a text in the form
/// of one, whatever the subtype says.
pub(crate) fn read(octets: &[u8], kind: Option<IdSubtype>) -> Option<NeighbourId> {
    if octets.is_empty() {
        return None;
    }
    let text = printable(octets);
    let raw = Mac::from_octets(octets);
    let known = match kind {
        Some(IdSubtype::Mac) => raw
            .or_else(|| written_mac(text.as_deref()?))
            .map(NeighbourId::Mac),
        Some(IdSubtype::Address) => address(octets).map(NeighbourId::Address),
        Some(IdSubtype::Circuit) => None,
        Some(IdSubtype::Text) => raw
            // Some devices call an address a text. But six octets may be a name, or three
            // characters of GBK.
            .filter(|mac| !is_utf8_text(octets) && mac.is_station() && !is_multibyte(octets))
            .or_else(|| parted_mac(text.as_deref()?))
            .map(NeighbourId::Mac),
        // CDP has no subtype, and LLDP-MIB's column of subtypes may be sparse. Twelve digits
        // without separators stay a text: they may just as well be a name.
        None => raw
            .filter(|_| !is_utf8_text(octets))
            .or_else(|| parted_mac(text.as_deref()?).or_else(|| text.as_deref()?.parse().ok()))
            .map(NeighbourId::Mac),
    };
    Some(known.unwrap_or_else(|| {
        NeighbourId::Text(text.or_else(|| cut(octets)).unwrap_or_else(|| {
            sanitize::clean_line(
                &octets
                    .iter()
                    .map(|o| format!("{o:02x}"))
                    .collect::<String>(),
            )
        }))
    }))
}

/// A text without control characters that has at least one visible character. Line ends and NULs
/// after it do not belong to it.
fn printable(octets: &[u8]) -> Option<String> {
    let decoded = sanitize::decoded(octets);
    let text = decoded.trim_end_matches(['\0', '\r', '\n']);
    Some(sanitize::clean_line(text))
        .filter(|shown| !text.chars().any(char::is_control) && !shown.is_empty())
}

/// The fewest octets before a NUL that are taken for a text with the rest of a buffer behind it.
/// Fewer may as well be a number.
const SHORTEST_CUT: usize = 3;

/// The text before the first NUL.
fn cut(octets: &[u8]) -> Option<String> {
    let before = octets.split(|&o| o == 0).next()?;
    (before.len() >= SHORTEST_CUT && is_utf8_text(before)).then(|| printable(before))?
}

fn is_utf8_text(octets: &[u8]) -> bool {
    std::str::from_utf8(octets).is_ok() && printable(octets).is_some()
}

/// True if each octet may belong to a character of two octets, as in GBK.
fn is_multibyte(octets: &[u8]) -> bool {
    octets.iter().all(|&o| o > 0x80)
}

/// A MAC address that an agent sends as text instead of octets, and calls an address.
fn written_mac(text: &str) -> Option<Mac> {
    mac_of_digits(text)
        .or_else(|| parted_mac(text))
        .or_else(|| text.parse().ok())
}

/// A MAC address in parts of equal length: `e4:f0:04:e1:89:18`, `e4-f0-04-e1-89-18`,
/// `e4f0.04e1.8918`, `e4 f0 04 e1 89 18`.
fn parted_mac(text: &str) -> Option<Mac> {
    let text = text.trim();
    let separator = text.chars().find(|c| ":-. ".contains(*c))?;
    let parts: Vec<&str> = text.split(separator).collect();
    let equal = parts.iter().all(|p| p.len() == 12 / parts.len());
    ([3, 6].contains(&parts.len()) && equal).then(|| mac_of_digits(&parts.concat()))?
}

/// A MAC address as twelve hexadecimal digits.
pub(crate) fn mac_of_digits(digits: &str) -> Option<Mac> {
    let plain = digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u64::from_str_radix(digits, 16).ok().filter(|_| plain)?;
    Mac::from_octets(&number.to_be_bytes()[2..])
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
        assert_eq!(
            read(b"dead-beef-cafe", Some(IdSubtype::Text)),
            mac([0xde, 0xad, 0xbe, 0xef, 0xca, 0xfe]),
            "the form of an address"
        );
        assert_eq!(
            read(b"dead-be-efcafe", Some(IdSubtype::Text)),
            text("dead-be-efcafe")
        );
        assert_eq!(
            read(&[1, 2, 3, 4, 5], Some(IdSubtype::Text)),
            text("0102030405")
        );
        assert_eq!(
            read(b" \xe2\x80\x8e", Some(IdSubtype::Text)),
            text("20e2808e"),
            "a text without a visible character"
        );
        assert_eq!(read(b"", Some(IdSubtype::Text)), None);
    }

    /// Devices that call an address a text, and a text an address.
    #[test]
    fn a_wrong_subtype_does_no_harm() {
        for octets in [
            &MAC[..],
            b"02:00:00:00:00:09",
            b"0200.0000.0009",
            b"02:00:00:00:00:09\0",
        ] {
            assert_eq!(read(octets, Some(IdSubtype::Text)), mac(MAC), "{octets:?}");
        }
        assert_eq!(read(b"020000000009", Some(IdSubtype::Mac)), mac(MAC));
        assert_eq!(
            read(b"1:2:3:4:5:6", Some(IdSubtype::Text)),
            text("1:2:3:4:5:6")
        );
        for kind in [IdSubtype::Mac, IdSubtype::Address] {
            assert_eq!(read(b"core switch", Some(kind)), text("core switch"));
        }
        for nobody in [[0; 6], [0xff; 6]] {
            assert_eq!(read(&nobody, Some(IdSubtype::Mac)), mac(nobody), "as sent");
        }
    }

    #[test]
    fn names_of_any_encoding_and_with_the_rest_of_a_buffer_are_texts() {
        let as_text = |octets: &[u8]| read(octets, Some(IdSubtype::Text));
        assert_eq!(as_text(b"swp1\0\x01\x02"), text("swp1"));
        assert_eq!(as_text(b"swp1\r\n"), text("swp1"));
        assert_eq!(as_text(b"eth1\0\0"), text("eth1"), "six octets");
        assert_eq!(as_text(b"E\0\x01\x02\x03\x04\x05"), text("45000102030405"));
        assert_eq!(
            as_text(b"\xbd\xbb\xbb\xbb\xbb\xfa"),
            text("½»»»»ú"),
            "three of GBK"
        );
        assert_eq!(as_text(b"\xb6\xcb\xbf\xda1"), text("¶Ë¿Ú1"));
    }

    #[test]
    fn chassis_and_ports_number_their_subtypes_differently() {
        let kinds = [IdSubtype::Mac, IdSubtype::Address, IdSubtype::Text];
        assert_eq!([4, 5, 7].map(chassis_kind), kinds);
        assert_eq!([3, 4, 5].map(port_kind), kinds);
        assert_eq!(port_kind(6), IdSubtype::Circuit);
    }
}
