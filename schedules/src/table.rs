//! The decision table: which way a collective goes at which block size.
use crate::sync::SyncKind;
use inventory::Bytes;
use serde::{Deserialize, Serialize};

/// A collective that heddle knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Collective {
    /// MPI_Alltoall.
    Alltoall,
    /// MPI_Allgather.
    Allgather,
}

/// How a call is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The MPI library's own routine.
    Native,
    /// The phases of [`crate::alltoall`].
    Aapc {
        /// What keeps them apart.
        sync: SyncKind,
        /// What carries the blocks.
        #[serde(default)]
        over: Carrier,
    },
    /// The ring of [`crate::allgather`].
    Ring {
        /// What carries the blocks.
        #[serde(default)]
        over: Carrier,
    },
}

impl Way {
    /// What carries its blocks; `None` where the library sees to that.
    pub fn carrier(self) -> Option<Carrier> {
        match self {
            Way::Native => None,
            Way::Aapc { over, .. } | Way::Ring { over } => Some(over),
        }
    }

    /// The same way over another carrier.
    pub fn over(self, over: Carrier) -> Way {
        match self {
            Way::Native => Way::Native,
            Way::Aapc { sync, .. } => Way::Aapc { sync, over },
            Way::Ring { .. } => Way::Ring { over },
        }
    }
}

/// What carries blocks and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// The MPI library's point-to-point messages: on every network that the library works on.
    #[default]
    Mpi,
    /// The runtime's own TCP connections: for large blocks on Ethernet. Where they cannot be made, [`Carrier::Mpi`].
    Tcp,
}

/// An MPI library. Their own routines differ, so the size from which a schedule pays does, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mpi {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
}

/// From this block size on, up to the next entry, this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Bytes a rank sends to each other rank (alltoall) or contributes (allgather).
    pub from: Bytes,
    /// How.
    pub way: Way,
    /// Under this MPI library only; `None`: under each.
    #[serde(default)]
    pub mpi: Option<Mpi>,
}

/// Entries per collective in ascending order; the first one begins at 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// For MPI_Alltoall: native or aapc.
    pub alltoall: Vec<Entry>,
    /// For MPI_Allgather: native or ring.
    pub allgather: Vec<Entry>,
}

/// As measured on an emulated cluster of four switches and twelve hosts (README, "Measured"): a way is taken from the
/// smallest measured block on from which it was faster than the library's own routine, and only under the library where
/// it was. Phases are held apart by receiver tokens, because only those kept switch buffers from overflowing.
impl Default for Table {
    fn default() -> Self {
        let native = Entry { from: Bytes(0), way: Way::Native, mpi: None };
        let aapc = Way::Aapc { sync: SyncKind::Receiver, over: Carrier::Mpi };
        Table {
            alltoall: vec![native, Entry { from: Bytes(64 << 10), way: aapc, mpi: Some(Mpi::Mpich) }],
            allgather: vec![
                native,
                Entry { from: Bytes(64 << 10), way: Way::Ring { over: Carrier::Mpi }, mpi: Some(Mpi::OpenMpi) },
                Entry { from: Bytes(256 << 10), way: Way::Ring { over: Carrier::Mpi }, mpi: None },
            ],
        }
    }
}

/// A table that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No JSON, or not of the expected shape.
    #[error("decision table: {0}")]
    Syntax(String),
    /// Entries that say nothing, too much, or nonsense.
    #[error("decision table, {collective}: {problem}")]
    Content {
        /// Which list.
        collective: &'static str,
        /// What is wrong and what was expected.
        problem: String,
    },
}

/// More entries than anybody measures.
const MAX_ENTRIES: usize = 64;

impl Table {
    /// The entries that hold under one MPI library.
    pub fn under(mut self, mpi: Mpi) -> Table {
        let holds = |entry: &Entry| entry.mpi.is_none_or(|only| only == mpi);
        self.alltoall.retain(holds);
        self.allgather.retain(holds);
        self
    }

    /// The way for blocks of this size, in a table that was reduced by [`Table::under`].
    pub fn choose(&self, collective: Collective, block: Bytes) -> Way {
        let entries = match collective {
            Collective::Alltoall => &self.alltoall,
            Collective::Allgather => &self.allgather,
        };
        entries.iter().rev().find(|entry| entry.from <= block).map_or(Way::Native, |entry| entry.way)
    }

    /// The table as JSON, for people too.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|e| unreachable!("numbers and names always serialize: {e}")) + "\n"
    }

    /// Reads what [`Table::to_json`] wrote, or an operator.
    ///
    /// # Errors
    /// [`TableError`] if it is no table or [`Table::check`] fails.
    pub fn from_json(text: &[u8]) -> Result<Table, TableError> {
        let table: Table = serde_json::from_slice(text).map_err(|e| TableError::Syntax(e.to_string()))?;
        table.check()?;
        Ok(table)
    }

    /// Whether every size has one way, and one its collective can go.
    ///
    /// # Errors
    /// [`TableError::Content`].
    pub fn check(&self) -> Result<(), TableError> {
        check("alltoall", &self.alltoall, "native or aapc", |way| !matches!(way, Way::Ring { .. }))?;
        check("allgather", &self.allgather, "native or ring", |way| !matches!(way, Way::Aapc { .. }))
    }
}

fn check(collective: &'static str, entries: &[Entry], ways: &str, can: impl Fn(Way) -> bool) -> Result<(), TableError> {
    let wrong = |problem: String| Err(TableError::Content { collective, problem });
    if entries.is_empty() || entries.len() > MAX_ENTRIES || entries[0].from != Bytes(0) || entries[0].mpi.is_some() {
        return wrong(format!("expected 1 to {MAX_ENTRIES} entries, the first one from 0 and for each MPI library"));
    }
    if let Some(pair) = entries.windows(2).find(|pair| pair[0].from >= pair[1].from) {
        return wrong(format!("entry from {} follows the one from {}; expected ascending sizes", pair[1].from.0, pair[0].from.0));
    }
    match entries.iter().find(|entry| !can(entry.way)) {
        Some(entry) => wrong(format!("entry from {}: expected {ways}", entry.from.0)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_blocks_stay_native_and_libraries_differ() {
        let table = Table::default();
        table.check().unwrap();
        assert_eq!(Table::from_json(table.to_json().as_bytes()).unwrap(), table);
        let (open_mpi, mpich) = (table.clone().under(Mpi::OpenMpi), table.under(Mpi::Mpich));
        for collective in [Collective::Alltoall, Collective::Allgather] {
            for small in [0, 65_535] {
                assert_eq!(open_mpi.choose(collective, Bytes(small)), Way::Native);
                assert_eq!(mpich.choose(collective, Bytes(small)), Way::Native);
            }
        }
        assert_eq!(mpich.choose(Collective::Alltoall, Bytes(65_536)), Way::Aapc { sync: SyncKind::Receiver, over: Carrier::Mpi });
        assert_eq!(open_mpi.choose(Collective::Alltoall, Bytes(u64::MAX)), Way::Native);
        assert_eq!(open_mpi.choose(Collective::Allgather, Bytes(65_536)), Way::Ring { over: Carrier::Mpi });
        assert_eq!(mpich.choose(Collective::Allgather, Bytes(65_536)), Way::Native);
        assert_eq!(mpich.choose(Collective::Allgather, Bytes(u64::MAX)), Way::Ring { over: Carrier::Mpi });
    }

    #[test]
    fn refuses_what_contradicts_itself() {
        let read = |alltoall: &str| {
            let text = format!("{{\"alltoall\":[{alltoall}],\"allgather\":[{{\"from\":0,\"way\":{{\"ring\":{{}}}}}}]}}");
            Table::from_json(text.as_bytes()).map_err(|e| e.to_string())
        };
        assert!(read("{\"from\":0,\"way\":{\"aapc\":{\"sync\":\"sender\"}}}").is_ok());
        assert!(read("").unwrap_err().contains("alltoall: expected 1 to 64"));
        assert!(read("{\"from\":1,\"way\":\"native\"}").unwrap_err().contains("from 0"));
        assert!(read("{\"from\":0,\"way\":\"native\"},{\"from\":0,\"way\":\"native\"}").unwrap_err().contains("ascending"));
        assert!(read("{\"from\":0,\"way\":\"native\",\"mpi\":\"mpich\"}").unwrap_err().contains("each MPI"));
        assert!(read("{\"from\":0,\"way\":{\"ring\":{}}}").unwrap_err().contains("native or aapc"));
        assert!(read("{\"from\":0,\"way\":\"lg\"}").unwrap_err().contains("lg"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Table::from_json(&bytes);
        }
    }
}
