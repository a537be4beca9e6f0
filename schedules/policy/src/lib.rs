//! The choice of the way that a call goes. Pure, and part of the library that jobs preload.
//!
//! ```text
//! Tree, hosts of ranks --unmeasured--> DecisionTable --with_learned--> PolicyGrounds
//! PolicyGrounds, times of calls --CallPolicy--> CallDecision
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`call_policy`] | the decision about a call |
//! | [`call_time`] | the time of an all-to-all by each way, before anybody has measured |
//! | [`decision_table`] | the way at each block size |
//! | [`forced`] | ways that somebody forces |
//! | [`learned`] | the figures that jobs learned while they ran |
//! | [`learning`] | the ways of calls, learned while a job runs |
//! | [`library_routine`] | the algorithm that a library chooses |
//! | [`measurements`] | the file of `heddle tune` |
//! | [`noise`] | the error of a difference of two measured figures |
//! | [`recorded_name`] | names that another version of heddle may have written |
//! | [`shown_rates`] | the links that a call showed to be faster than published |
//! | [`ways`] | the ways, one file each |
pub mod call_policy;
pub mod call_time;
pub mod decision_table;
pub mod forced;
pub mod learned;
pub mod learning;
pub mod library_routine;
pub mod measurements;
pub mod noise;
pub mod recorded_name;
pub mod shown_rates;
pub mod ways;
