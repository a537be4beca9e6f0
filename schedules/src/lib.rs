//! Schedules: the messages of a collective and their order. Pure, without I/O. Host numbers are
//! those of [`inventory::Tree`].
//!
//! ```text
//! Tree --bound--> Bound        Tree --aapc--> phases --sync--> Alltoall --verify--> published
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`message`] | messages, and the waits between them |
//! | [`capacities`] | the number of messages that each edge carries at once |
//! | [`bound`] | lower bounds for every schedule |
//! | [`shared_cables`] | cables that several networks share |
//! | [`stages`] | the cables and boxes side by side that messages take |
//! | [`root`] | the switch above all subtrees of a schedule |
//! | [`aapc`] | an all-to-all in contention-free phases |
//! | [`capacity`] | the same where links carry several messages at once |
//! | [`synchronization`] | the synchronizations that keep phases apart |
//! | `batches` | steps of work, each on a thread of its own |
//! | [`phase_order`] | the order of phases that needs fewer synchronizations |
//! | [`alltoall`] | both together: the all-to-all as planned |
//! | [`alltoallv`] | an all-to-all of blocks of different lengths |
//! | `known_messages` | the same as `knowledge`, a bit for each pair of messages |
//! | [`transfers`] | one shape for every schedule, and one rank's part of it |
//! | [`bundled`] | one message for each pair of hosts, for small blocks of several ranks a host |
//! | [`allgather`] | the logical ring: LR1, LR2, LR3; several rings where trunks are slow |
//! | [`relay`] | reductions and broadcasts along the logical ring |
//! | `knowledge` | what each message knows to be over |
//! | [`random`] | numbers that look random and are the same everywhere |
//! | [`lg`] | an all-to-all among clusters joined by long-distance links |
//! | [`window`] | the octets that may be under way where no block waits for a token |
//! | [`verify`] | checks schedules without knowing how they were planned |
//! | [`program`] | schedules as C programs |
//! | [`json`] | schedules as the contract's JSON |
pub mod aapc;
pub mod allgather;
pub mod alltoall;
pub mod alltoallv;
mod batches;
pub mod bound;
pub mod bundled;
pub mod capacities;
pub mod capacity;
pub mod json;
mod knowledge;
mod known_messages;
pub mod lg;
pub mod message;
pub mod phase_order;
pub mod program;
pub mod random;
pub mod relay;
pub mod root;
pub mod shared_cables;
pub mod stages;
pub mod synchronization;
pub mod transfers;
pub mod verify;
pub mod window;

#[cfg(test)]
mod packed;
