//! The only reader of YAML files.
//!
//! The parser's time grows with the square of the depth to which brackets are nested: a file of a
//! megabyte can take it minutes. So brackets are counted first. The parser itself bounds the
//! nesting of everything else and the number of aliases that are followed.
mod brackets;
mod refusal;
mod text_place;

pub use text_place::{PlaceStep, line_of};

use crate::config::input_file_error::InputFileError;
use serde::de::DeserializeOwned;

/// The deepest nesting of brackets; files of heddle need only a few levels.
const MOST_DEEP: usize = 32;

/// Reads a file; its name is used only in messages.
///
/// # Errors
/// [`InputFileError`] with the line for a text that cannot be read as a `T`.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, InputFileError> {
    if let Some(line) = brackets::line_nested_deeper(text, MOST_DEEP) {
        let problem = format!(
            "brackets are nested deeper than {MOST_DEEP}: expected a few levels at most; close them"
        );
        return Err(InputFileError::Syntax {
            file: file.to_owned(),
            line: Some(line),
            problem,
        });
    }
    // Editors of other systems put this mark first. It does not belong to the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_yaml::from_str(text).map_err(|e| {
        let line = e.location().map(|l| l.line());
        match refusal::of_text(text, line) {
            Some((line, problem)) => InputFileError::Syntax {
                file: file.to_owned(),
                line,
                problem,
            },
            None => InputFileError::yaml(file, &e),
        }
    })
}

#[cfg(test)]
mod tests {

    use crate::config::inventory_file::Inventory;
    use crate::config::topology_file::TopologyFile;

    /// The first texts took the parser minutes each; the parser itself bounds the others.
    #[test]
    fn nothing_takes_the_parser_long() {
        let n = 250_000;
        let bomb = (1..40).fold(
            "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(),
            |text, level| {
                text + &format!(
                    "a{level}: &a{level} [{}]\n",
                    vec![format!("*a{}", level - 1); 10].join(",")
                )
            },
        );
        let deep = [
            "[".repeat(n),
            "{a: ".repeat(n),
            format!("switches: {}{}", "[".repeat(n), "]".repeat(n)),
            format!("switches: {}", "[x, '[', \"]\", # ]\n".repeat(n)),
            format!("switches: [s0]\nhosts:\n  'a]': b\n  c: {}", "{[".repeat(n)),
            format!(
                "switches: [s0]\nhosts:\n  b\n  'c\nd: {}",
                "[a, {b: ".repeat(n)
            ),
        ];
        let others = ["- ".repeat(n), "? ".repeat(n), bomb + "switches: *a39\n"];
        for (text, is_deep) in deep
            .iter()
            .map(|text| (text, true))
            .chain(others.iter().map(|text| (text, false)))
        {
            let inventory = Inventory::parse("i.yaml", text).unwrap_err().to_string();
            let topology = TopologyFile::parse("t.yaml", text).unwrap_err().to_string();
            assert!(
                inventory.starts_with("i.yaml:") && topology.starts_with("t.yaml:"),
                "{inventory}, {topology}"
            );
            assert_eq!(
                [inventory, topology].map(|error| error.contains("nested deeper than 32")),
                [is_deep; 2],
                "{text:.60}"
            );
        }
        let problem = TopologyFile::parse(
            "t.yaml",
            &format!("switches:\n- s0\nhosts: {}", "{a: [".repeat(20)),
        )
        .unwrap_err()
        .to_string();
        assert_eq!(
            problem,
            "t.yaml:3: brackets are nested deeper than 32: expected a few levels at most; close \
             them"
        );
    }
}
