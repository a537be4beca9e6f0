//! The rate of polls. Polls twice a second cost nothing with few switches, but keep a processor
//! core busy with a thousand. So the number of polls a second is bounded, and in a large fleet each
//! switch is polled less often. In a small fleet everything is as the inventory states.
use std::time::Duration;

/// The most pulses a second, for all switches together.
const PULSES: usize = 300;
/// The most brief pulses a second in rounds, where a question costs a tenth of one in a session.
const ROUND: usize = 1_000;
/// The most whole pulses among them, which have every port's state and counters.
const WHOLE: usize = 40;
/// The most full reads a second.
const LOOKS: usize = 2;
/// The shortest time between two reads of a switch that traps of one topic cause. Pulses find
/// changes about as fast.
const TRAPS: Duration = Duration::from_secs(1);

/// The times of a switch's pulses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PulseTiming {
    /// The time between two pulses.
    pub(crate) every: Duration,
    /// One pulse of this many is whole, the others are brief.
    pub(crate) whole: u32,
    /// The time before the first pulse, so that not all switches are polled at once.
    pub(crate) offset: Duration,
}

impl PulseTiming {
    /// The same without the brief pulses, which are asked in rounds.
    pub(crate) fn only_whole(self) -> PulseTiming {
        let every = self.every * self.whole;
        PulseTiming {
            every,
            whole: 1,
            offset: self.offset * self.whole,
        }
    }
}

/// The time between two brief pulses of a switch, if there are so many switches that brief pulses
/// are asked at all, and in rounds.
pub(crate) fn round(switches: usize, stated: Duration) -> Option<Duration> {
    let every = stated.max(share(switches, ROUND));
    (pulse(switches, 0, stated).whole > 1).then_some(every)
}

/// The timing of one switch, by its number among `switches`. `stated` is the inventory's period.
pub(crate) fn pulse(switches: usize, number: usize, stated: Duration) -> PulseTiming {
    let every = stated.max(share(switches, PULSES));
    let whole = share(switches, WHOLE)
        .div_duration_f64(every)
        .ceil()
        .max(1.0) as u32;
    let offset = if every > stated {
        every.mul_f64(number as f64 / switches.max(1) as f64)
    } else {
        Duration::ZERO
    };
    PulseTiming {
        every,
        whole,
        offset,
    }
}

/// The time until the next full read of a switch. In large fleets it is spread, because all
/// switches were first read at one time.
pub(crate) fn full(switches: usize, number: usize, stated: Duration) -> Duration {
    let every = stated.max(share(switches, LOOKS));
    let spread = if every > stated {
        every.mul_f64(number as f64 / switches.max(1) as f64 / 2.0)
    } else {
        Duration::ZERO
    };
    every - spread
}

/// The time between two reads of a switch that traps of one topic cause; the first read is at once.
pub(crate) fn traps(switches: usize) -> Duration {
    TRAPS.max(share(switches, PULSES))
}

/// The time in which each switch is polled once.
fn share(switches: usize, a_second: usize) -> Duration {
    Duration::from_secs(switches as u64) / a_second as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATED: Duration = Duration::from_millis(500);

    #[test]
    fn few_switches_are_asked_as_stated() {
        for switches in [1, 20] {
            assert_eq!(
                pulse(switches, switches - 1, STATED),
                PulseTiming {
                    every: STATED,
                    whole: 1,
                    offset: Duration::ZERO
                }
            );
        }
        assert_eq!(
            full(120, 119, Duration::from_secs(60)),
            Duration::from_secs(60)
        );
        assert_eq!(traps(300), Duration::from_secs(1));
    }

    #[test]
    fn many_switches_share_the_polls_of_a_second() {
        for switches in [40, 150, 151, 1_000, 5_000] {
            let all: Vec<PulseTiming> = (0..switches).map(|n| pulse(switches, n, STATED)).collect();
            let per_second = switches as f64 / all[0].every.as_secs_f64();
            assert!(
                per_second <= PULSES as f64 + 1.0
                    && per_second / f64::from(all[0].whole) <= WHOLE as f64 + 1.0,
                "{switches}: {all:?}"
            );
            assert!(all.iter().all(|r| r.offset < all[0].every));
        }
        assert_eq!(
            pulse(1_000, 500, STATED).every,
            Duration::from_secs(1_000) / 300
        );
        assert_eq!(traps(1_000), Duration::from_secs(1_000) / 300);
        let looks: Vec<Duration> = (0..1_000)
            .map(|n| full(1_000, n, Duration::from_secs(60)))
            .collect();
        assert!(
            looks.iter().min() > Some(&Duration::from_secs(249))
                && looks.iter().max() == Some(&Duration::from_secs(500))
        );
    }
}
