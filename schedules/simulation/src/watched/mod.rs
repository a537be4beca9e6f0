//! The watch over moved cables: whether the rates at which blocks came contradict the tree for which
//! their schedule was planned.
//!
//! ```text
//! rates of blocks --BlockArrivals--> job record --judge--> TreeSuspicion --several in a row--> an alarm
//! ```
//!
//! On the tree of its plan, blocks of two senders do not share a cable. Blocks of one sender may: it
//! hands the blocks of a run over to its kernel at once, and each gets a part of its cable. So the
//! plan and the tree tell the slowest and the fastest rate that a pair may have. Where a cable
//! moved, other pairs slow each other down, and which pairs these are follows from where the cable
//! is now.
//!
//! | module | one idea |
//! |---|---|
//! | [`arrivals`] | how fast blocks came, in few characters |
//! | `suspects` | the trees that one moved cable makes of a tree |
//! | `expected` | how fast blocks come on another tree than that of their plan |
//! | `expected_pairs` | the rates that each pair of hosts may have there |
//! | `host_pairs` | a figure for each pair of hosts |
//! | [`judge`] | the moved cable that explains the rates best, if one does |
//! | [`persistence`] | suspicions of several windows in a row |
pub mod arrivals;
mod expected;
mod expected_pairs;
mod host_pairs;
pub mod judge;
pub mod persistence;
mod suspects;
#[cfg(test)]
mod tests;

pub use arrivals::BlockArrivals;
pub use judge::TreeSuspicion;
pub use persistence::SuspicionRow;

/// The most ranks of a process set that is watched: what is gathered grows with their square.
pub const MOST_RANKS: usize = 128;
