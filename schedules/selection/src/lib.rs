//! Which way a call goes (algorithm selection): pure, without I/O.
//!
//! ```text
//! times --tuning--> Tuning --model, place--> Table --choose--> Way of a call
//! Tree, block --predict--> seconds of each algorithm        Tree, change --what_if--> bounds
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`decision_table`] | which way at which block size |
//! | [`tuning`] | what was measured, and the table that follows from it |
//! | [`signature`] | what contention does to the time of an all-to-all, fitted and predicted |
//! | [`simulate`] | how long traffic takes on cables that are shared |
//! | [`predict`] | which algorithm takes how long |
//! | [`what_if`] | what recabling would gain |
pub mod decision_table;
pub mod predict;
pub mod signature;
pub mod simulate;
pub mod tuning;
pub mod what_if;

#[cfg(test)]
#[allow(dead_code, reason = "the tests of schedules use all of it")]
#[path = "../../src/test_trees.rs"]
mod test_trees;
