//! No code decides on text for people.
use super::repository::source_files;
use std::collections::BTreeSet;
use std::path::Path;

/// The folders whose code may not decide on text for people.
const ROOMS: &[&str] = &[
    "inventory",
    "schedules",
    "directory",
    "agent",
    "controller",
    "tui",
    "lab",
    "doctor",
    "shim",
    "src",
];

/// Text for people is made in `Display`, and no code reads it again. These files read text that
/// others wrote, each for the reason beside it.
const READS_FOREIGN_TEXT: &[(&str, &str)] = &[(
    "inventory/src/config/inventory_file/credential.rs",
    "the YAML reader's message, of which only the place may be shown: the rest may be a secret",
)];

/// Names of variables that hold text for people. A question about them that holds a literal is a
/// decision on words.
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

/// The methods that ask about a text's content.
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

/// The production code of a file, without comments. Tests come last in a file.
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
    // A chain of calls becomes one line.
    lines.fold(String::new(), |code, line| {
        if line.starts_with('.') {
            code + line
        } else {
            code + "\n" + line
        }
    })
}

/// True if a piece of code ends in a name that holds text for people. A field called `text` does; a
/// variable of that name may hold anything.
fn ends_in_text_for_people(code: &str) -> bool {
    let code = ["as_str()", "as_ref()", "as_deref()"]
        .iter()
        .fold(code, |code, call| {
            code.strip_suffix(&format!(".{call}")).unwrap_or(code)
        });
    TEXT_FOR_PEOPLE.iter().any(|name| {
        code.strip_suffix(*name)
            .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    }) || code.ends_with(".text")
}

/// The lines that decide on text for people.
fn decisions_on_text(code: &str) -> Vec<String> {
    let code = production(code);
    code.lines()
        .filter(|line| {
            let calls = QUESTIONS.iter().flat_map(|question| {
                ["\"", "'", "&format!("].map(|literal| format!(".{question}({literal}"))
            });
            let compares = [" == \"", " != \""].map(str::to_owned);
            calls.chain(compares).any(|needle| {
                line.match_indices(&needle)
                    .any(|(at, _)| ends_in_text_for_people(&line[..at]))
            })
        })
        .map(str::to_owned)
        .collect()
}

/// True if a file belongs to tests.
fn is_of_tests(file: &Path) -> bool {
    file.iter().any(|part| {
        let part = part.to_string_lossy();
        ["tests", "tests.rs"].contains(&&*part) || part.ends_with("_tests.rs")
    })
}

#[test]
fn nothing_is_decided_on_text_for_people() {
    let mut foreign = BTreeSet::new();
    let mut refused = Vec::new();
    for file in source_files()
        .into_iter()
        .filter(|file| ROOMS.iter().any(|room| file.path.starts_with(room)))
    {
        if is_of_tests(&file.path) {
            continue;
        }
        let place = file.path.display().to_string();
        let found = decisions_on_text(&file.code);
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
        "make a type of what is asked here, and a Display of its words:\n{}",
        refused.join("\n")
    );
    let allowed: BTreeSet<String> = READS_FOREIGN_TEXT
        .iter()
        .map(|(place, _)| (*place).to_owned())
        .collect();
    assert_eq!(
        foreign, allowed,
        "take a file that does not read foreign text any more from the list"
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
