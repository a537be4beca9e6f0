//! Hosts whose place no protocol decides, and what flows tell about it.
//!
//! Flows tell trunks: which hosts are on one side of them, and which on the other. The other hosts
//! have known places. So a trunk that parts them as a link of the tree does is that link, or one of
//! several in a row, and the host is on the side on which its flows put it.
use super::addresses::{MeasuringAddresses, PrefixedAddress, is_neighbour};
use super::target::{DoubtfulHost, MappingTarget, TargetSubject};
use inventory::device_view::DeviceViews;
use inventory::evidence::{Evidence, FlowFinding};
use inventory::inventory_file::Inventory;
use inventory::mapped_place::{MappedPlace, PlaceTrunk};
use inventory::topology::{Link, LinkGrade, NodeKind, Topology};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The place of a host, as far as flows tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttachmentFinding {
    /// It is on this node.
    On {
        node: String,
        /// In thousandths.
        probability: u16,
    },
    /// It may be on any of these: flows filled no cable between them.
    Open(Vec<String>),
    /// The flows fit none of its candidates.
    Nowhere,
}

impl AttachmentFinding {
    /// True if flows tell that the host is not on this node.
    pub(super) fn excludes(&self, node: &str) -> bool {
        matches!(self, AttachmentFinding::Open(left) if left.iter().all(|other| other != node))
    }
}

pub(super) fn doubtful_hosts(
    topology: &Topology,
    views: &DeviceViews,
    inventory: &Inventory,
) -> Vec<DoubtfulHost> {
    let attachments = topology.attachments();
    let open = OpenBridges::new(topology, views);
    let measured: HashMap<&str, &[String]> = topology.links.iter().filter_map(choice).collect();
    inventory
        .hosts
        .keys()
        .filter_map(|host| {
            let measured = measured.get(host.as_str());
            if measured.is_none() && attachments.contains_key(host.as_str()) {
                return None;
            }
            let links = topology.links.iter();
            let own: Vec<&Link> = links.filter(|link| link.b == *host).collect();
            // A host with a cable to each of two switches is on both.
            let cards: BTreeSet<&str> = own.iter().map(|link| link.b_port.as_str()).collect();
            if cards.len() > 1 {
                return None;
            }
            let among: BTreeSet<String> = match measured {
                Some(among) => among.iter().cloned().collect(),
                None => own.iter().map(|link| link.a.clone()).collect(),
            };
            Some(DoubtfulHost {
                name: host.clone(),
                candidates: open.candidates(&among),
                among: among.into_iter().collect(),
                is_placed: measured.is_some(),
            })
        })
        .collect()
}

/// These hosts as one target for each network. Those without an agent that takes part are another
/// one, but only if a switch has seen them and flows did not place them: the rest may be switched off.
pub(super) fn host_targets(
    hosts: Vec<DoubtfulHost>,
    addresses: &MeasuringAddresses<'_>,
) -> Vec<MappingTarget> {
    let mut groups: Vec<(Option<PrefixedAddress>, Vec<DoubtfulHost>)> = Vec::new();
    for host in hosts {
        let own = addresses.of(&host.name);
        if own.is_none() && (host.among.is_empty() || host.is_placed) {
            continue;
        }
        let group = groups
            .iter_mut()
            .find(|(address, _)| match (*address, own) {
                (Some(a), Some(b)) => is_neighbour(a, b),
                (a, b) => a.is_none() && b.is_none(),
            });
        match group {
            Some((_, group)) => group.push(host),
            None => groups.push((own, vec![host])),
        }
    }
    groups
        .into_iter()
        .map(|(_, hosts)| {
            let mut names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
            names.sort();
            MappingTarget {
                subject: TargetSubject::Hosts(hosts),
                hosts: names,
            }
        })
        .collect()
}

/// The host and the choice that protocols left, if flows put a host here.
fn choice(link: &Link) -> Option<(&str, &[String])> {
    link.evidence.iter().find_map(|evidence| match evidence {
        Evidence::Measured(FlowFinding::Attachment { among, .. }) => {
            Some((link.b.as_str(), &among[..]))
        }
        _ => None,
    })
}

/// The switches and bridges of the tree.
struct OpenBridges<'t> {
    all: BTreeSet<&'t str>,
    /// Those without a forwarding table. Each other one would have seen its hosts.
    blind: BTreeSet<&'t str>,
}

impl<'t> OpenBridges<'t> {
    fn new(topology: &'t Topology, views: &DeviceViews) -> OpenBridges<'t> {
        let kinds = topology.kinds();
        let carrying = topology.links.iter().filter(|link| link.carries_frames());
        let ends = carrying.flat_map(|link| [link.a.as_str(), link.b.as_str()]);
        let all: BTreeSet<&str> = ends
            .filter(|name| matches!(kinds[name], NodeKind::Switch | NodeKind::Unmanaged))
            .collect();
        let blind = all
            .iter()
            .copied()
            .filter(|name| {
                let table = views.get(*name).and_then(|view| view.fdb.as_ref());
                table.is_none_or(|rows| rows.is_empty())
            })
            .collect();
        OpenBridges { all, blind }
    }

    /// Where a host may be if protocols leave this choice.
    fn candidates(&self, among: &BTreeSet<String>) -> BTreeSet<String> {
        match (among.len(), self.blind.is_empty()) {
            (0, true) => owned(&self.all),
            (0, false) => owned(&self.blind),
            // Its port leads on to others.
            (1, _) => among.iter().cloned().chain(owned(&self.blind)).collect(),
            _ => among.clone(),
        }
    }
}

fn owned(names: &BTreeSet<&str>) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The places of these hosts, as far as a measurement tells.
pub(super) fn attachment_findings(
    topology: &Topology,
    hosts: &[DoubtfulHost],
    found: &MappedPlace,
) -> Vec<AttachmentFinding> {
    let attachments = topology.attachments();
    let witnesses: HashMap<&str, &str> = found
        .beside
        .iter()
        .filter_map(|host| Some((host.as_str(), attachments.get(host.as_str())?.0)))
        .collect();
    let cuts = cuts(topology);
    let trunks: Vec<KnownTrunk<'_>> = found
        .trunks
        .iter()
        .map(|trunk| KnownTrunk::new(trunk, &cuts, &witnesses))
        .filter(|trunk| !trunk.links.is_empty())
        .collect();
    hosts.iter().map(|host| finding(host, &trunks)).collect()
}

/// The nodes on one side of each link between bridges.
fn cuts(topology: &Topology) -> Vec<HashSet<&str>> {
    let kinds = topology.kinds();
    let carrying = topology.links.iter().filter(|link| link.carries_frames());
    let between: Vec<&Link> = carrying
        .filter(|link| kinds.get(link.b.as_str()) != Some(&NodeKind::Host))
        .filter(|link| link.grade != LinkGrade::Ambiguous)
        .collect();
    let mut beside: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
    for (number, link) in between.iter().enumerate() {
        beside.entry(&link.a).or_default().push((number, &link.b));
        beside.entry(&link.b).or_default().push((number, &link.a));
    }
    let mut cuts = Vec::new();
    for (number, link) in between.iter().enumerate() {
        let (mut side, mut next) = (HashSet::new(), vec![link.b.as_str()]);
        while let Some(node) = next.pop() {
            if side.insert(node) {
                let others = beside[node].iter().filter(|(n, _)| *n != number);
                next.extend(others.map(|(_, node)| *node));
            }
        }
        cuts.push(side);
    }
    cuts
}

/// A measured trunk that is a link of the tree.
struct KnownTrunk<'t> {
    trunk: &'t PlaceTrunk,
    /// The links that it may be: the nodes on one side, and whether this is the side of the trunk.
    links: Vec<(&'t HashSet<&'t str>, bool)>,
}

impl<'t> KnownTrunk<'t> {
    fn new(
        trunk: &'t PlaceTrunk,
        cuts: &'t [HashSet<&'t str>],
        witnesses: &HashMap<&str, &str>,
    ) -> KnownTrunk<'t> {
        let side: HashSet<&str> = trunk.side.iter().map(String::as_str).collect();
        let parted = witnesses.keys().any(|host| side.contains(host))
            && witnesses.keys().any(|host| !side.contains(host));
        let known = cuts.iter().filter(|_| parted).filter_map(|cut| {
            [false, true]
                .into_iter()
                .find(|turned| {
                    witnesses
                        .iter()
                        .all(|(host, node)| (side.contains(host) == cut.contains(node)) != *turned)
                })
                .map(|turned| (cut, !turned))
        });
        KnownTrunk {
            trunk,
            links: known.collect(),
        }
    }

    /// True if the trunk can have this host on the side on which it was measured, if the host is on
    /// this node.
    fn fits(&self, host: &str, node: &str) -> bool {
        let beside = self.trunk.side.iter().any(|name| name == host);
        self.links
            .iter()
            .any(|(cut, same)| (cut.contains(node) == *same) == beside)
    }
}

fn finding(host: &DoubtfulHost, trunks: &[KnownTrunk<'_>]) -> AttachmentFinding {
    let left: Vec<String> = host
        .candidates
        .iter()
        .filter(|node| trunks.iter().all(|trunk| trunk.fits(&host.name, node)))
        .cloned()
        .collect();
    let probability = trunks.iter().map(|trunk| trunk.trunk.probability).min();
    match (&left[..], probability) {
        ([], _) => AttachmentFinding::Nowhere,
        ([node], Some(probability)) => AttachmentFinding::On {
            node: node.clone(),
            probability,
        },
        _ => AttachmentFinding::Open(left),
    }
}
