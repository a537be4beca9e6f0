//! Links and devices that the operator states. They take precedence over found ones; if the network
//! contradicts them, an alarm is raised.
use crate::claims::{ClaimEnd, EndPort, slower};
use crate::draft::{DraftFindings, DraftLink, DraftNetwork};
use crate::facts::{Facts, NodeIx};
use inventory::alarm::AlarmKind;
use inventory::evidence::{AssumedRate, DevicePort, Evidence};
use inventory::inventory_file::InventoryCable;
use inventory::observation::NeighbourId;
use inventory::topology::{LinkGrade, LinkState, NodeKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// True if a link to this host is stated.
pub(crate) fn states_place_of(facts: &Facts<'_>, host: NodeIx) -> bool {
    let name = facts.name(host);
    cables(facts).iter().any(|l| l.b == name)
}

fn cables<'a>(facts: &Facts<'a>) -> &'a [InventoryCable] {
    facts.scope.stated.map_or(&[], |i| &i.links)
}

/// All stated cables, with the devices' names for their ports.
fn stated_cables<'a>(facts: &Facts<'a>) -> Vec<StatedCable<'a>> {
    let cables = cables(facts).iter();
    cables.filter_map(|c| StatedCable::new(facts, c)).collect()
}

/// The network with the stated links, without found ones that contradict them.
pub(crate) fn with_stated(mut draft: DraftNetwork<'_>) -> DraftNetwork<'_> {
    let stated = stated_cables(draft.facts);
    if stated.is_empty() {
        return draft;
    }
    move_behind_bridges(&mut draft, &stated);
    let mut matched: Vec<Option<usize>> = vec![None; draft.links.len()];
    let mut missing = Vec::new();
    for (number, cable) in stated.iter().enumerate() {
        let free = (0..matched.len()).filter(|i| matched[*i].is_none());
        let fitting = free.filter_map(|i| Some((cable.fits(&draft, &draft.links[i])?, Reverse(i))));
        match fitting.max() {
            Some((_, Reverse(i))) => matched[i] = Some(number),
            None => missing.push(number),
        }
    }
    let links = std::mem::take(&mut draft.links);
    for (mut link, matched) in links.into_iter().zip(matched) {
        if let Some(number) = matched {
            stated[number].confirm(&mut link, &mut draft);
        } else if let Some(s) = stated.iter().find(|s| s.excludes(&link, &draft)) {
            s.contradict(&link, &mut draft);
            continue;
        }
        draft.links.push(link);
    }
    for number in missing {
        let link = stated[number].link(draft.facts);
        draft.links.push(link);
    }
    draft
}

/// Moves found nodes at the port of a stated unmanaged bridge below that bridge, unless they have a
/// stated place.
fn move_behind_bridges(draft: &mut DraftNetwork<'_>, stated: &[StatedCable<'_>]) {
    // Assumed bridges at the place of a stated one, and the stated one.
    let mut known: BTreeMap<NodeIx, NodeIx> = BTreeMap::new();
    for mut link in std::mem::take(&mut draft.links) {
        let is_free = stated.iter().all(|s| s.fits(draft, &link).is_none());
        let mut free = stated.iter().filter(|_| is_free);
        if let Some(bridge) = free.find_map(|s| s.bridge_at(draft, &link)) {
            let far = link.ends[1].node;
            if draft.kind(far) == NodeKind::Unmanaged {
                known.insert(far, bridge);
                continue;
            }
            let mut own = stated.iter().filter(|s| s.ends[1].node == far);
            if own.all(|s| s.ends[0].node == bridge) {
                let name = draft.name(bridge).to_owned();
                hang(&mut link, bridge, &name);
            }
        }
        draft.links.push(link);
    }
    for i in 0..draft.links.len() {
        if let Some(bridge) = known.get(&draft.links[i].ends[0].node) {
            let name = draft.name(*bridge).to_owned();
            hang(&mut draft.links[i], *bridge, &name);
        }
    }
    let names: Vec<String> = known.keys().map(|n| draft.name(*n).to_owned()).collect();
    draft
        .alarms
        .retain(|a| !names.iter().any(|bridge| a.subject.is_node(bridge)));
    draft.dropped.extend(known.into_keys());
}

/// Cables a host to a stated bridge. The rates of such a bridge's ports are unknown.
fn hang(link: &mut DraftLink, bridge: NodeIx, name: &str) {
    if link.rate_is_known() {
        let rate = AssumedRate::AsBefore(name.to_owned());
        link.evidence.push(Evidence::Rate(rate));
    }
    link.evidence.push(Evidence::BehindBridge(name.to_owned()));
    link.ends[0] = ClaimEnd::somewhere(bridge);
    link.grade = link.grade.max(LinkGrade::Inferred);
}

/// The stated states of stated links, once the states of the others are known. A port that is down
/// carries nothing.
pub(crate) fn stated_states(draft: &DraftNetwork<'_>) -> DraftFindings {
    let mut findings = DraftFindings::default();
    for stated in stated_cables(draft.facts) {
        let Some(i) = (0..draft.links.len()).find(|i| {
            let link = &draft.links[*i];
            link.evidence.first() == Some(&Evidence::Stated) && stated.fits(draft, link).is_some()
        }) else {
            continue;
        };
        let ends = draft.links[i].ends.each_ref().map(|end| end.node);
        let found = draft.links[i].state;
        match stated.cable.state {
            Some(state) if state != found => {
                if found != LinkState::Unknown {
                    let stated = state;
                    let kind = AlarmKind::StatedState { stated, found };
                    findings.alarm(draft.alarm_between(ends, kind));
                }
                findings.state(i, state, Evidence::StateStated(state));
            }
            Some(_) => {}
            None => {
                if let Some(port) = stated.port_down(draft.facts) {
                    let kind = AlarmKind::StatedDown { at: port.clone() };
                    findings.alarm(draft.alarm_between(ends, kind));
                    findings.state(i, LinkState::Blocked, Evidence::PortDown(port));
                }
            }
        }
    }
    findings
}

/// A stated cable, with the devices' names for its ports.
struct StatedCable<'a> {
    cable: &'a InventoryCable,
    ends: [ClaimEnd; 2],
}

/// The number of ports, 0 or 1, that a stated end and a found one certainly have in common; `None` if they
/// are not the same end.
fn fit(draft: &DraftNetwork<'_>, stated: &ClaimEnd, found: &ClaimEnd) -> Option<usize> {
    match [stated, found].map(|end| draft.port_name(end)) {
        _ if stated.node != found.node => None,
        ["", _] | [_, ""] => Some(0),
        [own, other] => (own == other).then_some(1),
    }
}

impl<'a> StatedCable<'a> {
    fn new(facts: &Facts<'a>, cable: &'a InventoryCable) -> Option<StatedCable<'a>> {
        let [a, b] = cable.ends().map(|(node, port)| {
            let node = facts.node_named(node)?;
            let id = NeighbourId::Text(port.to_owned());
            let listed = facts
                .device_of(node)
                .filter(|_| !port.is_empty())
                .and_then(|d| facts[d].remote_port(Some(&id), port));
            let port = match listed {
                Some(port) => EndPort::At(port),
                None if port.is_empty() => EndPort::Unknown,
                None => EndPort::Named(port.to_owned()),
            };
            Some(ClaimEnd::new(node, port))
        });
        let ends = [a?, b?];
        Some(StatedCable { cable, ends })
    }

    /// The number of ports that agree; `None` if the found link is another one.
    fn fits(&self, draft: &DraftNetwork<'_>, link: &DraftLink) -> Option<usize> {
        let [x, y] = &link.ends;
        [[x, y], [y, x]].into_iter().find_map(|found| {
            let pairs = self.ends.iter().zip(found);
            pairs.map(|(stated, found)| fit(draft, stated, found)).sum()
        })
    }

    /// True if the found link needs a port of this link, or gives its host another place.
    fn excludes(&self, link: &DraftLink, draft: &DraftNetwork<'_>) -> bool {
        let ports = self.ends.iter().any(|stated| {
            let mut found = link.ends.iter();
            found.any(|found| fit(draft, stated, found) == Some(1))
        });
        let host = self.ends[1].node;
        let same_host = draft.kind(host) == NodeKind::Host && link.ends[1].node == host;
        ports || same_host
    }

    /// Overrides the facts found about this link.
    fn confirm(&self, link: &mut DraftLink, draft: &mut DraftNetwork<'_>) {
        let nodes = self.ends.each_ref().map(|end| end.node);
        if let Some(rate) = self.cable.rate.filter(|rate| *rate != link.rate) {
            if link.rate_is_known() {
                let kind = AlarmKind::StatedRate {
                    stated: rate,
                    found: link.rate,
                };
                let alarm = draft.alarm_between(nodes, kind);
                draft.alarms.push(alarm);
            }
            link.evidence.retain(|e| !matches!(e, Evidence::Rate(_)));
            link.rate = rate;
        }
        for end in &self.ends {
            let own = link.ends.iter_mut().find(|e| e.node == end.node);
            if let Some(own) = own.filter(|e| e.port == EndPort::Unknown) {
                own.port = end.port.clone();
            }
        }
        link.grade = LinkGrade::Certain;
        // In the first place, where `stated_states` looks for it.
        link.evidence.insert(0, Evidence::Stated);
    }

    /// The stated unmanaged bridge to which nodes found at this link's port are cabled. Such a
    /// bridge passes on every frame that it hears.
    fn bridge_at(&self, draft: &DraftNetwork<'_>, link: &DraftLink) -> Option<NodeIx> {
        let [a, b] = &self.ends;
        let (port, bridge) = match draft.kind(b.node) {
            NodeKind::Unmanaged => (a, b.node),
            _ => (b, a.node),
        };
        let far = link.ends[1].node;
        let near = &link.ends[0];
        let is_at = port.port != EndPort::Unknown
            && near.node == port.node
            && draft.port_name(near) == draft.port_name(port);
        let hangs = matches!(draft.kind(far), NodeKind::Host | NodeKind::Unmanaged);
        let stated = draft.facts.is_stated(bridge) && draft.kind(bridge) == NodeKind::Unmanaged;
        (is_at && hangs && far != bridge && stated).then_some(bridge)
    }

    fn contradict(&self, link: &DraftLink, draft: &mut DraftNetwork<'_>) {
        if link.grade == LinkGrade::Certain {
            let found = link
                .ends
                .each_ref()
                .map(|end| DevicePort::new(draft.name(end.node), draft.port_name(end)));
            let kind = AlarmKind::StatedElsewhere {
                found,
                why: link.evidence.first().cloned(),
            };
            let nodes = self.ends.each_ref().map(|end| end.node);
            let alarm = draft.alarm_between(nodes, kind);
            draft.alarms.push(alarm);
        }
    }

    /// A link that is known only by the operator's statement.
    fn link(&self, facts: &Facts<'_>) -> DraftLink {
        let mut evidence = vec![Evidence::Stated];
        let rates = self.ends.each_ref().map(|end| end.rate(facts));
        DraftLink {
            rate: match self.cable.rate {
                Some(rate) => rate,
                None => slower(rates, &mut evidence),
            },
            ends: self.ends.clone(),
            members: vec![],
            state: LinkState::Unknown,
            grade: LinkGrade::Certain,
            evidence,
        }
    }

    /// A port that is known to be down.
    fn port_down(&self, facts: &Facts<'_>) -> Option<DevicePort> {
        let ports = self.ends.iter().filter_map(|end| end.device_port(facts));
        let mut down = ports.filter(|(device, port)| !facts[*device].ports[*port].up);
        down.next().map(|(device, port)| facts[device].place(port))
    }
}
