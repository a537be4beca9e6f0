//! A node's place on the networks with switches: its addresses, its pinned neighbours, its routes to
//! other segments.
use crate::error::LabResult;
use crate::netlink::NetlinkNamespace;
use crate::plan::{LabNodeKind, LabPlan, LabSegment, SegmentMember};

/// Gives a node its address in every segment it is in, and its routes to the others.
pub(crate) async fn add_addresses(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    node: &str,
) -> LabResult<()> {
    for (segment, member) in plan.places(node) {
        at(plan, wire, segment, member).await?;
    }
    add_routes(plan, wire, node).await
}

/// Gives a node its routes, in the place of those that it had.
pub(crate) async fn add_routes(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    node: &str,
) -> LabResult<()> {
    for route in plan.routes(node) {
        wire.add_route(&route).await?;
    }
    Ok(())
}

/// The same for one interface after it was down, because the kernel forgets its routes and
/// neighbours then.
pub(crate) async fn restore_address(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    node: &str,
    port: &str,
) -> LabResult<()> {
    for (segment, member) in plan.places(node).filter(|(_, m)| m.port == port) {
        at(plan, wire, segment, member).await?;
    }
    add_routes(plan, wire, node).await
}

async fn at(
    plan: &LabPlan,
    wire: &NetlinkNamespace,
    segment: &LabSegment,
    member: &SegmentMember,
) -> LabResult<()> {
    let port = &member.port;
    if plan.node(&member.node)?.kind == LabNodeKind::Switch || segment.is_management() {
        wire.add_address(port, member.address, segment.prefix)
            .await?;
    } else {
        wire.add_data_address(port, member.address, (segment.network, segment.prefix))
            .await?;
        // Hosts and routers are pinned, so that nobody asks for them by ARP. A bridge's own address
        // is not.
        let stations = segment.members.iter().filter(|m| {
            plan.node(&m.node)
                .is_ok_and(|n| n.kind != LabNodeKind::Switch)
        });
        let index = wire.index(port).await?;
        for other in stations.filter(|m| m.node != member.node) {
            wire.add_neighbour(index, other.address, other.mac).await?;
        }
    }
    Ok(())
}
