//! Helpers that several tests share.
pub(crate) mod daemon;
pub(crate) mod epochs;
pub(crate) mod fetched_mpi;
pub(crate) mod golden;
pub(crate) mod job;
pub(crate) mod killed;
pub(crate) mod lab;
pub(crate) mod machine_share;
pub(crate) mod mpirun;
pub(crate) mod once_each;
pub(crate) mod runtime;
pub(crate) mod same_bytes;
pub(crate) mod schema;
pub(crate) mod stalled_storage;
pub(crate) mod traps;
pub(crate) mod until;
pub(crate) mod walks;

/// Output as text.
pub(crate) fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// A text of a JSON object.
pub(crate) fn word(object: &serde_json::Value, key: &str) -> String {
    object[key].as_str().expect(key).to_owned()
}

/// The program under test.
pub(crate) const HEDDLE: &str = env!("CARGO_BIN_EXE_heddle");
