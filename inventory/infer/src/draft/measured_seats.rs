//! Flows between hosts: the switches of hosts whose place no protocol decides. A host that protocols
//! place, or between whose places they leave another choice than when it was measured, is where
//! protocols say. A host whose link was lost since stays, with an alarm.
use crate::claims::ClaimEnd;
use crate::draft::{DraftLink, DraftNetwork};
use crate::facts::NodeIx;
use crate::ranking::ClaimGrounds;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::{Evidence, FlowFinding};
use inventory::mapped_place::MappedSeat;
use inventory::topology::{LinkGrade, LinkState, NodeKind};

/// The network with all hosts whose switch was measured.
pub(crate) fn with_seats(mut draft: DraftNetwork<'_>) -> DraftNetwork<'_> {
    let facts = draft.facts;
    for seat in &facts.scope.mapped.seats {
        let host = facts.node_named(&seat.host);
        let host = host.filter(|host| facts.is_host(*host));
        let on = draft.bridge_named(&seat.on);
        if let (Some(host), Some(on)) = (host, on)
            && draft.is_open(host, &seat.among)
        {
            draft.seat(host, on, seat);
            draft.alarm_lost(seat);
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
    fn alarm_lost(&mut self, seat: &MappedSeat) {
        let view = self.facts.views.get(&seat.host);
        if seat.may_be_left(view.and_then(|view| view.host.as_ref())) {
            let kind = AlarmKind::MeasuredBefore {
                hosts: vec![seat.host.clone()],
            };
            self.alarms.push(Alarm::node(&seat.on, kind));
        }
    }

    /// The host is on this bridge, and nowhere else.
    fn seat(&mut self, host: NodeIx, on: NodeIx, seat: &MappedSeat) {
        let is_of = |link: &DraftLink, node: NodeIx| link.ends.iter().any(|end| end.node == node);
        let here = self.links.iter().filter(|l| is_of(l, host) && is_of(l, on));
        let mut link = match (here.clone().next(), here.count()) {
            (Some(only), 1) => only.clone(),
            // Nobody knows by which port.
            _ => DraftLink {
                ends: [on, host].map(ClaimEnd::somewhere),
                members: vec![],
                rate: seat.rate,
                state: LinkState::Forwarding,
                grade: LinkGrade::Ambiguous,
                evidence: vec![],
            },
        };
        self.links.retain(|link| !is_of(link, host));
        link.grade = ClaimGrounds::Measured.grade();
        if link.state == LinkState::Unknown {
            link.state = LinkState::Forwarding;
        }
        link.evidence.push(Evidence::Measured(FlowFinding::Seat {
            among: seat.among.clone(),
            probability: seat.probability,
            hosts: seat.hosts,
            rounds: seat.rounds,
            moved: seat.moved,
            at: seat.at,
        }));
        self.links.push(link);
        self.alarms.retain(|alarm| {
            let is_open = matches!(
                alarm.kind,
                AlarmKind::HostAmbiguous { .. }
                    | AlarmKind::HostHidden { .. }
                    | AlarmKind::HostUnfound { .. }
            );
            !(is_open && alarm.subject.is_node(&seat.host))
        });
    }
}
