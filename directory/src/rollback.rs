//! The operator's order to publish an earlier epoch again: a file in the shared directory, as
//! measurements are. It stays as long as the order is in force.
use crate::layout::ROLLBACK;
use crate::publishing::{PublishError, remove, replace};
use crate::reading::file_if_any;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The order. It speaks of numbers alone, so it cannot bring in a network that nobody published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbackOrder {
    /// The epoch whose network is published again.
    pub epoch: u64,
    /// The epoch that was current when the order was given.
    pub replaced: u64,
}

impl RollbackOrder {
    /// The order in a shared directory, if there is one.
    ///
    /// # Errors
    /// The system's refusal, or `InvalidData` for a file that holds something else.
    pub fn read(dir: &Path) -> io::Result<Option<RollbackOrder>> {
        file_if_any(dir, ROLLBACK, |bytes| serde_json::from_slice(bytes))
    }

    /// Writes the order.
    ///
    /// # Errors
    /// [`PublishError::Io`], which is the answer to users who do not own the directory.
    pub fn write(self, dir: &Path) -> Result<(), PublishError> {
        let text = serde_json::to_vec(&self)
            .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        replace(dir, ROLLBACK, &text)
    }

    /// Removes the order, if there is one.
    ///
    /// # Errors
    /// [`PublishError::Io`].
    pub fn remove(dir: &Path) -> Result<(), PublishError> {
        remove(dir, ROLLBACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_back_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let order = RollbackOrder {
            epoch: 3,
            replaced: 7,
        };
        assert_eq!(RollbackOrder::read(dir.path()).unwrap(), None);
        order.write(dir.path()).unwrap();
        assert_eq!(RollbackOrder::read(dir.path()).unwrap(), Some(order));
        RollbackOrder::remove(dir.path()).unwrap();
        RollbackOrder::remove(dir.path()).unwrap();
        assert_eq!(RollbackOrder::read(dir.path()).unwrap(), None);
        for text in [
            "",
            "3",
            "{\"epoch\": -1, \"replaced\": 2}",
            &"9".repeat(9999),
        ] {
            std::fs::write(dir.path().join(ROLLBACK), text).unwrap();
            let problem = RollbackOrder::read(dir.path()).unwrap_err().to_string();
            assert!(problem.contains("rollback.json: "), "{problem}");
        }
    }
}
