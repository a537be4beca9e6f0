//! Why a text is no YAML file of heddle, in an operator's words, for the mistakes that editors and
//! copying make. The parser's own words say little about these.
use serde::de::IgnoredAny;

/// The mistake in a text that the parser refused, with its line; `None`: none of the known ones.
/// `line` is where the parser stopped.
pub(super) fn of_text(text: &str, line: Option<usize>) -> Option<(Option<usize>, String)> {
    if is_empty(text) {
        let problem = "the file is empty, or has comments only; expected at least switches and \
                       hosts, as in docs/inventory.md";
        return Some((None, problem.to_owned()));
    }
    let line = line?;
    let refused = text.lines().nth(line - 1)?;
    let blank = refused.len() - refused.trim_start().len();
    if refused[..blank].contains('\t') {
        let problem = "a tab indents this line, and YAML allows only spaces there; replace each \
                       tab by two spaces";
        return Some((Some(line), problem.to_owned()));
    }
    let range = bare_range(refused)?;
    let problem = format!(
        "the range {range} stands in a list or map in brackets, and its own brackets end that; \
         put it into quotes: \"{range}\""
    );
    Some((Some(line), problem))
}

fn is_empty(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---" || line == "..."
    }) && serde_yaml::from_str::<IgnoredAny>(text).is_ok()
}

/// A name with a range in brackets that is not in quotes: `node[01-40]`.
fn bare_range(line: &str) -> Option<&str> {
    line.match_indices('[').find_map(|(open, _)| {
        let before = &line[..open];
        let start = before
            .trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c))
            .len();
        let inside = line[open + 1..].split_once(']')?.0;
        let is_range = inside.contains(|c: char| c.is_ascii_digit())
            && inside
                .chars()
                .all(|c| c.is_ascii_digit() || "-,".contains(c));
        let is_quoted = before[..start].ends_with(['"', '\'']);
        // Outside of lists and maps in brackets a range needs no quotes.
        let opened = before.matches(['[', '{']).count();
        let is_inside = opened > before.matches([']', '}']).count();
        (start < open && is_range && is_inside && !is_quoted)
            .then(|| &line[start..open + inside.len() + 2])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_of_editors_and_copying_are_reported() {
        for (text, line, expected) in [
            ("", None, "is empty"),
            ("# nothing\n\n---\n", None, "is empty"),
            ("switches:\n\ts0: {}\n", Some(2), "a tab indents"),
            (
                "hosts: [a, node[01-40]]\n",
                Some(1),
                "put it into quotes: \"node[01-40]\"",
            ),
            ("hosts: {n[1-2,4]: {}}\n", Some(1), "\"n[1-2,4]\""),
        ] {
            let (place, problem) = of_text(text, line).unwrap();
            assert_eq!(place, line, "{text:?}");
            assert!(problem.contains(expected), "{problem}");
        }
        for text in [
            "hosts: [\"n[1-2]\", b\n",
            "switches: [s0\n",
            "a: [1, 2\n",
            "n[1-2]: {\n",
        ] {
            assert_eq!(of_text(text, Some(1)), None, "{text:?}");
        }
    }
}
