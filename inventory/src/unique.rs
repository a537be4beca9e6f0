//! Maps whose keys may come once. Plain deserialization keeps the last of two equal keys without a word,
//! which would lose a host.
use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// For `#[serde(deserialize_with = "unique::map")]`.
pub(crate) fn map<'de, V: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<IndexMap<String, V>, D::Error> {
    struct Unique<V>(PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = IndexMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map of names")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = IndexMap::new();
            while let Some(key) = access.next_key::<String>()? {
                if map.contains_key(&key) {
                    return Err(A::Error::custom(format!("\"{key}\" declared twice; every name may come once")));
                }
                map.insert(key, access.next_value()?);
            }
            Ok(map)
        }
    }
    d.deserialize_map(Unique(PhantomData))
}
