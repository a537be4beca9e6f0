//! The MPI-free half of the runtime: what it reads, what it plans, what it chooses, what it reports.
//!
//! ```text
//! rank 0:   shared directory --store--> Word --(broadcast)--> every rank: plan --> Follow | aside
//! a call:   block size --Follow::way--> native | aapc | bundled | lg | ring;  pace: is it time to agree again?;  record: what it took
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`settings`] | the environment, as rank 0 sees it |
//! | [`store`] | rank 0's view of the shared directory |
//! | [`word`] | what rank 0 tells the others |
//! | [`plan`] | a communicator's own schedule out of an epoch |
//! | `clusters` | which of its ranks form a cluster, for LG |
//! | [`pace`] | how many calls until the ranks agree again |
//! | [`record`] | the job record rank 0 writes |
//! | [`tcp`] | the data path for large blocks, without MPI |
//! | [`decided`] | which decisions are news |
//! | [`watch`] | the watchdog: what a rank waits for |
//! | [`say`] | the few lines it writes to standard error |
mod clusters;
pub mod decided;
pub mod pace;
pub mod plan;
pub mod record;
pub mod say;
pub mod settings;
pub mod store;
pub mod tcp;
pub mod watch;
pub mod word;
