//! Slurm's two forms of a tree: `topology.conf` (topology.conf(5), `topology/tree`), and since
//! 25.05 `topology.yaml` (topology.yaml(5)), which is used if both are present.
use inventory::BitsPerSec;
use inventory::name_ranges::fold;
use inventory::topology::Topology;
use inventory::topology_file::plain_name;
use inventory::tree::{NodeNumber, Tree, TreeError};
use serde::Serialize;
use std::collections::HashSet;
use std::fmt::Write;

/// A switch in Slurm's form: with nodes or with switches, never with both.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct SlurmSwitch {
    switch: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    nodes: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    children: String,
}

/// One of the topologies of a `topology.yaml`.
#[derive(Serialize)]
struct SlurmTopology {
    topology: String,
    cluster_default: bool,
    tree: SlurmSwitches,
}

#[derive(Serialize)]
struct SlurmSwitches {
    switches: Vec<SlurmSwitch>,
}

/// `topology.conf`. Slurm gives a switch either nodes or switches. So a switch with both becomes a
/// leaf under a new switch with `-tree` appended to its name, or with the next free name if another
/// switch has that one.
///
/// # Errors
/// [`TreeError`] if the network is not a tree.
pub fn slurm(topology: &Topology) -> Result<String, TreeError> {
    let mut out = String::new();
    let topology = topology.with_plain_names();
    for SlurmSwitch {
        switch,
        nodes,
        children,
    } in switches(&topology, &topology.tree()?)
    {
        let _ = match nodes.is_empty() {
            false => writeln!(out, "SwitchName={switch} Nodes={nodes}"),
            true => writeln!(out, "SwitchName={switch} Switches={children}"),
        };
    }
    Ok(out)
}

/// `topology.yaml`: the whole network, which jobs use unless their partition names another
/// topology. If there are several clusters, each of them is a topology under its name, for
/// partitions that should stay inside one.
///
/// # Errors
/// [`TreeError`] if the network is not a tree.
pub fn slurm_yaml(topology: &Topology) -> Result<String, TreeError> {
    let topology = topology.with_plain_names();
    let tree = topology.tree()?;
    let mut all = vec![of_tree(WHOLE, &tree, &topology)];
    for cluster in topology
        .clusters
        .iter()
        .filter(|c| topology.clusters.len() > 1 && c.name != WHOLE)
    {
        let hosts: Vec<&String> = cluster
            .hosts
            .iter()
            .filter(|h| tree.host(h).is_some())
            .collect();
        let own = if hosts.is_empty() {
            continue;
        } else {
            of_tree(&cluster.name, &tree.restrict(&hosts)?, &topology)
        };
        // A single host has no switch that matters, and Slurm refuses a tree without switches.
        if !own.tree.switches.is_empty() {
            all.push(own);
        }
    }
    Ok(serde_yaml::to_string(&all)
        .unwrap_or_else(|e| unreachable!("plain lists and strings always serialize: {e}")))
}

fn of_tree(name: &str, tree: &Tree, topology: &Topology) -> SlurmTopology {
    SlurmTopology {
        topology: name.to_owned(),
        cluster_default: name == WHOLE,
        tree: SlurmSwitches {
            switches: switches(topology, tree),
        },
    }
}

/// The longest allowed name of a switch.
const LONGEST_NAME: usize = 64;

/// The name of the topology of the whole network.
const WHOLE: &str = "network";

/// Every switch with hosts somewhere below, children before parents.
fn switches(topology: &Topology, tree: &Tree) -> Vec<SlurmSwitch> {
    let taken = (0..tree.nodes()).map(|n| tree.name(n)).collect();
    let mut out = SlurmWriter {
        tree,
        near: tree.neighbours(),
        taken,
        switches: Vec::new(),
    };
    let stages = topology.stages();
    // From the middle of a fabric: from a leaf, this one would stand a level above the others.
    let root = topology.roots().into_iter().find_map(|name| {
        let node = stages.get(name).map_or(name, String::as_str);
        (0..tree.nodes()).find(|number| tree.name(*number) == node)
    });
    out.under(root.unwrap_or(tree.root()), None);
    out.switches
}

/// Switches written so far.
struct SlurmWriter<'a> {
    tree: &'a Tree,
    near: Vec<Vec<(NodeNumber, BitsPerSec)>>,
    /// Names that the network uses itself.
    taken: HashSet<&'a str>,
    switches: Vec<SlurmSwitch>,
}

impl SlurmWriter<'_> {
    fn children(
        &self,
        switch: NodeNumber,
        above: Option<NodeNumber>,
    ) -> impl Iterator<Item = NodeNumber> + '_ {
        let near = self.near[switch as usize].iter();
        near.map(|(child, _)| *child)
            .filter(move |child| Some(*child) != above)
    }

    /// Adds a switch and everything below it. Returns the name for its parent's list, if any host
    /// is below.
    fn under(&mut self, switch: NodeNumber, above: Option<NodeNumber>) -> Option<String> {
        let tree = self.tree;
        let (mut nodes, mut below) = (Vec::new(), Vec::new());
        let children: Vec<NodeNumber> = self.children(switch, above).collect();
        for child in children {
            match tree.is_host(child) {
                true => nodes.push(tree.name(child).to_owned()),
                false => below.extend(self.under(child, Some(switch))),
            }
        }
        if tree.is_host(switch) {
            return None; // A tree of one host has no switch.
        }
        // Slurm would read the range in a stage's name as several switches.
        let name: String = plain_name(tree.name(switch))
            .trim_end_matches('-')
            .chars()
            .take(LONGEST_NAME)
            .collect();
        let leaf = !nodes.is_empty();
        if leaf {
            self.switches.push(SlurmSwitch {
                switch: name.clone(),
                nodes: fold(nodes),
                children: String::new(),
            });
        }
        if below.is_empty() {
            return leaf.then_some(name);
        }
        let above = if leaf {
            self.above(&name)
        } else {
            name.clone()
        };
        below.splice(0..0, leaf.then_some(name));
        self.switches.push(SlurmSwitch {
            switch: above.clone(),
            nodes: String::new(),
            children: below.join(","),
        });
        Some(above)
    }

    /// A free name for a switch above the switch of this name, with at most 64 characters, the
    /// limit of topology.yaml(5).
    fn above(&self, name: &str) -> String {
        let endings =
            std::iter::once("-tree".to_owned()).chain((2..).map(|n: u32| format!("-tree-{n}")));
        let names = endings.map(|ending| {
            name.chars()
                .take(LONGEST_NAME - ending.len())
                .collect::<String>()
                + &ending
        });
        names
            .into_iter()
            .find(|name| {
                !self.taken.contains(name.as_str())
                    && self.switches.iter().all(|s| s.switch != *name)
            })
            .unwrap_or_else(|| unreachable!("there are more numbers than switches"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;
    use inventory::topology::{Cluster, Link, LinkState, Node, NodeKind};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[test]
    fn slurm_gets_leaves_and_a_tree_above() {
        assert_eq!(
            slurm(&sample()).unwrap(),
            "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\nSwitchName=s0 \
             Nodes=n0\nSwitchName=s0-tree Switches=s0,s1,s2\n"
        );
        let mut t = sample();
        t.links.truncate(2);
        assert_eq!(slurm(&t), Err(TreeError::NoHost));
    }

    #[test]
    fn leaves_of_a_fabric_are_side_by_side() {
        let leaves = ["leaf1", "leaf2", "leaf3"];
        let spines = ["spine1", "spine2"];
        let mut t = Topology::default();
        for (leaf, host) in leaves.into_iter().zip(["n1", "n2", "n3"]) {
            t.nodes.push(Node::new(leaf, NodeKind::Switch));
            t.nodes.push(Node::new(host, NodeKind::Host));
            t.links.push(Link {
                state: LinkState::Forwarding,
                ..Link::new(leaf, "p1", host, "eth0")
            });
            t.links.extend(spines.map(|spine| Link {
                state: LinkState::Multipath,
                ..Link::new(leaf, spine, spine, leaf)
            }));
        }
        t.nodes
            .extend(spines.map(|spine| Node::new(spine, NodeKind::Router)));
        assert_eq!(
            slurm(&t).unwrap(),
            "SwitchName=leaf1 Nodes=n1\nSwitchName=leaf2 Nodes=n2\nSwitchName=leaf3 \
             Nodes=n3\nSwitchName=spine-1-2 Switches=leaf1,leaf2,leaf3\n"
        );
    }

    #[test]
    fn a_switch_made_up_takes_no_others_name_and_none_too_long() {
        assert_eq!(
            last(&renamed("s1", "s0-tree", sample())),
            "SwitchName=s0-tree-2 Switches=s0,s0-tree,s2"
        );
        let long = "s".repeat(64);
        assert_eq!(
            last(&renamed("s0", &long, sample())),
            format!("SwitchName={}-tree Switches={long},s1,s2", &long[5..])
        );
    }

    fn renamed(switch: &str, to: &str, mut t: Topology) -> Topology {
        let names = t
            .links
            .iter_mut()
            .flat_map(|l| [&mut l.a, &mut l.b])
            .chain(t.nodes.iter_mut().map(|n| &mut n.name));
        names
            .chain(&mut t.root_bridge)
            .filter(|name| *name == switch)
            .for_each(|name| to.clone_into(name));
        t
    }

    fn last(t: &Topology) -> String {
        slurm(t).unwrap().lines().last().unwrap().to_owned()
    }

    #[test]
    fn host_lists_are_short() {
        assert_eq!(
            folded_list(&["n10", "n9", "n8", "n1", "login", "m1", "n01"]),
            "login,m1,n01,n1,n[8-10]"
        );
    }

    fn folded_list(names: &[&str]) -> String {
        fold(names.iter().map(|n| (*n).to_owned()).collect())
    }

    /// Reads a `topology.yaml` back: by topology, the parent of every node and switch.
    fn read_back(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ParsedSlurmTopology {
            topology: String,
            #[serde(rename = "cluster_default")]
            _default: bool,
            tree: BTreeMap<String, Vec<BTreeMap<String, String>>>,
        }
        let all: Vec<ParsedSlurmTopology> = serde_yaml::from_str(text).unwrap();
        all.into_iter()
            .map(|t| (t.topology, parents(&t.tree["switches"])))
            .collect()
    }

    fn parents(switches: &[BTreeMap<String, String>]) -> BTreeMap<String, String> {
        let mut parents = BTreeMap::new();
        for switch in switches {
            assert_eq!(switch.len(), 2, "a name, and nodes or children: {switch:?}");
            for child in switch
                .get("nodes")
                .or(switch.get("children"))
                .unwrap()
                .split(',')
                .flat_map(unfolded)
            {
                assert!(
                    parents.insert(child, switch["switch"].clone()).is_none(),
                    "two parents"
                );
            }
        }
        parents
    }

    /// `n[0-2]` is n0, n1, n2.
    fn unfolded(name: &str) -> Vec<String> {
        let Some((stem, range)) = name.split_once('[') else {
            return vec![name.to_owned()];
        };
        let (from, to) = range.trim_end_matches(']').split_once('-').unwrap();
        (from.parse::<u32>().unwrap()..=to.parse().unwrap())
            .map(|n| format!("{stem}{n}"))
            .collect()
    }

    #[test]
    fn the_yaml_form_has_the_same_tree_and_one_for_each_cluster() {
        let mut t = sample();
        t.clusters = vec![
            cluster("west", &["n0", "n1", "n2"]),
            cluster("east", &["n3", "n4"]),
        ];
        let yaml = slurm_yaml(&t).unwrap();
        assert!(
            yaml.starts_with(
                "- topology: network\n  cluster_default: true\n  tree:\n    \
                                  switches:\n    - switch: s"
            ),
            "{yaml}"
        );
        let read = read_back(&yaml);
        assert_eq!(
            pairs("network", &read),
            "n0<s0 n1<s1 n2<s1 n3<s2 s0<s0-tree s1<s0-tree s2<s0-tree"
        );
        assert_eq!(
            pairs("west", &read),
            "n0<s0 n1<s1 n2<s1 s0<s0-tree s1<s0-tree"
        );
        assert!(!read.contains_key("east"), "n3 is alone there");
        t.clusters.truncate(1);
        assert_eq!(read_back(&slurm_yaml(&t).unwrap()).len(), 1);
    }

    fn cluster(name: &str, hosts: &[&str]) -> Cluster {
        Cluster {
            name: name.into(),
            hosts: hosts.iter().map(|h| (*h).into()).collect(),
            reasons: vec![],
        }
    }

    fn pairs(name: &str, read: &BTreeMap<String, BTreeMap<String, String>>) -> String {
        read[name]
            .iter()
            .map(|(c, p)| format!("{c}<{p}"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn hostile_names_stay_names() {
        let mut t = sample();
        let hostile = "n0\n- topology: x";
        t.nodes
            .iter_mut()
            .filter(|n| n.name == "n0")
            .for_each(|n| n.name = hostile.into());
        t.links
            .iter_mut()
            .filter(|l| l.b == "n0")
            .for_each(|l| l.b = hostile.into());
        assert_eq!(
            read_back(&slurm_yaml(&t).unwrap())["network"]["n0---topology--x"],
            "s0"
        );
        assert!(
            slurm(&t)
                .unwrap()
                .lines()
                .all(|l| l.starts_with("SwitchName="))
        );
    }
}
