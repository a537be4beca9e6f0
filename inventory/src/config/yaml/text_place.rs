//! The line of a value in a YAML file. The parser itself walks to the value and stops there, so the
//! line is right whatever the form of the file.
use crate::config::name_ranges::{expand, is_range};
use crate::config::unique_keys::TextSeed;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A step on the way to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceStep<'a> {
    /// A key of a map, or a text in a list; or the range that the name is of.
    Name(&'a str),
    /// An item of a list, from 0.
    Item(usize),
}

/// The line, from 1, to which these steps lead. Where the last steps lead nowhere, it is the line
/// of those before.
pub fn line_of(text: &str, steps: &[PlaceStep<'_>]) -> Option<usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..=steps.len()).rev().find_map(|length| {
        let document = serde_yaml::Deserializer::from_str(text);
        let stopped = PlaceSeed(&steps[..length]).deserialize(document).err()?;
        Some(stopped.location()?.line())
    })
}

/// Stops with an error at the value to which the steps lead.
struct PlaceSeed<'a>(&'a [PlaceStep<'a>]);

impl PlaceSeed<'_> {
    /// Whether a name is that of the first step; stops at it if it is the last one.
    fn name(&self, is_last: bool) -> TextSeed<impl FnOnce(&str) -> Result<bool, String>> {
        let step = self.0[0];
        TextSeed(move |name: &str| {
            let found = match step {
                PlaceStep::Name(wanted) if is_range(name) => {
                    expand(name).is_ok_and(|names| names.iter().any(|name| name == wanted))
                }
                wanted => wanted == PlaceStep::Name(name),
            };
            match found && is_last {
                true => Err("this is the place".to_owned()),
                false => Ok(found),
            }
        })
    }
}

impl<'de> DeserializeSeed<'de> for PlaceSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        if self.0.is_empty() {
            // Any type that refuses every value stops the parser at this one.
            return d.deserialize_any(StopVisitor);
        }
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PlaceSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let is_last = self.0.len() == 1;
        while let Some(found) = map.next_key_seed(self.name(is_last))? {
            match found {
                true => map.next_value_seed(PlaceSeed(&self.0[1..]))?,
                false => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if let PlaceStep::Item(number) = self.0[0] {
            for _ in 0..number {
                list.next_element::<IgnoredAny>()?;
            }
            list.next_element_seed(PlaceSeed(&self.0[1..]))?;
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while list.next_element_seed(self.name(true))?.is_some() {}
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// Refuses every value.
struct StopVisitor;

impl Visitor<'_> for StopVisitor {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }
}

#[cfg(test)]
mod tests {
    use super::PlaceStep::{Item, Name};
    use super::*;

    const TEXT: &str = "switches:\n  s0: {address: a}\n  s1:\n    address: s0\nhosts: # s1\n- n0\n\
                        - n1\nlinks: [{a: s0,\n  b: s1}, {a: s1,\n  b: s2}]\n";

    #[test]
    fn the_parser_finds_lines_in_every_form() {
        for (steps, line) in [
            (&[Name("switches")][..], 1),
            (&[Name("switches"), Name("s1")], 3),
            (&[Name("switches"), Name("s1"), Name("address")], 4),
            (&[Name("hosts"), Name("n1")], 7),
            (&[Name("hosts"), Item(0)], 6),
            (&[Name("links"), Item(1)], 9),
            (&[Name("links"), Item(1), Name("b")], 10),
        ] {
            assert_eq!(line_of(TEXT, steps), Some(line), "{steps:?}");
        }
    }

    #[test]
    fn steps_that_lead_nowhere_end_at_those_before() {
        assert_eq!(line_of(TEXT, &[Name("hosts"), Name("n7")]), Some(5));
        assert_eq!(line_of(TEXT, &[Name("links"), Item(7)]), Some(8));
        assert_eq!(line_of(TEXT, &[Name("routers")]), None);
    }
}
