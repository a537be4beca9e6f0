//! Every text of the controller becomes harmless ([`inventory::sanitize`]) before it can reach the
//! terminal.
use api::Snapshot;
use inventory::sanitize;
use serde_json::Value;

pub use sanitize::visible as text;

/// Reads a snapshot and cleans every string in it, keys and those of unknown fields included.
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
        Value::Object(fields) => {
            fields.values_mut().for_each(walk);
            // Names of hosts are keys, too.
            if fields.keys().any(|name| name.contains(sanitize::is_hidden)) {
                let cleaned = std::mem::take(fields).into_iter();
                fields.extend(cleaned.map(|(name, value)| (text(&name), value)));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::networks::Network;

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

    /// The addresses of a network are found by the names of its hosts, which are cleaned as values.
    #[test]
    fn names_that_are_keys_are_cleaned_as_values_are() {
        let mut hidden = Snapshot::default();
        let mut network = Network {
            hosts: vec!["n0\u{202e}".into()],
            ..Network::default()
        };
        let card = vec!["10.0.0.1".parse().unwrap()];
        network.addresses.insert("n0\u{202e}".into(), card.clone());
        hidden.topology.networks.push(network);
        let s = snapshot(&serde_json::to_string(&hidden).unwrap()).unwrap();
        let [network] = &s.topology.networks[..] else {
            panic!("{s:?}")
        };
        assert_eq!(network.hosts, ["n0\u{fffd}"]);
        assert_eq!(network.addresses_of(&network.hosts[0]), card);
    }
}
