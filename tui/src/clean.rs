//! The one place where foreign text becomes harmless. Switch names, port names and job names are whatever a
//! device or a user says; a terminal must never get their control characters or text-direction overrides.
use controller::api::Snapshot;
use serde_json::Value;

/// Reads a snapshot and cleans every string in it, also of fields that do not exist yet.
///
/// # Errors
/// Whatever makes `json` no [`Snapshot`].
pub fn snapshot(json: &str) -> Result<Snapshot, serde_json::Error> {
    let mut value: Value = serde_json::from_str(json)?;
    walk(&mut value);
    serde_json::from_value(value)
}

/// `raw` with each control, direction and invisible character made visible; line breaks and tabs become blanks.
pub fn text(raw: &str) -> String {
    raw.chars().map(visible).collect()
}

fn walk(value: &mut Value) {
    match value {
        Value::String(s) => {
            if s.chars().any(|c| visible(c) != c) {
                *s = text(s);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(walk),
        Value::Object(fields) => fields.values_mut().for_each(walk),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Unicode's control pictures keep two different control characters different; all else becomes U+FFFD.
fn visible(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ if c.is_control() || invisible(c) => '\u{fffd}',
        _ => c,
    }
}

/// Direction overrides and isolates, zero-width characters, line separators, tags (Unicode 16, sections 23.2 and 23.3).
fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_survives() {
        for c in (0..=0x10ffffu32).filter_map(char::from_u32) {
            let cleaned = text(&c.to_string());
            assert!(!cleaned.contains(|c: char| c.is_control() || invisible(c)), "{c:?}");
        }
        assert_eq!(text("s\u{1b}[31m1"), "s␛[31m1");
        assert_eq!(text("plain größe 交换机"), "plain größe 交换机");
    }

    #[test]
    fn every_string_of_a_snapshot_is_cleaned() {
        let mut s = Snapshot { version: "\u{1b}]0;x\u{7}".into(), ..Snapshot::default() };
        s.topology.root_bridge = Some("a\u{202e}b".into());
        s.alarms.push(inventory::topology::Alarm { about: "x\u{9b}".into(), text: "line\nbreak".into() });
        let s = snapshot(&serde_json::to_string(&s).unwrap()).unwrap();
        assert_eq!(s.version, "␛]0;x␇");
        assert_eq!(s.topology.root_bridge.as_deref(), Some("a\u{fffd}b"));
        assert_eq!((s.alarms[0].about.as_str(), s.alarms[0].text.as_str()), ("x\u{fffd}", "line break"));
    }
}
