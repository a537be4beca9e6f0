//! The SNMP objects of a device: its [`DeviceView`] as rows of the MIBs that it is read from, in
//! the order of their object identifiers. This is the inverse of `agent`'s tables.
//!
//! Counters move: uptime, octets and the time since the last topology change run on while the
//! device is up.
mod layers;
mod snmprec;
mod tables;

use crate::network::InterfaceLayers;
use inventory::device_view::DeviceView;
use snmp::{Oid, Value};
use std::time::Duration;

/// The octets that pass every interface that is up each second, in and out.
const OCTETS_A_SECOND: u64 = 1_000_000;

/// The objects that a device serves.
#[derive(Debug, Clone, Default)]
pub struct DeviceMib {
    rows: Vec<(Oid, MibCell)>,
}

/// The content of an instance.
#[derive(Debug, Clone, PartialEq)]
enum MibCell {
    Fixed(Value),
    /// TimeTicks that count on from this value.
    Ticks(u32),
    /// An octet counter that counts on from this value.
    Octets(u64),
}

impl MibCell {
    fn after(&self, up: Duration) -> Value {
        match self {
            MibCell::Fixed(value) => value.clone(),
            MibCell::Ticks(since) => {
                Value::TimeTicks(since.wrapping_add((up.as_millis() / 10) as u32))
            }
            MibCell::Octets(since) => {
                Value::Counter64(since.wrapping_add(up.as_millis() as u64 * OCTETS_A_SECOND / 1000))
            }
        }
    }
}

impl DeviceMib {
    /// The rows of every table that was read; other tables are not served.
    pub fn new(view: &DeviceView) -> DeviceMib {
        DeviceMib::layered(view, &InterfaceLayers::default())
    }

    /// Also the layers of its interfaces.
    pub fn layered(view: &DeviceView, interfaces: &InterfaceLayers) -> DeviceMib {
        let mut rows = Vec::new();
        tables::render(view, &mut rows);
        layers::render(view, interfaces, &mut rows);
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        rows.dedup_by(|(a, _), (b, _)| a == b);
        DeviceMib { rows }
    }

    /// The value of the instance of exactly this name, `up` after the rows were made (RFC 3416,
    /// 4.2.1).
    pub fn get(&self, oid: &Oid, up: Duration) -> Option<Value> {
        let place = self.rows.binary_search_by(|(o, _)| o.cmp(oid)).ok()?;
        Some(self.rows[place].1.after(up))
    }

    /// The instances after this name, in order (RFC 3416, 4.2.2).
    pub fn after<'s>(
        &'s self,
        oid: &Oid,
        up: Duration,
    ) -> impl Iterator<Item = (Oid, Value)> + use<'s> {
        let first = self.rows.partition_point(|(o, _)| o <= oid);
        self.rows[first..]
            .iter()
            .map(move |(oid, cell)| (oid.clone(), cell.after(up)))
    }
}
