//! The forwarding database: BRIDGE-MIB dot1dTpFdbTable (RFC 4188) and Q-BRIDGE-MIB dot1qTpFdbTable (RFC 4363).
//! Many devices fill only one of them; both are read and joined.
use super::{Objects, mac_of_index, number};
use crate::walk::Answers;
use inventory::observation::FdbEntry;
use std::collections::BTreeSet;

const PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 2];
const STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 3];
const Q_PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1, 2];
const Q_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1, 3];

pub(crate) const OBJECTS: Objects = Objects { scalars: &[], columns: &[PORT, STATUS, Q_PORT, Q_STATUS] };

/// learned(3): the only status that says where a station is; self(4) is the switch, mgmt(5) an operator's word.
const LEARNED: u32 = 3;

pub(crate) fn read(answers: &Answers) -> Vec<FdbEntry> {
    // dot1dTpFdbTable is indexed by the address, dot1qTpFdbTable by FDB id and address.
    let rows = [(PORT, STATUS, 0), (Q_PORT, Q_STATUS, 1)].into_iter().flat_map(|(port, status, before)| {
        answers.column(port).filter_map(move |(index, value)| {
            let learned = number(answers.cell(status, index)).is_none_or(|s| s == LEARNED);
            let mac = mac_of_index(index.get(before..)?)?;
            let port = number(Some(value)).filter(|&p| p != 0 && learned)?;
            Some(FdbEntry { mac, port })
        })
    });
    rows.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;
    use snmp::Value;

    #[test]
    fn joins_both_tables_and_keeps_what_was_learned() {
        let entries = read(&answers(&[
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1", Value::Integer(4)),
            ("1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.0.1", Value::Integer(3)),
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.2", Value::Integer(5)),
            ("1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.0.2", Value::Integer(4)),
            ("1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.1", Value::Integer(4)),
            ("1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.3", Value::Integer(6)),
        ]));
        let entry = |n, port| FdbEntry { mac: Mac([2, 0, 0, 0, 0, n]), port };
        assert_eq!(entries, [entry(1, 4), entry(3, 6)]);
    }

    #[test]
    fn refuses_port_zero_and_phantoms() {
        let entries = read(&answers(&[
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1", Value::Integer(0)),
            ("1.3.6.1.2.1.17.4.3.1.2.0.0.0.0.0.0", Value::Integer(4)),
            ("1.3.6.1.2.1.17.4.3.1.2.1.0.94.0.0.1", Value::Integer(4)),
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0", Value::Integer(4)),
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.700", Value::Integer(4)),
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.9", octets("4")),
        ]));
        assert_eq!(entries, []);
    }
}
