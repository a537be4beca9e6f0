//! The daemon's configuration: its options, the inventory that they name, and the errors of both.
use super::hooks::HookPrograms;
use crate::http::HttpError;
use agent::AccessError;
use directory::publishing::PublishError;
use inventory::inventory_file::Inventory;
use inventory::topology_file::InputFileError;
use inventory::unreadable::{UnreadableFile, reason};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The configuration of the daemon.
#[derive(Debug, Clone)]
pub struct ControllerConfig {
    /// The operator's inventory.
    pub inventory: PathBuf,
    /// The shared directory.
    pub dir: PathBuf,
    /// The address of the API.
    pub listen: SocketAddr,
    /// The file with the token of viewers.
    pub token_file: Option<PathBuf>,
    /// The file with the token of agents.
    pub agent_token_file: Option<PathBuf>,
    /// The files with the API's certificate and its key, PEM; `None`: HTTP.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The file that records the events.
    pub journal: Option<PathBuf>,
    /// Programs that run after epochs and alarms.
    pub programs: HookPrograms,
}

/// The reason why the daemon does not start, or stops.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The inventory cannot be used.
    #[error("{0}; nothing was started")]
    Inventory(InventoryError),
    /// The shared directory cannot be used.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// The certificate cannot be used.
    #[error("{0}; nothing was started")]
    Certificate(HttpError),
    /// The API cannot be served.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The journal cannot be written.
    #[error("journal {path}: {}; nothing was started", reason(cause))]
    Journal {
        path: PathBuf,
        /// The reason.
        cause: std::io::Error,
    },
    /// The system refused a call that normally succeeds.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl From<InventoryError> for ControllerError {
    fn from(error: InventoryError) -> ControllerError {
        ControllerError::Inventory(error)
    }
}

/// An inventory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] UnreadableFile),
    /// It is not a valid inventory.
    #[error(transparent)]
    File(#[from] InputFileError),
    /// A secret that it names cannot be read.
    #[error("{path}: {problem}")]
    Secret {
        path: PathBuf,
        /// The secret and the reason.
        problem: String,
    },
    /// A credential cannot be used.
    #[error("{path}: {cause}")]
    Access {
        path: PathBuf,
        /// The credential and the reason.
        cause: AccessError,
    },
}

/// Reads the inventory with its secrets, and makes an SNMP client for each switch.
pub(super) fn load(
    config: &ControllerConfig,
) -> Result<(Inventory, Vec<(String, agent::SnmpClient)>), InventoryError> {
    let path = &config.inventory;
    let text = std::fs::read_to_string(path).map_err(|cause| UnreadableFile::new(path, cause))?;
    let mut inventory = Inventory::parse(&path.display().to_string(), &text)?;
    let secrets = agent::snmp_access::read_secrets(&mut inventory);
    for warning in secrets.map_err(|problem| InventoryError::Secret {
        path: path.clone(),
        problem,
    })? {
        tracing::warn!("{warning}");
    }
    let clients = agent::clients(&inventory).map_err(|cause| InventoryError::Access {
        path: path.clone(),
        cause,
    })?;
    Ok((inventory, clients))
}
