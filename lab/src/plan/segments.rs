//! Segments and the routes between them. A segment is a part of the network that frames cross
//! without a router, and is a subnet.
//!
//! A network without routers is one segment. With routers, segment `k` is 10.77.`k`.0/24: hosts have
//! addresses from `.1`, switches from `.201`, routers' ports from `.241`.
use super::{LabCable, LabNode, LabNodeKind, LabPlan};
use crate::error::{LabError, LabResult};
use inventory::Mac;
use petgraph::unionfind::UnionFind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::Ipv4Addr;

/// A part of the network that frames cross without a router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabSegment {
    /// The name of its network, if the topology file names several.
    pub name: Option<String>,
    /// Its subnet.
    pub network: Ipv4Addr,
    /// The length of the subnet's prefix.
    pub prefix: u8,
    /// The interfaces with an address in it: those of hosts, switches and routers' ports.
    pub members: Vec<SegmentMember>,
}

/// An interface with an address in a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentMember {
    pub node: String,
    /// Its interface: a host's card, `br0` of a switch, `ge1` of a router; the port by which a switch
    /// or router is managed.
    pub port: String,
    pub address: Ipv4Addr,
    /// Its MAC address.
    pub mac: Mac,
}

/// A node's route to a segment that it is not in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentRoute {
    pub(crate) network: Ipv4Addr,
    pub(crate) prefix: u8,
    /// The next routers; flows spread over several.
    pub(crate) hops: Vec<NextHop>,
}

/// The next router on a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextHop {
    /// The router's address.
    pub(crate) via: Ipv4Addr,
    /// The node's interface towards it.
    pub(crate) port: String,
    /// The interface's own address.
    pub(crate) source: Ipv4Addr,
}

/// The first address of hosts, switches and routers in a segment between routers, and the number of
/// addresses of each.
const HOSTS: (u8, usize) = (1, 200);
const SWITCHES: (u8, usize) = (201, 40);
const ROUTERS: (u8, usize) = (241, 14);

/// The subnet in which the switches are asked.
pub(super) const MANAGEMENT_SUBNET: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 0);

impl LabSegment {
    /// True for that of the network in which the switches are asked.
    pub(crate) fn is_management(&self) -> bool {
        self.network == MANAGEMENT_SUBNET
    }
}

/// The segments of a network with routers: first those with switches, in the order of the file. `mac`
/// gives the MAC address of a port.
pub(super) fn between(
    nodes: &[&LabNode],
    cables: &[LabCable],
    mac: impl Fn(&super::PortEnd) -> Mac,
) -> LabResult<Vec<LabSegment>> {
    let kinds: HashMap<&str, LabNodeKind> =
        nodes.iter().map(|n| (n.name.as_str(), n.kind)).collect();
    let switches: HashMap<&str, usize> = nodes
        .iter()
        .filter(|n| n.kind == LabNodeKind::Switch)
        .map(|n| n.name.as_str())
        .zip(0..)
        .collect();
    let parts = joined_by_switches(&switches, cables);
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for part in 0..switches.len() + cables.len() {
        let next = numbers.len();
        numbers.entry(parts.find(part)).or_insert(next);
    }
    // Of each segment: hosts, switches, ports of routers. Each of these groups has addresses of its own.
    let mut members: Vec<[Vec<SegmentMember>; 3]> = vec![Default::default(); numbers.len()];
    let mut join = |part: usize, group: usize, node: &str, port: &str, mac: Mac| {
        let member = SegmentMember {
            node: node.to_owned(),
            port: port.to_owned(),
            address: Ipv4Addr::UNSPECIFIED,
            mac,
        };
        members[numbers[&parts.find(part)]][group].push(member);
    };
    for node in nodes.iter().filter(|n| n.kind == LabNodeKind::Switch) {
        join(switches[node.name.as_str()], 1, &node.name, "br0", node.mac);
    }
    for (number, cable) in cables.iter().enumerate() {
        for end in [&cable.a, &cable.b] {
            match kinds.get(end.node.as_str()) {
                Some(LabNodeKind::Host) => {
                    join(switches.len() + number, 0, &end.node, &end.port, mac(end))
                }
                Some(kind) if *kind == LabNodeKind::Router || !end.is_bridged() => {
                    join(switches.len() + number, 2, &end.node, &end.port, mac(end))
                }
                _ => {}
            }
        }
    }
    members
        .into_iter()
        .enumerate()
        .map(|(number, groups)| addressed(number, groups))
        .collect()
}

/// The parts of switches (by number) and cables (numbered after them) that frames cross. A cable
/// belongs to each switch it ends at; frames end at hosts and routers.
fn joined_by_switches(switches: &HashMap<&str, usize>, cables: &[LabCable]) -> UnionFind<usize> {
    let mut parts = UnionFind::new(switches.len() + cables.len());
    for (number, cable) in cables.iter().enumerate() {
        for end in [&cable.a, &cable.b] {
            let bridge = switches.get(end.node.as_str());
            if let Some(&switch) = bridge.filter(|_| end.is_bridged()) {
                parts.union(switches.len() + number, switch);
            }
        }
    }
    parts
}

/// Gives each of a segment's hosts, switches and routers' ports its address.
fn addressed(number: usize, groups: [Vec<SegmentMember>; 3]) -> LabResult<LabSegment> {
    let third = u8::try_from(number).map_err(|_| {
        LabError::Refused("segments: more than 256; the lab has no more addresses".into())
    })?;
    let mut members: Vec<SegmentMember> = Vec::new();
    for (group, ((first, most), what)) in groups.into_iter().zip([
        (HOSTS, "hosts"),
        (SWITCHES, "switches"),
        (ROUTERS, "router ports"),
    ]) {
        if let Some(over) = group.get(most) {
            return Err(LabError::Refused(format!(
                "segment of \"{}\": more than {most} {what} without a router between; the lab has \
                 no more addresses there",
                over.node
            )));
        }
        members.extend(
            group
                .into_iter()
                .zip(first..)
                .map(|(m, last)| SegmentMember {
                    address: Ipv4Addr::new(10, 77, third, last),
                    ..m
                }),
        );
    }
    let mut seen = HashSet::new();
    match members.iter().find(|m| !seen.insert(&m.node)) {
        Some(twice) => Err(LabError::Refused(format!(
            "router \"{}\": two cables into one segment give it two addresses there; put a router \
             between, or leave a cable out",
            twice.node
        ))),
        None => Ok(LabSegment {
            name: None,
            network: Ipv4Addr::new(10, 77, third, 0),
            prefix: 24,
            members,
        }),
    }
}

/// The routes over the fewest routers from a node to every segment that it is not in. Of equal ones it is
/// the first in the segment's order, or all that are ways beside each other. A cable that is cut is none.
pub(super) fn routes(plan: &LabPlan, from: &str) -> Vec<SegmentRoute> {
    let routers: HashSet<&str> = plan
        .nodes
        .iter()
        .filter(|node| plan.forwards(node))
        .map(|node| node.name.as_str())
        .collect();
    let cut = ports_of(plan, |cable| cable.cut);
    let spreading = ports_of(plan, |cable| cable.spreads);
    let is_there = |m: &&SegmentMember| !cut.contains(&(m.node.as_str(), m.port.as_str()));
    let places: Vec<_> = plan.places(from).filter(|(_, m)| is_there(m)).collect();
    let mut routes = Vec::new();
    for target in &plan.segments {
        if plan.places(from).any(|(own, _)| own == target) {
            continue;
        }
        let distance = distances(plan, &routers, &cut, target);
        let mut hops: Vec<(u32, &SegmentMember, &SegmentMember)> = Vec::new();
        for (segment, own) in &places {
            let beside = segment.members.iter().filter(is_there);
            for next in beside.filter(|m| m.node != from) {
                let distance = distance.get(next.node.as_str());
                hops.extend(distance.map(|distance| (*distance, next, *own)));
            }
        }
        let Some(&(least, _, first)) = hops.iter().min_by_key(|(distance, ..)| *distance) else {
            continue;
        };
        hops.retain(|(distance, ..)| *distance == least);
        let spreads = |own: &SegmentMember| spreading.contains(&(from, own.port.as_str()));
        if spreads(first) {
            hops.retain(|(_, _, own)| spreads(own));
        } else {
            hops.truncate(1);
        }
        routes.push(SegmentRoute {
            network: target.network,
            prefix: target.prefix,
            hops: hops
                .into_iter()
                .map(|(_, next, own)| NextHop {
                    via: next.address,
                    port: own.port.clone(),
                    source: own.address,
                })
                .collect(),
        });
    }
    routes
}

/// The ends of some cables: node and port.
fn ports_of(plan: &LabPlan, of: impl Fn(&LabCable) -> bool) -> HashSet<(&str, &str)> {
    let cables = plan.cables.iter().filter(|cable| of(cable));
    let ends = cables.flat_map(|cable| [&cable.a, &cable.b]);
    ends.map(|end| (end.node.as_str(), end.port.as_str()))
        .collect()
}

/// The number of routers that a packet passes from each router to a segment, that router included.
fn distances<'a>(
    plan: &'a LabPlan,
    routers: &HashSet<&str>,
    cut: &HashSet<(&str, &str)>,
    target: &'a LabSegment,
) -> HashMap<&'a str, u32> {
    let is_joined = |m: &&SegmentMember| {
        routers.contains(m.node.as_str()) && !cut.contains(&(m.node.as_str(), m.port.as_str()))
    };
    let mut distance: HashMap<&str, u32> = HashMap::new();
    let mut open = VecDeque::from([(target, 1)]);
    while let Some((segment, passed)) = open.pop_front() {
        for router in segment.members.iter().filter(is_joined) {
            if distance.contains_key(router.node.as_str()) {
                continue;
            }
            distance.insert(&router.node, passed);
            let places = plan.places(&router.node).filter(|(_, m)| is_joined(m));
            open.extend(places.map(|(segment, _)| (segment, passed + 1)));
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::super::{LabOptions, LabPlan};
    use inventory::TopologyFile;

    fn plan(text: &str) -> crate::LabResult<LabPlan> {
        LabPlan::new(
            &TopologyFile::parse("t.yaml", text).unwrap(),
            LabOptions::default(),
        )
    }

    /// s0 - r0 - r1 - s1 with a host h2 at r1, and r2 as a longer way round.
    const ROW: &str = "
switches: [s0, s1, s2]
routers: [r0, r1, r2]
hosts: {h0: {switch: s0}, h1: {switch: s1}, h2: {switch: r1}, h3: {switch: s2}}
links:
  - {a: s0, b: r0}
  - {a: r0, b: r1, delay: 10ms}
  - {a: r1, b: s1}
  - {a: s1, b: s2}
  - {a: r0, b: r2}
  - {a: r2, b: s2}
";

    #[test]
    fn a_segment_is_what_switches_join() {
        let plan = plan(ROW).unwrap();
        let shown: Vec<String> = plan
            .segments
            .iter()
            .map(|s| {
                s.members
                    .iter()
                    .map(|m| format!("{}:{}={}", m.node, m.port, m.address))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(
            shown,
            [
                "h0:eth0=10.77.0.1 s0:br0=10.77.0.201 r0:ge1=10.77.0.241",
                "h1:eth0=10.77.1.1 h3:eth0=10.77.1.2 s1:br0=10.77.1.201 s2:br0=10.77.1.202 \
                 r1:ge2=10.77.1.241 r2:ge2=10.77.1.242",
                "r0:ge2=10.77.2.241 r1:ge1=10.77.2.242",
                "r0:ge3=10.77.3.241 r2:ge1=10.77.3.242",
                "h2:eth0=10.77.4.1 r1:ge3=10.77.4.241",
            ]
        );
        assert_eq!(
            plan.node("h3").unwrap().data,
            Some("10.77.1.2".parse().unwrap())
        );
        let mut macs: Vec<_> = plan
            .segments
            .iter()
            .flat_map(|s| s.members.iter().map(|m| m.mac))
            .collect();
        macs.sort();
        macs.dedup();
        assert_eq!(macs.len(), 15);
    }

    #[test]
    fn routes_take_the_fewest_routers() {
        let plan = plan(ROW).unwrap();
        assert_eq!(
            routes_of("h0", &plan),
            ["10.77.1.0", "10.77.2.0", "10.77.3.0", "10.77.4.0"]
                .map(|n| format!("{n} 10.77.0.241 eth0"))
        );
        assert_eq!(
            routes_of("h1", &plan),
            [
                "10.77.0.0 10.77.1.241 eth0",
                "10.77.2.0 10.77.1.241 eth0",
                "10.77.3.0 10.77.1.242 eth0",
                "10.77.4.0 10.77.1.241 eth0"
            ]
        );
        assert_eq!(
            routes_of("r0", &plan),
            ["10.77.1.0 10.77.2.242 ge2", "10.77.4.0 10.77.2.242 ge2"]
        );
        assert_eq!(
            routes_of("r2", &plan),
            [
                "10.77.0.0 10.77.3.241 ge1",
                "10.77.2.0 10.77.1.241 ge2",
                "10.77.4.0 10.77.1.241 ge2"
            ]
        );
        let plain =
            self::plan("switches: [s0, s1]\nhosts: {h0: {switch: s0}, h1: {switch: s1}}").unwrap();
        assert_eq!(
            (plain.segments.len(), plain.routes("h0").len()),
            (1, 0),
            "without routers nothing is parted"
        );
    }

    fn routes_of(node: &str, plan: &LabPlan) -> Vec<String> {
        let all = plan.routes(node);
        all.iter()
            .map(|r| {
                let hops = r
                    .hops
                    .iter()
                    .map(|hop| format!(" {} {}", hop.via, hop.port));
                format!("{}{}", r.network, hops.collect::<String>())
            })
            .collect::<Vec<_>>()
    }

    #[test]
    fn refuses_what_it_has_no_addresses_for() {
        let twice = "switches: [s0, s1]\nrouters: [r0]\nhosts: {h0: {switch: s0}}\nlinks: \
                     [{a: s0, b: s1}, {a: s0, b: r0}, {a: r0, b: s1}]";
        assert!(
            refused(twice).starts_with("router \"r0\": two cables into one segment"),
            "{}",
            refused(twice)
        );
        let hosts: String = (0..201)
            .map(|h| format!("h{h}: {{switch: s0}}, "))
            .collect();
        let many =
            format!("switches: [s0]\nrouters: [r0]\nhosts: {{{hosts}}}\nlinks: [{{a: s0, b: r0}}]");
        assert!(
            refused(&many).starts_with("segment of \"h200\": more than 200 hosts"),
            "{}",
            refused(&many)
        );
    }

    fn refused(text: &str) -> String {
        plan(text).unwrap_err().to_string()
    }

    const FABRIC: &str = "
switches: [leaf1, leaf2]
routers: [spine1, spine2]
hosts: {n0: {switch: leaf1}, n1: {switch: leaf2}}
links:
  - {a: leaf1, b: spine1, state: multipath}
  - {a: leaf1, b: spine2, state: multipath}
  - {a: leaf2, b: spine1, state: multipath}
  - {a: leaf2, b: spine2, state: multipath}
";

    #[test]
    fn a_leaf_routes_over_all_spines_that_lead_on() {
        let mut plan = plan(FABRIC).unwrap();
        assert_eq!(ports_to_n1(&plan, "leaf1"), ["ge1", "ge2"]);
        assert_eq!(ports_to_n1(&plan, "n0"), ["eth0"]);
        assert_eq!(ports_to_n1(&plan, "spine2"), ["ge2"]);
        let cut = plan.cables.iter_mut().find(|c| c.joins("leaf2", "spine1"));
        cut.unwrap().cut = true;
        assert_eq!(ports_to_n1(&plan, "leaf1"), ["ge2"]);
        assert_eq!(
            ports_to_n1(&plan, "spine1"),
            ["ge1"],
            "back over the other leaf's ways"
        );
    }

    fn ports_to_n1(plan: &LabPlan, from: &str) -> Vec<String> {
        let there = plan.node("n1").unwrap().data.unwrap().octets()[2];
        let routes = plan.routes(from).into_iter();
        let mut found = routes.filter(|r| r.network.octets()[2] == there);
        found.next().map_or_else(Vec::new, |route| {
            route.hops.iter().map(|hop| hop.port.clone()).collect()
        })
    }
}
