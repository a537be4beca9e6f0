//! The cables of the network, in the form of a plan.
use super::{Cable, CableEnd, CablingPlan};
use inventory::evidence::Evidence;
use inventory::topology::{Link, LinkGrade, NodeKind, Topology};
use inventory::{BitsPerSec, counted};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A cable of the network.
pub(super) struct FoundCable {
    pub(super) cable: Cable,
    pub(super) grade: LinkGrade,
}

/// The part of the network that is compared.
pub(super) struct CabledNetwork {
    pub(super) cables: Vec<FoundCable>,
    /// The cables that are not compared, because the plan is about other cables.
    pub(super) left_out: Vec<String>,
}

pub(super) fn network(plan: &CablingPlan, topology: &Topology) -> CabledNetwork {
    let planned: Vec<_> = plan.cables.iter().map(Cable::ends).collect();
    let mut parts = PlannedParts::new(&planned, topology);
    let mut links: Vec<&Link> = topology.links.iter().collect();
    links.retain(|link| parts.has(link));
    let ports: HashSet<(&str, &str)> = planned.iter().flatten().copied().collect();
    let wanted = between(plan.cables.iter().map(|c| [&*c.a, &*c.b]));
    let there = between(links.iter().map(|l| [&*l.a, &*l.b]));
    // A plan lists an aggregate either as one link or as its cables.
    let cables = links
        .iter()
        .flat_map(|link| {
            let is_named_whole = [(&link.a, &link.a_port), (&link.b, &link.b_port)]
                .iter()
                .any(|(n, p)| ports.contains(&(n.as_str(), p.as_str())));
            let is_named_by_cable = link.members.iter().any(|m| {
                ports.contains(&(&*link.a, &*m.a_port)) || ports.contains(&(&*link.b, &*m.b_port))
            });
            let pair = sorted([&link.a, &link.b]);
            // More cables are planned between two nodes than there are links: the plan lists
            // members, whatever it calls their ports.
            let is_wanted_by_cable = !is_named_whole && wanted.get(&pair) > there.get(&pair);
            if !link.members.is_empty() && (is_named_by_cable || is_wanted_by_cable) {
                members(link)
            } else {
                vec![whole(link)]
            }
        })
        .collect();
    CabledNetwork {
        cables,
        left_out: parts.left_out(),
    }
}

/// The parts of the network that a plan is about.
struct PlannedParts<'t> {
    hosts: HashSet<&'t str>,
    /// True if the plan names hosts. Else it lists only trunks.
    names_hosts: bool,
    /// The networks of which the plan names no node, by their switches.
    unplanned: HashMap<&'t str, &'t str>,
    /// Pairs of nodes with a planned cable.
    pairs: HashSet<[&'t str; 2]>,
    hosts_left_out: usize,
    own_ports_left_out: usize,
    networks_left_out: BTreeMap<&'t str, usize>,
}

impl<'t> PlannedParts<'t> {
    fn new(planned: &[[CableEnd<'t>; 2]], topology: &'t Topology) -> PlannedParts<'t> {
        let hosts: HashSet<&str> = topology.names(NodeKind::Host).collect();
        let nodes: HashSet<&str> = planned.iter().flatten().map(|(node, _)| *node).collect();
        let networks = topology.networks.iter();
        let unplanned = networks.filter(|network| {
            let mut switches = network.switches.iter();
            !switches.any(|switch| nodes.contains(switch.as_str()))
        });
        PlannedParts {
            names_hosts: nodes.iter().any(|node| hosts.contains(node)),
            unplanned: unplanned
                .flat_map(|network| {
                    let switches = network.switches.iter();
                    switches.map(|switch| (switch.as_str(), network.name.as_str()))
                })
                .collect(),
            pairs: planned
                .iter()
                .map(|ends| sorted(ends.map(|end| end.0)))
                .collect(),
            hosts,
            hosts_left_out: 0,
            own_ports_left_out: 0,
            networks_left_out: BTreeMap::new(),
        }
    }

    /// True if the link is to be compared. One that is not is counted.
    fn has(&mut self, link: &'t Link) -> bool {
        let ends = [link.a.as_str(), link.b.as_str()];
        if is_of_own_port(link) {
            let is_planned = self.pairs.contains(&sorted(ends));
            self.own_ports_left_out += usize::from(!is_planned);
            return is_planned;
        }
        if let Some(network) = ends.iter().find_map(|end| self.unplanned.get(end)) {
            *self.networks_left_out.entry(network).or_default() += 1;
            return false;
        }
        let is_hosts = !self.names_hosts && ends.iter().any(|end| self.hosts.contains(end));
        self.hosts_left_out += usize::from(is_hosts);
        !is_hosts
    }

    fn left_out(&self) -> Vec<String> {
        let networks = self.networks_left_out.iter().map(|(network, count)| {
            let count = counted(*count, "cable");
            format!("the plan names no switch of network {network}; {count} not compared")
        });
        let hosts = (self.hosts_left_out > 0).then(|| {
            let count = counted(self.hosts_left_out, "cable");
            format!("the plan names no host of the network; {count} of hosts not compared")
        });
        let own = (self.own_ports_left_out > 0).then(|| {
            let count = counted(self.own_ports_left_out, "cable");
            format!("the plan does not name {count} of ports by which switches are managed")
        });
        networks.chain(hosts).chain(own).collect()
    }
}

fn is_of_own_port(link: &Link) -> bool {
    link.evidence.iter().any(Evidence::is_of_own_port)
}

/// The number of links between each two nodes.
fn between<'a>(ends: impl Iterator<Item = [&'a str; 2]>) -> HashMap<[&'a str; 2], usize> {
    let mut count = HashMap::new();
    for pair in ends {
        *count.entry(sorted(pair)).or_default() += 1;
    }
    count
}

fn sorted(mut pair: [&str; 2]) -> [&str; 2] {
    pair.sort_unstable();
    pair
}

fn whole(link: &Link) -> FoundCable {
    FoundCable {
        cable: Cable {
            a: link.a.clone(),
            a_port: link.a_port.clone(),
            b: link.b.clone(),
            b_port: link.b_port.clone(),
            rate_bps: Some(link.rate_bps).filter(|_| link.rate_is_known()),
            // It forwards nothing, and spanning tree does not block it.
            state: Some(link.state).filter(|_| !is_of_own_port(link)),
        },
        grade: link.grade,
    }
}

/// The cables of an aggregate share its rate.
fn members(link: &Link) -> Vec<FoundCable> {
    let FoundCable { cable, grade } = whole(link);
    let rate_bps = cable
        .rate_bps
        .map(|rate| BitsPerSec(rate.0 / link.members.len() as u64));
    link.members
        .iter()
        .map(|m| FoundCable {
            cable: Cable {
                a_port: m.a_port.clone(),
                b_port: m.b_port.clone(),
                rate_bps,
                ..cable.clone()
            },
            grade,
        })
        .collect()
}
