//! The tarball: an installation that can be unpacked anywhere.
use super::tools::{output_of, packed};
use crate::common::epochs::{FORCED, TREE, shared, ways};
use crate::common::job::{TestJob, compiled};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn the_tarball_is_an_installation_below_opt() {
    let tarballs = packed("tarball");
    let machine = std::env::consts::ARCH;
    let built = tarballs
        .iter()
        .find(|path| {
            path.to_str()
                .unwrap()
                .ends_with(&format!("-{machine}.tar.gz"))
        })
        .unwrap();
    let root = TempDir::new().unwrap();
    output_of(
        Command::new("tar")
            .arg("-xzf")
            .arg(built)
            .arg("-C")
            .arg(root.path()),
    );
    let heddle = root.path().join("opt/heddle");
    let version = output_of(Command::new(heddle.join("bin/heddle")).arg("--version"));
    let lib = heddle.join("lib/heddle").canonicalize().unwrap();
    assert!(
        version.ends_with(&format!(
            "\nbackends: openmpi, mpich, abi ({})\n",
            lib.display()
        )),
        "{version}"
    );
    serves_the_standards_interface(&lib);
    for (file, place) in [
        (
            "share/heddle/modulefiles/heddle",
            "LD_PRELOAD /opt/heddle/lib/heddle/libheddle.so\n",
        ),
        (
            "lib/systemd/system/heddle-controller.service",
            "ExecStart=/opt/heddle/bin/heddle ",
        ),
        (
            "lib/systemd/system/heddle-tokens.service",
            "ExecStart=/opt/heddle/share/heddle/make-tokens ",
        ),
    ] {
        let text = fs::read_to_string(heddle.join(file)).unwrap();
        assert!(text.contains(place), "{file}: {text}");
        for name in ["@LIB@", "@BIN@", "@SHARE@", "@DIR@"] {
            assert!(!text.contains(name), "{file}: {name} is not filled in");
        }
    }
}

/// The backend that needs no MPI to be built serves a job from there as well.
fn serves_the_standards_interface(lib: &Path) {
    const MPI: &str = "mpich5-abi";
    let dir = shared(TREE);
    let output = TestJob::new(MPI, 4)
        .preloaded([lib.join("libheddle.so")])
        .dir(dir.path())
        .env(FORCED.0, FORCED.1)
        .run(&compiled("datatypes.c", MPI, &[]), &[]);
    assert!(output.heddle.is_empty(), "{:?}", output.heddle);
    assert_eq!(ways(dir.path()), ["allgather ring", "alltoall aapc"]);
}
