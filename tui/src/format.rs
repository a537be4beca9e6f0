//! The writing of numbers: short, aligned, with their unit.
use inventory::{BitsPerSec, Bytes, Millis};
use jiff::{Timestamp, tz::TimeZone};
use std::time::Duration;

/// Time of day, `12:03:17`.
pub(crate) fn clock(at: Millis, zone: &TimeZone) -> String {
    moment(at, zone, "%H:%M:%S")
}

/// Date and time of day with milliseconds.
pub(crate) fn instant(at: Millis, zone: &TimeZone) -> String {
    moment(at, zone, "%Y-%m-%d %H:%M:%S%.3f")
}

fn moment(at: Millis, zone: &TimeZone, form: &str) -> String {
    let stamp = i64::try_from(at.0)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    stamp.map_or_else(
        || "?".into(),
        |t| t.to_zoned(zone.clone()).strftime(form).to_string(),
    )
}

/// A span: `40 ms`, `1.25 s`, `3 min 5 s`, `2 h 3 min`.
pub(crate) fn span(span: Duration) -> String {
    let ms = span.as_millis();
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.2} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// A span in whole seconds, for a time that grows on the screen: `7 s`, `3 min`, `2 h`, `4 d`.
pub(crate) fn age(span: Duration) -> String {
    match span.as_secs() {
        s @ 0..120 => format!("{s} s"),
        s @ 120..7_200 => format!("{} min", s / 60),
        s @ 7_200..172_800 => format!("{} h", s / 3_600),
        s => format!("{} d", s / 86_400),
    }
}

/// A duration in seconds: `12 µs`, `3.4 ms`, `1.2 s`.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if !s.is_finite() => "–".into(),
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

/// A size with a binary prefix: `512`, `64k`, `1M`.
pub(crate) fn size(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

/// Bytes a second: `23.4 MB/s`.
pub(crate) fn throughput(bytes_per_sec: f64) -> String {
    match bytes_per_sec {
        b if !b.is_finite() => "–".into(),
        b if b >= 1e9 => format!("{:.2} GB/s", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB/s", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB/s", b / 1e3),
        b => format!("{b:.0} B/s"),
    }
}

/// A ratio as whole percent, `62%`.
pub(crate) fn percent(ratio: f64) -> String {
    if ratio.is_finite() {
        format!("{:.0}%", (ratio * 100.0).clamp(0.0, 999.0))
    } else {
        "–".into()
    }
}

/// The share of `rate` that is in use; `None` without a measurement.
pub(crate) fn share(measured: Option<BitsPerSec>, rate: BitsPerSec) -> Option<f64> {
    measured
        .filter(|_| rate.0 > 0)
        .map(|m| m.0 as f64 / rate.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_carry_units() {
        assert_eq!(clock(Millis(1_770_000_000_000), &TimeZone::UTC), "02:40:00");
        assert_eq!(clock(Millis(u64::MAX), &TimeZone::UTC), "?");
        assert_eq!(
            (ms(40), ms(1_250), ms(185_000), ms(7_380_000)),
            (
                "40 ms".into(),
                "1.25 s".into(),
                "3 min 5 s".into(),
                "2 h 3 min".into()
            )
        );
        assert_eq!(
            (size(65_536), size(1_000), size(1 << 20)),
            ("64k".into(), "1000".into(), "1M".into())
        );
        assert_eq!(
            percent(share(Some(BitsPerSec(62)), BitsPerSec(100)).unwrap()),
            "62%"
        );
        assert_eq!(
            (percent(f64::NAN), throughput(f64::INFINITY)),
            ("–".into(), "–".into())
        );
    }

    fn ms(ms: u64) -> String {
        span(Duration::from_millis(ms))
    }
}
