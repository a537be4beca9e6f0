//! Networks too large, too broken or too many to be built out of kernel namespaces, for tests and
//! benchmarks.
//!
//! A generated network is its truth (which cable joins what) and what its devices say of it, as
//! [`inventory::device_view::DeviceViews`]: with silent switches, stale rows and aggregates where asked for. The same views can be
//! judged directly, or served by SNMP from one process.
//!
//! | module | one idea |
//! |---|---|
//! | [`network`] | a network drawn from a seed |
//! | [`mib`] | a view as the MIB rows it was read from |
//! | [`responder`] | many devices in one process, by SNMP |
pub mod mib;
pub mod network;
pub mod responder;
