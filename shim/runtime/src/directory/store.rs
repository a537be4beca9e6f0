//! Epochs out of the shared directory. It only ever reads whole files, checks every digest, and when
//! anything is wrong it says so and keeps nothing.
use schedules::epoch::{Lean, Pointer};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// More than any pointer has: 20 digits, a blank and a digest.
const MOST_OF_POINTER: u64 = 128;

/// The shared directory as last seen.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// The line of `current` that was last opened.
    seen: Option<String>,
}

/// What a look gave.
#[derive(Debug)]
pub enum Look {
    /// The same epoch as before.
    Same,
    /// Another epoch.
    New(Box<Lean>),
    /// No epoch that could be used, and why.
    Unusable(String),
}

impl Store {
    /// Looks at nothing yet.
    pub fn new(dir: &Path) -> Store {
        Store { dir: dir.to_owned(), seen: None }
    }

    /// Reads the pointer, and the epoch if it is another one than last time. An epoch that could not be
    /// opened is tried again at the next look: a file may still be on its way to this host.
    pub fn look(&mut self) -> Look {
        match self.open() {
            Ok(None) => Look::Same,
            Ok(Some((line, lean))) => {
                self.seen = Some(line);
                Look::New(Box::new(lean))
            }
            Err(problem) => Look::Unusable(problem),
        }
    }

    fn open(&self) -> Result<Option<(String, Lean)>, String> {
        let current = self.dir.join("current");
        let line = read(&current, MOST_OF_POINTER).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if !self.dir.is_dir() => format!("{}: no such directory on this host", self.dir.display()),
            io::ErrorKind::NotFound => format!("{}: no epoch published yet", self.dir.display()),
            _ => format!("{}: {e}", current.display()),
        })?;
        let line = String::from_utf8_lossy(&line).into_owned();
        if self.seen.as_ref() == Some(&line) {
            return Ok(None);
        }
        let pointer: Pointer = line.parse().map_err(|e| format!("{}: {e}", current.display()))?;
        let folder = self.dir.join(pointer.folder());
        let lean =
            Lean::open(&pointer, |name, limit| read(&folder.join(name), limit)).map_err(|e| format!("{}: {e}", self.dir.display()))?;
        Ok(Some((line, lean)))
    }
}

/// A file, up to one byte beyond the limit. Read, never mapped: a mapped file that another host replaces or
/// cuts kills the reader. Opened without blocking: a pipe has a job wait for a writer that may never come.
fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
