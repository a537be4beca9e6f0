//! Every text of the controller becomes harmless ([`inventory::sanitize`]) before it can reach the
//! terminal.
use api::Snapshot;
use inventory::sanitize;
use serde_json::Value;

pub use sanitize::visible as text;

/// Reads a snapshot and cleans every string in it, those of unknown fields included.
///
/// # Errors
/// The error of a `json` that is not a [`Snapshot`].
pub fn snapshot(json: &str) -> Result<Snapshot, serde_json::Error> {
    let mut value: Value = serde_json::from_str(json)?;
    walk(&mut value);
    serde_json::from_value(value)
}

fn walk(value: &mut Value) {
    match value {
        Value::String(s) => {
            if s.contains(sanitize::is_hidden) {
                *s = text(s);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(walk),
        Value::Object(fields) => fields.values_mut().for_each(walk),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_of_a_snapshot_is_cleaned() {
        let mut hidden = Snapshot {
            version: "\u{1b}]0;x\u{7}".into(),
            ..Snapshot::default()
        };
        hidden.topology.root_bridge = Some("a\u{202e}b".into());
        hidden.alarms.push(api::AlarmLine {
            subject: api::AlarmSubject::node("x\u{9b}"),
            text: "line\nbreak".into(),
            ..api::AlarmLine::default()
        });
        let s = snapshot(&serde_json::to_string(&hidden).unwrap()).unwrap();
        assert_eq!(s.version, "␛]0;x␇");
        assert_eq!(s.topology.root_bridge.as_deref(), Some("a\u{fffd}b"));
        assert_eq!(
            (s.alarms[0].subject.name(), s.alarms[0].text.as_str()),
            (Some("x\u{fffd}"), "line break")
        );
    }
}
