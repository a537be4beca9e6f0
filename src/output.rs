//! Standard output of all commands: its forms, and the form of times.
use crate::CommandOutcome;
use anyhow::Context;
use std::io::{self, Write};

/// The form of a list or a state.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TextFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The form of a computed result.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SummaryFormat {
    /// For people
    Summary,
    /// One object for programs
    Json,
}

/// Prints data. It is not an error if the reader closes the pipe early, as head does.
pub(crate) fn print(text: &str) -> anyhow::Result<CommandOutcome> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e).context("standard output"),
        _ => Ok(CommandOutcome::Done),
    }
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
