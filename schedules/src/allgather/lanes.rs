//! Allgather over links of different rates: rings of groups in lanes, so that data crosses slow trunks once.
//!
//! Source: none of the papers, which know links of one rate; their lower bound (allgather-switched-clusters, section 1) is taken
//! by edge: each directed edge carries every block of its sending side at least once.
//! Input: a tree with rates.
//! How: trunks that are slow cut the hosts into groups. A group's data is as many blocks as it has hosts, so between groups it
//! is cut into lanes, each with a share of it: a lane is a ring of groups, carried by one host of each, and of the group's data
//! it begins with what that host itself has. What a host has and what its lanes bring goes round a ring inside the group. All
//! this at once, in pieces small enough that nobody waits for a whole block.
//! Guarantee: every host gets every block once over its own link; every trunk between groups carries, for each step of the
//! ring of groups, the data of one group. The result is never slower than the single ring, and says how far from the bound it is:
//! - Where the slowest link is a host's, the single ring is optimal: that host must receive `n - 1` blocks by any algorithm, and
//!   no link is busier. What a ring leaves idle on faster trunks cannot be used by any allgather.
//! - Where the slowest link is a trunk, the ring carries all but one block over it in each direction, though the blocks of one
//!   side would do: up to twice the bound. Where such trunks have one rate and a smallest group is a leaf among the groups, lanes
//!   are optimal, unless cables inside a group are the bottleneck then.
//! - Where hosts with several ranks are switches of ranks whose leaves are faster than the host's cable, the groups are the hosts.
//!
//! Cost: for each rate there is, O(lanes * groups * path length), at most as many lanes as hosts.
//! Deviations: steps to fill the lanes are not counted; they are a matter of piece size.
use super::branches::Branches;
use super::{lr1, neighbours};
use inventory::tree::{Edge, Node, Tree};
use inventory::{BitsPerSec, Bytes};
use std::collections::BTreeMap;

/// Groupings that would need more parts are not taken.
pub const MOST_PARTS: u64 = 1 << 24;

/// An allgather among `hosts` by rings of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// How many equal parts each group's data is cut into; a group's block has `parts / hosts in the group` of them.
    pub parts: u64,
    /// Host numbers of each group, in the order of the ring inside it; groups in the order of the ring of groups. Blocks of a
    /// group's data are in the order of its hosts. With groups of one host each this is the single ring.
    pub groups: Vec<Vec<u32>>,
    /// The lanes; each carries the next `share` parts of every group's data.
    pub lanes: Vec<Lane>,
    /// The busiest edge, which all others wait for.
    pub busiest: Load,
    /// The edge no allgather can be faster than.
    pub bound: Load,
}

/// A ring of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Parts of each group's data.
    pub share: u64,
    /// The host of each group that carries it.
    pub gateways: Vec<u32>,
}

/// What an edge carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// From and to; with one host the host itself.
    pub edge: (String, String),
    /// In blocks times the plan's `parts`.
    pub load: u64,
    /// The cable's rate; zero with one host.
    pub rate: BitsPerSec,
}

impl Lanes {
    /// Seconds for blocks of this size, at line rate, TCP over Ethernet; see [`crate::bound`].
    pub fn seconds(&self, block: Bytes) -> f64 {
        let per_part = block.0 as f64 * 8.0 * crate::bound::WIRE_PER_PAYLOAD / self.parts as f64;
        self.busiest.load as f64 * per_part / self.busiest.rate.0.max(1) as f64
    }

    /// The bound's time over this plan's: 1 where no allgather is faster.
    pub fn reached(&self) -> f64 {
        let time = |a: &Load, b: &Load| u128::from(a.load) * u128::from(b.rate.0);
        if self.busiest.load == 0 { 1.0 } else { time(&self.bound, &self.busiest) as f64 / time(&self.busiest, &self.bound) as f64 }
    }

    /// Whether it is the single ring.
    pub fn is_one_ring(&self) -> bool {
        self.groups.iter().all(|group| group.len() == 1)
    }
}

/// The single ring in these terms: what it loads the edges with, and what share of the bound it reaches.
pub fn one_ring(tree: &Tree) -> Lanes {
    let ring = lr1::ring(&Branches::new(tree));
    Lanes::new(tree, ring.into_iter().map(|host| vec![host]).collect(), 1)
}

/// Plans the fastest rings of groups: every rate of a link is tried as the last one that counts as slow. Of equally fast plans
/// the one with the smallest groups is taken, so the single ring where nothing is gained.
pub fn plan(tree: &Tree) -> Lanes {
    let ring = lr1::ring(&Branches::new(tree));
    let mut rates: Vec<BitsPerSec> = (0..tree.nodes()).filter(|&v| tree.parent(v).is_some()).map(|v| tree.rate(v)).collect();
    rates.sort_unstable();
    rates.dedup();
    rates.iter().rev().skip(1).fold(one_ring(tree), |best, &slow| {
        let groups = groups(tree, &ring, slow);
        let Some(parts) = common_multiple(&groups) else { return best };
        let lanes = Lanes::new(tree, groups, parts);
        if lanes.reached() > best.reached() { lanes } else { best }
    })
}

/// Hosts that faster links than `slow` connect, in the order of `ring` in and among them.
fn groups(tree: &Tree, ring: &[Node], slow: BitsPerSec) -> Vec<Vec<Node>> {
    let mut top: Vec<Node> = (0..tree.nodes()).collect();
    for &v in tree.top_down() {
        if let Some(parent) = tree.parent(v).filter(|_| tree.rate(v) > slow) {
            top[v as usize] = top[parent as usize];
        }
    }
    let mut number = BTreeMap::new();
    let mut groups: Vec<Vec<Node>> = Vec::new();
    for &host in ring {
        let group = *number.entry(top[host as usize]).or_insert(groups.len());
        groups.resize_with(groups.len().max(group + 1), Vec::new);
        groups[group].push(host);
    }
    groups
}

/// Parts that every group can give each of its hosts equally many of.
fn common_multiple(groups: &[Vec<Node>]) -> Option<u64> {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    groups.iter().map(|group| group.len() as u64).try_fold(1u64, |parts, size| {
        let parts = (parts / gcd(parts, size)).checked_mul(size)?;
        (parts <= MOST_PARTS).then_some(parts)
    })
}

impl Lanes {
    fn new(tree: &Tree, groups: Vec<Vec<Node>>, parts: u64) -> Lanes {
        let lanes = cut(&groups, parts);
        let busiest = slowest(tree, &loads(tree, &groups, &lanes, parts));
        let bound = slowest(tree, &least(tree).into_iter().map(|blocks| blocks * parts).collect::<Vec<u64>>());
        Lanes { hosts: tree.host_names().to_vec(), parts, groups, lanes, busiest, bound }
    }
}

/// A new lane wherever another host's data begins in one of the groups.
fn cut(groups: &[Vec<Node>], parts: u64) -> Vec<Lane> {
    let mut starts: Vec<u64> = groups.iter().flat_map(|group| (0..group.len() as u64).map(|i| i * (parts / group.len() as u64))).collect();
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().copied().skip(1).chain([parts]);
    let gateway = |group: &Vec<Node>, start: u64| group[(start / (parts / group.len() as u64)) as usize];
    let lane =
        |(&start, end): (&u64, u64)| Lane { share: end - start, gateways: groups.iter().map(|group| gateway(group, start)).collect() };
    starts.iter().zip(ends).map(lane).collect()
}

/// By edge, in blocks times `parts`.
fn loads(tree: &Tree, groups: &[Vec<Node>], lanes: &[Lane], parts: u64) -> Vec<u64> {
    let mut loads = vec![0; tree.edges() as usize];
    let n = u64::from(tree.hosts());
    for group in groups {
        // To the next host goes everything but what that host puts on the ring itself, an equal portion of all there is.
        let load = n * (parts - parts / group.len() as u64);
        neighbours(group).for_each(|(a, b)| tree.path(a, b, |edge| loads[edge as usize] += load));
    }
    for lane in lanes {
        // To the next group goes everything but its own data.
        let next = groups.iter().cycle().skip(1);
        for ((a, b), group) in neighbours(&lane.gateways).zip(next) {
            tree.path(a, b, |edge| loads[edge as usize] += lane.share * (n - group.len() as u64));
        }
    }
    loads
}

/// By edge: the blocks it carries at least, those of its sending side if there is a receiver.
fn least(tree: &Tree) -> Vec<u64> {
    let n = u64::from(tree.hosts());
    let sent = tree.hosts_below().into_iter().map(u64::from).flat_map(|below| [below, n - below]);
    sent.map(|sent| if sent == n { 0 } else { sent }).collect()
}

/// The first edge of those that take longest.
fn slowest(tree: &Tree, loads: &[u64]) -> Load {
    let rate = |edge: Edge| tree.rate(edge / 2).0.max(1);
    let slower =
        |a: Edge, b: Edge| u128::from(loads[a as usize]) * u128::from(rate(b)) > u128::from(loads[b as usize]) * u128::from(rate(a));
    let edges = (0..tree.edges()).filter(|&edge| loads[edge as usize] > 0);
    match edges.reduce(|slowest, edge| if slower(edge, slowest) { edge } else { slowest }).and_then(|edge| Some((edge, tree.ends(edge)?))) {
        Some((edge, (from, to))) => {
            Load { edge: (tree.name(from).to_owned(), tree.name(to).to_owned()), load: loads[edge as usize], rate: tree.rate(edge / 2) }
        }
        None => Load { edge: (tree.name(0).to_owned(), tree.name(0).to_owned()), load: 0, rate: BitsPerSec::default() },
    }
}

#[cfg(test)]
mod tests;
