//! Epoch files: what the controller publishes and the runtime loads. Bytes in, bytes out.
//!
//! ```text
//! current                      "41 sha256:<64 hex digits of the manifest>\n", moved by rename
//! epochs/00000041/
//!     manifest.json            number, time, and the digest of each file below
//!     topology.yaml            the tree as a topology file of the contract, blocked links marked
//!     network.json             the topology as discovered, with evidence (`discover --format json`)
//!     alltoall.plan            the schedule of all hosts, postcard
//!     allgather.json           the ring of all hosts
//!     table.json               the decision table
//! ```
