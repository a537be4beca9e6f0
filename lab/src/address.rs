//! A node's place on the data network: addresses, the neighbours it need not ask for, the routes to other segments.
use crate::error::Result;
use crate::plan::{Kind, Member, Plan, Segment};
use crate::wire::Wire;

/// Gives a node its address in every segment it is in, and its routes to the others.
pub(crate) async fn all(plan: &Plan, wire: &Wire, node: &str) -> Result<()> {
    for (segment, member) in plan.places(node) {
        at(plan, wire, segment, member).await?;
    }
    Ok(())
}

/// The same for one interface, after it was down: the kernel forgets its routes and neighbours then.
pub(crate) async fn again(plan: &Plan, wire: &Wire, node: &str, port: &str) -> Result<()> {
    for (segment, member) in plan.places(node).filter(|(_, m)| m.port == port) {
        at(plan, wire, segment, member).await?;
    }
    Ok(())
}

async fn at(plan: &Plan, wire: &Wire, segment: &Segment, member: &Member) -> Result<()> {
    let port = &member.port;
    if plan.node(&member.node)?.kind == Kind::Switch {
        wire.add_address(port, member.address, segment.prefix).await?;
    } else {
        wire.add_data_address(port, member.address, (segment.network, segment.prefix)).await?;
        // Who passes packets on is known without asking; a bridge's own address is not.
        let stations = segment.members.iter().filter(|m| plan.node(&m.node).is_ok_and(|n| n.kind != Kind::Switch));
        let index = wire.index(port).await?;
        for other in stations.filter(|m| m.node != member.node) {
            wire.add_neighbour(index, other.address, other.mac).await?;
        }
    }
    for route in plan.routes(&member.node).iter().filter(|r| r.port == *port) {
        wire.add_route(port, (route.network, route.prefix), route.via, member.address).await?;
    }
    Ok(())
}
