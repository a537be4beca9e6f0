//! Sends TCP segments from chosen ports, so that counters show which way they take. Switches treat them as they
//! treat a connection between these ports. They say that a connection ends that is none (RST), so the
//! receiver's kernel drops them and answers nothing (RFC 9293, 3.10.7.1).
use super::packets::PacketSocketError;
use flows::{PortFlow, PortFlows, SEGMENT};
use inventory::stages::flows::DOOR;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, socket,
};
use pnet_packet::ip::IpNextHeaderProtocols;
use pnet_packet::ipv4::{Ipv4Flags, MutableIpv4Packet};
use pnet_packet::ipv6::MutableIpv6Packet;
use pnet_packet::tcp::{self, MutableTcpPacket, TcpFlags};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};
use std::{io, thread};

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const HOPS: u8 = 64;
/// A sender that is so far ahead of its pace waits.
const AHEAD: Duration = Duration::from_millis(1);

/// Sockets by which whole packets leave; nothing arrives by them.
#[derive(Debug)]
pub(super) struct SegmentSender {
    v4: OwnedFd,
    /// None on a system without IPv6.
    v6: Option<OwnedFd>,
}

impl SegmentSender {
    /// Opens the sockets.
    ///
    /// # Errors
    /// If the system refuses one: CAP_NET_RAW is missing.
    pub(super) fn open() -> Result<SegmentSender, PacketSocketError> {
        let v4 = raw_socket(AddressFamily::Inet).map_err(|problem| PacketSocketError {
            purpose: "sending flows from chosen ports",
            problem: problem.into(),
        })?;
        Ok(SegmentSender {
            v4,
            v6: raw_socket(AddressFamily::Inet6).ok(),
        })
    }

    /// Sends flows one after the other. Returns the octets that were sent.
    pub(super) fn send(&self, from: IpAddr, order: &PortFlows) -> io::Result<u64> {
        let (began, mut sent) = (Instant::now(), 0);
        for flow in &order.flows {
            let segment = segment(from, flow)?;
            let socket = match from {
                IpAddr::V4(_) => &self.v4,
                IpAddr::V6(_) => self.v6.as_ref().ok_or(io::ErrorKind::Unsupported)?,
            };
            let to = SockaddrStorage::from(SocketAddr::new(flow.to, 0));
            for _ in 0..flow.segments {
                sendto(socket.as_raw_fd(), &segment, &to, MsgFlags::empty())?;
                sent += segment.len() as u64;
                let due = Duration::from_secs_f64(sent as f64 / order.pace.max(1) as f64);
                let ahead = due.saturating_sub(began.elapsed());
                if ahead > AHEAD {
                    thread::sleep(ahead);
                }
            }
        }
        Ok(sent)
    }
}

fn raw_socket(family: AddressFamily) -> nix::Result<OwnedFd> {
    socket(
        family,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::Raw,
    )
}

/// A packet of this flow.
fn segment(from: IpAddr, flow: &PortFlow) -> io::Result<Vec<u8>> {
    let header = match from {
        IpAddr::V4(_) => IPV4_HEADER,
        IpAddr::V6(_) => IPV6_HEADER,
    };
    let mut packet = vec![0; header + TCP_HEADER + SEGMENT];
    let all = packet.len();
    let (ip, rest) = packet.split_at_mut(header);
    let whole = "the buffer has the length of the headers";
    let mut segment = MutableTcpPacket::new(rest).expect(whole);
    segment.set_source(flow.port);
    segment.set_destination(DOOR);
    segment.set_data_offset((TCP_HEADER / 4) as u8);
    segment.set_flags(TcpFlags::RST);
    let checksum = match (from, flow.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut ip = MutableIpv4Packet::new(ip).expect(whole);
            // The kernel fills in the identification and the header's checksum (raw(7), IP_HDRINCL).
            ip.set_version(4);
            ip.set_header_length((IPV4_HEADER / 4) as u8);
            ip.set_total_length(all as u16);
            ip.set_flags(Ipv4Flags::DontFragment);
            ip.set_ttl(HOPS);
            ip.set_next_level_protocol(IpNextHeaderProtocols::Tcp);
            ip.set_source(from);
            ip.set_destination(to);
            tcp::ipv4_checksum(&segment.to_immutable(), &from, &to)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut ip = MutableIpv6Packet::new(ip).expect(whole);
            ip.set_version(6);
            ip.set_payload_length((all - header) as u16);
            ip.set_next_header(IpNextHeaderProtocols::Tcp);
            ip.set_hop_limit(HOPS);
            ip.set_source(from);
            ip.set_destination(to);
            tcp::ipv6_checksum(&segment.to_immutable(), &from, &to)
        }
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    segment.set_checksum(checksum);
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pnet_packet::Packet;
    use pnet_packet::ipv4::Ipv4Packet;
    use pnet_packet::tcp::TcpPacket;

    #[test]
    fn a_segment_goes_from_its_port_to_the_door_and_wants_no_answer() {
        for (from, to, header) in [("10.0.0.1", "10.0.0.2", 20), ("fd00::1", "fd00::2", 40)] {
            let [from, to]: [IpAddr; 2] = [from, to].map(|text| text.parse().unwrap());
            let flow = PortFlow {
                to,
                port: 61_003,
                segments: 1,
            };
            let packet = segment(from, &flow).unwrap();
            assert_eq!(packet.len(), header + 20 + 1400);
            let segment = TcpPacket::new(&packet[header..]).unwrap();
            assert_eq!(
                [segment.get_source(), segment.get_destination()],
                [61_003, DOOR]
            );
            assert_eq!(segment.get_flags(), TcpFlags::RST);
            if let (IpAddr::V4(from), IpAddr::V4(to)) = (from, to) {
                let right = tcp::ipv4_checksum(&segment, &from, &to);
                assert_eq!(segment.get_checksum(), right);
                let ip = Ipv4Packet::new(&packet).unwrap();
                assert_eq!((ip.get_source(), ip.get_destination()), (from, to));
                assert_eq!(ip.payload().len(), 1420);
            }
            let other = if header == 20 { "fd00::2" } else { "10.0.0.2" };
            let mixed = PortFlow {
                to: other.parse().unwrap(),
                ..flow
            };
            assert!(super::segment(from, &mixed).is_err());
        }
    }
}
