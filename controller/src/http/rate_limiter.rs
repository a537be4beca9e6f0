//! A limit of rate: the generic cell rate algorithm (ITU-T I.371, annex A), with one number of
//! state.
use std::time::{Duration, Instant};

/// One event every `period` on average, up to `burst` at once.
#[derive(Debug, Clone)]
pub(super) struct RateLimiter {
    period: Duration,
    burst: u32,
    /// The theoretical arrival time of the next event.
    due: Option<Instant>,
}

impl RateLimiter {
    pub(super) const fn new(period: Duration, burst: u32) -> RateLimiter {
        RateLimiter {
            period,
            burst,
            due: None,
        }
    }

    /// Admits one event, or returns the time to wait.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let due = self.due.map_or(now, |due| due.max(now));
        let ahead = due.duration_since(now);
        let most = self.period * (self.burst - 1);
        if ahead > most {
            return Err(ahead - most);
        }
        self.due = Some(due + self.period);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_a_period() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut pace = RateLimiter::new(second, 3);
        assert_eq!(
            (0..4).map(|_| pace.take(start).is_ok()).collect::<Vec<_>>(),
            [true, true, true, false]
        );
        assert_eq!(pace.take(start + second / 2), Err(second / 2));
        assert!(pace.take(start + second).is_ok() && pace.take(start + second).is_err());
        assert_eq!(
            (0..4)
                .filter(|_| pace.take(start + 60 * second).is_ok())
                .count(),
            3,
            "idle time is not saved up"
        );
    }
}
