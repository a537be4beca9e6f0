//! The decision table: the way of a collective at each block size. Between two measured sizes a way
//! must have won at both.
mod collective;
mod learned;
mod table_form;
mod unmeasured;

pub use crate::ways::{DataCarrier, UnknownWay, Way};
pub use collective::{Collective, CollectiveTraffic, UnknownCollective};
pub use unmeasured::UnmeasuredSet;
pub(crate) use unmeasured::{ANY_SIZE, OverflowingCall, TOKENS};

use inventory::Bytes;
pub use inventory::mpi::{Mpi, UnknownMpi};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The way from one block size on, up to the next entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionEntry {
    /// Bytes a rank sends to each other rank (alltoall) or contributes (allgather).
    pub from: Bytes,
    pub way: Way,
    /// The only MPI library that the entry holds under; `None`: it holds under each.
    #[serde(default)]
    pub mpi: Option<Mpi>,
    /// The evidence for the entry.
    #[serde(default)]
    pub grounds: DecisionGrounds,
}

/// The evidence for an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionGrounds {
    /// Measured on heddle's own emulated clusters, not on this one: [`DecisionTable::unmeasured`].
    #[default]
    Elsewhere,
    /// Measured on this cluster's hosts and cables.
    Measured,
    /// Measured on this cluster, and faster than the library's own routine again in a launch of its
    /// own.
    Confirmed,
    /// The library's own routine: another way was measured to be faster, but a launch of its own
    /// did not confirm it.
    Unconfirmed,
    /// Measured on these hosts before cables were moved in a way that changes no bound.
    Kept,
    /// Learned by jobs at this place while they ran: [`DecisionTable::with_learned`].
    Learned,
    /// Computed by the contention model, for sizes between measured ones.
    Modelled,
    /// Computed by the contention model, because hosts or cables differ from the measured ones.
    /// Such sizes should be measured again.
    Stale,
}

impl DecisionGrounds {
    /// True for what `heddle tune` measured on these hosts and cables.
    pub fn is_measured(self) -> bool {
        match self {
            DecisionGrounds::Measured
            | DecisionGrounds::Confirmed
            | DecisionGrounds::Unconfirmed
            | DecisionGrounds::Kept => true,
            DecisionGrounds::Elsewhere
            | DecisionGrounds::Modelled
            | DecisionGrounds::Stale
            | DecisionGrounds::Learned => false,
        }
    }
}

impl fmt::Display for DecisionGrounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DecisionGrounds::Elsewhere => "not measured here",
            DecisionGrounds::Measured => "measured",
            DecisionGrounds::Confirmed => "measured and confirmed",
            DecisionGrounds::Unconfirmed => "measured, not confirmed",
            DecisionGrounds::Kept => "measured before harmless recabling",
            DecisionGrounds::Learned => "learned by jobs",
            DecisionGrounds::Modelled => "modelled between measured sizes",
            DecisionGrounds::Stale => "modelled, to be measured again",
        })
    }
}

/// The entries of each collective, in ascending order for each MPI library. The first one begins at
/// 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DecisionTable {
    /// By the place in [`Collective::ALL`].
    entries: [Vec<DecisionEntry>; Collective::ALL.len()],
}

/// The library's own routine at every size, for collectives that nobody has measured.
fn native() -> Vec<DecisionEntry> {
    vec![DecisionEntry {
        from: Bytes(0),
        way: Way::Native,
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    }]
}

/// The library's own routine everywhere.
impl Default for DecisionTable {
    fn default() -> Self {
        DecisionTable {
            entries: std::array::from_fn(|_| native()),
        }
    }
}

/// A table that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecisionTableError {
    /// The text is not JSON, or does not have the expected shape.
    #[error("decision table: {0}")]
    Syntax(String),
    /// Entries are missing, contradict each other or make no sense.
    #[error("decision table, {collective}: {problem}")]
    Content {
        /// The collective of the entries.
        collective: Collective,
        /// The problem, and what was expected.
        problem: String,
    },
}

/// More entries than anybody measures: a limit on what is read.
const MAX_ENTRIES: usize = 256;

impl DecisionTable {
    /// The entries that hold under one MPI library.
    pub fn for_mpi(mut self, mpi: Mpi) -> DecisionTable {
        for entries in &mut self.entries {
            entries.retain(|entry| entry.mpi.is_none_or(|only| only == mpi));
        }
        self
    }

    /// The entries that hold under each MPI library.
    #[must_use]
    pub fn for_each_mpi(mut self) -> DecisionTable {
        for entries in &mut self.entries {
            entries.retain(|entry| entry.mpi.is_none());
        }
        self
    }

    /// The evidence for the entries, in a line: `decision table: 5 entries measured, 2 modelled
    /// between measured sizes`.
    pub fn summary(&self) -> String {
        let entries = self.entries.iter().flatten();
        let own = entries.filter(|entry| entry.mpi.is_some() || entry.way != Way::Native);
        let measured = [
            DecisionGrounds::Confirmed,
            DecisionGrounds::Unconfirmed,
            DecisionGrounds::Measured,
            DecisionGrounds::Kept,
            DecisionGrounds::Learned,
        ];
        let grounds = measured.into_iter().chain([
            DecisionGrounds::Modelled,
            DecisionGrounds::Stale,
            DecisionGrounds::Elsewhere,
        ]);
        let counted = grounds
            .map(|g| (g, own.clone().filter(|entry| entry.grounds == g).count()))
            .filter(|(_, count)| *count > 0);
        let mut parts: Vec<String> = counted
            .map(|(grounds, count)| format!("{count} {grounds}"))
            .collect();
        match parts.first_mut() {
            Some(first) => *first = first.replacen(' ', " entries ", 1),
            None => parts.push("the libraries' own routines".to_owned()),
        }
        format!("decision table: {}", parts.join(", "))
    }

    /// A collective's entries.
    pub fn entries(&self, collective: Collective) -> &[DecisionEntry] {
        &self.entries[collective as usize]
    }

    /// This table with other entries for a collective.
    #[must_use]
    pub fn with_entries(
        mut self,
        collective: Collective,
        entries: Vec<DecisionEntry>,
    ) -> DecisionTable {
        self.entries[collective as usize] = entries;
        self
    }

    /// The entry for blocks of this size, in a table that [`DecisionTable::for_mpi`] has reduced.
    pub fn entry(&self, collective: Collective, block: Bytes) -> Option<&DecisionEntry> {
        self.entries(collective)
            .iter()
            .rev()
            .find(|entry| entry.from <= block)
    }

    /// The way of [`DecisionTable::entry`].
    pub fn choose(&self, collective: Collective, block: Bytes) -> Way {
        self.choose_where(collective, block, |_| true)
    }

    /// The way where some ways are impossible: the way of the entry from the largest size that is
    /// possible.
    pub fn choose_where(
        &self,
        collective: Collective,
        block: Bytes,
        can: impl Fn(Way) -> bool,
    ) -> Way {
        let mut entries = self.entries(collective).iter().rev();
        entries
            .find(|entry| entry.from <= block && can(entry.way))
            .map_or(Way::Native, |entry| entry.way)
    }

    /// This table, reduced to one library by [`DecisionTable::for_mpi`], as calls follow it that
    /// cannot go over TCP: see [`DecisionTable::choose_where`].
    #[must_use]
    pub fn without_tcp(mut self) -> DecisionTable {
        for entries in &mut self.entries {
            let mut instead = Way::Native;
            for entry in entries.iter_mut() {
                if !entry.way.is_over_tcp() {
                    instead = entry.way;
                }
                entry.way = instead;
            }
            entries.dedup_by_key(|entry| entry.way);
        }
        self
    }

    /// The table as JSON, laid out for people to read.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|e| unreachable!("numbers and names always serialize: {e}"))
            + "\n"
    }

    /// Reads a table that [`DecisionTable::to_json`] or an operator wrote.
    ///
    /// # Errors
    /// [`DecisionTableError`] if the text is not a table or [`DecisionTable::check`] fails.
    pub fn from_json(text: &[u8]) -> Result<DecisionTable, DecisionTableError> {
        let table: DecisionTable =
            serde_json::from_slice(text).map_err(|e| DecisionTableError::Syntax(e.to_string()))?;
        table.check()?;
        Ok(table)
    }

    /// Checks that every size has exactly one way, and that its collective can go it.
    ///
    /// # Errors
    /// [`DecisionTableError::Content`].
    pub fn check(&self) -> Result<(), DecisionTableError> {
        Collective::ALL
            .into_iter()
            .try_for_each(|collective| check(collective, self.entries(collective)))
    }
}

fn check(collective: Collective, entries: &[DecisionEntry]) -> Result<(), DecisionTableError> {
    let wrong = |problem: String| {
        Err(DecisionTableError::Content {
            collective,
            problem,
        })
    };
    if entries.is_empty()
        || entries.len() > MAX_ENTRIES
        || entries[0].from != Bytes(0)
        || entries[0].mpi.is_some()
    {
        return wrong(format!(
            "expected 1 to {MAX_ENTRIES} entries, the first one from 0 and for each MPI library"
        ));
    }
    for mpi in Mpi::ALL {
        let holding: Vec<&DecisionEntry> = entries
            .iter()
            .filter(|entry| entry.mpi.is_none_or(|only| only == mpi))
            .collect();
        let descending = holding.windows(2).find(|pair| {
            // Of two entries from the same size, the first is the way to go if there are no connections.
            let is_instead = !pair[0].way.is_over_tcp() && pair[1].way.is_over_tcp();
            pair[0].from > pair[1].from || (pair[0].from == pair[1].from && !is_instead)
        });
        if let Some(pair) = descending {
            return wrong(format!(
                "entry from {} follows the one from {}; expected ascending sizes",
                pair[1].from.0, pair[0].from.0
            ));
        }
    }
    match entries.iter().find(|entry| !entry.way.serves(collective)) {
        Some(entry) => wrong(format!(
            "entry from {}: expected {}",
            entry.from.0,
            alternatives(Way::usual(collective))
        )),
        None => Ok(()),
    }
}

/// The names of things of which one is expected: `native, aapc or ring`.
pub(crate) fn alternatives(things: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let names: Vec<String> = things.into_iter().map(|thing| thing.to_string()).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests;
