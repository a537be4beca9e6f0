//! docs/tui.md has the keys, commands and columns of the tables here; `UPDATE_GOLDEN=1` writes them.
use crate::commands::COMMANDS;
use crate::keys::{KeyContext, KeyTable, label};
use crate::panels::PANELS;
use std::fmt::Write;
use std::path::Path;

fn keys() -> String {
    let table = KeyTable::default();
    let mut text = "| Keys | Action | Name |\n|---|---|---|\n".to_owned();
    for context in [KeyContext::Browse, KeyContext::Lab] {
        for (binding, keys) in table.in_context(context) {
            let lab = if context == KeyContext::Lab {
                " (with a lab)"
            } else {
                ""
            };
            let keys = label(keys).replace(' ', "` `");
            let _ = writeln!(
                text,
                "| `{keys}` | {}{lab} | {} |",
                binding.help, binding.name
            );
        }
    }
    text
}

fn commands() -> String {
    let mut text = "| Command | What it does |\n|---|---|\n".to_owned();
    for (name, words, help) in COMMANDS {
        let words = words.replace('|', "\\|");
        let _ = writeln!(text, "| `:{name} {words}` | {help} |");
    }
    text
}

fn columns() -> String {
    let mut text = "| Panel | Column | Title | What it shows |\n|---|---|---|---|\n".to_owned();
    for panel in PANELS {
        let title = panel.title.to_lowercase();
        for column in panel.columns {
            let (name, head, help) = (column.name, column.title, column.help);
            let _ = writeln!(text, "| {title} | {name} | {head} | {help} |");
        }
    }
    text
}

#[test]
fn the_document_has_what_the_tables_have() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tui.md");
    let document = std::fs::read_to_string(&file).unwrap();
    let mut wanted = document.clone();
    for (name, table) in [
        ("keys", keys()),
        ("commands", commands()),
        ("columns", columns()),
    ] {
        let (begin, end) = (
            format!("<!-- {name} -->\n"),
            format!("<!-- end of {name} -->"),
        );
        let from = wanted.find(&begin).expect("the mark of a table") + begin.len();
        let to = wanted.find(&end).expect("the end of a table");
        wanted.replace_range(from..to, &format!("\n{table}\n"));
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    } else {
        assert!(
            document == wanted,
            "docs/tui.md differs; UPDATE_GOLDEN=1 writes it"
        );
    }
}
