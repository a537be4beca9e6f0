//! The operator's leave to measure flows between hosts: when, how much, and whether unasked.
use crate::model::units;
use crate::{Bytes, Millis};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The times and the cost of measurements of flows between hosts. Without these settings nothing is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a map like {times: [\"22:00-06:00\"], share: 10%, budget: 1G}"
)]
pub struct MeasuringSettings {
    /// The times of day, in UTC; empty: always.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<DailySpan>,
    /// The part of the time in which flows may run. 10 %.
    pub share: TimeShare,
    /// The bytes that all measurements of 24 hours may move. 1 GiB.
    #[serde(with = "units::size")]
    pub budget: Bytes,
    /// The longest time of one measurement. 10 minutes.
    #[serde(with = "units::duration")]
    pub longest: Duration,
    /// Measure by itself when a place is found that no measurement is about. Not unless stated.
    pub unasked: bool,
}

impl Default for MeasuringSettings {
    fn default() -> MeasuringSettings {
        MeasuringSettings {
            times: Vec::new(),
            share: TimeShare(10),
            budget: Bytes(1 << 30),
            longest: Duration::from_secs(600),
            unasked: false,
        }
    }
}

impl MeasuringSettings {
    /// True if measurements may run at this time.
    pub fn allows(&self, at: Millis) -> bool {
        self.times.is_empty() || self.times.iter().any(|span| span.contains(at))
    }

    /// The time from now on for which measurements may run; a day if there is no end.
    pub fn allowed_for(&self, now: Millis) -> Duration {
        match (0..DAY).find(|n| !self.allows(minute_from(*n, now))) {
            None => Duration::from_secs(DAY * 60),
            Some(end) => Duration::from_millis(minute_from(end, now).0.saturating_sub(now.0)),
        }
    }
}

fn minute_from(n: u64, now: Millis) -> Millis {
    Millis((now.0 / 60_000 + n) * 60_000)
}

/// Minutes.
const DAY: u64 = 1_440;

/// A part of the time, in percent from 1 to 100. Written `10%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeShare(u8);

impl TimeShare {
    /// From 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl TryFrom<String> for TimeShare {
    type Error = String;

    fn try_from(text: String) -> Result<TimeShare, String> {
        let percent = text
            .trim()
            .strip_suffix('%')
            .and_then(|n| n.trim().parse().ok());
        percent
            .filter(|percent| (1..=100).contains(percent))
            .map(TimeShare)
            .ok_or_else(|| format!("share {text:?}: expected 1% to 100%"))
    }
}

impl From<TimeShare> for String {
    fn from(share: TimeShare) -> String {
        format!("{}%", share.0)
    }
}

/// A span of each day, by minutes since midnight. It may cross midnight. Written `22:00-06:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DailySpan {
    from: u16,
    to: u16,
}

impl DailySpan {
    fn contains(self, at: Millis) -> bool {
        let minute = (at.0 / 60_000 % 1_440) as u16;
        if self.from <= self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    let at = (minute < 60).then(|| hour.checked_mul(60)?.checked_add(minute))??;
    // 24:00 is the end of a day.
    (at <= 1_440).then_some(at)
}

impl TryFrom<String> for DailySpan {
    type Error = String;

    fn try_from(text: String) -> Result<DailySpan, String> {
        let ends = text
            .split_once('-')
            .and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
        match ends {
            Some((from, to)) if from != to => Ok(DailySpan { from, to }),
            _ => Err(format!(
                "time {text:?}: expected a span such as 22:00-06:00, in UTC"
            )),
        }
    }
}

impl From<DailySpan> for String {
    fn from(span: DailySpan) -> String {
        span.to_string()
    }
}

impl fmt::Display for DailySpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|m| format!("{:02}:{:02}", m / 60, m % 60));
        write!(f, "{from}-{to}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<MeasuringSettings, String> {
        serde_yaml::from_str(text).map_err(|e| e.to_string())
    }

    #[test]
    fn settings_are_read_and_written() {
        let all = "{times: ['22:00-06:00', '12:00-13:30'], share: 25%, budget: 200M, longest: 2m, \
                   unasked: true}";
        let settings = read(all).unwrap();
        let again = serde_yaml::to_string(&settings).unwrap();
        assert_eq!(read(&again).unwrap(), settings);
        assert_eq!(settings.share.fraction(), 0.25);
        assert_eq!(read("{}").unwrap(), MeasuringSettings::default());
        for bad in [
            "{share: 0%}",
            "{share: 0.1}",
            "{times: ['22-6']}",
            "{times: ['24:30-25:00']}",
            "{times: ['1093:00-06:00']}",
            "{budget: much}",
            "{often: 1}",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_span_may_cross_midnight() {
        let settings = read("{times: ['22:00-06:00', '12:00-12:30']}").unwrap();
        let at = [
            (21, 59),
            (22, 0),
            (0, 0),
            (5, 59),
            (6, 0),
            (12, 29),
            (12, 30),
        ];
        assert_eq!(
            at.map(|(hour, minute)| settings.allows(Millis((hour * 60 + minute) * 60_000))),
            [false, true, true, true, false, true, false]
        );
        assert!(MeasuringSettings::default().allows(Millis(7)));
        let ms = Duration::from_millis;
        assert_eq!(left(22, 0, &settings), ms(8 * 3_600_000 - 500));
        assert_eq!(left(5, 59, &settings), ms(59_500));
        assert_eq!(left(6, 0, &settings), ms(0));
        assert_eq!(
            MeasuringSettings::default().allowed_for(Millis(7)),
            ms(86_400_000)
        );
    }

    fn left(hour: u64, minute: u64, settings: &MeasuringSettings) -> Duration {
        settings.allowed_for(Millis((hour * 60 + minute) * 60_000 + 500))
    }
}
