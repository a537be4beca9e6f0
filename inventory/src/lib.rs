//! The model of a network, as pure code: no I/O, and time is an argument.
//!
//! ```text
//! observation --device_view--> a view of each switch --infer--> topology --tree--> tree that
//! schedules are planned on
//! ```
//!
//! The step `infer` is a crate of its own. The crate `cabling` writes a topology for people and
//! other tools.
//!
//! | module | one idea |
//! |---|---|
//! | [`units`] | rates, sizes and times that carry their unit |
//! | [`mac`] | IEEE 802 addresses |
//! | [`mpi`] | the MPI libraries that heddle serves |
//! | [`topology_file`] | the topology file of the contract (YAML) |
//! | `input_file_error` | why an input file cannot be used |
//! | `input_form` | which of the two files somebody gave |
//! | [`inventory_file`] | the operator's inventory: switches to ask, credentials, hosts |
//! | [`host_lists`] | hosts as Slurm, Ansible and launchers list them |
//! | [`secret`] | texts that are never shown |
//! | [`sanitize`] | foreign text made harmless |
//! | [`observation`] | the result of one look at one device |
//! | [`host_report`] | the report of a host agent |
//! | [`device_view`] | the newest statement of each device on each table |
//! | [`address`] | the address of a host on the cluster network |
//! | [`environment`] | the environment variables of heddle |
//! | [`mapped_place`] | the findings of flows between hosts about a place where no switch answers |
//! | [`evidence`] | the evidence for a link |
//! | [`alarm`] | alarms: problems that an operator should look at |
//! | `link_state` | whether a link carries frames |
//! | `node_names` | the names of nodes and networks |
//! | [`topology`] | nodes and links with evidence and grade |
//! | [`cluster_reason`] | the reasons for a cluster |
//! | [`descriptions`] | descriptions of ports |
//! | [`difference`] | the parts in which two topologies differ |
//! | [`diff`] | the changes between two topologies, in words |
//! | [`stages`] | switches and cables side by side, over which flows spread |
//! | [`spanning_tree`] | the links of a topology file that spanning tree would let forward |
//! | [`tree`] | the rooted tree with capacities that schedules are planned on |
//! | [`ranks`] | ranks by name, several of them on a host |
//! | [`natural_order`] | the order in which names are shown |
//! | [`name_ranges`] | names written as ranges: `node[01-40]` |
//! | [`networks`] | several networks in one cluster |
//! | [`yaml`] | reading YAML from any source |
//! | [`ranged_keys`] | maps and lists whose names may be ranges |
//! | [`unique_keys`] | maps that refuse equal keys |
//! | [`unreadable`] | why the system gives no file, in words with a way out |
pub mod address;
pub mod alarm;
pub mod cluster_reason;
pub mod descriptions;
pub mod device_view;
pub mod diff;
pub mod difference;
pub mod environment;
pub mod evidence;
pub mod host_lists;
pub mod host_report;
mod input_file_error;
mod input_form;
pub mod inventory_file;
mod link_state;
pub mod mac;
pub mod mapped_place;
pub mod mpi;
pub mod name_ranges;
pub mod natural_order;
pub mod networks;
mod node_names;
pub mod observation;
pub mod ranged_keys;
pub mod ranks;
pub mod sanitize;
pub mod secret;
pub mod spanning_tree;
pub mod stages;
pub mod topology;
pub mod topology_file;
pub mod tree;
pub mod unique_keys;
pub mod units;
pub mod unreadable;
mod wording;
pub mod yaml;

pub use mac::Mac;
pub use mpi::{Mpi, MpiRoutines};
pub use topology::Topology;
pub use topology_file::TopologyFile;
pub use tree::Tree;
pub use units::{BitsPerSec, Bytes, Millis};
pub use wording::{counted, short_list};
