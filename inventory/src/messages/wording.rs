//! Phrases that evidence, alarms and reasons share.
use crate::Millis;
use jiff::Timestamp;
use std::fmt::Display;
use std::net::IpAddr;

/// `1 switch`, `2 switches`.
pub fn counted<N: Display + PartialEq + From<u8>>(n: N, one: &str) -> String {
    if n == N::from(1) {
        return format!("1 {one}");
    }
    let hisses = ["ch", "s", "x"].iter().any(|end| one.ends_with(end));
    format!("{n} {one}{}", if hisses { "es" } else { "s" })
}

/// A reason has at most this many names.
const NAMES: usize = 4;

/// `s0, s1, s2, s3 and 12 more`.
pub fn short_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        n if n > NAMES => format!("{} and {} more", names[..NAMES].join(", "), n - NAMES),
        _ => names.join(", "),
    }
}

/// [`short_list`] of owned names.
pub(crate) fn listed(names: &[String]) -> String {
    short_list(names.iter().map(String::as_str))
}

/// An end of a cable, with its port if that is known: `s0 (swp1)`.
pub fn end_name(node: &str, port: &str) -> String {
    match port {
        "" => node.to_owned(),
        port => format!("{node} ({port})"),
    }
}

/// `2 routed hops (10.0.0.1, one that does not answer)`.
pub(crate) fn routed_hops(hops: &[Option<IpAddr>]) -> String {
    let each: Vec<String> = hops
        .iter()
        .map(|h| h.map_or("one that does not answer".to_owned(), |ip| ip.to_string()))
        .collect();
    format!("{} ({})", counted(hops.len(), "routed hop"), listed(&each))
}

/// A time in a unit that suits its size.
pub(crate) fn milliseconds(us: u32) -> String {
    format!("{} ms", f64::from(us) / 1000.0)
}

/// `2026-11-23 09:06 UTC`: the same on every machine.
pub(crate) fn utc_minute(at: Millis) -> String {
    let at = i64::try_from(at.0)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| {
        at.strftime("%Y-%m-%d %H:%M UTC").to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let texts = [(1, "switch"), (4, "switch"), (0, "host"), (2, "process")]
            .map(|(n, one)| counted(n, one));
        assert_eq!(texts, ["1 switch", "4 switches", "0 hosts", "2 processes"]);
        assert_eq!(counted(1_u64, "phase"), "1 phase");
    }

    #[test]
    fn lists_are_short() {
        assert_eq!(
            short_list(["a", "b", "c", "d", "e", "f"].into_iter()),
            "a, b, c, d and 2 more"
        );
        assert_eq!(
            routed_hops(&[None]),
            "1 routed hop (one that does not answer)"
        );
        assert_eq!(
            utc_minute(Millis(1_795_424_809_000)),
            "2026-11-23 09:06 UTC"
        );
        assert_eq!(
            [0, 7, 100, 20_000].map(milliseconds),
            ["0 ms", "0.007 ms", "0.1 ms", "20 ms"]
        );
    }
}
