//! The shared directory, which no rank touches itself.
//!
//! A file system may stop answering: an NFS server reboots, an operator freezes a volume. A thread
//! that waits for it cannot even be killed, and its process does not end before the file system
//! goes on. So a rank starts a process of its own, `heddle-helper`, which reads and writes for it,
//! and exchanges messages with that over a socket. The helper holds no other descriptor of the
//! rank, so neither the rank nor its launcher waits for it.
//!
//! ```text
//! rank 0 --Look, Record--> helper --read, write--> shared directory
//!        <--Begins, Epoch, Written, Stalled--
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`client`] | the rank's end: it never waits for a file |
//! | [`delivery`] | one file, when a process goes |
//! | `orphan` | the helper is nobody's child |
//! | [`service`] | the helper's end |
//! | `wire` | messages on the socket |
pub mod client;
pub mod delivery;
mod framing;
mod orphan;
pub mod service;

pub(crate) use orphan::above_standard_streams;

use serde::{Deserialize, Serialize};

/// A request of a rank to its helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum HelperRequest {
    /// Look for epochs for a while.
    Look,
    /// Write this job record, in place of an older one of the same name.
    Record { name: String, json: Vec<u8> },
    /// Write this file, which is not a job record. Make its folder first if it does not exist.
    File { name: String, octets: Vec<u8> },
}

/// An answer of the helper to its rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum HelperReport {
    /// A new epoch, or newer figures of what jobs learned beside it, as
    /// [`directory::epoch::LeanEpoch`] in bytes.
    Epoch(Vec<u8>),
    /// There is no usable epoch, for this reason.
    Unusable(String),
    /// The figures that jobs learned cannot be read, for this reason; the epoch can.
    Unlearned(String),
    /// So many job records have been dealt with, and what was wrong with the last one.
    Written {
        records: u64,
        problem: Option<String>,
    },
    /// The directory has not answered for [`service::STALLED`].
    Stalled,
    /// It answers again.
    GoesOn,
    /// The helper runs, and begins to read.
    Begins,
}
