//! Cisco Discovery Protocol, versions 1 and 2. Cisco published its format as "Cisco Discovery
//! Protocol (CDP) packet format"; what it leaves out, the odd checksum, is as Cisco's devices send
//! it.
use super::id;
use super::{FrameError, cut, text};
use inventory::Mac;
use inventory::observation::{NeighbourId, SystemCapabilities};
use std::net::IpAddr;

/// Where CDP goes: Cisco's group address.
pub(crate) const GROUP: Mac = Mac([0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc]);

/// LLC and SNAP before it (IEEE 802-2014, 9.5): Cisco's identifier and protocol 0x2000.
pub(super) const SNAP: [u8; 8] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x0c, 0x20, 0x00];

/// What a neighbour says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdpAnnouncement {
    /// 1 or 2.
    pub version: u8,
    /// Holdtime: seconds for which the rest holds.
    pub ttl: u8,
    /// Device ID: mostly its name.
    pub device: NeighbourId,
    /// Port ID.
    pub port: NeighbourId,
    /// System name; empty where not sent, as by most.
    pub name: String,
    /// Capabilities, where sent.
    pub capabilities: Option<SystemCapabilities>,
    /// Its addresses of IP, the first sixteen.
    pub addresses: Vec<IpAddr>,
}

/// TLV types.
mod tlv {
    pub(super) const DEVICE_ID: u16 = 0x01;
    pub(super) const ADDRESSES: u16 = 0x02;
    pub(super) const PORT_ID: u16 = 0x03;
    pub(super) const CAPABILITIES: u16 = 0x04;
    pub(super) const SYSTEM_NAME: u16 = 0x14;
}

/// How an address says that it is of IPv4: an NLPID of one octet.
const IPV4: [u8; 3] = [1, 1, 0xcc];

/// How an address says that it is of IPv6: LLC and SNAP in eight octets.
const IPV6: [u8; 10] = [2, 8, 0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd];

impl CdpAnnouncement {
    /// Reads an announcement without padding.
    ///
    /// # Errors
    /// Where version or checksum are wrong, a TLV runs past the end, or device or port ID are
    /// missing. TLVs that are not understood are passed over; of repeated ones the first counts.
    pub fn read(octets: &[u8]) -> Result<CdpAnnouncement, FrameError> {
        let (head, mut rest) = octets
            .split_first_chunk::<4>()
            .ok_or(bad(octets.len(), "ends within its head"))?;
        let [version @ 1..=2, ttl, ..] = *head else {
            return Err(bad(0, "neither version 1 nor 2"));
        };
        if !sums_up(octets) {
            return Err(bad(2, "a wrong checksum"));
        }
        let (mut device, mut port, mut name, mut abilities, mut addresses) =
            (None, None, None, None, Vec::new());
        while !rest.is_empty() {
            let at = octets.len() - rest.len();
            let (kind, value, next) = tlv(rest).ok_or(bad(
                at,
                "a TLV that runs past the end, or is shorter than its head",
            ))?;
            match kind {
                tlv::DEVICE_ID => device = device.or_else(|| identifier(value)),
                tlv::PORT_ID => port = port.or_else(|| identifier(value)),
                tlv::SYSTEM_NAME => name = name.or_else(|| Some(text(value))),
                tlv::CAPABILITIES => abilities = abilities.or_else(|| capabilities(value)),
                tlv::ADDRESSES if addresses.is_empty() => addresses = addresses_of(value),
                _ => {}
            }
            rest = next;
        }
        let device = device.ok_or(bad(octets.len(), "no device ID"))?;
        let port = port.ok_or(bad(octets.len(), "no port ID"))?;
        Ok(CdpAnnouncement {
            version,
            ttl,
            device,
            port,
            name: name.unwrap_or_default(),
            capabilities: abilities,
            addresses,
        })
    }

    /// Writes it; texts are cut to 255 octets.
    pub fn write(&self) -> Vec<u8> {
        let mut octets = vec![self.version, self.ttl, 0, 0];
        let mut put = |kind: u16, value: &[u8]| {
            let length = value.len() as u16 + 4;
            octets.extend([&kind.to_be_bytes(), &length.to_be_bytes(), value].concat());
        };
        put(tlv::DEVICE_ID, &written(&self.device));
        if !self.addresses.is_empty() {
            let addresses = &self.addresses[..self.addresses.len().min(MOST_ADDRESSES)];
            let entries: Vec<u8> = addresses.iter().flat_map(|a| address(*a)).collect();
            put(
                tlv::ADDRESSES,
                &[&(addresses.len() as u32).to_be_bytes(), &entries[..]].concat(),
            );
        }
        put(tlv::PORT_ID, &written(&self.port));
        if let Some(SystemCapabilities { bridge, router }) = self.capabilities {
            put(
                tlv::CAPABILITIES,
                &[
                    0,
                    0,
                    0,
                    (u8::from(bridge) * SWITCH) | (u8::from(router) * ROUTER),
                ],
            );
        }
        if !self.name.is_empty() {
            put(tlv::SYSTEM_NAME, cut(&self.name, LONGEST_TEXT));
        }
        sealed(octets)
    }
}

/// The same with a right checksum; what has no room for one stays as it is.
pub fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    if octets.len() >= 4 {
        octets[2..4].fill(0);
        let sum = !sum(&octets, odd_tail);
        octets[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    octets
}

fn bad(at: usize, problem: &'static str) -> FrameError {
    FrameError {
        protocol: "CDP",
        at,
        problem,
    }
}

/// Octets of a text or an identifier.
const LONGEST_TEXT: usize = 255;

/// Addresses kept and written: so many fit into one frame behind the longest texts.
const MOST_ADDRESSES: usize = 16;

/// A name or an address: nothing says which.
fn identifier(octets: &[u8]) -> Option<NeighbourId> {
    id::read(octets, None).filter(|_| octets.len() <= LONGEST_TEXT)
}

/// Type and value of the first TLV and what follows: 16 bits of type, 16 of length, which counts
/// both.
fn tlv(octets: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let ([a, b, c, d], _) = octets.split_first_chunk()?;
    let (tlv, rest) = octets.split_at_checked(usize::from(u16::from_be_bytes([*c, *d])))?;
    Some((u16::from_be_bytes([*a, *b]), tlv.get(4..)?, rest))
}

/// The checksum of RFC 1071. Cisco's devices add an odd last octet in a way of their own; others
/// add it as the RFC says.
fn sums_up(octets: &[u8]) -> bool {
    [odd_tail, |last| [last, 0]]
        .iter()
        .any(|tail| sum(octets, *tail) == 0xffff)
}

fn sum(octets: &[u8], tail: fn(u8) -> [u8; 2]) -> u16 {
    let (words, odd) = octets.as_chunks::<2>();
    let all = words
        .iter()
        .copied()
        .chain(odd.first().map(|last| tail(*last)));
    all.map(u16::from_be_bytes).fold(0, |sum, word| {
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

/// The low octet of a word, as if it were a signed number of a little-endian machine, and one too
/// small where negative.
fn odd_tail(last: u8) -> [u8; 2] {
    if last & 0x80 == 0 {
        [0, last]
    } else {
        [0xff, last.wrapping_sub(1)]
    }
}

const ROUTER: u8 = 0x01;
const SWITCH: u8 = 0x08;

/// Transparent bridge, source-route bridge, switch.
const BRIDGES: u8 = 0x0e;

/// Four octets, the lowest bit of the last one first: router, transparent bridge, source-route
/// bridge, switch, host.
pub(crate) fn capabilities(octets: &[u8]) -> Option<SystemCapabilities> {
    let last = octets.get(3)?;
    Some(SystemCapabilities {
        bridge: last & BRIDGES != 0,
        router: last & ROUTER != 0,
    })
}

fn written(id: &NeighbourId) -> Vec<u8> {
    match id {
        NeighbourId::Mac(mac) => mac.0.to_vec(),
        NeighbourId::Address(address) => address.to_string().into_bytes(),
        NeighbourId::Text(text) => cut(text, LONGEST_TEXT).to_vec(),
    }
}

/// A count, then addresses with their protocols; those of IP, as far as they are whole.
fn addresses_of(value: &[u8]) -> Vec<IpAddr> {
    let mut rest = value.get(4..).unwrap_or_default();
    std::iter::from_fn(|| {
        let (kind, address, next) = address_entry(rest)?;
        rest = next;
        Some((kind, address))
    })
    .filter_map(|(kind, address)| match kind {
        kind if kind == IPV4 => <[u8; 4]>::try_from(address).ok().map(IpAddr::from),
        kind if kind == IPV6 => <[u8; 16]>::try_from(address).ok().map(IpAddr::from),
        _ => None,
    })
    .take(MOST_ADDRESSES)
    .collect()
}

/// Protocol (type, length, value) and address of the first entry, and what follows.
fn address_entry(octets: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let protocol_length = usize::from(*octets.get(1)?);
    let (kind, rest) = octets.split_at_checked(2 + protocol_length)?;
    let (length, rest) = rest.split_first_chunk()?;
    let (address, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    Some((kind, address, rest))
}

fn address(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => [&IPV4[..], &[0, 4], &a.octets()].concat(),
        IpAddr::V6(a) => [&IPV6[..], &[0, 16], &a.octets()].concat(),
    }
}
