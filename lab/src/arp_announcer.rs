//! Announcements of a host or router by gratuitous ARP (RFC 5227, section 3), from which every
//! bridge learns its port.
#![allow(
    unsafe_code,
    reason = "packet and netlink sockets have no safe wrapper for these addresses"
)]
use crate::netlink::LinkChanges;
use inventory::Mac;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Announces a node at each of its ports. It does so more often after a change of its cables: the
/// bridges have forgotten the node then, and nobody knows when its new port starts to forward.
pub(crate) struct ArpAnnouncer {
    /// The announcement of each interface.
    frames: Vec<(libc::c_int, [u8; 42])>,
    packets: OwnedFd,
    /// Reports every interface that appears, changes or disappears.
    links: LinkChanges,
    busy_until: Instant,
}

const CALM: Duration = Duration::from_secs(1);
const BUSY: Duration = Duration::from_millis(100);

/// More than twice the lab's default forward delay.
const BUSY_FOR: Duration = Duration::from_secs(10);

impl ArpAnnouncer {
    /// An announcer for the node with these interfaces: names, MAC addresses and IP addresses.
    pub(crate) fn new<'a>(
        interfaces: impl Iterator<Item = (&'a str, Mac, Ipv4Addr)>,
    ) -> io::Result<ArpAnnouncer> {
        let frames = interfaces
            .map(|(name, mac, address)| {
                Ok((
                    nix::net::if_::if_nametoindex(name)? as libc::c_int,
                    frame(mac, address),
                ))
            })
            .collect::<io::Result<_>>()?;
        // Protocol 0: the socket only sends.
        let packets = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            None,
        )?;
        Ok(ArpAnnouncer {
            frames,
            packets,
            links: LinkChanges::open()?,
            busy_until: Instant::now() + BUSY_FOR,
        })
    }

    /// Sends an announcement from each port, then waits until the next is due.
    pub(crate) fn step(&mut self) {
        for (interface, frame) in &self.frames {
            // This fails while the port has no cable; nobody would receive the frame.
            let _ = self.send(*interface, frame);
        }
        let wait = if Instant::now() < self.busy_until {
            BUSY
        } else {
            CALM
        };
        if self.links.wait(wait) {
            self.busy_until = Instant::now() + BUSY_FOR;
            std::thread::sleep(BUSY);
        }
    }

    fn send(&self, interface: libc::c_int, frame: &[u8; 42]) -> io::Result<()> {
        // SAFETY: all-zero is a valid sockaddr_ll: integers only.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = interface;
        let (data, length) = (frame.as_ptr().cast(), frame.len());
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `data` points to `length` readable octets and `to` to a sockaddr_ll of `size`
        // octets.
        match unsafe {
            libc::sendto(
                self.packets.as_raw_fd(),
                data,
                length,
                0,
                (&raw const to).cast(),
                size,
            )
        } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

/// An ARP request for the sender's own address (RFC 826), broadcast.
fn frame(mac: Mac, address: Ipv4Addr) -> [u8; 42] {
    let mut f = [0; 42];
    f[..6].fill(0xff);
    f[6..12].copy_from_slice(&mac.0);
    f[12..14].copy_from_slice(&[0x08, 0x06]);
    // Ethernet(1), IPv4 with its EtherType, lengths of 6 and 4, REQUEST(1). The target's MAC address stays zero.
    f[14..22].copy_from_slice(&[0, 1, 0x08, 0, 6, 4, 0, 1]);
    f[22..28].copy_from_slice(&mac.0);
    f[28..32].copy_from_slice(&address.octets());
    f[38..42].copy_from_slice(&address.octets());
    f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_is_a_gratuitous_arp_request() {
        let f = frame(Mac([2, 0, 0, 0, 0, 7]), Ipv4Addr::new(10, 77, 0, 8));
        assert_eq!(
            &f[..14],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 7, 8, 6]
        );
        assert_eq!(&f[14..22], &[0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(
            (&f[28..32], &f[38..42]),
            (&[10, 77, 0, 8][..], &[10, 77, 0, 8][..])
        );
        assert_eq!(&f[32..38], &[0; 6]);
    }
}
