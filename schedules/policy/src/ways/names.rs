//! The names of ways, as in job records and `HEDDLE_TURNS`: `native`, `aapc`, `aapc sender tcp`, `lg`,
//! `ring tcp`. A name leaves out the usual choices: receiver tokens, and MPI as the carrier.
use super::{DataCarrier, WAYS, Way};
use crate::decision_table::alternatives;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row();
        let mut name = row.name().to_owned();
        if let Some(sync) = self
            .sync()
            .filter(|sync| *sync != SyncKind::Receiver.into())
        {
            name += &format!(" {sync}");
        }
        if self.is_over_tcp() && row.names_carrier() {
            name += " tcp";
        }
        f.pad(&name)
    }
}

/// A name that does not name a [`Way`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "way \"{0}\": expected {known}, with a synchronization after aapc and tcp at the end where wanted: \
     \"aapc sender tcp\"",
    known = alternatives(named())
)]
pub struct UnknownWay(pub String);

/// Each name once.
fn named() -> impl Iterator<Item = Way> {
    let ways = WAYS.iter().map(|row| row.usual());
    ways.filter(|way| way.with_usual_sync() == *way)
}

impl Way {
    /// The way of a name without choices, over this carrier where it has a choice; `None` too where it has
    /// another one, which has to be named.
    pub fn named(name: &str, over: DataCarrier) -> Option<Way> {
        let way = named().find(|way| way.row().name() == name)?;
        let way = way.with_carrier(over);
        let is_named = over == DataCarrier::Tcp || !way.row().names_carrier();
        (is_named || !way.is_over_tcp()).then_some(way)
    }
}

impl FromStr for Way {
    type Err = UnknownWay;

    fn from_str(text: &str) -> Result<Way, UnknownWay> {
        let unknown = || UnknownWay(text.to_owned());
        let (words, over) = match text.strip_suffix(" tcp") {
            Some(words) => (words, DataCarrier::Tcp),
            None => (text, DataCarrier::Mpi),
        };
        let (name, sync) = match words.split_once(' ') {
            Some((name, sync)) => (name, Some(sync)),
            None => (words, None),
        };
        let mut way = Way::named(name, over).ok_or_else(unknown)?;
        // "tcp" is added to what can go over something else, or is as often as not.
        if over == DataCarrier::Tcp && (way.carrier() != Some(over) || !way.row().names_carrier()) {
            return Err(unknown());
        }
        if let Some(text) = sync {
            let read: SyncScheme = text.parse().map_err(|_| unknown())?;
            match &mut way {
                Way::Aapc { sync, .. } if read.mechanism() != SyncMechanism::Dummy => *sync = read,
                _ => return Err(unknown()),
            }
        }
        Ok(way)
    }
}
