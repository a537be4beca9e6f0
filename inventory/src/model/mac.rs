//! IEEE 802 MAC addresses.
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A 48-bit MAC address, shown as `02:00:00:00:00:01`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mac(pub [u8; 6]);

/// A text that is not a MAC address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MAC address \"{0}\": expected six hexadecimal octets like 02:00:00:00:00:01")]
pub struct MacError(pub String);

impl PartialOrd for Mac {
    fn partial_cmp(&self, other: &Mac) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Mac {
    /// By octets, compared as one number: databases of many thousands of addresses are in order.
    fn cmp(&self, other: &Mac) -> std::cmp::Ordering {
        self.number().cmp(&other.number())
    }
}

impl Mac {
    fn number(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// An address that can name one station: not zero, not a group address (IEEE 802-2014, 8.2).
    pub fn is_station(self) -> bool {
        self.0 != [0; 6] && self.0[0] & 1 == 0
    }

    /// True for 00:00:00:00:00:00, ff:ff:ff:ff:ff:ff and all other group addresses, and for those that
    /// several devices have at once. Devices announce them as their own, but they are nobody's.
    pub fn names_nobody(self) -> bool {
        !self.is_station() || self.is_shared()
    }

    /// True for an address that the routers of a group have together, and the same in every network: VRRP
    /// (RFC 9568, 7.3), HSRP in its three versions, GLBP, and the pairs of Cumulus MLAG.
    pub fn is_shared(self) -> bool {
        matches!(
            self.0,
            // VRRP for IPv4 and for IPv6.
            [0, 0, 0x5e, 0, 1 | 2, _]
                // HSRP, version 1 (RFC 2281), version 2, and version 2 for IPv6.
                | [0, 0, 0x0c, 0x07, 0xac, _]
                | [0, 0, 0x0c, 0x9f, 0xf0..=0xff, _]
                | [0, 0x05, 0x73, 0xa0, 0..=0x0f, _]
                // GLBP.
                | [0, 0x07, 0xb4, ..]
                // The range that Cumulus keeps for pairs.
                | [0x44, 0x38, 0x39, 0xff, ..]
        )
    }

    /// The address `n` after this one, within the same manufacturer's block.
    pub fn plus(self, n: u32) -> Mac {
        let [a, b, c, d, e, f] = self.0;
        let [_, x, y, z] =
            (u32::from_be_bytes([0, d, e, f]).wrapping_add(n) & 0xff_ffff).to_be_bytes();
        Mac([a, b, c, x, y, z])
    }

    /// From exactly six octets.
    pub fn from_octets(octets: &[u8]) -> Option<Mac> {
        octets.try_into().ok().map(Mac)
    }
}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Mac, MacError> {
        let mut octets = [0; 6];
        let mut parts = text.trim().split([':', '-']);
        for octet in &mut octets {
            let part = parts
                .next()
                .filter(|p| (1..=2).contains(&p.len()))
                .ok_or_else(|| no_mac(text))?;
            *octet = u8::from_str_radix(part, 16).map_err(|_| no_mac(text))?;
        }
        if parts.next().is_some() {
            Err(no_mac(text))
        } else {
            Ok(Mac(octets))
        }
    }
}

fn no_mac(text: &str) -> MacError {
    MacError(text.to_owned())
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Mac, D::Error> {
        String::deserialize(d)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_writes_refuses() {
        let mac: Mac = "02:0:00:aB:00:01".parse().unwrap();
        assert_eq!(mac.to_string(), "02:00:00:ab:00:01");
        assert!(mac.is_station());
        for text in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:01:02",
            "02:00:00:00:00:1g",
            "0200:00:00:00:00:1",
        ] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
        for nobody in [[0; 6], [0xff; 6], [1, 0x80, 0xc2, 0, 0, 0x0e]] {
            assert!(!Mac(nobody).is_station() && Mac(nobody).names_nobody());
        }
    }
}
