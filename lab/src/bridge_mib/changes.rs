//! Counts of topology changes, which the kernel does not keep: dot1dStpTopChanges and
//! dot1dStpPortForwardTransitions.
//!
//! A bridge detects a change when a port of its own starts or stops forwarding (IEEE 802.1D-1998,
//! 8.6.14 and net/bridge's `br_topology_change_detection`). It also learns of a change from another
//! bridge or from the root bridge, and then sets a flag. A flag soon after a change of a port is
//! the root bridge's answer to that change, and is not counted again.
use super::kernel::{KernelBridge, KernelBridgePort};
use std::collections::BTreeMap;
use std::time::Duration;

/// The root's answer to a change comes within two hello times.
const ECHO: Duration = Duration::from_secs(2);

const LEARNING: u8 = 2;
const FORWARDING: u8 = 3;

/// The counts so far. Times are since the counting began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TopologyChanges {
    pub(super) count: u32,
    /// The time of the last change.
    pub(super) last: Duration,
    /// The number of times that each port started forwarding.
    pub(super) forward_transitions: BTreeMap<u16, u32>,
    states: BTreeMap<u16, u8>,
    flag: bool,
}

impl TopologyChanges {
    /// Starts to count at the present state.
    pub(super) fn new(bridge: &KernelBridge) -> TopologyChanges {
        TopologyChanges {
            states: states(bridge),
            flag: bridge.topology_change,
            ..TopologyChanges::default()
        }
    }

    /// Takes in a reading of the bridge.
    pub(super) fn see(&mut self, bridge: &KernelBridge, now: Duration) {
        let states = states(bridge);
        for port in &bridge.ports {
            let before = self.states.get(&port.number).copied();
            if port.state == FORWARDING && before != Some(FORWARDING) {
                *self.forward_transitions.entry(port.number).or_default() += 1;
                self.count_one(now);
            }
        }
        for _ in 0..self
            .states
            .iter()
            .filter(|(number, before)| {
                // A port that only learned counts, too, as `br_make_blocking` of net/bridge has it.
                let carried = matches!(**before, LEARNING | FORWARDING);
                carried && !matches!(states.get(number), Some(&LEARNING | &FORWARDING))
            })
            .count()
        {
            self.count_one(now);
        }
        let echo = self.count > 0 && now.saturating_sub(self.last) < ECHO;
        if bridge.topology_change && !self.flag && !echo {
            self.count_one(now);
        }
        self.flag = bridge.topology_change;
        self.states = states;
    }

    fn count_one(&mut self, now: Duration) {
        self.count = self.count.wrapping_add(1);
        self.last = now;
    }
}

fn states(bridge: &KernelBridge) -> BTreeMap<u16, u8> {
    bridge
        .ports
        .iter()
        .map(|p: &KernelBridgePort| (p.number, p.state))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bridge(states: &[u8], topology_change: bool) -> KernelBridge {
        KernelBridge {
            ports: states
                .iter()
                .enumerate()
                .map(|(i, &state)| KernelBridgePort {
                    number: i as u16 + 1,
                    state,
                    ..KernelBridgePort::default()
                })
                .collect(),
            topology_change,
            ..KernelBridge::default()
        }
    }

    #[test]
    fn a_port_that_starts_or_stops_to_forward_is_a_change() {
        let ms = Duration::from_millis;
        let mut c = TopologyChanges::new(&bridge(&[3, 1], false));
        c.see(&bridge(&[3, 1], false), ms(10));
        c.see(&bridge(&[3, 2], false), ms(20));
        assert_eq!(c.count, 0);
        c.see(&bridge(&[3, 3], false), ms(30));
        assert_eq!((c.count, c.last, c.forward_transitions[&2]), (1, ms(30), 1));
        c.see(&bridge(&[3], false), ms(40));
        assert_eq!(c.count, 2, "an unplugged port is a change");
        c.see(&bridge(&[4], false), ms(50));
        assert_eq!(c.count, 3, "a port that blocks is a change");
    }

    #[test]
    fn a_flag_counts_once_unless_it_is_an_echo() {
        let ms = Duration::from_millis;
        let mut c = TopologyChanges::new(&bridge(&[3], false));
        c.see(&bridge(&[3], true), ms(100));
        c.see(&bridge(&[3], true), ms(9_000));
        assert_eq!((c.count, c.last), (1, ms(100)));
        c.see(&bridge(&[3], false), ms(9_100));
        c.see(&bridge(&[3, 3], false), ms(10_000));
        c.see(&bridge(&[3, 3], true), ms(10_900));
        assert_eq!(c.count, 2);
    }
}
