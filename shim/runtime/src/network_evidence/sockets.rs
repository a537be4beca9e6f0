//! The open files of this process: its TCP connections with the octets that came over each, and devices.
#![allow(
    unsafe_code,
    reason = "descriptors that the MPI library owns have no safe wrapper"
)]
use super::FabricDevice;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{SockaddrStorage, getpeername, getsockname};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::net::IpAddr;
use std::os::fd::RawFd;

/// Where /proc is hidden, descriptors below this number are looked at.
const MOST_UNLISTED: RawFd = 4096;
/// The octets of `struct tcp_info` (linux/tcp.h) that are read, and the place of `tcpi_bytes_received` in
/// them, which every kernel since 4.1 has.
const TCP_INFO: usize = 136;
const BYTES_RECEIVED: usize = 128;

/// The octets that came to this process over its TCP connections so far: from `hosts`, addresses on the
/// tree; over other networks, with the own address to which most of those came; and the device it has open.
pub(super) fn look(hosts: &HashSet<IpAddr>) -> (u64, u64, Option<IpAddr>, FabricDevice) {
    let mut on_tree = 0;
    let mut elsewhere: BTreeMap<IpAddr, u64> = BTreeMap::new();
    let mut device = FabricDevice::None;
    for fd in descriptors() {
        if device == FabricDevice::None
            && let Ok(path) = fs::read_link(format!("/proc/self/fd/{fd}"))
        {
            device = FabricDevice::of_path(&path.to_string_lossy());
        }
        let Some((own, peer)) = ends(fd) else {
            continue;
        };
        // Messages to a process's own host cross no network.
        if own == peer || peer.is_loopback() {
            continue;
        }
        let came = received(fd);
        if hosts.contains(&peer) {
            on_tree += came;
        } else if !hosts.contains(&own) {
            *elsewhere.entry(own).or_default() += came;
        }
        // Hosts that are no members come to this one's address on the tree, too.
    }
    let most = elsewhere.iter().max_by_key(|(_, came)| **came);
    let address = most.map(|(address, _)| *address);
    (on_tree, elsewhere.values().sum(), address, device)
}

/// The name of the interface with this address on this host.
pub(super) fn interface_of(address: IpAddr) -> Option<String> {
    let mut all = getifaddrs().ok()?;
    all.find(|interface| interface.address.as_ref().and_then(ip) == Some(address))
        .map(|interface| interface.interface_name)
}

/// The prefix of the network that some of these addresses are on, by this host's own interface; one of
/// them where it has none.
pub fn prefix(hosts: &HashSet<IpAddr>) -> String {
    let interfaces = getifaddrs().into_iter().flatten();
    let own = interfaces.filter_map(|interface| {
        let address = ip(interface.address.as_ref()?)?;
        let mask = ip(interface.netmask.as_ref()?)?;
        hosts.contains(&address).then(|| masked(address, mask))?
    });
    own.into_iter()
        .next()
        .or_else(|| hosts.iter().min().map(IpAddr::to_string))
        .unwrap_or_default()
}

/// An address without the bits of its host, and the length of the mask.
fn masked(address: IpAddr, mask: IpAddr) -> Option<String> {
    let (network, bits) = match (address, mask) {
        (IpAddr::V4(address), IpAddr::V4(mask)) => {
            (IpAddr::from(address & mask), mask.to_bits().count_ones())
        }
        (IpAddr::V6(address), IpAddr::V6(mask)) => {
            (IpAddr::from(address & mask), mask.to_bits().count_ones())
        }
        _ => return None,
    };
    Some(format!("{network}/{bits}"))
}

fn descriptors() -> Vec<RawFd> {
    match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                name.to_str()?.parse().ok()
            })
            .collect(),
        Err(_) => (0..MOST_UNLISTED).collect(),
    }
}

/// The addresses of both ends, if the descriptor is a connection of IPv4 or IPv6.
fn ends(fd: RawFd) -> Option<(IpAddr, IpAddr)> {
    let own: SockaddrStorage = getsockname(fd).ok()?;
    let peer: SockaddrStorage = getpeername(fd).ok()?;
    Some((ip(&own)?, ip(&peer)?))
}

/// The address of an end or an interface.
pub(crate) fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::from(v6.ip())))
        .map(|ip| ip.to_canonical())
}

/// The octets that came over a TCP connection so far; 0 for other sockets, and where the kernel does not
/// count them.
fn received(fd: RawFd) -> u64 {
    let mut info = [0u8; TCP_INFO];
    let mut length = TCP_INFO as libc::socklen_t;
    // SAFETY: there is room for as many octets as are stated; a descriptor that is closed meanwhile, or is
    // no such socket, gives an error.
    let code = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if code != 0 || (length as usize) < TCP_INFO {
        return 0;
    }
    let mut octets = [0; 8];
    octets.copy_from_slice(&info[BYTES_RECEIVED..TCP_INFO]);
    u64::from_ne_bytes(octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn octets_of_a_connection_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[7; 5000]).unwrap();
        far.read_exact(&mut [0; 5000]).unwrap();
        assert_eq!(received(far.as_raw_fd()), 5000);
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(ends(far.as_raw_fd()), Some((loopback, loopback)));
        assert_eq!(ends(listener.as_raw_fd()), None);
        assert_eq!(ends(0), None);
        assert_eq!(prefix(&HashSet::from([loopback])), "127.0.0.0/8");
        assert_eq!(interface_of(loopback).as_deref(), Some("lo"));
        // Both ends are on this host: no network is crossed.
        let (on_tree, ..) = look(&HashSet::from([loopback]));
        assert_eq!(on_tree, 0);
    }
}
