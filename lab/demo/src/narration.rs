//! The lines that the demo prints: steps, and facts below them.
use std::io::{self, IsTerminal, Write};

/// The columns of a terminal. A wider one shows the same lines.
const COLUMNS: usize = 80;
/// The indent of facts, and of a step's further lines.
const INDENT: &str = "   ";

pub(crate) fn step(text: &str) {
    print_line(&format!("\n== {text}"));
}

pub(crate) fn print_fact(text: &str) {
    print_line(&format!("{INDENT}{text}"));
}

/// Without a reader the demo still goes on, and takes its cluster down.
pub(crate) fn print_line(text: &str) {
    let mut out = io::stdout();
    let text = match out.is_terminal() {
        true => broken(text),
        false => text.to_owned(),
    };
    let _ = writeln!(out, "{text}");
}

/// The text with long lines broken at blanks.
fn broken(text: &str) -> String {
    text.lines().map(broken_line).collect::<Vec<_>>().join("\n")
}

fn broken_line(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    let begin = line.len() - line.trim_start().len();
    let mut broken = line[..begin].to_owned();
    let mut column = begin;
    for (at, word) in line.split_whitespace().enumerate() {
        let width = word.chars().count();
        if at > 0 && column + 1 + width > COLUMNS {
            broken += "\n";
            broken += INDENT;
            column = INDENT.len();
        } else if at > 0 {
            broken += " ";
            column += 1;
        }
        broken += word;
        column += width;
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, broken};

    #[test]
    fn long_lines_are_broken_at_blanks_and_drawings_stay() {
        let tree = "    │  ├─ swp2   20M  s2 (swp1)";
        assert_eq!(broken(tree), tree);
        let long = "\n== run a job with the MPI library's own routines: all-to-all and allgather on \
                    all hosts";
        assert_eq!(
            broken(long),
            "\n== run a job with the MPI library's own routines: all-to-all and allgather on\n   \
             all hosts"
        );
        let word = "x".repeat(2 * COLUMNS);
        assert_eq!(broken(&format!("   {word} y")), format!("   {word}\n   y"));
    }
}
