//! The operator's inventory: the switches to ask, with their credentials, and the hosts to expect.
//!
//! ```yaml
//! switches:
//!   s0: {address: 10.78.1.1}                      # port 161 unless stated
//!   s1: {address: "10.78.1.2:1161", snmp: secure} # another credential than "default"
//!   leaf[01-20]: {queue: 512k}                    # names that the DNS knows; what a port holds
//! snmp:
//!   default: {version: 2c, community: public}
//!   secure:
//!     version: 3
//!     user: monitor
//!     # a secret: text, {env: NAME}, {file: PATH}, {credential: NAME}
//!     auth: {protocol: sha256, key: {env: SNMP_AUTH}}
//!     priv: {protocol: aes, key: {file: /etc/heddle/priv.key}}
//! # or a list: [n0, n1]
//! hosts: {n0: {}, "n[2-9]": {ranks: 2}, n1: {mac: "02:00:00:00:00:01", address: 10.77.0.2, ranks: 2}}
//! # these are the defaults
//! timing: {hold_down: 500ms, poll: 500ms, full: 60s, timeout: 500ms, retries: 2}
//! traps: {listen: "0.0.0.0:162"}                  # optional
//! # optional: agents may measure flows between hosts at unmanaged places
//! measuring: {times: ["22:00-06:00"], share: 10%, budget: 1G, longest: 10m, unasked: false}
//! # optional; stated facts go before found ones: clusters, devices that cannot be asked, cables
//! # with as many facts as are known
//! clusters: {west: [n0], east: [n1]}
//! routers: [r0]
//! unmanaged: [u0]
//! links:
//!   - {a: s0, a_port: swp1, b: s1, b_port: swp1, rate: 10G, state: forwarding}
//!   - {a: s1, a_port: swp2, b: u0}
//! ```
mod contradiction;
mod credential;
mod measuring;
mod places;

pub use credential::{
    AuthProtocol, AuthSettings, Credential, PrivacyProtocol, PrivacySettings, SnmpUser,
};
pub use measuring::{DailySpan, MeasuringSettings, TimeShare};
pub use places::SwitchAddress;

use crate::config::input_file_error::InputFileError;
use crate::config::input_form::ExpectedForm;
use crate::config::secret::SecretLocation;
use crate::config::topology_file::TopologyFile;
use crate::config::{ranged_keys, unique_keys, yaml};
use crate::model::device_view::DeviceViews;
use crate::model::link_state::LinkState;
use crate::model::networks::StatedNetwork;
use crate::model::port_queues::LeastQueue;
use crate::model::units;
use crate::{BitsPerSec, Bytes, Mac};
use contradiction::InventoryContradiction;
use credential::CredentialFields;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The inventory, checked: names are unique, credentials exist, no two hosts claim one MAC address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "InventoryFields")]
pub struct Inventory {
    /// Switches by name.
    pub switches: IndexMap<String, InventorySwitch>,
    /// Credentials by name.
    pub snmp: IndexMap<String, Credential>,
    /// Hosts by name, in rank order.
    pub hosts: IndexMap<String, InventoryHost>,
    /// The intervals and timeouts of requests to the network.
    pub timing: InventoryTiming,
    /// The settings for traps; `None`: traps are not received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traps: Option<TrapSettings>,
    /// The leave to measure flows between hosts; `None`: nothing is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measuring: Option<MeasuringSettings>,
    /// Hosts by cluster, as the operator groups them. Hosts without a cluster are left to
    /// inference.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub clusters: IndexMap<String, Vec<String>>,
    /// The names of networks, where there are several.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub networks: IndexMap<String, StatedNetwork>,
    /// Routers that cannot be asked, as ends of links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<String>,
    /// Unmanaged bridges, as ends of links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmanaged: Vec<String>,
    /// Cables as the operator knows them. They take precedence over found ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<InventoryCable>,
}

/// A cable as the operator knows it. A host has one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a map like {a: s0, a_port: swp1, b: s1}"
)]
pub struct InventoryCable {
    /// One end: a switch, router or unmanaged bridge.
    pub a: String,
    /// Its port there; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub a_port: String,
    /// The other end, which may be a host.
    pub b: String,
    /// Its port there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub b_port: String,
    /// The rate; `None`: as found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitsPerSec>,
    /// The state of the link; `None`: as found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<LinkState>,
}

impl InventoryCable {
    /// Its ends with their ports.
    pub fn ends(&self) -> [(&str, &str); 2] {
        [(&self.a, &self.a_port), (&self.b, &self.b_port)]
    }
}

/// A switch and the access to its SNMP agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InventorySwitch {
    /// The place of its SNMP agent. If it is not stated, the switch's name is looked up.
    pub address: SwitchAddress,
    /// The name of its credential.
    pub snmp: String,
    /// The octets that each of its ports holds at least, if that is stated.
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "units::size::optional"
    )]
    pub queue: Option<Bytes>,
}

/// The facts about a host. A host that speaks LLDP under its name needs none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct InventoryHost {
    /// Its MAC address on the cluster network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    /// Its address on that network. The ARP table of a device then gives the MAC address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The number of ranks. If it is not stated, it is the number that the host's agent offers, or
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
}

/// The intervals and timeouts of requests to the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a map like {poll: 500ms, full: 60s}"
)]
pub struct InventoryTiming {
    /// A change is accepted only after it has stayed this long. 500 ms.
    #[serde(with = "units::duration")]
    pub hold_down: Duration,
    /// Time between two cheap polls of the tables that change first. 500 ms.
    #[serde(with = "units::duration")]
    pub poll: Duration,
    /// Time between two full polls. 60 s.
    #[serde(with = "units::duration")]
    pub full: Duration,
    /// Timeout of one request. 500 ms.
    #[serde(with = "units::duration")]
    pub timeout: Duration,
    /// Number of repetitions after the first request. 2.
    pub retries: u32,
}

/// The settings for traps, which devices send without a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a map like {listen: \"0.0.0.0:162\"}"
)]
pub struct TrapSettings {
    /// Address and port, usually `0.0.0.0:162`.
    pub listen: SocketAddr,
}

impl Default for InventoryTiming {
    fn default() -> InventoryTiming {
        let ms = Duration::from_millis;
        InventoryTiming {
            hold_down: ms(500),
            poll: ms(500),
            full: ms(60_000),
            timeout: ms(500),
            retries: 2,
        }
    }
}

impl Inventory {
    /// Reads an inventory; `file` is used only in messages.
    ///
    /// # Errors
    /// [`InputFileError`] with the line for a text that is not an inventory or contradicts itself.
    pub fn parse(file: &str, text: &str) -> Result<Inventory, InputFileError> {
        let fields = yaml::read::<InventoryFields>(file, text).map_err(|e| match e {
            InputFileError::Syntax {
                file,
                line,
                problem,
            } => InputFileError::Syntax {
                file,
                line,
                problem: credential::unquoted(&problem).unwrap_or(problem),
            },
            content => content,
        });
        let written = fields.map_err(|e| e.of_form(text, ExpectedForm::Inventory))?;
        Inventory::try_from(written).map_err(|c| InputFileError::Content {
            file: file.to_owned(),
            line: c.line(text),
            problem: c.problem,
        })
    }

    /// The octets that each port of these switches holds at least, as is stated or as their tables tell.
    pub fn queue<'s>(
        &self,
        switches: impl Iterator<Item = &'s str>,
        views: &DeviceViews,
    ) -> Option<LeastQueue> {
        LeastQueue::new(switches, |name| self.switches.get(name)?.queue, views)
    }

    /// The credential of a switch of this inventory.
    pub fn credential(&self, switch: &InventorySwitch) -> Option<&Credential> {
        self.snmp.get(&switch.snmp)
    }

    /// Fetches every secret that is kept outside the file; `read` gets the place and returns the
    /// text.
    ///
    /// # Errors
    /// The first error of `read`, with the credential's name before it.
    pub fn resolve_secrets(
        &mut self,
        mut read: impl FnMut(SecretLocation<'_>) -> Result<String, String>,
    ) -> Result<(), String> {
        for (name, credential) in &mut self.snmp {
            let secrets = match credential {
                Credential::Community(community) => vec![community],
                Credential::User(user) => user
                    .auth
                    .iter_mut()
                    .map(|a| &mut a.key)
                    .chain(user.privacy.iter_mut().map(|p| &mut p.key))
                    .collect(),
            };
            for secret in secrets {
                secret
                    .resolve(|place| match read(place) {
                        Ok(text) if text.trim().is_empty() => {
                            Err(format!("{place}: it is empty; write the secret there"))
                        }
                        read => read.map_err(|e| format!("{place}: {e}")),
                    })
                    .map_err(|e| format!("credential \"{name}\": {e}"))?;
            }
            if let Some(problem) = credential.weakness() {
                return Err(format!("credential \"{name}\": {problem}"));
            }
        }
        Ok(())
    }

    /// Gives a found network's hosts the stated order, ranks and addresses.
    pub fn apply_stated_hosts(&self, file: &mut TopologyFile) {
        file.hosts
            .sort_by_cached_key(|name, _| self.hosts.get_index_of(name).unwrap_or(usize::MAX));
        for (name, host) in &mut file.hosts {
            if let Some(stated) = self.hosts.get(name) {
                (host.ranks, host.address) = (
                    stated.ranks.unwrap_or(host.ranks),
                    stated.address.or(host.address),
                );
            }
        }
    }
}

/// The inventory as written, each part well-formed by itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with switches, snmp and hosts")]
struct InventoryFields {
    #[serde(deserialize_with = "ranged_keys::map")]
    switches: IndexMap<String, InventorySwitch>,
    #[serde(default, deserialize_with = "unique_keys::map")]
    snmp: IndexMap<String, CredentialFields>,
    #[serde(default, deserialize_with = "ranged_keys::map")]
    hosts: IndexMap<String, InventoryHost>,
    #[serde(default)]
    timing: InventoryTiming,
    traps: Option<TrapSettings>,
    measuring: Option<MeasuringSettings>,
    #[serde(default, deserialize_with = "ranged_keys::groups")]
    clusters: IndexMap<String, Vec<String>>,
    #[serde(default, deserialize_with = "unique_keys::map")]
    networks: IndexMap<String, StatedNetwork>,
    #[serde(default, deserialize_with = "ranged_keys::list")]
    routers: Vec<String>,
    #[serde(default, deserialize_with = "ranged_keys::list")]
    unmanaged: Vec<String>,
    #[serde(default)]
    links: Vec<InventoryCable>,
}

impl TryFrom<InventoryFields> for Inventory {
    type Error = InventoryContradiction;

    fn try_from(written: InventoryFields) -> Result<Inventory, InventoryContradiction> {
        let mut snmp = IndexMap::new();
        for (name, stated) in written.snmp {
            let credential = Credential::try_from(stated).map_err(|e| InventoryContradiction {
                section: "snmp",
                problem: format!("credential \"{name}\": {e}"),
                name: name.clone(),
                link: None,
            })?;
            snmp.insert(name, credential);
        }
        let InventoryFields {
            switches,
            hosts,
            timing,
            traps,
            measuring,
            clusters,
            networks,
            routers,
            unmanaged,
            links,
            ..
        } = written;
        let inventory = Inventory {
            switches,
            snmp,
            hosts,
            timing,
            traps,
            measuring,
            clusters,
            networks,
            routers,
            unmanaged,
            links,
        };
        inventory.contradiction().map_or(Ok(inventory), Err)
    }
}

fn default_credential() -> String {
    "default".to_owned()
}

#[cfg(test)]
mod tests;
