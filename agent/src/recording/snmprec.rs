//! snmprec, the format of snmpsim: one value a line, `OID|TAG|VALUE`. The tag is the ASN.1 tag in
//! decimal, with an `x` if the value is in hexadecimal. A tag that calls a program of the simulator
//! (`2:writecache`) has no value.
use super::{MOST_ARCS, RecordingReader};
use snmp::{Oid, Value};

/// Reads every line, and counts the lines that are not records.
pub(super) fn read(text: &[u8], reading: &mut RecordingReader) {
    for (number, line) in text.split(|&b| b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        match record(line) {
            Some((oid, Some(value))) => reading.take(number + 1, oid, value),
            Some((_, None)) => {}
            None => reading.refuse(number + 1),
        }
    }
}

/// True if a line looks like a record.
pub(super) fn is_record(line: &[u8]) -> bool {
    record(line).is_some()
}

/// One record. Its value is `None` if the tag is an exception or the simulator makes the value.
fn record(line: &[u8]) -> Option<(Vec<u32>, Option<Value>)> {
    let mut parts = line.splitn(3, |&b| b == b'|');
    let oid = arcs(std::str::from_utf8(parts.next()?).ok()?)?;
    let tag = std::str::from_utf8(parts.next()?).ok()?;
    let value = parts.next()?;
    if tag.contains(':') {
        return Some((oid, None));
    }
    let (tag, octets) = match tag.strip_suffix('x') {
        Some(tag) => (tag, hexadecimal(value)?),
        None => (tag, value.to_vec()),
    };
    let value = match tag.parse().ok()? {
        // noSuchObject, noSuchInstance, endOfMibView (RFC 3416, 3).
        128u8..=130 => None,
        tag => Some(typed(tag, octets)?),
    };
    Some((oid, value))
}

fn typed(tag: u8, octets: Vec<u8>) -> Option<Value> {
    let text = std::str::from_utf8(&octets).ok().map(str::trim);
    Some(match tag {
        2 => Value::Integer(text?.parse().ok()?),
        4 => Value::OctetString(octets.into()),
        5 => Value::Null,
        6 => Value::ObjectIdentifier(Oid::from_slice(&arcs(text?)?)),
        64 => Value::IpAddress(match <[u8; 4]>::try_from(octets.as_slice()) {
            Ok(raw) if text.is_none_or(|t| !t.contains('.')) => raw,
            _ => text?.parse::<std::net::Ipv4Addr>().ok()?.octets(),
        }),
        65 => Value::Counter32(text?.parse().ok()?),
        66 => Value::Gauge32(text?.parse().ok()?),
        67 => Value::TimeTicks(text?.parse().ok()?),
        68 => Value::Opaque(octets.into()),
        70 => Value::Counter64(text?.parse().ok()?),
        _ => return None,
    })
}

/// An object identifier as text, with or without the leading dot.
pub(super) fn arcs(text: &str) -> Option<Vec<u32>> {
    let text = text.strip_prefix('.').unwrap_or(text);
    let arcs: Vec<u32> = text
        .split('.')
        .take(MOST_ARCS + 1)
        .map(|arc| arc.parse().ok())
        .collect::<Option<_>>()?;
    (2..=MOST_ARCS).contains(&arcs.len()).then_some(arcs)
}

fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| {
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Option<Option<Value>> {
        record(line.as_bytes()).map(|(_, value)| value)
    }

    #[test]
    fn reads_every_tag() {
        assert_eq!(
            record(b".1.3.6|2|-7"),
            Some((vec![1, 3, 6], Some(Value::Integer(-7))))
        );
        assert_eq!(
            one("1.3|4|a|b"),
            Some(Some(Value::OctetString("a|b".into()))),
            "only the first two bars part"
        );
        assert_eq!(
            one("1.3|4x|00fF"),
            Some(Some(Value::OctetString(vec![0, 255].into())))
        );
        assert_eq!(one("1.3|4|"), Some(Some(Value::OctetString("".into()))));
        assert_eq!(
            one("1.3|6|1.3.6.1"),
            Some(Some(Value::ObjectIdentifier(Oid::from_slice(&[
                1, 3, 6, 1
            ]))))
        );
        assert_eq!(
            one("1.3|64|10.0.0.1"),
            Some(Some(Value::IpAddress([10, 0, 0, 1])))
        );
        assert_eq!(
            one("1.3|64x|0a000001"),
            Some(Some(Value::IpAddress([10, 0, 0, 1])))
        );
        assert_eq!(one("1.3|67|5"), Some(Some(Value::TimeTicks(5))));
        assert_eq!(
            one("1.3|70|18446744073709551615"),
            Some(Some(Value::Counter64(u64::MAX)))
        );
        assert_eq!(
            (one("1.3|128|"), one("1.3|2:writecache|value=5")),
            (Some(None), Some(None)),
            "no values"
        );
    }

    #[test]
    fn refuses_what_is_no_record() {
        let long = format!("1{}|2|1", ".3".repeat(200));
        for line in [
            "",
            "1.3",
            "1.3|2",
            "1.3|2|x",
            "1.3|4x|0",
            "1.3|4x|zz",
            "1.3|99|1",
            "a.b|2|1",
            "1.99999999999|2|1",
            "1|2|1",
            "1.3|2|3000000000",
        ] {
            assert_eq!(one(line), None, "{line}");
        }
        assert_eq!(one(&long), None);
    }
}
