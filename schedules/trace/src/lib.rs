//! Traces: what each rank did when, and what the time of a call went into. Pure, without I/O.
//!
//! ```text
//! ranks' steps --file--> RankTrace of each rank --job--> TracedCall, on one clock
//! TracedCall --critical_path--> segments, each with its cause --report, chrome--> people
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`step`] | one step of a rank, and its octets |
//! | [`file`] | the file of one rank, written and read |
//! | [`job`] | the traces of all ranks: calls, each on one clock |
//! | [`causality`] | clocks put right: nothing comes before it was sent |
//! | [`critical_path`] | the chain of steps that made a call as long as it was |
//! | [`report`] | what the time went into, for people and for programs |
//! | [`chrome`] | for Perfetto and Chrome |
pub mod causality;
pub mod chrome;
pub mod critical_path;
pub mod file;
pub mod job;
pub mod report;
pub mod step;

#[cfg(test)]
mod tests;
