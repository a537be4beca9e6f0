//! The parts of a schedule: messages, and the waits between them.

/// One message: host `src` sends its block for host `dst`. The host numbers are those of the tree
/// it was planned on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Message {
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
}

/// `before` must not start until `after` has left the network. A token from `from` to `to` tells
/// the waiting host.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Synchronization {
    /// The earlier message.
    pub after: Message,
    /// The message that waits.
    pub before: Message,
    /// The host that sends the token: `after.src` (sender-based) or `after.dst` (receiver-based).
    pub from: u32,
    /// The host that waits for it: `before.src`.
    pub to: u32,
}
