//! The configuration file.
use std::path::PathBuf;

/// What the configuration file says of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectionSettings {
    /// The controller's address.
    pub address: Option<String>,
    /// The authorities' file.
    pub ca: Option<PathBuf>,
    /// The token's file.
    pub token_file: Option<PathBuf>,
}
