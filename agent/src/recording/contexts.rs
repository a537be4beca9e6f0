//! One device in several contexts. Cisco keeps a bridge per VLAN behind `community@vlan`, each with
//! its own ports, spanning tree and forwarding database. Here they become one bridge. Base ports
//! are renumbered where the contexts number them differently. A port gets an STP state if all
//! contexts that have the port agree on it. The VLAN of the hosts is unknown, so where the trees
//! differ the state is left open. The tree of each VLAN is kept beside it.
use crate::tables::{bridge, fdb};
use crate::walk::WalkAnswers;
use inventory::observation::{
    BridgePort, BridgeTable, FdbEntry, SpanningInstance, SpanningInstanceId, StpState,
};
use std::collections::{BTreeMap, BTreeSet};

/// A device's answers in one context.
pub(super) struct RecordedContext {
    /// The VLAN in the context's name: `10`, or `vlan-10`.
    pub(super) vlan: Option<u16>,
    pub(super) answers: WalkAnswers,
}

impl RecordedContext {
    /// The context with a name; the plain one has none.
    pub(super) fn new(name: Option<&str>, answers: WalkAnswers) -> RecordedContext {
        let vlan = name.map(|name| name.strip_prefix("vlan-").unwrap_or(name));
        RecordedContext {
            vlan: vlan.and_then(|vlan| vlan.parse().ok()),
            answers,
        }
    }
}

/// The result of merging all contexts of a device.
#[derive(Debug, Default)]
pub(super) struct MergedContexts {
    pub(super) bridge: BridgeTable,
    pub(super) fdb: Vec<FdbEntry>,
    /// The ifIndex of each port whose STP state differs from context to context.
    pub(super) torn: Vec<u32>,
}

/// Merges the bridge and the forwarding database of all contexts, the plain one first.
pub(super) fn merge_contexts(contexts: &[RecordedContext]) -> MergedContexts {
    let mut joined = ContextMerge::default();
    for (i, RecordedContext { vlan, answers }) in contexts.iter().enumerate() {
        let mut bridge = bridge::read(answers);
        bridge
            .instances
            .extend(vlan.and_then(|vlan| tree_of(vlan, &bridge)));
        let mut rows = fdb::read(answers);
        // Without an id of its own, a context is the database of its VLAN.
        let vlan = u32::from(vlan.unwrap_or_default());
        rows.iter_mut()
            .filter(|row| row.database == 0)
            .for_each(|row| row.database = vlan);
        joined.take(bridge, rows, i == 0);
    }
    joined.finish()
}

/// The spanning tree of a VLAN, if its context tells the state of any port.
fn tree_of(vlan: u16, bridge: &BridgeTable) -> Option<SpanningInstance> {
    let states: BTreeMap<u32, StpState> = bridge
        .ports
        .iter()
        .filter_map(|p| Some((p.if_index, p.state?)))
        .collect();
    (!states.is_empty()).then_some(SpanningInstance {
        id: SpanningInstanceId::Vlan(vlan),
        root_bridge: bridge.root_bridge,
        states,
    })
}

#[derive(Default)]
struct ContextMerge {
    bridge: BridgeTable,
    ports: BTreeMap<u32, BridgePort>,
    /// Base port by interface. The interface identifies a port across contexts.
    numbers: BTreeMap<u32, u32>,
    states: BTreeMap<u32, BTreeSet<StpState>>,
    fdb: BTreeSet<FdbEntry>,
}

impl ContextMerge {
    fn take(&mut self, bridge: BridgeTable, fdb: Vec<FdbEntry>, plain: bool) {
        self.bridge.instances.extend(bridge.instances);
        let mut renumbered = BTreeMap::new();
        for port in bridge.ports {
            let number = self.number(&port);
            renumbered.insert(port.number, number);
            if let Some(state) = port.state {
                self.states.entry(port.if_index).or_default().insert(state);
            }
            let known = self.ports.entry(number).or_insert_with(|| BridgePort {
                number,
                state: None,
                designated_bridge: None,
                designated_port: None,
                ..port
            });
            if known.designated_bridge.is_none() {
                (known.designated_bridge, known.designated_port) =
                    (port.designated_bridge, port.designated_port);
            }
        }
        // A row may name a port that its context does not list. It keeps its number if no other
        // port has it.
        let rows = fdb.into_iter().filter_map(|e| {
            Some(FdbEntry {
                port: match renumbered.get(&e.port) {
                    Some(number) => *number,
                    None if plain || !self.ports.contains_key(&e.port) => e.port,
                    None => return None,
                },
                ..e
            })
        });
        self.fdb.extend(rows.collect::<Vec<_>>());
        if self.bridge.address.is_none() {
            self.bridge.address = bridge.address;
        }
        // These belong together: they are of one tree.
        if self.bridge.root_bridge.is_none() {
            (
                self.bridge.root_bridge,
                self.bridge.priority,
                self.bridge.top_changes,
            ) = (bridge.root_bridge, bridge.priority, bridge.top_changes);
        }
    }

    /// The number of a port in the merged bridge: its own, unless another interface took that.
    fn number(&mut self, port: &BridgePort) -> u32 {
        if let Some(&number) = self.numbers.get(&port.if_index) {
            return number;
        }
        let taken = self.ports.contains_key(&port.number);
        let number = if taken {
            self.ports
                .last_key_value()
                .map_or(1, |(n, _)| n.saturating_add(1))
        } else {
            port.number
        };
        self.numbers.insert(port.if_index, number);
        number
    }

    fn finish(mut self) -> MergedContexts {
        for port in self.ports.values_mut() {
            let states = self.states.get(&port.if_index);
            port.state = states
                .filter(|s| s.len() == 1)
                .and_then(|s| s.first().copied());
        }
        self.bridge.ports = self.ports.into_values().collect();
        let torn = self
            .states
            .into_iter()
            .filter(|(_, states)| states.len() > 1)
            .map(|(index, _)| index)
            .collect();
        MergedContexts {
            bridge: self.bridge,
            fdb: fdb::joined(self.fdb),
            torn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::tests::{answers, octets};
    use inventory::Mac;
    use snmp::Value;

    /// A context with base port, ifIndex, STP state and a station behind it.
    fn context(name: Option<&str>, ports: &[(u32, i32, i32, u8)]) -> RecordedContext {
        let mut cells = vec![(
            "1.3.6.1.2.1.17.1.1.0".to_owned(),
            octets([2, 0, 0, 0, 9, 9]),
        )];
        for (number, index, state, station) in ports {
            cells.push((
                format!("1.3.6.1.2.1.17.1.4.1.2.{number}"),
                Value::Integer(*index),
            ));
            cells.push((
                format!("1.3.6.1.2.1.17.2.15.1.3.{number}"),
                Value::Integer(*state),
            ));
            cells.push((
                format!("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.{station}"),
                Value::Integer(*number as i32),
            ));
        }
        let cells: Vec<_> = cells
            .iter()
            .map(|(oid, v)| (oid.as_str(), v.clone()))
            .collect();
        RecordedContext::new(name, answers(&cells))
    }

    #[test]
    fn contexts_that_number_ports_differently_are_distinguished() {
        let all = [
            context(None, &[(1, 101, 5, 1)]),
            context(Some("10"), &[(1, 102, 5, 2), (2, 101, 2, 3)]),
            context(Some("vlan-20"), &[(1, 102, 2, 4), (7, 103, 5, 5)]),
        ];
        let MergedContexts { bridge, fdb, torn } = merge_contexts(&all);
        let ports: Vec<_> = bridge
            .ports
            .iter()
            .map(|p| (p.number, p.if_index, p.state))
            .collect();
        assert_eq!(
            ports,
            [
                (1, 101, None),
                (2, 102, None),
                (7, 103, Some(StpState::Forwarding))
            ],
            "contexts that disagree leave it open, whichever they are"
        );
        assert_eq!(torn, [101, 102]);
        let tree = |vlan, states: &[(u32, StpState)]| {
            (
                SpanningInstanceId::Vlan(vlan),
                states.iter().copied().collect(),
            )
        };
        let trees: Vec<_> = bridge
            .instances
            .into_iter()
            .map(|i| (i.id, i.states))
            .collect();
        use StpState::{Blocking, Forwarding};
        assert_eq!(
            trees,
            [
                tree(10, &[(101, Blocking), (102, Forwarding)]),
                tree(20, &[(102, Blocking), (103, Forwarding)])
            ]
        );
        let entry = |n, port| FdbEntry::new(Mac([2, 0, 0, 0, 0, n]), port);
        assert_eq!(
            fdb,
            [
                entry(1, 1),
                entry(2, 2),
                entry(3, 1),
                entry(4, 2),
                entry(5, 7)
            ]
        );
        assert_eq!(bridge.address, Some(Mac([2, 0, 0, 0, 9, 9])));
    }

    #[test]
    fn a_row_behind_an_unlisted_port_is_kept_only_where_it_cannot_be_mistaken() {
        let base = || context(None, &[(1, 101, 5, 1)]);
        let stray = |port: i32| {
            let cell = ("1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.9", Value::Integer(port));
            RecordedContext::new(Some("10"), answers(&[cell]))
        };
        assert_eq!(merge_contexts(&[base(), stray(1)]).fdb.len(), 1);
        assert_eq!(merge_contexts(&[base(), stray(3)]).fdb.len(), 2);
    }
}
