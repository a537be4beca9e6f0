//! Names written as ranges: `node[01-40]`, `rack[1-4]n[01-16,20]`, `n[0-30/2]`.
//!
//! Source: the host lists of Slurm (slurm.conf(5), NodeName) and the node sets of ClusterShell
//! (nodeset(1)). Input: any text. Guarantee: the names in the written order, the last bracket
//! counting fastest; at most [`MOST_NAMES`] names of at most [`LONGEST_NAME`] characters, however
//! the text is made. Cost: linear in the names; a text that stands for too many is refused before
//! any of them is made. Deviations: no groups, and no operators but the comma.
use crate::model::natural_order::natural;
use std::fmt;

/// The most names that one text may stand for.
pub const MOST_NAMES: usize = 65_536;
/// The longest name, in octets. Names of hosts in the DNS are no longer (RFC 1035, 2.3.4).
pub const LONGEST_NAME: usize = 255;
/// The most digits of a number in a range.
const MOST_DIGITS: usize = 18;

/// The reason why a text stands for no names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameRangeError {
    /// A name is empty, as between two commas.
    #[error("{0:?}: a name is empty; expected names with commas between them, without blanks")]
    Empty(String),
    /// A bracket has no counterpart, or stands within another one.
    #[error("{0:?}: brackets do not pair; expected a range like node[01-40]")]
    Brackets(String),
    /// The text in brackets is no list of numbers.
    #[error("{text:?}: [{part}]: expected numbers like 01-40, 1,3,5 or 0-30/2")]
    Numbers {
        /// The whole text.
        text: String,
        /// The part in brackets.
        part: String,
    },
    /// A range ends before it begins.
    #[error("{text:?}: [{part}] ends before it begins; expected the smaller number first")]
    Backwards {
        /// The whole text.
        text: String,
        /// The range.
        part: String,
    },
    /// The text stands for too many names, or for too long ones.
    #[error(
        "{0:?}: more than {MOST_NAMES} names, or longer ones than {LONGEST_NAME} characters; \
         write fewer"
    )]
    TooMany(String),
}

/// True if the text stands for more than itself.
pub fn is_range(text: &str) -> bool {
    text.contains(['[', ']', ','])
}

/// The names that a text stands for: one or several, with commas between them.
pub fn expand(text: &str) -> Result<Vec<String>, NameRangeError> {
    expand_within(text, MOST_NAMES)
}

/// The names as one text, in natural order: runs of numbers in brackets, as [`expand`] reads them.
pub fn fold(mut names: Vec<String>) -> String {
    names.sort_by_cached_key(|n| natural(n));
    let mut runs: Vec<(String, Option<(u64, u64)>)> = Vec::new();
    for name in names {
        match (numbered(&name), runs.last_mut()) {
            (Some((stem, n)), Some((last, Some((_, to))))) if stem == *last && n == *to + 1 => {
                *to = n
            }
            (Some((stem, n)), _) => runs.push((stem, Some((n, n)))),
            (None, _) => runs.push((name, None)),
        }
    }
    runs.into_iter()
        .map(|(stem, run)| match run {
            Some((from, to)) if from < to => format!("{stem}[{from}-{to}]"),
            Some((n, _)) => format!("{stem}{n}"),
            None => stem,
        })
        .collect::<Vec<_>>()
        .join(",")
}

fn numbered(name: &str) -> Option<(String, u64)> {
    let digits = name.len() - name.chars().rev().take_while(char::is_ascii_digit).count();
    let (stem, number) = name.split_at(digits);
    let n: u64 = number.parse().ok()?;
    // A name whose number begins with zeros stays as it is: runs are written without any.
    (n.to_string() == number).then(|| (stem.to_owned(), n))
}

/// As [`expand`], with a limit of its own: a file has one for all its texts.
pub(crate) fn expand_within(text: &str, most: usize) -> Result<Vec<String>, NameRangeError> {
    let patterns = patterns(text)?;
    let mut total = 0_usize;
    for pattern in &patterns {
        let (names, length) = pattern.extent();
        total = total.saturating_add(names);
        if total > most || length > LONGEST_NAME {
            return Err(NameRangeError::TooMany(
                text.chars().take(LONGEST_NAME).collect::<String>(),
            ));
        }
    }
    let mut names = Vec::with_capacity(total);
    for pattern in &patterns {
        pattern.write(&mut names);
    }
    Ok(names)
}

/// A name with ranges in it: a text after each range.
#[derive(Debug)]
struct NamePattern<'t> {
    begin: &'t str,
    rest: Vec<(Vec<NumberRange>, &'t str)>,
}

/// The numbers from one to another, padded with zeros.
#[derive(Debug, Clone, Copy)]
struct NumberRange {
    first: u64,
    last: u64,
    step: u64,
    /// The least number of digits.
    width: usize,
}

impl NumberRange {
    fn count(self) -> usize {
        let steps = (self.last - self.first) / self.step;
        usize::try_from(steps).map_or(usize::MAX, |steps| steps.saturating_add(1))
    }

    fn numbers(self) -> impl Iterator<Item = PaddedNumber> {
        let NumberRange {
            first, step, width, ..
        } = self;
        (0..self.count() as u64).map(move |n| PaddedNumber(first + n * step, width))
    }
}

struct PaddedNumber(u64, usize);

impl fmt::Display for PaddedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$}", self.0, width = self.1)
    }
}

impl NamePattern<'_> {
    /// The number of names, and an upper bound of their length.
    fn extent(&self) -> (usize, usize) {
        let counts = self.rest.iter().map(|(ranges, _)| {
            let each = ranges.iter().map(|range| range.count());
            each.fold(0, usize::saturating_add)
        });
        let length = self.begin.len()
            + self
                .rest
                .iter()
                .map(|(ranges, text)| {
                    let digits = ranges
                        .iter()
                        .map(|range| PaddedNumber(range.last, range.width).to_string().len())
                        .max();
                    digits.unwrap_or_default() + text.len()
                })
                .sum::<usize>();
        (counts.fold(1, usize::saturating_mul), length)
    }

    fn write(&self, names: &mut Vec<String>) {
        let mut begun = vec![self.begin.to_owned()];
        for (ranges, text) in &self.rest {
            begun = begun
                .iter()
                .flat_map(|begin| {
                    let numbers = ranges.iter().flat_map(|range| range.numbers());
                    let names = numbers.map(|number| format!("{begin}{number}{text}"));
                    names.collect::<Vec<String>>()
                })
                .collect();
        }
        names.append(&mut begun);
    }
}

/// The names between the commas outside brackets.
fn patterns(text: &str) -> Result<Vec<NamePattern<'_>>, NameRangeError> {
    let mut names = Vec::new();
    let (mut begin, mut inside) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' | ']' if inside == (c == '[') => return Err(unpaired(text)),
            '[' | ']' => inside = !inside,
            ',' if !inside => {
                names.push(pattern(text, &text[begin..at])?);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(unpaired(text));
    }
    names.push(pattern(text, &text[begin..])?);
    Ok(names)
}

fn unpaired(text: &str) -> NameRangeError {
    NameRangeError::Brackets(text.chars().take(LONGEST_NAME).collect())
}

/// One name, whose brackets pair.
fn pattern<'t>(text: &str, name: &'t str) -> Result<NamePattern<'t>, NameRangeError> {
    let name = name.trim();
    let mut parts = name.split('[');
    let begin = parts.next().unwrap_or_default();
    let mut rest = Vec::new();
    for part in parts {
        let (inside, after) = part.split_once(']').ok_or_else(|| unpaired(text))?;
        rest.push((ranges(text, inside)?, after));
    }
    if name.is_empty() {
        return Err(NameRangeError::Empty(shown(text)));
    }
    Ok(NamePattern { begin, rest })
}

/// The list in a pair of brackets.
fn ranges(text: &str, inside: &str) -> Result<Vec<NumberRange>, NameRangeError> {
    let parts = inside.split(',').map(str::trim);
    let ranges = parts.map(|part| {
        let range = range(part).ok_or_else(|| NameRangeError::Numbers {
            text: shown(text),
            part: shown(inside).escape_debug().to_string(),
        })?;
        if range.first > range.last {
            return Err(NameRangeError::Backwards {
                text: shown(text),
                part: shown(part),
            });
        }
        Ok(range)
    });
    ranges.collect()
}

/// `8`, `8-11` or `8-11/2`.
fn range(part: &str) -> Option<NumberRange> {
    let (ends, step) = match part.split_once('/') {
        Some((ends, step)) => (ends, number(step).filter(|s| *s > 0)?),
        None => (part, 1),
    };
    let (first, last) = ends.split_once('-').unwrap_or((ends, ends));
    // In `[8-010]` nobody can tell whether 8 or 008 is meant.
    let is_padded_anew = last.starts_with('0') && last.len() > first.len();
    let range = NumberRange {
        first: number(first)?,
        last: number(last)?,
        step,
        width: first.len(),
    };
    (!is_padded_anew).then_some(range)
}

fn shown(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

fn number(digits: &str) -> Option<u64> {
    // So many digits always fit into 64 bits.
    let plain = (1..=MOST_DIGITS).contains(&digits.len());
    (plain && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> String {
        expand(text).map_or_else(|e| e.to_string(), |names| names.join(" "))
    }

    #[test]
    fn ranges_are_written_as_slurm_and_clustershell_write_them() {
        for (text, expected) in [
            ("n1", "n1"),
            ("node[08-11]", "node08 node09 node10 node11"),
            ("n[8-11]", "n8 n9 n10 n11"),
            ("n[98-101]", "n98 n99 n100 n101"),
            ("n[1,3,5-6]x", "n1x n3x n5x n6x"),
            ("r[1-2]n[0-1]", "r1n0 r1n1 r2n0 r2n1"),
            ("n[0-6/3]", "n0 n3 n6"),
            ("n[0-7/3]", "n0 n3 n6"),
            ("a,b[1-2], c", "a b1 b2 c"),
            ("10.0.0.[9-10]", "10.0.0.9 10.0.0.10"),
            ("[1-2]", "1 2"),
            ("n[007]", "n007"),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused_with_its_place() {
        for (text, problem) in [
            ("", "a name is empty"),
            ("a,,b", "a name is empty"),
            ("a,", "a name is empty"),
            ("n[1-2", "brackets do not pair"),
            ("n1]", "brackets do not pair"),
            ("n[[1]]", "brackets do not pair"),
            ("n[]", "[]: expected numbers"),
            ("n[a-b]", "[a-b]: expected numbers"),
            ("n[1-2-3]", "[1-2-3]: expected numbers"),
            ("n[1-3/0]", "[1-3/0]: expected numbers"),
            ("n[8-010]", "[8-010]: expected numbers"),
            ("n[5-1]", "[5-1] ends before it begins"),
            ("n[0-65536]", "more than 65536 names"),
            ("n[0-999][0-999]", "more than 65536 names"),
            ("n[0-999999999999999999]", "more than 65536 names"),
        ] {
            assert!(names(text).contains(problem), "{text}: {}", names(text));
        }
        let brackets = "[0-9]".repeat(100_000);
        assert!(names(&brackets).contains("more than 65536"));
        let long = format!("{}[1-9]", "x".repeat(1 << 20));
        assert!(names(&long).len() < 600, "{}", names(&long).len());
    }

    proptest! {
        #[test]
        fn any_text_gives_few_short_names(text in "[a-c0-9\\[\\],/ -]{0,40}") {
            if let Ok(names) = expand(&text) {
                prop_assert!(names.len() <= MOST_NAMES);
                prop_assert!(names.iter().all(|n| n.len() <= LONGEST_NAME && !n.contains('[')));
            }
        }

        #[test]
        fn a_range_is_its_names_in_order(
            first in 0_u64..2_000, more in 0_u64..300, step in 1_u64..5, width in 1_usize..6
        ) {
            let expected: Vec<String> = (first..=first + more)
                .step_by(step as usize)
                .map(|n| format!("n{n:0width$}"))
                .collect();
            let last = first + more;
            let padded = format!("{first:0width$}-{last:0width$}");
            prop_assume!(padded.split('-').all(|n| n.len() == width || !n.starts_with('0')));
            prop_assert_eq!(expand(&format!("n[{padded}/{step}]")).unwrap(), expected);
        }
    }
}
