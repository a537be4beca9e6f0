//! Allgather over links of different rates: circles of groups in lanes, so that data crosses slow
//! trunks once.
//!
//! Source: none of the papers, which assume links of one rate. Their lower bound
//! (allgather-switched-clusters, section 1) is applied to each edge: a directed edge carries every
//! block of its sending side at least once. Input: a tree with rates.
//!
//! How: slow trunks cut the hosts into groups. The data of a group has one block for each of its
//! hosts. Between groups the data is cut into lanes. A lane carries a share of the data of each
//! group, and in each group one host, its gateway, handles the lane; the gateway's own data comes
//! first. Each lane goes round circles of groups as a ring goes round hosts. There is either one
//! circle of all groups or several circles; a group on two circles passes data on from each to the
//! other. Inside a group, the data of its hosts and of their lanes goes round a ring. All this
//! happens at once, in pieces so small that no host waits for a whole block.
//!
//! Guarantee: every host gets every block once over its own cable. A plan is never slower than the
//! single ring, and states how far it is from the bound:
//! - Where the slowest link is the link of a host, the single ring is optimal: that host must
//!   receive `n - 1` blocks by any algorithm, and no link is busier. No allgather can use the time
//!   in which a ring leaves faster trunks idle.
//! - Where the slowest link is a trunk, the ring carries all blocks but one over it in each
//!   direction, though the blocks of one side would suffice. That takes up to twice the bound.
//!   Groups reach the bound where all trunks have one rate and hosts have the time to pass data on.
//!   Trunks of several rates, slow cables inside a group, or hosts without that time keep them from
//!   it.
//! - Where a host has several ranks and is modelled as a switch of ranks whose links are faster
//!   than the host's cable, the groups are the hosts.
//!
//! Cost: for each different rate O(lanes * groups * path length), with at most as many lanes as
//! hosts. Deviations: the steps to fill the lanes are not counted; they depend on the size of the
//! pieces.
use super::branches::RingBranches;
use super::{lr1, neighbours};
use crate::capacities::gcd;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{BitsPerSec, Bytes};
use std::collections::BTreeSet;

/// A grouping that would need more parts is not used.
pub const MOST_PARTS: u64 = 1 << 24;

/// An allgather among `hosts` by circles of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneAllgather {
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// The number of equal parts that each group's data is cut into. A block of a group has `parts
    /// / hosts in the group` of them.
    pub parts: u64,
    /// The host numbers of each group in the order of the ring inside it. The group's data is in
    /// the same order.
    pub groups: Vec<Vec<u32>>,
    /// Circles of groups, each named by its place in `groups`. A group passes data on to the next
    /// group of the circle until all groups on it have the data. One circle of groups of one host
    /// each is the single ring.
    pub circles: Vec<Vec<u32>>,
    /// The lanes; each carries the next `share` parts of every group's data.
    pub lanes: Vec<DataLane>,
    /// The busiest edge. All others wait for it.
    pub busiest: LaneLoad,
    /// The edge that limits any allgather.
    pub bound: LaneLoad,
}

/// A share of every group's data, and the hosts that carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataLane {
    /// Parts of each group's data.
    pub share: u64,
    /// The host of each group.
    pub gateways: Vec<u32>,
}

/// The load of an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLoad {
    /// From and to; with one host the host itself.
    pub edge: (String, String),
    /// In blocks times the plan's `parts`.
    pub load: u64,
    /// The cable's rate; zero with one host.
    pub rate: BitsPerSec,
}

impl LaneAllgather {
    /// The seconds for blocks of this size, at line rate, TCP over Ethernet; see [`crate::bound`].
    pub fn seconds(&self, block: Bytes) -> f64 {
        let per_part = block.0 as f64 * 8.0 * crate::bound::WIRE_PER_PAYLOAD / self.parts as f64;
        self.busiest.load as f64 * per_part / self.busiest.rate.0.max(1) as f64
    }

    /// The time of the bound divided by the time of this plan: 1 where no allgather is faster.
    pub fn reached(&self) -> f64 {
        let time = |a: &LaneLoad, b: &LaneLoad| u128::from(a.load) * u128::from(b.rate.0);
        if self.busiest.load == 0 {
            1.0
        } else {
            time(&self.bound, &self.busiest) as f64 / time(&self.busiest, &self.bound) as f64
        }
    }

    /// True if it is the single ring.
    pub fn is_one_ring(&self) -> bool {
        self.circles.len() <= 1 && self.groups.iter().all(|group| group.len() == 1)
    }
}

/// Makes several plans and returns the fastest. Every rate of a link is tried as the last one that
/// counts as slow. For each of them, no group passes data on, or all groups do, or those that have
/// time for it. Of equally fast plans it returns the first with the smallest groups, so the single
/// ring where groups gain nothing.
pub fn plan(tree: &Tree) -> LaneAllgather {
    let ring = lr1::ring(&RingBranches::new(tree));
    let mut rates: Vec<BitsPerSec> = (0..tree.nodes()).map(|v| tree.rate(v)).collect();
    rates.sort_unstable();
    rates.dedup();
    let plans = rates
        .into_iter()
        .rev()
        .flat_map(|slow| TreeCut::new(tree, &ring, slow).plans(tree));
    match plans.reduce(|best, next| {
        if next.reached() > best.reached() {
            next
        } else {
            best
        }
    }) {
        Some(best) => best,
        None => unreachable!("groups of one host each have plans"),
    }
}

/// The single ring as such a plan: it shows the loads of the links and the share of the bound that
/// the ring reaches.
pub fn one_ring(tree: &Tree) -> LaneAllgather {
    let ring = lr1::ring(&RingBranches::new(tree));
    let fastest = (0..tree.nodes())
        .map(|v| tree.rate(v))
        .max()
        .unwrap_or_default();
    let alone = TreeCut::new(tree, &ring, fastest);
    alone.lanes(tree, &vec![false; alone.groups.len()], 1)
}

/// The tree cut at slow links.
struct TreeCut {
    /// For each node the uppermost node of its piece.
    top: Vec<NodeNumber>,
    /// For each uppermost node the group of its hosts.
    group: Vec<Option<usize>>,
    groups: Vec<Vec<NodeNumber>>,
}

impl TreeCut {
    /// Hosts connected by links faster than `slow` are a group. Groups and their hosts are in the
    /// order of `ring`.
    fn new(tree: &Tree, ring: &[NodeNumber], slow: BitsPerSec) -> TreeCut {
        let mut top: Vec<NodeNumber> = (0..tree.nodes()).collect();
        for &v in tree.top_down() {
            if let Some(parent) = tree.parent(v).filter(|_| tree.rate(v) > slow) {
                top[v as usize] = top[parent as usize];
            }
        }
        let mut group = vec![None; top.len()];
        let mut groups: Vec<Vec<NodeNumber>> = Vec::new();
        for &host in ring {
            let number = *group[top[host as usize] as usize].get_or_insert(groups.len());
            groups.resize_with(groups.len().max(number + 1), Vec::new);
            groups[number].push(host);
        }
        TreeCut { top, group, groups }
    }

    /// Returns no plan where the groups have no common multiple of an allowed size.
    fn plans(&self, tree: &Tree) -> Vec<LaneAllgather> {
        let Some(parts) = self.common_multiple() else {
            return Vec::new();
        };
        let all = self.groups.len();
        [vec![false; all], self.with_time(tree), vec![true; all]]
            .iter()
            .map(|pass_on| self.lanes(tree, pass_on, parts))
            .collect()
    }

    /// A number of parts that every group can divide equally among its hosts.
    fn common_multiple(&self) -> Option<u64> {
        self.groups
            .iter()
            .map(|group| group.len() as u64)
            .try_fold(1u64, |parts, size| {
                let parts = (parts / gcd(parts, size)).checked_mul(size)?;
                (parts <= MOST_PARTS).then_some(parts)
            })
    }

    /// The groups whose slowest host can send the data to pass on within the bound. The data that
    /// goes round inside the group is not counted.
    fn with_time(&self, tree: &Tree) -> Vec<bool> {
        let (n, below, bound) = (
            f64::from(tree.hosts()),
            tree.hosts_below(),
            slowest(tree, &least(tree)),
        );
        let mut sends: Vec<f64> = self
            .groups
            .iter()
            .map(|group| n * (group.len() as f64 - 1.0))
            .collect();
        for (v, parent) in self.tops(tree) {
            let upwards = f64::from(below[v as usize]);
            self.group[v as usize]
                .into_iter()
                .for_each(|group| sends[group] += upwards);
            let above = parent.and_then(|parent| self.group[self.top[parent as usize] as usize]);
            above
                .into_iter()
                .for_each(|group| sends[group] += n - upwards);
        }
        let rate = |group: &Vec<NodeNumber>| {
            group
                .iter()
                .map(|&host| tree.rate(host).0)
                .min()
                .unwrap_or(0) as f64
        };
        let has_time = |(group, sends): (&Vec<NodeNumber>, f64)| {
            sends / group.len() as f64 * bound.rate.0 as f64 <= bound.load as f64 * rate(group)
        };
        self.groups.iter().zip(sends).map(has_time).collect()
    }

    /// The uppermost node of every piece from above, with the node above it.
    fn tops(&self, tree: &Tree) -> impl Iterator<Item = (NodeNumber, Option<NodeNumber>)> {
        tree.top_down()
            .iter()
            .filter(|&&v| self.top[v as usize] == v)
            .map(|&v| (v, tree.parent(v)))
    }

    fn lanes(&self, tree: &Tree, pass_on: &[bool], parts: u64) -> LaneAllgather {
        let (groups, circles, lanes) = (
            self.groups.clone(),
            self.circles(tree, pass_on),
            self.cut(parts),
        );
        let busiest = slowest(tree, &loads(tree, &groups, &circles, &lanes, parts));
        let bound = slowest(
            tree,
            &least(tree)
                .into_iter()
                .map(|blocks| blocks * parts)
                .collect::<Vec<u64>>(),
        );
        LaneAllgather {
            hosts: tree.host_names().to_vec(),
            parts,
            groups,
            circles,
            lanes,
            busiest,
            bound,
        }
    }

    /// Neighbouring pieces are on one circle, and so are the neighbours of a piece that does not
    /// pass data on.
    fn circles(&self, tree: &Tree, pass_on: &[bool]) -> Vec<Vec<u32>> {
        let mut circles: Vec<BTreeSet<u32>> = Vec::new();
        // For each uppermost node the one circle of a piece that does not pass data on.
        let mut only: Vec<Option<usize>> = vec![None; self.top.len()];
        for (v, parent) in self.tops(tree) {
            let above = parent.map(|parent| self.top[parent as usize]);
            let join =
                |piece: NodeNumber, circles: &mut Vec<BTreeSet<u32>>, circle: Option<usize>| {
                    let circle = circle.unwrap_or_else(|| {
                        circles.push(BTreeSet::new());
                        circles.len() - 1
                    });
                    circles[circle].extend(self.group[piece as usize].map(|group| group as u32));
                    circle
                };
            let circle = above.map(|above| {
                let circle = only[above as usize];
                join(above, &mut circles, circle)
            });
            if !self.group[v as usize].is_some_and(|group| pass_on[group]) {
                only[v as usize] = Some(join(v, &mut circles, circle));
            } else if circle.is_some() {
                join(v, &mut circles, circle);
            }
        }
        circles
            .into_iter()
            .filter(|circle| circle.len() > 1)
            .map(|circle| circle.into_iter().collect())
            .collect()
    }

    /// A new lane begins wherever the data of another host begins in one of the groups.
    fn cut(&self, parts: u64) -> Vec<DataLane> {
        let own = |group: &Vec<NodeNumber>| parts / group.len() as u64;
        let starts: BTreeSet<u64> = self
            .groups
            .iter()
            .flat_map(|group| (0..group.len() as u64).map(move |i| i * own(group)))
            .collect();
        let ends = starts.iter().copied().skip(1).chain([parts]);
        let gateways = |start: u64| {
            self.groups
                .iter()
                .map(|group| group[(start / own(group)) as usize])
                .collect()
        };
        starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| DataLane {
                share: end - start,
                gateways: gateways(start),
            })
            .collect()
    }
}

/// For each circle and each group on it, the hosts of all groups that the group connects to the
/// circle, its own hosts included.
fn sides(groups: &[Vec<NodeNumber>], circles: &[Vec<u32>]) -> Vec<Vec<u64>> {
    let mut on: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    circles.iter().enumerate().for_each(|(circle, members)| {
        members
            .iter()
            .for_each(|&group| on[group as usize].push(circle))
    });
    // Circles from the first group outwards, each with the group from which it was reached.
    let mut outwards: Vec<(usize, u32)> = on
        .first()
        .into_iter()
        .flatten()
        .map(|&circle| (circle, 0))
        .collect();
    for at in 0.. {
        let Some(&(circle, from)) = outwards.get(at) else {
            break;
        };
        for &group in circles[circle].iter().filter(|&&group| group != from) {
            outwards.extend(
                on[group as usize]
                    .iter()
                    .filter(|&&next| next != circle)
                    .map(|&next| (next, group)),
            );
        }
    }
    let n: u64 = groups.iter().map(|group| group.len() as u64).sum();
    let mut behind: Vec<u64> = groups.iter().map(|group| group.len() as u64).collect();
    let mut sides: Vec<Vec<u64>> = vec![Vec::new(); circles.len()];
    for &(circle, from) in outwards.iter().rev() {
        let others: u64 = circles[circle]
            .iter()
            .filter(|&&group| group != from)
            .map(|&group| behind[group as usize])
            .sum();
        sides[circle] = circles[circle]
            .iter()
            .map(|&group| {
                if group == from {
                    n - others
                } else {
                    behind[group as usize]
                }
            })
            .collect();
        behind[from as usize] += others;
    }
    sides
}

/// The load of each edge, in blocks times `parts`.
fn loads(
    tree: &Tree,
    groups: &[Vec<NodeNumber>],
    circles: &[Vec<u32>],
    lanes: &[DataLane],
    parts: u64,
) -> Vec<u64> {
    let mut loads = vec![0; tree.edges() as usize];
    let mut send = |from: NodeNumber, to: NodeNumber, load: u64| {
        tree.path(from, to, |edge| loads[edge as usize] += load)
    };
    let n = u64::from(tree.hosts());
    for group in groups {
        // The next host gets everything except the data that it puts on the ring itself, an equal
        // portion of the whole.
        neighbours(group).for_each(|(a, b)| send(a, b, n * (parts - parts / group.len() as u64)));
    }
    for (circle, sides) in circles.iter().zip(sides(groups, circles)) {
        // The next group gets everything except the data that it brings to the circle itself.
        for ((a, b), side) in neighbours(circle).zip(sides.iter().cycle().skip(1)) {
            lanes.iter().for_each(|lane| {
                send(
                    lane.gateways[a as usize],
                    lane.gateways[b as usize],
                    lane.share * (n - side),
                )
            });
        }
    }
    loads
}

/// The least number of blocks that each edge carries: those of its sending side, if there is a
/// receiver.
fn least(tree: &Tree) -> Vec<u64> {
    let n = u64::from(tree.hosts());
    let sent = tree
        .hosts_below()
        .into_iter()
        .map(u64::from)
        .flat_map(|below| [below, n - below]);
    sent.map(|sent| if sent == n { 0 } else { sent }).collect()
}

/// The first of the edges that take longest.
fn slowest(tree: &Tree, loads: &[u64]) -> LaneLoad {
    let rate = |edge: EdgeNumber| tree.rate(edge / 2).0.max(1);
    let slower = |a: EdgeNumber, b: EdgeNumber| {
        u128::from(loads[a as usize]) * u128::from(rate(b))
            > u128::from(loads[b as usize]) * u128::from(rate(a))
    };
    let edges = (0..tree.edges()).filter(|&edge| loads[edge as usize] > 0);
    match edges
        .reduce(|slowest, edge| if slower(edge, slowest) { edge } else { slowest })
        .and_then(|edge| Some((edge, tree.ends(edge)?)))
    {
        Some((edge, (from, to))) => LaneLoad {
            edge: (tree.name(from).to_owned(), tree.name(to).to_owned()),
            load: loads[edge as usize],
            rate: tree.rate(edge / 2),
        },
        None => LaneLoad {
            edge: (tree.name(0).to_owned(), tree.name(0).to_owned()),
            load: 0,
            rate: BitsPerSec::default(),
        },
    }
}

#[cfg(test)]
mod tests;
