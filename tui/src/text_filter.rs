//! The filter of a panel: a regular expression, or `!` and one that must not be found.
use regex::{Regex, RegexBuilder};

/// The limit of a compiled expression, in bytes: what somebody types must not fill the memory.
const LARGEST: usize = 1 << 20;

/// A filter as typed, ready to be used.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextFilter {
    text: String,
    /// `None` for an empty filter.
    pattern: Option<Regex>,
    inverse: bool,
    /// The text is not a regular expression, and is searched for as it stands.
    pub(crate) literal: bool,
}

impl TextFilter {
    /// The filter that `text` asks for. Upper and lower case are alike.
    pub(crate) fn new(text: &str) -> TextFilter {
        let inverse = text.starts_with('!');
        let wanted = text.strip_prefix('!').unwrap_or(text);
        let compiled = compile(wanted);
        let literal = compiled.is_none();
        let pattern = compiled.or_else(|| compile(&regex::escape(wanted)));
        TextFilter {
            text: text.to_owned(),
            pattern: pattern.filter(|_| !wanted.is_empty()),
            inverse,
            literal,
        }
    }

    /// The filter as it was typed.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// True if every line passes.
    pub(crate) fn is_empty(&self) -> bool {
        self.pattern.is_none()
    }

    /// True if a line with these words passes.
    pub(crate) fn passes(&self, words: &str) -> bool {
        self.pattern
            .as_ref()
            .is_none_or(|p| p.is_match(words) != self.inverse)
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(LARGEST)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_their_inverse_and_plain_text() {
        assert!(passes("N1[02]$", "n10") && !passes("n1[02]$", "n11"));
        assert!(passes("!blocked", "forward") && !passes("!blocked", "s1 BLOCKED"));
        assert!(passes("a(b", "xa(bx") && TextFilter::new("a(b").literal);
        for all in ["", "!"] {
            assert!(TextFilter::new(all).is_empty() && passes(all, "x"));
        }
        assert!(passes("(x{1000}){1000}", "no (x{1000}){1000} here"));
    }

    fn passes(filter: &str, words: &str) -> bool {
        TextFilter::new(filter).passes(words)
    }
}
