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
//! `model`, what there is:
//!
//! | module | one idea |
//! |---|---|
//! | [`units`] | rates, sizes and times that carry their unit |
//! | [`mac`] | IEEE 802 addresses |
//! | [`mpi`] | the MPI libraries that heddle serves |
//! | [`observation`] | the result of one look at one device |
//! | [`host_report`] | the report of a host agent |
//! | [`device_view`] | the newest statement of each device on each table |
//! | [`address`] | the address of a host on the cluster network |
//! | [`mapped_place`] | the findings of flows between hosts about a place where no switch answers |
//! | `link_state` | whether a link carries frames |
//! | `node_names` | the names of nodes and networks |
//! | [`topology`] | nodes and links with evidence and grade |
//! | [`descriptions`] | descriptions of ports |
//! | [`difference`] | the parts in which two topologies differ |
//! | [`stages`] | switches and cables side by side, over which flows spread |
//! | [`spanning_tree`] | the links of a topology file that spanning tree would let forward |
//! | [`tree`] | the rooted tree with capacities that schedules are planned on |
//! | [`ranks`] | ranks by name, several of them on a host |
//! | [`natural_order`] | the order in which names are shown |
//! | [`networks`] | several networks in one cluster |
//!
//! `config`, what people write:
//!
//! | module | one idea |
//! |---|---|
//! | [`topology_file`] | the topology file of the contract (YAML) |
//! | `input_file_error` | why an input file cannot be used |
//! | `input_form` | which of the two files somebody gave |
//! | [`inventory_file`] | the operator's inventory: switches to ask, credentials, hosts |
//! | [`host_lists`] | hosts as Slurm, Ansible and launchers list them |
//! | [`secret`] | texts that are never shown |
//! | [`sanitize`] | foreign text made harmless |
//! | [`environment`] | the environment variables of heddle |
//! | [`name_ranges`] | names written as ranges: `node[01-40]` |
//! | [`yaml`] | reading YAML from any source |
//! | [`ranged_keys`] | maps and lists whose names may be ranges |
//! | [`unique_keys`] | maps that refuse equal keys |
//! | [`unreadable`] | why the system gives no file, in words with a way out |
//!
//! `messages`, what is reported of it:
//!
//! | module | one idea |
//! |---|---|
//! | [`evidence`] | the evidence for a link |
//! | [`alarm`] | alarms: problems that an operator should look at |
//! | [`cluster_reason`] | the reasons for a cluster |
//! | [`diff`] | the changes between two topologies, in words |
mod config;
mod messages;
mod model;

pub use config::{
    environment, host_lists, inventory_file, name_ranges, ranged_keys, sanitize, secret,
    topology_file, unique_keys, unreadable, yaml,
};
pub use messages::{alarm, cluster_reason, diff, evidence};
pub use model::{
    address, descriptions, device_view, difference, host_report, mac, mapped_place, mpi,
    natural_order, networks, observation, port_queues, ranks, spanning_tree, stages, topology,
    tree, units,
};

pub use mac::Mac;
pub use messages::wording::{counted, end_name, short_list};
pub use mpi::{Mpi, MpiRoutines};
pub use topology::Topology;
pub use topology_file::TopologyFile;
pub use tree::Tree;
pub use units::{BitsPerSec, Bytes, Millis};
