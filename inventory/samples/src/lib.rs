//! Networks for tests and benchmarks.
//!
//! | module | one idea |
//! |---|---|
//! | [`trees`] | small trees, and random ones |
//! | [`networks`] | the networks of the published figures |
#![allow(
    clippy::unwrap_used,
    reason = "a sample that cannot be read fails its test"
)]
pub mod networks;
pub mod trees;
