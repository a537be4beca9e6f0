//! How far statements are believed, and what becomes of nodes that nobody listed.

/// The differences between a living network with an inventory and a folder of recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InferencePolicy {
    /// Every node that a device names becomes a node, since no list says which nodes belong to the
    /// network. Otherwise unlisted bridges and routers become nodes with an alarm, and stations
    /// only an alarm.
    pub(crate) shows_unlisted: bool,
    /// The rows of a table are of many moments. Then a row on a port that is down still tells of a
    /// cable, and a few stations in impossible places prove nothing.
    pub(crate) mixes_moments: bool,
    /// A device's own name goes before the name it is listed under, which is only a file's name.
    pub(crate) prefers_own_names: bool,
    /// The tables of a device tell its kind. Otherwise a listed switch is a switch, unless it says
    /// itself that it only routes.
    pub(crate) kinds_by_tables: bool,
}

impl InferencePolicy {
    /// A network whose switches and hosts an inventory names.
    pub(crate) const LIVE: InferencePolicy = InferencePolicy {
        shows_unlisted: false,
        mixes_moments: false,
        prefers_own_names: false,
        kinds_by_tables: false,
    };

    /// Recordings, without a list of the devices that belong to the network.
    pub(crate) const RECORDED: InferencePolicy = InferencePolicy {
        shows_unlisted: true,
        mixes_moments: true,
        prefers_own_names: true,
        kinds_by_tables: true,
    };
}
