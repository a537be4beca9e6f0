//! A packet socket on one interface that receives and sends many frames at once (packet(7),
//! recvmmsg(2), sendmmsg(2)).
#![allow(
    unsafe_code,
    reason = "packet socket addresses, their options, and many messages in one call have no safe \
              wrapper"
)]
use super::BATCH;
use super::delay_line::{ROOM, RelayedFrame};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

/// The kernel's buffer while this process waits for a core, in octets as the kernel counts them.
pub(super) const BUFFER: usize = 16 << 20;

/// Every protocol: ETH_P_ALL in network order.
const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();

pub(super) struct RelaySocket(OwnedFd);

impl RelaySocket {
    /// Receives all frames that arrive at interface `name` of this network namespace.
    pub(super) fn open(name: &str) -> io::Result<RelaySocket> {
        // Protocol 0: the socket receives nothing before it is bound to its interface.
        let fd = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )?;
        setsockopt(&fd, sockopt::RcvBufForce, &BUFFER)?;
        setsockopt(&fd, sockopt::SndBufForce, &BUFFER)?;
        let socket = RelaySocket(fd);
        // Frames that it sends itself must not come back.
        socket.set(libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        let index = nix::net::if_::if_nametoindex(name)? as libc::c_int;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        socket.bind(index)?;
        Ok(socket)
    }

    fn set<T: Copy>(&self, option: libc::c_int, value: &T) -> io::Result<()> {
        let size = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` points to `size` readable octets; the kernel checks the size against the
        // option's.
        done(unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                option,
                std::ptr::from_ref(value).cast(),
                size,
            )
        })
    }

    fn bind(&self, interface: libc::c_int) -> io::Result<()> {
        // SAFETY: all-zero is a valid sockaddr_ll: integers only.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ALL;
        address.sll_ifindex = interface;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_ll of `size` octets.
        done(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), size) })
    }

    /// Waits until there is a frame, or for this time.
    pub(super) fn wait(&self, most: Option<Duration>) -> io::Result<()> {
        match ppoll(
            &mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)],
            most.map(TimeSpec::from_duration),
            None,
        ) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Reads the waiting frames into the first of `frames`, at most [`BATCH`], and gives their
    /// number. Frames that do not fit are left out. An interface that went down has none.
    pub(super) fn receive(&self, frames: &mut [RelayedFrame]) -> io::Result<usize> {
        let mut vectors: Vec<libc::iovec> = frames
            .iter_mut()
            .take(BATCH)
            .map(|f| libc::iovec {
                iov_base: f.octets.as_mut_ptr().cast(),
                iov_len: ROOM,
            })
            .collect();
        let mut messages = messages(&mut vectors);
        let (fd, count) = (self.0.as_raw_fd(), messages.len() as libc::c_uint);
        // SAFETY: `messages` has `count` headers, each with one vector that points to ROOM octets
        // of a frame that is borrowed mutably; all outlive the call. No timeout is given.
        let read = unsafe {
            libc::recvmmsg(
                fd,
                messages.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let Ok(read) = usize::try_from(read) else {
            return nothing(io::Error::last_os_error());
        };
        let mut whole = 0;
        for (number, message) in messages[..read].iter().enumerate() {
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC == 0 {
                frames[number].length = (message.msg_len as usize).min(ROOM);
                frames.swap(whole, number);
                whole += 1;
            }
        }
        Ok(whole)
    }

    /// Sends frames, at most [`BATCH`], and gives the number that the interface took.
    pub(super) fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> usize {
        let mut vectors: Vec<libc::iovec> = frames
            .take(BATCH)
            .map(|f| libc::iovec {
                iov_base: f.as_ptr().cast_mut().cast(),
                iov_len: f.len(),
            })
            .collect();
        let mut messages = messages(&mut vectors);
        let (fd, count) = (self.0.as_raw_fd(), messages.len() as libc::c_uint);
        // SAFETY: `messages` has `count` headers, each with one vector over a frame that is
        // borrowed; the kernel only reads it, and all outlive the call.
        let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, 0) };
        usize::try_from(sent).unwrap_or(0)
    }
}

/// A message for each vector. It has no address, because the socket is bound.
fn messages(vectors: &mut [libc::iovec]) -> Vec<libc::mmsghdr> {
    // SAFETY: all-zero is a valid mmsghdr: integers and pointers that may be null.
    let empty: libc::mmsghdr = unsafe { std::mem::zeroed() };
    vectors
        .iter_mut()
        .map(|vector| {
            let mut message = empty;
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect()
}

/// No frames, for errors that mean only that; the error itself otherwise.
fn nothing(error: io::Error) -> io::Result<usize> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN) => Ok(0),
        _ => Err(error),
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
