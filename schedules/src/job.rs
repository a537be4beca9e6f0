//! What a running job says of itself: a small file a communicator's rank 0 replaces now and then in the
//! shared directory's `jobs/`, and the controller reads.
//!
//! Counters are cumulative, so a lost or repeated reading costs nothing.
use inventory::Millis;
use serde::{Deserialize, Serialize};

/// A job's communicator, as its rank 0 last wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Unique on the cluster: host, process and communicator number.
    pub id: String,
    /// The program's name, without its path.
    pub program: String,
    /// The user that runs it.
    pub user: String,
    /// When the communicator first called a collective.
    pub started: Millis,
    /// When this was written.
    pub updated: Millis,
    /// The communicator's hosts in rank order, each once.
    pub hosts: Vec<String>,
    /// Its size.
    pub ranks: u32,
    /// `openmpi` or `mpich`.
    pub mpi: String,
    /// The epoch it follows; 0 while it follows none.
    pub epoch: u64,
    /// When it took that epoch up.
    pub epoch_since: Millis,
    /// Why it stands aside, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    /// Set by the last write, when the communicator is freed.
    #[serde(default)]
    pub finished: bool,
    /// Totals per collective, way and block size.
    pub calls: Vec<CallTotal>,
}

/// Totals of one kind of call since the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallTotal {
    /// `alltoall`, `allgather`, `alltoallv` or `allgatherv`.
    pub collective: String,
    /// `aapc`, `ring` or `native`.
    pub way: String,
    /// Bytes a rank sends to each other rank in one call; the mean where they differ.
    pub block: u64,
    /// Number of calls.
    pub calls: u64,
    /// Seconds rank 0 spent in them.
    pub seconds: f64,
    /// Seconds they would have taken at the payload bound of the bottleneck edge; 0 where no tree is known.
    pub bound_seconds: f64,
}
