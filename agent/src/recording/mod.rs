//! Recorded walks: the answers of a device, read from files instead of the network, through the
//! same tables.
//!
//! ```text
//! folder --files--> text --snmprec, text--> values by object identifier --tables--> observations
//! ```
//!
//! A file is a device: `NAME.snmprec`, or the output of `snmpwalk -On` as `NAME.txt`, `NAME.walk`
//! or just `NAME`. Each may be compressed as `.xz`. `NAME@CONTEXT` is the same device in another
//! SNMP context, or asked with `community@vlan`.
mod contexts;
mod folder;
mod snmprec;
mod snmpwalk;

#[cfg(test)]
mod tests;

use crate::tables;
use crate::walk::WalkAnswers;
use contexts::{MergedContexts, RecordedContext};
use inventory::Millis;
use inventory::observation::{DeviceFact, DeviceTable, Observation, ObservationSource};
use snmp::Value;

pub use folder::{RecordingFolder, RecordingFolderError, read_folder};

/// The largest number of parts of an object identifier (RFC 2578, 3.5).
const MOST_ARCS: usize = 128;

/// The limit of values kept of one device: a forwarding database of a million rows in both tables,
/// and some room.
const VALUES_LIMIT: usize = 4_500_000;

/// The recorded answers of one device.
#[derive(Debug)]
pub struct DeviceRecording {
    /// The device's name, from its file.
    pub name: String,
    facts: Vec<DeviceFact>,
}

impl DeviceRecording {
    /// Reads a walk in the format of its first record; `None` if it has no record.
    pub fn parse(name: &str, text: &[u8]) -> Option<DeviceRecording> {
        let reading = read(text)?;
        Some(DeviceRecording {
            name: name.to_owned(),
            facts: facts(&[RecordedContext::new(None, reading.answers)]).0,
        })
    }

    /// The observations of every table, as a survey of the device would have given them. A walk
    /// that cannot be read gives one [`DeviceFact::Failed`].
    pub fn observations(self, at: Millis) -> Vec<Observation> {
        let DeviceRecording { name, facts } = self;
        facts
            .into_iter()
            .map(|fact| Observation {
                at,
                reporter: name.clone(),
                source: ObservationSource::Recording,
                fact,
            })
            .collect()
    }
}

/// The tables of a device from its walks in each context, the plain one first; and the ports whose
/// spanning tree state differs between the contexts.
fn facts(contexts: &[RecordedContext]) -> (Vec<DeviceFact>, Vec<String>) {
    let Some(first) = contexts.first() else {
        return Default::default();
    };
    let MergedContexts { bridge, fdb, torn } = contexts::merge_contexts(contexts);
    let first = &first.answers;
    let interfaces = tables::interfaces::read(first);
    let rest = DeviceTable::ALL
        .into_iter()
        .filter(|t| !matches!(t, DeviceTable::Bridge | DeviceTable::Fdb))
        .map(|table| tables::fact(table, first));
    (
        rest.chain([DeviceFact::Bridge(bridge), DeviceFact::Fdb(fdb)])
            .collect(),
        torn.into_iter()
            .map(|index| {
                let row = interfaces.binary_search_by_key(&index, |i| i.index).ok();
                row.map(|at| interfaces[at].name.clone())
                    .filter(|name| !name.is_empty())
                    .unwrap_or_else(|| index.to_string())
            })
            .collect(),
    )
}

/// The reading of a file: the values read so far, and the records that could not be read.
#[derive(Debug, Default)]
struct RecordingReader {
    answers: WalkAnswers,
    /// Keep every object, not only those that the tables ask for.
    all: bool,
    /// The number of records that could not be read.
    refused: usize,
    first_refused: Option<usize>,
    /// The number of records whose object identifier came before: the walk went in circles.
    repeated: usize,
    first_repeated: Option<usize>,
    full: bool,
}

impl RecordingReader {
    #[cfg(test)]
    fn all() -> RecordingReader {
        RecordingReader {
            all: true,
            ..RecordingReader::default()
        }
    }

    fn take(&mut self, line: usize, oid: Vec<u32>, value: Value) {
        if !(self.all || tables::asked(&oid)) {
            return;
        }
        if self.answers.len() >= VALUES_LIMIT {
            self.full = true;
        } else if !self.answers.insert_first(oid, value) {
            self.repeated += 1;
            self.first_repeated.get_or_insert(line);
        }
    }

    fn refuse(&mut self, line: usize) {
        self.refused += 1;
        self.first_refused.get_or_insert(line);
    }
}

/// Reads a file's text in the format of its first record; `None` if it has no record.
fn read(text: &[u8]) -> Option<RecordingReader> {
    let mut reading = RecordingReader::default();
    for line in text.split_inclusive(|&b| b == b'\n') {
        if snmpwalk::is_record(line) {
            snmpwalk::read(text, &mut reading);
            return Some(reading);
        }
        if snmprec::is_record(line.trim_ascii_end()) {
            snmprec::read(text, &mut reading);
            return Some(reading);
        }
    }
    None
}
