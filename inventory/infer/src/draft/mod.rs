//! The network on its way to a topology: links by node and port numbers, and what changes them after acceptance.
//!
//! | module | source |
//! |---|---|
//! | `operator` | the inventory |
//! | `measured` | flows between hosts: trunks behind bridges that nobody asked |
//! | `measured_attachments` | flows between hosts: the switches of hosts whose place nothing else decides |
pub(crate) mod measured;
pub(crate) mod measured_attachments;
mod measured_parts;
pub(crate) mod operator;

use crate::acceptance::unreported_members::UnreportedMembers;
use crate::claims::ClaimEnd;
use crate::facts::{Facts, NodeIx};
use inventory::BitsPerSec;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::Evidence;
use inventory::topology::{AggregateMember, LinkGrade, LinkState, Node, NodeKind};
use std::collections::HashSet;

/// A cable, or an aggregate of cables.
#[derive(Debug, Clone)]
pub(crate) struct DraftLink {
    pub(crate) ends: [ClaimEnd; 2],
    /// The cables of an aggregate, in the order of `ends`.
    pub(crate) members: Vec<AggregateMember>,
    pub(crate) rate: BitsPerSec,
    pub(crate) state: LinkState,
    pub(crate) grade: LinkGrade,
    pub(crate) evidence: Vec<Evidence>,
}

/// Nodes, links and alarms as found so far.
pub(crate) struct DraftNetwork<'f> {
    pub(crate) facts: &'f Facts<'f>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<DraftLink>,
    pub(crate) alarms: Vec<Alarm>,
    /// The aggregates of ports that their device does not report as members.
    pub(crate) unreported: UnreportedMembers,
    /// Nodes that turned out to be another node.
    pub(crate) dropped: HashSet<NodeIx>,
}

/// The findings of a step about a draft. The step changes nothing; they are added when it is done.
#[derive(Default)]
pub(crate) struct DraftFindings {
    /// By the number of the link. Without a state only the evidence is new.
    links: Vec<(usize, Option<LinkState>, Option<Evidence>)>,
    alarms: Vec<Alarm>,
}

impl DraftFindings {
    /// With room for a finding about each of so many links.
    pub(crate) fn about(links: usize) -> DraftFindings {
        DraftFindings {
            links: Vec::with_capacity(links),
            alarms: Vec::new(),
        }
    }

    pub(crate) fn state(
        &mut self,
        link: usize,
        state: LinkState,
        evidence: impl Into<Option<Evidence>>,
    ) {
        self.links.push((link, Some(state), evidence.into()));
    }

    pub(crate) fn evidence(&mut self, link: usize, evidence: Evidence) {
        self.links.push((link, None, Some(evidence)));
    }

    pub(crate) fn alarm(&mut self, alarm: Alarm) {
        self.alarms.push(alarm);
    }

    pub(crate) fn add_to(self, draft: &mut DraftNetwork<'_>) {
        for (link, state, evidence) in self.links {
            let link = &mut draft.links[link];
            link.state = state.unwrap_or(link.state);
            link.evidence.extend(evidence);
        }
        draft.alarms.extend(self.alarms);
    }
}

impl DraftLink {
    /// True if any evidence states the rate.
    pub(crate) fn rate_is_known(&self) -> bool {
        !self.evidence.iter().any(|e| matches!(e, Evidence::Rate(_)))
    }

    /// True if frames certainly cross the link.
    pub(crate) fn carries_frames(&self) -> bool {
        matches!(self.state, LinkState::Forwarding | LinkState::Multipath)
            && self.grade != LinkGrade::Ambiguous
    }

    /// True if it certainly is there, or likely, and not for managing a device.
    pub(crate) fn is_sure(&self) -> bool {
        self.grade != LinkGrade::Ambiguous && !self.is_at_own_port()
    }

    /// True if it ends at a port by which a device is managed.
    pub(crate) fn is_at_own_port(&self) -> bool {
        self.evidence.iter().any(Evidence::is_of_own_port)
    }

    /// The numbers of its nodes.
    pub(crate) fn nodes(&self) -> [usize; 2] {
        self.ends.each_ref().map(|end| end.node.0 as usize)
    }

    pub(crate) fn swap_ends(&mut self) {
        self.ends.swap(0, 1);
        for member in &mut self.members {
            std::mem::swap(&mut member.a_port, &mut member.b_port);
        }
    }
}

impl DraftNetwork<'_> {
    pub(crate) fn name(&self, node: NodeIx) -> &str {
        &self.nodes[node.0 as usize].name
    }

    pub(crate) fn kind(&self, node: NodeIx) -> NodeKind {
        self.nodes[node.0 as usize].kind
    }

    /// True if an end of the link is a router.
    pub(crate) fn is_at_router(&self, link: &DraftLink) -> bool {
        let mut ends = link.ends.iter();
        ends.any(|end| self.kind(end.node) == NodeKind::Router)
    }

    /// The links that carry frames.
    pub(crate) fn carrying_links(&self) -> impl Iterator<Item = &DraftLink> + Clone {
        self.links.iter().filter(|link| link.carries_frames())
    }

    /// An alarm about a link.
    pub(crate) fn alarm_between(&self, ends: [NodeIx; 2], kind: AlarmKind) -> Alarm {
        let [a, b] = ends.map(|node| self.name(node).to_owned());
        Alarm::between(a, b, kind)
    }

    /// The name of the port at an end.
    pub(crate) fn port_name<'s>(&'s self, end: &'s ClaimEnd) -> &'s str {
        end.port_name(self.facts)
    }
}
