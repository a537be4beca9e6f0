//! The cheap poll: what moves first when something changes, in one message on a small switch.
use super::interfaces::{HC_IN_OCTETS, HC_OUT_OCTETS, OPER_STATUS, UP};
use super::{Objects, bridge, lldp, number, system};
use crate::walk::Answers;
use inventory::observation::Pulse;
use snmp::Value;

pub(crate) const OBJECTS: Objects = Objects {
    scalars: &[system::UPTIME, bridge::SINCE_TOP_CHANGE, bridge::TOP_CHANGES, lldp::LAST_CHANGE],
    columns: &[bridge::PORT_STATE, OPER_STATUS, HC_IN_OCTETS, HC_OUT_OCTETS],
};

pub(crate) fn read(answers: &Answers) -> Pulse {
    let rows = |column| answers.column(column).filter_map(|(index, value)| if let [n] = index { Some((*n, value)) } else { None });
    let octets = |index: u32, column| answers.cell(column, &[index]).and_then(Value::as_u64);
    Pulse {
        uptime: number(answers.scalar(system::UPTIME)).unwrap_or_default(),
        top_changes: number(answers.scalar(bridge::TOP_CHANGES)),
        since_top_change: number(answers.scalar(bridge::SINCE_TOP_CHANGE)),
        stp_states: rows(bridge::PORT_STATE).filter_map(|(n, v)| Some((n, bridge::state(number(Some(v))?)?))).collect(),
        lldp_last_change: number(answers.scalar(lldp::LAST_CHANGE)),
        up: rows(OPER_STATUS).map(|(n, v)| (n, number(Some(v)) == Some(UP))).collect(),
        octets: rows(HC_IN_OCTETS).filter_map(|(n, v)| Some((n, v.as_u64()?, octets(n, HC_OUT_OCTETS)?))).collect(),
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
            Pulse {
                uptime: 500,
                top_changes: Some(2),
                stp_states: vec![(1, StpState::Forwarding)],
                up: vec![(3, true), (4, false)],
                octets: vec![(3, 10, 20)],
                ..Pulse::default()
            }
        );
    }
}
