//! The import table of ARCHITECTURE.md, compared with the dependencies that cargo sees.
use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

/// What each package of the one backend source may import.
const BACKEND: &[&str] = &[
    "passes",
    "presence",
    "runtime",
    "schedules",
    "selection",
    "inventory",
    "directory",
];

/// Package (or the root, `heddle`) and the heddle packages it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("inventory", &[]),
    ("infer", &["inventory"]),
    ("cabling", &["inventory"]),
    ("mapping", &[]),
    ("schedules", &["inventory"]),
    ("selection", &["inventory", "schedules"]),
    ("trace", &["inventory", "schedules", "selection"]),
    ("drawing", &["inventory", "schedules", "selection", "trace"]),
    ("directory", &["inventory", "schedules", "selection"]),
    ("tls", &["inventory"]),
    ("flows", &["inventory", "mapping"]),
    ("agent", &["inventory", "flows", "tls"]),
    ("api", &["inventory", "directory", "selection"]),
    (
        "controller",
        &[
            "api",
            "inventory",
            "infer",
            "schedules",
            "selection",
            "drawing",
            "agent",
            "directory",
            "flows",
            "mapping",
        ],
    ),
    (
        "tui",
        &["api", "inventory", "selection", "directory", "tls"],
    ),
    ("lab", &["inventory"]),
    ("idle", &[]),
    ("fleet", &["inventory"]),
    (
        "demo",
        &[
            "api",
            "inventory",
            "cabling",
            "selection",
            "directory",
            "controller",
            "lab",
        ],
    ),
    (
        "doctor",
        &[
            "inventory",
            "schedules",
            "selection",
            "directory",
            "controller",
        ],
    ),
    ("shim", &["passes", "presence"]),
    ("passes", &[]),
    ("presence", &[]),
    ("wire", &["inventory", "schedules"]),
    (
        "runtime",
        &[
            "schedules",
            "selection",
            "trace",
            "inventory",
            "directory",
            "wire",
        ],
    ),
    ("helper", &["runtime"]),
    ("openmpi", BACKEND),
    ("mpich", BACKEND),
    ("abi", BACKEND),
    ("bench", &[]),
    ("map", &["flows", "inventory", "mapping"]),
    (
        "experiments",
        &["drawing", "inventory", "schedules", "selection"],
    ),
    (
        "heddle",
        &[
            "inventory",
            "infer",
            "cabling",
            "schedules",
            "selection",
            "trace",
            "drawing",
            "agent",
            "api",
            "tls",
            "controller",
            "tui",
            "lab",
            "directory",
            "demo",
            "doctor",
        ],
    ),
];

/// Crates that do no I/O must not be able to: none of these may be among their dependencies, at any
/// depth.
const NO_IO: &[&str] = &[
    "tokio",
    "mio",
    "socket2",
    "nix",
    "ureq",
    "async-snmp",
    "rtnetlink",
];

fn metadata() -> cargo_metadata::Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .exec()
        .expect("cargo metadata")
}

#[test]
fn crates_import_only_what_the_table_allows() {
    let metadata = metadata();
    let table: BTreeMap<&str, BTreeSet<&str>> = MAY_IMPORT
        .iter()
        .map(|(name, may)| (*name, may.iter().copied().collect()))
        .collect();
    let members: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(
        members,
        table.keys().copied().collect(),
        "every workspace member has a row in the table, and every row a member"
    );
    for package in metadata.workspace_packages() {
        let imports = package
            .dependencies
            .iter()
            .filter(|d| d.kind != DependencyKind::Development && members.contains(d.name.as_str()));
        for import in imports {
            assert!(
                table[package.name.as_str()].contains(import.name.as_str()),
                "{} imports {}: not in the table of ARCHITECTURE.md; move the code to where it \
                 may stand",
                package.name,
                import.name
            );
        }
    }
}

#[test]
fn pure_crates_cannot_reach_io() {
    let metadata = metadata();
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let name = |id: &cargo_metadata::PackageId| metadata[id].name.to_string();
    for pure in [
        "inventory",
        "infer",
        "cabling",
        "mapping",
        "schedules",
        "selection",
        "trace",
        "drawing",
        "wire",
    ] {
        let start = metadata
            .workspace_packages()
            .into_iter()
            .find(|p| p.name == pure)
            .expect(pure)
            .id
            .clone();
        let (mut seen, mut todo) = (BTreeSet::new(), vec![start]);
        while let Some(id) = todo.pop() {
            let node = resolve.nodes.iter().find(|n| n.id == id).expect("a node");
            for dep in node
                .deps
                .iter()
                .filter(|d| d.dep_kinds.iter().any(|k| k.kind == DependencyKind::Normal))
            {
                if seen.insert(dep.pkg.clone()) {
                    todo.push(dep.pkg.clone());
                }
            }
        }
        let reached: BTreeSet<String> = seen.iter().map(name).collect();
        let bad: Vec<&&str> = NO_IO.iter().filter(|n| reached.contains(**n)).collect();
        assert!(bad.is_empty(), "{pure} is pure, yet reaches {bad:?}");
    }
}
