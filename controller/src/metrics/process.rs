//! The controller's own process, by the names that all Prometheus clients use.
use super::exposition::PrometheusText;
use super::families as f;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::time::TimeVal;
use std::fs;

/// Clock ticks in a second, as the kernel shows them to every program (USER_HZ, time(7)).
const TICKS: f64 = 100.0;

/// A number of kibibytes in /proc/self/status (proc(5)), in bytes.
fn bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let number = line.strip_prefix(':')?.trim().strip_suffix(" kB")?;
    number.parse::<u64>().ok()?.checked_mul(1024)
}

/// The ticks from the start of the system to that of a process, by /proc/self/stat. The name of the
/// process is in parentheses, and may contain anything.
fn started(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    fields.nth(22 - 3)?.parse().ok()
}

/// The time at which the system started, in seconds since 1970, by /proc/stat.
fn booted(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

pub(super) fn process(out: &mut PrometheusText) {
    let cpu = getrusage(UsageWho::RUSAGE_SELF)
        .ok()
        .map(|usage| seconds(usage.user_time()) + seconds(usage.system_time()));
    out.family(&f::PROCESS_CPU).known([], cpu);
    let status = read("/proc/self/status");
    out.family(&f::PROCESS_RESIDENT)
        .known([], bytes(&status, "VmRSS"));
    out.family(&f::PROCESS_VIRTUAL)
        .known([], bytes(&status, "VmSize"));
    let files = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
    out.family(&f::PROCESS_FDS).known([], files);
    let limit = getrlimit(Resource::RLIMIT_NOFILE).ok();
    out.family(&f::PROCESS_MAX_FDS)
        .known([], limit.map(|(soft, _)| soft));
    let start = booted(&read("/proc/stat")).zip(started(&read("/proc/self/stat")));
    out.family(&f::PROCESS_START)
        .known([], start.map(|(booted, ticks)| booted + ticks / TICKS));
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn seconds(t: TimeVal) -> f64 {
    t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_no_harm() {
        let fields: Vec<String> = (3..=30).map(|n| n.to_string()).collect();
        let stat = format!("1 (a) b) {}", fields.join(" "));
        assert_eq!(started(&stat), Some(22.0));
        assert_eq!(started("1 (a) 3 4"), None);
    }

    #[test]
    fn figures_are_read_by_their_names() {
        let status = "Name:\tx\nVmSize:\t    2048 kB\nVmRSS:\t       3 kB\n";
        assert_eq!(bytes(status, "VmSize"), Some(2 << 20));
        assert_eq!(bytes(status, "VmRSS"), Some(3 << 10));
        assert_eq!(bytes(status, "VmSwap"), None);
        assert_eq!(booted("cpu 1\nbtime 7\n"), Some(7.0));
    }
}
