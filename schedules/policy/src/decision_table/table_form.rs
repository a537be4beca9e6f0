//! A table as a map from collectives to entries, in files and between ranks. Where the library's own
//! routine runs at every size, a collective is left out, unless it is one of [`WRITTEN`].
use super::{Collective, DecisionEntry, DecisionTable, native};
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The collectives of every file: the first version knew no others.
const WRITTEN: [Collective; 2] = [Collective::Alltoall, Collective::Allgather];

impl Serialize for DecisionTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Collective::ALL.into_iter().filter(|&collective| {
            WRITTEN.contains(&collective) || *self.entries(collective) != *native()
        });
        let mut map = serializer.serialize_map(Some(written.clone().count()))?;
        for collective in written {
            map.serialize_entry(&collective, self.entries(collective))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DecisionTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DecisionTable, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = DecisionTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the entries of each collective")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DecisionTable, A::Error> {
        let mut table = DecisionTable::default();
        let mut read = Vec::new();
        while let Some(collective) = map.next_key::<Collective>()? {
            if read.contains(&collective) {
                return Err(A::Error::duplicate_field(collective.name()));
            }
            read.push(collective);
            table = table.with_entries(collective, map.next_value::<Vec<DecisionEntry>>()?);
        }
        match WRITTEN.iter().find(|collective| !read.contains(collective)) {
            Some(collective) => Err(A::Error::missing_field(collective.name())),
            None => Ok(table),
        }
    }
}
