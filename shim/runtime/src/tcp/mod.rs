//! The runtime's own data path for large blocks: TCP connections between the ranks of a
//! communicator, without MPI.
//!
//! MPI point-to-point follows a schedule loosely: replies of its rendezvous queue behind bulk data,
//! and busy polling takes the processor from ranks that could send. Here each block goes at the
//! link's own pace, tokens overtake data, and a rank that waits sleeps.
//!
//! ```text
//! MeshListener --addresses and a secret through MPI--> TcpMesh (two connections a pair of ranks)
//! TcpMesh --a rank's part of a schedule--> blocks in the part's order, tokens ahead of them
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`greeting`] | the first octets of a connection: who calls, and whether it belongs here |
//! | [`mesh_listener`] | making the connections |
//! | [`mesh`] | connections between all ranks |
//! | `peer` | the two connections with one rank, and when the kernel wakes this one |
//! | `link` | one end of a connection: what was sent and may not have come |
//! | [`messages`] | what goes over the MPI library where a connection cannot be made anew |
//! | [`keeper`] | a thread that mends connections between calls |
//! | `mending` | connections that broke, made anew; peers that are silent, asked |
//! | `door` | where other ranks call this one |
//! | [`descriptors`] | whether the process may open as many sockets |
//! | `arrival_meter` | how fast blocks come from each rank |
//! | `carrier` | a rank's part of any schedule: the octets of its blocks, as the core wants them |
//! | [`relay`] | a rank's share of a reduction or broadcast along the ring |
//! | [`way_search`] | source ports whose connections take wanted ways |
//! | `socket` | options of a socket |
mod arrival_meter;
mod carrier;
pub mod descriptors;
mod door;
pub mod greeting;
pub mod keeper;
mod link;
mod mending;
pub mod mesh;
pub mod mesh_listener;
pub mod messages;
mod peer;
pub mod relay;
mod socket;
pub mod way_search;

pub use carrier::ArrivedBlocks;
pub use mesh::TcpMesh;
pub use mesh_listener::MeshListener;
pub use wire::stream_pace::StreamPace;

use std::io;

/// Why a call over these connections cannot end. Nothing can be repeated: parts of it have been
/// sent.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// A connection ended, or the system refused to go on with it.
    #[error("connection with rank {rank}: {cause}")]
    Lost {
        /// The rank at its other end.
        rank: u32,
        /// Why.
        cause: io::Error,
    },
    /// A peer sent what this call cannot have asked for: it is in another one.
    #[error(
        "connection with rank {rank}: {problem}; are all ranks in the same call, with the same \
         counts?"
    )]
    Nonsense {
        /// The rank at its other end.
        rank: u32,
        /// The defect.
        problem: &'static str,
    },
    /// An earlier call failed over these connections, and so they were closed.
    #[error("its connections were closed when an earlier call failed")]
    Closed,
    /// Waiting itself failed, or the caller wanted no more of it.
    #[error("waiting for connections: {0}")]
    Wait(#[from] io::Error),
}

impl MeshError {
    fn ended(rank: u32) -> MeshError {
        MeshError::Lost {
            rank,
            cause: io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended"),
        }
    }
}

#[cfg(test)]
mod tests;
