//! Options of a connection's two ends.
#![allow(
    unsafe_code,
    reason = "options without a safe wrapper: setsockopt with an integer"
)]
use inventory::BitsPerSec;
use inventory::stages::flows::SOURCES;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use std::ffi::c_int;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;
use wire::links::payload_rate;

/// `SIOCOUTQNSD` of linux/sockios.h, which libc does not name.
const SIOCOUTQNSD: libc::Ioctl = 0x894B;

/// Octets that were sent again so often, without an answer for so many milliseconds, are lost.
const SENT_AGAIN: u8 = 3;
/// Octets that the kernel sent so often again, at intervals from 0.2 s on that double, do not come.
const SENT_IN_VAIN: u8 = 4;
const LOST: u32 = 1500;

/// The queue that tokens and acknowledgements go to before data: the highest priority that needs no
/// capability (socket(7)).
const URGENT: c_int = 6;

/// The beginning of a connection from this address; its port may be that of others to elsewhere.
pub(super) fn bound_to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = unbound(&address)?;
    setsockopt(&stream, sockopt::ReuseAddr, &true)?;
    bind(stream.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(stream)
}

/// The same from any port, to an address of this family.
pub(super) fn unbound(to: &SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(family, SockType::Stream, flags, None)?.into())
}

/// Begins a connection without waiting for it.
pub(super) fn call(stream: &TcpStream, to: &SocketAddr) -> io::Result<()> {
    match connect(stream.as_raw_fd(), &SockaddrStorage::from(*to)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// The end that sends blocks.
pub(super) fn sends_blocks(stream: &TcpStream) -> io::Result<()> {
    common(stream)
}

/// Takes more octets only while fewer than so many wait to be sent, and tells of room at half as
/// many. Octets under way do not count: a long or fast link has as much there as it needs.
pub(super) fn unsent_at_most(stream: &TcpStream, octets: usize) -> io::Result<()> {
    set(
        stream,
        libc::IPPROTO_TCP,
        libc::TCP_NOTSENT_LOWAT,
        octets as c_int,
    )
}

/// Tells of octets to read only when there are so many; of the end of a connection at once.
pub(super) fn wake_at(stream: &TcpStream, octets: usize) -> io::Result<()> {
    set(stream, libc::SOL_SOCKET, libc::SO_RCVLOWAT, octets as c_int)
}

/// Octets that were written and have not gone on the wire once.
pub(super) fn unsent(stream: &TcpStream) -> io::Result<usize> {
    count(stream, SIOCOUTQNSD)
}

/// Octets that were written and not acknowledged.
pub(super) fn under_way(stream: &TcpStream) -> io::Result<usize> {
    count(stream, libc::TIOCOUTQ)
}

/// Sends the acknowledgement that the kernel delays, if there is one. Later octets are
/// acknowledged as seldom as before.
pub(super) fn acknowledge_now(stream: &TcpStream) -> io::Result<()> {
    set(stream, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1 as c_int)?;
    acknowledge_seldom(stream)
}

fn count(stream: &TcpStream, what: libc::Ioctl) -> io::Result<usize> {
    let mut octets: c_int = 0;
    // SAFETY: the descriptor is open, and there is a place for the result.
    let code = unsafe { libc::ioctl(stream.as_raw_fd(), what, &raw mut octets) };
    if code == 0 {
        Ok(octets.max(0) as usize)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Lets the connection to be made send segments of so many octets at most.
pub(super) fn segments_of(stream: &TcpStream, octets: usize) -> io::Result<()> {
    set(stream, libc::IPPROTO_TCP, libc::TCP_MAXSEG, octets as c_int)
}

/// Lets the connection end, when it is closed, with a reset: what is under way is lost, and the other
/// end takes it for no orderly end.
pub(super) fn reset(stream: &TcpStream) {
    let at_once = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // A kernel that refuses ends it in order, and the job fails as it would have.
    let _ = set(stream, libc::SOL_SOCKET, libc::SO_LINGER, at_once);
}

/// Frees the port of a known flow as soon as its connection is closed: the next job takes the same one, and a
/// kernel keeps a port for a minute otherwise. Octets under way are more important.
pub(super) fn free_known_port(stream: &TcpStream) {
    let is_known = |own: SocketAddr| SOURCES.contains(&own.port());
    if stream.local_addr().is_ok_and(is_known) && under_way(stream).is_ok_and(|left| left == 0) {
        reset(stream);
    }
}

/// Segments that were sent again on this connection, ever.
pub(super) fn sent_again(stream: &TcpStream) -> io::Result<u32> {
    Ok(info(stream)?.tcpi_total_retrans)
}

/// True if the other end has left so many questions of the kernel unanswered, or octets that were sent
/// several times. Where it has no room, it is asked rarely, and is there.
pub(super) fn is_silent(stream: &TcpStream, probes: u8) -> io::Result<bool> {
    let info = info(stream)?;
    let since = info.tcpi_last_ack_recv.min(info.tcpi_last_data_recv);
    // Where only long packets get lost, what the other end asks still comes.
    let is_lost = info.tcpi_retransmits >= SENT_AGAIN && since >= LOST
        || info.tcpi_retransmits >= SENT_IN_VAIN;
    Ok(is_lost || info.tcpi_probes >= probes)
}

/// Lets the kernel ask an other end that is silent for so long, in whole seconds, and again each time
/// after as long; `None`: not at all.
pub(super) fn ask_if_silent(stream: &TcpStream, after: Option<Duration>) -> io::Result<()> {
    let on = c_int::from(after.is_some());
    if let Some(after) = after {
        // TCP_KEEPCNT stays the kernel's: `is_silent` counts unanswered questions itself, and breaks earlier.
        let seconds = after.as_secs().max(1) as c_int;
        set(stream, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds)?;
        set(stream, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, seconds)?;
    }
    set(stream, libc::SOL_SOCKET, libc::SO_KEEPALIVE, on)
}

fn info(stream: &TcpStream) -> io::Result<libc::tcp_info> {
    // SAFETY: plain numbers, of which all zeros is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and there is a place for the result of the length that is
    // said.
    let code = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if code == 0 {
        Ok(info)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The end that receives them, and sends acknowledgements and tokens.
pub(super) fn sends_tokens(stream: &TcpStream) -> io::Result<()> {
    common(stream)?;
    set(stream, libc::SOL_SOCKET, libc::SO_PRIORITY, URGENT)
}

/// Marks what this end sends, tokens and acknowledgements, with a class (DSCP, RFC 2474): a switch
/// that trusts it lets them overtake data. The kernel takes a priority from it, hence the second
/// option.
pub(super) fn mark(stream: &TcpStream, class: u8) -> io::Result<()> {
    // The class is the upper six bits of the octet (RFC 2474, 3); the lower two are ECN's (RFC 3168, 5).
    let class = c_int::from(class) << 2;
    if stream.local_addr()?.is_ipv4() {
        set(stream, libc::IPPROTO_IP, libc::IP_TOS, class)?;
    } else {
        set(stream, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, class)?;
    }
    set(stream, libc::SOL_SOCKET, libc::SO_PRIORITY, URGENT)
}

/// Leaves the state in which each segment is acknowledged at once. The kernel enters it after a
/// pause, and may again later: this holds for what comes next.
pub(super) fn acknowledge_seldom(stream: &TcpStream) -> io::Result<()> {
    set::<c_int>(stream, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 0)
}

/// Sends no faster than a link of this rate passes payload on: bursts would only queue in switches.
pub(super) fn pace(stream: &TcpStream, rate: BitsPerSec) -> io::Result<()> {
    let payload = payload_rate(rate) as u64;
    set(stream, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, payload)
}

/// Lets the other end have at most about so many octets under way to here; `None`: as many as the
/// kernel finds room for.
pub(super) fn take_at_most(stream: &TcpStream, octets: Option<usize>) -> io::Result<()> {
    let octets = octets.map_or(c_int::MAX, |octets| octets as c_int);
    set(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, octets)
}

fn common(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)
}

/// An option that takes a plain number.
fn set<T: Copy>(stream: &TcpStream, level: c_int, option: c_int, value: T) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the value lives as long as the call, which reads as many
    // octets as it has.
    let code = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
