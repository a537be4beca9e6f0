//! Maps and lists whose names may be ranges: `node[01-40]: {ranks: 2}`. Names that come twice in a map
//! are refused, and all ranges of a section together stand for a limited number of names. Plain names do
//! not count: the length of the file bounds them.
use crate::config::name_ranges::{MOST_NAMES, NameRangeError, expand_within, is_range};
use crate::config::unique_keys::{self, TextSeed, declared_twice};
use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

/// A value of a section, by name.
pub trait RangedEntry: Sized {
    /// The value as it is written once for all names of a range.
    type Written: for<'de> Deserialize<'de>;

    /// The value of each name. `None`: the name stands alone, as in a list.
    ///
    /// # Errors
    /// The value that is missing, or does not fit the number of names.
    fn spread(written: Option<Self::Written>, names: &[String]) -> Result<Vec<Self>, String>;
}

/// The values for the names of a range: one for all, or as many as there are names.
///
/// # Errors
/// There are other numbers of values.
pub fn one_each<T>(what: &str, values: Vec<T>, names: &[String]) -> Result<Vec<T>, String> {
    if values.len() == names.len() {
        return Ok(values);
    }
    Err(format!(
        "\"{}\" and what follows: {} names with {} {what}; expected one for each, written as a \
         range, too, like [1-{}]",
        names.first().map_or("", String::as_str),
        names.len(),
        values.len(),
        names.len()
    ))
}

/// For `#[serde(deserialize_with = "ranged_keys::map")]`: a map of names, or only their list.
///
/// # Errors
/// If a name comes twice, a text is not a range, or the values refuse their text.
pub fn map<'de, V: RangedEntry, D: Deserializer<'de>>(
    d: D,
) -> Result<IndexMap<String, V>, D::Error> {
    struct RangedMapVisitor<V>(PhantomData<V>);
    impl<'de, V: RangedEntry> Visitor<'de> for RangedMapVisitor<V> {
        type Value = IndexMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map of names or a list of names")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let (mut map, mut left) = (IndexMap::new(), MOST_NAMES);
            while let Some(names) =
                access.next_key_seed(TextSeed(|text: &str| new_names(&map, &mut left, text)))?
            {
                add(&mut map, names, access.next_value()?)?;
            }
            Ok(map)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let (mut map, mut left) = (IndexMap::new(), MOST_NAMES);
            while let Some(names) =
                access.next_element_seed(TextSeed(|text: &str| new_names(&map, &mut left, text)))?
            {
                add(&mut map, names, None)?;
            }
            Ok(map)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            let (mut map, mut left) = (IndexMap::new(), MOST_NAMES);
            let names = new_names(&map, &mut left, text).map_err(E::custom)?;
            add(&mut map, names, None)?;
            Ok(map)
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(IndexMap::new())
        }
    }
    d.deserialize_any(RangedMapVisitor(PhantomData))
}

fn add<V: RangedEntry, E: Error>(
    map: &mut IndexMap<String, V>,
    names: Vec<String>,
    written: Option<V::Written>,
) -> Result<(), E> {
    let values = V::spread(written, &names).map_err(E::custom)?;
    map.extend(names.into_iter().zip(values));
    Ok(())
}

/// For `#[serde(deserialize_with = "ranged_keys::list")]`: names in a list.
pub fn list<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    struct RangedListVisitor;
    impl<'de> Visitor<'de> for RangedListVisitor {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of names, like [s0, s1]")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Vec<String>, A::Error> {
            let (mut names, mut left) = (Vec::new(), MOST_NAMES);
            while let Some(text) = access.next_element()? {
                extend(&mut names, text, &mut left).map_err(A::Error::custom)?;
            }
            Ok(names)
        }

        fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Vec<String>, A::Error> {
            Err(A::Error::custom(
                "a map stands here; expected a list of names, like [s0, s1]",
            ))
        }
    }
    d.deserialize_any(RangedListVisitor)
}

/// For `#[serde(deserialize_with = "ranged_keys::groups")]`: lists of names, by name.
pub fn groups<'de, D: Deserializer<'de>>(d: D) -> Result<IndexMap<String, Vec<String>>, D::Error> {
    let written: IndexMap<String, Vec<String>> = unique_keys::map(d)?;
    let mut left = MOST_NAMES;
    let mut groups = IndexMap::new();
    for (group, texts) in written {
        let mut names = Vec::new();
        for text in texts {
            extend(&mut names, text, &mut left).map_err(D::Error::custom)?;
        }
        groups.insert(group, names);
    }
    Ok(groups)
}

/// Adds the names of a text. Names of ranges are taken from those that are left.
fn extend(names: &mut Vec<String>, text: String, left: &mut usize) -> Result<(), NameRangeError> {
    if is_range(&text) {
        names.extend(expand_from(&text, left)?);
    } else {
        names.push(text);
    }
    Ok(())
}

fn expand_from(range: &str, left: &mut usize) -> Result<Vec<String>, NameRangeError> {
    let names = expand_within(range, *left)?;
    *left = left.saturating_sub(names.len());
    Ok(names)
}

/// Names that are not in the map yet. They are refused while they are read, so that the error names
/// the line.
fn new_names<V>(
    known: &IndexMap<String, V>,
    left: &mut usize,
    text: &str,
) -> Result<Vec<String>, String> {
    let names = match is_range(text) {
        true => expand_from(text, left).map_err(|e| e.to_string())?,
        false => vec![text.to_owned()],
    };
    let mut seen = HashSet::new();
    let mut twice = names.iter();
    match twice.find(|n| known.contains_key(*n) || !seen.insert(*n)) {
        Some(name) => Err(declared_twice(name)),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Section {
        #[serde(default, deserialize_with = "list")]
        list: Vec<String>,
        #[serde(default, deserialize_with = "groups")]
        groups: IndexMap<String, Vec<String>>,
        #[serde(default, deserialize_with = "map")]
        map: IndexMap<String, Plain>,
    }

    struct Plain;

    impl RangedEntry for Plain {
        type Written = u8;

        fn spread(_: Option<u8>, names: &[String]) -> Result<Vec<Self>, String> {
            Ok(names.iter().map(|_| Plain).collect())
        }
    }

    /// The number of names, or the error.
    fn counted(text: &str) -> Result<usize, String> {
        let read: Section = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let in_groups: usize = read.groups.values().map(Vec::len).sum();
        Ok(read.list.len() + in_groups + read.map.len())
    }

    #[test]
    fn plain_names_do_not_count_and_ranges_count_together() {
        let most = MOST_NAMES - 1;
        for (start, end) in [
            (r#"{"list": ["#, "]}"),
            (r#"{"map": ["#, "]}"),
            (r#"{"groups": {"g": ["#, "]}}"),
        ] {
            let all = format!(r#"{start}"a", "n[0-{most}]", "b", "c"{end}"#);
            assert_eq!(counted(&all), Ok(MOST_NAMES + 3), "{start}");
            let more = format!(r#"{start}"n[0-{most}]", "b", "m[0-1]"{end}"#);
            let refused = counted(&more).unwrap_err();
            assert!(refused.contains("more than 65536 names"), "{refused}");
        }
        let two = format!(r#"{{"groups": {{"g": ["n[0-{most}]"], "h": ["b"]}}}}"#);
        assert_eq!(counted(&two), Ok(MOST_NAMES + 1));
        let two = two.replace("\"b\"", "\"m[0-1]\"");
        assert!(counted(&two).is_err());
    }
}
