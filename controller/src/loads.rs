//! Measured load: bit/s per interface from the octet counters of successive pulses.
use inventory::BitsPerSec;
use inventory::Millis;
use inventory::observation::Pulse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// Rates are taken over this time. Agents cache their counters for some seconds (net-snmp: 3 s) and repeat them
/// meanwhile: repeated readings say nothing, until they have been repeated for longer than any cache.
const WINDOW_MS: u64 = 4_000;

/// Octets into and out of an interface at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    at: Millis,
    inward: u64,
    outward: u64,
}

/// An interface's counters lately.
#[derive(Debug, Clone, Default)]
struct Counters {
    /// Readings that differ, oldest first.
    moved: VecDeque<Reading>,
    /// When the counters were read last.
    read: Millis,
}

/// The last readings of every interface.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    switches: BTreeMap<String, HashMap<u32, Counters>>,
}

impl Counters {
    /// Takes a reading. Counters that went back (agent restarted, interface made anew) start over.
    fn record(&mut self, now: Reading) {
        self.read = now.at;
        match self.moved.back_mut() {
            Some(last) if now.inward < last.inward || now.outward < last.outward || now.at <= last.at => self.moved.clear(),
            Some(last) if (now.inward, now.outward) == (last.inward, last.outward) => return,
            // After a pause the new octets came within the window, not since the counters moved last.
            Some(last) => last.at = Millis(last.at.0.max(now.at.0.saturating_sub(WINDOW_MS))),
            None => {}
        }
        self.moved.push_back(now);
        while self.moved.len() > 2 && now.at.since(self.moved[0].at) > WINDOW_MS {
            self.moved.pop_front();
        }
    }

    fn rate(&self) -> Option<Rate> {
        let (first, last) = (self.moved.front()?, self.moved.back()?);
        let ms = last.at.since(first.at);
        if self.read.since(last.at) > WINDOW_MS {
            return Some(Rate { inward: BitsPerSec(0), outward: BitsPerSec(0) });
        }
        let rate = |octets: u64| BitsPerSec(u64::try_from(u128::from(octets) * 8_000 / u128::from(ms)).unwrap_or(u64::MAX));
        (ms > 0).then(|| Rate { inward: rate(last.inward - first.inward), outward: rate(last.outward - first.outward) })
    }
}

/// What passed an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Into the switch.
    pub inward: BitsPerSec,
    /// Out of the switch.
    pub outward: BitsPerSec,
}

impl Rate {
    /// Both together. Counters are the switches' word, so the sum stops at the largest figure there is.
    pub fn plus(self, other: Rate) -> Rate {
        let sum = |a: BitsPerSec, b: BitsPerSec| BitsPerSec(a.0.saturating_add(b.0));
        Rate { inward: sum(self.inward, other.inward), outward: sum(self.outward, other.outward) }
    }
}

impl Meter {
    /// Takes the counters of one pulse.
    pub fn record(&mut self, at: Millis, switch: &str, pulse: &Pulse) {
        let interfaces = self.switches.entry(switch.to_owned()).or_default();
        let there: HashSet<u32> = pulse.octets.iter().map(|o| o.0).collect();
        interfaces.retain(|index, _| there.contains(index));
        for &(index, inward, outward) in &pulse.octets {
            interfaces.entry(index).or_default().record(Reading { at, inward, outward });
        }
    }

    /// The rates of an interface; `None` before two readings.
    pub fn rate(&self, switch: &str, index: u32) -> Option<Rate> {
        self.switches.get(switch)?.get(&index)?.rate()
    }

    /// Forgets a switch that left the inventory.
    pub fn forget(&mut self, switch: &str) {
        self.switches.remove(switch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(meter: &mut Meter, at: u64, octets: &[(u32, u64, u64)]) {
        meter.record(Millis(at), "s0", &Pulse { octets: octets.to_vec(), ..Pulse::default() });
    }

    #[test]
    fn counters_that_an_agent_caches_for_three_seconds_give_a_steady_rate() {
        let mut m = Meter::default();
        for at in 0..40 {
            let octets = (at / 6) * 375_000; // read every 500 ms, refreshed every 3 s, 1 Mbit/s
            read(&mut m, at * 500, &[(1, octets, 2 * octets)]);
            let rate = m.rate("s0", 1);
            match at {
                0..=5 => assert_eq!(rate, None),
                _ => assert_eq!(rate, Some(Rate { inward: BitsPerSec(1_000_000), outward: BitsPerSec(2_000_000) })),
            }
        }
    }

    #[test]
    fn traffic_that_stops_and_begins_shows_soon() {
        let mut m = Meter::default();
        for at in 0..100 {
            read(&mut m, at * 500, &[(1, at.min(10) * 62_500 + at.saturating_sub(60) * 62_500, 0)]);
            let rate = m.rate("s0", 1).map(|r| r.inward.0);
            match at {
                1..=10 | 72..=99 => assert_eq!(rate, Some(1_000_000), "{at}"),
                20..=60 => assert_eq!(rate, Some(0), "{at}"),
                _ => {}
            }
        }
    }

    #[test]
    fn a_counter_that_goes_back_starts_over_and_sixty_four_bits_hold() {
        let mut m = Meter::default();
        let high = u64::MAX - 1_000_000;
        read(&mut m, 0, &[(1, high, 0)]);
        read(&mut m, 1000, &[(1, high + 125, 0)]);
        assert_eq!(m.rate("s0", 1).unwrap().inward, BitsPerSec(1000));
        read(&mut m, 2000, &[(1, 5, 0)]);
        assert_eq!(m.rate("s0", 1), None);
        read(&mut m, 3000, &[(1, 130, 0)]);
        assert_eq!(m.rate("s0", 1).unwrap().inward, BitsPerSec(1000));
        read(&mut m, 4000, &[]);
        assert_eq!(m.rate("s0", 1), None);
    }

    #[test]
    fn absurd_counters_end_at_the_largest_rate() {
        let mut m = Meter::default();
        read(&mut m, 0, &[(1, 0, 0)]);
        read(&mut m, 1, &[(1, u64::MAX, 1)]);
        let rate = m.rate("s0", 1).unwrap();
        assert_eq!(rate, Rate { inward: BitsPerSec(u64::MAX), outward: BitsPerSec(8_000) });
        assert_eq!(rate.plus(rate), Rate { inward: BitsPerSec(u64::MAX), outward: BitsPerSec(16_000) });
    }
}
