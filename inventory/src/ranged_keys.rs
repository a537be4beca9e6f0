//! Maps and lists whose names may be ranges: `node[01-40]: {ranks: 2}`. Names that come twice are
//! refused, and all texts of a section together stand for a limited number of names.
use crate::name_ranges::{MOST_NAMES, expand_within, is_range};
use indexmap::IndexMap;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A value of a section, by name.
pub trait RangedEntry: Sized {
    /// The value as it is written once for all names of a range.
    type Written: for<'de> Deserialize<'de>;

    /// The value of each name. `None`: the name stands alone, as in a list.
    ///
    /// # Errors
    /// What is missing or does not fit the number of names.
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
/// A name that comes twice, a text that is no range, and what the values refuse.
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
            let mut map = IndexMap::new();
            while let Some(names) = access.next_key_seed(NewNames(&map))? {
                add(&mut map, names, access.next_value()?)?;
            }
            Ok(map)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = IndexMap::new();
            while let Some(names) = access.next_element_seed(NewNames(&map))? {
                add(&mut map, names, None)?;
            }
            Ok(map)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            let mut map = IndexMap::new();
            let names = NewNames(&map).visit_str(text)?;
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
            let mut names = Vec::new();
            while let Some(text) = access.next_element()? {
                extend(&mut names, text, MOST_NAMES).map_err(A::Error::custom)?;
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
    let written: IndexMap<String, Vec<String>> = crate::unique_keys::map(d)?;
    let mut left = MOST_NAMES;
    let mut groups = IndexMap::new();
    for (group, texts) in written {
        let mut names = Vec::new();
        for text in texts {
            extend(&mut names, text, left).map_err(D::Error::custom)?;
        }
        left -= names.len();
        groups.insert(group, names);
    }
    Ok(groups)
}

/// Adds the names of a text, as long as there are no more than `most`. What is no range may come
/// as often as somebody writes it out.
fn extend(names: &mut Vec<String>, text: String, most: usize) -> Result<(), String> {
    let left = most.saturating_sub(names.len());
    if is_range(&text) {
        names.extend(expand_within(&text, left).map_err(|e| e.to_string())?);
    } else if left == 0 {
        return Err(format!("more than {MOST_NAMES} names; write fewer"));
    } else {
        names.push(text);
    }
    Ok(())
}

/// Names that are not in the map yet. They are refused while they are read, so that the error names
/// the line.
struct NewNames<'a, V>(&'a IndexMap<String, V>);

impl<'de, V> DeserializeSeed<'de> for NewNames<'_, V> {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Vec<String>, D::Error> {
        d.deserialize_str(self)
    }
}

impl<V> Visitor<'_> for NewNames<'_, V> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
        let twice = |name: &str| {
            E::custom(format!(
                "\"{name}\" declared twice; every name may come once"
            ))
        };
        if !is_range(text) {
            return match self.0.contains_key(text) {
                true => Err(twice(text)),
                false => Ok(vec![text.to_owned()]),
            };
        }
        let left = MOST_NAMES.saturating_sub(self.0.len());
        let names = expand_within(text, left).map_err(E::custom)?;
        let mut seen = std::collections::HashSet::new();
        match names
            .iter()
            .find(|n| self.0.contains_key(*n) || !seen.insert(*n))
        {
            Some(name) => Err(twice(name)),
            None => Ok(names),
        }
    }
}
