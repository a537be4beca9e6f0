//! The MPI-free half of the runtime: what it reads, what it plans, what it chooses, what it
//! reports.
//!
//! ```text
//! rank 0:      shared directory --helper--> directive --broadcast--> every rank
//! every rank:  FollowedEpoch, and what its policy decides on; planned at the first call that needs it
//! a call:      block size --CallPolicy::decide--> native | aapc | bundled | lg | ring
//! after it:    agreement_pace: is it time to agree again?  record: the time it took
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`settings`] | the environment, as rank 0 sees it |
//! | [`helper`] | the shared directory, by way of a process that may wait for it |
//! | [`directive`] | what rank 0 tells the others |
//! | [`held_epoch`] | the epoch that need not be sent again |
//! | [`communicator_work`] | when a communicator has done enough for heddle to look at it |
//! | [`look_allowance`] | whether a process can afford one more look |
//! | [`call_forecast`] | how large the next calls are whose size no rank knows alone |
//! | [`rank_host`] | what a rank's host is called, and where it is reached |
//! | [`once_a_host`] | what one rank of a host does for the others |
//! | [`process_set_view`] | a process set on the tree of an epoch |
//! | [`plan`] | its own schedule out of an epoch |
//! | [`followed_network`] | which of an epoch's networks is followed |
//! | [`network_evidence`] | whether the library's messages cross the published tree |
//! | [`host_leaders`] | one rank a host, where hosts have several |
//! | [`exchange`] | one rank's part of a schedule, carried out over any carrier |
//! | [`agreement_pace`] | how many calls until the ranks agree again |
//! | [`record`] | the job record rank 0 writes |
//! | [`arrival_watch`] | whether the rates of blocks contradict the tree |
//! | [`tcp`] | the data path for large blocks, without MPI |
//! | [`tracing`] | `HEDDLE_TRACE`: what this rank did when |
//! | [`last_decisions`] | which decisions are news |
//! | [`watchdog`] | the watchdog: what a rank waits for |
//! | `signals` | threads that take no signals |
//! | [`stderr`] | the few lines it writes to standard error |
pub mod agreement_pace;
pub mod arrival_watch;
pub mod call_forecast;
pub mod communicator_work;
pub mod directive;
pub mod exchange;
pub mod followed_network;
pub mod held_epoch;
pub mod helper;
pub mod host_leaders;
pub mod last_decisions;
pub mod look_allowance;
pub mod network_evidence;
pub mod once_a_host;
pub mod plan;
pub mod process_set_view;
pub mod rank_host;
pub mod record;
pub mod settings;
mod signals;
pub mod stderr;
pub mod tcp;
pub mod tracing;
pub mod watchdog;
