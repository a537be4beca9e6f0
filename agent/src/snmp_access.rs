//! Credentials made ready. SNMPv3 stretches a pass phrase over a megabyte (RFC 3414, A.2). This
//! happens once per credential, not once per switch.
use crate::secrets;
use inventory::inventory_file::{AuthProtocol, Credential, Inventory, PrivacyProtocol};
use inventory::secret::Secret;
use snmp::{Auth, MasterKeys, PrivProtocol, UsmConfig};

/// A credential ready for use. Clones share the keys. Its Debug output shows nothing of it.
#[derive(Clone)]
pub struct SnmpAccess {
    pub(crate) auth: Auth,
    /// A description that does not reveal the secret: `community`, `user "monitor"`.
    pub(crate) words: String,
    /// An SNMPv3 user's name and, if its messages are signed, its keys.
    pub(crate) user: Option<(String, Option<MasterKeys>)>,
}

/// A credential that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The secret is kept elsewhere and was not fetched.
    #[error("credential \"{0}\": its secret was not fetched; call read_secrets first")]
    Unresolved(String),
    /// The keys cannot be derived.
    #[error("credential \"{name}\": {problem}")]
    Keys {
        /// The credential's name.
        name: String,
        /// The error.
        problem: String,
    },
    /// A switch names a credential that does not exist.
    #[error("switch \"{switch}\": unknown credential \"{credential}\"")]
    Unknown {
        switch: String,
        /// The name of the missing credential.
        credential: String,
    },
}

impl SnmpAccess {
    /// Makes a credential ready; `name` is only for messages.
    ///
    /// # Errors
    /// [`AccessError`] if a secret is missing or unfit.
    pub(crate) fn new(name: &str, credential: &Credential) -> Result<SnmpAccess, AccessError> {
        let text = |secret: &Secret| {
            secret
                .expose()
                .map(str::to_owned)
                .ok_or_else(|| AccessError::Unresolved(name.to_owned()))
        };
        match credential {
            Credential::Community(community) => Ok(SnmpAccess {
                auth: Auth::v2c(text(community)?),
                words: "this community".to_owned(),
                user: None,
            }),
            Credential::User(user) => {
                let auth = user
                    .auth
                    .as_ref()
                    .map(|a| Ok((a.protocol, text(&a.key)?)))
                    .transpose()?;
                let privacy = user
                    .privacy
                    .as_ref()
                    .map(|p| Ok((p.protocol, text(&p.key)?)))
                    .transpose()?;
                let problem = |e: snmp::CryptoError| AccessError::Keys {
                    name: name.to_owned(),
                    problem: e.to_string(),
                };
                let keys = auth
                    .map(|auth| keys(auth, privacy))
                    .transpose()
                    .map_err(problem)?;
                let usm = UsmConfig::new(user.name.clone());
                let usm = keys
                    .clone()
                    .map_or(Ok(usm.clone()), |keys| usm.with_master_keys(keys))
                    .map_err(problem)?;
                Ok(SnmpAccess {
                    auth: usm.into(),
                    words: format!("user \"{}\"", user.name),
                    user: Some((user.name.clone(), keys)),
                })
            }
        }
    }
}

fn keys(
    (protocol, key): (AuthProtocol, String),
    privacy: Option<(PrivacyProtocol, String)>,
) -> snmp::CryptoResult<MasterKeys> {
    let keys = MasterKeys::new(digest(protocol), key.as_bytes())?;
    match privacy {
        Some((protocol, key)) => keys.with_privacy(cipher(protocol), key.as_bytes()),
        None => Ok(keys),
    }
}

/// The inventory's SNMPv3 users, ready to verify notifications. A name that occurs twice counts
/// once.
///
/// # Errors
/// [`AccessError`] if a secret is missing or unfit.
pub fn users(inventory: &Inventory) -> Result<Vec<SnmpAccess>, AccessError> {
    let users = inventory
        .snmp
        .iter()
        .filter(|(_, credential)| matches!(credential, Credential::User(_)));
    let mut users: Vec<SnmpAccess> = users
        .map(|(name, credential)| SnmpAccess::new(name, credential))
        .collect::<Result<_, _>>()?;
    let mut seen = std::collections::HashSet::new();
    users.retain(|access| {
        access
            .user
            .as_ref()
            .is_some_and(|(name, _)| seen.insert(name.clone()))
    });
    Ok(users)
}

fn digest(protocol: AuthProtocol) -> snmp::AuthProtocol {
    match protocol {
        AuthProtocol::Md5 => snmp::AuthProtocol::Md5,
        AuthProtocol::Sha => snmp::AuthProtocol::Sha1,
        AuthProtocol::Sha224 => snmp::AuthProtocol::Sha224,
        AuthProtocol::Sha256 => snmp::AuthProtocol::Sha256,
        AuthProtocol::Sha384 => snmp::AuthProtocol::Sha384,
        AuthProtocol::Sha512 => snmp::AuthProtocol::Sha512,
    }
}

fn cipher(protocol: PrivacyProtocol) -> PrivProtocol {
    match protocol {
        PrivacyProtocol::Aes => PrivProtocol::Aes128,
        PrivacyProtocol::Aes192 => PrivProtocol::Aes192Blumenthal,
        PrivacyProtocol::Aes256 => PrivProtocol::Aes256Blumenthal,
        PrivacyProtocol::Aes192Cisco => PrivProtocol::Aes192Reeder,
        PrivacyProtocol::Aes256Cisco => PrivProtocol::Aes256Reeder,
    }
}

/// Fetches the inventory's secrets from environment, files and credentials. Returns a warning for
/// each secret that is kept carelessly.
///
/// # Errors
/// A text with the credential, the place and the problem, but never the secret.
pub fn read_secrets(inventory: &mut Inventory) -> Result<Vec<String>, String> {
    let mut warnings = Vec::new();
    inventory.resolve_secrets(|place| {
        let (text, warning) = secrets::read(place)?;
        warnings.extend(warning);
        Ok(text)
    })?;
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory(snmp: &str) -> Inventory {
        Inventory::parse(
            "i.yaml",
            &format!("switches: {{s0: {{address: 10.0.0.1}}}}\nsnmp: {{default: {snmp}}}"),
        )
        .unwrap()
    }

    #[test]
    fn secrets_are_read_from_a_file_and_missing_ones_named() {
        let file = std::env::temp_dir().join(format!("heddle-access-{}", std::process::id()));
        std::fs::write(&file, "private\n").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .unwrap();
        let mut there = inventory(&format!(
            "{{version: 2c, community: {{file: {}}}}}",
            file.display()
        ));
        assert!(matches!(
            SnmpAccess::new("default", &there.snmp["default"]),
            Err(AccessError::Unresolved(_))
        ));
        assert_eq!(
            read_secrets(&mut there).unwrap().len(),
            1,
            "every user may read it"
        );
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(
            SnmpAccess::new("default", &there.snmp["default"])
                .unwrap()
                .auth,
            Auth::Community { .. }
        ));
        let mut gone = inventory("{version: 2c, community: {env: HEDDLE_NO_SUCH_VARIABLE}}");
        assert!(
            read_secrets(&mut gone)
                .unwrap_err()
                .contains("environment variable HEDDLE_NO_SUCH_VARIABLE")
        );
    }

    #[test]
    fn a_user_keeps_its_protocols() {
        let i = inventory(
            "{version: 3, user: mon, auth: {protocol: sha, key: authpass12}, \
             priv: {protocol: aes, key: privpass12}}",
        );
        let Auth::Usm(usm) = SnmpAccess::new("default", &i.snmp["default"]).unwrap().auth else {
            panic!("expected a user")
        };
        assert_eq!(
            (usm.auth_protocol(), usm.priv_protocol()),
            (Some(snmp::AuthProtocol::Sha1), Some(PrivProtocol::Aes128))
        );
    }
}
