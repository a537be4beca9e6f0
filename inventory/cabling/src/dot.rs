//! Plans in the Graphviz language, as the Prescriptive Topology Manager (PTM) reads them: an edge
//! is a cable, and the ports of its ends are port names. The only attributes that matter state how
//! LLDP names the ends, see [`ptm`](super::ptm).
//!
//! Source: the DOT language (graphviz.org/doc/info/lang.html); the Cumulus Linux manual,
//! "Prescriptive Topology Manager". Deviations: a subgraph cannot be an end of a cable, and its
//! settings apply to the whole graph; `#` starts a comment anywhere between words, as in PTM's own
//! examples.
use super::ptm::DotAttributes;
use super::{Cable, PlannedCable};
use inventory::sanitize::{LABEL, is_label};
use inventory::topology_file::InputFileError;

/// True if a text starts like a Graphviz file. No other form of a plan starts with these words.
pub(super) fn is_dot(text: &str) -> bool {
    let mut words = DotLexer::new(text);
    words
        .next()
        .is_ok_and(|w| w.is_keyword("strict") || w.is_keyword("graph") || w.is_keyword("digraph"))
        // A word before a colon is a key of YAML.
        && !words.next().is_ok_and(|w| w == DotToken::Sign(':'))
}

/// The cables of a Graphviz file, each with the line of its second end.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<PlannedCable>, InputFileError> {
    let mut reader = DotReader {
        words: DotLexer::new(text),
        ahead: None,
        line: 1,
        cables: Vec::new(),
        settings: DotAttributes::new(),
        edges: DotAttributes::new(),
    };
    let read = reader.graph();
    let DotReader {
        line,
        cables,
        settings,
        ..
    } = reader;
    match read {
        // A template may come after the cable that names it.
        Ok(()) => cables
            .into_iter()
            .map(|(line, cable, own)| match settings.naming(&own) {
                Ok(naming) => Ok(PlannedCable {
                    line: Some(line),
                    cable,
                    naming,
                }),
                Err(problem) => Err(InputFileError::Content {
                    file: file.to_owned(),
                    line: Some(line),
                    problem,
                }),
            })
            .collect(),
        Err(problem) => Err(InputFileError::Syntax {
            file: file.to_owned(),
            line: Some(line),
            problem,
        }),
    }
}

/// Reads statements. A problem is on the line of the last word taken.
struct DotReader<'a> {
    words: DotLexer<'a>,
    /// A word that was read but not taken, and its line.
    ahead: Option<(DotToken, usize)>,
    line: usize,
    /// The cables, each with its line and its attributes.
    cables: Vec<(usize, Cable, DotAttributes)>,
    /// The graph's attributes.
    settings: DotAttributes,
    /// The attributes of every cable from here on.
    edges: DotAttributes,
}

impl DotReader<'_> {
    fn next(&mut self) -> Result<DotToken, String> {
        let (word, line) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.read()?,
        };
        self.line = line;
        Ok(word)
    }

    fn peek(&mut self) -> Result<&DotToken, String> {
        let ahead = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.read()?,
        };
        Ok(&self.ahead.insert(ahead).0)
    }

    fn read(&mut self) -> Result<(DotToken, usize), String> {
        let word = self.words.next();
        if word.is_err() {
            self.line = self.words.start;
        }
        Ok((word?, self.words.start))
    }

    /// Takes the next word if it is this sign. Returns whether it did.
    fn skip(&mut self, sign: char) -> Result<bool, String> {
        let there = *self.peek()? == DotToken::Sign(sign);
        if there {
            self.next()?;
        }
        Ok(there)
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.next()? {
            DotToken::Sign(found) if found == sign => Ok(()),
            other => Err(format!("expected \"{sign}\", found {}", other.show())),
        }
    }

    fn graph(&mut self) -> Result<(), String> {
        let mut head = self.next()?;
        if head.is_keyword("strict") {
            head = self.next()?;
        }
        if !head.is_keyword("graph") && !head.is_keyword("digraph") {
            return Err(format!("expected \"graph\", found {}", head.show()));
        }
        if matches!(self.peek()?, DotToken::Id { .. }) {
            self.next()?;
        }
        self.expect('{')?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()? {
                DotToken::Sign('}') => {
                    depth -= 1;
                    self.no_edge()?;
                }
                DotToken::Sign('{') => depth += 1,
                DotToken::Sign(';' | ',') => {}
                word if word.is_keyword("subgraph") => {
                    if matches!(self.peek()?, DotToken::Id { .. }) {
                        self.next()?;
                    }
                    self.expect('{')?;
                    depth += 1;
                }
                word if word.is_keyword("graph") => {
                    let more = self.attributes()?;
                    self.settings.extend(more);
                }
                word if word.is_keyword("edge") => {
                    let more = self.attributes()?;
                    self.edges.extend(more);
                }
                // How nodes look tells nothing of cables.
                word if word.is_keyword("node") => drop(self.attributes()?),
                DotToken::Id { text, .. } => self.statement(text)?,
                other => {
                    return Err(format!(
                        "expected a cable like \"s0\":\"swp1\" -- \"s1\":\"swp1\", found {}",
                        other.show()
                    ));
                }
            }
        }
        match self.next()? {
            DotToken::End => Ok(()),
            other => Err(format!(
                "expected nothing behind the graph, found {}",
                other.show()
            )),
        }
    }

    fn no_edge(&mut self) -> Result<(), String> {
        match self.peek()? {
            DotToken::Edge => {
                Err("a cable cannot end at a group; write each cable by itself".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// A setting, a node, or a chain of cables.
    fn statement(&mut self, name: String) -> Result<(), String> {
        if self.skip('=')? {
            let value = self.id()?;
            self.settings.set(name, value);
            return Ok(());
        }
        let first = self.cables.len();
        let mut from = self.end(name)?;
        while *self.peek()? == DotToken::Edge {
            self.next()?;
            if matches!(self.peek()?, DotToken::Sign('{')) || self.peek()?.is_keyword("subgraph") {
                return Err("a cable cannot end at a group; write each cable by itself".to_owned());
            }
            let name = self.id()?;
            let to = self.end(name)?;
            let ((a, a_port), (b, b_port)) = (from, to.clone());
            let cable = Cable {
                a,
                a_port,
                b,
                b_port,
                rate_bps: None,
                state: None,
            };
            self.cables.push((self.line, cable, self.edges.clone()));
            from = to;
        }
        // The attributes behind a chain are those of each of its edges.
        let own = self.attributes()?;
        self.cables[first..]
            .iter_mut()
            .for_each(|(_, _, settings)| settings.extend(own.clone()));
        Ok(())
    }

    /// The node `name` with its port, if one follows. A second colon has the side of the drawing.
    fn end(&mut self, name: String) -> Result<(String, String), String> {
        let port = if self.skip(':')? {
            self.id()?
        } else {
            String::new()
        };
        if self.skip(':')? {
            self.id()?;
        }
        match name.is_empty() || !is_label(&name) || !is_label(&port) {
            true => Err(format!("end {name:?}:{port:?}: expected names of {LABEL}")),
            false => Ok((name, port)),
        }
    }

    fn id(&mut self) -> Result<String, String> {
        match self.next()? {
            DotToken::Id { mut text, quoted } => {
                // DOT joins quoted texts by "+", and no others.
                while quoted && self.skip('+')? {
                    match self.next()? {
                        DotToken::Id {
                            text: more,
                            quoted: true,
                        } => text.push_str(&more),
                        other => {
                            return Err(format!(
                                "expected a quoted text behind \"+\", found {}",
                                other.show()
                            ));
                        }
                    }
                }
                Ok(text)
            }
            other => Err(format!(
                "expected a name, found {}; names with other signs than letters, digits and \"_\" \
                 need quotes",
                other.show()
            )),
        }
    }

    fn attributes(&mut self) -> Result<DotAttributes, String> {
        let mut read = DotAttributes::new();
        while self.skip('[')? {
            while !self.skip(']')? {
                let name = self.id()?;
                self.expect('=')?;
                let value = self.id()?;
                read.set(name, value);
                let _separated = self.skip(';')? || self.skip(',')?;
            }
        }
        Ok(read)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum DotToken {
    Id {
        text: String,
        quoted: bool,
    },
    /// `--` or `->`.
    Edge,
    Sign(char),
    End,
}

impl DotToken {
    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self, DotToken::Id { text, quoted: false } if text.eq_ignore_ascii_case(keyword))
    }

    fn show(&self) -> String {
        match self {
            DotToken::Id { text, .. } => format!("{:?}", text.chars().take(40).collect::<String>()),
            DotToken::Edge => "\"--\"".to_owned(),
            DotToken::Sign(sign) => format!("{:?}", sign.to_string()),
            DotToken::End => "the end of the file".to_owned(),
        }
    }
}

/// Cuts a text into words.
struct DotLexer<'a> {
    rest: &'a str,
    /// The line of the beginning of `rest`, from 1.
    line: usize,
    /// The position at which the last word began.
    start: usize,
}

impl<'a> DotLexer<'a> {
    fn new(text: &'a str) -> Self {
        DotLexer {
            rest: text.trim_start_matches('\u{feff}'),
            line: 1,
            start: 1,
        }
    }

    /// Takes `octets` octets.
    fn take(&mut self, octets: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(octets);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn next(&mut self) -> Result<DotToken, String> {
        self.blanks()?;
        self.start = self.line;
        let Some(first) = self.rest.chars().next() else {
            return Ok(DotToken::End);
        };
        match first {
            '"' => self.quoted(),
            '<' => self.markup(),
            '-' if self.rest.starts_with("--") || self.rest.starts_with("->") => {
                self.take(2);
                Ok(DotToken::Edge)
            }
            '-' | '.' | '0'..='9' => {
                let sign = usize::from(first == '-');
                self.plain(
                    sign + self.rest[sign..]
                        .find(|c: char| !c.is_ascii_digit() && c != '.')
                        .unwrap_or(self.rest.len() - sign),
                )
            }
            c if may_be_in_name(c) => self.plain(
                self.rest
                    .find(|c| !may_be_in_name(c))
                    .unwrap_or(self.rest.len()),
            ),
            '{' | '}' | '[' | ']' | ';' | ',' | '=' | ':' | '+' => {
                self.take(1);
                Ok(DotToken::Sign(first))
            }
            other => Err(format!(
                "unexpected {other:?}; names with other signs than letters, digits and \"_\" need \
                 quotes"
            )),
        }
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Result<(), String> {
        loop {
            self.take(self.rest.len() - self.rest.trim_start().len());
            if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest[2..].find("*/") else {
                    self.start = self.line;
                    return Err("comment without end".to_owned());
                };
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    /// A name or number without quotes. Graphviz reads `leaf-1` as the names `leaf` and `-1`, which
    /// is never meant.
    fn plain(&mut self, octets: usize) -> Result<DotToken, String> {
        let text = self.take(octets).to_owned();
        let ends = self.rest.starts_with("--")
            || self.rest.starts_with("->")
            || self
                .rest
                .starts_with(|c: char| c.is_whitespace() || "{}[];,=:+#".contains(c))
            || self.rest.is_empty();
        match ends && text.chars().any(|c| c.is_alphanumeric() || c == '_') {
            true => Ok(DotToken::Id {
                text,
                quoted: false,
            }),
            false => Err(format!(
                "{text:?} goes on with a sign that needs quotes; names of letters, digits and \
                 \"_\" need none"
            )),
        }
    }

    /// A text in quotes. Only `\"` and `\\` are escapes, and `\` joins two lines.
    fn quoted(&mut self) -> Result<DotToken, String> {
        let mut text = String::new();
        let mut signs = self.rest.char_indices().skip(1).peekable();
        while let Some((at, sign)) = signs.next() {
            match sign {
                '"' => {
                    self.take(at + 1);
                    return Ok(DotToken::Id { text, quoted: true });
                }
                '\\' => match signs.next_if(|(_, next)| ['"', '\\', '\n'].contains(next)) {
                    Some((_, '\n')) => {}
                    Some((_, next)) => text.push(next),
                    None => text.push('\\'),
                },
                other => text.push(other),
            }
        }
        Err("text without closing quote".to_owned())
    }

    /// A text in angle brackets, kept as written.
    fn markup(&mut self) -> Result<DotToken, String> {
        let mut depth = 0_usize;
        for (at, sign) in self.rest.char_indices() {
            match sign {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let text = self.take(at + 1);
                return Ok(DotToken::Id {
                    text: text[1..at].to_owned(),
                    quoted: true,
                });
            }
        }
        Err("\"<\" without its \">\"".to_owned())
    }
}

fn may_be_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}
