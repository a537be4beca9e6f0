//! Wall-clock time that never goes back: a hold-down must not wait for a clock that was set.
use inventory::Millis;
use tokio::time::Instant;

/// The wall clock at the start, and a steady clock since then.
#[derive(Debug, Clone)]
pub(crate) struct SteadyClock {
    wall: Millis,
    start: Instant,
}

impl Default for SteadyClock {
    fn default() -> SteadyClock {
        SteadyClock {
            wall: agent::now(),
            start: Instant::now(),
        }
    }
}

impl SteadyClock {
    pub(crate) fn now(&self) -> Millis {
        self.wall.after(self.start.elapsed())
    }

    /// The instant of the time `at`, but not before the start.
    pub(crate) fn instant(&self, at: Millis) -> Instant {
        self.start + at.since(self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The wall clock is set by hours after the start: the steady clock continues from its last
    /// time.
    #[test]
    fn a_wall_clock_that_jumps_either_way_moves_nothing() {
        let hours = 5 * 3_600_000;
        for wall in [agent::now().0 + hours, agent::now().0 - hours] {
            let clock = SteadyClock {
                wall: Millis(wall),
                start: Instant::now(),
            };
            let (first, second) = (clock.now(), clock.now());
            assert!(
                (wall..wall + 60_000).contains(&first.0) && second >= first,
                "{wall}: {first:?}, {second:?}"
            );
            let due = clock
                .instant(Millis(wall + 500))
                .duration_since(clock.start);
            assert_eq!(
                due,
                Duration::from_millis(500),
                "a hold-down takes as long as it takes"
            );
            assert_eq!(
                clock.instant(Millis(wall - hours)),
                clock.start,
                "long ago: at once"
            );
        }
    }
}
