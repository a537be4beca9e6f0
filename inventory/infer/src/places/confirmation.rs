//! The statements of a host about its place, held against those of switches.
use super::attachment::Attachment;
use super::port_tables::is_learned_at;
use crate::claims::{ClaimEnd, EndPort, slower};
use crate::draft::DraftLink;
use crate::facts::host_statements::HostStatement;
use crate::facts::{Facts, NodeIx};
use crate::readers::host::SilentSwitchPort;
use inventory::alarm::AlarmKind;
use inventory::alarm::arguments::HostElsewhere;
use inventory::evidence::DevicePort;
use inventory::topology::{LinkGrade, LinkState};
use std::collections::BTreeSet;

/// Adds the host's certain statements to the switches' statements by LLDP. If the two contradict
/// each other, the switches' statements win, and there is an alarm.
pub(super) fn confirm(
    facts: &Facts<'_>,
    mut announced: Vec<Attachment>,
    claimed: Vec<Attachment>,
    taken: impl Fn(&Attachment) -> Option<HostElsewhere>,
) -> (Vec<Attachment>, Vec<AlarmKind>) {
    let mut alarms = Vec::new();
    if claimed.is_empty() {
        return (announced, alarms);
    }
    let mut further = Vec::new();
    let mut confirmed = BTreeSet::new();
    for claim in claimed {
        // A port that cannot be identified by its name is taken for the port that the switch
        // states.
        let same = announced.iter().position(|s| {
            s.is_at(&claim) || (claim.port.index().is_none() && s.device == claim.device)
        });
        match same {
            Some(at) => {
                confirmed.insert(at);
                announced[at].join(claim);
            }
            None => further.push(claim),
        }
    }
    let unconfirmed: Vec<DevicePort> = (0..announced.len())
        .filter(|i| !confirmed.contains(i) && !announced[*i].old)
        .map(|i| announced[i].place(facts))
        .collect();
    for claim in further {
        let against = taken(&claim).or_else(|| {
            (!unconfirmed.is_empty()).then(|| HostElsewhere::Seen(unconfirmed.clone()))
        });
        match against {
            None => announced.push(claim),
            Some(_) if claim.old => {}
            Some(against) => {
                let at = claim.place(facts);
                alarms.push(AlarmKind::HostContradicted { at, against });
            }
        }
    }
    (announced, alarms)
}

/// Adds the host's weaker statements to the places at which its addresses were learned.
pub(super) fn add_weak_evidence(
    mut places: Vec<Attachment>,
    claimed: Vec<Attachment>,
) -> Vec<Attachment> {
    for claim in claimed {
        match places.iter().position(|s| s.is_at(&claim)) {
            Some(at) => places[at].join(claim),
            None if claim.old && !places.is_empty() => {}
            None => places.push(claim),
        }
    }
    places
}

/// Compares the host's certain statement with the places at which its addresses were learned. If
/// answering switches learned the claimed card's address elsewhere, and not at the claimed place,
/// these are two places; an old statement is then ignored.
pub(super) fn compare_with_learned(
    claimed: Vec<Attachment>,
    edges: Vec<Attachment>,
    statement: &HostStatement<'_>,
    facts: &Facts<'_>,
) -> Vec<Attachment> {
    let (against, fitting): (Vec<_>, Vec<_>) = edges.into_iter().partition(|edge| {
        !edge.old
            && claimed
                .iter()
                .any(|claim| learned_elsewhere(claim, statement, facts, edge))
    });
    if !against.is_empty() && statement.old {
        return against;
    }
    let mut places = claimed;
    for edge in fitting {
        if let Some(place) = places.iter_mut().find(|s| s.is_at(&edge)) {
            place.evidence.extend(edge.evidence);
        }
    }
    if !against.is_empty() {
        places.extend(against);
        for place in &mut places {
            place.grade = LinkGrade::Ambiguous;
        }
    }
    places
}

fn learned_elsewhere(
    claim: &Attachment,
    statement: &HostStatement<'_>,
    facts: &Facts<'_>,
    edge: &Attachment,
) -> bool {
    // The members of a bond share an address.
    let card = statement.card(&claim.host_port);
    let Some(card) = card.filter(|c| c.master.is_none()) else {
        return false;
    };
    card.mac
        .is_some_and(|mac| is_learned_at(facts, mac, edge) && !is_learned_at(facts, mac, claim))
}

/// The link of a host to the one switch that it hears and that never answered.
pub(super) fn link_to_silent_switch(
    facts: &Facts<'_>,
    host: NodeIx,
    silent: &[SilentSwitchPort],
) -> Option<DraftLink> {
    let [one] = silent else { return None };
    let mut evidence = vec![one.evidence.clone()];
    let ends = [(one.switch, &one.port), (host, &one.card)]
        .map(|(node, port)| ClaimEnd::new(node, EndPort::Named(port.clone())));
    debug_assert!(facts.device_of(one.switch).is_none());
    Some(DraftLink {
        rate: slower([one.rate, None], &mut evidence),
        ends,
        members: vec![],
        state: LinkState::Unknown,
        grade: LinkGrade::Certain,
        evidence,
    })
}
