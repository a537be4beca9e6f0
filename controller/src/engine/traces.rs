//! The flows that hosts' agents trace through a routed fabric, so that a withdrawn route is seen.
//!
//! Source: own. Input: the network, and hosts with address whose agents report. Guarantee: flows go from each
//! leaf to all others, or to the next [`MOST_LEAVES`] in the order of names, if the leaf chooses among several
//! links; so many that chance leaves none out ([`telling_flows`]). The same input gives the same answer. Cost:
//! a pass over the fabric for each leaf.
use super::directions::{DirectedHost, DirectionsByHost};
use inventory::evidence::{Evidence, SideBySide};
use inventory::host_report::{MOST_FLOWS, TraceTarget, telling_flows};
use inventory::stages::choices::{RouterDistances, RouterGraph};
use inventory::topology::{Link, Topology};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// A leaf's hosts trace flows to so many others at most.
const MOST_LEAVES: usize = 8;

/// Adds the hosts to which each host traces flows.
pub(super) fn assign_traces(
    assignment: &mut DirectionsByHost,
    subjects: &[DirectedHost<'_>],
    topology: &Topology,
) {
    let ways = topology
        .links
        .iter()
        .filter(|link| is_routed_way(link))
        .map(|link| [link.a.as_str(), link.b.as_str()]);
    let fabric = RouterGraph::new(ways.enumerate());
    let leaves: Vec<(&str, Vec<(&str, IpAddr)>)> = leaves(subjects, topology).into_iter().collect();
    let distances: Vec<RouterDistances<&str>> = leaves
        .iter()
        .map(|(leaf, _)| fabric.distances(leaf))
        .collect();
    for (at, (leaf, hosts)) in leaves.iter().enumerate() {
        let others = (1..leaves.len()).map(|next| (at + next) % leaves.len());
        for (number, other) in others.take(MOST_LEAVES).enumerate() {
            let ways = fabric.choice(leaf, &distances[other]).len();
            let targets = &leaves[other].1;
            let flows = telling_flows(ways);
            if ways < 2 || flows > MOST_FLOWS {
                continue;
            }
            let (host, address) = targets[at % targets.len()];
            let tracing = hosts[number % hosts.len()].0;
            if let Some(directions) = assignment.get_mut(tracing) {
                directions.traces.push(TraceTarget {
                    host: host.to_owned(),
                    address,
                    flows,
                });
            }
        }
    }
}

/// The hosts with an address on each switch whose agents trace flows, without those on several.
fn leaves<'a>(
    subjects: &[DirectedHost<'a>],
    topology: &'a Topology,
) -> BTreeMap<&'a str, Vec<(&'a str, IpAddr)>> {
    let mut switches: HashMap<&str, Vec<&str>> = HashMap::new();
    for link in &topology.links {
        switches.entry(&link.b).or_default().push(&link.a);
    }
    let mut leaves: BTreeMap<&str, Vec<(&str, IpAddr)>> = BTreeMap::new();
    for subject in subjects.iter().filter(|subject| subject.traces) {
        if let (Some([leaf]), Some(address)) = (
            switches.get(subject.name).map(Vec::as_slice),
            subject.address,
        ) {
            leaves
                .entry(leaf)
                .or_default()
                .push((subject.name, address));
        }
    }
    leaves
}

/// True for one of several ways through routers, also while no route leads over it.
fn is_routed_way(link: &Link) -> bool {
    link.evidence.iter().any(|evidence| {
        matches!(
            evidence,
            Evidence::SideBySide(SideBySide::Routed(_)) | Evidence::Untraversed { .. }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::directions::assign_probes;
    use super::*;
    use inventory::topology::LinkState;

    fn network(leaves: usize, spines: usize, each: usize) -> Topology {
        let mut topology = Topology::default();
        for leaf in 0..leaves {
            for spine in 0..spines {
                let spine = format!("spine{spine}");
                let evidence = SideBySide::Routed(vec![spine.clone()]);
                topology.links.push(Link {
                    state: LinkState::Multipath,
                    evidence: vec![Evidence::SideBySide(evidence)],
                    ..Link::new(format!("leaf{leaf:02}"), "up", spine, "down")
                });
            }
            for host in leaf * each..(leaf + 1) * each {
                let host = format!("n{host:03}");
                let link = Link::new(format!("leaf{leaf:02}"), "down", host, "eth0");
                topology.links.push(link);
            }
        }
        topology
    }

    /// From which host flows go to which, and how many.
    fn traced(topology: &Topology, hosts: usize) -> Vec<(String, String, u16)> {
        traced_beside(topology, hosts, "")
    }

    /// The same where the agent of one host is of a version that traces no flows.
    fn traced_beside(topology: &Topology, hosts: usize, old: &str) -> Vec<(String, String, u16)> {
        let names: Vec<String> = (0..hosts).map(|host| format!("n{host:03}")).collect();
        let subjects: Vec<DirectedHost<'_>> = (0_u8..)
            .zip(&names)
            .map(|(number, name)| DirectedHost {
                segment: String::new(),
                name,
                address: Some([10, 0, 0, number].into()),
                reports: true,
                traces: name != old,
            })
            .collect();
        let mut assignment = assign_probes(subjects.clone(), 0);
        assign_traces(&mut assignment, &subjects, topology);
        let all = assignment.into_iter();
        all.flat_map(|(from, directions)| {
            let traces = directions.traces.into_iter();
            traces.map(move |to| (from.clone(), to.host, to.flows))
        })
        .collect()
    }

    #[test]
    fn each_leaf_traces_flows_to_others_by_hosts_in_turn() {
        let mut topology = network(3, 2, 2);
        let expected = [
            ("n000", "n002", 20),
            ("n001", "n004", 20),
            ("n002", "n005", 20),
            ("n003", "n001", 20),
            ("n004", "n000", 20),
            ("n005", "n002", 20),
        ];
        let expected = expected.map(|(from, to, flows)| (from.to_owned(), to.to_owned(), flows));
        assert_eq!(traced(&topology, 6), expected);
        topology.links[0].state = LinkState::Blocked;
        topology.links[0].evidence = vec![Evidence::Untraversed {
            flows: 20,
            from: "leaf00".into(),
            to: "leaf01".into(),
        }];
        assert_eq!(traced(&topology, 6), expected, "the route may come back");
        topology.links.remove(0);
        let left: Vec<String> = traced(&topology, 6)
            .into_iter()
            .map(|(from, ..)| from)
            .collect();
        assert_eq!(left, ["n002", "n005"], "the others have no choice");
    }

    #[test]
    fn an_agent_that_traces_no_flows_is_not_asked() {
        let traces = traced_beside(&network(2, 2, 2), 4, "n000");
        let mut hosts = traces.iter().flat_map(|(from, to, _)| [from, to]);
        assert!(
            traces.len() == 2 && hosts.all(|host| host != "n000"),
            "{traces:?}"
        );
    }

    #[test]
    fn the_number_of_traces_is_bounded() {
        let traces = traced(&network(32, 16, 2), 64);
        assert_eq!(traces.len(), 32 * MOST_LEAVES);
        assert!(traces.iter().all(|(.., flows)| *flows == telling_flows(16)));
        assert_eq!(traced(&network(2, 64, 1), 2), [], "too many ways");
    }
}
