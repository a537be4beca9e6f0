//! The network as far as it is known: accepted claims, and what they leave open.
use super::unreported_members::UnreportedMembers;
use crate::claims::{Claim, ClaimEnd};
use crate::facts::ports::PortIx;
use crate::facts::{DevicePortIx, Facts, NodeIx};
use inventory::alarm::Alarm;
use inventory::evidence::DevicePort;
use inventory::observation::StpState;
use inventory::topology::{LinkGrade, Node, NodeKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The accepted claims, and the nodes and alarms that they need.
pub(crate) struct Known<'f> {
    pub(crate) facts: &'f Facts<'f>,
    /// Nodes by number: those of the facts, then those that acceptance had to add.
    pub(crate) nodes: Vec<Node>,
    added: HashMap<String, NodeIx>,
    /// Accepted claims, hosts left out.
    pub(crate) cables: Vec<Claim>,
    /// The hosts that announce themselves on each port.
    pub(crate) announced_hosts: BTreeMap<DevicePortIx, BTreeSet<NodeIx>>,
    /// The aggregates of ports that their device does not report as members.
    pub(crate) unreported: UnreportedMembers,
    /// Aggregates whose far end is one of several devices.
    pub(crate) unclear_aggregates: HashSet<DevicePortIx>,
    pub(crate) alarms: Vec<Alarm>,
}

/// True if both ends of a cable report that they block. Spanning tree blocks one end only: the other is
/// designated (IEEE 802.1D-2004, 17.3). Then something else carries the frames, or a table is old.
pub(crate) fn block_each_other(ends: [Option<StpState>; 2]) -> bool {
    ends == [Some(StpState::Blocking); 2]
}

impl<'f> Known<'f> {
    /// Before any cable is accepted.
    pub(super) fn new(
        facts: &'f Facts<'f>,
        announced_hosts: BTreeMap<DevicePortIx, BTreeSet<NodeIx>>,
    ) -> Known<'f> {
        Known {
            facts,
            nodes: facts.nodes().to_vec(),
            added: HashMap::new(),
            cables: Vec::new(),
            announced_hosts,
            unreported: UnreportedMembers::default(),
            unclear_aggregates: HashSet::new(),
            alarms: facts.alarms.clone(),
        }
    }

    pub(crate) fn name(&self, node: NodeIx) -> &str {
        &self.nodes[node.0 as usize].name
    }

    pub(crate) fn kind(&self, node: NodeIx) -> NodeKind {
        self.nodes[node.0 as usize].kind
    }

    /// Both ends of a claim in the words of evidence and alarms.
    pub(super) fn places(&self, claim: &Claim) -> [DevicePort; 2] {
        let ends = claim.ends.each_ref();
        ends.map(|end| DevicePort::new(self.name(end.node), end.port_name(self.facts)))
    }

    /// The node with this name.
    pub(super) fn node_named(&self, name: &str) -> Option<NodeIx> {
        let known = self.facts.node_named(name);
        known.or_else(|| self.added.get(name).copied())
    }

    /// Adds further nodes, whose numbers are those of their names.
    pub(super) fn add_nodes(&mut self, nodes: Vec<Node>, named: HashMap<String, NodeIx>) {
        self.nodes.extend(nodes);
        self.added.extend(named);
    }

    /// The bridge that the operator states under this name.
    pub(crate) fn stated_bridge(&self, name: &str) -> Option<NodeIx> {
        let node = self.facts.node_named(name)?;
        (self.facts.is_stated(node) && self.kind(node) == NodeKind::Unmanaged).then_some(node)
    }

    /// Puts the cables, and alarms about them, in place of those so far.
    pub(super) fn revise(
        &mut self,
        revised: impl FnOnce(&Known<'f>, Vec<Claim>) -> (Vec<Claim>, Vec<Alarm>),
    ) {
        let cables = std::mem::take(&mut self.cables);
        let (cables, alarms) = revised(self, cables);
        self.cables = cables;
        self.alarms.extend(alarms);
    }

    /// The aggregate that has the port as a member, reported or found.
    pub(crate) fn aggregate(&self, port: DevicePortIx) -> Option<PortIx> {
        self.unreported.aggregate(self.facts, port)
    }

    /// The port that takes part in bridging for a port: its aggregate, its unit, or the port itself.
    pub(crate) fn whole(&self, port: DevicePortIx) -> DevicePortIx {
        self.unreported.whole(self.facts, port)
    }

    /// The ports that lead to known nodes, and their aggregates.
    pub(crate) fn taken(&self) -> HashSet<DevicePortIx> {
        let mut taken = HashSet::new();
        for end in self.cables.iter().flat_map(|c| &c.ends) {
            if let Some(port) = end.device_port(self.facts) {
                taken.insert(port);
                taken.insert(self.whole(port));
            }
        }
        taken
    }

    /// The nodes that have a cable.
    pub(crate) fn cabled(&self) -> HashSet<NodeIx> {
        let ends = self.cables.iter().flat_map(|c| &c.ends);
        ends.map(|end| end.node).collect()
    }

    /// A node and the name of its port, as alarms and the names of bridges have them.
    pub(crate) fn place_of(&self, end: &ClaimEnd) -> String {
        let place = format!("{} {}", self.name(end.node), end.port_name(self.facts));
        place.trim().to_owned()
    }

    /// True if frames may cross a claimed cable.
    pub(crate) fn is_clear(&self, claim: &Claim) -> bool {
        claim.grade != LinkGrade::Ambiguous && !self.is_blocked(claim)
    }

    fn is_blocked(&self, claim: &Claim) -> bool {
        let states = claim
            .ends
            .each_ref()
            .map(|end| self.state(end.device_port(self.facts)?));
        !block_each_other(states)
            && states.iter().flatten().any(|state| {
                matches!(
                    state,
                    StpState::Blocking | StpState::Disabled | StpState::Broken
                )
            })
    }

    /// True if spanning tree blocks the port.
    pub(crate) fn blocks(&self, port: DevicePortIx) -> bool {
        let state = self.state(port);
        matches!(state, Some(StpState::Blocking | StpState::Broken))
    }

    /// The port's STP state, or that of its aggregate.
    pub(crate) fn state(&self, port: DevicePortIx) -> Option<StpState> {
        self.unreported.state(self.facts, port)
    }
}
