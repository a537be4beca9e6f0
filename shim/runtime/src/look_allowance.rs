//! Whether this process can afford a look at a communicator before anything is known of its calls.
//!
//! A first call may be the longest of a job, and nobody knows before what it takes. So a process has one
//! look in any case, and all others together may take one part in fifty of the time since it began.
use crate::communicator_work::WORTH_A_LOOK;
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Clock ticks in a second, as the kernel shows them to every program (USER_HZ, time(7)).
const TICKS: u64 = 100;

/// Looks of this process so far.
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// This process looks at a communicator.
pub fn count_look() {
    LOOKS.fetch_add(1, Ordering::Relaxed);
}

/// True if the process is old enough for one more.
pub fn affords_another() -> bool {
    affords(process_age(), LOOKS.load(Ordering::Relaxed))
}

fn affords(age: Duration, looks: u32) -> bool {
    age >= (WORTH_A_LOOK / 2).saturating_mul(looks)
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
        assert!(affords(Duration::ZERO, 0));
        assert!(!affords(WORTH_A_LOOK / 3, 1));
        assert!(affords(WORTH_A_LOOK / 2, 1));
        assert!(!affords(WORTH_A_LOOK, 3));
        assert!(affords(WORTH_A_LOOK * 2, 4));
        assert!(!affords(Duration::ZERO, u32::MAX));
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
