//! The name of a lab. It becomes a part of paths below which `down` deletes, and of names of
//! namespaces. Therefore every name from outside the crate is checked and becomes a [`LabName`]
//! before anything is looked up by it.
use crate::error::{LabError, LabResult};
use serde::{Deserialize, Serialize};
use std::fmt;

/// 1 to 32 letters, digits, `-` or `_`, not starting with `-`. It is never a path, an option, or
/// more than one part of a dotted name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct LabName(String);

impl LabName {
    /// Checks a name.
    pub(crate) fn new(name: &str) -> LabResult<LabName> {
        let fits = (1..=32).contains(&name.len()) && !name.starts_with('-');
        if fits
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        {
            return Ok(LabName(name.to_owned()));
        }
        Err(LabError::Refused(format!(
            "lab name \"{name}\": expected 1 to 32 letters, digits, \"-\" or \"_\", not starting \
             with \"-\""
        )))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for LabName {
    type Error = LabError;

    fn try_from(name: String) -> LabResult<LabName> {
        LabName::new(&name)
    }
}

impl From<LabName> for String {
    fn from(name: LabName) -> String {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        let long = "x".repeat(33);
        for bad in [
            "", ".", "..", "/x", "a/b", "../..", "a.b", "-x", "a b", "é", "a\0", "a\n", &long,
        ] {
            assert!(LabName::new(bad).is_err(), "{bad:?}");
        }
        for good in ["lab", "a", "demo-2", "A_b-3", "_", &long[1..]] {
            assert_eq!(LabName::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn a_file_cannot_bring_one_in() {
        assert!(serde_json::from_str::<LabName>("\"../..\"").is_err());
        let name = LabName::new("demo-2").unwrap();
        assert_eq!(
            serde_json::from_str::<LabName>(&serde_json::to_string(&name).unwrap()).unwrap(),
            name
        );
    }
}
