//! The import table of ARCHITECTURE.md, compared with the dependencies that cargo sees.
use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

/// The packages that each package of the one backend source may import.
const BACKEND: &[&str] = &[
    "passes",
    "presence",
    "runtime",
    "schedules",
    "policy",
    "simulation",
    "inventory",
    "directory",
];

/// Package (or the root, `heddle`) and the heddle packages it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("inventory", &[]),
    ("infer", &["inventory"]),
    ("cabling", &["inventory"]),
    ("mapping", &[]),
    ("samples", &["inventory"]),
    ("schedules", &["inventory"]),
    ("policy", &["inventory", "schedules"]),
    ("simulation", &["inventory", "schedules"]),
    (
        "forecast",
        &["inventory", "schedules", "policy", "simulation"],
    ),
    ("trace", &["inventory", "schedules", "policy"]),
    ("drawing", &["inventory", "schedules", "policy", "trace"]),
    ("directory", &["inventory", "schedules", "policy"]),
    ("tls", &["inventory"]),
    ("flows", &["inventory", "mapping"]),
    ("agent", &["inventory", "flows", "tls"]),
    ("api", &["inventory", "directory"]),
    (
        "controller",
        &[
            "api",
            "inventory",
            "infer",
            "schedules",
            "policy",
            "simulation",
            "forecast",
            "drawing",
            "agent",
            "directory",
            "flows",
            "mapping",
        ],
    ),
    ("tui", &["api", "inventory", "policy", "directory", "tls"]),
    ("lab", &["inventory"]),
    ("idle", &[]),
    ("fleet", &["inventory"]),
    (
        "demo",
        &[
            "api",
            "inventory",
            "cabling",
            "policy",
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
            "policy",
            "forecast",
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
            "policy",
            "simulation",
            "trace",
            "inventory",
            "directory",
            "presence",
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
        &["drawing", "inventory", "samples", "schedules", "forecast"],
    ),
    (
        "heddle",
        &[
            "inventory",
            "infer",
            "cabling",
            "schedules",
            "policy",
            "simulation",
            "forecast",
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

/// The packages that a package depends on, at any depth.
fn reached(metadata: &cargo_metadata::Metadata, package: &str) -> BTreeSet<String> {
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let members = metadata.workspace_packages();
    let start = members.iter().find(|p| p.name == package).expect(package);
    let (mut seen, mut todo) = (BTreeSet::new(), vec![&start.id]);
    while let Some(id) = todo.pop() {
        let node = resolve.nodes.iter().find(|n| n.id == *id).expect("a node");
        for dep in node
            .deps
            .iter()
            .filter(|d| d.dep_kinds.iter().any(|k| k.kind == DependencyKind::Normal))
        {
            if seen.insert(metadata[&dep.pkg].name.to_string()) {
                todo.push(&dep.pkg);
            }
        }
    }
    seen
}

#[test]
fn pure_crates_cannot_reach_io() {
    let metadata = metadata();
    for pure in
        "inventory infer cabling mapping schedules policy simulation forecast trace drawing wire"
            .split(' ')
    {
        let reached = reached(&metadata, pure);
        let bad: Vec<&&str> = NO_IO.iter().filter(|n| reached.contains(**n)).collect();
        assert!(bad.is_empty(), "{pure} is pure, yet reaches {bad:?}");
    }
}

/// The library that jobs preload, and what reads and writes for it, stay small.
#[test]
fn no_job_preloads_forecasts() {
    let metadata = metadata();
    for preloaded in ["runtime", "helper", "openmpi", "mpich", "abi"] {
        let reached = reached(&metadata, preloaded);
        assert!(reached.contains("policy"), "{preloaded} decides by policy");
        assert!(
            !reached.contains("forecast"),
            "{preloaded} is preloaded, yet reaches forecast"
        );
    }
}
