//! Everything that the daemon would read at its start, read once, without starting it. Nothing is
//! made or changed.
use super::config::{ControllerConfig, load};
use crate::http::{self, ApiTokens, BearerToken, HttpError, TlsCertificate};
use directory::layout::{EPOCHS, LOCK};
use directory::publishing::LockHolder;
use directory::reading;
use inventory::counted;
use inventory::unreadable::UnreadableFile;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// One part of a configuration, and whether it can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedPart {
    /// Its name for operators.
    pub name: &'static str,
    /// The finding, or the problem.
    pub outcome: Result<String, String>,
}

impl CheckedPart {
    fn new(name: &'static str, outcome: Result<String, String>) -> CheckedPart {
        CheckedPart { name, outcome }
    }
}

/// `ok     inventory      …`
impl fmt::Display for CheckedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, text) = match &self.outcome {
            Ok(found) => ("ok", found),
            Err(problem) => ("WRONG", problem),
        };
        write!(f, "{word:<6} {:<14} {text}", self.name)
    }
}

/// Reads every part of the configuration. The names of switches are looked up.
pub async fn check(config: &ControllerConfig) -> Vec<CheckedPart> {
    let (viewers, agents) = (
        token(config.token_file.as_deref()),
        token(config.agent_token_file.as_deref()),
    );
    let viewing = shown(&viewers, "none: everybody on this machine may view");
    let reporting = shown(&agents, "none: no host agent can report");
    let pair = viewers.ok().zip(agents.ok());
    let tokens = pair.map(|(v, a)| ApiTokens::new(v.map(|v| v.0), a.map(|a| a.0)));
    let (reporting, tokens) = match tokens {
        Some(Err(alike)) => (Err(alike.to_string()), None),
        Some(Ok(tokens)) => (reporting, Some(tokens)),
        None => (reporting, None),
    };
    let mut parts = inventory(config).await;
    parts.push(CheckedPart::new("viewers' token", viewing));
    parts.push(CheckedPart::new("agents' token", reporting));
    parts.push(CheckedPart::new("TLS", tls(config)));
    parts.push(CheckedPart::new("directory", directory(&config.dir)));
    let listen = match &tokens {
        None => Err("not tried, because a token is wrong".to_owned()),
        Some(tokens) => listen(config, tokens).await,
    };
    parts.push(CheckedPart::new("address", listen));
    let journal = config.journal.as_deref().map(journal);
    parts.extend(journal.map(|outcome| CheckedPart::new("journal", outcome)));
    parts
}

type ReadToken = Option<(BearerToken, PathBuf)>;

fn token(file: Option<&Path>) -> Result<ReadToken, String> {
    file.map(|path| {
        let token = BearerToken::read(path).map_err(below_its_name)?;
        Ok((token, path.to_owned()))
    })
    .transpose()
}

/// An error in the line of its part, which has named the kind of the file.
fn below_its_name(error: HttpError) -> String {
    match error {
        HttpError::Token { path, problem } | HttpError::Tls { path, problem } => {
            format!("{}: {problem}", path.display())
        }
        other => other.to_string(),
    }
}

fn shown(token: &Result<ReadToken, String>, none: &str) -> Result<String, String> {
    let token = token.as_ref().map_err(Clone::clone)?;
    let file = token.as_ref().map(|(_, file)| file.display().to_string());
    Ok(file.unwrap_or_else(|| none.to_owned()))
}

async fn inventory(config: &ControllerConfig) -> Vec<CheckedPart> {
    let (inventory, clients) = match load(config) {
        Ok(loaded) => loaded,
        Err(e) => return vec![CheckedPart::new("inventory", Err(e.to_string()))],
    };
    let found = format!(
        "{}: {}, {}",
        config.inventory.display(),
        counted(inventory.switches.len(), "switch"),
        counted(inventory.hosts.len(), "host")
    );
    let mut parts = vec![CheckedPart::new("inventory", Ok(found))];
    for (name, client) in &clients {
        if let Err(problem) = client.look_up().await {
            parts.push(CheckedPart::new(
                "inventory",
                Err(format!("switch \"{name}\": {problem}")),
            ));
        }
    }
    if let Some(traps) = &inventory.traps {
        let bound = std::net::UdpSocket::bind(traps.listen);
        let outcome = match bound {
            Ok(_) => Ok(format!("{}", traps.listen)),
            Err(e) => Err(format!(
                "{}: {e}; traps would not be heard there, polls go on",
                traps.listen
            )),
        };
        parts.push(CheckedPart::new("traps", outcome));
    }
    parts
}

fn tls(config: &ControllerConfig) -> Result<String, String> {
    let Some((cert, key)) = &config.tls else {
        return match config.listen.ip().is_loopback() {
            true => Ok("none: HTTP, on this machine only".to_owned()),
            false => Err(format!(
                "none, but {} is reachable from other machines, so tokens would cross the network \
                 in the clear: make certificates with heddle cert, or listen on 127.0.0.1",
                config.listen
            )),
        };
    };
    certificate(cert, key)
}

fn certificate(cert: &Path, key: &Path) -> Result<String, String> {
    let read = TlsCertificate::read(cert, key).map_err(below_its_name)?;
    if read.is_authority() {
        return Err(format!(
            "{}: this is an authority's certificate, which viewers and agents refuse as a \
             controller's; give the controller's own, such as heddle cert writes beside it",
            cert.display()
        ));
    }
    Ok(format!("{}, {}", cert.display(), key.display()))
}

fn directory(dir: &Path) -> Result<String, String> {
    let shown = dir.display();
    match dir.metadata() {
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let parent = dir.parent().filter(|p| !p.as_os_str().is_empty());
            writable(parent.unwrap_or(Path::new(".")))?;
            return Ok(format!("{shown}: will be made"));
        }
        Err(e) => {
            return Err(format!(
                "{}; the controller would not start",
                UnreadableFile::new(dir, e)
            ));
        }
    }
    writable(dir)?;
    lockable(dir)?;
    if let Some(holder) = LockHolder::in_directory(dir) {
        return Err(format!(
            "{shown}: {holder}; a second controller would not start"
        ));
    }
    let epochs = dir.join(EPOCHS);
    if !epochs.exists() {
        return Ok(format!("{shown}: no epoch yet"));
    }
    writable(&epochs)?;
    match reading::current_epoch(dir) {
        Ok(Some(epoch)) => Ok(format!("{shown}: epoch {}", epoch.number)),
        Ok(None) => Ok(format!("{shown}: no epoch yet")),
        Err(e) => Err(format!(
            "{e}; the controller starts and publishes a new epoch"
        )),
    }
}

/// The lock is opened for writing. Another user's is a trace of another publisher, or of root's.
fn lockable(dir: &Path) -> Result<(), String> {
    let lock = dir.join(LOCK);
    match access(&lock, AccessFlags::R_OK | AccessFlags::W_OK) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(e) => Err(format!(
            "{}: {}; the controller would not start: give the directory and what is in it to the \
             user that heddle runs as",
            lock.display(),
            e.desc()
        )),
    }
}

fn journal(file: &Path) -> Result<String, String> {
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty());
    writable(folder.unwrap_or(Path::new(".")))?;
    if file.is_dir() {
        return Err(UnreadableFile::new(file, ErrorKind::IsADirectory.into()).to_string());
    }
    Ok(file.display().to_string())
}

fn writable(folder: &Path) -> Result<(), String> {
    // For a file `access` reports only a missing right.
    let listed = folder.metadata().and_then(|found| match found.is_dir() {
        true => Ok(()),
        false => Err(ErrorKind::NotADirectory.into()),
    });
    listed.map_err(|cause| UnreadableFile::new(folder, cause).to_string())?;
    access(folder, AccessFlags::W_OK | AccessFlags::X_OK).map_err(|e| {
        format!(
            "{}: {}; the user that heddle runs as must be able to write there",
            folder.display(),
            e.desc()
        )
    })
}

async fn listen(config: &ControllerConfig, tokens: &ApiTokens) -> Result<String, String> {
    let listener = http::bind(config.listen, tokens).await;
    drop(listener.map_err(|e| e.to_string())?);
    let scheme = if config.tls.is_some() {
        "https"
    } else {
        "http"
    };
    Ok(format!("{scheme}://{}", config.listen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates;
    use inventory::Millis;
    use std::fs;

    #[test]
    fn a_file_is_no_directory_and_a_folder_no_journal() {
        let dir = tempfile::tempdir().unwrap();
        let (file, none) = (dir.path().join("file"), dir.path().join("none"));
        fs::write(&file, "").unwrap();
        let problem = directory(&file).unwrap_err();
        assert!(problem.ends_with("name a folder"), "{problem}");
        let problem = journal(dir.path()).unwrap_err();
        assert!(problem.ends_with("name a file in it"), "{problem}");
        let problem = journal(&none.join("journal")).unwrap_err();
        assert!(
            problem.ends_with("none: no such file or folder"),
            "{problem}"
        );
        assert!(journal(&none).is_ok());
    }

    #[test]
    fn an_authority_or_a_key_of_another_certificate_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["head".to_owned()];
        let made = certificates::make(dir.path(), &names, 30, Millis(0)).unwrap();
        let authority_key = dir.path().join("ca.key");
        assert!(certificate(&made.cert, &made.key).is_ok());
        let problem = certificate(&made.ca, &authority_key).unwrap_err();
        assert!(
            problem.contains("ca.pem: this is an authority's"),
            "{problem}"
        );
        for (cert, key) in [(&made.ca, &made.key), (&made.cert, &authority_key)] {
            let problem = certificate(cert, key).unwrap_err();
            let expected = format!("{}: not the key of", key.display());
            assert!(problem.starts_with(&expected), "{problem}");
        }
    }
}
