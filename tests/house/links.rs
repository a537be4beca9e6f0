//! The documents: links between them lead somewhere, their lines fit a terminal, and the first ones are short.
use super::repository::{SourceFile, documents};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A line of prose has at most this many characters. Rows of tables and examples may be longer.
const MOST_COLUMNS: usize = 120;

/// The documents that everybody reads first, with their most words, as `wc -w` counts them.
const MOST_WORDS: &[(&str, usize)] = &[("README.md", 1200), ("ARCHITECTURE.md", 900)];

/// The most words of all documents together. A new page makes room for itself: one fact stands on one
/// page, and figures are rows of docs/figures.md.
const MOST_WORDS_OF_ALL: usize = 42_000;

/// The lines outside of examples, with their numbers from 1 on. An example is indented by four
/// columns after an empty line, or stands between fences.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let (mut fenced, mut example, mut empty) = (false, false, true);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        example = line.starts_with("    ") && (example || empty);
        empty = line.trim().is_empty();
        if !(fence || fenced || example || empty) {
            lines.push((number, line));
        }
    }
    lines
}

/// The targets of a line's links: `to` of `[text](to)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

/// The anchors of a document's headings, as forges make them.
fn anchors(text: &str) -> Vec<String> {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text)
        .into_iter()
        .filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let times = taken.entry(anchor.clone()).or_default();
            *times += 1;
            match *times {
                1 => anchor,
                again => format!("{anchor}-{}", again - 1),
            }
        })
        .collect()
}

/// `docs/decisions/../tuning.md` becomes `docs/tuning.md`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The folder from which a document's links count: a page that a program fills in is read in
/// `docs/`.
fn folder_of(document: &Path) -> &Path {
    if document.starts_with("experiments") {
        return Path::new("docs");
    }
    document.parent().expect("a file is in a folder")
}

/// The problem with a link, if it leads nowhere.
fn dead_link(document: &SourceFile, target: &str) -> Option<&'static str> {
    if target.contains("://") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.path.clone(),
        file => without_dots(&folder_of(&document.path).join(file)),
    };
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if !found.exists() {
        return Some("no such file");
    }
    if anchor.is_empty() {
        return None;
    }
    let text = fs::read_to_string(found).expect("a document");
    let known = anchors(&text).iter().any(|heading| heading == anchor);
    (!known).then_some("no such heading")
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut dead = Vec::new();
    let mut links = 0;
    for document in documents() {
        for (number, line) in prose(&document.code) {
            for target in targets(line) {
                links += 1;
                let problem = dead_link(&document, target);
                let place = format!("{}:{number}: {target}", document.path.display());
                dead.extend(problem.map(|problem| format!("{place}: {problem}")));
            }
        }
    }
    assert!(links > 100, "only {links} links were found");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn every_document_is_in_the_index_of_its_folder() {
    for folder in ["docs", "docs/decisions"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let index = fs::read_to_string(root.join("README.md")).expect("an index");
        let named: Vec<&str> = index.lines().flat_map(targets).collect();
        let missing: Vec<PathBuf> = documents()
            .into_iter()
            .map(|document| document.path)
            .filter(|path| path.parent() == Some(Path::new(folder)))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name != "README.md" && !named.contains(&&*name)
            })
            .collect();
        assert!(missing.is_empty(), "{folder}/README.md: {missing:?}");
    }
}

#[test]
fn prose_fits_a_terminal() {
    let mut wide = Vec::new();
    for document in documents() {
        // The list of changes is as wide as it was begun.
        if document.path == Path::new("CHANGELOG.md") {
            continue;
        }
        for (number, line) in prose(&document.code) {
            let columns = line.chars().count();
            if columns > MOST_COLUMNS && !line.contains('|') {
                wide.push(format!("{}:{number}: {columns}", document.path.display()));
            }
        }
    }
    assert!(
        wide.is_empty(),
        "break these lines at {MOST_COLUMNS} columns:\n{}",
        wide.join("\n")
    );
}

#[test]
fn the_first_documents_are_short() {
    for (document, most) in MOST_WORDS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
        let text = fs::read_to_string(path).expect("a document");
        let words = text.split_whitespace().count();
        assert!(words <= *most, "{document}: {words} words, at most {most}");
    }
}

#[test]
fn the_documents_together_are_short() {
    let words: usize = documents()
        .iter()
        .map(|document| document.code.split_whitespace().count())
        .sum();
    assert!(
        words <= MOST_WORDS_OF_ALL,
        "all documents: {words} words, at most {MOST_WORDS_OF_ALL}"
    );
}

#[test]
fn headings_become_anchors_and_examples_do_not_count() {
    let text = "# One `two`, three\n\n    # an example\n\n```\n# another\n```\n## Same\n## Same\n";
    assert_eq!(anchors(text), ["one-two-three", "same", "same-1"]);
    let line = "see [a](b.md#c) and [d](e.md)";
    assert_eq!(targets(line).collect::<Vec<_>>(), ["b.md#c", "e.md"]);
    assert_eq!(
        without_dots(Path::new("docs/decisions/../x.md")),
        Path::new("docs/x.md")
    );
}
