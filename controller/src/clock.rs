//! Wall-clock time that never goes back: the core's hold-downs must not wait for a clock that was set.
use inventory::Millis;
use std::time::Duration;
use tokio::time::Instant;

/// The wall clock at the start, and how long that is ago.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    wall: Millis,
    start: Instant,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { wall: agent::now(), start: Instant::now() }
    }
}

impl Clock {
    pub(crate) fn now(&self) -> Millis {
        Millis(self.wall.0 + self.start.elapsed().as_millis() as u64)
    }

    /// When it will be `at`; the start where that is before it.
    pub(crate) fn instant(&self, at: Millis) -> Instant {
        self.start + Duration::from_millis(at.since(self.wall))
    }
}
