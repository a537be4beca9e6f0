//! The hosts that form a cluster, and the edges that belong to it.
//!
//! Source: lg-2008 section 2: clusters whose own networks are faster than the backbone between
//! them. Input: a tree and a partition of its hosts. Guarantee: every host is in one cluster, and
//! no edge is inside two. An edge is inside a cluster if it lies on a path between two of its
//! hosts. All other edges are the backbone, and each of them separates whole clusters from whole
//! clusters. Cost: O(clusters of two hosts or more * nodes). Deviations: the papers have two
//! clusters, each with a network of its own, and leave the partition to the user.
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{BitsPerSec, TopologyFile};

/// Hosts that exchange over a network of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCluster {
    /// Its name for people.
    pub name: String,
    /// Its hosts, ascending.
    pub hosts: Vec<NodeNumber>,
}

/// A partition of a tree's hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPartition {
    list: Vec<HostCluster>,
    /// For each host its cluster.
    of: Vec<u32>,
    /// For each node the cluster that contains the edge upwards.
    inside: Vec<Option<u32>>,
}

/// The reason why hosts cannot be grouped in this way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// Hosts that are in no cluster, by name.
    #[error("{} in no cluster; lg must know where each host is: add them to `clusters`, or leave \
             them out of `--hosts`", listed(.0))]
    Outside(Vec<String>),
    /// A host that is in two clusters.
    #[error("host \"{host}\" is in cluster \"{first}\" and in \"{second}\"; each host is in one")]
    Twice {
        host: String,
        /// One cluster.
        first: String,
        /// The other.
        second: String,
    },
    /// Two clusters that share an edge.
    #[error(
        "link {}-{} is inside cluster \"{first}\" and inside \"{second}\"; their local exchanges \
         would collide there: group hosts by the switches they hang on",
        .link.0, .link.1
    )]
    Shared {
        /// The link's ends.
        link: (String, String),
        /// One cluster.
        first: String,
        /// The other.
        second: String,
    },
}

fn listed(hosts: &[String]) -> String {
    const SHOWN: usize = 8;
    let names = hosts
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match hosts.len() {
        1 => format!("host {names} is"),
        n if n <= SHOWN => format!("hosts {names} are"),
        n => format!("hosts {names} and {} more are", n - SHOWN),
    }
}

impl ClusterPartition {
    /// Groups the tree's hosts as stated. Clusters without hosts are left out.
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// # Panics
    /// If a host number is beyond the tree's hosts.
    pub fn new(tree: &Tree, groups: Vec<HostCluster>) -> Result<ClusterPartition, ClusterError> {
        let mut list: Vec<HostCluster> =
            groups.into_iter().filter(|c| !c.hosts.is_empty()).collect();
        let mut of: Vec<Option<u32>> = vec![None; tree.hosts() as usize];
        for (cluster, number) in list.iter_mut().zip(0..) {
            cluster.hosts.sort_unstable();
            cluster.hosts.dedup();
            for &host in &cluster.hosts {
                if let Some(first) = of[host as usize].replace(number) {
                    return Err(twice(tree, &list, host, [first, number]));
                }
            }
        }
        let outside: Vec<String> = (0..tree.hosts())
            .filter(|&h| of[h as usize].is_none())
            .map(|h| tree.name(h).to_owned())
            .collect();
        if !outside.is_empty() {
            return Err(ClusterError::Outside(outside));
        }
        let inside = edges_inside(tree, &list)?;
        Ok(ClusterPartition {
            of: of.into_iter().flatten().collect(),
            list,
            inside,
        })
    }

    /// The clusters that a topology file declares, reduced to the hosts that take part; all ranks
    /// of a host are in its cluster. Where the file declares none, the clusters of
    /// [`ClusterPartition::found`].
    ///
    /// # Errors
    /// See [`ClusterError`].
    pub fn stated_or_found(
        tree: &Tree,
        file: &TopologyFile,
    ) -> Result<ClusterPartition, ClusterError> {
        if file.clusters.is_empty() {
            return Ok(ClusterPartition::found(tree));
        }
        ClusterPartition::new(
            tree,
            file.clusters
                .iter()
                .map(|(name, members)| {
                    let members: std::collections::HashSet<&str> =
                        members.iter().map(String::as_str).collect();
                    HostCluster {
                        name: name.clone(),
                        hosts: (0..tree.hosts())
                            .filter(|h| {
                                let mut name = tree.name(*h).split(':');
                                name.next().is_some_and(|host| members.contains(host))
                            })
                            .collect(),
                    }
                })
                .collect(),
        )
    }

    /// The parts that remain when every link slower than all links of hosts is cut, because traffic
    /// over such a link should be saved. Without such a link there is one cluster. A slow network
    /// shows by its rate alone; a network that is only far away must be declared.
    pub fn found(tree: &Tree) -> ClusterPartition {
        let slowest = (0..tree.hosts())
            .filter(|&h| tree.parent(h).is_some())
            .map(|h| tree.rate(h))
            .min()
            .unwrap_or(BitsPerSec(0));
        let mut part: Vec<NodeNumber> = (0..tree.nodes()).collect();
        for &v in tree.top_down() {
            if let Some(parent) = tree.parent(v).filter(|_| tree.rate(v) >= slowest) {
                part[v as usize] = part[parent as usize];
            }
        }
        let mut list: Vec<(NodeNumber, HostCluster)> = Vec::new();
        for host in 0..tree.hosts() {
            let top = part[host as usize];
            match list.iter_mut().find(|(known, _)| *known == top) {
                Some((_, cluster)) => cluster.hosts.push(host),
                None => list.push((
                    top,
                    HostCluster {
                        name: format!("at-{}", tree.name(top)),
                        hosts: vec![host],
                    },
                )),
            }
        }
        let list = list.into_iter().map(|(_, cluster)| cluster).collect();
        ClusterPartition::new(tree, list).unwrap_or_else(|e| {
            unreachable!("connected parts are a partition without common edges: {e}")
        })
    }

    /// The clusters in their order.
    pub fn list(&self) -> &[HostCluster] {
        &self.list
    }

    /// The number of a host's cluster.
    pub fn of_host(&self, host: NodeNumber) -> u32 {
        self.of[host as usize]
    }

    /// The cluster that contains an edge. `None`: the edge is part of the backbone, or leads to no
    /// host.
    pub fn inside(&self, edge: EdgeNumber) -> Option<u32> {
        self.inside[edge as usize / 2]
    }
}

fn twice(tree: &Tree, list: &[HostCluster], host: NodeNumber, clusters: [u32; 2]) -> ClusterError {
    let [first, second] = clusters.map(|c| list[c as usize].name.clone());
    ClusterError::Twice {
        host: tree.name(host).to_owned(),
        first,
        second,
    }
}

/// The edge upwards from a node is inside a cluster if some but not all hosts of the cluster are
/// below the node.
fn edges_inside(tree: &Tree, list: &[HostCluster]) -> Result<Vec<Option<u32>>, ClusterError> {
    let mut inside: Vec<Option<u32>> = vec![None; tree.nodes() as usize];
    let mut below = vec![0u32; tree.nodes() as usize];
    for (cluster, number) in list.iter().zip(0..).filter(|(c, _)| c.hosts.len() > 1) {
        below.fill(0);
        cluster.hosts.iter().for_each(|&h| below[h as usize] = 1);
        for &v in tree.top_down().iter().rev() {
            let Some(parent) = tree.parent(v) else {
                continue;
            };
            below[parent as usize] += below[v as usize];
            if !(1..cluster.hosts.len() as u32).contains(&below[v as usize]) {
                continue;
            }
            if let Some(first) = inside[v as usize].replace(number) {
                let [first, second] = [first, number].map(|c| list[c as usize].name.clone());
                return Err(ClusterError::Shared {
                    link: (tree.name(v).to_owned(), tree.name(parent).to_owned()),
                    first,
                    second,
                });
            }
        }
    }
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::{star, topology};

    fn declared(text: &str, hosts: &[&str]) -> Result<ClusterPartition, ClusterError> {
        let file = TopologyFile::parse("test", text).unwrap();
        let tree = file.tree().unwrap();
        let tree = if hosts.is_empty() {
            tree
        } else {
            inventory::ranks::tree(&tree, hosts).unwrap()
        };
        ClusterPartition::stated_or_found(&tree, &file)
    }

    const TWO: &str = "switches: [a, b]
hosts: {w: {switch: a}, x: {switch: a, ranks: 2}, y: {switch: b}, z: {switch: b}}
links: [{a: a, b: b}]
clusters: {west: [x, w], east: [y, z]}";

    #[test]
    fn hosts_are_grouped_as_declared_also_the_ranks_of_a_subset() {
        assert_eq!(
            hosts(&declared(TWO, &[]).unwrap()),
            [("west".into(), vec![0, 1]), ("east".into(), vec![2, 3])]
        );
        let ranks = declared(TWO, &["z", "x:1", "x:0"]).unwrap();
        assert_eq!(
            hosts(&ranks),
            [("west".into(), vec![1, 2]), ("east".into(), vec![0])]
        );
        assert_eq!(
            hosts(&declared(TWO, &["y"]).unwrap()),
            [("east".into(), vec![0])]
        );
    }

    fn hosts(c: &ClusterPartition) -> Vec<(String, Vec<u32>)> {
        c.list()
            .iter()
            .map(|c| (c.name.clone(), c.hosts.clone()))
            .collect::<Vec<_>>()
    }

    #[test]
    fn edges_between_hosts_of_a_cluster_are_inside_it() {
        let tree = topology(TWO);
        let clusters = declared(TWO, &[]).unwrap();
        let mut inside: Vec<(&str, u32)> = (0..tree.nodes())
            .filter_map(|v| clusters.inside(2 * v).map(|c| (tree.name(v), c)))
            .collect();
        inside.sort_unstable();
        assert_eq!(
            inside,
            [("w", 0), ("x", 0), ("y", 1), ("z", 1)],
            "the link a-b is the backbone"
        );
        assert_eq!(clusters.of_host(3), 1);
    }

    #[test]
    fn groups_that_are_no_clusters_are_refused_by_name() {
        assert!(err("{west: [x, w], east: [y]}").starts_with("host z is in no cluster;"));
        assert!(err("{west: [x]}").starts_with("hosts w, y, z are in no cluster;"));
        let crossed = err("{odd: [w, y], even: [x, z]}");
        assert!(
            crossed.contains("link b-a is inside cluster \"odd\" and inside \"even\""),
            "{crossed}"
        );
        let tree = topology(TWO);
        let twice = ClusterPartition::new(&tree, vec![group("a", &[0, 1, 2]), group("b", &[2, 3])])
            .unwrap_err();
        assert!(
            twice
                .to_string()
                .starts_with("host \"y\" is in cluster \"a\" and in \"b\""),
            "{twice}"
        );
        let many = ClusterPartition::new(&star(&[12]), vec![group("a", &[0])])
            .unwrap_err()
            .to_string();
        assert!(many.contains("n7, n8 and 3 more"), "{many}");
    }

    fn err(clusters: &str) -> String {
        declared(&TWO.replace("{west: [x, w], east: [y, z]}", clusters), &[])
            .unwrap_err()
            .to_string()
    }

    fn group(name: &str, hosts: &[u32]) -> HostCluster {
        HostCluster {
            name: name.to_owned(),
            hosts: hosts.to_vec(),
        }
    }

    #[test]
    fn without_a_declaration_slow_links_part_clusters() {
        let text = |rate| {
            TWO.replace("{a: a, b: b}", &format!("{{a: a, b: b, rate: {rate}}}"))
                .split("clusters")
                .next()
                .unwrap()
                .to_owned()
        };
        let slow = declared(&text("100M"), &[]).unwrap();
        assert_eq!(
            slow.list()
                .iter()
                .map(|c| c.name.as_str())
                .collect::<Vec<_>>(),
            ["at-a", "at-b"]
        );
        for rate in ["1G", "10G"] {
            assert_eq!(declared(&text(rate), &[]).unwrap().list().len(), 1);
        }
    }
}
