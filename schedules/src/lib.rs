//! What to send when: pure, without I/O. Host numbers are those of [`inventory::Tree`].
//!
//! ```text
//! Tree --bound--> Bound        Tree --aapc--> phases --sync--> Alltoall --verify--> Epoch --files--> shared directory
//! ```
pub mod alltoall;
pub mod epoch;
pub mod job;
