//! The findings of a step of acceptance. A step changes nothing that is known; its findings are added when it is done.
use super::known::Known;
use crate::claims::{Claim, ClaimEnd};
use crate::facts::NodeIx;
use crate::ranking::ClaimGrounds;
use inventory::Mac;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::Evidence;
use inventory::natural_order::natural;
use inventory::topology::{Node, NodeKind};
use inventory::topology_file::plain_name;
use std::collections::HashMap;

/// Nodes, cables and alarms that are to be added to what is known.
pub(crate) struct Findings<'k, 'f> {
    known: &'k Known<'f>,
    additions: Additions,
}

/// Findings without the network in which they were made.
#[derive(Default)]
pub(crate) struct Additions {
    /// Their numbers follow those of the known nodes.
    nodes: Vec<Node>,
    named: HashMap<String, NodeIx>,
    /// The addresses of hosts.
    stations: Vec<(NodeIx, Option<Mac>)>,
    cables: Vec<Claim>,
    alarms: Vec<Alarm>,
}

impl<'k, 'f> Findings<'k, 'f> {
    pub(crate) fn new(known: &'k Known<'f>) -> Findings<'k, 'f> {
        Findings {
            known,
            additions: Additions::default(),
        }
    }

    pub(crate) fn done(self) -> Additions {
        self.additions
    }

    /// The name of a node, known or found.
    pub(crate) fn name(&self, node: NodeIx) -> &str {
        let known = &self.known.nodes;
        let place = node.0 as usize;
        match known.get(place) {
            Some(node) => &node.name,
            None => &self.additions.nodes[place - known.len()].name,
        }
    }

    fn node_named(&self, name: &str) -> Option<NodeIx> {
        let known = self.known.node_named(name);
        known.or_else(|| self.additions.named.get(name).copied())
    }

    /// The node with this name. It is added with the kind if there is none.
    pub(crate) fn add_node(&mut self, name: &str, kind: NodeKind) -> NodeIx {
        self.node_named(name)
            .unwrap_or_else(|| self.add(Node::new(name, kind)))
    }

    fn add(&mut self, node: Node) -> NodeIx {
        let Additions { nodes, named, .. } = &mut self.additions;
        let number = self.known.nodes.len() + nodes.len();
        let number = NodeIx(u32::try_from(number).unwrap_or(u32::MAX));
        named.insert(node.name.clone(), number);
        nodes.push(node);
        number
    }

    /// A further node. A name that another node has gets a mark.
    pub(crate) fn add_apart(&mut self, mut node: Node) -> NodeIx {
        while self.node_named(&node.name).is_some() {
            node.name.push('+');
        }
        self.add(node)
    }

    /// A bridge that nobody asked: the one that the operator states under this name, or else a further
    /// one.
    pub(crate) fn unmanaged_bridge(&mut self, name: &str) -> NodeIx {
        let stated = self.known.stated_bridge(name);
        stated.unwrap_or_else(|| self.add_apart(Node::new(name, NodeKind::Unmanaged)))
    }

    /// Adds the address of a known node.
    pub(crate) fn add_station(&mut self, node: NodeIx, station: Option<Mac>) {
        self.additions.stations.push((node, station));
    }

    pub(crate) fn add_cables(&mut self, cables: impl IntoIterator<Item = Claim>) {
        self.additions.cables.extend(cables);
    }

    /// Adds an alarm about a node.
    pub(crate) fn alarm(&mut self, node: NodeIx, kind: AlarmKind) {
        let alarm = Alarm::node(self.name(node), kind);
        self.additions.alarms.push(alarm);
    }

    pub(crate) fn add_alarms(&mut self, alarms: impl IntoIterator<Item = Alarm>) {
        self.additions.alarms.extend(alarms);
    }

    /// Adds the bridge that joins these ends, with a cable to each. Nobody asked it.
    pub(crate) fn join_by_bridge(
        &mut self,
        ends: &[ClaimEnd],
        evidence: impl Fn(&ClaimEnd) -> Vec<Evidence>,
    ) {
        let facts = self.known.facts;
        let mut places: Vec<String> = ends.iter().map(|end| self.known.place_of(end)).collect();
        // The bridge's name must not depend on the order in which its ends were found.
        places.sort_by_cached_key(|p| natural(p));
        let name = plain_name(&format!("segment-{}", places[0]));
        let bridge = self.add_node(&name, NodeKind::Unmanaged);
        self.alarm(bridge, AlarmKind::UnmanagedBridge { places });
        let cables = ends.iter().map(|end| {
            let ends = [end.clone(), ClaimEnd::somewhere(bridge)];
            Claim::new(facts, ends, ClaimGrounds::OnSegment, evidence(end))
        });
        self.additions.cables.extend(cables);
    }
}

impl Additions {
    /// Adds them to the network in which they were found, to which nothing was added since.
    pub(crate) fn add_to(self, known: &mut Known<'_>) {
        for (node, station) in self.stations {
            known.nodes[node.0 as usize].chassis = station;
        }
        known.add_nodes(self.nodes, self.named);
        known.cables.extend(self.cables);
        known.alarms.extend(self.alarms);
    }
}
