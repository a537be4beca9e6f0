//! Secrets of the inventory: a community, a pass phrase. They never leave through `Debug` or
//! serialization.
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A text that must not be shown, or its place: `public`, `{env: NAME}`, `{file: PATH}` or
/// `{credential: NAME}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(SecretSource);

/// The source of a secret.
#[derive(Clone, PartialEq, Eq)]
enum SecretSource {
    Text(String),
    Env(String),
    File(String),
    Credential(String),
}

/// A place outside the inventory that holds a secret, for the caller of [`Secret::resolve`] to
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretLocation<'a> {
    /// An environment variable.
    Env(&'a str),
    /// A file; its content without trailing line ends is the secret.
    File(&'a str),
    /// The credential that systemd gives the service under this name.
    Credential(&'a str),
}

impl Secret {
    /// A secret stated in place.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(SecretSource::Text(text.into()))
    }

    /// The secret itself; `None` until [`Secret::resolve`] has fetched it.
    pub fn expose(&self) -> Option<&str> {
        match &self.0 {
            SecretSource::Text(text) => Some(text),
            SecretSource::Env(_) | SecretSource::File(_) | SecretSource::Credential(_) => None,
        }
    }

    /// Fetches a secret that is kept elsewhere with `read`. A secret stated in place stays as it
    /// is.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn resolve<E>(
        &mut self,
        read: impl FnOnce(SecretLocation<'_>) -> Result<String, E>,
    ) -> Result<(), E> {
        let text = match &self.0 {
            SecretSource::Text(_) => return Ok(()),
            SecretSource::Env(name) => read(SecretLocation::Env(name))?,
            SecretSource::File(path) => read(SecretLocation::File(path))?,
            SecretSource::Credential(name) => read(SecretLocation::Credential(name))?,
        };
        self.0 = SecretSource::Text(text.trim_end_matches(['\r', '\n']).to_owned());
        Ok(())
    }
}

impl fmt::Display for SecretLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretLocation::Env(name) => write!(f, "environment variable {name}"),
            SecretLocation::File(path) => write!(f, "file {path}"),
            SecretLocation::Credential(name) => write!(f, "credential {name}"),
        }
    }
}

/// The text shown in place of a secret. It is long enough to be read back where a key needs eight
/// octets.
const HIDDEN: &str = "(hidden)";

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SecretSource::Text(_) => f.write_str(HIDDEN),
            SecretSource::Env(name) => write!(f, "env {name}"),
            SecretSource::File(path) => write!(f, "file {path}"),
            SecretSource::Credential(name) => write!(f, "credential {name}"),
        }
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            SecretSource::Text(_) => s.serialize_str(HIDDEN),
            SecretSource::Env(name) => s.collect_map([("env", name)]),
            SecretSource::File(path) => s.collect_map([("file", path)]),
            SecretSource::Credential(name) => s.collect_map([("credential", name)]),
        }
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Secret, D::Error> {
        struct SecretVisitor;
        impl<'de> Visitor<'de> for SecretVisitor {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, {env: NAME}, {file: PATH} or {credential: NAME}")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Secret, E> {
                Ok(Secret::new(text))
            }

            // A number without quotes would lose leading zeros. Its value must not appear in a
            // message.
            fn visit_u64<E: Error>(self, _: u64) -> Result<Secret, E> {
                Err(E::custom("a secret of digits must stand in quotes"))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Secret, E> {
                self.visit_u64(0)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Secret, E> {
                self.visit_u64(0)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Secret, A::Error> {
                let origin = match map.next_entry::<String, String>()? {
                    Some((key, name)) if key == "env" => SecretSource::Env(name),
                    Some((key, path)) if key == "file" => SecretSource::File(path),
                    // The name must be a file name in one directory.
                    Some((key, name)) if key == "credential" && is_credential(&name) => {
                        SecretSource::Credential(name)
                    }
                    _ => {
                        return Err(A::Error::custom(
                            "expected {env: NAME}, {file: PATH} or {credential: NAME}",
                        ));
                    }
                };
                match map.next_key::<String>()? {
                    None => Ok(Secret(origin)),
                    Some(_) => Err(A::Error::custom(
                        "expected one of {env: NAME}, {file: PATH} and {credential: NAME}",
                    )),
                }
            }
        }
        d.deserialize_any(SecretVisitor)
    }
}

/// True if systemd accepts the name of a credential: a file name of printable ASCII
/// (systemd.exec(5)).
fn is_credential(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && name != "."
        && name != ".."
        && name.bytes().all(|b| b.is_ascii_graphic() && b != b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<Secret, String> {
        serde_yaml::from_str(yaml).map_err(|e| e.to_string())
    }

    #[test]
    fn never_shows_its_text() {
        let secret = read("hunter22").unwrap();
        assert_eq!(secret.expose(), Some("hunter22"));
        assert!(!format!("{secret:?}").contains("hunter"));
        assert!(!serde_yaml::to_string(&secret).unwrap().contains("hunter"));
        assert!(!read("12345678").unwrap_err().contains("1234"));
    }

    #[test]
    fn is_fetched_from_where_it_is_kept() {
        let mut secret = read("{env: COMMUNITY}").unwrap();
        assert_eq!(secret.expose(), None);
        secret
            .resolve(|place| {
                if place == SecretLocation::Env("COMMUNITY") {
                    Ok("abc\n".to_owned())
                } else {
                    Err(())
                }
            })
            .unwrap();
        assert_eq!(secret.expose(), Some("abc"));
        let mut file = read("{file: /etc/heddle/key}").unwrap();
        assert_eq!(
            file.resolve(|place| Err::<String, _>(place.to_string())),
            Err("file /etc/heddle/key".to_owned())
        );
        let mut credential = read("{credential: snmp-auth}").unwrap();
        assert_eq!(
            serde_yaml::to_string(&credential).unwrap(),
            "credential: snmp-auth\n"
        );
        credential
            .resolve(|place| {
                if place == SecretLocation::Credential("snmp-auth") {
                    Ok("abc".to_owned())
                } else {
                    Err(())
                }
            })
            .unwrap();
        assert_eq!(credential.expose(), Some("abc"));
        assert!(
            ["../shadow", "/etc/shadow", "..", ""]
                .iter()
                .all(|name| read(&format!("{{credential: \"{name}\"}}")).is_err())
        );
        assert!(
            read("{env: A, file: B}").is_err()
                && read("{path: A}").is_err()
                && read("[a]").is_err()
        );
    }
}
