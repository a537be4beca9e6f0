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
            while let Some(key) = access.next_key_seed(NewKey(&map))? {
                map.insert(key, access.next_value()?);
            }
            Ok(map)
        }
    }
    d.deserialize_map(UniqueMapVisitor(PhantomData))
}

/// A name that is not in the map yet. It is refused while it is read, so that the error names the
/// line of the second one.
struct NewKey<'a, V>(&'a IndexMap<String, V>);

impl<'de, V> DeserializeSeed<'de> for NewKey<'_, V> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<String, D::Error> {
        d.deserialize_str(self)
    }
}

impl<V> Visitor<'_> for NewKey<'_, V> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<String, E> {
        match self.0.contains_key(name) {
            true => Err(E::custom(format!(
                "\"{name}\" declared twice; every name may come once"
            ))),
            false => Ok(name.to_owned()),
        }
    }
}
