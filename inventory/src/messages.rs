//! Messages about it: evidence for links, reasons for clusters, alarms, changes.
// A match names every kind of message, so that the compiler asks about a new one.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod alarm;
pub mod cluster_reason;
pub mod diff;
pub mod evidence;
pub(crate) mod wording;
pub(crate) mod written;
