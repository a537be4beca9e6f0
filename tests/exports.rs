//! The output of `heddle discover` for other programs, as those programs read it: Graphviz.
use crate::common::golden::folder;
use crate::common::walks::demo_walks;
use crate::common::{HEDDLE, word};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A host and a port as nobody should name them.
const HOST: &str = r#"n"3\N -- x; <b>{y}|#/*"#;
const PORT: &str = r#"swp:"3\"#;

/// The demo's walks, where n3 and its switch port have the names above.
fn hostile_walks() -> tempfile::TempDir {
    demo_walks(|text| {
        text.lines()
            .map(|line| {
                line.replace("|4|n3", &format!("|4|{HOST}"))
                    .replace("|4|swp3", &format!("|4|{PORT}"))
                    + "\n"
            })
            .collect()
    })
}

/// A program's output for a text, if the program accepts the text without a warning.
fn taken(program: &mut Command, text: &str) -> String {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{answer}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    answer
}

fn discovered(walks: &Path, format: &str) -> String {
    taken(
        Command::new(HEDDLE)
            .args(["discover", "--format", format, "--walks"])
            .arg(walks),
        "",
    )
}

/// The names of nodes, and the ends of links.
type DrawnNetwork = (BTreeSet<String>, BTreeSet<Vec<String>>);

/// Graphviz cannot have every port's name for a cell: the cells of others have numbers.
fn cell(port: &str) -> &str {
    match port.starts_with("port ") || port.contains(['"', ':', '\\']) {
        true => "numbered",
        false => port,
    }
}

/// The names and ends as `heddle` writes them.
fn found(walks: &Path) -> DrawnNetwork {
    let network: Value = serde_json::from_str(&discovered(walks, "json")).unwrap();
    let end = |link: &Value, node, port| [word(link, node), cell(&word(link, port)).to_owned()];
    (
        list("nodes", &network)
            .iter()
            .map(|n| word(n, "name"))
            .collect(),
        list("links", &network)
            .iter()
            .map(|link| [end(link, "a", "a_port"), end(link, "b", "b_port")].concat())
            .collect(),
    )
}

fn list<'v>(key: &str, network: &'v Value) -> &'v [Value] {
    network[key].as_array().unwrap()
}

/// The names and ends as Graphviz reads them. In names it leaves a doubled backslash as it is, and
/// shows one (its manual, "The DOT Language").
fn drawn(file: &str) -> DrawnNetwork {
    let network: Value =
        serde_json::from_str(&taken(Command::new("dot").arg("-Tdot_json"), file)).unwrap();
    let node = |v: &Value| {
        unescaped(&network["objects"][usize::try_from(v.as_u64().unwrap()).unwrap()]["name"])
    };
    (
        network["objects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| unescaped(&n["name"]))
            .collect(),
        network["edges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| {
                vec![
                    node(&e["tail"]),
                    cell(&unescaped(&e["tailport"])).to_owned(),
                    node(&e["head"]),
                    cell(&unescaped(&e["headport"])).to_owned(),
                ]
            })
            .collect(),
    )
}

fn unescaped(v: &Value) -> String {
    v.as_str().unwrap_or_default().replace(r"\\", r"\")
}

#[test]
fn graphviz_reads_every_node_and_link_and_check_the_same_file() {
    let hostile = hostile_walks();
    for walks in [folder("walks").join("demo"), hostile.path().to_owned()] {
        let (file, found) = (discovered(&walks, "dot"), found(&walks));
        assert_eq!((found.0.len(), found.1.len()), (16, 16), "{file}");
        assert_eq!(drawn(&file), found);
        assert_eq!(
            drawn(&taken(Command::new("dot").arg("-Tcanon"), &file)),
            found,
            "Graphviz's own form says the same"
        );
        let picture = taken(Command::new("dot").arg("-Tsvg"), &file);
        for shown in [
            "swp4",
            "eth0",
            "20M bottleneck",
            "20M blocked",
            "root bridge",
        ] {
            assert!(picture.contains(shown), "{shown} is missing in {picture}");
        }

        let plan = tempfile::NamedTempFile::new().unwrap();
        fs::write(plan.path(), &file).unwrap();
        let mut check = Command::new(HEDDLE);
        let report = taken(
            check
                .arg("check")
                .arg("--plan")
                .arg(plan.path())
                .arg("--walks")
                .arg(&walks),
            "",
        );
        assert!(report.ends_with("ok: 16 cables as planned\n"), "{report}");
    }
    let (nodes, links) = found(hostile.path());
    assert!(
        nodes.contains(HOST)
            && links.contains(
                ["s1", cell(PORT), HOST, "eth0"]
                    .map(str::to_owned)
                    .as_slice()
            ),
        "{links:?}"
    );
}
