//! Turns answers into rows: the objects each table asks for, and the reading of their values. No
//! I/O. A value of the wrong type leaves its field empty; a row without a field that it needs is
//! left out.
pub(crate) mod arp;
pub(crate) mod bridge;
mod cdp;
pub(crate) mod fdb;
mod instances;
pub(crate) mod interfaces;
mod layers;
pub(crate) mod lldp;
pub(crate) mod management;
pub(crate) mod pulse;
mod queues;
pub(crate) mod routes;
pub(crate) mod system;
mod vendors;

use crate::frames::id::mac_of_digits;
use crate::walk::WalkAnswers;
use inventory::observation::{DeviceFact, DeviceTable};
use inventory::{Mac, sanitize};
use snmp::Value;
use std::sync::OnceLock;

/// The objects of one table.
pub(crate) struct TableObjects {
    pub(crate) scalars: &'static [&'static [u32]],
    pub(crate) columns: &'static [&'static [u32]],
}

/// The objects to ask for a table.
pub(crate) fn objects(table: DeviceTable) -> TableObjects {
    match table {
        DeviceTable::System => system::OBJECTS,
        DeviceTable::Interfaces => interfaces::OBJECTS,
        DeviceTable::Lldp => lldp::OBJECTS,
        DeviceTable::Bridge => bridge::OBJECTS,
        DeviceTable::Fdb => fdb::OBJECTS,
        DeviceTable::Arp => arp::OBJECTS,
        DeviceTable::Routes => routes::OBJECTS,
    }
}

/// The further objects to ask for, after the answers for a table: what only this device serves.
pub(crate) fn further(table: DeviceTable, answers: &WalkAnswers) -> Option<TableObjects> {
    match table {
        DeviceTable::Lldp => vendors::further(answers),
        DeviceTable::Interfaces => queues::further(answers),
        DeviceTable::Routes => routes::further(answers),
        _ => None,
    }
}

/// The rows that are read of a table; of routes some suffice.
pub(crate) fn most_rows(table: DeviceTable) -> usize {
    match table {
        DeviceTable::Routes => routes::MOST_ROUTES,
        _ => usize::MAX,
    }
}

/// The fact that the answers for a table give.
pub(crate) fn fact(table: DeviceTable, answers: &WalkAnswers) -> DeviceFact {
    match table {
        DeviceTable::System => DeviceFact::System(system::read(answers)),
        DeviceTable::Interfaces => DeviceFact::Interfaces(interfaces::read(answers)),
        DeviceTable::Lldp => DeviceFact::Lldp(lldp::read(answers)),
        DeviceTable::Bridge => DeviceFact::Bridge(bridge::read(answers)),
        DeviceTable::Fdb => DeviceFact::Fdb(fdb::read(answers)),
        DeviceTable::Arp => DeviceFact::Arp(arp::read(answers)),
        DeviceTable::Routes => DeviceFact::Routes(routes::read(answers)),
    }
}

/// True if any table asks for this object. Other objects of a recording are not kept.
pub(crate) fn asked(oid: &[u32]) -> bool {
    static ASKED: OnceLock<Vec<&'static [u32]>> = OnceLock::new();
    let asked = ASKED.get_or_init(|| {
        let all = DeviceTable::ALL.into_iter().map(objects);
        let mut asked: Vec<_> = all
            .chain(vendors::objects())
            .chain(queues::objects())
            .chain([routes::FURTHER])
            .flat_map(|o| o.scalars.iter().chain(o.columns).copied())
            .collect();
        asked.sort_unstable();
        asked
    });
    // No asked object lies below another, so only the last one that is not behind it can be its
    // beginning.
    let after = asked.partition_point(|object| *object <= oid);
    after > 0 && oid.starts_with(asked[after - 1])
}

/// A number, zero or above.
fn number(value: Option<&Value>) -> Option<u32> {
    value.and_then(Value::as_u32)
}

/// A text without control characters, which would move an operator's cursor.
fn text(value: Option<&Value>) -> String {
    sanitize::clean_octets(value.and_then(Value::as_bytes).unwrap_or_default())
}

/// A station's MAC address: six octets, or the text that net-snmp writes if it has the MIB
/// (`0:16:c8:bd:4d:80`).
fn mac(value: Option<&Value>) -> Option<Mac> {
    let octets = value.and_then(Value::as_bytes)?;
    Mac::from_octets(octets)
        .or_else(|| std::str::from_utf8(octets).ok()?.parse().ok())
        .filter(|m| m.is_station())
}

/// A MAC address from six parts of an index.
fn mac_of_index(parts: &[u32]) -> Option<Mac> {
    let octets: Vec<u8> = parts
        .iter()
        .map(|&p| u8::try_from(p).ok())
        .collect::<Option<_>>()?;
    Mac::from_octets(&octets).filter(|m| m.is_station())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Answers from object identifiers, as text, and values.
    pub(crate) fn answers(cells: &[(&str, Value)]) -> WalkAnswers {
        cells
            .iter()
            .map(|(oid, v)| {
                (
                    oid.split('.').map(|p| p.parse().unwrap()).collect(),
                    v.clone(),
                )
            })
            .collect()
    }

    pub(crate) fn octets(bytes: impl AsRef<[u8]>) -> Value {
        Value::OctetString(bytes.as_ref().to_vec().into())
    }

    #[test]
    fn texts_lose_what_moves_a_cursor() {
        assert_eq!(text(Some(&octets("a\u{1b}[31mb\r\n"))), "a [31mb");
        assert_eq!(text(Some(&octets([0xff, b'x']))), "ÿx");
        assert_eq!(
            (text(None), text(Some(&Value::Integer(1)))),
            (String::new(), String::new())
        );
    }

    #[test]
    fn addresses_are_refused_unless_a_station() {
        assert_eq!(
            mac(Some(&octets([2, 0, 0, 0, 0, 1]))),
            Some(Mac([2, 0, 0, 0, 0, 1]))
        );
        for bad in [&[0u8; 6][..], &[1, 0, 0, 0, 0, 1], &[2, 0, 0, 0, 1], &[]] {
            assert_eq!(mac(Some(&octets(bad))), None, "{bad:?}");
        }
        assert_eq!(mac_of_index(&[2, 0, 0, 0, 0, 256]), None);
    }

    #[test]
    fn every_table_of_a_mute_device_is_empty_not_a_failure() {
        for table in DeviceTable::ALL {
            assert!(!matches!(
                fact(table, &WalkAnswers::default()),
                DeviceFact::Failed { .. }
            ));
        }
    }
}
