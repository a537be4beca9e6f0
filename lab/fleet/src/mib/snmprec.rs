//! The rows of a device in the format of snmpsim: `OID|TAG|VALUE` a line.
use super::DeviceMib;
use snmp::Value;
use std::fmt::Write;
use std::time::Duration;

impl DeviceMib {
    /// A recorded walk of the device.
    pub fn snmprec(&self) -> String {
        let mut text = String::with_capacity(48 * self.rows.len());
        for (oid, cell) in &self.rows {
            let value = cell.after(Duration::ZERO);
            if let Some((tag, value)) = tagged(&value) {
                // Writing into a text does not fail.
                let _ = writeln!(text, "{oid}|{tag}|{value}");
            }
        }
        text
    }
}

/// The tag and text of a value; `None` for a type that no table has.
fn tagged(value: &Value) -> Option<(&'static str, String)> {
    Some(match value {
        Value::Integer(n) => ("2", n.to_string()),
        Value::OctetString(octets) => match std::str::from_utf8(octets) {
            Ok(text) if text.chars().all(|c| c.is_ascii_graphic() || c == ' ') => {
                ("4", text.to_owned())
            }
            _ => {
                let digits = octets.iter().fold(String::new(), |mut digits, octet| {
                    let _ = write!(digits, "{octet:02x}");
                    digits
                });
                ("4x", digits)
            }
        },
        Value::Counter32(n) => ("65", n.to_string()),
        Value::Gauge32(n) => ("66", n.to_string()),
        Value::TimeTicks(n) => ("67", n.to_string()),
        Value::Counter64(n) => ("70", n.to_string()),
        _ => return None,
    })
}
