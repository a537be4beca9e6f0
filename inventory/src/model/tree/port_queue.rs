//! The octets that ports of a tree's switches hold.
use super::Tree;
use crate::Bytes;

/// The queue of a port of which nobody says more: many small switches have this, and heddle's lab.
pub const UNSTATED: Bytes = Bytes(128 << 10);

impl Tree {
    /// The octets that each port of its switches holds, at least.
    pub fn queue(&self) -> Bytes {
        self.queue
    }

    /// The same tree of switches whose ports hold so much at least, where that is known.
    #[must_use]
    pub fn with_queue(self, queue: Option<Bytes>) -> Tree {
        Tree {
            queue: queue.unwrap_or(UNSTATED),
            ..self
        }
    }
}
