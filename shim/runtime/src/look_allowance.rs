//! Whether this process can afford to look at one more communicator.
//!
//! A first call may be the longest of a job, and nobody knows before what it takes. So a process has one
//! look in any case, and all others together may take one part in fifty of the time since it began. Beside the calls of
//! other communicators, and with more ranks than processors, a look takes many times as long as on an idle network.
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Clock ticks in a second, as the kernel shows them to every program (USER_HZ, time(7)).
const TICKS: u64 = 100;

/// A look on an idle network.
const LEAST: Duration = Duration::from_millis(3);
/// Looks take at most one part in this many of the time since the process began.
const SHARE: u32 = 50;

/// Microseconds that the looks of this process took so far, each at least as long as on an idle network.
static TOOK: AtomicU64 = AtomicU64::new(0);

/// This process has looked at a communicator, which took so long once all ranks were there.
pub fn count_look(took: Duration) {
    TOOK.fetch_add(took.max(LEAST).as_micros() as u64, Ordering::Relaxed);
}

/// True if the process is old enough for one more.
pub fn affords_another() -> bool {
    affords(
        process_age(),
        Duration::from_micros(TOOK.load(Ordering::Relaxed)),
    )
}

fn affords(age: Duration, took: Duration) -> bool {
    age >= took.saturating_mul(SHARE)
}

/// The time since the process began; zero where the kernel does not tell.
fn process_age() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from);
    began(&stat).map_or(Duration::ZERO, |began| now.saturating_sub(began))
}

/// The time from the start of the system to that of a process, proc_pid_stat(5). Its name is in
/// brackets, and may have brackets itself.
fn began(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // `starttime` is field 22; after the name comes field 3, the state. It counts from boot, suspension included.
    let ticks: u64 = fields.nth(22 - 3)?.parse().ok()?;
    Some(Duration::from_millis(ticks.checked_mul(1000 / TICKS)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_but_the_first_take_one_part_in_fifty_of_the_time_since_the_process_began() {
        let second = Duration::from_secs(1);
        assert!(affords(Duration::ZERO, Duration::ZERO));
        assert!(!affords(second / 10, LEAST));
        assert!(affords(second / 5, LEAST));
        assert!(!affords(second, second / 40));
        assert!(affords(second, second / 60));
        assert!(!affords(second, Duration::MAX));
    }

    #[test]
    fn the_age_of_a_process_is_known_whatever_its_name() {
        let fields: Vec<String> = (3..=30).map(|n| (10 * n).to_string()).collect();
        let stat = format!("1 (a) b) {}", fields.join(" "));
        assert_eq!(began(&stat), Some(Duration::from_millis(2200)));
        assert_eq!(began("1 (a) R"), None);
        std::thread::sleep(Duration::from_millis(20));
        let age = process_age();
        assert!(
            age > Duration::ZERO && age < Duration::from_secs(3600),
            "{age:?}"
        );
    }
}
