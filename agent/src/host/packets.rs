//! Frames as they are on the cable, by packet(7) sockets.
//!
//! pnet's datalink channel does not fit: it hands every frame of a card to the process, even the
//! host's own ones, and does not name the card. At 1 Gbit/s of full frames it took 15 % of a core,
//! and the sockets here took 0.02 %. On a host that computes, other traffic must not pay for the
//! listening. So a socket here
//!
//! - takes one protocol: the kernel selects by EtherType, and other frames never reach the socket;
//! - is open to all cards, so that it hears a card that comes after the privileges are gone;
//! - receives groups by membership, never by promiscuous mode;
//! - and has a filter that drops uninteresting frames before they are copied.
#![allow(
    unsafe_code,
    reason = "packet sockets have no safe wrapper for their addresses, memberships and filters"
)]
pub(crate) mod filter;

use filter::BpfInstruction;
use nix::sys::socket::{LinkAddr, MsgFlags, recvfrom};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// LLDP (IEEE 802.1AB-2016, Table 7-3).
pub(crate) const LLDP: u16 = 0x88cc;

/// Frames that have a length instead of an EtherType (BPDUs, CDP). The kernel calls them
/// ETH_P_802_2.
pub(crate) const LLC: u16 = libc::ETH_P_802_2 as u16;

/// Frames of any protocol. Only this value also gives the host's own frames.
pub(crate) const ALL: u16 = libc::ETH_P_ALL as u16;

/// The longest frame for neighbours: 1500 octets, a header and two tags.
const LONGEST: usize = 1522;

/// A socket that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("packet socket for {purpose}: {problem}{}", hint(.problem))]
pub struct PacketSocketError {
    /// The purpose of the socket: "hearing LLDP".
    pub purpose: &'static str,
    /// The system's error.
    pub problem: io::Error,
}

fn hint(problem: &io::Error) -> &'static str {
    match problem.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; run it as root or grant it CAP_NET_RAW",
        _ => "",
    }
}

#[derive(Debug)]
pub(crate) struct PacketSocket {
    socket: OwnedFd,
}

/// One frame as received.
#[derive(Debug)]
pub(crate) struct ReceivedFrame<'b> {
    /// The card's number.
    pub(crate) card: u32,
    /// The frame from its destination address on, without its check sequence.
    pub(crate) frame: &'b [u8],
}

impl PacketSocket {
    /// Opens a socket that receives the frames of `protocol` on every card that pass `filter`.
    pub(crate) fn open(
        purpose: &'static str,
        protocol: u16,
        filter: &[BpfInstruction],
    ) -> Result<PacketSocket, PacketSocketError> {
        PacketSocket::filtered(protocol, filter)
            .map_err(|problem| PacketSocketError { purpose, problem })
    }

    fn filtered(protocol: u16, filter: &[BpfInstruction]) -> io::Result<PacketSocket> {
        let socket = PacketSocket { socket: socket()? };
        attach(&socket.socket, filter)?;
        // For a frame to a bond, the kernel then names the card on which the cable is (see
        // bond_handle_frame in the kernel).
        socket.option(libc::PACKET_ORIGDEV, &1)?;
        // Receiving begins only now, so that no frame arrives before the filter is set.
        socket.receive_only(protocol)?;
        Ok(socket)
    }

    /// Opens a socket that only sends.
    pub(crate) fn open_mute(purpose: &'static str) -> Result<PacketSocket, PacketSocketError> {
        socket()
            .map(|socket| PacketSocket { socket })
            .map_err(|problem| PacketSocketError { purpose, problem })
    }

    /// Changes the protocol received. [`ALL`] costs a little for each frame the host sends or
    /// receives.
    pub(crate) fn receive_only(&self, protocol: u16) -> io::Result<()> {
        let address = address(protocol, 0);
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_ll of `size` octets that outlives the call.
        done(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), size) })
    }

    /// Makes a card let frames to this group through.
    pub(crate) fn join(&self, card: u32, group: [u8; 6]) -> io::Result<()> {
        let mut request = libc::packet_mreq {
            mr_ifindex: card as c_int,
            mr_type: libc::PACKET_MR_MULTICAST as u16,
            mr_alen: group.len() as u16,
            mr_address: [0; 8],
        };
        request.mr_address[..group.len()].copy_from_slice(&group);
        self.option(libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// The next waiting frame, or `None` without waiting. A longer frame is cut.
    pub(crate) fn next<'b>(&self, buffer: &'b mut FrameBuffer) -> Option<ReceivedFrame<'b>> {
        loop {
            match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), &mut buffer.0) {
                Ok((length, Some(from))) => {
                    return Some(ReceivedFrame {
                        card: u32::try_from(from.ifindex()).ok()?,
                        frame: &buffer.0[..length],
                    });
                }
                // A card that went down reports it once to each socket. More frames may wait behind
                // the error.
                Err(nix::Error::ENETDOWN | nix::Error::EINTR) => {}
                _ => return None,
            }
        }
    }

    /// Sends a frame by a card.
    pub(crate) fn send(&self, card: u32, frame: &[u8]) -> io::Result<()> {
        let address = address(0, card);
        let size = size_of_val(&address) as libc::socklen_t;
        let (data, flags) = (frame.as_ptr().cast(), MsgFlags::MSG_DONTWAIT.bits());
        // SAFETY: `data` points to as many readable octets as given and `address` is a sockaddr_ll
        // of `size` octets; both outlive the call.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                data,
                frame.len(),
                flags,
                (&raw const address).cast(),
                size,
            )
        };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    fn option<T>(&self, name: c_int, value: &T) -> io::Result<()> {
        set(&self.socket, libc::SOL_PACKET, name, value)
    }
}

/// Room for one frame.
pub(crate) struct FrameBuffer([u8; LONGEST]);

impl Default for FrameBuffer {
    fn default() -> FrameBuffer {
        FrameBuffer([0; LONGEST])
    }
}

/// A socket that receives nothing yet.
fn socket() -> io::Result<OwnedFd> {
    // SAFETY: no pointer is passed.
    let fd = unsafe {
        libc::socket(
            libc::AF_PACKET,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
            0,
        )
    };
    done(fd.min(0))?;
    // SAFETY: the descriptor was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn attach(socket: &OwnedFd, program: &[BpfInstruction]) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
}

fn set<T>(socket: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is `size` readable octets; the kernel copies them and, of a filter, the
    // program it points to.
    done(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size,
        )
    })
}

fn address(protocol: u16, card: u32) -> libc::sockaddr_ll {
    // SAFETY: all-zero is a valid sockaddr_ll: integers only.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = card as c_int;
    address
}

fn done(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
