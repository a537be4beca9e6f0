//! Chassis ids that nobody owns, announced under the name of an asked device that has another: some
//! devices send another id on each port. A name alone is no witness against an id, because names are
//! shared. The device it is where the name, the port and the databases of both ends say so.
use super::device::tells;
use super::names::{NameIndex, is_factory_name};
use super::{DeviceIx, DevicePortIx, Facts, NodeIx};
use inventory::observation::NeighbourId;
use std::collections::HashMap;

/// The device that sends each such id. `denied` tells whether a node denies an id.
pub(super) fn aliases(
    facts: &Facts<'_>,
    denied: impl Fn(NodeIx, &NeighbourId) -> bool,
    names: &NameIndex,
) -> HashMap<NeighbourId, NodeIx> {
    let mut found: HashMap<NeighbourId, Option<NodeIx>> = HashMap::new();
    for (at, own) in facts.devices() {
        for row in &own.neighbours {
            let Some(id) = row.row.chassis.as_ref().filter(|id| tells(id)) else {
                continue;
            };
            let node = names.get(&row.row.name).filter(|node| denied(*node, id));
            let Some(node) = node.filter(|_| !is_factory_name(&row.row.name)) else {
                continue;
            };
            let sender = facts.device_of(node).filter(|sender| {
                let port = row.row.port.as_ref();
                let far = facts[*sender].remote_port(port, &row.row.port_descr);
                far.is_some_and(|far| have_each_other(facts, (at, row.port), (*sender, far)))
            });
            let node = sender.filter(|_| !is_learned(facts, id)).map(NodeIx::from);
            let known = found.entry(id.clone()).or_insert(node);
            *known = known.filter(|known| Some(*known) == node);
        }
    }
    let alone = found.into_iter().filter_map(|(id, node)| Some((id, node?)));
    alone.collect()
}

/// True if the databases of two devices have the other one behind these ports, and nowhere else.
fn have_each_other(facts: &Facts<'_>, a: DevicePortIx, b: DevicePortIx) -> bool {
    let has = |(device, port): DevicePortIx, other: DeviceIx| {
        let own = &facts[device];
        let macs = facts[other].macs.iter();
        let mut ports = macs.filter_map(|mac| own.learned.port_of(*mac)).peekable();
        ports.peek().is_some() && ports.all(|at| at == own.ports.whole(port))
    };
    has(a, b.0) && has(b, a.0)
}

/// True if a station has this id, so that somebody owns it.
fn is_learned(facts: &Facts<'_>, id: &NeighbourId) -> bool {
    let NeighbourId::Mac(mac) = id else {
        return false;
    };
    facts
        .devices()
        .any(|(_, own)| own.learned.port_of(*mac).is_some())
}
