//! The tables to read again after a switch's cheap counters moved, or after it sent a trap: only
//! those that can have changed. Traps of one kind cost one look a second, the last one included:
//! anybody can send them.
use inventory::observation::{DevicePulse, DeviceTable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The topic of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrapTopic {
    /// linkDown or linkUp (RFC 2863).
    Link,
    /// newRoot or topologyChange (RFC 4188).
    Stp,
    /// lldpRemTablesChange (IEEE 802.1AB-2005, 11.5.1).
    Lldp,
    /// Anything else, such as coldStart: a reason to read the counters.
    Other,
}

/// The tables to read after a trap; none: poll the counters.
pub fn after_trap(kind: TrapTopic) -> Vec<DeviceTable> {
    match kind {
        TrapTopic::Link => vec![DeviceTable::Interfaces, DeviceTable::Bridge],
        // Bridges forget where stations are when the topology changes (IEEE 802.1D-2004, 17.11).
        TrapTopic::Stp => vec![DeviceTable::Bridge, DeviceTable::Fdb],
        TrapTopic::Lldp => vec![DeviceTable::Lldp],
        TrapTopic::Other => Vec::new(),
    }
}

/// The tables to read after the pulse `now`, given the pulse before it; without one, all tables.
pub fn after_pulse(before: Option<&DevicePulse>, now: &DevicePulse) -> Vec<DeviceTable> {
    let Some(before) = before else {
        return DeviceTable::ALL.to_vec();
    };
    // A device that restarted may number its interfaces and ports anew (RFC 2863, 3.1.5).
    if now.uptime < before.uptime {
        return DeviceTable::ALL.to_vec();
    }
    let mut tables = BTreeSet::new();
    let ports = !now.brief;
    // The time since the last change goes back after a change, even if the counter is missing or
    // wraps.
    let stp_moved =
        now.top_changes != before.top_changes || now.since_top_change < before.since_top_change;
    if stp_moved || (ports && now.stp_states != before.stp_states) {
        tables.extend([DeviceTable::Bridge, DeviceTable::Fdb]);
    }
    if now.lldp_last_change != before.lldp_last_change {
        tables.insert(DeviceTable::Lldp);
    }
    if ports && now.up != before.up {
        tables.extend([DeviceTable::Interfaces, DeviceTable::Bridge]);
    }
    tables.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::observation::StpState;

    fn pulse() -> DevicePulse {
        DevicePulse {
            uptime: 1000,
            top_changes: Some(4),
            since_top_change: Some(500),
            stp_states: vec![(1, StpState::Forwarding)],
            lldp_last_change: Some(700),
            up: vec![(2, true)],
            octets: vec![(2, 10, 20)],
            narrow: false,
            brief: false,
        }
    }

    #[test]
    fn a_brief_pulse_shows_the_changes_of_its_scalars() {
        assert_eq!(after_pulse(Some(&pulse()), &brief(700)), []);
        assert_eq!(
            after_pulse(Some(&pulse()), &brief(800)),
            [DeviceTable::Lldp]
        );
        let next = DevicePulse {
            uptime: 1200,
            since_top_change: Some(700),
            up: vec![(2, false)],
            ..pulse()
        };
        let before = brief(700).completed(Some(&pulse()));
        assert_eq!(
            after_pulse(Some(&before), &next),
            [DeviceTable::Interfaces, DeviceTable::Bridge],
            "ports are compared with when they were asked last"
        );
    }

    fn brief(lldp: u32) -> DevicePulse {
        DevicePulse {
            uptime: 1100,
            top_changes: Some(4),
            since_top_change: Some(600),
            lldp_last_change: Some(lldp),
            brief: true,
            ..DevicePulse::default()
        }
    }

    #[test]
    fn counters_that_only_run_on_ask_for_nothing() {
        let later = DevicePulse {
            uptime: 1100,
            since_top_change: Some(600),
            octets: vec![(2, 99, 99)],
            ..pulse()
        };
        assert_eq!(after_pulse(Some(&pulse()), &later), []);
    }

    #[test]
    fn each_change_asks_for_its_tables_only() {
        assert_eq!(
            after(DevicePulse {
                top_changes: Some(5),
                ..pulse()
            }),
            [DeviceTable::Bridge, DeviceTable::Fdb]
        );
        assert_eq!(
            after(DevicePulse {
                since_top_change: Some(3),
                ..pulse()
            }),
            [DeviceTable::Bridge, DeviceTable::Fdb]
        );
        assert_eq!(
            after(DevicePulse {
                stp_states: vec![(1, StpState::Blocking)],
                ..pulse()
            }),
            [DeviceTable::Bridge, DeviceTable::Fdb]
        );
        assert_eq!(
            after(DevicePulse {
                lldp_last_change: Some(900),
                ..pulse()
            }),
            [DeviceTable::Lldp]
        );
        assert_eq!(
            after(DevicePulse {
                up: vec![(2, false)],
                ..pulse()
            }),
            [DeviceTable::Interfaces, DeviceTable::Bridge]
        );
        assert_eq!(
            after(DevicePulse {
                uptime: 3,
                ..pulse()
            }),
            DeviceTable::ALL
        );
        assert_eq!(after_pulse(None, &pulse()), DeviceTable::ALL);
    }

    fn after(now: DevicePulse) -> Vec<DeviceTable> {
        after_pulse(Some(&pulse()), &now)
    }
}
