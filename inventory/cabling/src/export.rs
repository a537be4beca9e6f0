//! A topology in the forms for other programs and for people.
mod graphviz;
mod slurm;

pub use graphviz::dot;
pub use slurm::{slurm, slurm_yaml};

use indexmap::IndexMap;
use inventory::name_ranges::fold;
use inventory::natural_order::natural;
use inventory::topology::{Link, LinkGrade, LinkState, Node, NodeKind, Topology};
use inventory::{BitsPerSec, counted, end_name};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// The network as a drawing of a tree: switches from the root bridge down over links that carry
/// frames, each line with port, rate and name. Then come the links that carry no frames, then hosts
/// without a place. Several networks are drawn one after the other.
pub fn text(topology: &Topology) -> String {
    let mut out = String::new();
    for network in &topology.networks {
        if let Ok(one) = topology.in_network(&network.name) {
            let gap = if out.is_empty() { "" } else { "\n" };
            let hosts = counted(network.hosts.len() as u64, "host");
            let _ = writeln!(out, "{gap}network {}: {hosts}", network.name);
            // A network that is read of an epoch has others only by name.
            let is_there = topology.kind(&network.switches[0]).is_some();
            out.push_str(&if is_there {
                tree(&one)
            } else {
                "not drawn here\n".to_owned()
            });
        }
    }
    if out.is_empty() { tree(topology) } else { out }
}

/// The drawing of one network.
pub fn tree(topology: &Topology) -> String {
    let stages = topology.stages();
    let mut drawing = TreeDrawing {
        topology,
        stages: &stages,
        out: String::new(),
        drawn: HashSet::new(),
        used: HashSet::new(),
    };
    // From the middle of a fabric: from a leaf, the drawing would turn over when a spine is
    // drained.
    for name in topology.roots() {
        let node = drawing.node(name);
        if drawing.drawn.insert(node) {
            let _ = writeln!(drawing.out, "{node}{}", drawing.remark(node));
            drawing.below(node, "");
        }
    }
    let TreeDrawing {
        mut out,
        used,
        drawn,
        ..
    } = drawing;
    let others: Vec<&Link> = topology
        .links
        .iter()
        .enumerate()
        .filter(|(i, _)| !used.contains(i))
        .map(|(_, l)| l)
        .collect();
    write_others(&mut out, &others, &stages);
    write_clusters(&mut out, topology);
    let lost: Vec<&str> = topology
        .names(NodeKind::Host)
        .filter(|h| !drawn.contains(h) && !others.iter().any(|l| l.b == **h))
        .collect();
    if !lost.is_empty() {
        let _ = writeln!(out, "\nseen nowhere\n   {}", lost.join(", "));
    }
    out
}

/// The links that are not in the tree.
fn write_others(out: &mut String, links: &[&Link], stages: &HashMap<&str, String>) {
    for (i, link) in links.iter().enumerate() {
        let head = if i == 0 { "\nnot in the tree\n" } else { "" };
        let _ = writeln!(
            out,
            "{head}   {} - {}  {}  {}",
            end_name(&link.a, &link.a_port),
            end_name(&link.b, &link.b_port),
            link.rate_bps,
            why_not(link, stages)
        );
    }
}

/// The clusters with their reasons, if there are several.
fn write_clusters(out: &mut String, topology: &Topology) {
    if topology.clusters.len() < 2 {
        return;
    }
    out.push_str("\nclusters\n");
    for cluster in &topology.clusters {
        let hosts = fold(cluster.hosts.clone());
        let _ = writeln!(out, "   {}: {hosts}", cluster.name);
        for reason in &cluster.reasons {
            let _ = writeln!(out, "      {reason}");
        }
    }
}

/// An unfinished drawing of a tree. Its nodes are stages, and switches and hosts that are in none.
struct TreeDrawing<'a> {
    topology: &'a Topology,
    stages: &'a HashMap<&'a str, String>,
    out: String,
    drawn: HashSet<&'a str>,
    used: HashSet<usize>,
}

/// The links that lead from a drawn node to one other.
struct Branch<'a> {
    node: &'a str,
    /// Their numbers.
    links: Vec<usize>,
    /// The ports at the drawn node.
    ports: Vec<String>,
    far_port: &'a str,
}

impl Branch<'_> {
    /// The ports' names; those of several switches may be equal.
    fn ports(&self) -> String {
        let mut ports = self.ports.clone();
        ports.sort_unstable();
        ports.dedup();
        fold(ports)
    }
}

impl<'a> TreeDrawing<'a> {
    /// The stage of a switch, or the node itself.
    fn node(&self, name: &'a str) -> &'a str {
        self.stages.get(name).map_or(name, String::as_str)
    }

    fn below(&mut self, node: &'a str, indent: &str) {
        let down = self.branches(node);
        let width = down
            .iter()
            .map(|branch| branch.ports().chars().count())
            .max()
            .unwrap_or_default();
        for (n, branch) in down.iter().enumerate() {
            // Where links close a loop, a branch above has led here already.
            if !self.drawn.insert(branch.node) {
                continue;
            }
            self.used.extend(&branch.links);
            let last = n + 1 == down.len();
            let (edge, deeper) = if last {
                ("└─", "   ")
            } else {
                ("├─", "│  ")
            };
            let links = branch.links.iter().map(|i| &self.topology.links[*i]);
            let rate = links
                .clone()
                .map(|link| link.rate_bps.0)
                .fold(0, u64::saturating_add);
            let sure = match links.clone().any(|link| link.grade == LinkGrade::Inferred) {
                true => "  inferred",
                false => "",
            };
            let ways = match branch.links.len() {
                1 => String::new(),
                ways => format!("  {ways} ways"),
            };
            let _ = writeln!(
                self.out,
                "{indent}{edge} {:width$} {:>5}  {}{}{ways}{sure}",
                branch.ports(),
                BitsPerSec(rate),
                end_name(branch.node, branch.far_port),
                self.remark(branch.node)
            );
            self.below(branch.node, &format!("{indent}{deeper}"));
        }
    }

    /// The branches of a node to others that are not drawn yet, by their ports.
    fn branches(&self, node: &'a str) -> Vec<Branch<'a>> {
        let mut found: IndexMap<&str, Branch<'a>> = IndexMap::new();
        let links = self.topology.links.iter().enumerate();
        for (i, link) in links.filter(|(_, link)| link.carries_frames()) {
            let [a, b] = [&link.a, &link.b].map(|name| self.node(name));
            let (far, port, far_port) = match () {
                () if a == b => continue,
                () if a == node => (b, &link.a_port, &link.b_port),
                () if b == node => (a, &link.b_port, &link.a_port),
                () => continue,
            };
            if self.drawn.contains(far) {
                continue;
            }
            let branch = found.entry(far).or_insert_with(|| Branch {
                node: far,
                links: Vec::new(),
                ports: Vec::new(),
                far_port,
            });
            // Of several links only those side by side go together; others stand below the tree.
            if branch.links.is_empty() || link.state == LinkState::Multipath {
                branch.links.push(i);
                branch.ports.push(port.clone());
            }
            if branch.links.len() > 1 {
                branch.far_port = "";
            }
        }
        let mut branches: Vec<Branch<'a>> = found.into_values().collect();
        branches.sort_by_cached_key(|branch| {
            let first = branch.ports.iter().map(|port| natural(port)).min();
            (first, natural(branch.node))
        });
        branches
    }

    fn remark(&self, node: &str) -> String {
        let nodes = self.topology.nodes.iter();
        let members: Vec<&Node> = nodes
            .filter(|member| self.node(&member.name) == node)
            .collect();
        let root = members
            .iter()
            .find(|member| self.topology.is_root_bridge(&member.name))
            .map_or("", |_| "  root bridge");
        let stale = members.iter().find(|n| n.stale).map_or("", |_| "  stale");
        let kind = match members.first().map(|member| member.kind) {
            Some(NodeKind::Router) => "  router",
            Some(NodeKind::Unmanaged) => "  unmanaged",
            _ => "",
        };
        format!("{root}{kind}{stale}")
    }
}

fn why_not(link: &Link, stages: &HashMap<&str, String>) -> &'static str {
    let [a, b] = [&link.a, &link.b].map(|end| stages.get(end.as_str()));
    match (link.grade, link.state) {
        _ if a.is_some() && a == b => "between switches side by side",
        (LinkGrade::Ambiguous, _) => "ambiguous",
        (_, LinkState::Blocked) => "blocked",
        (_, LinkState::Unknown) => "STP state unknown",
        (_, LinkState::Forwarding) => "closes a loop",
        (_, LinkState::Multipath) => "one of several ways",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    use inventory::cluster_reason::ClusterReason;
    use inventory::topology::Cluster;

    pub(super) fn sample() -> Topology {
        let mut nodes: Vec<Node> = ["s0", "s1", "s2"].map(|s| node(s, NodeKind::Switch)).into();
        nodes.extend(["n0", "n1", "n2", "n3", "n4"].map(|n| node(n, NodeKind::Host)));
        let f = LinkState::Forwarding;
        let links = vec![
            link("s0", "swp1", "s1", "swp1", f),
            link("s0", "swp2", "s2", "swp1", f),
            link("s0", "swp10", "n0", "eth0", f),
            link("s1", "swp2", "s2", "swp2", LinkState::Blocked),
            link("s1", "swp5", "n1", "eth0", f),
            link("s1", "swp6", "n2", "eth0", f),
            link("s2", "swp5", "n3", "", f),
        ];
        Topology {
            nodes,
            links,
            root_bridge: Some("s0".into()),
            ..Topology::default()
        }
    }

    fn node(name: &str, kind: NodeKind) -> Node {
        Node {
            name: name.into(),
            kind,
            chassis: None,
            stale: name == "s2",
        }
    }

    fn link(a: &str, a_port: &str, b: &str, b_port: &str, state: LinkState) -> Link {
        Link {
            state,
            grade: if b == "n3" {
                LinkGrade::Inferred
            } else {
                LinkGrade::Certain
            },
            ..Link::new(a, a_port, b, b_port)
        }
    }

    #[test]
    fn the_drawing_shows_the_whole_network() {
        let expected = "\
s0  root bridge
├─ swp1     1G  s1 (swp1)
│  ├─ swp5    1G  n1 (eth0)
│  └─ swp6    1G  n2 (eth0)
├─ swp2     1G  s2 (swp1)  stale
│  └─ swp5    1G  n3  inferred
└─ swp10    1G  n0 (eth0)

not in the tree
   s1 (swp2) - s2 (swp2)  1G  blocked

seen nowhere
   n4
";
        assert_eq!(text(&sample()), expected);
    }

    #[test]
    fn several_clusters_are_reported_with_their_reasons() {
        let mut t = sample();
        t.clusters = vec![
            cluster("west", &["n0", "n1", "n2"], ClusterReason::Stated),
            cluster("east", &["n3"], ClusterReason::OneSwitch("s2".into())),
        ];
        let clusters = "\nclusters\n   west: n[0-2]\n      stated in the inventory\n   east: \
                    n3\n      hosts on s2\n";
        assert!(text(&t).contains(clusters), "{}", text(&t));
    }

    fn cluster(name: &str, hosts: &[&str], why: ClusterReason) -> Cluster {
        Cluster {
            name: name.into(),
            hosts: hosts.iter().map(|h| (*h).into()).collect(),
            reasons: vec![why],
        }
    }

    #[test]
    fn a_loop_ends_the_drawing_not_the_program() {
        let mut t = sample();
        t.links[3].state = LinkState::Forwarding;
        assert!(text(&t).contains("closes a loop"), "{}", text(&t));
    }

    #[test]
    fn what_is_side_by_side_is_one_node_with_the_sum_of_its_ways() {
        let spines = ["t1", "t2", "t3"].map(|name| Node::new(name, NodeKind::Router));
        let leaves = ["l1", "l2"].map(|name| Node::new(name, NodeKind::Switch));
        let ways = ["l1", "l2"].map(|leaf| (1..=3).map(move |n| way(leaf, n, &format!("t{n}"))));
        let hosts = ["n0", "n1"].map(|name| Node::new(name, NodeKind::Host));
        let uplinks = [cable_to_host("l1", "n0"), cable_to_host("l2", "n1")];
        let topology = Topology {
            nodes: leaves.into_iter().chain(spines).chain(hosts).collect(),
            links: ways.into_iter().flatten().chain(uplinks).collect(),
            ..Topology::default()
        };
        assert_eq!(
            text(&topology),
            "t[1-3]  router\n├─ down-l1  120G  l1  3 ways\n│  └─ up9   40G  n0 (eth0)\n└─ down-l2  120G  l2  3 ways\n   └─ up9   40G  n1 (eth0)\n"
        );
    }

    fn way(leaf: &str, port: u32, spine: &str) -> Link {
        Link {
            rate_bps: BitsPerSec(40_000_000_000),
            state: LinkState::Multipath,
            ..Link::new(leaf, format!("up{port}"), spine, format!("down-{leaf}"))
        }
    }

    fn cable_to_host(leaf: &str, host: &str) -> Link {
        Link {
            b: host.into(),
            b_port: "eth0".into(),
            state: LinkState::Forwarding,
            ..way(leaf, 9, "t1")
        }
    }
}
