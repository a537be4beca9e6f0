//! A topology in the forms for other programs and for people.
mod graphviz;
mod slurm;

pub use graphviz::dot;
pub use slurm::{slurm, slurm_yaml};

use inventory::counted;
use inventory::name_ranges::fold;
use inventory::natural_order::natural;
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind, Topology};
use std::collections::HashSet;
use std::fmt::Write;

/// The network as a drawing of a tree: switches from the root bridge down over links that carry
/// frames, each line with port, rate and name. Then come the links that carry no frames, then hosts
/// without a place. Several networks are drawn one after the other.
pub fn text(topology: &Topology) -> String {
    let mut out = String::new();
    for network in &topology.networks {
        if let Ok(one) = topology.clone().in_network(&network.name) {
            let gap = if out.is_empty() { "" } else { "\n" };
            let hosts = counted(network.hosts.len() as u64, "host");
            let _ = writeln!(out, "{gap}network {}: {hosts}", network.name);
            // An epoch knows others only by name.
            let is_there = topology.kind(&network.switches[0]).is_some();
            out.push_str(&if is_there {
                tree(&one)
            } else {
                "not in this epoch\n".to_owned()
            });
        }
    }
    if out.is_empty() { tree(topology) } else { out }
}

/// The drawing of one network.
pub fn tree(topology: &Topology) -> String {
    let mut drawing = TreeDrawing {
        topology,
        out: String::new(),
        drawn: HashSet::new(),
        used: HashSet::new(),
    };
    let inner = topology
        .nodes
        .iter()
        .filter(|n| n.kind != NodeKind::Host)
        .map(|n| n.name.as_str());
    let roots = topology
        .root_bridge
        .iter()
        .chain(&topology.further_root_bridges)
        .map(String::as_str);
    for name in roots.chain(inner) {
        if drawing.drawn.insert(name) {
            let _ = writeln!(drawing.out, "{name}{}", drawing.remark(name));
            drawing.below(name, "");
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
    write_others(&mut out, &others);
    write_clusters(&mut out, topology);
    let lost: Vec<&str> = topology
        .of(NodeKind::Host)
        .filter(|h| !drawn.contains(h) && !others.iter().any(|l| l.b == **h))
        .collect();
    if !lost.is_empty() {
        let _ = writeln!(out, "\nseen nowhere\n   {}", lost.join(", "));
    }
    out
}

/// The links that are not in the tree.
fn write_others(out: &mut String, links: &[&Link]) {
    for (i, link) in links.iter().enumerate() {
        let head = if i == 0 { "\nnot in the tree\n" } else { "" };
        let _ = writeln!(
            out,
            "{head}   {} - {}  {}  {}",
            end(&link.a, &link.a_port),
            end(&link.b, &link.b_port),
            link.rate_bps,
            why_not(link)
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

/// An unfinished drawing of a tree.
struct TreeDrawing<'a> {
    topology: &'a Topology,
    out: String,
    drawn: HashSet<&'a str>,
    used: HashSet<usize>,
}

impl<'a> TreeDrawing<'a> {
    fn below(&mut self, name: &'a str, indent: &str) {
        let links = self
            .topology
            .links
            .iter()
            .enumerate()
            .filter(|(_, l)| l.carries_frames());
        let mut down: Vec<(usize, &str, &str, &str)> = links
            .filter_map(|(i, l)| match () {
                () if l.a == name => Some((i, l.a_port.as_str(), l.b.as_str(), l.b_port.as_str())),
                () if l.b == name => Some((i, l.b_port.as_str(), l.a.as_str(), l.a_port.as_str())),
                () => None,
            })
            .filter(|(_, _, other, _)| !self.drawn.contains(other))
            .collect();
        down.sort_by_cached_key(|(_, port, other, _)| (natural(port), natural(other)));
        let width = down
            .iter()
            .map(|(_, port, ..)| port.chars().count())
            .max()
            .unwrap_or_default();
        for (n, (i, port, other, far)) in down.iter().enumerate() {
            if !self.drawn.insert(other) {
                continue;
            }
            self.used.insert(*i);
            let last = n + 1 == down.len();
            let (branch, deeper) = if last {
                ("└─", "   ")
            } else {
                ("├─", "│  ")
            };
            let link = &self.topology.links[*i];
            let sure = if link.grade == LinkGrade::Inferred {
                "  inferred"
            } else {
                ""
            };
            let _ = writeln!(
                self.out,
                "{indent}{branch} {port:width$} {:>5}  {}{}{sure}",
                link.rate_bps,
                end(other, far),
                self.remark(other)
            );
            self.below(other, &format!("{indent}{deeper}"));
        }
    }

    fn remark(&self, name: &str) -> String {
        let root = if self.topology.is_root_bridge(name) {
            "  root bridge"
        } else {
            ""
        };
        let node = self.topology.nodes.iter().find(|n| n.name == name);
        let stale = if node.is_some_and(|n| n.stale) {
            "  stale"
        } else {
            ""
        };
        let kind = match node.map(|n| n.kind) {
            Some(NodeKind::Router) => "  router",
            Some(NodeKind::Unmanaged) => "  unmanaged",
            _ => "",
        };
        format!("{root}{kind}{stale}")
    }
}

fn end(name: &str, port: &str) -> String {
    if port.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({port})")
    }
}

fn why_not(link: &Link) -> &'static str {
    match (link.grade, link.state) {
        (LinkGrade::Ambiguous, _) => "ambiguous",
        (_, LinkState::Blocked) => "blocked",
        (_, LinkState::Unknown) => "STP state unknown",
        (_, LinkState::Forwarding) => "closes a loop",
        (_, LinkState::Multipath) => "flows spread over it, too",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use inventory::BitsPerSec;
    use inventory::topology::{Cluster, Node};

    pub(super) fn sample() -> Topology {
        let node = |name: &str, kind| Node {
            name: name.into(),
            kind,
            chassis: None,
            stale: name == "s2",
        };
        let link = |a: &str, a_port: &str, b: &str, b_port: &str, state| Link {
            a: a.into(),
            a_port: a_port.into(),
            b: b.into(),
            b_port: b_port.into(),
            members: vec![],
            rate_bps: BitsPerSec::GIGABIT,
            state,
            grade: if b == "n3" {
                LinkGrade::Inferred
            } else {
                LinkGrade::Certain
            },
            evidence: vec![],
        };
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
            clusters: vec![],
            alarms: vec![],
            root_bridge: Some("s0".into()),
            further_root_bridges: vec![],
            networks: vec![],
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
    fn several_clusters_are_told_with_their_reasons() {
        use inventory::cluster_reason::ClusterReason;
        let mut t = sample();
        let cluster = |name: &str, hosts: &[&str], why: ClusterReason| Cluster {
            name: name.into(),
            hosts: hosts.iter().map(|h| (*h).into()).collect(),
            reasons: vec![why],
        };
        t.clusters = vec![
            cluster("west", &["n0", "n1", "n2"], ClusterReason::Stated),
            cluster("east", &["n3"], ClusterReason::OneSwitch("s2".into())),
        ];
        let told = "\nclusters\n   west: n[0-2]\n      stated in the inventory\n   east: \
                    n3\n      hosts on s2\n";
        assert!(text(&t).contains(told), "{}", text(&t));
    }

    #[test]
    fn a_loop_ends_the_drawing_not_the_program() {
        let mut t = sample();
        t.links[3].state = LinkState::Forwarding;
        assert!(text(&t).contains("closes a loop"), "{}", text(&t));
    }
}
