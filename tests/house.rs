//! The import table of ARCHITECTURE.md, held against what cargo sees, and that nothing is decided
//! on text for people.
use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Package (or the root, `heddle`) and the heddle packages it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("inventory", &[]),
    ("infer", &["inventory"]),
    ("cabling", &["inventory"]),
    ("schedules", &["inventory"]),
    ("selection", &["inventory", "schedules"]),
    ("directory", &["inventory", "schedules", "selection"]),
    ("agent", &["inventory"]),
    ("api", &["inventory", "directory", "selection"]),
    (
        "controller",
        &[
            "api",
            "inventory",
            "infer",
            "schedules",
            "selection",
            "agent",
            "directory",
        ],
    ),
    ("tui", &["api", "inventory", "selection", "directory"]),
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
    ("shim", &[]),
    (
        "runtime",
        &["schedules", "selection", "inventory", "directory"],
    ),
    ("helper", &["runtime"]),
    (
        "openmpi",
        &[
            "runtime",
            "schedules",
            "selection",
            "inventory",
            "directory",
        ],
    ),
    (
        "mpich",
        &[
            "runtime",
            "schedules",
            "selection",
            "inventory",
            "directory",
        ],
    ),
    ("bench", &[]),
    (
        "heddle",
        &[
            "inventory",
            "infer",
            "cabling",
            "schedules",
            "selection",
            "agent",
            "api",
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
    for pure in ["inventory", "infer", "cabling", "schedules", "selection"] {
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

/// Text for people is made in `Display` and never asked again what it says. These read foreign
/// text, which nobody here words.
const READS_FOREIGN_TEXT: &[(&str, &str)] = &[(
    "inventory/src/inventory_file/credential.rs",
    "the YAML reader's message, of which only the place may be shown: the rest may be a secret",
)];

/// Names that hold text for people: what is asked of them with a literal in hand is a decision on
/// words.
const TEXT_FOR_PEOPLE: &[&str] = &[
    "alarm",
    "about",
    "change",
    "e",
    "err",
    "error",
    "evidence",
    "message",
    "problem",
    "reason",
    "told",
    "to_string()",
    "why",
];

/// What asks a text.
const QUESTIONS: &[&str] = &[
    "contains",
    "starts_with",
    "ends_with",
    "find",
    "rfind",
    "split",
    "split_once",
    "rsplit_once",
    "strip_prefix",
    "strip_suffix",
];

/// The production code of a file without its comments: what is below its tests' begin is theirs.
fn production(code: &str) -> String {
    let tests = [
        "\n#[cfg(test)]\nmod tests {",
        "\n#[cfg(test)]\npub(crate) mod tests {",
    ]
    .iter()
    .filter_map(|begin| code.find(begin))
    .min();
    let lines = code[..tests.unwrap_or(code.len())]
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//"));
    // A chain of calls in one line, however it was broken.
    lines.fold(String::new(), |code, line| {
        if line.starts_with('.') {
            code + line
        } else {
            code + "\n" + line
        }
    })
}

/// Whether a piece of code ends in a name that holds text for people; a field called `text` is one,
/// a variable may be anything.
fn ends_in_text_for_people(code: &str) -> bool {
    let code = ["as_str()", "as_ref()", "as_deref()"]
        .iter()
        .fold(code, |code, call| {
            code.strip_suffix(&format!(".{call}")).unwrap_or(code)
        });
    let named = |name: &&str| {
        code.strip_suffix(*name)
            .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    TEXT_FOR_PEOPLE.iter().any(named) || code.ends_with(".text")
}

/// The lines that decide on text for people.
fn decisions_on_text(code: &str) -> Vec<String> {
    let code = production(code);
    let asks = |line: &str| {
        let calls = QUESTIONS.iter().flat_map(|question| {
            ["\"", "'", "&format!("].map(|literal| format!(".{question}({literal}"))
        });
        let compares = [" == \"", " != \""].map(str::to_owned);
        calls.chain(compares).any(|needle| {
            line.match_indices(&needle)
                .any(|(at, _)| ends_in_text_for_people(&line[..at]))
        })
    };
    code.lines()
        .filter(|line| asks(line))
        .map(str::to_owned)
        .collect()
}

/// The source files of a folder, those of tests left out.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let name = |path: &Path| {
        path.file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let wanted = entries.filter(|path| {
        !["tests", "target", "tests.rs"].contains(&name(path).as_str())
            && !name(path).ends_with("_tests.rs")
    });
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = wanted.partition(|path| path.is_dir());
    let below = folders.iter().flat_map(|folder| sources(folder));
    files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
        .chain(below)
        .collect()
}

#[test]
fn nothing_is_decided_on_text_for_people() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rooms = [
        "inventory",
        "schedules",
        "directory",
        "agent",
        "controller",
        "tui",
        "lab",
        "shim",
        "src",
    ];
    let mut foreign = BTreeSet::new();
    let mut refused = Vec::new();
    for file in rooms.iter().flat_map(|room| sources(&root.join(room))) {
        let place = file
            .strip_prefix(root)
            .expect("below the root")
            .display()
            .to_string();
        let found = decisions_on_text(&std::fs::read_to_string(&file).expect("a source file"));
        if READS_FOREIGN_TEXT
            .iter()
            .any(|(allowed, _)| *allowed == place)
        {
            foreign.extend((!found.is_empty()).then_some(place));
        } else {
            refused.extend(found.into_iter().map(|line| format!("{place}: {line}")));
        }
    }
    assert!(
        refused.is_empty(),
        "make what is asked here a type, and its words its Display:\n{}",
        refused.join("\n")
    );
    let allowed: BTreeSet<String> = READS_FOREIGN_TEXT
        .iter()
        .map(|(place, _)| (*place).to_owned())
        .collect();
    assert_eq!(
        foreign, allowed,
        "what reads foreign text no more leaves the list"
    );
}

#[test]
fn decisions_on_text_are_recognized() {
    for decision in [
        "alarms.retain(|a| !(a.text.contains(\"seen nowhere\") && more));",
        "link.evidence.retain(|e| !e.starts_with(\"rate: \"));",
        "let hint = match error.as_str() {\n    e if e.contains(\"Expired\") => 1,",
        "let names_host = |change: &String| change.split(' ').any(|word| word == host);",
        "if error\n    .to_string()\n    .ends_with(\"refused\") {",
        "if way.to_string() == \"native\" {",
        "own.filter(|e| told.contains(&format!(\"host {host}\")))",
    ] {
        assert_eq!(decisions_on_text(decision).len(), 1, "{decision}");
    }
    for other in [
        "let (name, port) = text.split_once('=')?;",
        "// e.contains(\"what a comment says\")",
        "fn f() {}\n#[cfg(test)]\nmod tests \
         {\n    assert!(problem.contains(\"what a test reads\"));\n}",
        "let seen = told.contains(&host);",
        "line.contains(\"bytes on a wire\")",
    ] {
        assert_eq!(decisions_on_text(other), [""; 0], "{other}");
    }
}
