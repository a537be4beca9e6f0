//! Maps that refuse equal keys. Plain deserialization silently keeps the last of two equal keys,
//! which would lose a host.
use indexmap::IndexMap;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// For `#[serde(deserialize_with = "unique_keys::map")]`.
pub fn map<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
) -> Result<IndexMap<String, V>, D::Error> {
    struct UniqueMapVisitor<V>(PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueMapVisitor<V> {
        type Value = IndexMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map of names")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = IndexMap::new();
            while let Some(key) =
                access.next_key_seed(TextSeed(|name: &str| new_name(&map, name)))?
            {
                map.insert(key, access.next_value()?);
            }
            Ok(map)
        }
    }
    d.deserialize_map(UniqueMapVisitor(PhantomData))
}

/// A name that is not in the map yet. It is refused while it is read, so that the error names the
/// line of the second one.
fn new_name<V>(known: &IndexMap<String, V>, name: &str) -> Result<String, String> {
    match known.contains_key(name) {
        true => Err(declared_twice(name)),
        false => Ok(name.to_owned()),
    }
}

pub(crate) fn declared_twice(name: &str) -> String {
    format!("\"{name}\" declared twice; every name may come once")
}

/// A name, as a function takes it or refuses it.
pub(crate) struct TextSeed<F>(pub(crate) F);

impl<'de, T, F: FnOnce(&str) -> Result<T, String>> DeserializeSeed<'de> for TextSeed<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<T, D::Error> {
        d.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> Result<T, String>> Visitor<'_> for TextSeed<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        (self.0)(name).map_err(E::custom)
    }
}
