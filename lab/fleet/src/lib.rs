//! Networks too large, too broken or too many to be built out of kernel namespaces, for tests and
//! benchmarks.
//!
//! A generated network is its true cabling and the statements of its devices, as
//! [`inventory::device_view::DeviceViews`], on request with silent switches, stale rows and
//! aggregates. The views can be used directly, or served by SNMP from one process.
//!
//! | module | one idea |
//! |---|---|
//! | [`network`] | a network drawn from a seed |
//! | [`mib`] | the MIB rows of a view |
//! | [`responder`] | many devices in one process, by SNMP |
pub mod mib;
pub mod network;
pub mod responder;
