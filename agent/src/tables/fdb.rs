//! The forwarding database: BRIDGE-MIB dot1dTpFdbTable (RFC 4188) and Q-BRIDGE-MIB dot1qTpFdbTable
//! (RFC 4363). Many devices fill only one of them, or leave columns out of one. Both are read,
//! compared and joined. A row keeps the id of its database only if others have the station elsewhere.
use super::{TableObjects, mac_of_index, number};
use crate::walk::WalkAnswers;
use inventory::Mac;
use inventory::observation::FdbEntry;
use std::collections::BTreeSet;

const PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 2];
const STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 3];
const Q_PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1, 2];
const Q_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1, 3];

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[],
    columns: &[PORT, STATUS, Q_PORT, Q_STATUS],
};

/// learned(3), the only status that gives the place of a station. self(4) is the switch itself;
/// mgmt(5) is set by an operator.
const LEARNED: u32 = 3;
const OWN: u32 = 4;

/// The port and status columns, and the number of index parts before the address: dot1qTpFdbTable
/// has an FDB id there.
const TABLES: [(&[u32], &[u32], usize); 2] = [(PORT, STATUS, 0), (Q_PORT, Q_STATUS, 1)];

pub(crate) fn read(answers: &WalkAnswers) -> Vec<FdbEntry> {
    let own = own(answers);
    let rows = TABLES.into_iter().flat_map(|(port, status, before)| {
        let own = &own;
        answers.column(port).filter_map(move |(index, value)| {
            let mac = mac_of_index(index.get(before..)?)?;
            let learned =
                number(answers.cell(status, index)).map_or(!own.contains(&mac), |s| s == LEARNED);
            // Port 0: the bridge has a rule for the address, but has not learned its port (RFC
            // 4188).
            let port = number(Some(value)).filter(|&p| p != 0 && learned)?;
            let database = match before {
                0 => 0,
                _ => *index.first()?,
            };
            Some(FdbEntry {
                mac,
                port,
                database,
            })
        })
    });
    joined(rows.collect())
}

/// Each station once behind each port, but in each database if it is behind several ports.
pub(crate) fn joined(rows: BTreeSet<FdbEntry>) -> Vec<FdbEntry> {
    let rows: Vec<FdbEntry> = rows.into_iter().collect();
    let mut all = Vec::with_capacity(rows.len());
    for station in rows.chunk_by(|a, b| a.mac == b.mac) {
        let ports = station.chunk_by(|a, b| a.port == b.port);
        let is_in_one_place = ports.clone().count() == 1;
        for rows in ports {
            match rows.iter().any(|row| row.database != 0) && !is_in_one_place {
                true => all.extend(rows.iter().filter(|row| row.database != 0)),
                false => all.push(FdbEntry {
                    database: 0,
                    ..rows[0]
                }),
            }
        }
    }
    all
}

/// The addresses that either table marks as the switch's own. If the other table omits their
/// status, they still were not learned.
fn own(answers: &WalkAnswers) -> BTreeSet<Mac> {
    let own = TABLES.into_iter().flat_map(|(_, status, before)| {
        let rows = answers
            .column(status)
            .filter(|(_, value)| number(Some(value)) == Some(OWN));
        rows.filter_map(move |(index, _)| mac_of_index(index.get(before..)?))
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use snmp::Value;

    #[test]
    fn joins_both_tables_and_keeps_what_was_learned() {
        let entries = read(&answers(&[
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1", Value::Integer(4)),
            ("1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.0.1", Value::Integer(3)),
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.2", Value::Integer(5)),
            ("1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.0.2", Value::Integer(4)),
            (
                "1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.1",
                Value::Integer(4),
            ),
            (
                "1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.3",
                Value::Integer(6),
            ),
        ]));
        let entry = |n, port| FdbEntry::new(Mac([2, 0, 0, 0, 0, n]), port);
        assert_eq!(entries, [entry(1, 4), entry(3, 6)]);
    }

    #[test]
    fn the_tables_are_held_against_each_other() {
        let entries = read(&answers(&[
            // The switch's own address in VLAN 10; the other table has no status.
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1", Value::Integer(4)),
            (
                "1.3.6.1.2.1.17.7.1.2.2.1.3.10.2.0.0.0.0.1",
                Value::Integer(4),
            ),
            // Learned, according to the table it is in.
            ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.2", Value::Integer(5)),
            ("1.3.6.1.2.1.17.4.3.1.3.2.0.0.0.0.2", Value::Integer(3)),
            (
                "1.3.6.1.2.1.17.7.1.2.2.1.3.10.2.0.0.0.0.2",
                Value::Integer(4),
            ),
            // Behind one port in VLAN 10 and behind another in VLAN 20. Both rows stay, so the
            // place stays in doubt.
            (
                "1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.0.0.0.0.3",
                Value::Integer(6),
            ),
            (
                "1.3.6.1.2.1.17.7.1.2.2.1.2.20.2.0.0.0.0.3",
                Value::Integer(7),
            ),
        ]));
        let entry = |n, port, database| FdbEntry {
            mac: Mac([2, 0, 0, 0, 0, n]),
            port,
            database,
        };
        assert_eq!(entries, [entry(2, 5, 0), entry(3, 6, 10), entry(3, 7, 20)]);
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
