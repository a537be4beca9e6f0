//! Foreign names in C: networks may name their hosts and switches as they like.
use std::fmt::Write;

/// A C string literal of exactly these bytes. Characters that could end it, start an escape or be
/// part of a trigraph are written in octal, and so is everything except printable ASCII. A name
/// with a zero byte becomes the empty string, because no C string can hold it.
pub(super) fn literal(name: &str) -> String {
    let name = if name.contains('\0') { "" } else { name };
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => write_octal(&mut text, byte),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => write_octal(&mut text, byte),
        }
    }
    text.push('"');
    text
}

/// Always writes three digits, so that a digit of the name behind them is not read as part of the
/// escape.
fn write_octal(text: &mut String, byte: u8) {
    let _ = write!(text, "\\{byte:03o}");
}

/// The name within a comment. Letters, digits, `-`, `_`, `.` and `:` stand for themselves; every
/// other byte is written as `%` and two hexadecimal digits.
pub(super) fn comment(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
