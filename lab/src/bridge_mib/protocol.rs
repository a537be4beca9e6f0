//! The `pass_persist` protocol of snmpd: commands and object identifiers as lines in, values as
//! lines out.
//!
//! Source: snmpd.conf(5), "Extending agent functionality", `pass_persist`.
use super::table::{ObjectId, ObjectTable};
use std::io::{self, BufRead, Write};
use std::ops::Bound;

/// A request of snmpd.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PassRequest {
    Ping,
    Get(ObjectId),
    GetNext(ObjectId),
    Set,
    /// Any other line.
    Unknown,
}

/// Answers until snmpd closes the input or sends an empty line; `source` shows the present objects.
pub(super) fn serve(
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    mut source: impl FnMut(&mut dyn FnMut(&ObjectTable)) -> io::Result<()>,
) -> io::Result<()> {
    while let Some(request) = read(input)? {
        let mut answer = String::from("NONE\n");
        match request {
            PassRequest::Ping => answer = "PONG\n".into(),
            PassRequest::Set => answer = "not-writable\n".into(),
            PassRequest::Unknown => {}
            // A bridge that cannot be read has no objects.
            PassRequest::Get(oid) => drop(source(&mut |t| answer = object(t.get_key_value(&oid)))),
            PassRequest::GetNext(oid) => drop(source(&mut |t| answer = object(next(t, &oid)))),
        }
        output.write_all(answer.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

fn next<'a>(
    table: &'a ObjectTable,
    oid: &ObjectId,
) -> Option<(&'a ObjectId, &'a super::table::PassValue)> {
    table
        .range((Bound::Excluded(oid.clone()), Bound::Unbounded))
        .next()
}

fn object(found: Option<(&ObjectId, &super::table::PassValue)>) -> String {
    match found {
        Some((oid, value)) => {
            let numbers: String = oid.iter().map(|n| format!(".{n}")).collect();
            format!("{numbers}\n{value}\n")
        }
        None => "NONE\n".into(),
    }
}

/// The next request; `None` at the end.
fn read(input: &mut dyn BufRead) -> io::Result<Option<PassRequest>> {
    let Some(command) = line(input)?.filter(|l| !l.is_empty()) else {
        return Ok(None);
    };
    let mut oid = || Ok::<Option<ObjectId>, io::Error>(line(input)?.and_then(|l| parse(&l)));
    Ok(Some(match command.to_ascii_lowercase().as_str() {
        "ping" => PassRequest::Ping,
        "get" => oid()?.map_or(PassRequest::Unknown, PassRequest::Get),
        "getnext" => oid()?.map_or(PassRequest::Unknown, PassRequest::GetNext),
        "set" => {
            oid()?;
            line(input)?;
            PassRequest::Set
        }
        _ => PassRequest::Unknown,
    }))
}

fn line(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    match input.read_line(&mut text)? {
        0 => Ok(None),
        _ => Ok(Some(text.trim().to_owned())),
    }
}

fn parse(text: &str) -> Option<ObjectId> {
    text.strip_prefix('.')
        .unwrap_or(text)
        .split('.')
        .map(|n| n.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::PassValue;
    use super::*;

    fn talk(input: &str) -> String {
        let table: ObjectTable = [
            (vec![1, 3, 2], PassValue::Integer(2)),
            (vec![1, 3, 10], PassValue::Counter(1 << 32 | 5)),
        ]
        .into();
        let mut output = Vec::new();
        serve(&mut input.as_bytes(), &mut output, |look| {
            look(&table);
            Ok(())
        })
        .unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn answers_what_snmpd_asks() {
        assert_eq!(talk("PING\n"), "PONG\n");
        assert_eq!(talk("get\n.1.3.2\n"), ".1.3.2\ninteger\n2\n");
        assert_eq!(
            talk("set\n.1.3.2\ninteger 5\nPING\n"),
            "not-writable\nPONG\n"
        );
    }

    #[test]
    fn getnext_goes_by_number_and_ends() {
        assert_eq!(talk("getnext\n.1.3\n"), ".1.3.2\ninteger\n2\n");
        assert_eq!(talk("getnext\n.1.3.2\n"), ".1.3.10\ncounter\n5\n");
        assert_eq!(talk("getnext\n.1.3.10\n"), "NONE\n");
    }

    #[test]
    fn refuses_what_it_does_not_know_and_goes_on() {
        assert_eq!(talk("get\n.1.3.4\nPING\n"), "NONE\nPONG\n");
        assert_eq!(talk("get\n.1.x\nPING\n"), "NONE\nPONG\n");
        assert_eq!(talk("hello\nPING\n"), "NONE\nPONG\n");
    }

    #[test]
    fn ends_at_an_empty_line_and_at_the_end() {
        assert_eq!(talk("PING\n\nPING\n"), "PONG\n");
        assert_eq!(talk("get\n"), "NONE\n");
    }

    #[test]
    fn an_unreadable_bridge_has_no_objects() {
        let mut output = Vec::new();
        serve(&mut "get\n.1\n".as_bytes(), &mut output, |_| {
            Err(io::Error::other("gone"))
        })
        .unwrap();
        assert_eq!(output, b"NONE\n");
    }
}
