//! The places of switches and hosts as they are written: an address, a range of addresses, or a
//! name that the DNS knows.
use super::{InventoryHost, InventorySwitch, default_credential};
use crate::config::name_ranges;
use crate::config::ranged_keys::{RangedEntry, one_each};
use crate::model::units;
use crate::{Bytes, Mac};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The port of SNMP agents (RFC 3417).
const SNMP_PORT: u16 = 161;

/// The place of a switch's SNMP agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SwitchAddress {
    Fixed(SocketAddr),
    /// A name that is looked up whenever a session with the switch begins.
    Named {
        /// The name in the DNS, or in the hosts file.
        host: String,
        port: u16,
    },
}

impl SwitchAddress {
    /// The name of a switch as its name in the DNS.
    pub fn of_name(name: &str) -> SwitchAddress {
        SwitchAddress::Named {
            host: name.to_owned(),
            port: SNMP_PORT,
        }
    }

    /// The address, if nobody needs to look it up.
    pub fn fixed(&self) -> Option<SocketAddr> {
        match self {
            SwitchAddress::Fixed(address) => Some(*address),
            SwitchAddress::Named { .. } => None,
        }
    }
}

impl From<SocketAddr> for SwitchAddress {
    fn from(address: SocketAddr) -> SwitchAddress {
        SwitchAddress::Fixed(address)
    }
}

/// The address or name, always with its port.
impl fmt::Display for SwitchAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SwitchAddress::Fixed(address) => write!(f, "{address}"),
            SwitchAddress::Named { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

impl FromStr for SwitchAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<SwitchAddress, String> {
        let with_port = text
            .parse::<IpAddr>()
            .map(|ip| SocketAddr::new(ip, SNMP_PORT));
        let address = match with_port.or_else(|_| text.parse()) {
            Ok(address) => SwitchAddress::Fixed(address),
            Err(_) => {
                let (host, port) = match text.split_once(':') {
                    Some((host, port)) => (host, port.parse().ok()),
                    None => (text, Some(SNMP_PORT)),
                };
                let port = port.filter(|_| is_dns_name(host)).ok_or_else(|| {
                    format!(
                        "address \"{text}\": expected an IP address or a name of the DNS, with a \
                         port if it is not 161: 10.0.0.1, \"10.0.0.1:1161\", leaf1.example.org"
                    )
                })?;
                SwitchAddress::Named {
                    host: host.to_owned(),
                    port,
                }
            }
        };
        let port = match &address {
            SwitchAddress::Fixed(address) => address.port(),
            SwitchAddress::Named { port, .. } => *port,
        };
        if port == 0 {
            return Err(format!("address \"{text}\": port 0 cannot be asked"));
        }
        Ok(address)
    }
}

/// True for a name that the DNS may know (RFC 1123, 2.1), with underscores, which some sites have.
/// A text that ends in a number is meant to be an IP address.
fn is_dns_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= name_ranges::LONGEST_NAME
        && name.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        })
        && !last.bytes().all(|b| b.is_ascii_digit())
}

/// Port 161 is not written.
impl Serialize for SwitchAddress {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            SwitchAddress::Fixed(address) if address.port() == SNMP_PORT => {
                s.collect_str(&address.ip())
            }
            SwitchAddress::Named { host, port } if *port == SNMP_PORT => s.collect_str(host),
            other => s.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for SwitchAddress {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<SwitchAddress, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

/// A place as written: one, or one for each name of a range.
struct WrittenPlaces<T>(Vec<T>);

impl<'de, T: FromStr<Err = String>> Deserialize<'de> for WrittenPlaces<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<WrittenPlaces<T>, D::Error> {
        let text = String::deserialize(d)?;
        let texts = match name_ranges::is_range(&text) && !text.starts_with('[') {
            true => name_ranges::expand(&text).map_err(D::Error::custom)?,
            // `[fd00::1]:1161` is an address.
            false => vec![text],
        };
        let places: Result<Vec<T>, String> = texts.iter().map(|text| text.parse()).collect();
        Ok(WrittenPlaces(places.map_err(D::Error::custom)?))
    }
}

/// A switch as written, for all names of a range.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    rename = "InventorySwitch",
    expecting = "a map like {address: 10.0.0.1}"
)]
pub struct SwitchFields {
    address: Option<WrittenPlaces<SwitchAddress>>,
    #[serde(default = "default_credential")]
    snmp: String,
    #[serde(default, with = "units::size::optional")]
    queue: Option<Bytes>,
}

impl RangedEntry for InventorySwitch {
    type Written = SwitchFields;

    fn spread(
        written: Option<SwitchFields>,
        names: &[String],
    ) -> Result<Vec<InventorySwitch>, String> {
        let SwitchFields {
            address: places,
            snmp,
            queue,
        } = written.unwrap_or_else(|| SwitchFields {
            address: None,
            snmp: default_credential(),
            queue: None,
        });
        let places = match places {
            Some(WrittenPlaces(places)) => one_each("addresses", places, names)?,
            None => names.iter().map(|n| SwitchAddress::of_name(n)).collect(),
        };
        Ok(places
            .into_iter()
            .map(|address| InventorySwitch {
                address,
                snmp: snmp.clone(),
                queue,
            })
            .collect())
    }
}

/// An address of a host.
struct HostAddress(IpAddr);

impl FromStr for HostAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<HostAddress, String> {
        text.parse()
            .map(HostAddress)
            .map_err(|_| format!("address \"{text}\": expected an IP address like 10.77.0.2"))
    }
}

/// A host as written, for all names of a range.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    rename = "InventoryHost",
    expecting = "a map like {mac: \"02:00:00:00:00:01\"}"
)]
pub struct HostFields {
    mac: Option<Mac>,
    address: Option<WrittenPlaces<HostAddress>>,
    ranks: Option<u32>,
}

impl RangedEntry for InventoryHost {
    type Written = HostFields;

    fn spread(written: Option<HostFields>, names: &[String]) -> Result<Vec<InventoryHost>, String> {
        let Some(HostFields {
            mac,
            address,
            ranks,
        }) = written
        else {
            return Ok(vec![InventoryHost::default(); names.len()]);
        };
        let addresses = match address {
            Some(WrittenPlaces(addresses)) => one_each("addresses", addresses, names)?
                .into_iter()
                .map(|HostAddress(address)| Some(address))
                .collect(),
            None => vec![None; names.len()],
        };
        Ok(addresses
            .into_iter()
            .map(|address| InventoryHost {
                mac,
                address,
                ranks,
            })
            .collect())
    }
}
