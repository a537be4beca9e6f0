//! The part of ICMP that probes need (RFC 792, RFC 4443), without I/O.
//!
//! An echo is recognized by identifier and sequence number, a UDP probe by its two ports. An error
//! message quotes the header of the datagram it is about, and at least eight octets more (RFC 792;
//! RFC 4443, 2.4 c), which contain them.
use pnet_packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet_packet::ipv4::Ipv4Packet;
use pnet_packet::ipv6::Ipv6Packet;
use pnet_packet::{icmp, icmpv6};
use std::net::IpAddr;

/// The two numbers that identify an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IcmpEcho {
    /// The number of the prober.
    pub identifier: u16,
    /// The number of the probe.
    pub sequence: u16,
}

/// A message that may answer a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpMessage {
    Reply(IcmpEcho),
    /// A datagram did not arrive.
    Error {
        why: IcmpErrorKind,
        /// The datagram that did not arrive.
        about: QuotedDatagram,
    },
}

/// The reason why a datagram did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpErrorKind {
    /// It reached a router with no hop left: time exceeded in transit.
    Expired,
    /// It reached the host, and no socket has the port.
    NoPort,
    /// A router on the way had no route for it, or refused it.
    Unreachable,
}

/// A datagram quoted by an error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotedDatagram {
    /// Its sender.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// Its kind.
    pub probe: QuotedProbe,
}

/// The kind of a quoted datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotedProbe {
    /// An echo request.
    Echo(IcmpEcho),
    /// UDP: source and destination port.
    Udp(u16, u16),
}

/// The text in each probe, for people who capture one.
pub const TEXT: &[u8] = b"heddle probe: how far are you";

const HEADER: usize = 8;

/// An echo request (RFC 792, page 14; RFC 4443, 4.1). The kernel fills in the checksum of ICMPv6.
pub fn echo_request(echo: IcmpEcho, ipv6: bool) -> Vec<u8> {
    let kind = if ipv6 {
        icmpv6::Icmpv6Types::EchoRequest.0
    } else {
        icmp::IcmpTypes::EchoRequest.0
    };
    let mut message = vec![kind, 0, 0, 0];
    message.extend(echo.identifier.to_be_bytes());
    message.extend(echo.sequence.to_be_bytes());
    message.extend_from_slice(TEXT);
    if !ipv6 {
        let sum = pnet_packet::util::checksum(&message, 1);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    message
}

/// Reads a message from a raw ICMP socket, with its IPv4 header. Returns the sender as well.
pub fn read_v4(packet: &[u8]) -> Option<(IpAddr, IcmpMessage)> {
    let (header, message) = ipv4(packet)?;
    let from = IpAddr::V4(header.get_source());
    let [kind, code, ..] = *message else {
        return None;
    };
    let why = match (icmp::IcmpType(kind), code) {
        (icmp::IcmpTypes::EchoReply, 0) => return Some((from, IcmpMessage::Reply(echo(message)?))),
        // Code 1 is about fragments that a host waited for in vain (RFC 792).
        (icmp::IcmpTypes::TimeExceeded, 0) => IcmpErrorKind::Expired,
        (icmp::IcmpTypes::DestinationUnreachable, 3) => IcmpErrorKind::NoPort,
        (icmp::IcmpTypes::DestinationUnreachable, _) => IcmpErrorKind::Unreachable,
        _ => return None,
    };
    let (quoted, inner) = ipv4(message.get(HEADER..)?)?;
    // Only the first fragment has ports.
    let first = quoted.get_fragment_offset() == 0;
    let probe = probe(
        quoted.get_next_level_protocol(),
        inner,
        icmp::IcmpTypes::EchoRequest.0,
    )
    .filter(|_| first)?;
    Some((
        from,
        IcmpMessage::Error {
            why,
            about: QuotedDatagram {
                from: quoted.get_source().into(),
                to: quoted.get_destination().into(),
                probe,
            },
        },
    ))
}

/// Reads a message from a raw ICMPv6 socket, without a header.
pub fn read_v6(message: &[u8]) -> Option<IcmpMessage> {
    let [kind, code, ..] = *message else {
        return None;
    };
    let why = match (icmpv6::Icmpv6Type(kind), code) {
        (icmpv6::Icmpv6Types::EchoReply, 0) => return Some(IcmpMessage::Reply(echo(message)?)),
        (icmpv6::Icmpv6Types::TimeExceeded, 0) => IcmpErrorKind::Expired,
        // ICMPv6 numbers its codes anew: 4 is what 3 is in ICMP (RFC 4443, 3.1).
        (icmpv6::Icmpv6Types::DestinationUnreachable, 4) => IcmpErrorKind::NoPort,
        (icmpv6::Icmpv6Types::DestinationUnreachable, _) => IcmpErrorKind::Unreachable,
        _ => return None,
    };
    let rest = message.get(HEADER..)?;
    let quoted = Ipv6Packet::new(rest).filter(|q| q.get_version() == 6)?;
    let inner = rest.get(Ipv6Packet::minimum_packet_size()..)?;
    // Probes have no extension headers.
    let probe = probe(
        quoted.get_next_header(),
        inner,
        icmpv6::Icmpv6Types::EchoRequest.0,
    )?;
    Some(IcmpMessage::Error {
        why,
        about: QuotedDatagram {
            from: quoted.get_source().into(),
            to: quoted.get_destination().into(),
            probe,
        },
    })
}

/// The header and the octets behind its options. The total length is ignored, because it is often
/// wrong in quoted headers.
fn ipv4(packet: &[u8]) -> Option<(Ipv4Packet<'_>, &[u8])> {
    let header = Ipv4Packet::new(packet).filter(|h| h.get_version() == 4)?;
    let length = usize::from(header.get_header_length()) * 4;
    let rest = packet
        .get(length..)
        .filter(|_| length >= Ipv4Packet::minimum_packet_size())?;
    Some((header, rest))
}

fn probe(protocol: IpNextHeaderProtocol, inner: &[u8], request: u8) -> Option<QuotedProbe> {
    match protocol {
        IpNextHeaderProtocols::Udp => match *inner.get(..4)? {
            [a, b, c, d] => Some(QuotedProbe::Udp(
                u16::from_be_bytes([a, b]),
                u16::from_be_bytes([c, d]),
            )),
            _ => None,
        },
        IpNextHeaderProtocols::Icmp | IpNextHeaderProtocols::Icmpv6
            if inner.first() == Some(&request) =>
        {
            Some(QuotedProbe::Echo(echo(inner)?))
        }
        _ => None,
    }
}

fn echo(message: &[u8]) -> Option<IcmpEcho> {
    match *message.get(4..HEADER)? {
        [a, b, c, d] => Some(IcmpEcho {
            identifier: u16::from_be_bytes([a, b]),
            sequence: u16::from_be_bytes([c, d]),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ECHO: IcmpEcho = IcmpEcho {
        identifier: 0x1234,
        sequence: 7,
    };

    /// An IPv4 header of `words` 32-bit words and its content, 10.0.0.1 to 10.0.1.2.
    fn v4(words: u8, protocol: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; usize::from(words) * 4];
        packet[0] = 0x40 | words;
        packet[9] = protocol;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 1, 2]);
        [packet, rest.to_vec()].concat()
    }

    fn v6(next: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[6], packet[23], packet[39]) = (0x60, next, 1, 2);
        [packet, rest.to_vec()].concat()
    }

    fn error(kind: u8, code: u8, quoted: &[u8]) -> Vec<u8> {
        [&[kind, code, 0, 0, 0, 0, 0, 0], quoted].concat()
    }

    #[test]
    fn writes_an_echo_request() {
        let request = echo_request(ECHO, false);
        assert_eq!(
            (&request[..2], &request[4..8], &request[8..]),
            (&[8, 0][..], &[0x12, 0x34, 0, 7][..], TEXT)
        );
        assert_eq!(
            pnet_packet::util::checksum(&request, usize::MAX),
            0,
            "with its checksum all words sum up to nothing (RFC 1071)"
        );
        assert_eq!(echo_request(ECHO, true)[..4], [128, 0, 0, 0]);
    }

    #[test]
    fn reads_what_comes_back() {
        let reply = error(0, 0, b"more");
        let with_options = v4(7, 1, &[&reply[..4], &[0x12, 0x34, 0, 7]].concat());
        assert_eq!(
            read_v4(&with_options),
            Some(("10.0.0.1".parse().unwrap(), IcmpMessage::Reply(ECHO)))
        );
        // A router's message about a UDP probe, quoting header and eight octets.
        let expired = v4(
            5,
            1,
            &error(11, 0, &v4(5, 17, &[0xc0, 0, 0x82, 0x9a, 0, 8, 0, 0])),
        );
        let quoted = read_v4(&expired).unwrap().1;
        assert_eq!(
            quoted,
            IcmpMessage::Error {
                why: IcmpErrorKind::Expired,
                about: about(QuotedProbe::Udp(0xc000, 33434))
            }
        );
        let no_port = v4(5, 1, &error(3, 3, &v4(6, 17, &[0, 1, 0, 2])));
        assert_eq!(
            read_v4(&no_port).unwrap().1,
            IcmpMessage::Error {
                why: IcmpErrorKind::NoPort,
                about: about(QuotedProbe::Udp(1, 2))
            }
        );
        let six = error(1, 4, &v6(17, &[0, 1, 0, 2]));
        let about = QuotedDatagram {
            from: "::1".parse().unwrap(),
            to: "::2".parse().unwrap(),
            probe: QuotedProbe::Udp(1, 2),
        };
        assert_eq!(
            read_v6(&six),
            Some(IcmpMessage::Error {
                why: IcmpErrorKind::NoPort,
                about
            })
        );
        assert_eq!(
            read_v6(&[129, 0, 0, 0, 0x12, 0x34, 0, 7]),
            Some(IcmpMessage::Reply(ECHO))
        );
    }

    fn about(probe: QuotedProbe) -> QuotedDatagram {
        QuotedDatagram {
            from: "10.0.0.1".parse().unwrap(),
            to: "10.0.1.2".parse().unwrap(),
            probe,
        }
    }

    /// The packet with another octet at `place`.
    fn with(mut packet: Vec<u8>, place: usize, octet: u8) -> Vec<u8> {
        packet[place] = octet;
        packet
    }

    #[test]
    fn refuses_ipv4_packets_that_answer_no_probe() {
        let quoted = v4(5, 1, &echo_request(ECHO, false));
        let expired = |quoted: &[u8]| v4(5, 1, &error(11, 0, quoted));
        let fragment = with(v4(5, 17, &[0; 8]), 7, 1);
        for (what, packet) in [
            ("empty", vec![]),
            ("a cut header", v4(5, 1, &[])[..19].to_vec()),
            (
                "a header length below the shortest header",
                with(v4(5, 1, &error(0, 0, &[])), 0, 0x44),
            ),
            ("options beyond the end", with(v4(5, 1, &[0; 4]), 0, 0x4f)),
            ("IPv6 where IPv4 is due", v6(58, &[0; 8])),
            ("a cut reply", v4(5, 1, &[0, 0, 0, 0, 0x12, 0x34, 0])),
            ("somebody's request", quoted.clone()),
            ("a redirect", v4(5, 1, &error(5, 0, &quoted))),
            (
                "reassembly that took too long",
                v4(5, 1, &error(11, 1, &quoted)),
            ),
            ("an error that quotes too little", expired(&quoted[..27])),
            (
                "an error about a reply",
                expired(&v4(5, 1, &error(0, 0, &[]))),
            ),
            ("an error about TCP", expired(&v4(5, 6, &[0; 8]))),
            ("an error about a later fragment", expired(&fragment)),
        ] {
            assert_eq!(read_v4(&packet), None, "{what}");
        }
    }

    #[test]
    fn refuses_ipv6_messages_that_answer_no_probe() {
        for (what, message) in [
            ("empty", vec![]),
            ("a cut reply", vec![129, 0, 0, 0, 0, 0, 0]),
            ("packet too big", error(2, 0, &v6(17, &[0; 8]))),
            ("IPv4 quoted", error(3, 0, &v4(15, 17, &[0; 8]))),
            (
                "an error that quotes too little",
                error(3, 0, &v6(17, &[0; 3])),
            ),
        ] {
            assert_eq!(read_v6(&message), None, "{what}");
        }
    }

    proptest! {
        #[test]
        fn reads_back_what_it_wrote(identifier: u16, sequence: u16, words in 5..=15_u8) {
            let echo = IcmpEcho { identifier, sequence };
            let expired_between = |from: &str, to: &str| IcmpMessage::Error {
                why: IcmpErrorKind::Expired,
                about: QuotedDatagram {
                    from: from.parse().unwrap(),
                    to: to.parse().unwrap(),
                    probe: QuotedProbe::Echo(echo),
                },
            };
            let expired = v4(words, 1, &error(11, 0, &v4(words, 1, &echo_request(echo, false))));
            let answer = read_v4(&expired).unwrap().1;
            prop_assert_eq!(answer, expired_between("10.0.0.1", "10.0.1.2"));
            let expired = error(3, 0, &v6(58, &echo_request(echo, true)));
            prop_assert_eq!(read_v6(&expired), Some(expired_between("::1", "::2")));
        }

        #[test]
        fn any_octets_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = (read_v4(&bytes), read_v6(&bytes));
        }
    }
}
