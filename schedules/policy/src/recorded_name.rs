//! A name in a file that several versions of heddle write and read.
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A value named in a record: known to this version of heddle, or a name that only another version
/// knows. The file holds the name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RecordedName<T> {
    /// A known value.
    Known(T),
    /// An unknown name.
    Unknown(String),
}

impl<T> RecordedName<T> {
    /// The value, if this version knows it.
    pub fn known(&self) -> Option<&T> {
        match self {
            RecordedName::Known(thing) => Some(thing),
            RecordedName::Unknown(_) => None,
        }
    }

    /// A name that only another version knows.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            RecordedName::Known(_) => None,
            RecordedName::Unknown(name) => Some(name),
        }
    }
}

impl<T> From<T> for RecordedName<T> {
    fn from(thing: T) -> RecordedName<T> {
        RecordedName::Known(thing)
    }
}

impl<T: fmt::Display> fmt::Display for RecordedName<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordedName::Known(thing) => thing.fmt(f),
            RecordedName::Unknown(name) => f.pad(name),
        }
    }
}

impl<T: fmt::Display> Serialize for RecordedName<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: FromStr + fmt::Display> Deserialize<'de> for RecordedName<T> {
    /// A name of a known value that this version would write differently stays as it is.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordedName<T>, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = name
            .parse()
            .ok()
            .filter(|thing: &T| thing.to_string() == name);
        Ok(known.map_or(RecordedName::Unknown(name), RecordedName::Known))
    }
}
