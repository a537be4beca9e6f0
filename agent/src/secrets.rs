//! The places of secrets outside the inventory: environment variables, files, and the credentials
//! that systemd gives a service (`LoadCredential=`, `SetCredentialEncrypted=`; systemd.exec(5),
//! "Credentials").
use inventory::secret::SecretLocation;
use inventory::unreadable;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The credential with the controller's token, used if no flag names a file.
pub const TOKEN: &str = "heddle-token";
/// The credential with the token that only agents use.
pub const AGENT_TOKEN: &str = "heddle-agent-token";

/// The variable in which systemd names the folder of a service's credentials.
const DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// The limit of a key or token, in octets. A longer file holds something else.
const LONGEST: u64 = 64 << 10;

/// A secret's text and, if it is kept carelessly, a warning.
///
/// # Errors
/// The reason why the secret cannot be read. It never contains a part of the secret.
pub(crate) fn read(place: SecretLocation<'_>) -> Result<(String, Option<String>), String> {
    match place {
        SecretLocation::Env(name) => Ok((
            std::env::var(name).map_err(|e| no_text(&e).to_owned())?,
            None,
        )),
        SecretLocation::File(path) => {
            Ok((text(Path::new(path))?, exposure_warning(Path::new(path))))
        }
        SecretLocation::Credential(name) => Ok((text(&credential(name)?)?, None)),
    }
}

/// The error's own text would show the value of a variable that is not UTF-8.
fn no_text(error: &std::env::VarError) -> &'static str {
    match error {
        std::env::VarError::NotPresent => "not set",
        std::env::VarError::NotUnicode(_) => "no UTF-8",
    }
}

/// The file's text.
///
/// # Errors
/// The reason why the file cannot be read. It never contains a part of the file.
pub fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|f| f.take(LONGEST + 1).read_to_string(&mut text));
    read.map_err(|e| {
        if e.kind() == io::ErrorKind::InvalidData {
            "no UTF-8".to_owned()
        } else {
            unreadable::reason(&e)
        }
    })?;
    if text.len() as u64 > LONGEST {
        Err(format!("longer than {LONGEST} octets"))
    } else {
        Ok(text)
    }
}

/// A warning if every user of this machine may read a secret's file.
pub fn exposure_warning(path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.mode();
    (mode & 0o004 != 0).then(|| {
        format!(
            "{}: holds a secret, and every user of this machine may read it: chmod o-rwx it",
            path.display()
        )
    })
}

/// Refuses a URL, or HOST:PORT, with user information (RFC 3986, 3.2.1). Addresses are logged and
/// shown; a password must not be.
///
/// # Errors
/// The problem. It never contains a part of the address.
pub fn refuse_user_info(address: &str) -> Result<(), &'static str> {
    let rest = address.split_once("//").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let refusal = "the address has a user or password before its \"@\", which would be logged; \
                   write https://HOST:PORT and keep the token in a file (--token-file)";
    if authority.contains('@') {
        Err(refusal)
    } else {
        Ok(())
    }
}

/// The file of a token: the file that the flag names, else the service's credential `name`, if
/// there is one.
pub fn token_file(flag: Option<&Path>, name: &str) -> Option<PathBuf> {
    flag.map(Path::to_owned)
        .or_else(|| credential(name).ok().filter(|path| path.exists()))
}

/// The path of a credential.
fn credential(name: &str) -> Result<PathBuf, String> {
    let directory = std::env::var_os(DIRECTORY).ok_or_else(|| {
        format!(
            "{DIRECTORY} is not set; expected a systemd service with LoadCredential={name}:FILE"
        )
    })?;
    Ok(Path::new(&directory).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(mode: u32, content: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!(
            "heddle-secret-{}-{mode:o}-{}",
            std::process::id(),
            content.len()
        ));
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn addresses_hold_no_password() {
        for address in
            "https://user:Secret@head:7171 http://user@head/ user:Secret@head:7171".split(' ')
        {
            let refused = refuse_user_info(address).unwrap_err();
            assert!(
                !refused.contains("Secret") && !refused.contains("head"),
                "{refused}"
            );
        }
        for address in
            "https://head:7171 head:7171 http://[::1]:7171/a@b http://head?a@b".split(' ')
        {
            assert_eq!(refuse_user_info(address), Ok(()), "{address}");
        }
    }

    #[test]
    fn files_that_others_may_read_are_warned_of() {
        for (mode, warned) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true)] {
            let path = file(mode, b"hunter22\n");
            let (text, warning) = read(SecretLocation::File(path.to_str().unwrap())).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert_eq!(
                (text.as_str(), warning.is_some()),
                ("hunter22\n", warned),
                "{mode:o}"
            );
            assert!(!warning.unwrap_or_default().contains("hunter22"));
        }
    }

    #[test]
    fn what_is_no_secret_is_refused_without_being_shown() {
        for (content, problem) in [
            (&b"hunter\xff"[..], "no UTF-8"),
            (&[b'h'; 70_000][..], "longer than 65536 octets"),
        ] {
            let path = file(0o600, content);
            assert_eq!(
                read(SecretLocation::File(path.to_str().unwrap())).unwrap_err(),
                problem
            );
            std::fs::remove_file(&path).unwrap();
        }
        assert!(
            read(SecretLocation::File("/nowhere/at/all"))
                .unwrap_err()
                .contains("no such file or folder")
        );
        assert_eq!(
            read(SecretLocation::Env("HEDDLE_NO_SUCH_VARIABLE")).unwrap_err(),
            "not set"
        );
    }
}
