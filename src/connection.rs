//! The way to the controller, for every command that asks it: a flag, else the environment, else
//! the configuration file of the terminal interface.
use agent::secrets;
use anyhow::{anyhow, bail};
use inventory::unreadable::UnreadableFile;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use tui::{ConnectionSettings, ControllerAccess};

const CONNECT: &str = "HEDDLE_CONNECT";
const CA: &str = "HEDDLE_CA";
const TOKEN_FILE: &str = "HEDDLE_TOKEN_FILE";
const DEFAULT: &str = "127.0.0.1:7171";

/// The flags of a command that asks the controller.
#[derive(clap::Args)]
pub(crate) struct ConnectionArgs {
    /// The controller's address; https://HOST:PORT if it has a certificate [environment:
    /// HEDDLE_CONNECT] [default: 127.0.0.1:7171]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    /// A PEM file with the authorities that certify the controller, unless that is a public one
    /// [environment: HEDDLE_CA]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// A file with the controller's token, if it needs one [environment: HEDDLE_TOKEN_FILE]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

impl ConnectionArgs {
    /// The controller, with everything that is needed to ask it. `file` has what the configuration
    /// file says.
    pub(crate) fn controller(&self, file: &ConnectionSettings) -> anyhow::Result<ControllerAccess> {
        let (place, address) = self.address(file);
        secrets::refuse_user_info(&address).map_err(|problem| anyhow!("{place}: {problem}"))?;
        let token_file = self
            .token_file
            .clone()
            .or_else(|| variable(TOKEN_FILE).map(PathBuf::from))
            .or_else(|| file.token_file.clone());
        let token = secrets::token_file(token_file.as_deref(), secrets::TOKEN)
            .map(|file| token(&file))
            .transpose()?;
        let authorities = ca(self.ca.as_deref())
            .or_else(|| file.ca.clone())
            .map(|file| tls::authorities::read(&file).map_err(|problem| (file, problem)))
            .transpose()
            .map_err(|(file, problem)| {
                anyhow!(
                    "authorities of the controller: {}: {problem}",
                    file.display()
                )
            })?;
        let address = address.trim_end_matches('/');
        let url = match address.split_once("://") {
            None if address.parse::<Ipv6Addr>().is_err() => format!("http://{address}"),
            Some(("http" | "https", _)) => address.to_owned(),
            _ => bail!("{place} {address}: expected HOST:PORT, [::1]:PORT or https://HOST:PORT"),
        };
        Ok(ControllerAccess {
            url,
            token,
            authorities: authorities.unwrap_or_default(),
        })
    }

    /// The address, and who gave it.
    fn address(&self, file: &ConnectionSettings) -> (&'static str, String) {
        if let Some(address) = &self.connect {
            return ("--connect", address.clone());
        }
        if let Some(address) = variable(CONNECT) {
            return (CONNECT, address);
        }
        match &file.address {
            Some(address) => ("configuration file, connection.address", address.clone()),
            None => ("--connect", DEFAULT.to_owned()),
        }
    }
}

/// The authorities' file: `flag`, else HEDDLE_CA.
pub(crate) fn ca(flag: Option<&Path>) -> Option<PathBuf> {
    flag.map(Path::to_owned)
        .or_else(|| variable(CA).map(PathBuf::from))
}

fn token(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file)
        .map_err(|cause| anyhow!("token file {}", UnreadableFile::new(file, cause)))?;
    Ok(text.trim().to_owned())
}

/// A variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
