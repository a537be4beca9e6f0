//! The evidence for a link as it is written: a text for people in `evidence`, and the same for programs in
//! `facts`. Readers of former versions see the texts.
use super::Evidence;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize)]
struct WrittenFacts<'a> {
    evidence: Vec<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    facts: &'a [Evidence],
}

#[derive(Deserialize)]
struct ReadFacts {
    evidence: Vec<String>,
    #[serde(default)]
    facts: Vec<ReadFact>,
}

/// A fact that this version knows, or any other.
#[derive(Deserialize)]
#[serde(untagged)]
enum ReadFact {
    Known(Evidence),
    Other(IgnoredAny),
}

/// For `serde(flatten, with)`.
pub(crate) fn serialize<S: Serializer>(facts: &[Evidence], s: S) -> Result<S::Ok, S::Error> {
    let evidence = facts.iter().map(Evidence::to_string).collect();
    WrittenFacts { evidence, facts }.serialize(s)
}

/// For `serde(flatten, with)`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Evidence>, D::Error> {
    let ReadFacts { evidence, facts } = ReadFacts::deserialize(d)?;
    let mut facts = facts.into_iter();
    let read = evidence.into_iter().map(|text| match facts.next() {
        Some(ReadFact::Known(fact)) => fact,
        Some(ReadFact::Other(_)) | None => Evidence::ReadBack(text),
    });
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::evidence::{AssumedRate, DevicePort, SideBySide};
    use crate::model::link_state::LinkState;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct FoundLink {
        a: String,
        #[serde(flatten, with = "super")]
        evidence: Vec<Evidence>,
    }

    #[test]
    fn evidence_is_its_texts_with_codes_and_arguments_and_reads_back() {
        let link = FoundLink {
            a: "s0".to_owned(),
            evidence: vec![
                Evidence::Stated,
                Evidence::PortDown(DevicePort::new("s0", "p1")),
                Evidence::Rate(AssumedRate::Gigabit),
                Evidence::StateInVlan(7, LinkState::Blocked),
                Evidence::SideBySide(SideBySide::Cards(2)),
                Evidence::ReadBack("of an older version".to_owned()),
            ],
        };
        let value = serde_json::to_value(&link).unwrap();
        assert_eq!(value["evidence"][1], "port p1 of s0 is down");
        let fact = serde_json::json!({
            "code": "port-down", "arguments": {"device": "s0", "port": "p1"},
        });
        assert_eq!(value["facts"][1], fact);
        let json = value.to_string();
        assert_eq!(serde_json::from_str::<FoundLink>(&json).unwrap(), link);
    }

    #[test]
    fn evidence_of_other_versions_is_its_text() {
        let older = r#"{"a": "s0", "evidence": ["stated in the inventory"]}"#;
        let newer = r#"{"a": "s0", "evidence": ["a", "b"], "facts": [{"code": "of-tomorrow",
            "arguments": [1]}, {"code": "stated"}]}"#;
        assert_eq!(read(older), [text("stated in the inventory")]);
        assert_eq!(read(newer), [text("a"), Evidence::Stated]);
    }

    fn read(json: &str) -> Vec<Evidence> {
        serde_json::from_str::<FoundLink>(json).unwrap().evidence
    }

    fn text(text: &str) -> Evidence {
        Evidence::ReadBack(text.to_owned())
    }
}
