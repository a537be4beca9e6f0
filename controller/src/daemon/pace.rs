//! The pace of ticks. The answers of a large network come in for longer than one inference takes, and
//! inferences must not take a whole core. But a single change must not wait for its second inference
//! because of the first.
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time between two ticks, however many answers come in.
const TICK: Duration = Duration::from_millis(20);
/// The pause after a tick, in multiples of its duration.
const PAUSE: u32 = 3;
/// The most pauses that are saved up while nothing happens.
const SAVED: Duration = Duration::from_secs(5);

/// The pauses that are owed for the ticks so far.
#[derive(Debug, Default)]
pub(super) struct TickPace {
    /// The time until which pauses are owed; it may lie in the past.
    owed: Option<Instant>,
}

impl TickPace {
    /// The time of the next tick, after one that took from `began` to `now`.
    pub(super) fn next_tick(&mut self, began: Instant, now: Instant) -> Instant {
        let saved = now.checked_sub(SAVED).unwrap_or(now);
        let earlier = self.owed.map_or(saved, |owed| owed.max(saved));
        let owed = earlier + (PAUSE + 1) * (now - began);
        self.owed = Some(owed);
        owed.max(now + TICK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_ticks_follow_at_once_and_many_pause() {
        let mut pace = TickPace::default();
        let start = Instant::now() + SAVED;
        let (mut now, mut ticks, mut pauses) = (start, 0, Vec::new());
        let second = Duration::from_millis(1_000);
        while now < start + 100 * second {
            let (began, ended) = (now, now + second);
            now = pace.next_tick(began, ended);
            ticks += 1;
            pauses.push(now - ended);
        }
        assert_eq!(pauses[0], TICK);
        assert!((25..=28).contains(&ticks), "a quarter of the time: {ticks}");
        assert_eq!(pauses[10], 3 * second);
        let later = now + 100 * second;
        let next = pace.next_tick(later, later + second);
        assert_eq!(next - (later + second), TICK, "the calm is saved up again");
    }
}
