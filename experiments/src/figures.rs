//! The parts of figures.md that programs write. Each is between `<!-- NAME -->` and `<!-- end of NAME
//! -->`.
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Replaces the part of this name in `directory`/figures.md.
///
/// # Errors
/// The system's refusal, or [`ErrorKind::InvalidData`] where the file has no such part.
pub fn write_part(directory: &Path, name: &str, text: &str) -> Result<()> {
    let file = directory.join("figures.md");
    let before = std::fs::read_to_string(&file)?;
    std::fs::write(
        &file,
        replaced(&before, name, text).ok_or_else(|| {
            let problem = format!("{}: no part \"{name}\"", file.display());
            Error::new(ErrorKind::InvalidData, problem)
        })?,
    )
}

/// The document with another text in one of its parts; `None` if it has no such part.
fn replaced(document: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n\n{end}{after}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_replaced_and_a_missing_one_is_none() {
        let document = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n";
        let expected = "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n";
        assert_eq!(replaced(document, "x", "new\n").as_deref(), Some(expected));
        assert_eq!(replaced(expected, "x", "new").as_deref(), Some(expected));
        assert_eq!(replaced(document, "y", "new"), None);
    }
}
