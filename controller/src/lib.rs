//! The daemon on the head node: an engine that decides, a shell that carries out.
//!
//! ```text
//! Observation, Trap, Job --Event--> Core --Effect--> read a switch, plan, publish
//!                                     |
//!                                  Snapshot --> HTTP
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`engine`] | decides, without I/O and without a clock |
//! | [`triggers`] | what to read again after a change |
//! | [`loads`] | bit/s from counters |
//! | [`jobs`] | throughput from jobs' records |
//! | [`plan`] | the network that a topology file states |
//! | [`publish`] | how many epochs are kept, and which measurements the next one has |
//! | [`history`] | the epochs kept there |
//! | [`journal`] | events recorded and replayed |
//! | [`daemon`] | carries out what the engine decides |
//! | [`job_directory`] | reads job records that anybody may have written |
//! | [`http`] | the API |
//! | [`metrics`] | Prometheus text |
mod allowance;
mod clock;
pub mod daemon;
pub mod engine;
pub mod history;
pub mod http;
pub mod job_directory;
pub mod jobs;
pub mod journal;
pub mod loads;
pub mod metrics;
pub mod plan;
mod poll_timing;
pub mod publish;
pub mod triggers;
