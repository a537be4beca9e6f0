//! The operator's inventory: which switches to ask, with which credentials, and which hosts to expect.
//!
//! ```yaml
//! switches:
//!   s0: {address: 10.78.1.1}                      # port 161 unless stated
//!   s1: {address: "10.78.1.2:1161", snmp: secure} # another credential than "default"
//! snmp:
//!   default: {version: 2c, community: public}
//!   secure:
//!     version: 3
//!     user: monitor
//!     auth: {protocol: sha256, key: {env: SNMP_AUTH}}   # a secret: text, {env: NAME} or {file: PATH}
//!     priv: {protocol: aes, key: {file: /etc/heddle/priv.key}}
//! hosts: {n0: {}, n1: {mac: "02:00:00:00:00:01", address: 10.77.0.2, ranks: 2}}   # or a list: [n0, n1]
//! timing: {hold_down: 500ms, poll: 500ms, full: 60s, timeout: 500ms, retries: 2}  # these are the defaults
//! traps: {listen: "0.0.0.0:162"}                  # optional
//! ```
use crate::secret::{Place, Secret};
use crate::topology_file::{FileError, TopologyFile, is_name};
use crate::{Mac, unique, units};
use indexmap::IndexMap;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The inventory, checked: names are unique, credentials exist, no two hosts claim one MAC address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Inventory {
    /// Switches by name.
    pub switches: IndexMap<String, Switch>,
    /// Credentials by name.
    pub snmp: IndexMap<String, Credential>,
    /// Hosts by name, in rank order.
    pub hosts: IndexMap<String, Host>,
    /// How often and how patiently the network is asked.
    pub timing: Timing,
    /// Where to hear what devices send unasked; `None`: nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traps: Option<Traps>,
}

/// A switch and how to ask it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Where its SNMP agent listens; written without port where that is 161.
    #[serde(serialize_with = "write_address", deserialize_with = "read_address")]
    pub address: SocketAddr,
    /// The name of its credential.
    #[serde(default = "default_credential")]
    pub snmp: String,
}

/// How to be let in by an SNMP agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "Stated")]
pub enum Credential {
    /// SNMPv2c (RFC 1901).
    Community(Secret),
    /// SNMPv3 with the user-based security model (RFC 3414).
    User(User),
}

/// An SNMPv3 user. Without `auth` messages are neither signed nor encrypted, without `priv` only signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its security name.
    pub name: String,
    /// How messages are signed.
    pub auth: Option<Auth>,
    /// How they are encrypted; only together with `auth`.
    pub privacy: Option<Privacy>,
}

/// An authentication protocol and its pass phrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// The digest.
    pub protocol: AuthProtocol,
    /// The pass phrase, at least eight octets (RFC 3414, 11.2).
    pub key: Secret,
}

/// A privacy protocol and its pass phrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// The cipher.
    pub protocol: PrivacyProtocol,
    /// The pass phrase, at least eight octets.
    pub key: Secret,
}

/// Digests for authentication: HMAC-MD5-96 and HMAC-SHA-96 (RFC 3414), HMAC-SHA-2 (RFC 7860).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the protocols'")]
pub enum AuthProtocol {
    Md5,
    #[serde(alias = "sha1")]
    Sha,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Ciphers for privacy: CFB-AES-128 (RFC 3826) and the longer AES keys vendors offer, with either way in use to
/// stretch the key (Blumenthal's draft, or Reeder's as Cisco does). CBC-DES is left out: it protects nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the protocols'")]
pub enum PrivacyProtocol {
    #[serde(alias = "aes128")]
    Aes,
    Aes192,
    Aes256,
    #[serde(rename = "aes192-cisco")]
    Aes192Cisco,
    #[serde(rename = "aes256-cisco")]
    Aes256Cisco,
}

/// What is known of a host beforehand; nothing is needed where it speaks LLDP under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its MAC address on the cluster network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    /// Its address there; some device's ARP table then gives the MAC address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// How many ranks it runs.
    #[serde(default = "one")]
    pub ranks: u32,
}

/// How often and how patiently the network is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// A change must hold still this long before it is believed. 500 ms.
    #[serde(with = "units::duration")]
    pub hold_down: Duration,
    /// Between two cheap polls of what changes first. 500 ms.
    #[serde(with = "units::duration")]
    pub poll: Duration,
    /// Between two full looks. 60 s.
    #[serde(with = "units::duration")]
    pub full: Duration,
    /// Wait for one answer. 500 ms.
    #[serde(with = "units::duration")]
    pub timeout: Duration,
    /// Further tries after the first. 2.
    pub retries: u32,
}

/// Where to hear what devices send unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traps {
    /// Address and port, usually `0.0.0.0:162`.
    pub listen: SocketAddr,
}

impl Default for Host {
    fn default() -> Host {
        Host { mac: None, address: None, ranks: 1 }
    }
}

impl Default for Timing {
    fn default() -> Timing {
        let ms = Duration::from_millis;
        Timing { hold_down: ms(500), poll: ms(500), full: ms(60_000), timeout: ms(500), retries: 2 }
    }
}

impl Inventory {
    /// Reads an inventory; `file` is only for messages.
    ///
    /// # Errors
    /// [`FileError`] with the line for anything that is no inventory or contradicts itself.
    pub fn parse(file: &str, text: &str) -> Result<Inventory, FileError> {
        let written: Written = serde_yaml::from_str(text).map_err(|e| FileError::yaml(file, &e))?;
        Inventory::try_from(written).map_err(|c| {
            let line = line_of(text, c.section, &c.name);
            FileError::Content { file: file.to_owned(), line, problem: c.problem }
        })
    }

    /// The credential of a switch of this inventory.
    pub fn credential(&self, switch: &Switch) -> Option<&Credential> {
        self.snmp.get(&switch.snmp)
    }

    /// Fetches every secret that is kept outside the file; `read` gets the place and gives the text.
    ///
    /// # Errors
    /// The first one of `read`, with the credential's name before it.
    pub fn resolve_secrets(&mut self, mut read: impl FnMut(Place<'_>) -> Result<String, String>) -> Result<(), String> {
        for (name, credential) in &mut self.snmp {
            let secrets = match credential {
                Credential::Community(community) => vec![community],
                Credential::User(user) => {
                    user.auth.iter_mut().map(|a| &mut a.key).chain(user.privacy.iter_mut().map(|p| &mut p.key)).collect()
                }
            };
            for secret in secrets {
                secret
                    .resolve(|place| read(place).map_err(|e| format!("{place}: {e}")))
                    .map_err(|e| format!("credential \"{name}\": {e}"))?;
            }
            if let Some(problem) = credential.weakness() {
                return Err(format!("credential \"{name}\": {problem}"));
            }
        }
        Ok(())
    }

    /// Puts a found network's hosts into the order stated here, with their ranks.
    pub fn rank(&self, file: &mut TopologyFile) {
        file.hosts.sort_by_cached_key(|name, _| self.hosts.get_index_of(name).unwrap_or(usize::MAX));
        for (name, host) in &mut file.hosts {
            host.ranks = self.hosts.get(name).map_or(host.ranks, |h| h.ranks);
        }
    }

    fn contradiction(&self) -> Option<Contradiction> {
        let at = |section, name: &str, problem| Some(Contradiction { section, name: name.to_owned(), problem });
        if self.switches.is_empty() {
            return at("switches", "switches", "switches: none stated; expected at least one like s0: {address: 10.0.0.1}".to_owned());
        }
        for (section, name) in self.switches.keys().map(|n| ("switches", n)).chain(self.hosts.keys().map(|n| ("hosts", n))) {
            if !is_name(name) {
                return at(section, name, format!("name {name:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\""));
            }
        }
        if let Some(name) = self.hosts.keys().find(|n| self.switches.contains_key(*n)) {
            return at("hosts", name, format!("host \"{name}\": a switch has this name; every switch and host needs its own"));
        }
        for (name, switch) in &self.switches {
            if !self.snmp.contains_key(&switch.snmp) {
                let known = self.snmp.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                let known =
                    if known.is_empty() { "none, expected one like snmp: {default: {version: 2c, community: NAME}}" } else { &known };
                return at(
                    "switches",
                    name,
                    format!("switch \"{name}\": unknown credential \"{}\"; known under snmp: {known}", switch.snmp),
                );
            }
        }
        if let Some((a, b, address)) = shared(self.switches.iter().map(|(n, s)| (n, Some(s.address)))) {
            return at("switches", b, format!("switch \"{b}\": address {address} is that of switch \"{a}\" already"));
        }
        if let Some((a, b, mac)) = shared(self.hosts.iter().map(|(n, h)| (n, h.mac))) {
            return at("hosts", b, format!("host \"{b}\": MAC address {mac} is claimed by host \"{a}\" already"));
        }
        if let Some((a, b, address)) = shared(self.hosts.iter().map(|(n, h)| (n, h.address))) {
            return at("hosts", b, format!("host \"{b}\": address {address} is that of host \"{a}\" already"));
        }
        for (name, host) in &self.hosts {
            if let Some(mac) = host.mac.filter(|m| !m.is_station()) {
                return at("hosts", name, format!("host \"{name}\": MAC address {mac} is none of a station"));
            }
            if host.ranks == 0 || host.ranks > 65_536 {
                return at("hosts", name, format!("host \"{name}\": ranks {}: expected 1 to 65536", host.ranks));
            }
        }
        self.timing.contradiction().and_then(|(name, problem)| at("timing", name, problem))
    }
}

impl Timing {
    fn contradiction(&self) -> Option<(&'static str, String)> {
        let hour = Duration::from_secs(3600);
        for (name, value, least) in
            [("hold_down", self.hold_down, 0), ("poll", self.poll, 10), ("full", self.full, 100), ("timeout", self.timeout, 1)]
        {
            if value < Duration::from_millis(least) || value > hour {
                return Some((name, format!("timing {name}: {}: expected {least}ms to 1h", units::duration::show(value))));
            }
        }
        (self.retries > 16).then(|| ("retries", format!("timing retries: {}: expected 0 to 16", self.retries)))
    }
}

/// The inventory as written, each part well-formed by itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(deserialize_with = "unique::map")]
    switches: IndexMap<String, Switch>,
    #[serde(default, deserialize_with = "unique::map")]
    snmp: IndexMap<String, Stated>,
    #[serde(default, deserialize_with = "unique::map_or_list")]
    hosts: IndexMap<String, Host>,
    #[serde(default)]
    timing: Timing,
    traps: Option<Traps>,
}

/// A contradiction and where the text shows it best.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
struct Contradiction {
    section: &'static str,
    name: String,
    problem: String,
}

impl TryFrom<Written> for Inventory {
    type Error = Contradiction;

    fn try_from(written: Written) -> Result<Inventory, Contradiction> {
        let mut snmp = IndexMap::new();
        for (name, stated) in written.snmp {
            let credential = Credential::try_from(stated).map_err(|e| Contradiction {
                section: "snmp",
                problem: format!("credential \"{name}\": {e}"),
                name: name.clone(),
            })?;
            snmp.insert(name, credential);
        }
        let Written { switches, hosts, timing, traps, .. } = written;
        let inventory = Inventory { switches, snmp, hosts, timing, traps };
        inventory.contradiction().map_or(Ok(inventory), Err)
    }
}

/// The first two names that have one value.
fn shared<'a, K: Eq + Hash + Copy>(items: impl Iterator<Item = (&'a String, Option<K>)>) -> Option<(&'a String, &'a String, K)> {
    let mut owner = HashMap::new();
    for (name, key) in items {
        let Some(key) = key else { continue };
        if let Some(first) = owner.insert(key, name) {
            return Some((first, name, key));
        }
    }
    None
}

/// The line (from 1) where `name` is declared within a top-level section; `None` where the text hides it.
fn line_of(text: &str, section: &str, name: &str) -> Option<usize> {
    let bounded = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !"-_.".contains(c));
            outside(line[..at].chars().next_back()) && outside(line[at + word.len()..].chars().next())
        })
    };
    let within = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(section));
    let lines: Vec<_> = within.enumerate().take_while(|(i, (_, l))| *i == 0 || !l.starts_with(|c: char| c.is_alphabetic())).collect();
    lines
        .iter()
        .find(|(i, (_, line))| (*i > 0 || name != section || lines.len() == 1) && bounded(line, name))
        .or(lines.first())
        .map(|(_, (n, _))| n + 1)
}

fn default_credential() -> String {
    "default".to_owned()
}

fn one() -> u32 {
    1
}

/// The port of SNMP agents (RFC 3417).
const SNMP_PORT: u16 = 161;

fn write_address<S: Serializer>(address: &SocketAddr, s: S) -> Result<S::Ok, S::Error> {
    if address.port() == SNMP_PORT { s.collect_str(&address.ip()) } else { s.collect_str(address) }
}

fn read_address<'de, D: Deserializer<'de>>(d: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(d)?;
    let with_port = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, SNMP_PORT));
    let address: SocketAddr = with_port.or_else(|_| text.parse()).map_err(|_| {
        D::Error::custom(format!("address \"{text}\": expected an IP address, with a port if it is not 161: 10.0.0.1, \"10.0.0.1:1161\""))
    })?;
    if address.port() == 0 {
        return Err(D::Error::custom(format!("address \"{text}\": port 0 cannot be asked")));
    }
    Ok(address)
}

/// A credential as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    community: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auth: Option<Auth>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "priv")]
    privacy: Option<Privacy>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
enum Version {
    #[serde(rename = "2c")]
    V2c,
    #[serde(rename = "3")]
    V3,
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Version, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Version;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an SNMP version, 2c or 3")
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<Version, E> {
                self.visit_str(&n.to_string())
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Version, E> {
                match text {
                    "2c" | "v2c" => Ok(Version::V2c),
                    "3" | "v3" => Ok(Version::V3),
                    _ => Err(E::custom(format!("SNMP version \"{text}\": expected 2c or 3"))),
                }
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl Credential {
    /// A key that no agent accepts, as far as it is known yet.
    fn weakness(&self) -> Option<String> {
        let short = |what: &str, key: &Secret| {
            key.expose().filter(|k| k.len() < 8).map(|_| format!("{what} key: expected at least 8 characters (RFC 3414, 11.2)"))
        };
        match self {
            Credential::Community(community) => {
                community.expose().filter(|c| c.is_empty()).map(|_| "community: expected a text, found an empty one".to_owned())
            }
            Credential::User(user) => {
                let auth = user.auth.as_ref().and_then(|a| short("auth", &a.key));
                auth.or_else(|| user.privacy.as_ref().and_then(|p| short("priv", &p.key)))
            }
        }
    }
}

impl TryFrom<Stated> for Credential {
    type Error = String;

    fn try_from(stated: Stated) -> Result<Credential, String> {
        let credential = match stated {
            Stated { version: Version::V2c, community: Some(community), user: None, auth: None, privacy: None } => {
                Credential::Community(community)
            }
            Stated { version: Version::V2c, community: None, .. } => return Err("version 2c: expected community: NAME".to_owned()),
            Stated { version: Version::V2c, .. } => {
                return Err("version 2c: takes a community; user, auth and priv are for version 3".to_owned());
            }
            Stated { community: Some(_), .. } => return Err("version 3: takes a user; community is for version 2c".to_owned()),
            Stated { user: None, .. } => return Err("version 3: expected user: NAME".to_owned()),
            Stated { auth: None, privacy: Some(_), .. } => return Err("version 3: priv needs auth too (RFC 3414, 1.4.3)".to_owned()),
            Stated { user: Some(name), auth, privacy, .. } => Credential::User(User { name, auth, privacy }),
        };
        credential.weakness().map_or(Ok(credential), Err)
    }
}

impl From<Credential> for Stated {
    fn from(credential: Credential) -> Stated {
        match credential {
            Credential::Community(c) => Stated { version: Version::V2c, community: Some(c), user: None, auth: None, privacy: None },
            Credential::User(u) => Stated { version: Version::V3, community: None, user: Some(u.name), auth: u.auth, privacy: u.privacy },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
switches:
  s0: {address: 10.78.1.1}
  s1: {address: "10.78.1.2:1161", snmp: secure}
snmp:
  default: {version: 2c, community: public}
  secure: {version: 3, user: mon, auth: {protocol: sha256, key: authpass12}, priv: {protocol: aes, key: privpass12}}
hosts: {n0: {}, n1: {mac: "02:00:00:00:00:01", address: 10.77.0.2, ranks: 2}}
timing: {hold_down: 1s, poll: 250ms}
traps: {listen: "0.0.0.0:162"}
"#;

    fn error(text: &str) -> String {
        Inventory::parse("i.yaml", text).unwrap_err().to_string()
    }

    #[test]
    fn reads_what_the_operator_writes() {
        let i = Inventory::parse("i.yaml", GOOD).unwrap();
        assert_eq!(i.switches["s0"].address, "10.78.1.1:161".parse().unwrap());
        assert_eq!(i.switches["s1"].address, "10.78.1.2:1161".parse().unwrap());
        assert!(matches!(i.credential(&i.switches["s0"]), Some(Credential::Community(c)) if c.expose() == Some("public")));
        assert!(matches!(i.credential(&i.switches["s1"]), Some(Credential::User(u)) if u.name == "mon" && u.privacy.is_some()));
        assert_eq!((i.hosts["n0"].ranks, i.hosts["n1"].ranks), (1, 2));
        assert_eq!((i.timing.hold_down, i.timing.poll, i.timing.retries), (Duration::from_secs(1), Duration::from_millis(250), 2));
        let list = Inventory::parse(
            "i.yaml",
            &GOOD.replace("hosts: {n0: {}, n1: {mac: \"02:00:00:00:00:01\", address: 10.77.0.2, ranks: 2}}", "hosts: [n0, n1]"),
        );
        assert_eq!(list.unwrap().hosts.keys().collect::<Vec<_>>(), ["n0", "n1"]);
        let bare = Inventory::parse(
            "i.yaml",
            "switches: {s0: {address: fd00::1}}\nsnmp: {default: {version: 2c, community: a}}\nhosts:\n  n0:\n  n1:\n",
        );
        assert_eq!(bare.unwrap().hosts["n1"], Host::default());
    }

    #[test]
    fn writes_itself_without_secrets() {
        let i = Inventory::parse("i.yaml", GOOD).unwrap();
        let text = serde_yaml::to_string(&i).unwrap();
        assert!(!text.contains("public") && !text.contains("pass12") && text.contains("250ms"), "{text}");
        assert!(!format!("{i:?}").contains("pass12"));
        let again = Inventory::parse("i.yaml", &text).unwrap();
        assert_eq!((again.switches, again.hosts, again.timing), (i.switches, i.hosts, i.timing));
    }

    #[test]
    fn names_file_line_and_expectation() {
        for (from, to, line, hint) in [
            ("s0: {address: 10.78.1.1}", "s0: {adress: 10.78.1.1}", 3, "address"),
            ("10.78.1.1}", "switch-one}", 3, "expected an IP address"),
            ("10.78.1.2:1161", "10.78.1.1", 4, "is that of switch \"s0\""),
            ("s1: {address", "s0: {address", 4, "\"s0\" declared twice"),
            ("snmp: secure", "snmp: secret", 4, "unknown credential \"secret\"; known under snmp: default, secure"),
            ("community: public", "comunity: public", 6, "community"),
            ("version: 2c", "version: 1", 6, "expected 2c or 3"),
            ("community: public", "community: 815", 6, "quotes"),
            ("sha256", "sha257", 7, "sha256"),
            ("authpass12", "short", 7, "at least 8"),
            ("auth: {protocol: sha256, key: authpass12}, ", "", 7, "priv needs auth"),
            ("n0: {}", "n0: {mac: \"02:00:00:00:00:01\"}", 8, "host \"n1\": MAC address 02:00:00:00:00:01 is claimed by host \"n0\""),
            ("n0: {}", "n0: {mac: \"02:00:00:00:00\"}", 8, "six hexadecimal octets"),
            ("n0: {}", "n1: {}", 8, "\"n1\" declared twice"),
            ("n0: {}", "s1: {}", 8, "a switch has this name"),
            ("n0: {}", "n0: {ranks: 0}", 8, "expected 1 to 65536"),
            ("250ms", "250", 9, "500ms"),
            ("250ms", "0s", 9, "timing poll"),
            ("0.0.0.0:162", "everywhere", 10, "socket address"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let message = error(&GOOD.replace(from, to));
            assert!(message.starts_with(&format!("i.yaml:{line}: ")) && message.contains(hint), "{to}: {message}");
            assert!(!message.contains("pass12") && message.ends_with("file ignored"), "{message}");
        }
        assert!(error("switches: {s0: {address: 10.0.0.1}}").contains("unknown credential \"default\""));
        assert!(error("switches: {}").contains("at least one"));
        assert!(error("switches: [").starts_with("i.yaml:"));
        assert!(error("hosts: [n0, n0]\nswitches: {}").contains("\"n0\" declared twice"));
    }

    #[test]
    fn secrets_come_from_elsewhere() {
        let text = GOOD.replace("key: authpass12", "key: {env: AUTH}").replace("community: public", "community: {file: /c}");
        let read = |place: Place<'_>| match place {
            Place::Env("AUTH") => Ok("12345678".to_owned()),
            Place::File("/c") => Ok("private\n".to_owned()),
            _ => Err("unexpected".to_owned()),
        };
        let mut i = Inventory::parse("i.yaml", &text).unwrap();
        i.resolve_secrets(read).unwrap();
        assert!(matches!(&i.snmp["default"], Credential::Community(c) if c.expose() == Some("private")));
        let mut i = Inventory::parse("i.yaml", &text).unwrap();
        assert_eq!(
            i.resolve_secrets(|_| Ok("short".to_owned())).unwrap_err(),
            "credential \"secure\": auth key: expected at least 8 characters (RFC 3414, 11.2)"
        );
        let mut i = Inventory::parse("i.yaml", &text).unwrap();
        assert_eq!(i.resolve_secrets(|_| Err("not set".to_owned())).unwrap_err(), "credential \"default\": file /c: not set");
    }
}
