//! Algorithm selection: the choice of the way that a call goes. Pure, without I/O.
//!
//! ```text
//! times --tuning--> Tuning --model, place--> Table --choose--> Way of a call
//! Tree, block --predict--> seconds of each algorithm        Tree, change --what_if--> bounds
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`call_time`] | the time of an all-to-all by each way, before anybody has measured |
//! | [`calibration`] | the time of a call, from measured ones |
//! | [`decision_table`] | the way at each block size |
//! | [`tuning`] | the measurements, and the table that follows from them |
//! | [`learning`] | the ways of calls, learned while a job runs |
//! | [`learned`] | the figures that jobs learned while they ran |
//! | [`recorded_name`] | names that another version of heddle may have written |
//! | [`shown_rates`] | the links that a call showed to be faster than published |
//! | [`signature`] | the effect of contention on the time of an all-to-all, fitted and predicted |
//! | [`simulate`] | the time that traffic takes on shared cables |
//! | [`noise`] | the error of a difference of two measured figures |
//! | [`predict`] | the time of each algorithm |
//! | [`watched`] | whether measured rates contradict the tree of a plan |
//! | [`what_if`] | the gain from recabling |
pub mod calibration;
pub mod call_time;
pub mod decision_table;
pub mod learned;
pub mod learning;
pub mod noise;
pub mod predict;
pub mod recorded_name;
pub mod shown_rates;
pub mod signature;
pub mod simulate;
pub mod tuning;
pub mod watched;
pub mod what_if;

#[cfg(test)]
#[allow(dead_code, reason = "the tests of schedules use all of it")]
#[path = "../../src/test_trees.rs"]
mod test_trees;
