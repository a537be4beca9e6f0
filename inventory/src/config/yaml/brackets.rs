//! The depth to which brackets are nested in a text, as libyaml counts it: brackets in quotes,
//! comments and texts do not count.
//!
//! At an error the count does not matter, because libyaml reads no further.

/// The line, from 1, on which brackets are nested deeper than `most` for the first time.
pub(super) fn line_nested_deeper(text: &str, most: usize) -> Option<usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut scanner = BracketScanner {
        rest: text,
        line: 1,
        column: 0,
        depth: 0,
        blocks: Vec::new(),
        key: None,
    };
    while let Some(c) = scanner.peek() {
        scanner.token(c);
        if scanner.depth > most {
            return Some(scanner.line);
        }
    }
    None
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t' || is_break(c)
}

/// The state before the next token.
struct BracketScanner<'a> {
    rest: &'a str,
    line: usize,
    /// The column in characters, from 0.
    column: usize,
    depth: usize,
    /// The columns of the open lists and maps without brackets, ascending.
    blocks: Vec<usize>,
    /// The position at which a key may have begun.
    key: Option<usize>,
}

impl BracketScanner<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) {
        let mut chars = self.rest.chars();
        let Some(c) = chars.next() else { return };
        self.rest = chars.as_str();
        self.column += 1;
        if is_break(c) {
            let pair = c == '\r' && self.rest.starts_with('\n'); // Counted with its second half.
            (self.column, self.key) = (0, None);
            self.line += usize::from(!pair);
        }
    }

    fn bump_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.bump();
        }
    }

    fn blank_after(&self, octets: usize) -> bool {
        self.rest[octets..].chars().next().is_none_or(is_blank)
    }

    /// `---` or `...`, between documents.
    fn at_marker(&self) -> bool {
        self.column == 0
            && (self.rest.starts_with("---") || self.rest.starts_with("..."))
            && self.blank_after(3)
    }

    fn token(&mut self, c: char) {
        if is_blank(c) {
            return self.bump();
        }
        if c == '#' || (c == '%' && self.column == 0) {
            return self.bump_while(|c| !is_break(c));
        }
        // A line that is indented less ends the blocks below it (YAML 1.2.2, 6.1). Within brackets indentation
        // says nothing.
        if self.depth == 0 {
            while self.blocks.pop_if(|block| *block > self.column).is_some() {}
        }
        if self.at_marker() {
            self.blocks.clear();
            return (0..3).for_each(|_| self.bump());
        }
        let column = self.column;
        let flow = self.depth > 0;
        // An indicator needs a blank after it, so `a:b` is one word (7.3.3). Within brackets it needs none after a
        // key in quotes, as in JSON (7.4.2).
        if matches!(c, '-' | '?' | ':') && (self.blank_after(1) || (flow && c != '-')) {
            let at = if c == ':' {
                self.key.unwrap_or(column)
            } else {
                column
            };
            if !flow && self.blocks.last().is_none_or(|last| *last < at) {
                self.blocks.push(at);
            }
            self.key = None;
            return self.bump();
        }
        if !flow {
            self.key.get_or_insert(column);
        }
        match c {
            '[' | '{' => {
                self.depth += 1;
                self.bump();
            }
            ']' | '}' => {
                self.depth = self.depth.saturating_sub(1);
                self.bump();
            }
            ',' => self.bump(),
            '"' | '\'' => self.quoted(c),
            '&' | '*' => self.word(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
            '!' if self.rest.starts_with("!<") => self.word(|c| !is_blank(c) && c != '>'),
            '!' => self.word(|c| c.is_ascii_alphanumeric() || "_-;/?:@&=+$.%!~*'()".contains(c)),
            '|' | '>' if !flow => self.lines(),
            _ => self.plain(),
        }
    }

    fn word(&mut self, of: impl Fn(char) -> bool) {
        self.bump();
        self.bump_while(of);
    }

    /// A text in quotes. A doubled single quote ends one text and begins the next.
    fn quoted(&mut self, quote: char) {
        let key = self.key;
        self.bump();
        while let Some(c) = self.peek() {
            self.bump();
            match c {
                '\\' if quote == '"' => self.bump(),
                c if c == quote => break,
                _ => {}
            }
        }
        self.key = key;
    }

    /// A text without quotes. It goes to the end of the line, and continues over indented lines.
    fn plain(&mut self) {
        let flow = self.depth > 0;
        while let Some(c) = self.peek() {
            if is_blank(c) {
                self.bump_while(is_blank);
                let indented = self.blocks.last().is_none_or(|block| self.column > *block);
                if self.peek() == Some('#') || self.at_marker() || !(flow || indented) {
                    return;
                }
            } else if (c == ':' && self.blank_after(1))
                || (flow && matches!(c, ',' | '[' | ']' | '{' | '}'))
            {
                return;
            } else {
                self.bump();
            }
        }
    }

    /// A text of whole lines after `|` or `>`.
    fn lines(&mut self) {
        let least = self.blocks.last().map_or(0, |block| block + 1);
        let header = self.rest.split(is_break).next().unwrap_or_default();
        let stated = header[1..]
            .chars()
            .take(2)
            .find_map(|c| c.to_digit(10))
            .filter(|n| *n > 0);
        self.bump_while(|c| !is_break(c));
        let mut indent = stated.map(|n| self.blocks.last().copied().unwrap_or(0) + n as usize);
        let mut widest = 0;
        loop {
            self.bump(); // The line's end.
            let (line, most) = (self.column, indent.unwrap_or(usize::MAX));
            while self.peek() == Some(' ') && self.column - line < most {
                self.bump();
            }
            match self.peek() {
                None => return,
                Some(c) if is_break(c) => widest = widest.max(self.column),
                Some(_) => {
                    let indent = *indent.get_or_insert(widest.max(self.column).max(least).max(1));
                    if self.column < indent {
                        return;
                    }
                    self.bump_while(|c| !is_break(c));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::line_nested_deeper;
    use serde_yaml::Value;

    fn depth(text: &str) -> usize {
        (0..)
            .find(|most| line_nested_deeper(text, *most).is_none())
            .unwrap()
    }

    #[test]
    fn only_brackets_that_nest_count() {
        for (text, wanted) in [
            ("", 0),
            ("a: [b, {c: [d]}, [e]]\nf: [g]", 3),
            (
                "# [[[\na: '[[[' # [[[\nb: \"[\\\"[[\"\nc: it's [[ one\nd: x#[[[\ne: [x]",
                1,
            ),
            ("a: 'it''s [[[\n  [[['\nb: [\"\\\\\", '\\', [x]]", 2),
            (
                "a: |\n  'it\n\n   [[\n  \"\nb: [x]\nc: >2-\n    [[\n  '[[\nd: [[x]]",
                2,
            ),
            ("- a: |\n    [[\n- b: |\n\n   [[[\n- [x]", 1),
            ("a: b\n  'c [[[\n  \"d\ne: [[x]]", 2),
            ("a:\n  b\n  'c\nd: [[x]]", 2),
            ("b\n'c\n--- [[x]]", 2),
            ("[b\n'c, [[x]], 'd', \"[[[\"]", 3),
            ("[a#[, 'b'#]]]\n, {c: ]d, [e]}]", 3),
            ("{\"a\":'[[', b: '[c', ? '[' : [[x]]}", 3),
            ("[!a'b [x], !<a,'[> [x], &a [[x]]", 3),
            ("%TAG ! tag:'[\n--- [x]\n...\n[[x]]", 2),
            ("# [[\u{85}[[x]]\n", 2),
            ("\u{feff}- - [x]\r\n- ? [y]\r\n  : [[z]]", 2),
        ] {
            assert_eq!(depth(text), wanted, "{text:?}");
        }
        assert_eq!(line_nested_deeper("a:\r\n- b\n- [\n[\n[", 2), Some(5));
    }

    /// The depth to which lists and maps are nested.
    fn levels(value: &Value) -> usize {
        match value {
            Value::Sequence(list) => 1 + list.iter().map(levels).max().unwrap_or(0),
            Value::Mapping(map) => {
                1 + map
                    .iter()
                    .map(|(key, value)| levels(key).max(levels(value)))
                    .max()
                    .unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Random texts of all characters with a meaning: brackets that the parser finds nested are
    /// counted. A pair without its own braces is a map within a list, so a bracket makes at most
    /// two levels. Without `-`, `?` and line breaks only brackets make levels.
    #[test]
    fn no_text_hides_brackets() {
        let pieces = [
            "[", "]", "{", "}", "'", "\"", "a", " ", ", ", ": ", ":", "#", " #", "\\", "!", "&a ",
            "|", "\u{85}", "\n", "%", "]]", "[[",
        ];
        let mut state = 7_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let mut read = 0;
        for _ in 0..200_000 {
            let text: String = (0..2 + draw() % 10)
                .map(|_| pieces[draw() % pieces.len()])
                .collect();
            let Ok(value) = serde_yaml::from_str::<Value>(&text) else {
                continue;
            };
            read += usize::from(levels(&value) > 1);
            // One more for a map without braces around everything.
            assert!(
                levels(&value) <= 2 * depth(&text) + 1,
                "{text:?}: {value:?}"
            );
        }
        assert!(read > 100, "{read}");
    }
}
