//! The sockets by which probes leave and answers arrive. They are opened with privileges
//! (CAP_NET_RAW) and used without.
#![allow(
    unsafe_code,
    reason = "the filter of a raw ICMP socket and tokio's registration have no safe wrapper"
)]
use super::icmp::{self, IcmpEcho, IcmpMessage};
use crate::host::packets::PacketSocketError;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType,
    SockaddrStorage, recvmsg, sendmsg, setsockopt, socket, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, SystemTime};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The sockets of one address family.
#[derive(Debug)]
pub(super) struct ProbeSockets {
    ipv6: bool,
    icmp: OwnedFd,
    udp: UdpSocket,
    /// The port of `udp`, by which error messages are recognized.
    pub(super) port: u16,
}

/// A message that arrived.
#[derive(Debug)]
pub(super) struct ReceivedIcmp {
    pub(super) from: IpAddr,
    /// The time at which the kernel received it, since the Unix epoch.
    pub(super) at: Duration,
    pub(super) message: IcmpMessage,
}

/// Room for headers and for the part of a probe that an error message quotes. The rest is cut.
const LONGEST: usize = 256;

impl ProbeSockets {
    /// Opens the sockets; `None` if the system does not support this family.
    pub(super) fn open(ipv6: bool) -> Result<Option<ProbeSockets>, PacketSocketError> {
        match ProbeSockets::try_open(ipv6) {
            Ok(sockets) => Ok(Some(sockets)),
            Err(e)
                if matches!(
                    e.raw_os_error(),
                    Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT | libc::EADDRNOTAVAIL)
                ) =>
            {
                Ok(None)
            }
            Err(problem) => Err(PacketSocketError {
                purpose: "probing the way to other hosts",
                problem,
            }),
        }
    }

    fn try_open(ipv6: bool) -> io::Result<ProbeSockets> {
        let (family, protocol, any) = if ipv6 {
            (
                AddressFamily::Inet6,
                SockProtocol::IcmpV6,
                IpAddr::from(Ipv6Addr::UNSPECIFIED),
            )
        } else {
            (
                AddressFamily::Inet,
                SockProtocol::Icmp,
                Ipv4Addr::UNSPECIFIED.into(),
            )
        };
        let icmp = socket(
            family,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            protocol,
        )?;
        filter(&icmp, ipv6)?;
        setsockopt(&icmp, sockopt::ReceiveTimestampns, &true)?;
        let udp = UdpSocket::bind(SocketAddr::new(any, 0))?;
        udp.set_nonblocking(true)?;
        // Nothing reads from this socket.
        setsockopt(&udp, sockopt::RcvBuf, &0)?;
        let port = udp.local_addr()?.port();
        Ok(ProbeSockets {
            ipv6,
            icmp,
            udp,
            port,
        })
    }

    /// Watches for messages. Call it inside a tokio runtime.
    pub(super) fn watch(self) -> io::Result<AsyncFd<ProbeSockets>> {
        // SAFETY: `as_raw_fd` is that of a socket that `self` owns and never replaces.
        Ok(unsafe { AsyncFd::register_with_interest(self, Interest::READABLE) }?)
    }

    /// True if an address is of this family.
    pub(super) fn is_for(&self, to: IpAddr) -> bool {
        to.is_ipv6() == self.ipv6
    }

    /// Sends an echo request with so many hops to live.
    pub(super) fn send_echo(&self, to: IpAddr, hops: u8, echo: IcmpEcho) -> io::Result<()> {
        self.send(
            self.icmp.as_fd(),
            SocketAddr::new(to, 0),
            hops,
            &icmp::echo_request(echo, self.ipv6),
        )
    }

    /// Sends a UDP probe.
    pub(super) fn send_udp(&self, to: SocketAddr, hops: u8) -> io::Result<()> {
        self.send(self.udp.as_fd(), to, hops, icmp::TEXT)
    }

    fn send(
        &self,
        socket: BorrowedFd<'_>,
        to: SocketAddr,
        hops: u8,
        message: &[u8],
    ) -> io::Result<()> {
        let hops = libc::c_int::from(hops);
        let limit = [if self.ipv6 {
            ControlMessage::Ipv6HopLimit(&hops)
        } else {
            ControlMessage::Ipv4Ttl(&hops)
        }];
        let to = SockaddrStorage::from(to);
        sendmsg(
            socket.as_raw_fd(),
            &[IoSlice::new(message)],
            &limit,
            MsgFlags::MSG_DONTWAIT,
            Some(&to),
        )?;
        Ok(())
    }

    /// The next message that may answer a probe, without waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] after the last one.
    pub(super) fn receive(&self) -> io::Result<ReceivedIcmp> {
        loop {
            let mut packet = [0; LONGEST];
            let mut iov = [IoSliceMut::new(&mut packet)];
            let mut control = nix::cmsg_space!(libc::timespec);
            let received = match recvmsg::<SockaddrStorage>(
                self.icmp.as_raw_fd(),
                &mut iov,
                Some(&mut control),
                MsgFlags::MSG_DONTWAIT,
            ) {
                Ok(received) => received,
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            let stamp = received.cmsgs().ok().and_then(|mut c| {
                c.find_map(|m| {
                    if let ControlMessageOwned::ScmTimestampns(at) = m {
                        Some(Duration::from(at))
                    } else {
                        None
                    }
                })
            });
            let (at, length, address) =
                (stamp.unwrap_or_else(now), received.bytes, received.address);
            let packet = packet.get(..length).unwrap_or_default();
            // A raw IPv4 socket gives the header along, a raw IPv6 socket does not (RFC 3542, 3).
            let read = if self.ipv6 {
                address
                    .and_then(|a| a.as_sockaddr_in6().map(|a| a.ip()))
                    .and_then(|from| Some((from.into(), icmp::read_v6(packet)?)))
            } else {
                icmp::read_v4(packet)
            };
            if let Some((from, message)) = read {
                return Ok(ReceivedIcmp { from, at, message });
            }
        }
    }
}

impl AsRawFd for ProbeSockets {
    fn as_raw_fd(&self) -> RawFd {
        self.icmp.as_raw_fd()
    }
}

/// The time since the Unix epoch, by the clock with which the kernel stamps packets.
pub(super) fn now() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Makes the kernel pass on only the kinds of message that answer probes. A raw socket otherwise
/// gets a copy of every ICMP message.
fn filter(socket: &OwnedFd, ipv6: bool) -> io::Result<()> {
    /// Of linux/icmp.h: a set bit blocks its type.
    const ICMP_FILTER: libc::c_int = 1;
    /// Of linux/icmpv6.h (RFC 3542, 3.2).
    const ICMPV6_FILTER: libc::c_int = 1;
    // Echo reply, destination unreachable, time exceeded.
    const PASSED_V4: [u32; 3] = [0, 3, 11];
    const PASSED_V6: [u32; 3] = [129, 1, 3];
    let mut blocked = [u32::MAX; 8];
    for kind in if ipv6 { PASSED_V6 } else { PASSED_V4 } {
        blocked[kind as usize / 32] &= !(1 << (kind % 32));
    }
    let (level, name, words) = if ipv6 {
        (libc::IPPROTO_ICMPV6, ICMPV6_FILTER, 8)
    } else {
        (libc::SOL_RAW, ICMP_FILTER, 1)
    };
    let size = (words * size_of::<u32>()) as libc::socklen_t;
    // SAFETY: `blocked` is at least `size` readable octets; the kernel copies them.
    match unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            blocked.as_ptr().cast(),
            size,
        )
    } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
