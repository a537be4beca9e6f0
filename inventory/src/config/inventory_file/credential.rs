//! Credentials for SNMP agents, and their form in a file.
use crate::config::secret::Secret;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A credential for an SNMP agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "CredentialFields")]
pub enum Credential {
    /// SNMPv2c (RFC 1901).
    Community(Secret),
    /// SNMPv3 with the user-based security model (RFC 3414).
    User(SnmpUser),
}

/// An SNMPv3 user. Without `auth` messages are neither signed nor encrypted. With `auth` but
/// without `priv` they are only signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnmpUser {
    /// Its security name.
    pub name: String,
    /// The authentication of messages.
    pub auth: Option<AuthSettings>,
    /// The encryption of messages; only together with `auth`.
    pub privacy: Option<PrivacySettings>,
}

/// An authentication protocol and its pass phrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthSettings {
    /// The digest.
    pub protocol: AuthProtocol,
    /// The pass phrase, at least eight octets (RFC 3414, 11.2).
    pub key: Secret,
}

/// A privacy protocol and its pass phrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacySettings {
    /// The cipher.
    pub protocol: PrivacyProtocol,
    /// The pass phrase, at least eight octets.
    pub key: Secret,
}

/// Digests for authentication: HMAC-MD5-96 and HMAC-SHA-96 (RFC 3414), HMAC-SHA-2 (RFC 7860).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthProtocol {
    Md5,
    #[serde(alias = "sha1")]
    Sha,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Ciphers for privacy: CFB-AES-128 (RFC 3826), and the longer AES keys that vendors offer, with
/// both methods in use to stretch the key (Blumenthal's draft, or Reeder's as Cisco does). CBC-DES
/// is left out, because it gives no protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// A credential as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CredentialFields {
    version: SnmpVersion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    community: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auth: Option<AuthSettings>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "priv")]
    privacy: Option<PrivacySettings>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
enum SnmpVersion {
    #[serde(rename = "2c")]
    V2c,
    #[serde(rename = "3")]
    V3,
}

impl<'de> Deserialize<'de> for SnmpVersion {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<SnmpVersion, D::Error> {
        struct CredentialVisitor;
        impl serde::de::Visitor<'_> for CredentialVisitor {
            type Value = SnmpVersion;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an SNMP version, 2c or 3")
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<SnmpVersion, E> {
                self.visit_str(&n.to_string())
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<SnmpVersion, E> {
                match text {
                    "2c" | "v2c" => Ok(SnmpVersion::V2c),
                    "3" | "v3" => Ok(SnmpVersion::V3),
                    _ => Err(E::custom(format!(
                        "SNMP version \"{text}\": expected 2c or 3"
                    ))),
                }
            }
        }
        d.deserialize_any(CredentialVisitor)
    }
}

/// A problem with the text below `snmp:`, described without quoting it. The reader's own message
/// quotes values and keys, and either may be a secret in the wrong place. `None`: the problem is
/// elsewhere.
pub(super) fn unquoted(problem: &str) -> Option<String> {
    let rest = problem
        .strip_prefix("snmp")
        .filter(|rest| rest.starts_with([':', '.', '[']))?;
    // The reader puts the path of keys before its text.
    let path = rest.split_once(": ").map_or(rest, |(path, _)| path);
    let keys: Vec<&str> = path.split(['.', '[']).skip(1).collect();
    // A map with further keys is a credential by its name, and no secret.
    let named = keys.first().filter(|_| keys.len() > 1);
    let credential = named.map_or("credential".to_owned(), |name| {
        format!("credential \"{name}\"")
    });
    let (part, expected) = match keys.get(1..).unwrap_or_default() {
        _ if keys.is_empty() => (
            "s",
            "a map of names, like default: {version: 2c, community: NAME}",
        ),
        ["version", ..] => (", version", "2c or 3"),
        ["user", ..] => (", user", "a name"),
        ["auth", "protocol", ..] => (
            ", auth protocol",
            "one of md5, sha, sha224, sha256, sha384, sha512",
        ),
        ["priv", "protocol", ..] => (
            ", priv protocol",
            "one of aes, aes192, aes256, aes192-cisco, aes256-cisco",
        ),
        ["community", ..] => (", community", SECRET),
        ["auth", "key", ..] => (", auth key", SECRET),
        ["priv", "key", ..] => (", priv key", SECRET),
        ["auth", ..] => (", auth", "a map like {protocol: sha256, key: {env: NAME}}"),
        ["priv", ..] => (", priv", "a map like {protocol: aes, key: {env: NAME}}"),
        _ => (
            "",
            "a map like {version: 2c, community: NAME} or \
             {version: 3, user: NAME, auth: …, priv: …}",
        ),
    };
    Some(format!(
        "snmp, {credential}{part}: expected {expected}; what stands there is not shown"
    ))
}

/// The form of a secret in a file.
const SECRET: &str = "a text, digits in quotes, or {env: NAME}, {file: PATH}, {credential: NAME}";

impl Credential {
    /// The reason why agents refuse the key, as far as it is known yet.
    pub(super) fn weakness(&self) -> Option<String> {
        match self {
            Credential::Community(community) => community
                .expose()
                .filter(|c| c.is_empty())
                .map(|_| "community: expected a text, found an empty one".to_owned()),
            Credential::User(user) => {
                let auth = user.auth.as_ref().and_then(|a| too_short("auth", &a.key));
                auth.or_else(|| {
                    user.privacy
                        .as_ref()
                        .and_then(|p| too_short("priv", &p.key))
                })
            }
        }
    }
}

fn too_short(what: &str, key: &Secret) -> Option<String> {
    key.expose()
        .filter(|k| k.len() < 8)
        .map(|_| format!("{what} key: expected at least 8 characters (RFC 3414, 11.2)"))
}

impl TryFrom<CredentialFields> for Credential {
    type Error = String;

    fn try_from(stated: CredentialFields) -> Result<Credential, String> {
        let credential = match stated {
            CredentialFields {
                version: SnmpVersion::V2c,
                community: Some(community),
                user: None,
                auth: None,
                privacy: None,
            } => Credential::Community(community),
            CredentialFields {
                version: SnmpVersion::V2c,
                community: None,
                ..
            } => {
                return Err("version 2c: expected community: NAME".to_owned());
            }
            CredentialFields {
                version: SnmpVersion::V2c,
                ..
            } => {
                return Err(
                    "version 2c: takes a community; user, auth and priv are for version 3"
                        .to_owned(),
                );
            }
            CredentialFields {
                community: Some(_), ..
            } => return Err("version 3: takes a user; community is for version 2c".to_owned()),
            CredentialFields { user: None, .. } => {
                return Err("version 3: expected user: NAME".to_owned());
            }
            CredentialFields {
                auth: None,
                privacy: Some(_),
                ..
            } => {
                return Err("version 3: priv needs auth too (RFC 3414, 1.4.3)".to_owned());
            }
            CredentialFields {
                user: Some(name),
                auth,
                privacy,
                ..
            } => Credential::User(SnmpUser {
                name,
                auth,
                privacy,
            }),
        };
        credential.weakness().map_or(Ok(credential), Err)
    }
}

impl From<Credential> for CredentialFields {
    fn from(credential: Credential) -> CredentialFields {
        match credential {
            Credential::Community(c) => CredentialFields {
                version: SnmpVersion::V2c,
                community: Some(c),
                user: None,
                auth: None,
                privacy: None,
            },
            Credential::User(u) => CredentialFields {
                version: SnmpVersion::V3,
                community: None,
                user: Some(u.name),
                auth: u.auth,
                privacy: u.privacy,
            },
        }
    }
}
