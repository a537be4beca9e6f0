//! Links and devices that the operator states. They take precedence over found ones; if the network
//! contradicts them, an alarm is raised.
use super::device::{DeviceTables, Port};
use super::{InferenceScope, InferredNetwork};
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::{AssumedRate, DevicePort, Evidence};
use inventory::inventory_file;
use inventory::observation::NeighbourId;
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind};
use std::collections::BTreeMap;

impl InferredNetwork {
    fn is_unmanaged(&self, name: &str) -> bool {
        self.nodes
            .get(name)
            .is_some_and(|n| n.kind == NodeKind::Unmanaged)
    }
}

impl InferenceScope<'_> {
    /// True if a link to this host is stated.
    pub(super) fn states(&self, host: &str) -> bool {
        self.links().iter().any(|l| l.b == host)
    }

    /// True if the host is stated to be cabled to another bridge than this one.
    fn puts_elsewhere(&self, host: &str, bridge: &str) -> bool {
        self.links().iter().any(|l| l.b == host && l.a != bridge)
    }

    fn links(&self) -> &[inventory_file::InventoryCable] {
        self.stated.map_or(&[], |i| &i.links)
    }
}

/// Adds stated devices that cannot be asked.
pub(super) fn add_stated_devices(scope: &InferenceScope<'_>, found: &mut InferredNetwork) {
    let Some(inventory) = scope.stated else {
        return;
    };
    for (kind, names) in [
        (NodeKind::Router, &inventory.routers),
        (NodeKind::Unmanaged, &inventory.unmanaged),
    ] {
        for name in names {
            found.node(name, kind);
            found.stated.insert(name.clone());
        }
    }
}

/// Adds stated links to the found ones, and removes found links that contradict them.
pub(super) fn apply(
    scope: &InferenceScope<'_>,
    devices: &[DeviceTables<'_>],
    found: &mut InferredNetwork,
) {
    let stated: Vec<StatedCable<'_>> = scope
        .links()
        .iter()
        .map(|link| StatedCable::new(link, devices))
        .collect();
    behind_bridges(scope, &stated, found);
    let mut matched: Vec<Option<usize>> = vec![None; found.links.len()];
    let mut missing = Vec::new();
    for (number, link) in stated.iter().enumerate() {
        let fitting = (0..matched.len())
            .filter(|i| matched[*i].is_none() && link.fits(&found.links[*i]).is_some());
        match fitting.max_by_key(|i| (link.fits(&found.links[*i]), std::cmp::Reverse(*i))) {
            Some(i) => matched[i] = Some(number),
            None => missing.push(number),
        }
    }
    let links = std::mem::take(&mut found.links);
    for (mut link, matched) in links.into_iter().zip(matched) {
        if let Some(number) = matched {
            stated[number].confirm(&mut link, found);
        } else if let Some(s) = stated.iter().find(|s| s.excludes(&link, found)) {
            s.contradict(&link, found);
            continue;
        }
        found.links.push(link);
    }
    for number in missing {
        let link = stated[number].link(devices);
        found.links.push(link);
    }
}

/// Moves found nodes at the port of a stated unmanaged bridge below that bridge, unless they have a
/// stated place.
fn behind_bridges(
    scope: &InferenceScope<'_>,
    stated: &[StatedCable<'_>],
    found: &mut InferredNetwork,
) {
    // Assumed bridges at the place of a stated one, and the name of the stated one.
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for mut link in std::mem::take(&mut found.links) {
        let free = stated.iter().all(|s| s.fits(&link).is_none());
        if let Some(bridge) = stated
            .iter()
            .filter(|_| free)
            .find_map(|s| s.bridge_at(&link, found))
        {
            match found.nodes.get(&link.b).map(|n| n.kind) {
                Some(NodeKind::Unmanaged) => {
                    known.insert(link.b, bridge);
                    continue;
                }
                _ if scope.puts_elsewhere(&link.b, &bridge) => {}
                _ => hang(&mut link, bridge),
            }
        }
        found.links.push(link);
    }
    for link in &mut found.links {
        if let Some(bridge) = known.get(&link.a) {
            hang(link, bridge.clone());
        }
    }
    found.nodes.retain(|name, _| !known.contains_key(name));
    found
        .alarms
        .retain(|a| !known.keys().any(|bridge| a.subject.is_node(bridge)));
}

/// Cables a host to a stated bridge. The rates of such a bridge's ports are unknown.
fn hang(link: &mut Link, bridge: String) {
    if link.rate_is_known() {
        link.evidence
            .push(Evidence::Rate(AssumedRate::AsBefore(bridge.clone())));
    }
    link.evidence.push(Evidence::BehindBridge(bridge.clone()));
    (link.a, link.a_port, link.grade) =
        (bridge, String::new(), link.grade.max(LinkGrade::Inferred));
}

/// Gives stated links their stated states, once the states of the others are known. A port that is
/// down carries nothing.
pub(super) fn set_stated_states(
    scope: &InferenceScope<'_>,
    devices: &[DeviceTables<'_>],
    found: &mut InferredNetwork,
) {
    let mut links = std::mem::take(&mut found.links);
    for stated in scope
        .links()
        .iter()
        .map(|link| StatedCable::new(link, devices))
    {
        let Some(link) = links
            .iter_mut()
            .find(|l| l.evidence.first() == Some(&Evidence::Stated) && stated.fits(l).is_some())
        else {
            continue;
        };
        let mut alarm = |kind| found.alarms.push(Alarm::between(&link.a, &link.b, kind));
        match stated.link.state {
            Some(state) if state != link.state => {
                if link.state != LinkState::Unknown {
                    alarm(AlarmKind::StatedState {
                        stated: state,
                        found: link.state,
                    });
                }
                link.evidence.push(Evidence::StateStated(state));
                link.state = state;
            }
            Some(_) => {}
            None => {
                if let Some((node, port)) = stated.down(devices) {
                    let port = DevicePort::new(node, port);
                    alarm(AlarmKind::StatedDown(port.clone()));
                    link.evidence.push(Evidence::PortDown(port));
                    link.state = LinkState::Blocked;
                }
            }
        }
    }
    found.links = links;
}

/// A stated link, with the devices' names for its ports.
struct StatedCable<'a> {
    link: &'a inventory_file::InventoryCable,
    ports: [Port; 2],
}

impl<'a> StatedCable<'a> {
    fn new(
        link: &'a inventory_file::InventoryCable,
        devices: &[DeviceTables<'_>],
    ) -> StatedCable<'a> {
        let port = |(node, port): (&str, &str)| {
            let device = devices.iter().find(|d| d.name == node);
            let known = device
                .filter(|_| !port.is_empty())
                .and_then(|d| d.remote_port(Some(&NeighbourId::Text(port.to_owned())), port));
            known.unwrap_or_else(|| Port {
                name: port.to_owned(),
                index: None,
            })
        };
        StatedCable {
            link,
            ports: link.ends().map(port),
        }
    }

    /// Its ends: nodes, and stated ports.
    fn ends(&self) -> [(&str, &str); 2] {
        [
            (&self.link.a, &self.ports[0].name),
            (&self.link.b, &self.ports[1].name),
        ]
    }

    /// The number of ports that agree; `None` if the found link is another one.
    fn fits(&self, link: &Link) -> Option<usize> {
        let agree = |(node, port): (&str, &str), (n, p): (&str, &str)| match () {
            () if node != n => None,
            () if port.is_empty() || p.is_empty() => Some(0),
            () => (port == p).then_some(1),
        };
        let [a, b] = self.ends();
        let (x, y) = (
            (link.a.as_str(), link.a_port.as_str()),
            (link.b.as_str(), link.b_port.as_str()),
        );
        let straight = || Some(agree(a, x)? + agree(b, y)?);
        straight().or_else(|| Some(agree(a, y)? + agree(b, x)?))
    }

    /// True if the found link needs a port of this link, or gives its host another place.
    fn excludes(&self, link: &Link, found: &InferredNetwork) -> bool {
        let there = [
            (link.a.as_str(), link.a_port.as_str()),
            (link.b.as_str(), link.b_port.as_str()),
        ];
        let ports = self
            .ends()
            .into_iter()
            .filter(|(_, port)| !port.is_empty())
            .any(|end| there.contains(&end));
        let host = found
            .nodes
            .get(&self.link.b)
            .is_some_and(|n| n.kind == NodeKind::Host);
        ports || (host && link.b == self.link.b)
    }

    /// Overrides the facts found about this link.
    fn confirm(&self, link: &mut Link, found: &mut InferredNetwork) {
        if let Some(rate) = self.link.rate.filter(|rate| *rate != link.rate_bps) {
            if link.rate_is_known() {
                let kind = AlarmKind::StatedRate {
                    stated: rate,
                    found: link.rate_bps,
                };
                found
                    .alarms
                    .push(Alarm::between(&self.link.a, &self.link.b, kind));
            }
            link.evidence.retain(|e| !matches!(e, Evidence::Rate(_)));
            link.rate_bps = rate;
        }
        for (node, port) in self.ends() {
            let own = if link.a == node {
                &mut link.a_port
            } else {
                &mut link.b_port
            };
            if own.is_empty() {
                port.clone_into(own);
            }
        }
        link.grade = LinkGrade::Certain;
        link.evidence.insert(0, Evidence::Stated);
    }

    /// The stated unmanaged bridge to which nodes found at this link's port are cabled. Such a
    /// bridge passes on every frame that it hears.
    fn bridge_at(&self, link: &Link, found: &InferredNetwork) -> Option<String> {
        let [a, b] = self.ends();
        let (port, bridge) = if found.is_unmanaged(b.0) {
            (a, b.0)
        } else {
            (b, a.0)
        };
        let at = !port.1.is_empty() && (link.a.as_str(), link.a_port.as_str()) == port;
        let hangs = matches!(
            found.nodes.get(&link.b).map(|n| n.kind),
            Some(NodeKind::Host | NodeKind::Unmanaged)
        );
        (at && hangs
            && link.b != bridge
            && found.stated.contains(bridge)
            && found.is_unmanaged(bridge))
        .then(|| bridge.to_owned())
    }

    fn contradict(&self, link: &Link, found: &mut InferredNetwork) {
        if link.grade == LinkGrade::Certain {
            let there = [
                DevicePort::new(&link.a, &link.a_port),
                DevicePort::new(&link.b, &link.b_port),
            ];
            let kind = AlarmKind::StatedElsewhere {
                found: there,
                why: link.evidence.first().cloned(),
            };
            found
                .alarms
                .push(Alarm::between(&self.link.a, &self.link.b, kind));
        }
    }

    /// A link that is known only by the operator's statement.
    fn link(&self, devices: &[DeviceTables<'_>]) -> Link {
        let mut evidence = vec![Evidence::Stated];
        let rate = |i: usize| {
            devices
                .iter()
                .find(|d| d.name == self.ends()[i].0)?
                .rate(&self.ports[i])
        };
        let rate_bps = self
            .link
            .rate
            .unwrap_or_else(|| super::trunks::slower([rate(0), rate(1)], &mut evidence));
        let [(a, a_port), (b, b_port)] = self.ends().map(|(n, p)| (n.to_owned(), p.to_owned()));
        Link {
            a,
            a_port,
            b,
            b_port,
            members: vec![],
            rate_bps,
            state: LinkState::Unknown,
            grade: LinkGrade::Certain,
            evidence,
        }
    }

    /// An end that is known to be down.
    fn down(&self, devices: &[DeviceTables<'_>]) -> Option<(&str, &str)> {
        let is_down = |(i, (node, _)): &(usize, (&str, &str))| {
            devices
                .iter()
                .any(|d| d.name == *node && d.is_down(&self.ports[*i]))
        };
        self.ends()
            .into_iter()
            .enumerate()
            .find(is_down)
            .map(|(_, end)| end)
    }
}
