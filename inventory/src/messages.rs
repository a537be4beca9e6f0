//! Messages about it: evidence for links, reasons for clusters, alarms, changes.
// A new kind of message is nobody's `_`: whoever tells kinds apart has to say what this one is to him.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod alarm;
pub mod cluster_reason;
pub mod diff;
pub mod evidence;
pub(crate) mod wording;
pub(crate) mod written;
