//! The state of the machine during a measurement: whether the processors were the limit, what this
//! process took of them, and whether the network lost anything.
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::fs;
use std::time::Duration;

/// Counters of the kernel at one moment, as this process sees them; what it does not tell counts as
/// 0.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MachineCounters {
    idle: u64,
    total: u64,
    retransmitted: u64,
    own: Duration,
}

/// The machine's resources that the calls took.
pub(crate) struct MachineUse {
    /// The share of processor time that was idle, or went to what gives way to this program.
    pub(crate) idle: f64,
    /// TCP segments sent again.
    pub(crate) retransmitted: u64,
    /// Seconds of processor time of all ranks.
    pub(crate) processor: f64,
}

impl MachineCounters {
    /// Reads `/proc/stat` (of the whole machine) and `/proc/net/snmp` (of this network namespace);
    /// proc_stat(5), RFC 4022.
    pub(crate) fn now() -> MachineCounters {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let times: Vec<u64> = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .filter_map(|n| n.parse().ok())
            .collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; then guests, which user and nice
        // hold already.
        let gives_way = times.get(1).filter(|_| !is_nice()).copied();
        let idle = times.iter().skip(3).take(2).sum::<u64>() + gives_way.unwrap_or(0);
        let retransmitted =
            retransmitted(&fs::read_to_string("/proc/net/snmp").unwrap_or_default());
        MachineCounters {
            idle,
            total: times.iter().take(8).sum(),
            retransmitted,
            own: own_time(),
        }
    }

    /// Processor time of this process since `before`, its own and the kernel's for it.
    pub(crate) fn own_since(&self, before: &MachineCounters) -> Duration {
        self.own.saturating_sub(before.own)
    }

    /// The share of processor time that was idle, or went to what gives way, since `before`: 0 to
    /// 1.
    pub(crate) fn idle_since(&self, before: &MachineCounters) -> f64 {
        let total = self.total.saturating_sub(before.total);
        self.idle.saturating_sub(before.idle) as f64 / total.max(1) as f64
    }

    /// TCP segments sent again since `before`.
    pub(crate) fn retransmitted_since(&self, before: &MachineCounters) -> u64 {
        self.retransmitted.saturating_sub(before.retransmitted)
    }
}

/// True if this process gives way itself: its nice value in `/proc/self/stat`, proc_pid_stat(5), is
/// positive.
fn is_nice() -> bool {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    nice_value(&stat).is_some_and(|nice| nice > 0)
}

/// The nineteenth field; the second one, a name in brackets, may have spaces and brackets itself.
fn nice_value(stat: &str) -> Option<i32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(16)?.parse().ok()
}

/// getrusage(2).
fn own_time() -> Duration {
    let time = |time: TimeVal| {
        Duration::from_secs(time.tv_sec().unsigned_abs())
            + Duration::from_micros(time.tv_usec().unsigned_abs())
    };
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |usage| {
        time(usage.user_time()) + time(usage.system_time())
    })
}

/// tcpRetransSegs out of `/proc/net/snmp`: a line of names, then a line of numbers.
fn retransmitted(text: &str) -> u64 {
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("Tcp:"))
        .map(str::split_whitespace);
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else {
        return 0;
    };
    names
        .zip(numbers)
        .find(|(name, _)| *name == "RetransSegs")
        .and_then(|(_, n)| n.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retransmissions_are_found_by_name() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: RtoMin InSegs RetransSegs\nTcp: 200 7 42\n";
        assert_eq!(retransmitted(text), 42);
        assert_eq!(retransmitted("Tcp: RtoMin\n"), 0);
    }

    #[test]
    fn the_nice_value_stands_behind_any_name() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 9 0 0 0 1 2 0 0 30 10 1 0 5 6 7";
        assert_eq!(nice_value(stat), Some(10));
        let own = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        assert!(nice_value(&own).is_some());
    }

    #[test]
    fn this_machine_says_what_it_did() {
        let before = MachineCounters::now();
        assert!(before.total > 0 && before.own > Duration::ZERO);
        assert!((0.0..=1.0).contains(&MachineCounters::now().idle_since(&before)));
    }
}
