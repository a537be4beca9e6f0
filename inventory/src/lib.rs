//! What there is: pure, without I/O. Time is an argument.
//!
//! ```text
//! Observation --views--> View per switch --infer--> Topology --tree--> Tree (what schedules plan on)
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`units`] | rates, sizes and times that carry their unit |
//! | [`mac`] | IEEE 802 addresses |
//! | [`topology_file`] | the topology file of the contract (YAML) |
//! | [`inventory_file`] | the operator's inventory: switches to ask, credentials, hosts |
//! | [`secret`] | texts that are never shown |
//! | [`plain`] | foreign text made harmless |
//! | [`observation`] | what one look at one device said |
//! | [`host_report`] | what a host agent says |
//! | [`view`] | the newest word of each device on each table |
//! | [`address`] | where a host is reached on the cluster network |
//! | [`evidence`] | why a link is believed |
//! | [`alarm`] | what an operator should look at |
//! | [`topology`] | nodes and links with evidence and grade |
//! | [`infer`] | views to topology |
//! | [`cluster_reason`] | why hosts are a cluster |
//! | `clusters` | which hosts share a spanning tree without a router, a slow or a long link between them |
//! | [`diff`] | what changed between two topologies |
//! | [`cabling`] | a plan of the cabling, and how what is found differs |
//! | [`export`] | a topology as a drawing, for Graphviz, for Slurm |
//! | [`spanning_tree`] | which links of a topology file spanning tree would let through |
//! | [`tree`] | the rooted tree with capacities that schedules are planned on |
//! | [`ranks`] | ranks by name, several of them on a host |
pub mod address;
pub mod alarm;
pub mod cabling;
pub mod cluster_reason;
mod clusters;
pub mod diff;
pub mod evidence;
pub mod export;
pub mod host_report;
pub mod infer;
pub mod inventory_file;
pub mod mac;
pub mod observation;
mod order;
pub mod plain;
pub mod ranks;
#[cfg(test)]
mod sample;
pub mod secret;
pub mod spanning_tree;
pub mod topology;
pub mod topology_file;
pub mod tree;
mod unique;
pub mod units;
pub mod view;
mod yaml;

pub use mac::Mac;
pub use topology::Topology;
pub use topology_file::TopologyFile;
pub use tree::Tree;
pub use units::{BitsPerSec, Bytes, Millis};
