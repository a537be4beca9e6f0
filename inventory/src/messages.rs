//! Messages about it: evidence for links, reasons for clusters, alarms, changes.
pub mod alarm;
pub mod cluster_reason;
pub mod diff;
pub mod evidence;
pub(crate) mod wording;
