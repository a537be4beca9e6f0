//! The parts of a tree between its slow trunks, and where they meet.
use crate::allgather;
use inventory::tree::{NodeNumber, Tree};

/// The islands of a tree: parts between slow trunks, those that have hosts.
pub(super) struct TreeIslands {
    /// By island: its hosts in the order of its ring.
    pub(super) rings: Vec<Vec<NodeNumber>>,
    /// By host: its island.
    pub(super) of: Vec<usize>,
    /// The islands that meet: the two at the ends of a trunk, or all around switches without hosts.
    /// A block goes from one to the next, and from the last to the first.
    pub(super) junctions: Vec<Vec<usize>>,
    /// By node: true if the cable to its parent is a slow trunk.
    pub(super) slow: Vec<bool>,
}

impl TreeIslands {
    /// The islands of a tree that is cut at these trunks, by their lower ends.
    pub(super) fn separated_by(tree: &Tree, trunks: &[NodeNumber]) -> TreeIslands {
        let mut slow = vec![false; tree.nodes() as usize];
        trunks.iter().for_each(|&trunk| slow[trunk as usize] = true);
        // By node: its part. Parts are numbered from the root on.
        let mut part = vec![0; tree.nodes() as usize];
        let mut parts = 1;
        let mut near = vec![Vec::new()];
        for &node in tree.top_down() {
            let Some(parent) = tree.parent(node) else {
                continue;
            };
            let above = part[parent as usize];
            part[node as usize] = above;
            if slow[node as usize] {
                part[node as usize] = parts;
                near.push(vec![above]);
                near[above].push(parts);
                parts += 1;
            }
        }
        let mut island = vec![None; parts];
        let mut hosts: Vec<Vec<NodeNumber>> = Vec::new();
        for host in 0..tree.hosts() {
            let number = *island[part[host as usize]].get_or_insert_with(|| {
                hosts.push(Vec::new());
                hosts.len() - 1
            });
            hosts[number].push(host);
        }
        TreeIslands {
            of: (0..tree.hosts())
                .map(|host| island[part[host as usize]].unwrap_or(0))
                .collect(),
            rings: hosts.iter().map(|hosts| ring(tree, hosts)).collect(),
            junctions: junctions(&near, &island),
            slow,
        }
    }
}

/// The ring of these hosts.
fn ring(tree: &Tree, hosts: &[NodeNumber]) -> Vec<NodeNumber> {
    let names: Vec<&str> = hosts.iter().map(|&host| tree.name(host)).collect();
    match tree.restrict(&names) {
        Ok(own) => {
            let ring = allgather::plan(&own).ring.into_iter();
            ring.map(|host| hosts[host as usize]).collect()
        }
        Err(_) => unreachable!("hosts of a tree are in it, each once"),
    }
}

/// Where islands meet, from the parts next to each part and the island that each part is.
fn junctions(near: &[Vec<usize>], island: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut junctions = Vec::new();
    let mut seen = vec![false; near.len()];
    for part in 0..near.len() {
        let Some(own) = island[part] else {
            if !seen[part] {
                let mut around = Vec::new();
                look_around(part, near, island, &mut seen, &mut around);
                junctions.push(around);
            }
            continue;
        };
        // Each pair once: from the part nearer to the root.
        let beyond = near[part].iter().filter(|&&other| other > part);
        junctions.extend(beyond.filter_map(|&other| Some(vec![own, island[other]?])));
    }
    junctions.retain(|around| around.len() > 1);
    junctions
}

/// Lists the islands around parts without hosts.
fn look_around(
    part: usize,
    near: &[Vec<usize>],
    island: &[Option<usize>],
    seen: &mut [bool],
    around: &mut Vec<usize>,
) {
    seen[part] = true;
    for &other in &near[part] {
        match island[other] {
            Some(island) => around.push(island),
            None if !seen[other] => look_around(other, near, island, seen, around),
            None => {}
        }
    }
}
