//! ifType (IF-MIB, RFC 2863) and ifStackTable: what interfaces are, and which lie above others.
use super::MibCell;
use crate::network::InterfaceLayers;
use inventory::device_view::DeviceView;
use inventory::observation::InterfaceKind;
use snmp::{Oid, Value};

const TYPE: [u32; 10] = [1, 3, 6, 1, 2, 1, 2, 2, 1, 3];
const STACK_STATUS: [u32; 11] = [1, 3, 6, 1, 2, 1, 31, 1, 2, 1, 3];

/// RowStatus active.
const ACTIVE: i32 = 1;

pub(super) fn render(
    view: &DeviceView,
    interfaces: &InterfaceLayers,
    rows: &mut Vec<(Oid, MibCell)>,
) {
    for i in view.interfaces.iter().flatten() {
        if let Some(kind) = if_type(i.kind) {
            let oid = Oid::new(TYPE.into_iter().chain([i.index]));
            rows.push((oid, MibCell::Fixed(Value::Integer(kind))));
        }
    }
    for &(higher, lower) in interfaces {
        let oid = Oid::new(STACK_STATUS.into_iter().chain([higher, lower]));
        rows.push((oid, MibCell::Fixed(Value::Integer(ACTIVE))));
    }
}

/// ifType (IANAifType-MIB).
fn if_type(kind: InterfaceKind) -> Option<i32> {
    Some(match kind {
        InterfaceKind::Unsaid => return None,
        InterfaceKind::Cable => 6,
        InterfaceKind::Loopback => 24,
        InterfaceKind::Virtual | InterfaceKind::Other => 53,
        InterfaceKind::Tunnel => 131,
        InterfaceKind::Vlan => 136,
        InterfaceKind::Aggregate => 161,
        InterfaceKind::Bridge => 209,
    })
}
