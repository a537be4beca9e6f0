//! Recorded walks: what a device once answered, read from files instead of the network, through the same tables.
//!
//! ```text
//! folder --files--> text --snmprec, text--> values by object identifier --tables--> observations
//! ```
//!
//! A file is a device: `NAME.snmprec` or the output of `snmpwalk -On` as `NAME.txt`, `NAME.walk` or just `NAME`, each
//! also compressed as `.xz`. `NAME@CONTEXT` is the same device in another SNMP context, or asked by `community@vlan`.
mod contexts;
mod folder;
mod snmprec;
mod text;

#[cfg(test)]
mod tests;

use crate::tables;
use crate::walk::Answers;
use inventory::Millis;
use inventory::observation::{Fact, Observation, Source, Table};
use snmp::Value;

pub use folder::{Folder, FolderError, read_folder};

/// No object identifier has more parts (RFC 2578, 3.5).
const MOST_ARCS: usize = 128;

/// Values kept of one device: a forwarding database of a million rows in both tables, and room.
const VALUES_LIMIT: usize = 4_500_000;

/// What a device said in which context, the plain one (`None`) first.
type Walks = Vec<(Option<String>, Answers)>;

/// One device's walks.
#[derive(Debug)]
pub struct Recording {
    /// The device's name, from its file.
    pub name: String,
    /// Its walks, or why they cannot be read.
    walks: Result<Walks, String>,
}

impl Recording {
    /// Every table, as a look at the device would have given them. A walk that cannot be read gives one
    /// [`Fact::Failed`].
    pub fn observations(&self, at: Millis) -> Vec<Observation> {
        let facts = match &self.walks {
            Ok(walks) => facts(walks),
            Err(problem) => vec![Fact::Failed { table: None, problem: problem.clone() }],
        };
        let observe = |fact| Observation { at, reporter: self.name.clone(), source: Source::Recording, fact };
        facts.into_iter().map(observe).collect()
    }
}

fn facts(walks: &[(Option<String>, Answers)]) -> Vec<Fact> {
    let Some((_, first)) = walks.first() else { return vec![] };
    let (bridge, fdb) = contexts::joined(walks.iter().map(|(_, answers)| answers));
    let table = |table| match table {
        Table::Bridge => Fact::Bridge(bridge.clone()),
        Table::Fdb => Fact::Fdb(fdb.clone()),
        table => tables::fact(table, first),
    };
    Table::ALL.into_iter().map(table).collect()
}

/// A file under way: what was read of it, and what could not be.
#[derive(Debug, Default)]
struct Reading {
    answers: Answers,
    /// Keep everything, not only what the tables ask for.
    all: bool,
    /// Records that are none.
    refused: usize,
    first_refused: Option<usize>,
    /// Records of an object identifier that came before: a walk that went round in circles.
    repeated: usize,
    first_repeated: Option<usize>,
    full: bool,
}

impl Reading {
    #[cfg(test)]
    fn all() -> Reading {
        Reading { all: true, ..Reading::default() }
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

/// Reads a file's text, in whichever format its first record is; `None` where it has none.
fn read(text: &[u8]) -> Option<Reading> {
    let mut reading = Reading::default();
    for line in text.split_inclusive(|&b| b == b'\n') {
        if text::is_record(line) {
            text::read(text, &mut reading);
            return Some(reading);
        }
        if snmprec::is_record(line.trim_ascii_end()) {
            snmprec::read(text, &mut reading);
            return Some(reading);
        }
    }
    None
}
