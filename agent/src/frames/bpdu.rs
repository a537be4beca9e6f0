//! Bridge protocol data units: those of STP and RSTP (IEEE 802.1D-2004, 9.3), and the part of
//! MSTP's that is the same (IEEE 802.1Q-2018, 14.2 to 14.4).
use super::FrameError;
use inventory::Mac;
use inventory::observation::BridgeId;
use std::time::Duration;

/// The bridge group address (IEEE 802.1D-2004, Table 7-10).
pub(crate) const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0]);

/// The LLC header before a BPDU: spanning tree as destination and source, unnumbered information
/// (9.2.1, 7.12.3).
pub(super) const LLC0: u8 = 0x42;
pub(super) const LLC1: u8 = 0x42;
pub(super) const LLC2: u8 = 0x03;

/// A bridge protocol data unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bpdu {
    /// Configuration (9.3.1), RST (9.3.3) or MST BPDU: it names the designated bridge.
    Configuration(ConfigurationBpdu),
    /// Topology change notification (9.3.2), to the designated bridge.
    TopologyChange,
}

/// The place of a port in the spanning tree, as its bridge states it. Times are in 256ths of a
/// second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigurationBpdu {
    /// The protocol version, with the fields that only this version has.
    pub version: StpVersion,
    /// The whole octet (9.3.3).
    pub flags: u8,
    pub root_bridge: BridgeId,
    /// The cost of the path to the root bridge; in MSTP the external cost, between regions.
    pub root_path_cost: u32,
    /// The bridge that sent this BPDU.
    pub bridge: BridgeId,
    /// The port that sent this BPDU, as the whole 16 bits.
    pub port: u16,
    /// The age of this information.
    pub message_age: u16,
    /// The age at which this information expires.
    pub max_age: u16,
    /// The time between two BPDUs.
    pub hello_time: u16,
    /// The time to wait before forwarding.
    pub forward_delay: u16,
}

/// The version of the spanning tree protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StpVersion {
    /// STP, from 802.1D before 2004.
    Stp,
    Rstp,
    /// MSTP. The trees of single VLANs are not read.
    Mstp {
        regional_root: BridgeId,
        /// The cost of the path to the regional root.
        internal_path_cost: u32,
        /// The number of bridges that the BPDU may still pass.
        remaining_hops: u8,
    },
}

/// BPDU types (9.3.1 to 9.3.3).
mod kind {
    pub(super) const CONFIGURATION: u8 = 0x00;
    pub(super) const RST: u8 = 0x02;
    pub(super) const TOPOLOGY_CHANGE: u8 = 0x80;
}

/// The port role in the flags of RST and MST BPDUs, bits 3 and 4 (9.3.3). Designated is 3.
const ROLE: u8 = 0x0c;

/// The octets that all versions have, and those of an MST BPDU up to its bridge and remaining hops
/// (802.1Q, Figure 14-1).
const COMMON: usize = 35;
const MST: usize = 102;

/// The octets that an MST BPDU counts before its first tree of VLANs.
const MST_FIXED: u16 = 64;

/// The octets of one such tree, and the largest number of trees (802.1Q, 14.4).
const MSTI: u16 = 16;
const MOST_MSTI: u16 = 64;

impl Bpdu {
    /// Reads a BPDU that follows its LLC header, by the rules of 9.3.4 and, for MSTP, of 802.1Q
    /// 14.4. Of later versions it reads the part that has not changed.
    ///
    /// # Errors
    /// If the octets are not a BPDU, are too short for their type, or have reached their maximum
    /// age.
    pub fn read(octets: &[u8]) -> Result<Bpdu, FrameError> {
        let [0, 0, version, kind, ..] = *octets else {
            return Err(bad(0, "not the spanning tree protocol"));
        };
        match (kind, version) {
            (kind::TOPOLOGY_CHANGE, _) => Ok(Bpdu::TopologyChange),
            (kind::CONFIGURATION, _) => {
                let fields = ConfigurationBpdu::read(octets, StpVersion::Stp)?;
                // 9.3.4 compares the ages of Configuration BPDUs only.
                if fields.message_age >= fields.max_age {
                    Err(bad(27, "as old as it may become"))
                } else {
                    Ok(Bpdu::Configuration(fields))
                }
            }
            (kind::RST, 2..) => {
                let fields = ConfigurationBpdu::read(octets, StpVersion::Rstp)?;
                Ok(Bpdu::Configuration(if version > 2 {
                    fields.with_region(octets).unwrap_or(fields)
                } else {
                    fields
                }))
            }
            _ => Err(bad(3, "an unknown type")),
        }
    }

    /// Writes the BPDU. An MST BPDU names no region and no trees of VLANs.
    pub fn write(&self) -> Vec<u8> {
        let Bpdu::Configuration(fields) = self else {
            return vec![0, 0, 0, kind::TOPOLOGY_CHANGE];
        };
        match fields.version {
            StpVersion::Stp => fields.common(0, kind::CONFIGURATION, fields.bridge),
            StpVersion::Rstp => [fields.common(2, kind::RST, fields.bridge), vec![0]].concat(),
            StpVersion::Mstp {
                regional_root,
                internal_path_cost,
                remaining_hops,
            } => {
                let mut octets = fields.common(3, kind::RST, regional_root);
                octets.push(0);
                // The length for version 1 is 0; then the one for version 3, and the configuration
                // identifier of 51 octets (802.1Q, 13.8).
                octets.extend(MST_FIXED.to_be_bytes());
                octets.extend([0; 51]);
                octets.extend(internal_path_cost.to_be_bytes());
                octets.extend(bridge_octets(fields.bridge));
                octets.push(remaining_hops);
                octets
            }
        }
    }
}

impl ConfigurationBpdu {
    fn read(octets: &[u8], version: StpVersion) -> Result<ConfigurationBpdu, FrameError> {
        let common = octets
            .first_chunk::<COMMON>()
            .ok_or(bad(octets.len(), "ends too early for its type"))?;
        let word = |at: usize| u16::from_be_bytes([common[at], common[at + 1]]);
        Ok(ConfigurationBpdu {
            version,
            flags: common[4],
            root_bridge: bridge_id(*common[5..].first_chunk().expect("eight of 35 octets")),
            root_path_cost: u32::from_be_bytes(
                *common[13..].first_chunk().expect("four of 35 octets"),
            ),
            bridge: bridge_id(*common[17..].first_chunk().expect("eight of 35 octets")),
            port: word(25),
            message_age: word(27),
            max_age: word(29),
            hello_time: word(31),
            forward_delay: word(33),
        })
    }

    /// Adds the fields that MSTP has beyond RSTP. MSTP puts the regional root where RSTP has the
    /// bridge, and the bridge comes later. `None` if lengths are wrong: the BPDU then counts as
    /// RSTP (802.1Q, 14.4).
    fn with_region(self, octets: &[u8]) -> Option<ConfigurationBpdu> {
        let octets = octets.first_chunk::<MST>()?;
        let version_1_length = octets[35];
        let trees = u16::from_be_bytes([octets[36], octets[37]]).checked_sub(MST_FIXED)?;
        if version_1_length != 0 || trees % MSTI != 0 || trees / MSTI > MOST_MSTI {
            return None;
        }
        // Octets 38 to 88 are the configuration identifier: which VLANs belong to which tree.
        let version = StpVersion::Mstp {
            regional_root: self.bridge,
            internal_path_cost: u32::from_be_bytes(*octets[89..].first_chunk()?),
            remaining_hops: octets[101],
        };
        Some(ConfigurationBpdu {
            version,
            bridge: bridge_id(*octets[93..].first_chunk()?),
            ..self
        })
    }

    /// True if the sending port is the designated one. In RSTP other ports may send as well.
    pub fn is_designated(&self) -> bool {
        self.version == StpVersion::Stp || self.flags & ROLE == ROLE
    }

    /// The longest time for which the BPDU holds if no newer one comes: its maximum age less its
    /// age, but at most the 40 s that a bridge may choose (IEEE 802.1D-2004, Table 7-5).
    pub(crate) fn holds_for(&self) -> Duration {
        let left = self.max_age.saturating_sub(self.message_age);
        Duration::from_millis(u64::from(left) * 1000 / 256)
            .clamp(Duration::from_secs(1), Duration::from_secs(40))
    }

    fn common(&self, version: u8, kind: u8, bridge: BridgeId) -> Vec<u8> {
        let mut octets = vec![0, 0, version, kind, self.flags];
        octets.extend(bridge_octets(self.root_bridge));
        octets.extend(self.root_path_cost.to_be_bytes());
        octets.extend(bridge_octets(bridge));
        let words = [
            self.port,
            self.message_age,
            self.max_age,
            self.hello_time,
            self.forward_delay,
        ];
        octets.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        octets
    }
}

fn bad(at: usize, problem: &'static str) -> FrameError {
    FrameError::new("BPDU", at, problem)
}

/// 16 bits of priority, 48 of address (9.2.5).
fn bridge_id([a, b, address @ ..]: [u8; 8]) -> BridgeId {
    BridgeId {
        priority: u16::from_be_bytes([a, b]),
        address: Mac(address),
    }
}

fn bridge_octets(bridge: BridgeId) -> [u8; 8] {
    let ([a, b], [c, d, e, f, g, h]) = (bridge.priority.to_be_bytes(), bridge.address.0);
    [a, b, c, d, e, f, g, h]
}
