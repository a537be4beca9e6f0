//! The daemon on the head node: a core that decides, a shell that carries out.
//!
//! ```text
//! Observation, Trap, Job --Event--> Core --Effect--> read a switch, plan, publish
//!                                     |
//!                                  Snapshot --> HTTP
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`core`] | decides, without I/O and without a clock |
//! | [`watch`] | what to read again after a change |
//! | [`loads`] | bit/s from counters |
//! | [`jobs`] | throughput from jobs' records |
//! | [`plan`] | the only way to an epoch that may be published |
//! | [`publish`] | the shared directory, safe at any crash |
//! | [`history`] | the epochs kept there |
//! | [`journal`] | events recorded and replayed |
//! | [`shell`] | carries out what the core decides |
//! | [`spool`] | reads job records that anybody may have written |
//! | [`http`] | the API |
//! | [`metrics`] | Prometheus text |
mod clock;
pub mod core;
pub mod history;
pub mod http;
pub mod jobs;
pub mod journal;
pub mod loads;
pub mod metrics;
mod pace;
pub mod plan;
pub mod publish;
mod share;
pub mod shell;
pub mod spool;
pub mod watch;
