//! The codes of alarms: viewers, hooks and other programs decide on them and never on texts.
pub use super::catalogue::AlarmCode;
use super::origin::AlarmSeverity;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

impl AlarmCode {
    /// The catalogue in Markdown. Warnings, which most are, go without their severity.
    pub fn markdown() -> String {
        let mut table = "code | meaning | what to do\n---|---|---\n".to_owned();
        for code in AlarmCode::ALL {
            let severity = match code.severity() {
                AlarmSeverity::Warning => String::new(),
                other @ (AlarmSeverity::Info | AlarmSeverity::Error) => format!(" ({other})"),
            };
            let [meaning, remedy] = code.explained();
            table += &format!("`{code}`{severity} | {meaning} | {remedy}\n");
        }
        table
    }
}

impl fmt::Display for AlarmCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for AlarmCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for AlarmCode {
    /// A code that this version does not know is [`AlarmCode::Other`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AlarmCode, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = AlarmCode::ALL.iter().find(|code| code.name() == name);
        Ok(known.copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_a_name_of_its_own_that_reads_back() {
        let names: BTreeSet<&str> = AlarmCode::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), AlarmCode::ALL.len());
        for code in AlarmCode::ALL {
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<AlarmCode>(&json).unwrap(), *code);
        }
        let foreign: AlarmCode = serde_json::from_str("\"of-tomorrow\"").unwrap();
        assert_eq!(foreign, AlarmCode::Other);
    }
}
