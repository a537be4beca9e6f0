//! Whether a link carries frames.
use serde::{Deserialize, Serialize};
use std::fmt;

/// The state of a link: whether it carries frames.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// Both ends forward.
    Forwarding,
    /// STP blocks one end.
    Blocked,
    /// Flows spread over it and others: a routed way of equal cost, a member of an aggregate.
    Multipath,
    /// No STP evidence, or the states are changing.
    #[default]
    Unknown,
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LinkState::Forwarding => "forwarding",
            LinkState::Blocked => "blocked",
            LinkState::Multipath => "multipath",
            LinkState::Unknown => "unknown",
        })
    }
}
