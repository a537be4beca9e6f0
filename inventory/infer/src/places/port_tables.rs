//! Tables of the ports that devices name for hosts: by LLDP, by learned addresses, and by known
//! cables.
use super::attachment::Attachment;
use crate::acceptance::known::Known;
use crate::claims::EndPort;
use crate::facts::by_host::ByHost;
use crate::facts::ports::PortIx;
use crate::facts::{DevicePortIx, Facts, NodeIx};
use inventory::Mac;
use inventory::alarm::arguments::{HostElsewhere, NamedNode};
use inventory::evidence::Evidence;
use inventory::host_report::DiscoveryProtocol;
use inventory::observation::NeighbourId;
use inventory::topology::{LinkGrade, NodeKind};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The ports at which switches hear each host by LLDP.
pub(super) fn announced(facts: &Facts<'_>, trunks: &TrunkPorts) -> ByHost<Vec<Attachment>> {
    let mut all: ByHost<Vec<Attachment>> = ByHost::new(facts);
    for statement in facts.statements() {
        let (device, row, host) = (statement.device, statement.row, statement.names.node);
        let Some(places) = all.get_mut(host) else {
            continue;
        };
        if row.protocol != DiscoveryProtocol::Lldp || row.down {
            continue;
        }
        let host_port = match &row.row.port {
            Some(NeighbourId::Text(text)) => text.clone(),
            Some(id) if row.row.port_descr.is_empty() => id.to_string(),
            _ => row.row.port_descr.clone(),
        };
        // The state of the port follows.
        let mut evidence = Vec::with_capacity(2);
        evidence.push(Evidence::Names {
            protocol: row.protocol.into(),
            at: facts[device].place(row.port),
            neighbour: facts.name(host).to_owned(),
            by: statement.names.by.clone(),
            stale: facts[device].stale,
            down: false,
        });
        let port = EndPort::At(row.port);
        let grade = match row.guessed {
            true => LinkGrade::Inferred,
            false => LinkGrade::Certain,
        };
        let card = match row.row.port {
            Some(NeighbourId::Mac(mac)) => Some(mac),
            _ => None,
        };
        let place = Attachment {
            card,
            trunk: trunks.inner.contains(&(device, row.port)),
            old: facts[device].stale,
            ..Attachment::new(device, port, host_port, grade, evidence)
        };
        if !places.iter().any(|s| s.is_at(&place)) {
            // A Vec makes room for four at first. Hosts are many, and nearly each has one place.
            places.reserve_exact(1);
            places.push(place);
        }
    }
    all
}

/// The neighbours that answering switches hear on their ports by LLDP.
#[derive(Default)]
pub(super) struct PortOccupants(HashMap<DevicePortIx, BTreeSet<NodeIx>>);

impl PortOccupants {
    pub(super) fn new(facts: &Facts<'_>) -> PortOccupants {
        let mut occupants: HashMap<DevicePortIx, BTreeSet<NodeIx>> = HashMap::new();
        for statement in facts.statements() {
            let lldp = statement.row.protocol == DiscoveryProtocol::Lldp;
            let node = statement.names.node;
            if lldp && !facts[statement.device].stale && !facts.is_unlisted(node) {
                let at = (statement.device, statement.row.port);
                occupants.entry(at).or_default().insert(node);
            }
        }
        PortOccupants(occupants)
    }

    /// The other nodes at the place that a host claims.
    pub(super) fn others(
        &self,
        facts: &Facts<'_>,
        claim: &Attachment,
        host: NodeIx,
    ) -> Option<HostElsewhere> {
        let at = (claim.device, claim.port.index()?);
        let others = self.0.get(&at)?.iter().filter(|node| **node != host);
        let mut others: Vec<NamedNode> = others.map(|node| facts.named_node(*node)).collect();
        others.sort();
        (!others.is_empty()).then_some(HostElsewhere::Taken(others))
    }
}

/// The ports on which an address is learned.
pub(super) fn learned_ports<'f>(
    facts: &'f Facts<'_>,
    mac: Mac,
) -> impl Iterator<Item = DevicePortIx> + 'f {
    facts
        .devices()
        .filter_map(move |(device, own)| Some((device, own.learned.port_of(mac)?)))
}

/// True if an address is learned at the port of an attachment.
pub(super) fn is_learned_at(facts: &Facts<'_>, mac: Mac, place: &Attachment) -> bool {
    let own = &facts[place.device];
    let port = place.port.index().map(|port| own.ports.whole(port));
    port.is_some() && own.learned.port_of(mac) == port
}

/// Ports with known cables to other switches, and ports on shared segments.
#[derive(Default)]
pub(super) struct TrunkPorts {
    /// Ports to other switches, their aggregates, and the members of those.
    pub(super) inner: HashSet<DevicePortIx>,
    /// The bridges that stand for shared segments.
    pub(super) bridges: HashMap<DevicePortIx, NodeIx>,
}

impl TrunkPorts {
    pub(super) fn new(known: &Known<'_>) -> TrunkPorts {
        let facts = known.facts;
        let mut found = TrunkPorts::default();
        let mut members: HashMap<DevicePortIx, Vec<PortIx>> = HashMap::new();
        for (device, own) in facts.devices() {
            for (port, aggregate) in own
                .ports
                .iter()
                .filter_map(|(p, f)| Some((p, f.aggregate?)))
            {
                members.entry((device, aggregate)).or_default().push(port);
            }
        }
        for cable in &known.cables {
            for end in &cable.ends {
                let Some(port) = end.device_port(facts) else {
                    continue;
                };
                let far = cable.other(end.node).node;
                let bridge = known.kind(far) == NodeKind::Unmanaged;
                let members = members.get(&port).into_iter().flatten();
                let members = members.map(|member| (port.0, *member));
                for port in [port, known.whole(port)].into_iter().chain(members) {
                    match bridge {
                        true => _ = found.bridges.insert(port, far),
                        false => _ = found.inner.insert(port),
                    }
                }
            }
        }
        // Nothing is known of its far end, but it is no host's port.
        found.inner.extend(&known.unclear_aggregates);
        found
    }
}
