//! The runtime the tests load, built from this tree.
use super::HEDDLE;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The benchmark of an MPI library, as a word of a command.
pub(crate) fn bench_path(mpi: &str) -> String {
    lib().join(format!("bench-{mpi}")).display().to_string()
}

/// The folder where shim/build.sh puts the libraries. They are built once.
pub(crate) fn lib() -> &'static Path {
    static LIB: OnceLock<PathBuf> = OnceLock::new();
    LIB.get_or_init(|| {
        let folder = Path::new(HEDDLE).parent().expect("a binary is in a folder");
        let target = folder.parent().expect("target/debug is in target");
        let profile = folder.file_name().expect("a profile's name");
        let built = Command::new("shim/build.sh")
            .arg(profile)
            .env("CARGO_TARGET_DIR", target)
            .output()
            .expect("shim/build.sh");
        assert!(
            built.status.success(),
            "shim/build.sh failed:\n{}",
            String::from_utf8_lossy(&built.stderr)
        );
        folder.join("lib")
    })
}
