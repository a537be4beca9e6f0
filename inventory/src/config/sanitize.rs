//! The one place where foreign text becomes harmless. Devices and users choose the names of
//! switches, ports, neighbours, hosts and jobs freely. No terminal, file, log or export may ever
//! receive characters that move a cursor, change the direction of writing or are invisible.
//!
//! [`clean_line`] is for the border: text from the network is kept only in that form. [`visible`]
//! and [`message`] are for all text that is shown, whatever its source.

use std::borrow::Cow;

/// The most characters kept of a text from the network. SnmpAdminString has 255 octets (RFC 3411).
pub const LONGEST: usize = 255;

/// True if a character has another effect than to be visible: controls, direction overrides and
/// isolates, zero-width characters, line separators, tags (Unicode 16, sections 23.1 to 23.3 and
/// 23.9).
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// True if a text can name a port or, in Graphviz files, a node: the texts that a name from the
/// network can be.
pub fn is_label(text: &str) -> bool {
    text.chars().count() <= LONGEST && !text.contains(is_hidden)
}

/// The expectation that [`is_label`] checks, for messages.
pub const LABEL: &str = "at most 255 characters, all of which can be seen";

/// A text from the network on one line, with at most [`LONGEST`] characters. Hidden characters
/// separate words. A text that is cut ends in a digest of the whole, so that long names with the
/// same beginning stay different.
pub fn clean_line(text: &str) -> String {
    let words = text
        .split(is_hidden)
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let mut kept = String::new();
    for word in words {
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(word);
        if kept.len() > 4 * LONGEST {
            break; // That many octets hold the characters kept, whatever they are.
        }
    }
    if kept.chars().nth(LONGEST).is_none() {
        return kept;
    }
    let figure = format!("~{:08x}", figure(text));
    kept.chars()
        .take(LONGEST - figure.len())
        .chain(figure.chars())
        .collect()
}

/// As [`clean_line`], for octets that a device calls a text. Some devices send the rest of their
/// buffer after a NUL, so the text ends there.
pub fn clean_octets(octets: &[u8]) -> String {
    let start = octets.iter().position(|&o| o != 0).unwrap_or(octets.len());
    let text = octets[start..].split(|&o| o == 0).next();
    clean_line(&decoded(text.unwrap_or_default()))
}

/// The characters of octets: UTF-8 if all of them are, though the last character may be cut.
/// Otherwise nobody tells which encoding it is (GBK and Latin-1 occur). Each octet then stands for
/// itself, as the character of Latin-1 if that can be seen, else as `\x8f`. So different names stay
/// different.
pub fn decoded(octets: &[u8]) -> Cow<'_, str> {
    let (whole, rest) = match std::str::from_utf8(octets) {
        Ok(text) => return Cow::Borrowed(text),
        Err(e) if e.error_len().is_none() => octets.split_at(e.valid_up_to()),
        Err(_) => (&[][..], octets),
    };
    let mut text = String::from_utf8_lossy(whole).into_owned();
    for &octet in rest {
        match octet {
            0x80..=0xa0 | 0xad => text.push_str(&format!("\\x{octet:02x}")),
            _ => text.push(char::from(octet)),
        }
    }
    Cow::Owned(text)
}

/// FNV-1a (Fowler, Noll and Vo): the same for the same text, at any time and on any machine.
fn figure(text: &str) -> u32 {
    // The offset basis and the prime of FNV with 32 bits.
    text.bytes().fold(0x811c_9dc5, |figure, octet| {
        (figure ^ u32::from(octet)).wrapping_mul(0x0100_0193)
    })
}

/// A text for display, with each hidden character made visible. Line breaks and tabs become blanks.
pub fn visible(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// As [`visible`], for a message, which may have several lines.
pub fn message(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' { c } else { shown(c) })
        .collect()
}

/// Unicode's control pictures keep different control characters different; all other hidden
/// characters become U+FFFD.
fn shown(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ if is_hidden(c) => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hidden_character_survives() {
        for c in (0..=0xffffu32)
            .chain(0xe0000..=0xe0fff)
            .filter_map(char::from_u32)
        {
            for clean in [
                clean_line(&format!("a{c}b")),
                visible(&c.to_string()),
                message(&c.to_string()).replace('\n', ""),
            ] {
                assert!(!clean.contains(is_hidden), "{c:?}");
            }
        }
        assert_eq!(
            (visible("s\u{1b}[31m1\n"), message("a\nb\u{202e}")),
            ("s␛[31m1 ".to_owned(), "a\nb\u{fffd}".to_owned())
        );
        assert_eq!(
            (
                visible("plain größe 交换机"),
                clean_line("plain größe 交换机")
            ),
            ("plain größe 交换机".into(), "plain größe 交换机".into())
        );
    }

    #[test]
    fn names_that_are_no_utf8_stay_different_and_can_be_read() {
        for (octets, text) in [
            ("größe 交换机".as_bytes(), "größe 交换机"),
            (b"gr\xf6\xdfe", "größe"),
            (b"\xbd\xbb\xbb\xbb\xbb\xfa-1", "½»»»»ú-1"),
            (b"\xce\xf7-\x8f\xe4\xa0\xad", "Î÷-\\x8fä\\xa0\\xad"),
            ("Büro-größer".as_bytes().split_at(11).0, "Büro-gröÃ"),
            (b"swp1\0\0\x7fELF", "swp1"),
            (b"\0\0swp1\0", "swp1"),
            (b"\0", ""),
            (b"", ""),
        ] {
            assert_eq!(clean_octets(octets), text);
        }
        let all: std::collections::BTreeSet<String> = (0x80..=0xffu8)
            .map(|o| clean_octets(&[b'a', o, b'z']))
            .collect();
        assert_eq!(all.len(), 128, "no two octets look the same");
    }

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(clean_line("a\u{1b}[31mb\r\n"), "a [31mb");
        assert_eq!(
            clean_line("\u{feff} core\u{200b}1 \u{2028}\u{2029}"),
            "core 1"
        );
        assert_eq!(
            (clean_line(""), clean_line("\0\0")),
            (String::new(), String::new())
        );
        assert_eq!(clean_line(&"ü".repeat(10_000)).chars().count(), LONGEST);
        let [one, other] = ["1", "2"].map(|end| clean_line(&("x".repeat(10_000) + end)));
        assert!(
            one != other && one.starts_with(&"x".repeat(LONGEST - 9)),
            "{one} {other}"
        );
        assert_eq!(
            clean_line(&"x".repeat(LONGEST)),
            "x".repeat(LONGEST),
            "what fits is kept"
        );
        assert_eq!(
            (figure(""), figure("a"), figure("foobar")),
            (0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968),
            "the authors' own examples"
        );
        assert_eq!(
            clean_line(&"x\n".repeat(1_000_000)).len(),
            LONGEST,
            "and takes no more than it keeps"
        );
    }
}
