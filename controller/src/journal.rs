//! The journal: every event that the engine took, one JSON line each, so that a field report can be
//! replayed.
//!
//! The first line of a file has the state in which the engine began. A full file becomes `FILE.1`,
//! and the new file begins with the engine's state at that time, so that each file replays by
//! itself. A journal contains no secrets: the inventory serializes without them. Pulses and host
//! reports without news are left out, and so are the hosts and calls of job records, because no
//! decision depends on them. The figures that jobs learned come in events of their own, which are few.
use crate::engine::{ControllerEngine, ControllerEvent, JournalHeader};
use crate::triggers;
use directory::job_record::JobRecord;
use inventory::device_view::same_but_moments;
use inventory::host_report::HostReport;
use inventory::observation::{DeviceFact, DevicePulse};
use inventory::{Millis, sanitize, unreadable};
use policy::learned::RankLayout;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The size at which a file is put aside and a new one begins: 64 MiB.
pub const MAX_BYTES: u64 = 64 << 20;

/// Every line after the first one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// The time at which the engine took the event.
    pub at: Millis,
    pub event: ControllerEvent,
}

/// A journal being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    bytes: u64,
    limit: u64,
    pulses: HashMap<String, DevicePulse>,
    reports: HashMap<String, HostReport>,
}

impl Journal {
    /// Begins a journal. A file of that name from an earlier run becomes `FILE.1`. `limit` is in
    /// bytes.
    pub fn begin(path: &Path, limit: u64, header: &JournalHeader) -> io::Result<Journal> {
        let file = fresh(path)?;
        let mut journal = Journal {
            path: path.to_owned(),
            file,
            bytes: 0,
            limit,
            pulses: HashMap::new(),
            reports: HashMap::new(),
        };
        journal.write(header)?;
        Ok(journal)
    }

    /// Records an event that `engine` is about to take.
    ///
    /// # Errors
    /// The system's refusal; the journal is then of no further use.
    pub fn record(
        &mut self,
        at: Millis,
        event: &ControllerEvent,
        engine: &ControllerEngine,
    ) -> io::Result<()> {
        if self.is_quiet(event) {
            return Ok(());
        }
        if self.bytes >= self.limit {
            self.file = fresh(&self.path)?;
            self.bytes = 0;
            self.write(&engine.header())?;
        }
        self.write(&JournalLine {
            at,
            event: decisive(event),
        })
    }

    /// Returns whether an event is a pulse or a report with the same content as the one before.
    fn is_quiet(&mut self, event: &ControllerEvent) -> bool {
        let ControllerEvent::Observed(observation) = event else {
            return false;
        };
        match &observation.fact {
            DeviceFact::Pulse(pulse) => {
                let whole = pulse.completed(self.pulses.get(&observation.reporter));
                let before = self.pulses.insert(observation.reporter.clone(), whole);
                before.is_some_and(|before| triggers::after_pulse(Some(&before), pulse).is_empty())
            }
            DeviceFact::Host(report) => {
                let before = self
                    .reports
                    .insert(observation.reporter.clone(), report.clone());
                before.is_some_and(|before| same_but_moments(&before, report))
            }
            // The next pulse or report shows that the device is back, so it must be recorded.
            DeviceFact::Failed { table: None, .. } => {
                self.pulses.remove(&observation.reporter);
                self.reports.remove(&observation.reporter);
                false
            }
            _ => false,
        }
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.bytes += text.len() as u64;
        self.file.write_all(&text)
    }
}

/// The event without the parts that no decision depends on: anybody can write job records, and long
/// ones must not fill the journal.
fn decisive(event: &ControllerEvent) -> ControllerEvent {
    match event {
        ControllerEvent::Job(record) => ControllerEvent::Job(JobRecord {
            hosts: Vec::new(),
            layout: RankLayout::default(),
            calls: Vec::new(),
            learned: Vec::new(),
            watched: None,
            network: None,
            fast_call: None,
            ..record.clone()
        }),
        ControllerEvent::Taught(record) => ControllerEvent::Taught(Box::new(JobRecord {
            calls: Vec::new(),
            watched: None,
            ..JobRecord::clone(record)
        })),
        event => event.clone(),
    }
}

/// Makes an empty file, and puts a former one of that name aside.
fn fresh(path: &Path) -> io::Result<File> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".1");
    match fs::rename(path, &aside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    // The file contains names, addresses and users of the cluster, so it is for its owner only.
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// A journal that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The system refused.
    #[error("{path}: {}; nothing was replayed", unreadable::reason(cause))]
    Io {
        /// The journal.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A line is not one of a journal.
    #[error(
        "{path}:{line}: {problem}; expected a journal written by `heddle controller --journal`"
    )]
    Line {
        /// The journal.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        problem: String,
    },
}

/// The problem with a line, whose number the reader does not know.
fn problem(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => "it is not JSON".to_owned(),
    }
}

/// Runs an engine over a journal, and writes its effects. Every replay gives the same effects. A
/// torn last line, which a crash leaves, is skipped with a note. A journal may come from anywhere,
/// so its text is written in visible characters only.
///
/// # Errors
/// [`ReplayError`], also for a refusal to write to `out`.
pub fn replay(path: &Path, out: &mut impl Write) -> Result<(), ReplayError> {
    let io = |cause| ReplayError::Io {
        path: path.to_owned(),
        cause,
    };
    let bad = |line: usize, problem: String| ReplayError::Line {
        path: path.to_owned(),
        line,
        problem,
    };
    let mut say = |line: &str| writeln!(out, "{}", sanitize::visible(line)).map_err(io);
    let mut lines = BufReader::new(File::open(path).map_err(io)?)
        .split(b'\n')
        .enumerate()
        .peekable();
    let (_, first) = lines
        .next()
        .ok_or_else(|| bad(1, "empty file".to_owned()))?;
    let header: JournalHeader =
        serde_json::from_slice(&first.map_err(io)?).map_err(|e| bad(1, problem(&e)))?;
    let mut engine = ControllerEngine::resume_from(header);
    let mut began = None;
    while let Some((n, line)) = lines.next() {
        let line: JournalLine = match serde_json::from_slice(&line.map_err(io)?) {
            Ok(line) => line,
            Err(e) if lines.peek().is_none() => {
                say(&format!("line {}: torn, skipped: {e}", n + 1))?;
                break;
            }
            Err(e) => return Err(bad(n + 1, problem(&e))),
        };
        let at = line.at.since(*began.get_or_insert(line.at)).as_millis();
        let subject = line.event.to_string();
        let effects = engine.handle(line.at, line.event);
        if !effects.is_empty() {
            say(&format!("{:>8}.{:03} {subject}", at / 1000, at % 1000))?;
        }
        for effect in effects {
            say(&format!("{:12} {effect}", ""))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ControllerOptions;
    use inventory::inventory_file::Inventory;

    #[test]
    fn a_long_job_record_takes_a_short_line_and_decides_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let text = "switches: {s0: {address: 127.0.0.1}}\nsnmp: \
                    {default: {version: 2c, community: public}}";
        let engine = ControllerEngine::new(
            Inventory::parse("i.yaml", text).unwrap(),
            ControllerOptions::default(),
        );
        let mut journal = Journal::begin(&path, MAX_BYTES, &engine.header()).unwrap();
        let before = fs::metadata(&path).unwrap().len();
        let long = JobRecord {
            hosts: vec!["n".repeat(64); 1000],
            ..crate::jobs::tests::record("j", 7, 10, 1.0)
        };
        journal
            .record(Millis(5), &ControllerEvent::Job(long.clone()), &engine)
            .unwrap();
        assert!(fs::metadata(&path).unwrap().len() - before < 1000);
        let last = fs::read_to_string(&path)
            .unwrap()
            .lines()
            .last()
            .map(|line| serde_json::from_str::<JournalLine>(line).unwrap());
        assert_eq!(
            last,
            Some(JournalLine {
                at: Millis(5),
                event: ControllerEvent::Job(JobRecord {
                    hosts: Vec::new(),
                    layout: RankLayout::default(),
                    calls: Vec::new(),
                    ..long
                })
            })
        );
        replay(&path, &mut Vec::new()).unwrap();
    }
}
