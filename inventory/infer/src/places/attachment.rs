//! A place to which a host may be cabled.
use crate::claims::{ClaimEnd, EndPort, slower};
use crate::draft::DraftLink;
use crate::facts::host_statements::HostStatement;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, Facts, NodeIx};
use inventory::evidence::{DevicePort, Evidence};
use inventory::topology::{AggregateMember, LinkGrade, LinkState};
use inventory::{BitsPerSec, Mac};

/// A place to which a host may be cabled.
#[derive(Debug, Clone)]
pub(crate) struct Attachment {
    pub(crate) device: DeviceIx,
    pub(crate) port: EndPort,
    pub(crate) host_port: String,
    /// The address of the host's card, if the host announces it.
    pub(crate) card: Option<Mac>,
    /// The rate of the host's end, if the host states it.
    pub(crate) rate: Option<BitsPerSec>,
    pub(crate) grade: LinkGrade,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) trunk: bool,
    /// True if the source of the statement is silent by now.
    pub(crate) old: bool,
    /// True if only the host states the place, and no switch.
    pub(crate) own: bool,
    /// The cables of an aggregate.
    pub(crate) members: Vec<AggregateMember>,
}

impl Attachment {
    pub(crate) fn new(
        device: DeviceIx,
        port: EndPort,
        host_port: String,
        grade: LinkGrade,
        evidence: Vec<Evidence>,
    ) -> Attachment {
        Attachment {
            device,
            port,
            host_port,
            card: None,
            rate: None,
            grade,
            evidence,
            trunk: false,
            old: false,
            own: false,
            members: vec![],
        }
    }

    /// True if both are at the same port.
    pub(crate) fn is_at(&self, other: &Attachment) -> bool {
        self.device == other.device && self.port == other.port
    }

    pub(crate) fn end(&self) -> ClaimEnd {
        ClaimEnd::new(self.device, self.port.clone())
    }

    pub(crate) fn place(&self, facts: &Facts<'_>) -> DevicePort {
        DevicePort::new(&facts[self.device].name, self.end().port_name(facts))
    }

    /// The rate of the slower end.
    fn slower(&self, facts: &Facts<'_>) -> Option<BitsPerSec> {
        let rates = [self.end().rate(facts), self.rate];
        rates.into_iter().flatten().min()
    }

    /// Adds the host's own statement about the same place. The host knows the name of its card
    /// best.
    pub(crate) fn join(&mut self, statement: Attachment) {
        self.host_port = statement.host_port;
        self.rate = statement.rate.or(self.rate);
        self.evidence.extend(statement.evidence);
        self.old &= statement.old;
    }

    /// The link of a host at this place, with the grade of the attachment.
    pub(crate) fn found_link(self, facts: &Facts<'_>, host: NodeIx) -> DraftLink {
        let grade = self.grade;
        self.link(facts, host, grade)
    }

    /// The link of a host at this place.
    pub(crate) fn link(self, facts: &Facts<'_>, host: NodeIx, grade: LinkGrade) -> DraftLink {
        let end = self.end();
        let rates = [end.rate(facts), self.rate];
        let mut evidence = self.evidence;
        let host_port = if self.host_port.is_empty() {
            EndPort::Unknown
        } else {
            EndPort::Named(self.host_port)
        };
        DraftLink {
            rate: slower(rates, &mut evidence),
            ends: [end, ClaimEnd::new(host, host_port)],
            members: self.members,
            state: LinkState::Unknown,
            grade,
            evidence,
        }
    }
}

/// Several cables of one bond, or of one aggregate, on one switch are one attachment. Their rates
/// add up only if the switch spreads frames over them, too, because a bond alone may use one cable at a
/// time.
pub(super) fn merge_bonds(
    facts: &Facts<'_>,
    places: Vec<Attachment>,
    statement: Option<&HostStatement<'_>>,
) -> Vec<Attachment> {
    let [first, rest @ ..] = &places[..] else {
        return places;
    };
    if rest.is_empty() || rest.iter().any(|s| s.device != first.device) {
        return places;
    }
    let master = |s: &Attachment| statement?.card(&s.host_port)?.master.clone();
    let aggregate =
        |s: &Attachment| -> Option<PortIx> { facts[s.device].ports[s.port.index()?].aggregate };
    let (bond, lag) = (master(first), aggregate(first));
    let same_bond = bond.is_some() && places.iter().all(|s| master(s) == bond);
    let same_lag = lag.is_some() && places.iter().all(|s| aggregate(s) == lag);
    if !same_bond && !same_lag {
        return places;
    }
    let rates: Option<Vec<BitsPerSec>> = places.iter().map(|s| s.slower(facts)).collect();
    let rate = rates.and_then(|rates| {
        if same_lag {
            Some(BitsPerSec(
                rates.iter().map(|r| r.0).fold(0, u64::saturating_add),
            ))
        } else {
            rates.iter().copied().min()
        }
    });
    let mut evidence = vec![Evidence::HostBond {
        cables: places.len(),
        bond: bond.clone(),
        aggregated: same_lag,
    }];
    evidence.extend(places.iter().flat_map(|s| s.evidence.iter().cloned()));
    let members = places.iter().map(|s| AggregateMember {
        a_port: s.end().port_name(facts).to_owned(),
        b_port: s.host_port.clone(),
    });
    // As sure as the least sure of the cables.
    let grade = places.iter().map(|s| s.grade).max();
    let port = lag.filter(|_| same_lag);
    vec![Attachment {
        rate,
        trunk: places.iter().any(|s| s.trunk),
        old: places.iter().all(|s| s.old),
        own: places.iter().all(|s| s.own),
        members: members.collect(),
        ..Attachment::new(
            first.device,
            port.map_or(EndPort::Unknown, EndPort::At),
            bond.unwrap_or_default(),
            grade.unwrap_or(LinkGrade::Inferred),
            evidence,
        )
    }]
}
