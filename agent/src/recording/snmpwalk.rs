//! The output of net-snmp's snmpwalk with `-On`: `.1.3.6.1.2.1.1.5.0 = STRING: "s0"`. The program
//! may have used MIB files. Numbers can then be `up(1)`, and octets can be text, `Hex-STRING` or in
//! a form that the MIB defines. A value may span lines; it ends where the next record begins.
use super::{RecordingReader, snmprec};
use snmp::{Oid, Value};

/// Reads every record, and counts those that cannot be read.
pub(super) fn read(text: &[u8], reading: &mut RecordingReader) {
    let mut open: Option<SnmpwalkRecord<'_>> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive(|&b| b == b'\n').enumerate() {
        at += line.len();
        if let Some((oid, before)) = opening(line) {
            finish(text, open.take(), at - line.len(), reading);
            open = Some(SnmpwalkRecord {
                line: number + 1,
                oid,
                start: at - line.len() + before,
            });
        } else if open.is_none() && !line.trim_ascii().is_empty() {
            reading.refuse(number + 1);
        }
    }
    finish(text, open, text.len(), reading);
}

/// True if a line opens a record.
pub(super) fn is_record(line: &[u8]) -> bool {
    opening(line).is_some()
}

/// A record that has begun.
struct SnmpwalkRecord<'t> {
    line: usize,
    oid: &'t str,
    start: usize,
}

fn finish(
    text: &[u8],
    open: Option<SnmpwalkRecord<'_>>,
    end: usize,
    reading: &mut RecordingReader,
) {
    let Some(SnmpwalkRecord { line, oid, start }) = open else {
        return;
    };
    // Without -On net-snmp writes the first number as a name.
    let oid = match oid.strip_prefix("iso") {
        Some(rest) => snmprec::arcs(&format!("1{rest}")),
        None => snmprec::arcs(oid),
    };
    match oid.zip(value(&text[start..end])) {
        Some((oid, Some(value))) => reading.take(line, oid, value),
        Some((_, None)) => {}
        None => reading.refuse(line),
    }
}

/// The object identifier at the start of a record, and the offset of its value.
fn opening(line: &[u8]) -> Option<(&str, usize)> {
    let name = line.split(|b| *b == b' ' || *b == b'=').next()?;
    let rooted = name.strip_prefix(b"iso").unwrap_or(name);
    let arcs = match rooted.split_first() {
        Some((b'.', arcs)) if !arcs.is_empty() => arcs,
        Some((first, _)) if first.is_ascii_digit() => rooted,
        _ => return None,
    };
    if !arcs.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    let spaces = line[name.len()..]
        .iter()
        .take_while(|b| **b == b' ')
        .count();
    let equals = name.len() + spaces;
    (line.get(equals) == Some(&b'=')).then_some(())?;
    Some((std::str::from_utf8(name).ok()?, equals + 1))
}

/// The value after the equals sign: `None` if it cannot be read, `Some(None)` if the agent reported
/// that there is none.
fn value(text: &[u8]) -> Option<Option<Value>> {
    let text = text.trim_ascii();
    if text.starts_with(b"No Such") || text.starts_with(b"No more variables") {
        return Some(None);
    }
    // net-snmp complains where the MIB has another type, and then writes the value as the agent
    // sent it.
    let text = match text.strip_prefix(b"Wrong Type (should be ") {
        Some(rest) => &rest[rest.windows(3).position(|w| w == b"): ")? + 3..],
        None => text,
    };
    if text.is_empty() || text.starts_with(b"\"") {
        return octets(text).map(Some);
    }
    let Some(colon) = text.iter().position(|&b| b == b':') else {
        return untyped(text).map(Some);
    };
    let (kind, rest) = (&text[..colon], text[colon + 1..].trim_ascii());
    let typed = match kind {
        b"STRING" => octets(rest)?,
        b"Hex-STRING" | b"Hex" | b"BITS" => Value::OctetString(hexadecimal(rest)?.into()),
        b"INTEGER" => Value::Integer(i32::try_from(number(rest)?).ok()?),
        b"Gauge32" | b"Unsigned32" | b"UInteger32" => {
            Value::Gauge32(u32::try_from(number(rest)?).ok()?)
        }
        b"Counter32" => Value::Counter32(u32::try_from(number(rest)?).ok()?),
        b"Counter64" => Value::Counter64(u64::try_from(number(rest)?).ok()?),
        b"Timeticks" => Value::TimeTicks(u32::try_from(number(rest)?).ok()?),
        b"IpAddress" => Value::IpAddress(
            std::str::from_utf8(rest)
                .ok()?
                .parse::<std::net::Ipv4Addr>()
                .ok()?
                .octets(),
        ),
        b"Network Address" => Value::IpAddress(hexadecimal(rest)?.try_into().ok()?),
        b"OID" => return Some(oid(rest)),
        b"Opaque" | b"NsapAddress" => return Some(None),
        _ => return None,
    };
    Some(Some(typed))
}

/// A value without its type, as printed by `-Oq` and by old versions.
fn untyped(text: &[u8]) -> Option<Value> {
    match text {
        b"NULL" => Some(Value::Null),
        number => std::str::from_utf8(number)
            .ok()?
            .parse()
            .ok()
            .map(Value::Integer),
    }
}

/// A text, quoted or not. A quote without its end means that the walk was cut off: half a name
/// would name another port.
fn octets(text: &[u8]) -> Option<Value> {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        return Some(Value::OctetString(text.to_vec().into()));
    };
    let mut out = Vec::with_capacity(quoted.len());
    let mut rest = quoted.iter();
    while let Some(&b) = rest.next() {
        match b {
            b'"' => {
                return rest
                    .as_slice()
                    .trim_ascii()
                    .is_empty()
                    .then(|| Value::OctetString(out.into()));
            }
            b'\\' => out.push(*rest.next()?),
            other => out.push(other),
        }
    }
    None
}

/// Pairs of hexadecimal digits, separated by blanks or colons, over any number of lines. Text after
/// them, such as the names of bits, is not part of the value.
fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let pairs = text
        .split(|b| b.is_ascii_whitespace() || *b == b':')
        .filter(|pair| !pair.is_empty());
    let octets: Vec<u8> = pairs
        .map_while(|pair| {
            (pair.len() <= 2)
                .then(|| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())?
        })
        .collect();
    (!octets.is_empty() || text.is_empty()).then_some(octets)
}

/// A number: `7`, `up(1)`, `(500) 0:00:05.00`, `1500 octets`.
fn number(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?;
    let inner = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(inner, _)| inner);
    inner
        .and_then(|t| t.parse().ok())
        .or_else(|| text.split_whitespace().next()?.parse().ok())
}

/// An object identifier, if it is all numbers. One with names needs a MIB, and no table here asks
/// for it.
fn oid(text: &[u8]) -> Option<Value> {
    snmprec::arcs(std::str::from_utf8(text).ok()?)
        .map(|arcs| Value::ObjectIdentifier(Oid::from_slice(&arcs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Option<Option<Value>> {
        value(text.as_bytes())
    }

    fn octets(bytes: impl AsRef<[u8]>) -> Option<Option<Value>> {
        Some(Some(Value::OctetString(bytes.as_ref().to_vec().into())))
    }

    #[test]
    fn reads_both_forms_of_octets() {
        assert_eq!(one(r#"STRING: "a \"b\" \\c""#), octets(r#"a "b" \c"#));
        assert_eq!(one("STRING: Gi0/1"), octets("Gi0/1"));
        assert_eq!(
            one("STRING: 0:16:c8:bd:4d:80"),
            octets("0:16:c8:bd:4d:80"),
            "in the form of the MIB"
        );
        assert_eq!(
            one("Hex-STRING: 00 16 C8\nBD 4D \n80 \n"),
            octets([0, 0x16, 0xc8, 0xbd, 0x4d, 0x80])
        );
        assert_eq!(one("BITS: 28 00 bridge(2) router(4)"), octets([0x28, 0]));
        assert_eq!(
            (one("\"\""), one(""), one("STRING: ")),
            (octets(""), octets(""), octets(""))
        );
        assert_eq!(one("\"two\nlines\""), octets("two\nlines"));
        assert_eq!(
            one("Wrong Type (should be INTEGER): STRING: \"5\""),
            octets("5")
        );
    }

    #[test]
    fn reads_numbers_with_names_and_units() {
        assert_eq!(one("INTEGER: up(1)"), Some(Some(Value::Integer(1))));
        assert_eq!(one("INTEGER: -3"), Some(Some(Value::Integer(-3))));
        assert_eq!(
            one("INTEGER: 1500 Octets"),
            Some(Some(Value::Integer(1500)))
        );
        assert_eq!(
            one("Timeticks: (500) 0:00:05.00"),
            Some(Some(Value::TimeTicks(500)))
        );
        assert_eq!(
            one("Gauge32: 4294967295"),
            Some(Some(Value::Gauge32(u32::MAX)))
        );
        assert_eq!(
            one("Counter64: 18446744073709551615"),
            Some(Some(Value::Counter64(u64::MAX)))
        );
        assert_eq!(
            one("IpAddress: 10.0.0.1"),
            Some(Some(Value::IpAddress([10, 0, 0, 1])))
        );
        assert_eq!(
            one("Network Address: 0A:00:00:01"),
            Some(Some(Value::IpAddress([10, 0, 0, 1])))
        );
        assert_eq!(one("7"), Some(Some(Value::Integer(7))));
        assert_eq!(
            one("No Such Object available on this agent at this OID"),
            Some(None)
        );
        assert_eq!(one("OID: SNMPv2-SMI::zeroDotZero"), Some(None));
    }

    #[test]
    fn refuses_half_values() {
        for text in [
            "STRING: \"Gi0/",
            "STRIN",
            "INTEGER: ",
            "INTEGER: up",
            "Gauge32: 99999999999",
            "Hex-STRING: zz",
            "\"a\" b",
            "STRING: \"a\\",
        ] {
            assert_eq!(one(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_ends_where_the_next_record_begins() {
        let text = b"$ snmpwalk\n.1.3.6.1.2.1.1.1.0 = STRING: \"one\r\n\r\n1.2 \
                     three\"\r\niso.3.6.1.2.1.1.5.0 = STRING: s0\n1.3.6.1.2.1.1.3.0 = Timeticks: \
                     (7) 0:00\n";
        let mut reading = RecordingReader::all();
        read(text, &mut reading);
        let seen: Vec<_> = [1, 5, 3]
            .map(|n| reading.answers.scalar(&[1, 3, 6, 1, 2, 1, 1, n]).cloned())
            .into();
        assert_eq!(
            seen,
            [
                Some(Value::OctetString("one\r\n\r\n1.2 three".into())),
                Some(Value::OctetString("s0".into())),
                Some(Value::TimeTicks(7))
            ]
        );
        assert_eq!((reading.refused, reading.first_refused), (1, Some(1)));
    }
}
