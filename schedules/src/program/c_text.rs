//! Foreign names in C: hosts and switches are called what the network says.
use std::fmt::Write;

/// A C string literal of exactly these bytes. What could end it, start an escape or be part of a
/// trigraph is written in octal, as is all that is not printable ASCII. A name with a zero byte,
/// which no C string can hold, becomes the empty string.
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

/// Always three digits: a digit of the name that follows is none of the escape.
fn write_octal(text: &mut String, byte: u8) {
    let _ = write!(text, "\\{byte:03o}");
}

/// The name within a comment: letters, digits, `-`, `_`, `.` and `:` stand for themselves, all else
/// as `%` and its byte in hexadecimal digits.
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
