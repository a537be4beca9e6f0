//! ifType (IF-MIB, RFC 2863) and ifStackTable: what interfaces are, and which lie above others.
use super::MibCell;
use crate::network::InterfaceLayers;
use inventory::device_view::DeviceView;
use snmp::{Oid, Value};

const TYPE: [u32; 10] = [1, 3, 6, 1, 2, 1, 2, 2, 1, 3];
const STACK_STATUS: [u32; 11] = [1, 3, 6, 1, 2, 1, 31, 1, 2, 1, 3];

/// ethernetCsmacd.
const ETHERNET: u32 = 6;
/// RowStatus active.
const ACTIVE: i32 = 1;

pub(super) fn render(
    view: &DeviceView,
    interfaces: &InterfaceLayers,
    rows: &mut Vec<(Oid, MibCell)>,
) {
    for i in view.interfaces.iter().flatten() {
        let kind = interfaces.kinds.get(&i.index).unwrap_or(&ETHERNET);
        let oid = Oid::new(TYPE.into_iter().chain([i.index]));
        rows.push((oid, MibCell::Fixed(Value::Integer(*kind as i32))));
    }
    for &(higher, lower) in &interfaces.layers {
        let oid = Oid::new(STACK_STATUS.into_iter().chain([higher, lower]));
        rows.push((oid, MibCell::Fixed(Value::Integer(ACTIVE))));
    }
}
