//! Recabling a lab that is up.
use crate::error::{LabError, LabResult};
use crate::name::LabName;
use crate::netlink::{NetlinkNamespace, VethEnd};
use crate::plan::{LabCable, LabNodeKind, LabPlan, PortEnd, RELAY};
use crate::state::{LabLock, LabState};
use crate::status::namespace;
use crate::up::{connect, plug_in};
use crate::{address, aggregate, pair, relay};
use inventory::BitsPerSec;
use std::time::Duration;

/// Moves the switch's end of a host's cable to a free port of another switch.
pub(crate) async fn move_host(
    lab: &LabName,
    host: &str,
    switch: &str,
) -> LabResult<(PortEnd, PortEnd)> {
    let (_lock, mut state) = open(lab)?;
    let plan = &state.plan;
    if plan.node(host).map(|n| n.kind)? != LabNodeKind::Host
        || plan.node(switch).map(|n| n.kind)? != LabNodeKind::Switch
    {
        return Err(LabError::Refused(format!(
            "move {host} {switch}: expected a host and a switch"
        )));
    }
    let card = card(plan, host, switch)?;
    let index = plan.cables.iter().position(|c| c.a == card);
    let index = index.ok_or_else(|| {
        LabError::Refused(format!(
            "move {host}: it has several cables; cut one: heddle lab cut {host}-SWITCH"
        ))
    })?;
    let mut cable = plan.cables[index].clone();
    if cable.b.node == switch {
        return Err(LabError::Refused(format!(
            "move {host} {switch}: it is there already, on port {}",
            cable.b.port
        )));
    }
    let from = std::mem::replace(&mut cable.b, plan.free_port(switch));
    cable.cut = false;
    let (old, new, own) = (wire(lab, &from.node)?, wire(lab, switch)?, wire(lab, host)?);
    old.move_interface(
        &from.port,
        &VethEnd {
            wire: &new,
            port: &cable.b.port,
            mac: plan.port_mac(&cable.b),
        },
    )
    .await?;
    own.set_up(&card.port, true).await?;
    plug_in(plan, &new, &cable.b, &cable).await?;
    let to = cable.b.clone();
    state.plan.cables[index] = cable;
    state.save()?;
    renew_pairs(&state, [&from.node, switch]).await?;
    Ok((from, to))
}

/// A host's card in the segment of a switch.
fn card(plan: &LabPlan, host: &str, switch: &str) -> LabResult<PortEnd> {
    let Some(target) = plan.network_of(switch) else {
        return cannot_move("the switch is in no network", host, switch);
    };
    let mut own = plan.places(host);
    if let Some((_, member)) = own.find(|(segment, _)| segment.network == target.network) {
        return Ok(PortEnd {
            node: host.to_owned(),
            port: member.port.clone(),
        });
    }
    if plan
        .places(host)
        .any(|(segment, _)| segment.name == target.name)
    {
        return cannot_move(
            "there is a router between; nobody could reach its address there; move it to a switch on \
             this side of the router",
            host,
            switch,
        );
    }
    let name = target.name.as_deref().unwrap_or_default();
    cannot_move(
        &format!(
            "the host has no card in the switch's network \"{name}\"; move it within its networks"
        ),
        host,
        switch,
    )
}

fn cannot_move(why: &str, host: &str, switch: &str) -> LabResult<PortEnd> {
    Err(LabError::Refused(format!("move {host} {switch}: {why}")))
}

/// Sets both ends of every cable between two nodes down.
pub(crate) async fn cut(lab: &LabName, a: &str, b: &str) -> LabResult<Vec<LabCable>> {
    let (_lock, mut state) = open(lab)?;
    let cut = set(&mut state, a, b, true, None).await?;
    if cut.is_empty() {
        return Err(LabError::Refused(format!(
            "cut {a}-{b}: no cable between them that is not cut"
        )));
    }
    state.save()?;
    Ok(cut)
}

/// Sets both ends of every cut cable between two nodes up again, or makes a cable between two
/// switches.
pub(crate) async fn join(
    lab: &LabName,
    a: &str,
    b: &str,
    rate: Option<BitsPerSec>,
) -> LabResult<Vec<LabCable>> {
    let (_lock, mut state) = open(lab)?;
    let mut joined = set(&mut state, a, b, false, rate).await?;
    if joined.is_empty() {
        joined.push(
            add(
                &mut state.plan,
                lab,
                a,
                b,
                rate.unwrap_or(BitsPerSec::GIGABIT),
            )
            .await?,
        );
    }
    state.save()?;
    Ok(joined)
}

async fn set(
    state: &mut LabState,
    a: &str,
    b: &str,
    cut: bool,
    rate: Option<BitsPerSec>,
) -> LabResult<Vec<LabCable>> {
    // This checks the names even if there is no cable.
    state.plan.node(a)?;
    state.plan.node(b)?;
    let mut changed = Vec::new();
    for index in 0..state.plan.cables.len() {
        let mut cable = state.plan.cables[index].clone();
        if !cable.joins(a, b) || cable.cut == cut {
            continue;
        }
        cable.cut = cut;
        cable.rate = rate.unwrap_or(cable.rate);
        state.plan.cables[index] = cable.clone();
        for end in [&cable.a, &cable.b] {
            let wire = wire(&state.name, &end.node)?;
            if cut {
                wire.set_up(&end.port, false).await?;
            } else {
                plug_in(&state.plan, &wire, end, &cable).await?;
                address::restore_address(&state.plan, &wire, &end.node, &end.port).await?;
            }
        }
        if !cut && !cable.delay.is_zero() {
            relay::pace(&wire(&state.name, RELAY)?, index, &cable).await?;
        }
        changed.push(cable);
    }
    if changed.iter().any(|cable| cable.spreads) {
        renew_routes(state).await?;
    }
    for end in changed.iter().map(|cable| &cable.a) {
        if let Some(bond) = end.bond() {
            let host = wire(&state.name, &end.node)?;
            aggregate::choose_cable(&state.plan, &host, (&end.node, bond))?;
        }
    }
    renew_pairs(state, [a, b]).await?;
    Ok(changed)
}

/// The work of the protocol within a pair after a change at one of these nodes.
async fn renew_pairs(state: &LabState, changed: [&str; 2]) -> LabResult<()> {
    for pair in &state.plan.pairs {
        if pair.iter().any(|name| changed.contains(&name.as_str())) {
            let [one, other] = pair.each_ref().map(|name| wire(&state.name, name));
            pair::agree(&state.plan, pair, [&one?, &other?]).await?;
        }
    }
    Ok(())
}

/// The work of a routing protocol after a change.
async fn renew_routes(state: &LabState) -> LabResult<()> {
    let plan = &state.plan;
    for node in plan.nodes.iter().filter(|node| plan.forwards(node)) {
        let wire = wire(&state.name, &node.name)?;
        address::add_routes(plan, &wire, &node.name).await?;
    }
    Ok(())
}

/// Adds a cable between two switches.
async fn add(
    plan: &mut LabPlan,
    lab: &LabName,
    a: &str,
    b: &str,
    rate: BitsPerSec,
) -> LabResult<LabCable> {
    if a == b
        || plan.node(a)?.kind != LabNodeKind::Switch
        || plan.node(b)?.kind != LabNodeKind::Switch
    {
        return Err(LabError::Refused(format!(
            "join {a}-{b}: no cut cable between them, and a new one goes between two switches"
        )));
    }
    let [from, to] = [a, b].map(|node| plan.free_port(node));
    let cable = LabCable::new(from, to, rate, Duration::ZERO);
    let wires = [a, b]
        .map(|node| Ok((node, wire(lab, node)?)))
        .into_iter()
        .collect::<LabResult<_>>()?;
    connect(plan, &wires, plan.cables.len(), &cable).await?;
    plan.cables.push(cable.clone());
    Ok(cable)
}

fn open(lab: &LabName) -> LabResult<(LabLock, LabState)> {
    // Without a lab, this gives a better error than the missing lock would.
    LabState::load(lab)?;
    let lock = LabLock::take(lab)?;
    Ok((lock, LabState::load(lab)?))
}

/// The interfaces of a running node.
fn wire(lab: &LabName, node: &str) -> LabResult<NetlinkNamespace> {
    let path = namespace(lab, node).ok_or_else(|| {
        LabError::Refused(format!("lab \"{lab}\": node \"{node}\" is not running"))
    })?;
    NetlinkNamespace::open(node, &path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LabOptions;
    use inventory::TopologyFile;

    #[test]
    fn a_host_moves_by_its_card_in_the_switchs_network() {
        let text = "switches: [d0, d1, m0]
hosts:
  n0: {cards: [{switch: d0, network: data, rate: 10G}, {switch: m0, network: management}]}
  n1: {cards: [{switch: d1, network: data, rate: 10G}]}
links: [{a: d0, b: d1}]
networks: {data: {}, management: {}}
";
        let file = TopologyFile::parse("t.yaml", text).unwrap();
        let plan = LabPlan::new(&file, LabOptions::default()).unwrap();
        let moved = |host, switch| card(&plan, host, switch).map(|end| end.port);
        assert_eq!(moved("n0", "d1").unwrap(), "eth0");
        assert_eq!(moved("n0", "m0").unwrap(), "mgmt0");
        let refused = moved("n1", "m0").unwrap_err().to_string();
        assert!(
            refused.contains("the host has no card in the switch's network \"management\""),
            "{refused}"
        );
    }
}
