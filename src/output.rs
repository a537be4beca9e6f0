//! Standard output, for all commands.
use crate::Outcome;
use anyhow::Context;
use std::io::{self, Write};

/// Prints data. A reader that has seen enough, like head, is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<Outcome> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e).context("standard output"),
        _ => Ok(Outcome::Done),
    }
}
