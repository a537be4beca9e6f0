//! The cheap poll: the objects that change first when something changes, in one message on a small
//! switch.
use super::interfaces::{HC_IN_OCTETS, HC_OUT_OCTETS, IN_OCTETS, OPER_STATUS, OUT_OCTETS, UP};
use super::{TableObjects, bridge, lldp, number, system};
use crate::walk::WalkAnswers;
use inventory::observation::DevicePulse;
use snmp::Value;

const SCALARS: &[&[u32]] = &[
    system::UPTIME,
    bridge::SINCE_TOP_CHANGE,
    bridge::TOP_CHANGES,
    lldp::LAST_CHANGE,
];

/// The objects to ask for. A device that was seen to have only 32-bit counters is asked for those,
/// and for one wide counter, in case it has them after all.
pub(crate) fn objects(narrow: bool) -> TableObjects {
    const WIDE: &[&[u32]] = &[bridge::PORT_STATE, OPER_STATUS, HC_IN_OCTETS, HC_OUT_OCTETS];
    const NARROW: &[&[u32]] = &[
        bridge::PORT_STATE,
        OPER_STATUS,
        HC_IN_OCTETS,
        IN_OCTETS,
        OUT_OCTETS,
    ];
    TableObjects {
        scalars: SCALARS,
        columns: if narrow { NARROW } else { WIDE },
    }
}

/// Only the scalars, in one message whatever the device's size.
pub(crate) const BRIEF: TableObjects = TableObjects {
    scalars: SCALARS,
    columns: &[],
};

/// The brief pulse of the scalars' values, in the order of [`BRIEF`].
pub(crate) fn brief(values: [Option<&Value>; 4]) -> DevicePulse {
    let [uptime, since_top_change, top_changes, lldp_last_change] = values.map(number);
    DevicePulse {
        uptime: uptime.unwrap_or_default(),
        top_changes,
        since_top_change,
        lldp_last_change,
        brief: true,
        ..DevicePulse::default()
    }
}

/// True if the device has interfaces but no wide counters.
pub(crate) fn is_narrow(answers: &WalkAnswers) -> bool {
    answers.column(HC_IN_OCTETS).next().is_none() && answers.column(OPER_STATUS).next().is_some()
}

pub(crate) fn read(answers: &WalkAnswers) -> DevicePulse {
    let rows = |column| {
        answers.column(column).filter_map(|(index, value)| {
            if let [n] = index {
                Some((*n, value))
            } else {
                None
            }
        })
    };
    let counters = [(HC_IN_OCTETS, HC_OUT_OCTETS), (IN_OCTETS, OUT_OCTETS)];
    let [wide, narrow] = counters.map(|(inward, outward)| {
        let pairs = rows(inward).filter_map(|(n, octets)| {
            let out = answers.cell(outward, &[n]).and_then(Value::as_u64)?;
            Some((n, octets.as_u64()?, out))
        });
        pairs.collect::<Vec<_>>()
    });
    DevicePulse {
        uptime: number(answers.scalar(system::UPTIME)).unwrap_or_default(),
        top_changes: number(answers.scalar(bridge::TOP_CHANGES)),
        since_top_change: number(answers.scalar(bridge::SINCE_TOP_CHANGE)),
        stp_states: rows(bridge::PORT_STATE)
            .filter_map(|(n, v)| Some((n, bridge::state(number(Some(v))?)?)))
            .collect(),
        lldp_last_change: number(answers.scalar(lldp::LAST_CHANGE)),
        up: rows(OPER_STATUS)
            .map(|(n, v)| (n, number(Some(v)) == Some(UP)))
            .collect(),
        narrow: wide.is_empty() && !narrow.is_empty(),
        brief: false,
        octets: if wide.is_empty() { narrow } else { wide },
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::answers;
    use super::*;
    use inventory::observation::StpState;

    #[test]
    fn reads_what_is_served_and_leaves_out_the_rest() {
        let pulse = read(&answers(&[
            ("1.3.6.1.2.1.1.3.0", Value::TimeTicks(500)),
            ("1.3.6.1.2.1.17.2.4.0", Value::Counter32(2)),
            ("1.3.6.1.2.1.17.2.15.1.3.1", Value::Integer(5)),
            ("1.3.6.1.2.1.17.2.15.1.3.2", Value::Integer(99)),
            ("1.3.6.1.2.1.2.2.1.8.3", Value::Integer(1)),
            ("1.3.6.1.2.1.2.2.1.8.4", Value::Integer(2)),
            ("1.3.6.1.2.1.31.1.1.1.6.3", Value::Counter64(10)),
            ("1.3.6.1.2.1.31.1.1.1.10.3", Value::Counter64(20)),
            ("1.3.6.1.2.1.31.1.1.1.6.4", Value::Counter64(10)),
        ]));
        assert_eq!(
            pulse,
            DevicePulse {
                uptime: 500,
                top_changes: Some(2),
                stp_states: vec![(1, StpState::Forwarding)],
                up: vec![(3, true), (4, false)],
                octets: vec![(3, 10, 20)],
                ..DevicePulse::default()
            }
        );
    }

    #[test]
    fn counters_of_thirty_two_bits_count_where_there_are_no_others() {
        let old = [
            ("1.3.6.1.2.1.2.2.1.8.3", Value::Integer(1)),
            ("1.3.6.1.2.1.2.2.1.10.3", Value::Counter32(10)),
            ("1.3.6.1.2.1.2.2.1.16.3", Value::Counter32(20)),
        ];
        let pulse = read(&answers(&old));
        assert_eq!(
            (pulse.octets, pulse.narrow, is_narrow(&answers(&old))),
            (vec![(3, 10, 20)], true, true)
        );
        let new = [
            &old[..],
            &[
                ("1.3.6.1.2.1.31.1.1.1.6.3", Value::Counter64(1 << 40)),
                ("1.3.6.1.2.1.31.1.1.1.10.3", Value::Counter64(7)),
            ],
        ];
        let pulse = read(&answers(&new.concat()));
        assert_eq!(
            (
                pulse.octets,
                pulse.narrow,
                is_narrow(&answers(&new.concat()))
            ),
            (vec![(3, 1 << 40, 7)], false, false)
        );
        assert!(
            !is_narrow(&WalkAnswers::default()),
            "nothing is known of it"
        );
    }
}
