//! Forecasts of calls, and comparisons with measurements. Pure; no job preloads it.
//!
//! ```text
//! times --tuning--> TuningRun --model, place--> DecisionTable
//! Tree, block --predict--> seconds of each algorithm        Tree, change --what_if--> bounds
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`calibration`] | the time of a call, from measured ones |
//! | [`predict`] | the time of each algorithm |
//! | [`signature`] | the effect of contention on the time of an all-to-all, fitted and predicted |
//! | [`tuning`] | the measurements, and the table that follows from them |
//! | [`what_if`] | the gain from recabling |
pub mod calibration;
pub mod predict;
pub mod signature;
pub mod tuning;
pub mod what_if;
