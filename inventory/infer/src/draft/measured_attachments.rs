//! Flows between hosts: the switches of hosts whose place no protocol decides. A host that protocols
//! place, or between whose places they leave another choice than when it was measured, is where
//! protocols say. A host whose link was lost since stays, with an alarm.
use crate::claims::ClaimEnd;
use crate::draft::{DraftLink, DraftNetwork};
use crate::facts::NodeIx;
use crate::ranking::ClaimGrounds;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::{Evidence, FlowFinding};
use inventory::mapped_place::MappedAttachment;
use inventory::topology::{LinkGrade, LinkState, NodeKind};

/// The network with all hosts whose switch was measured.
pub(crate) fn with_attachments(mut draft: DraftNetwork<'_>) -> DraftNetwork<'_> {
    let facts = draft.facts;
    for attachment in &facts.scope.mapped.attachments {
        let host = facts.node_named(&attachment.host);
        let host = host.filter(|host| facts.is_host(*host));
        let on = draft.bridge_named(&attachment.on);
        if let (Some(host), Some(on)) = (host, on)
            && draft.is_open(host, &attachment.among)
        {
            draft.attachment(host, on, attachment);
            draft.alarm_lost(attachment);
        }
    }
    draft
}

impl DraftNetwork<'_> {
    /// The switch or bridge of this name.
    fn bridge_named(&self, name: &str) -> Option<NodeIx> {
        let node = self.nodes.iter().position(|node| {
            node.name == name && matches!(node.kind, NodeKind::Switch | NodeKind::Unmanaged)
        })?;
        Some(NodeIx(u32::try_from(node).ok()?))
    }

    /// True if protocols leave just these nodes to a host.
    fn is_open(&self, host: NodeIx, among: &[String]) -> bool {
        let ends = self.links.iter().filter_map(|link| {
            let near = link.ends.iter().find(|end| end.node != host)?;
            let own = link.ends.iter().any(|end| end.node == host);
            own.then_some((link.grade, self.name(near.node)))
        });
        let ends: Vec<(LinkGrade, &str)> = ends.collect();
        let mut left: Vec<&str> = ends.iter().map(|(_, name)| *name).collect();
        left.sort_unstable();
        left.dedup();
        ends.iter().all(|(grade, _)| *grade == LinkGrade::Ambiguous) && left.iter().eq(among.iter())
    }

    /// Tells that the host's link was lost since.
    fn alarm_lost(&mut self, attachment: &MappedAttachment) {
        let view = self.facts.views.get(&attachment.host);
        if attachment.may_be_left(view.and_then(|view| view.host.as_ref())) {
            let kind = AlarmKind::MeasuredBefore {
                hosts: vec![attachment.host.clone()],
            };
            self.alarms.push(Alarm::node(&attachment.on, kind));
        }
    }

    /// The host is on this bridge, and nowhere else.
    fn attachment(&mut self, host: NodeIx, on: NodeIx, attachment: &MappedAttachment) {
        let here = self
            .links
            .iter()
            .filter(|link| link.far_end(host) == Some(on));
        let mut link = match (here.clone().next(), here.count()) {
            (Some(only), 1) => only.clone(),
            // The port is unknown.
            _ => DraftLink {
                ends: [on, host].map(ClaimEnd::somewhere),
                members: vec![],
                rate: attachment.rate,
                state: LinkState::Forwarding,
                grade: LinkGrade::Ambiguous,
                evidence: vec![],
            },
        };
        self.links.retain(|link| link.far_end(host).is_none());
        link.grade = ClaimGrounds::Measured.grade();
        if link.state == LinkState::Unknown {
            link.state = LinkState::Forwarding;
        }
        link.evidence
            .push(Evidence::Measured(FlowFinding::Attachment {
                among: attachment.among.clone(),
                probability: attachment.probability,
                hosts: attachment.hosts,
                rounds: attachment.rounds,
                moved: attachment.moved,
                at: attachment.at,
            }));
        self.links.push(link);
        self.alarms.retain(|alarm| {
            let is_open = matches!(
                alarm.kind,
                AlarmKind::HostAmbiguous { .. }
                    | AlarmKind::HostHidden { .. }
                    | AlarmKind::HostUnfound { .. }
            );
            !(is_open && alarm.subject.is_node(&attachment.host))
        });
    }
}
