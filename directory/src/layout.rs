//! The names of files and folders in the shared directory, and the longest length of each file.
use policy::learned::figures;
use policy::measurements;

/// The version of an epoch's files. Another one means that older readers cannot use them.
pub const EPOCH_FORMAT: u32 = 1;

/// The lock of the one publisher.
pub const LOCK: &str = ".lock";
/// The pointer to the current epoch.
pub const CURRENT: &str = "current";
/// The folder of epochs.
pub const EPOCHS: &str = "epochs";
/// The folder of job records.
pub const JOBS: &str = "jobs";

/// In an epoch: number, time, heddle's version, length and digest of each other file.
pub const MANIFEST: &str = "manifest.json";
/// In an epoch: the tree as a topology file, blocked links marked.
pub const TOPOLOGY: &str = "topology.yaml";
/// In an epoch: the topology as discovered, with evidence.
pub const NETWORK: &str = "network.json";
/// In an epoch: the all-to-all of all hosts.
pub const ALLTOALL: &str = "alltoall.plan";
/// In an epoch: the ring of all hosts.
pub const ALLGATHER: &str = "allgather.json";
/// In an epoch: the decision table.
pub const TABLE: &str = "table.json";
/// In an epoch and beside all of them: the measurements from which a decision table follows.
pub const TUNING: &str = "tuning.json";
/// In an epoch and beside all of them: the figures that jobs learned.
pub const LEARNED: &str = "learned.json";
/// In an epoch of several networks: their names and prefixes, the main one first.
pub const NETWORKS: &str = "networks.json";
/// In an epoch: what answers along the ways of routed fabrics.
pub const HOPS: &str = "hops.json";
/// In an epoch: flows whose ways are known where nothing answers.
pub const FLOWS: &str = "flows.json";
/// The findings of flows between hosts about unmanaged places.
pub const MAPPED: &str = "mapped.json";

/// The operator's order to publish an earlier epoch again.
pub const ROLLBACK: &str = "rollback.json";

/// The longest file of each name that is read. The limit of the plan allows sixteen octets for each
/// message of the most hosts. The limit of the pointer allows 20 digits, a blank and a digest.
const LIMITS: [(&str, u64); 14] = [
    (CURRENT, 128),
    (MANIFEST, 64 << 10),
    (TOPOLOGY, 16 << 20),
    (NETWORK, 64 << 20),
    (NETWORKS, 1 << 20),
    (HOPS, 16 << 20),
    (FLOWS, 16 << 20),
    (ALLTOALL, 256 << 20),
    (ALLGATHER, 8 << 20),
    (TABLE, 256 << 10),
    (TUNING, measurements::MOST_BYTES),
    (LEARNED, figures::MOST_BYTES),
    (MAPPED, 4 << 20),
    (ROLLBACK, 256),
];

/// The longest job record that is read: some thousand host names.
pub const JOB_RECORD_LIMIT: u64 = 256 << 10;

/// The file of a job record in [`JOBS`].
pub fn record_file(id: &str) -> String {
    format!("{id}.json")
}

/// The id of a job record from the name of its file; `None` for any other file.
pub fn record_id(name: &str) -> Option<&str> {
    name.strip_suffix(".json")
}

/// True if a file of this name in [`JOBS`] is a job record that is still being written.
pub fn is_unfinished_record(name: &str) -> bool {
    name.ends_with(".new")
}

/// The path in an epoch of a file of a further network: `networks/management/topology.yaml`.
pub fn in_network(network: &str, file: &str) -> String {
    format!("networks/{network}/{file}")
}

/// The most octets of a file of this name, in an epoch's folder or a network's; none if it has no place
/// here.
pub fn limit(file: &str) -> u64 {
    let file = file.rsplit_once('/').map_or(file, |(_, name)| name);
    LIMITS
        .iter()
        .find(|(name, _)| *name == file)
        .map_or(0, |&(_, limit)| limit)
}

/// The folder of an epoch below [`EPOCHS`]: `00000041`.
pub fn folder_name(number: u64) -> String {
    format!("{number:08}")
}

/// The folder of an epoch in the shared directory: `epochs/00000041`.
pub fn folder(number: u64) -> String {
    format!("{EPOCHS}/{}", folder_name(number))
}
