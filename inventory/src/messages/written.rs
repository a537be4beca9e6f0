//! Facts as they are written beside what they are about: a text each for people, and the same for programs in
//! `facts`. Readers of former versions see the texts.
use serde::de::{DeserializeOwned, Error, IgnoredAny};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::Display;

/// A kind of facts, each with a code, arguments and a sentence.
pub(crate) trait WrittenFact: Display + Serialize + DeserializeOwned {
    /// The key of the texts.
    const TEXTS: &'static str;

    /// The key is left out where there are no facts.
    const MAY_BE_LEFT_OUT: bool;

    /// A fact of which only its text is known.
    fn of_text(text: String) -> Self;
}

/// For `serde(flatten, with)`.
pub(crate) fn serialize<F: WrittenFact, S: Serializer>(
    facts: &[F],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let texts: Vec<String> = facts.iter().map(F::to_string).collect();
    let mut map = serializer.serialize_map(None)?;
    if !(F::MAY_BE_LEFT_OUT && texts.is_empty()) {
        map.serialize_entry(F::TEXTS, &texts)?;
    }
    if !facts.is_empty() {
        map.serialize_entry("facts", facts)?;
    }
    map.end()
}

#[derive(Deserialize)]
#[serde(bound = "F: DeserializeOwned")]
struct ReadFacts<F> {
    #[serde(alias = "evidence", alias = "reasons")]
    texts: Option<Vec<String>>,
    #[serde(default)]
    facts: Vec<ReadFact<F>>,
}

/// A fact that this version knows, or any other.
#[derive(Deserialize)]
#[serde(untagged, bound = "F: DeserializeOwned")]
enum ReadFact<F> {
    Known(F),
    Other(IgnoredAny),
}

/// For `serde(flatten, with)`.
pub(crate) fn deserialize<'de, F: WrittenFact, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<F>, D::Error> {
    let ReadFacts { texts, facts } = ReadFacts::deserialize(deserializer)?;
    if texts.is_none() && !F::MAY_BE_LEFT_OUT {
        return Err(D::Error::missing_field(F::TEXTS));
    }
    let mut facts = facts.into_iter();
    let read = texts.into_iter().flatten().map(|text| match facts.next() {
        Some(ReadFact::Known(fact)) => fact,
        Some(ReadFact::Other(_)) | None => F::of_text(text),
    });
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitsPerSec;
    use crate::messages::cluster_reason::{ClusterReason, ForestEdge};
    use crate::messages::evidence::{AssumedRate, DevicePort, Evidence, SideBySide};
    use crate::model::link_state::LinkState;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct FoundLink {
        a: String,
        #[serde(flatten, with = "super")]
        evidence: Vec<Evidence>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct FoundCluster {
        hosts: Vec<String>,
        #[serde(flatten, with = "super")]
        reasons: Vec<ClusterReason>,
    }

    #[test]
    fn reasons_of_clusters_are_written_as_evidence_is() {
        let reasons = vec![
            ClusterReason::Stated,
            ClusterReason::Routers(vec!["r0".to_owned()]),
            ClusterReason::SlowLink {
                link: edge("s0", "s1"),
                rate: BitsPerSec::mega(100),
                hosts: BitsPerSec::mega(1_000),
            },
            ClusterReason::LongLinks {
                links: vec![edge("s0", "s1"), edge("s1", "s2")],
                least_us: 2_000,
                most_us: 70,
            },
            ClusterReason::More(3),
        ];
        let cluster = FoundCluster {
            hosts: vec!["n0".to_owned()],
            reasons,
        };
        let value = serde_json::to_value(&cluster).unwrap();
        assert_eq!(
            value["reasons"][1],
            "r0 is a router: the network beyond it has another spanning tree"
        );
        assert_eq!(
            value["facts"][1],
            serde_json::json!({"code": "routers", "arguments": ["r0"]})
        );
        assert_eq!(value["facts"][0], serde_json::json!({"code": "stated"}));
        let json = value.to_string();
        assert_eq!(
            serde_json::from_str::<FoundCluster>(&json).unwrap(),
            cluster
        );
        let older: FoundCluster =
            serde_json::from_str(r#"{"hosts": [], "reasons": ["hosts on s0"]}"#).unwrap();
        assert_eq!(
            older.reasons,
            [ClusterReason::ReadBack("hosts on s0".to_owned())]
        );
        assert!(
            serde_json::from_str::<FoundCluster>(r#"{"hosts": []}"#)
                .unwrap()
                .reasons
                .is_empty()
        );
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
        assert!(serde_json::from_str::<FoundLink>(r#"{"a": "s0"}"#).is_err());
    }

    fn edge(a: &str, b: &str) -> ForestEdge {
        ForestEdge::Link(a.to_owned(), b.to_owned())
    }

    fn read(json: &str) -> Vec<Evidence> {
        serde_json::from_str::<FoundLink>(json).unwrap().evidence
    }

    fn text(text: &str) -> Evidence {
        Evidence::ReadBack(text.to_owned())
    }
}
