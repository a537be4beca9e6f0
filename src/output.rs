//! The output of all commands: the forms of results and of times, and the meaning of a closed pipe.
//!
//! The reader of a command's output may go away, as `head` does. That is not an error and does not end
//! the command in the middle of its work: output without a reader is dropped. So SIGPIPE stays ignored, and commands print with `say!` and `tell!`, because `println!` and `eprintln!` panic
//! (clippy refuses them here).
use crate::CommandOutcome;
use anyhow::bail;
use inventory::unreadable;
use std::io::{self, Write};

/// The form of a list, a state or a computed result.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TextFormat {
    /// For people
    #[value(alias = "summary")]
    Text,
    /// For programs
    Json,
}

/// Prints data. It is not an error if the reader closes the pipe early, as head does.
pub(crate) fn print(text: &str) -> anyhow::Result<CommandOutcome> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            bail!("standard output: {}", unreadable::reason(&e))
        }
        _ => Ok(CommandOutcome::Done),
    }
}

/// Prints a line of a result; returns from the function if standard output fails otherwise than by
/// a closed pipe.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::print(&(format!($($text)*) + "\n"))?
    };
}

/// Prints a line on standard error. If that fails, there is nobody left who would read it.
macro_rules! tell {
    ($($text:tt)*) => {
        $crate::output::remark(format_args!($($text)*))
    };
}

/// See `tell!`.
pub(crate) fn remark(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Replaces the last line of a terminal on standard error.
pub(crate) fn remark_in_place(text: &str) {
    let mut terminal = io::stderr().lock();
    // ESC [ K erases from the cursor to the end of the line (ECMA-48, EL).
    let _ = write!(terminal, "\r\x1b[K{text}").and_then(|()| terminal.flush());
}

/// Three or four digits and a unit.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}
