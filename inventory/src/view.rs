//! The newest word of each device on each table.
use crate::Millis;
use crate::observation::{ArpEntry, Bridge, Fact, FdbEntry, Interface, Lldp, Observation, Pulse, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything the devices said, by their name in the inventory.
pub type Views = BTreeMap<String, View>;

/// One device as last seen. A table that was never read is `None`: that is not the same as empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct View {
    /// When the device last answered anything.
    pub seen: Option<Millis>,
    /// Set while the device does not answer: since when, and why. Its tables below are then old.
    pub stale: Option<(Millis, String)>,
    /// Tables that failed while others answered, with the reason.
    pub failed: BTreeMap<String, String>,
    /// See [`Fact::System`].
    pub system: Option<System>,
    /// See [`Fact::Interfaces`].
    pub interfaces: Option<Vec<Interface>>,
    /// See [`Fact::Lldp`].
    pub lldp: Option<Lldp>,
    /// See [`Fact::Bridge`].
    pub bridge: Option<Bridge>,
    /// See [`Fact::Fdb`].
    pub fdb: Option<Vec<FdbEntry>>,
    /// See [`Fact::Arp`].
    pub arp: Option<Vec<ArpEntry>>,
    /// See [`Fact::Pulse`].
    pub pulse: Option<Pulse>,
}

/// Takes one observation into the views. Returns whether anything the inference reads became different.
pub fn apply(views: &mut Views, observation: &Observation) -> bool {
    let view = views.entry(observation.reporter.clone()).or_default();
    if let Fact::Failed { table, problem } = &observation.fact {
        return match table {
            Some(t) => view.failed.insert(format!("{t:?}").to_lowercase(), problem.clone()).as_ref() != Some(problem),
            None => {
                let first = view.stale.is_none();
                let since = view.stale.as_ref().map_or(observation.at, |(at, _)| *at);
                view.stale = Some((since, problem.clone()));
                first
            }
        };
    }
    view.seen = Some(observation.at);
    let back = view.stale.take().is_some();
    let changed = match &observation.fact {
        Fact::System(x) => {
            let same = view.system.as_ref().is_some_and(|o| o.name == x.name && o.descr == x.descr);
            view.system = Some(x.clone());
            !same
        }
        Fact::Interfaces(x) => {
            let same = view.interfaces.as_ref().is_some_and(|o| same_but_octets(o, x));
            view.interfaces = Some(x.clone());
            !same
        }
        Fact::Lldp(x) => replace(&mut view.lldp, x),
        Fact::Bridge(x) => replace(&mut view.bridge, x),
        Fact::Fdb(x) => replace(&mut view.fdb, x),
        Fact::Arp(x) => replace(&mut view.arp, x),
        Fact::Pulse(x) => {
            view.pulse = Some(x.clone());
            false
        }
        Fact::Failed { .. } => unreachable!("handled above"),
    };
    if let Some(table) = table_name(&observation.fact) {
        view.failed.remove(table);
    }
    changed || back
}

fn table_name(fact: &Fact) -> Option<&'static str> {
    Some(match fact {
        Fact::System(_) => "system",
        Fact::Interfaces(_) => "interfaces",
        Fact::Lldp(_) => "lldp",
        Fact::Bridge(_) => "bridge",
        Fact::Fdb(_) => "fdb",
        Fact::Arp(_) => "arp",
        Fact::Pulse(_) | Fact::Failed { .. } => return None,
    })
}

fn replace<T: Clone + PartialEq>(slot: &mut Option<T>, new: &T) -> bool {
    let changed = slot.as_ref() != Some(new);
    *slot = Some(new.clone());
    changed
}

/// Counters always move; that alone is no change of the network.
fn same_but_octets(a: &[Interface], b: &[Interface]) -> bool {
    let plain = |i: &Interface| Interface { in_octets: 0, out_octets: 0, ..i.clone() };
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| plain(x) == plain(y))
}
