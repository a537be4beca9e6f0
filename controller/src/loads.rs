//! Measured load: bit/s of each interface, from the octet counters of successive pulses.
use inventory::observation::DevicePulse;
use inventory::{BitsPerSec, Millis};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

/// The time over which rates are taken. SNMP agents cache their counters for some seconds
/// (net-snmp: 3 s), and repeat them meanwhile. A repeated reading has no meaning until it is older
/// than any cache.
const WINDOW: Duration = Duration::from_secs(4);

/// A step of 32-bit counters is a reset and not a wrap if it means more than this multiple of the
/// port's rate. The factor is not 1, because cached counters come early or late.
const TOO_FAST: u128 = 2;

/// Octets into and out of an interface at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OctetReading {
    at: Millis,
    inward: u64,
    outward: u64,
}

/// Octets since counting began, at a time when the counters moved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OctetTotal {
    at: Millis,
    inward: u128,
    outward: u128,
}

/// The recent counters of an interface.
#[derive(Debug, Clone)]
struct InterfaceCounters {
    /// The time since which they count without a break.
    began: Millis,
    last: OctetReading,
    /// The totals at each move, oldest first. The first reading is not among them, because its age
    /// in the agent's cache is not known.
    moved: VecDeque<OctetTotal>,
}

/// One switch's counters.
#[derive(Debug, Clone, Default)]
struct SwitchCounters {
    uptime: u32,
    narrow: bool,
    interfaces: HashMap<u32, InterfaceCounters>,
}

/// The last readings of every interface.
#[derive(Debug, Clone, Default)]
pub struct LoadMeter {
    switches: BTreeMap<String, SwitchCounters>,
}

impl OctetReading {
    /// Octets since an earlier reading; `None` if 64-bit counters went back (the interface was made
    /// anew). 32-bit counters wrap often: in 3.4 s at 10 Gbit/s (RFC 2863, 3.1.6).
    fn since(self, before: OctetReading, narrow: bool) -> Option<(u64, u64)> {
        let forward = self.at > before.at;
        counted(self.inward, before.inward, narrow)
            .zip(counted(self.outward, before.outward, narrow))
            .filter(|_| forward)
    }
}

fn counted(now: u64, before: u64, narrow: bool) -> Option<u64> {
    match narrow {
        true => Some(u64::from((now as u32).wrapping_sub(before as u32))),
        false => now.checked_sub(before),
    }
}

impl InterfaceCounters {
    fn new(first: OctetReading) -> InterfaceCounters {
        InterfaceCounters {
            began: first.at,
            last: first,
            moved: VecDeque::new(),
        }
    }

    /// Takes a reading; `rate` is the rate of the interface. Counters that do not continue start
    /// over.
    fn record(&mut self, now: OctetReading, narrow: bool, rate: impl Fn() -> Option<BitsPerSec>) {
        let step = now.since(self.last, narrow);
        self.last = now;
        let Some((inward, outward)) = step else {
            *self = InterfaceCounters::new(now);
            return;
        };
        if (inward, outward) == (0, 0) {
            return;
        }
        // After a pause, the new octets came within the window, and not since the last move.
        let mut before = self.moved.back().copied().unwrap_or(OctetTotal {
            at: self.began,
            ..OctetTotal::default()
        });
        before.at = before.at.max(now.at.before(WINDOW));
        let is_too_fast = narrow
            && rate().is_some_and(|rate| {
                let ms = now.at.since(before.at).as_millis();
                u128::from(inward.max(outward)) > u128::from(rate.0) * TOO_FAST * ms / 8_000
            });
        if is_too_fast {
            *self = InterfaceCounters::new(now);
            return;
        }
        if let Some(last) = self.moved.back_mut() {
            *last = before;
        }
        let total = OctetTotal {
            at: now.at,
            inward: before.inward + u128::from(inward),
            outward: before.outward + u128::from(outward),
        };
        self.moved.push_back(total);
        // A rate needs two moves, however old the first one is.
        while self.moved.len() > 2 && now.at.since(self.moved[0].at) > WINDOW {
            self.moved.pop_front();
        }
    }

    fn rate(&self) -> Option<InterfaceLoad> {
        let moved = self.moved.back().map_or(self.began, |last| last.at);
        if self.last.at.since(moved) > WINDOW {
            return Some(InterfaceLoad {
                inward: BitsPerSec(0),
                outward: BitsPerSec(0),
            });
        }
        let (first, last) = (self.moved.front()?, self.moved.back()?);
        let ms = last.at.since(first.at).as_millis();
        (ms > 0).then(|| InterfaceLoad {
            inward: mean_rate(last.inward - first.inward, ms),
            outward: mean_rate(last.outward - first.outward, ms),
        })
    }
}

fn mean_rate(octets: u128, ms: u128) -> BitsPerSec {
    BitsPerSec(u64::try_from(octets * 8_000 / ms).unwrap_or(u64::MAX))
}

/// The load of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceLoad {
    /// Into the switch.
    pub inward: BitsPerSec,
    /// Out of the switch.
    pub outward: BitsPerSec,
}

impl InterfaceLoad {
    /// The sum of two loads. Switches may report any counters, so the sum saturates.
    pub fn plus(self, other: InterfaceLoad) -> InterfaceLoad {
        InterfaceLoad {
            inward: sum(self.inward, other.inward),
            outward: sum(self.outward, other.outward),
        }
    }
}

fn sum(a: BitsPerSec, b: BitsPerSec) -> BitsPerSec {
    BitsPerSec(a.0.saturating_add(b.0))
}

impl LoadMeter {
    /// Takes the counters of one pulse; `rate` gives the rate of an interface, if it is known. An
    /// SNMP agent that restarted, which its uptime shows, counts anew: the step to its next
    /// counters is not traffic.
    pub fn record(
        &mut self,
        at: Millis,
        switch: &str,
        pulse: &DevicePulse,
        rate: impl Fn(u32) -> Option<BitsPerSec>,
    ) {
        let known = self.switches.entry(switch.to_owned()).or_default();
        // sysUpTime also begins anew every 497 days (RFC 3418: 32 bits of 10 ms), which costs no more than one window.
        if pulse.uptime < known.uptime || pulse.narrow != known.narrow {
            known.interfaces.clear();
        }
        (known.uptime, known.narrow) = (pulse.uptime, pulse.narrow);
        let there: HashSet<u32> = pulse.octets.iter().map(|o| o.0).collect();
        known.interfaces.retain(|index, _| there.contains(index));
        for &(index, inward, outward) in &pulse.octets {
            let now = OctetReading {
                at,
                inward,
                outward,
            };
            match known.interfaces.entry(index) {
                Entry::Occupied(mut counters) => {
                    counters.get_mut().record(now, pulse.narrow, || rate(index))
                }
                Entry::Vacant(slot) => drop(slot.insert(InterfaceCounters::new(now))),
            }
        }
    }

    /// The rates of an interface; `None` before its counters moved twice, or rested for a while.
    pub fn rate(&self, switch: &str, index: u32) -> Option<InterfaceLoad> {
        self.switches.get(switch)?.interfaces.get(&index)?.rate()
    }

    /// The octets into and out of an interface since counting began. They do not wrap, whatever the
    /// switch counts in.
    pub fn octets(&self, switch: &str, index: u32) -> Option<(u128, u128)> {
        let counters = self.switches.get(switch)?.interfaces.get(&index)?;
        let last = counters.moved.back();
        Some(last.map_or((0, 0), |total| (total.inward, total.outward)))
    }

    /// Forgets a switch that left the inventory.
    pub fn forget(&mut self, switch: &str) {
        self.switches.remove(switch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(meter: &mut LoadMeter, at: u64, octets: &[(u32, u64, u64)]) {
        meter.record(
            Millis(at),
            "s0",
            &DevicePulse {
                octets: octets.to_vec(),
                ..DevicePulse::default()
            },
            |_| None,
        );
    }

    /// A switch with counters of 32 bits, at `at` ms; its port carries 1 Gbit/s.
    fn read_narrow(meter: &mut LoadMeter, at: u64, octets: u64) {
        let pulse = DevicePulse {
            octets: vec![(1, octets % (1 << 32), 0)],
            narrow: true,
            uptime: at as u32,
            ..DevicePulse::default()
        };
        meter.record(Millis(at), "s0", &pulse, |_| Some(BitsPerSec::GIGABIT));
    }

    fn inward(meter: &LoadMeter) -> Option<u64> {
        meter.rate("s0", 1).map(|r| r.inward.0)
    }

    #[test]
    fn counters_that_an_agent_caches_for_three_seconds_give_a_steady_rate() {
        for age in 0..6 {
            let mut m = LoadMeter::default();
            for at in 0..40 {
                // read every 500 ms, refreshed every 3 s, 1 Mbit/s
                let octets = ((at + age) / 6) * 375_000;
                read(&mut m, at * 500, &[(1, octets, 2 * octets)]);
                let rate = m.rate("s0", 1);
                match at {
                    0..=6 => assert_eq!(rate, None, "the first refresh says when, not since when"),
                    12.. => assert_eq!(
                        rate,
                        Some(InterfaceLoad {
                            inward: BitsPerSec(1_000_000),
                            outward: BitsPerSec(2_000_000)
                        })
                    ),
                    _ => assert!(
                        rate.is_none_or(|r| r.inward == BitsPerSec(1_000_000)),
                        "{rate:?}"
                    ),
                }
            }
        }
    }

    #[test]
    fn traffic_that_stops_and_begins_shows_soon() {
        let mut m = LoadMeter::default();
        for at in 0..100 {
            read(
                &mut m,
                at * 500,
                &[(1, at.min(10) * 62_500 + at.saturating_sub(60) * 62_500, 0)],
            );
            match at {
                2..=10 | 72..=99 => assert_eq!(inward(&m), Some(1_000_000), "{at}"),
                20..=60 => assert_eq!(inward(&m), Some(0), "{at}"),
                _ => {}
            }
        }
    }

    #[test]
    fn an_idle_port_carries_nothing_and_says_so() {
        let mut m = LoadMeter::default();
        for at in 0..=9 {
            read(&mut m, at * 500, &[(1, 77, 77)]);
            assert_eq!(
                inward(&m),
                (at == 9).then_some(0),
                "not before an agent's cache would have moved"
            );
        }
    }

    #[test]
    fn a_counter_that_goes_back_starts_over_and_sixty_four_bits_hold() {
        let mut m = LoadMeter::default();
        let high = u64::MAX - 1_000_000;
        for (second, octets) in [high, high + 125, high + 250].into_iter().enumerate() {
            read(&mut m, second as u64 * 1000, &[(1, octets, 0)]);
        }
        assert_eq!(inward(&m), Some(1000));
        for (second, octets, rate) in [(3, 5, None), (4, 130, None), (5, 255, Some(1000))] {
            read(&mut m, second * 1000, &[(1, octets, 0)]);
            assert_eq!(inward(&m), rate);
        }
        read(&mut m, 6000, &[]);
        assert_eq!(inward(&m), None);
    }

    #[test]
    fn counters_of_thirty_two_bits_wrap_without_a_spike() {
        let mut m = LoadMeter::default();
        for second in 0..200 {
            // 800 Mbit/s: a wrap in 43 s
            read_narrow(
                &mut m,
                second * 1000,
                (1 << 32) - 500 + second * 100_000_000,
            );
            assert!(
                second < 2 || inward(&m) == Some(800_000_000),
                "{second}: {:?}",
                inward(&m)
            );
        }
    }

    #[test]
    fn counters_cleared_by_an_operator_are_not_a_wrap() {
        let mut m = LoadMeter::default();
        for second in 0..4 {
            read_narrow(&mut m, second * 1000, 3_000_000_000 + second * 125);
        }
        assert_eq!(inward(&m), Some(1000));
        for (second, octets, rate) in [(4, 0, None), (5, 125, None), (6, 250, Some(1000))] {
            read_narrow(&mut m, second * 1000, octets);
            assert_eq!(
                inward(&m),
                rate,
                "1.3 GB in a second are more than the port can carry"
            );
        }
    }

    #[test]
    fn an_agent_that_restarts_gives_no_spike_at_any_width() {
        for narrow in [false, true] {
            let mut m = LoadMeter::default();
            let mut most = 0;
            for second in 0..20_u64 {
                let (uptime, octets) = if second < 10 {
                    (9000 + second, second * 125)
                } else {
                    (second, 4_000_000 + second * 125)
                };
                let pulse = DevicePulse {
                    octets: vec![(1, octets, 0)],
                    narrow,
                    uptime: uptime as u32,
                    ..DevicePulse::default()
                };
                m.record(Millis(second * 1000), "s0", &pulse, |_| None);
                most = most.max(inward(&m).unwrap_or_default());
            }
            assert_eq!(
                (most, inward(&m)),
                (1000, Some(1000)),
                "{narrow}: not 4 MB at once"
            );
        }
    }

    #[test]
    fn a_device_that_learns_to_count_wider_starts_over() {
        let mut m = LoadMeter::default();
        for second in 0..3 {
            read_narrow(&mut m, second * 1000, second * 125);
        }
        read(&mut m, 3000, &[(1, 1 << 40, 0)]);
        assert_eq!(inward(&m), None);
    }

    #[test]
    fn absurd_counters_end_at_the_largest_rate() {
        let mut m = LoadMeter::default();
        for (at, octets) in [(0, (1, 0, 0)), (1, (1, 1, 1)), (2, (1, u64::MAX, 2))] {
            read(&mut m, at, &[octets]);
        }
        let rate = m.rate("s0", 1).unwrap();
        assert_eq!(
            rate,
            InterfaceLoad {
                inward: BitsPerSec(u64::MAX),
                outward: BitsPerSec(8_000)
            }
        );
        assert_eq!(
            rate.plus(rate),
            InterfaceLoad {
                inward: BitsPerSec(u64::MAX),
                outward: BitsPerSec(16_000)
            }
        );
    }
}
