//! Cisco Discovery Protocol, versions 1 and 2. Cisco published the format as "Cisco Discovery
//! Protocol (CDP) packet format". That text does not describe the odd checksum; it is implemented
//! here as Cisco's devices send it.
use super::{FrameError, cut, id, text};
use inventory::Mac;
use inventory::observation::{NeighbourId, SystemCapabilities};
use std::net::IpAddr;

/// The destination of CDP frames: Cisco's group address.
pub(crate) const GROUP: Mac = Mac([0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc]);

/// The LLC and SNAP headers before CDP (IEEE 802-2014, 9.5): Cisco's identifier and protocol
/// 0x2000.
pub(super) const SNAP: [u8; 8] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x0c, 0x20, 0x00];

/// A CDP announcement of a neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdpAnnouncement {
    /// The version, 1 or 2.
    pub version: u8,
    /// Holdtime: the number of seconds for which the announcement holds.
    pub ttl: u8,
    /// Device ID, usually the device's name.
    pub device: NeighbourId,
    /// Port ID.
    pub port: NeighbourId,
    /// System name; empty if not sent, which is usual.
    pub name: String,
    /// Capabilities, if sent.
    pub capabilities: Option<SystemCapabilities>,
    /// The first sixteen IP addresses.
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

/// The protocol field of an IPv4 address: an NLPID of one octet.
// 0xcc is IP among the NLPIDs of ISO/IEC TR 9577.
const IPV4: [u8; 3] = [1, 1, 0xcc];

/// The protocol field of an IPv6 address: LLC and SNAP in eight octets.
const IPV6: [u8; 10] = [2, 8, 0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd];

impl CdpAnnouncement {
    /// Reads an announcement without padding.
    ///
    /// # Errors
    /// If the version or the checksum is wrong, a TLV runs past the end, or the device or port ID
    /// is missing. Unknown TLVs are skipped; of repeated ones the first counts.
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

    /// Writes the announcement; texts are cut to 255 octets.
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

/// The same octets with a correct checksum. Octets that are too short to hold one are returned
/// unchanged.
pub fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    if octets.len() >= 4 {
        octets[2..4].fill(0);
        let sum = !sum(&octets, odd_tail);
        octets[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    octets
}

fn bad(at: usize, problem: &'static str) -> FrameError {
    FrameError::new("CDP", at, problem)
}

/// The limit of a text or an identifier, in octets.
const LONGEST_TEXT: usize = 255;

/// The number of addresses kept and written: as many as fit into one frame behind the longest
/// texts.
const MOST_ADDRESSES: usize = 16;

/// A name or an address: CDP does not say which of the two an identifier is.
fn identifier(octets: &[u8]) -> Option<NeighbourId> {
    id::read(octets, None).filter(|_| octets.len() <= LONGEST_TEXT)
}

/// The type and value of the first TLV, and the rest: 16 bits of type and 16 of length, which
/// counts both.
fn tlv(octets: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let ([a, b, c, d], _) = octets.split_first_chunk()?;
    let (tlv, rest) = octets.split_at_checked(usize::from(u16::from_be_bytes([*c, *d])))?;
    Some((u16::from_be_bytes([*a, *b]), tlv.get(4..)?, rest))
}

/// The checksum of RFC 1071. Cisco's devices add an odd last octet in their own way; other devices
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

/// The last octet as Cisco's devices add it: as the low octet of a word, sign-extended as on a
/// little-endian machine, and one less where it is negative.
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

/// The four octets of capabilities. From the lowest bit of the last octet upwards they are router,
/// transparent bridge, source-route bridge, switch, host.
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

/// The IP addresses of a list, as far as they are complete. The list is a count, then addresses
/// with their protocols.
fn addresses_of(value: &[u8]) -> Vec<IpAddr> {
    // The count is not read: a wrong one does no harm, because each entry states its own length.
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

/// The protocol (type, length, value) and the address of the first entry, and the rest.
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
