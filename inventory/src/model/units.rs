//! Numbers that carry their unit.
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A data rate in bits per second. Written `100M`, `1G`, `2500M`, `25G`, or a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitsPerSec(pub u64);

/// A size in bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A point in time: milliseconds since the Unix epoch. Pure code gets it as an argument.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// The time from `earlier` to `self`; zero if the clock went back.
    pub fn since(self, earlier: Millis) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The time `span` later, limited to the last possible moment, because moments also come from
    /// files and from other machines.
    pub fn after(self, span: Duration) -> Millis {
        Millis(self.0.saturating_add(milliseconds::of(span)))
    }

    /// The time `span` earlier, limited to the first possible moment.
    pub fn before(self, span: Duration) -> Millis {
        Millis(self.0.saturating_sub(milliseconds::of(span)))
    }
}

/// Spans of time in files and in the API: whole milliseconds.
pub mod milliseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    /// Whole milliseconds, limited to the largest number.
    pub fn of(span: Duration) -> u64 {
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }

    /// For `serde(with)`.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        of(*span).serialize(serializer)
    }

    /// For `serde(with)`.
    ///
    /// # Errors
    /// For everything that is not a number of milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }

    /// Optional spans of time.
    pub mod optional {
        use super::{Deserialize, Deserializer, Duration, Serialize, Serializer};

        /// For `serde(with)`.
        pub fn serialize<S: Serializer>(
            span: &Option<Duration>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            span.map(super::of).serialize(serializer)
        }

        /// For `serde(with)`.
        ///
        /// # Errors
        /// For everything that is not a number of milliseconds.
        pub fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
        }
    }
}

/// A rate that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rate \"{0}\": expected a number of bit/s or one like 100M, 1G, 25G, greater than zero")]
pub struct RateError(pub String);

impl BitsPerSec {
    /// 1 Gbit/s, the rate of a link whose rate is not stated.
    pub const GIGABIT: BitsPerSec = BitsPerSec(1_000_000_000);

    /// `n` megabit per second.
    pub const fn mega(n: u64) -> Self {
        BitsPerSec(n * 1_000_000)
    }
}

impl FromStr for BitsPerSec {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let t = text.trim();
        let split = t
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(t.len());
        let (digits, suffix) = t.split_at(split);
        let unit: u64 = match suffix.trim() {
            "" => 1,
            "k" | "K" => 1_000,
            "M" | "m" => 1_000_000,
            "G" | "g" => 1_000_000_000,
            "T" | "t" => 1_000_000_000_000,
            _ => return Err(no_rate(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() || fraction.len() > 9 || (unit == 1 && !fraction.is_empty()) {
            return Err(no_rate(text));
        }
        let whole = whole
            .parse::<u64>()
            .map_err(|_| no_rate(text))?
            .checked_mul(unit)
            .ok_or_else(|| no_rate(text))?;
        let part = match fraction {
            "" => 0,
            // Nine digits of a terabit need more than 64 bits before the division.
            f => {
                (f.parse::<u128>().map_err(|_| no_rate(text))? * u128::from(unit)
                    / 10u128.pow(f.len() as u32)) as u64
            }
        };
        match whole.checked_add(part) {
            Some(n) if n > 0 => Ok(BitsPerSec(n)),
            _ => Err(no_rate(text)),
        }
    }
}

fn no_rate(text: &str) -> RateError {
    RateError(text.to_owned())
}

/// A size that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "size \"{0}\": expected a number of bytes or one like 64k, 1M, 2G (of 1,024), greater than zero"
)]
pub struct SizeError(pub String);

/// The size in the largest unit that divides it: `64k`, `1M`, `1000`. The text is read back as the
/// same size.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self.0 {
            n if n >= 1 << 30 && n % (1 << 30) == 0 => format!("{}G", n >> 30),
            n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{}M", n >> 20),
            n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{}k", n >> 10),
            n => n.to_string(),
        })
    }
}

impl FromStr for Bytes {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let split = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let unit: u64 = match &text[split..] {
            "" => 1,
            "k" | "K" | "kB" | "KB" | "KiB" | "kiB" => 1 << 10,
            "M" | "MB" | "MiB" => 1 << 20,
            "G" | "GB" | "GiB" => 1 << 30,
            _ => return Err(no_size(text)),
        };
        let bytes = text[..split]
            .parse::<u64>()
            .map_err(|_| no_size(text))?
            .checked_mul(unit)
            .ok_or_else(|| no_size(text))?;
        if bytes > 0 {
            Ok(Bytes(bytes))
        } else {
            Err(no_size(text))
        }
    }
}

fn no_size(text: &str) -> SizeError {
    SizeError(text.to_owned())
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            n if n >= 1_000_000_000_000 => (1_000_000_000_000, "T"),
            n if n >= 1_000_000_000 => (1_000_000_000, "G"),
            n if n >= 1_000_000 => (1_000_000, "M"),
            n if n >= 1_000 => (1_000, "k"),
            _ => (1, ""),
        };
        match self.0 % unit {
            0 => f.pad(&format!("{}{name}", self.0 / unit)),
            _ => f.pad(&format!("{:.1}{name}", self.0 as f64 / unit as f64)),
        }
    }
}

impl Serialize for BitsPerSec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for BitsPerSec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct RateVisitor;
        impl serde::de::Visitor<'_> for RateVisitor {
            type Value = BitsPerSec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate like 100M, 1G, 25G or a number of bit/s")
            }
            fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<BitsPerSec, E> {
                if n == 0 {
                    Err(E::custom(RateError("0".into())))
                } else {
                    Ok(BitsPerSec(n))
                }
            }
            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<BitsPerSec, E> {
                u64::try_from(n)
                    .map_err(|_| E::custom(RateError(n.to_string())))
                    .and_then(|n| self.visit_u64(n))
            }
            fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<BitsPerSec, E> {
                s.parse().map_err(E::custom)
            }
        }
        if d.is_human_readable() {
            d.deserialize_any(RateVisitor)
        } else {
            d.deserialize_u64(RateVisitor)
        }
    }
}

/// Times as text with a unit, `250us`, `500ms`, `2s`, `1m`, `1h`: for `#[serde(with =
/// "units::duration")]`.
pub mod duration {
    use serde::{Deserializer, Serializer};
    use std::time::Duration;

    /// Reads a text like `500ms`; `None` for anything else, including a number without a unit.
    pub fn parse(text: &str) -> Option<Duration> {
        let t = text.trim();
        let split = t.find(|c: char| !c.is_ascii_digit())?;
        let (digits, unit) = t.split_at(split);
        let n: u64 = digits.parse().ok()?;
        let per = match unit.trim_start() {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" | "min" => 60_000_000,
            "h" => 3_600_000_000,
            _ => return None,
        };
        n.checked_mul(per).map(Duration::from_micros)
    }

    /// The text in the largest unit that divides the time.
    pub fn show(duration: Duration) -> String {
        match duration.as_micros() {
            0 => "0s".to_owned(),
            n if n.is_multiple_of(60_000_000) => format!("{}m", n / 60_000_000),
            n if n.is_multiple_of(1_000_000) => format!("{}s", n / 1_000_000),
            n if n.is_multiple_of(1_000) => format!("{}ms", n / 1_000),
            n => format!("{n}us"),
        }
    }

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&show(*duration))
    }

    /// From text.
    ///
    /// # Errors
    /// For everything that is not a time with its unit.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        struct DurationVisitor;
        impl serde::de::Visitor<'_> for DurationVisitor {
            type Value = Duration;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a time with its unit, like 500ms, 2s or 1m")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
                parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        d.deserialize_any(DurationVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_rates() {
        for (text, bits) in [
            ("100M", 100_000_000),
            ("1G", 1_000_000_000),
            ("2.5G", 2_500_000_000),
            ("20000000", 20_000_000),
            ("1.999999999T", 1_999_999_999_000),
        ] {
            assert_eq!(text.parse::<BitsPerSec>().unwrap().0, bits, "{text}");
        }
        for text in [
            "",
            "G",
            "0",
            "0G",
            "-1G",
            "1X",
            "1.5",
            "99999999999T",
            "1..5G",
        ] {
            assert!(text.parse::<BitsPerSec>().is_err(), "{text}");
        }
        assert_eq!(BitsPerSec::mega(2500).to_string(), "2.5G");
        assert_eq!(BitsPerSec::GIGABIT.to_string(), "1G");
    }

    #[test]
    fn reads_sizes() {
        for (text, bytes) in [("1", 1), ("64k", 65_536), ("3M", 3 << 20), ("2G", 2 << 30)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in [
            "",
            "0",
            "k",
            "-1",
            "1.5k",
            "1m",
            "1 k",
            "99999999999G",
            "18446744073709551616",
        ] {
            assert!(
                text.parse::<Bytes>()
                    .unwrap_err()
                    .to_string()
                    .contains(text),
                "{text}"
            );
        }
    }

    #[test]
    fn reads_and_writes_times() {
        for text in ["250us", "500ms", "2s", "1m", "90s", "0s"] {
            assert_eq!(duration::show(duration::parse(text).unwrap()), text);
        }
        for text in [
            "",
            "500",
            "ms",
            "-1s",
            "1.5s",
            "1 fortnight",
            "99999999999999999999s",
        ] {
            assert_eq!(duration::parse(text), None, "{text}");
        }
    }
}

/// Sizes as text with a unit, `64k`, `12M`, or as a number of bytes: for `#[serde(with = "units::size")]`.
pub mod size {
    use super::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a size like 64k or 12M")]
    enum WrittenSize {
        Number(u64),
        Text(String),
    }

    impl WrittenSize {
        fn bytes<E: Error>(self) -> Result<Bytes, E> {
            let text = match self {
                WrittenSize::Number(number) => number.to_string(),
                WrittenSize::Text(text) => text,
            };
            text.parse().map_err(E::custom)
        }
    }

    /// # Errors
    /// Those of the format.
    pub fn serialize<S: Serializer>(size: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(size)
    }

    /// # Errors
    /// Something that is no size.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Bytes, D::Error> {
        WrittenSize::deserialize(d)?.bytes()
    }

    /// The same where there may be none.
    pub mod optional {
        use super::{Bytes, WrittenSize};
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        /// # Errors
        /// Those of the format.
        pub fn serialize<S: Serializer>(
            size: &Option<Bytes>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            size.map(|size| size.to_string()).serialize(serializer)
        }

        /// # Errors
        /// Something that is no size.
        pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Bytes>, D::Error> {
            let size = Option::<WrittenSize>::deserialize(d)?;
            size.map(WrittenSize::bytes).transpose()
        }
    }
}
