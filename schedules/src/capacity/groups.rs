//! The all-to-all as the switches see it: groups of hosts, and the cables between them.
//!
//! Within a group only the cables of the hosts limit, so the hosts of a group are interchangeable.
//! The planner only has to decide how many messages one group sends another in a phase. Two kinds
//! of cables are left out: a cable that its hosts cannot fill anyway, and the wider of two cables
//! that carry the same messages.
use crate::capacities::{EdgeCapacities, loads};
use inventory::BitsPerSec;
use inventory::tree::{NodeNumber, Tree, TreeCable};
use std::collections::VecDeque;

/// Messages from one group to another. Their number is decided, their hosts are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupFlow {
    /// The sending group.
    pub(super) from: u32,
    /// The receiving group, which may be the same.
    pub(super) to: u32,
    /// Number of messages, at least 1.
    pub(super) count: u32,
}

/// A limit of each phase: a directed cable between groups, or the hosts of a group as senders or
/// receivers.
pub(super) type LimitNumber = usize;

/// Groups of hosts on the tree of the limiting cables. The spots of the tree are numbered top-down:
/// 0 is its centre, and the parent of a spot has a smaller number.
#[derive(Debug)]
pub(super) struct HostGroups {
    /// The hosts of each group.
    pub(super) members: Vec<Vec<NodeNumber>>,
    /// The spot of each group.
    pub(super) spot: Vec<usize>,
    /// The spot above each spot; that of 0 is 0.
    pub(super) parent: Vec<usize>,
    /// Cables between a spot and 0.
    pub(super) depth: Vec<usize>,
    /// Messages that the cable to the spot above carries at once; the entry of 0 means nothing.
    pub(super) width: Vec<u64>,
    /// Messages that a host sends at most in a phase, and receives at most.
    pub(super) per_host: u64,
    /// No schedule has fewer phases.
    pub(super) bound: u64,
}

impl HostGroups {
    /// The groups of a tree of at least two hosts.
    pub(super) fn new(tree: &Tree, capacities: &EdgeCapacities) -> HostGroups {
        let n = u64::from(tree.hosts());
        let bound = loads(tree)
            .into_iter()
            .zip(0..)
            .map(|(load, edge)| load.div_ceil(capacities.width(edge).max(1)))
            .max()
            .unwrap_or(0)
            .max(1);
        // The cable of every host lets this through: the bound is at least (n - 1) / width.
        let per_host = (n - 1).div_ceil(bound);
        let below = tree.hosts_below();
        let mut near: Vec<Vec<(usize, u64)>> = Vec::new();
        let mut members: Vec<Vec<NodeNumber>> = Vec::new();
        let mut place = vec![0; tree.nodes() as usize];
        for &v in tree.top_down() {
            let above = tree.parent(v).map(|parent| place[parent as usize]);
            let side = u64::from(below[v as usize]);
            let limits = capacities.width(2 * v) < per_host.saturating_mul(side.min(n - side));
            place[v as usize] = match above {
                Some(above) if !limits => above,
                _ => {
                    near.push(
                        above
                            .map(|above| (above, capacities.width(2 * v)))
                            .into_iter()
                            .collect(),
                    );
                    members.push(Vec::new());
                    near.len() - 1
                }
            };
            if let Some(above) = above.filter(|&above| above != place[v as usize]) {
                near[above].push((place[v as usize], capacities.width(2 * v)));
            }
            if tree.is_host(v) {
                members[place[v as usize]].push(v);
            }
        }
        skip_between_two(&mut near, &members);
        HostGroups::hang(&near, members, per_host, bound)
    }

    /// Numbers the spots from the centre of the tree `near` down.
    fn hang(
        near: &[Vec<(usize, u64)>],
        mut members: Vec<Vec<NodeNumber>>,
        per_host: u64,
        bound: u64,
    ) -> HostGroups {
        let start = members
            .iter()
            .position(|hosts| !hosts.is_empty())
            .unwrap_or(0);
        let order = spread(near, centre(near, start));
        let mut groups = HostGroups {
            members: Vec::new(),
            spot: Vec::new(),
            parent: Vec::with_capacity(order.len()),
            depth: Vec::with_capacity(order.len()),
            width: Vec::with_capacity(order.len()),
            per_host,
            bound,
        };
        for (spot, step) in order.iter().enumerate() {
            groups.parent.push(step.above);
            groups.depth.push(if spot == 0 {
                0
            } else {
                groups.depth[step.above] + 1
            });
            groups.width.push(step.width);
            let mut hosts = std::mem::take(&mut members[step.place]);
            if !hosts.is_empty() {
                hosts.sort_unstable();
                groups.members.push(hosts);
                groups.spot.push(spot);
            }
        }
        groups
    }

    /// The same hosts on the tree of the limiting cables, if each cable and each host carries one
    /// message at once.
    pub(super) fn unit_tree(&self) -> Option<Tree> {
        if self.per_host > 1 || self.width[1..].iter().any(|&width| width > 1) {
            return None;
        }
        let mut spot_of: Vec<(NodeNumber, usize)> = Vec::new();
        for (hosts, &spot) in self.members.iter().zip(&self.spot) {
            spot_of.extend(hosts.iter().map(|&host| (host, spot)));
        }
        spot_of.sort_unstable();
        let hosts: Vec<String> = spot_of.iter().map(|(host, _)| format!("n{host}")).collect();
        let switches: Vec<String> = (0..self.parent.len())
            .map(|spot| format!("s{spot}"))
            .collect();
        let inner =
            (1..self.parent.len()).map(|spot| (&*switches[spot], &*switches[self.parent[spot]]));
        let placed = hosts.iter().zip(&spot_of);
        let own = placed.map(|(host, &(_, spot))| (host.as_str(), &*switches[spot]));
        let all = inner.chain(own).map(|(a, b)| TreeCable {
            a,
            b,
            rate: BitsPerSec::GIGABIT,
        });
        let cables: Vec<TreeCable<'_>> = all.collect();
        let ranked: Vec<(&str, u32)> = hosts.iter().map(|host| (host.as_str(), 1)).collect();
        Tree::new(
            &ranked,
            &switches.iter().map(String::as_str).collect::<Vec<_>>(),
            &cables,
        )
        .ok()
    }

    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Hosts of a group.
    pub(super) fn hosts(&self, group: usize) -> u64 {
        self.members[group].len() as u64
    }

    /// All messages: every host sends one message to every other.
    pub(super) fn demand(&self) -> Vec<GroupFlow> {
        let pairs = (0..self.len()).flat_map(|from| (0..self.len()).map(move |to| (from, to)));
        pairs
            .map(|(from, to)| {
                let receivers = self.members[to].len() - usize::from(from == to);
                GroupFlow {
                    from: from as u32,
                    to: to as u32,
                    count: (self.members[from].len() * receivers) as u32,
                }
            })
            .filter(|flow| flow.count > 0)
            .collect()
    }

    /// The depth at which the path from one spot to another turns round.
    pub(super) fn turn(&self, from: usize, to: usize) -> usize {
        let (mut x, mut y) = (from, to);
        while x != y {
            if self.depth[x] >= self.depth[y] {
                x = self.parent[x];
            } else {
                y = self.parent[y];
            }
        }
        self.depth[x]
    }

    /// Number of limits.
    pub(super) fn limits(&self) -> usize {
        2 * self.parent.len() + 2 * self.len()
    }

    /// The number of messages that a limit allows in a phase.
    pub(super) fn capacity(&self, limit: LimitNumber) -> u64 {
        let cables = 2 * self.parent.len();
        if limit < cables {
            self.width[limit / 2]
        } else {
            self.hosts((limit - cables) / 2)
                .saturating_mul(self.per_host)
        }
    }

    /// Every limit that a message between two groups counts against.
    pub(super) fn limits_between(&self, from: usize, to: usize, way: &mut Vec<LimitNumber>) {
        let cables = 2 * self.parent.len();
        way.clear();
        way.extend([cables + 2 * from, cables + 2 * to + 1]);
        let (mut x, mut y) = (self.spot[from], self.spot[to]);
        while x != y {
            if self.depth[x] >= self.depth[y] {
                way.push(2 * x);
                x = self.parent[x];
            } else {
                way.push(2 * y + 1);
                y = self.parent[y];
            }
        }
    }
}

/// Removes every place without hosts between exactly two others; one cable as wide as the narrower
/// one remains.
fn skip_between_two(near: &mut [Vec<(usize, u64)>], members: &[Vec<NodeNumber>]) {
    for place in 0..near.len() {
        if let (&[(a, to_a), (b, to_b)], true) = (near[place].as_slice(), members[place].is_empty())
        {
            near[place].clear();
            for (end, other) in [(a, b), (b, a)] {
                near[end]
                    .iter_mut()
                    .filter(|link| link.0 == place)
                    .for_each(|link| *link = (other, to_a.min(to_b)));
            }
        }
    }
}

/// A step of a walk to a place: the step before it, and the width of the cable.
struct TraversalStep {
    place: usize,
    above: usize,
    width: u64,
}

/// Every place in order of its distance from `start`.
fn spread(near: &[Vec<(usize, u64)>], start: usize) -> Vec<TraversalStep> {
    let mut order: Vec<TraversalStep> = Vec::with_capacity(near.len());
    let mut queue = VecDeque::from([(start, start, 0, 0)]);
    while let Some((place, from, above, width)) = queue.pop_front() {
        order.push(TraversalStep {
            place,
            above,
            width,
        });
        let step = order.len() - 1;
        queue.extend(
            near[place]
                .iter()
                .filter(|link| link.0 != from)
                .map(|&(next, width)| (next, place, step, width)),
        );
    }
    order
}

/// The middle of a longest path.
fn centre(near: &[Vec<(usize, u64)>], start: usize) -> usize {
    // The farthest place from anywhere in a tree is an end of a longest path.
    let one_end = spread(near, start).last().map_or(start, |step| step.place);
    let order = spread(near, one_end);
    let mut path = vec![order.len() - 1];
    while path[path.len() - 1] != 0 {
        path.push(order[path[path.len() - 1]].above);
    }
    order[path[path.len() / 2]].place
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::topology;

    fn groups(text: &str) -> HostGroups {
        let tree = topology(text);
        HostGroups::new(&tree, &EdgeCapacities::from_tree(&tree))
    }

    #[test]
    fn a_trunk_that_hosts_cannot_fill_makes_two_switches_one() {
        let text = |rate| {
            format!(
                "switches: [a, b]\nhosts: {{v: {{switch: a}}, w: {{switch: a}}, x: {{switch: b}}, \
                 y: {{switch: b}}}}\nlinks: [{{a: a, b: b, rate: {rate}}}]"
            )
        };
        assert_eq!(groups(&text("2G")).members, [[0, 1, 2, 3]]);
        let narrow = groups(&text("1G"));
        assert_eq!(
            (
                narrow.members.len(),
                narrow.width[1],
                narrow.bound,
                narrow.per_host
            ),
            (2, 1, 4, 1)
        );
    }

    #[test]
    fn a_chain_hangs_from_its_middle_and_empty_switches_are_skipped() {
        let hosts: String = ["a", "c", "e"]
            .iter()
            .flat_map(|s| (0..4).map(move |i| format!("  {s}{i}: {{switch: {s}}}\n")))
            .collect();
        let g = groups(&format!(
            "switches: [a, b, c, d, e]\nhosts:\n{hosts}links: [{{a: a, b: b, rate: 3G}}, \
             {{a: b, b: c, rate: 2G}}, {{a: c, b: d}}, {{a: d, b: e, rate: 3G}}]"
        ));
        assert_eq!(
            (g.parent.as_slice(), g.width[1..].to_vec()),
            ([0, 0, 0].as_slice(), vec![2, 1])
        );
        assert_eq!(
            g.members[g.spot.iter().position(|&s| s == 0).unwrap()],
            [4, 5, 6, 7]
        );
        assert_eq!(g.turn(1, 2), 0);
    }
}
