//! LLDP data units (IEEE 802.1AB-2016, clauses 8 and 9).
use super::id::{self, IdSubtype, chassis_kind, port_kind};
use super::{FrameError, cut, text};
use inventory::Mac;
use inventory::observation::{NeighbourId, SystemCapabilities};
use std::net::IpAddr;

/// The EtherType of LLDP (Table 7-3).
pub const ETHERTYPE: u16 = 0x88cc;

/// The group address of the nearest bridge (Table 7-1). No bridge forwards it.
pub const NEAREST_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

/// An LLDP data unit, of a neighbour or of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lldpdu {
    /// Chassis ID (8.5.2). A text is written as "locally assigned".
    pub chassis: NeighbourId,
    /// Port ID (8.5.3). A text is written as an interface name.
    pub port: NeighbourId,
    /// The seconds for which the unit holds. 0 withdraws all of it (8.5.4).
    pub ttl: u16,
    /// Port description (8.5.5); empty if not sent.
    pub port_descr: String,
    /// System name (8.5.6); empty if not sent.
    pub name: String,
    /// System description (8.5.7); empty if not sent.
    pub descr: String,
    /// Enabled system capabilities (8.5.8), if sent. A system that is neither a bridge nor a router
    /// is written as "station only".
    pub capabilities: Option<SystemCapabilities>,
    /// The first seven management addresses (8.5.9) that are IP addresses.
    pub management: Vec<IpAddr>,
}

/// TLV types (Table 8-1).
mod tlv {
    pub(super) const END: u8 = 0;
    pub(super) const CHASSIS_ID: u8 = 1;
    pub(super) const PORT_ID: u8 = 2;
    pub(super) const TTL: u8 = 3;
    pub(super) const PORT_DESCRIPTION: u8 = 4;
    pub(super) const SYSTEM_NAME: u8 = 5;
    pub(super) const SYSTEM_DESCRIPTION: u8 = 6;
    pub(super) const SYSTEM_CAPABILITIES: u8 = 7;
    pub(super) const MANAGEMENT_ADDRESS: u8 = 8;
}

/// System capabilities (Table 8-4).
mod capability {
    pub(super) const BRIDGE: u16 = 1 << 2;
    pub(super) const ROUTER: u16 = 1 << 4;
    pub(super) const STATION_ONLY: u16 = 1 << 7;
}

/// The limit of a text, or of an identifier after its subtype, in octets.
const LONGEST_TEXT: usize = 255;

/// The number of management addresses kept and written: as many as fit into one frame behind the
/// longest texts.
const MOST_ADDRESSES: usize = 7;

impl Lldpdu {
    /// A unit of the mandatory parts alone.
    pub fn new(chassis: NeighbourId, port: NeighbourId, ttl: u16) -> Lldpdu {
        Lldpdu {
            chassis,
            port,
            ttl,
            port_descr: String::new(),
            name: String::new(),
            descr: String::new(),
            capabilities: None,
            management: Vec::new(),
        }
    }

    /// Reads a data unit; padding may follow its end.
    ///
    /// # Errors
    /// If a rule of 9.2.7.7 is broken: chassis ID, port ID and time to live come first, in this
    /// order and once, each with a correct length, and no TLV runs past the end. Unknown TLVs are
    /// skipped; of other repeated ones the first counts.
    pub fn read(octets: &[u8]) -> Result<Lldpdu, FrameError> {
        let mut tlvs = TlvIterator { octets, at: 0 };
        let chassis =
            tlvs.mandatory(tlv::CHASSIS_ID, "no chassis ID where it must stand", |v| {
                identifier(v, chassis_kind)
            })?;
        let port = tlvs.mandatory(tlv::PORT_ID, "no port ID where it must stand", |v| {
            identifier(v, port_kind)
        })?;
        let ttl = tlvs.mandatory(tlv::TTL, "no time to live where it must stand", |v| {
            v.first_chunk().map(|ttl| u16::from_be_bytes(*ttl))
        })?;
        let mut unit = Lldpdu::new(chassis, port, ttl);
        loop {
            let at = tlvs.at;
            match tlvs.next()? {
                None | Some((tlv::END, _)) => return Ok(unit),
                Some((tlv::CHASSIS_ID | tlv::PORT_ID | tlv::TTL, _)) => {
                    return Err(bad(at, "a second chassis ID, port ID or time to live"));
                }
                Some((kind, value)) => unit.optional(kind, value),
            }
        }
    }

    fn optional(&mut self, kind: u8, value: &[u8]) {
        let first = |old: &mut String| {
            if old.is_empty() && value.len() <= LONGEST_TEXT {
                *old = text(value);
            }
        };
        match kind {
            tlv::PORT_DESCRIPTION => first(&mut self.port_descr),
            tlv::SYSTEM_NAME => first(&mut self.name),
            tlv::SYSTEM_DESCRIPTION => first(&mut self.descr),
            tlv::SYSTEM_CAPABILITIES => {
                self.capabilities = self.capabilities.or_else(|| capabilities(value))
            }
            tlv::MANAGEMENT_ADDRESS if self.management.len() < MOST_ADDRESSES => {
                self.management.extend(management_address(value))
            }
            _ => {}
        }
    }

    /// Writes the unit; texts are cut to 255 octets.
    pub fn write(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        let mut put = |kind: u8, value: &[u8]| {
            let head = u16::from(kind) << 9 | value.len() as u16;
            octets.extend([&head.to_be_bytes(), value].concat());
        };
        put(tlv::CHASSIS_ID, &written(&self.chassis, [4, 5, 7]));
        put(tlv::PORT_ID, &written(&self.port, [3, 4, 5]));
        put(tlv::TTL, &self.ttl.to_be_bytes());
        let texts = [
            (tlv::PORT_DESCRIPTION, &self.port_descr),
            (tlv::SYSTEM_NAME, &self.name),
            (tlv::SYSTEM_DESCRIPTION, &self.descr),
        ];
        for (kind, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            put(kind, cut(text, LONGEST_TEXT));
        }
        if let Some(capabilities) = self.capabilities {
            // The supported capabilities, then the enabled ones.
            put(
                tlv::SYSTEM_CAPABILITIES,
                &[bits(capabilities).to_be_bytes(); 2].concat(),
            );
        }
        for address in self.management.iter().take(MOST_ADDRESSES) {
            let address = family_and_address(*address);
            // Interface numbering subtype "unknown", number 0, no object identifier.
            put(
                tlv::MANAGEMENT_ADDRESS,
                &[&[address.len() as u8], &address[..], &[1, 0, 0, 0, 0, 0]].concat(),
            );
        }
        put(tlv::END, &[]);
        octets
    }

    /// A unit with the same chassis and port that withdraws everything announced for them
    /// (9.1.2.2).
    pub fn farewell(&self) -> Lldpdu {
        Lldpdu::new(self.chassis.clone(), self.port.clone(), 0)
    }
}

/// An iterator over TLVs (8.4): 7 bits of type, 9 of length.
struct TlvIterator<'f> {
    octets: &'f [u8],
    at: usize,
}

impl<'f> TlvIterator<'f> {
    /// The type and value of the next TLV; `None` at the end of the octets.
    fn next(&mut self) -> Result<Option<(u8, &'f [u8])>, FrameError> {
        let rest = &self.octets[self.at..];
        let Some((head, rest)) = rest.split_first_chunk() else {
            return if rest.is_empty() {
                Ok(None)
            } else {
                Err(bad(self.at, "ends within the head of a TLV"))
            };
        };
        let head = u16::from_be_bytes(*head);
        let value = rest
            .get(..usize::from(head & 0x1ff))
            .ok_or(bad(self.at, "a TLV that runs past the end"))?;
        self.at += 2 + value.len();
        Ok(Some(((head >> 9) as u8, value)))
    }

    fn mandatory<T>(
        &mut self,
        kind: u8,
        missing: &'static str,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T, FrameError> {
        let at = self.at;
        match self.next()? {
            Some((found, value)) if found == kind => {
                read(value).ok_or(bad(at, "a mandatory TLV of a wrong length"))
            }
            _ => Err(bad(at, missing)),
        }
    }
}

fn bad(at: usize, problem: &'static str) -> FrameError {
    FrameError::new("LLDP", at, problem)
}

/// An identifier: a subtype and 1 to 255 octets (8.5.2, 8.5.3).
fn identifier(value: &[u8], kind: fn(u32) -> IdSubtype) -> Option<NeighbourId> {
    let (subtype, octets) = value
        .split_first()
        .filter(|(_, octets)| octets.len() <= LONGEST_TEXT)?;
    id::read(octets, Some(kind(u32::from(*subtype))))
}

/// An identifier with its subtype. The array holds the subtypes of a MAC address, a network address
/// and a text.
fn written(id: &NeighbourId, [mac, address, name]: [u8; 3]) -> Vec<u8> {
    match id {
        NeighbourId::Mac(m) => [&[mac], &m.0[..]].concat(),
        NeighbourId::Address(a) => [&[address], &family_and_address(*a)[..]].concat(),
        NeighbourId::Text(t) => [&[name], cut(t, LONGEST_TEXT)].concat(),
    }
}

/// The IANA address family (1 or 2) and the address.
fn family_and_address(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => [&[1], &a.octets()[..]].concat(),
        IpAddr::V6(a) => [&[2], &a.octets()[..]].concat(),
    }
}

/// The enabled capabilities. The value holds the supported capabilities first, then the enabled
/// ones.
fn capabilities(value: &[u8]) -> Option<SystemCapabilities> {
    let enabled = u16::from_be_bytes(value.get(2..4)?.try_into().ok()?);
    Some(SystemCapabilities {
        bridge: enabled & capability::BRIDGE != 0,
        router: enabled & capability::ROUTER != 0,
    })
}

fn bits(capabilities: SystemCapabilities) -> u16 {
    match capabilities {
        SystemCapabilities {
            bridge: false,
            router: false,
        } => capability::STATION_ONLY,
        SystemCapabilities { bridge, router } => {
            (u16::from(bridge) * capability::BRIDGE) | (u16::from(router) * capability::ROUTER)
        }
    }
}

/// A length, the family and the address. The interface number and the object identifier after them
/// are not needed here.
fn management_address(value: &[u8]) -> Option<IpAddr> {
    let (length, rest) = value.split_first()?;
    // The length counts the octet of the family, too (8.5.9).
    match rest.get(..usize::from(*length))? {
        [1, octets @ ..] => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
        [2, octets @ ..] => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
        _ => None,
    }
}
