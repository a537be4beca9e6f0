//! The daemon on the head node: an engine that decides, and a shell around it that does the I/O.
//!
//! ```text
//! Observation, Trap, Job --Event--> engine --Effect--> read a switch, plan, publish
//!                                      |
//!                                   Snapshot --> HTTP
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`engine`] | decides, without I/O and without a clock |
//! | [`triggers`] | the tables to read again after a change |
//! | [`loads`] | bit/s from counters |
//! | [`jobs`] | throughput from jobs' records |
//! | [`plan`] | the network that a topology file states |
//! | [`publish`] | the number of epochs kept, and the measurements of the next one |
//! | `flow_exchange` | orders to hosts that measure flows, and their answers |
//! | [`history`] | the epochs in a shared directory |
//! | [`journal`] | records events, and replays them |
//! | [`daemon`] | carries out what the engine decides |
//! | [`job_directory`] | reads job records that anybody may have written |
//! | [`certificates`] | an authority of the site's own, and the controller's certificate |
//! | [`http`] | the API |
//! | [`metrics`] | Prometheus text |
mod allowance;
pub mod certificates;
mod clock;
pub mod daemon;
pub mod engine;
mod flow_exchange;
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
