//! What this machine lacks to run heddle, and what MPI jobs find on it.
//!
//! | module | one idea |
//! |---|---|
//! | [`needs`] | what heddle uses, and what gives it |
//! | [`probe`] | whether something is there |
//! | [`jobs`] | what a job started from here would find, and do |
pub mod jobs;
pub mod needs;
pub mod probe;
