//! Those who are named but not asked: what they are, and what they are called.
use super::identity::macs_of;
use super::{Found, Strangers};
use crate::observation::{Id, LldpNeighbour};
use crate::topology::NodeKind;

/// A node for somebody a neighbour row names who is not among the devices; `None` where it is only told of.
pub(super) fn meet(said: &str, place: &str, row: &LldpNeighbour, how: Strangers, found: &mut Found) -> Option<String> {
    let (name, kind) = match how {
        Strangers::Told => told(said, place, row, found)?,
        Strangers::Shown => (said.to_owned(), shown_kind(row)),
    };
    let node = found.node(&name, kind);
    node.chassis = node.chassis.or(row.chassis.as_ref().and_then(|id| if let Id::Mac(m) = id { Some(*m) } else { None }));
    Some(name)
}

/// A bridge or router is kept as a node, a station only told of.
fn told(said: &str, place: &str, row: &LldpNeighbour, found: &mut Found) -> Option<(String, NodeKind)> {
    let name = as_name(said);
    let kind = match row.capabilities {
        Some(c) if !c.bridge && !c.router => {
            let text =
                format!("station \"{name}\" on {place}: not among the inventory's hosts; left out, list it under hosts if it runs ranks");
            found.alarm(&name, text);
            return None;
        }
        Some(c) if !c.bridge => NodeKind::Router,
        _ => NodeKind::Switch,
    };
    let what = if kind == NodeKind::Router { "router" } else { "switch" };
    found.alarm(
        &name,
        format!("{what} \"{name}\" on {place}: not in the inventory; shown but not asked, what is behind it stays unknown: list it under switches"),
    );
    Some((name, kind))
}

/// What it says it does. Network cards that speak for themselves say nothing but their address, twice.
fn shown_kind(row: &LldpNeighbour) -> NodeKind {
    match row.capabilities {
        Some(c) if c.bridge => NodeKind::Switch,
        Some(c) if c.router => NodeKind::Router,
        Some(_) => NodeKind::Host,
        None if row.chassis.is_some() && row.chassis == row.port && macs_of(row).next().is_some() => NodeKind::Host,
        None => NodeKind::Switch,
    }
}

/// A name fit for a topology file out of whatever a stranger calls itself.
fn as_name(said: &str) -> String {
    said.chars().take(64).map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}
