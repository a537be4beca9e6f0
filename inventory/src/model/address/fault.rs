//! Addresses that cannot belong to one host.
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// The reason why an address cannot belong to one host: packets to it reach many hosts, none, or
/// the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFault {
    /// 0.0.0.0/8 (RFC 6890), `::`, and the address of a network itself.
    Network,
    /// 224.0.0.0/4, `ff00::/8`.
    Multicast,
    /// 255.255.255.255, and the last address of a network (RFC 919).
    Broadcast,
    /// 127.0.0.0/8, `::1`.
    Loopback,
}

impl AddressFault {
    /// The fault of an address by itself.
    pub(crate) fn found_in(address: IpAddr) -> Option<AddressFault> {
        let address = address.to_canonical();
        match address {
            _ if address.is_loopback() => Some(AddressFault::Loopback),
            _ if address.is_multicast() => Some(AddressFault::Multicast),
            _ if address.is_unspecified() => Some(AddressFault::Network),
            IpAddr::V4(ip) if ip.octets()[0] == 0 => Some(AddressFault::Network),
            IpAddr::V4(Ipv4Addr::BROADCAST) => Some(AddressFault::Broadcast),
            _ => None,
        }
    }

    /// The fault of an address that an operator states. Loopback is allowed, because jobs on one
    /// machine may use it.
    pub(crate) fn of_stated(address: IpAddr) -> Option<AddressFault> {
        AddressFault::found_in(address).filter(|wrong| *wrong != AddressFault::Loopback)
    }

    /// The fault of an address in a network of this prefix length. Networks of two addresses (RFC
    /// 3021) have neither a first nor a last.
    pub fn within((address, length): (IpAddr, u8)) -> Option<AddressFault> {
        let ends = |ip: Ipv4Addr| {
            let hosts = u32::MAX
                .checked_shr(length.into())
                .filter(|_| length < 31)?;
            match ip.to_bits() & hosts {
                0 => Some(AddressFault::Network),
                rest if rest == hosts => Some(AddressFault::Broadcast),
                _ => None,
            }
        };
        AddressFault::found_in(address).or_else(|| {
            if let IpAddr::V4(ip) = address.to_canonical() {
                ends(ip)
            } else {
                None
            }
        })
    }
}

impl fmt::Display for AddressFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressFault::Network => "a network's own address",
            AddressFault::Multicast => "a multicast address",
            AddressFault::Broadcast => "a broadcast address",
            AddressFault::Loopback => "a loopback address",
        })
    }
}
