//! Shared directories that no rank can use, or only some ranks.
use super::SMALL;
use crate::common::epochs::{AT_ONCE, FORCED, TREE, shared, ways};
use crate::common::job::{BOTH, TestJob};
use crate::common::runtime::lib;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A directory that cannot be used: the change that breaks it, and the text that the line must
/// hold.
type DirectoryDamage = (&'static str, fn(&Path), &'static str);

const DAMAGES: [DirectoryDamage; 11] = [
    (
        "missing",
        |dir| fs::remove_dir_all(dir).unwrap(),
        "no such directory",
    ),
    (
        "empty",
        |dir| fs::remove_file(dir.join("current")).unwrap(),
        "no epoch published yet",
    ),
    (
        "pointer cut",
        |dir| fs::write(dir.join("current"), "1 sha256:0123").unwrap(),
        "expected an epoch number",
    ),
    (
        "foreign",
        |dir| fs::write(dir.join("current"), [0xff, 0, 0xfe]).unwrap(),
        "expected an epoch number",
    ),
    (
        "manifest missing",
        |dir| fs::remove_file(dir.join("epochs/00000001/manifest.json")).unwrap(),
        "manifest.json",
    ),
    (
        "half a topology",
        |dir| halve(&dir.join("epochs/00000001/topology.yaml")),
        "topology.yaml",
    ),
    (
        "a topology with a byte changed",
        |dir| change(&dir.join("epochs/00000001/topology.yaml")),
        "topology.yaml",
    ),
    (
        "unreadable",
        |dir| fs::set_permissions(dir.join("epochs"), Permissions::from_mode(0o000)).unwrap(),
        "Permission denied",
    ),
    (
        "a pipe for the pointer",
        |dir| pipe(&dir.join("current")),
        "current: not a regular file",
    ),
    (
        "a pipe for the manifest",
        |dir| pipe(&dir.join("epochs/00000001/manifest.json")),
        "manifest.json: not a regular file",
    ),
    (
        "a directory for a file",
        |dir| {
            fs::remove_file(dir.join("current"))
                .and_then(|()| fs::create_dir(dir.join("current")))
                .unwrap()
        },
        "current",
    ),
];

fn halve(file: &Path) {
    let bytes = fs::read(file).unwrap();
    fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
}

fn change(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// To open a FIFO for reading waits for a writer, and none comes.
fn pipe(file: &Path) {
    fs::remove_file(file).unwrap();
    let made = Command::new("mkfifo")
        .arg(file)
        .status()
        .expect("mkfifo, of coreutils");
    assert!(made.success(), "mkfifo {}: {made}", file.display());
}

/// The arguments of setpriv for a program that obeys file modes, which root does not obey
/// otherwise.
const LIKE_ANYBODY: [&str; 2] = ["--bounding-set", "-dac_override,-dac_read_search"];

#[test]
fn an_unusable_directory_gives_one_line_and_the_librarys_own_routine() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let arguments = [
            &LIKE_ANYBODY[..],
            &[bench.to_str().expect("a plain path")],
            &SMALL,
        ]
        .concat();
        for (name, damage, line) in DAMAGES {
            let dir = shared(TREE);
            damage(dir.path());
            let output = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .run(Path::new("/usr/bin/setpriv"), &arguments);
            assert_eq!(
                output.out.matches("every byte checked").count(),
                2,
                "{name} on {mpi}: {}",
                output.out
            );
            assert_eq!(
                output.heddle.len(),
                1,
                "{name} on {mpi}: {:?}",
                output.heddle
            );
            assert!(
                output.heddle[0].contains(line),
                "{name} on {mpi}: {:?}",
                output.heddle
            );
            if dir.path().is_dir() {
                assert_eq!(
                    ways(dir.path()),
                    ["allgather native", "alltoall native"],
                    "{name} on {mpi}"
                );
            }
        }
        let output = TestJob::new(mpi, 4)
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&bench, &SMALL);
        output.says_only("HEDDLE_DIR is not set");
    }
}

#[test]
fn only_rank_0_need_see_the_directory() {
    for mpi in BOTH {
        let bench = lib().join(format!("bench-{mpi}"));
        let dir = shared(TREE);
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env("DIR_OF_OTHERS", "/nonexistent")
            .env(FORCED.0, FORCED.1)
            .run(&bench, &SMALL);
        assert_eq!(
            (
                output.out.matches("every byte checked").count(),
                output.heddle.len()
            ),
            (2, 0),
            "{mpi}"
        );
        assert_eq!(ways(dir.path()), ["allgather ring", "alltoall aapc"]);

        let others = dir.path().to_str().unwrap();
        let output = TestJob::new(mpi, 4)
            .env("HEDDLE_DIR", "/nonexistent")
            .env("DIR_OF_OTHERS", others)
            .env(FORCED.0, FORCED.1)
            .run(&bench, &SMALL);
        assert_eq!(
            (
                output.out.matches("every byte checked").count(),
                output.heddle.len()
            ),
            (2, 1),
            "{mpi}: {:?}",
            output.heddle
        );
    }
}
