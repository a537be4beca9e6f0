//! Lower bounds for every schedule: the messages over the bottleneck edge, and the time its cable
//! needs for them.
//!
//! Source: aapc-2007 section 3 (load of an edge, AAPC load of a tree); allgather-switched-clusters
//! section 1 for the allgather. Guarantee: a lower bound for any algorithm on the tree. Cost:
//! O(nodes). Deviations: the papers count messages on links of one rate. [`bound`] does so with
//! [`EdgeCapacities::unit`], and [`crate::aapc`] reaches that bound. With [`EdgeCapacities::from_tree`] it
//! counts by the real rates.
use crate::capacities::{EdgeCapacities, loads};
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{BitsPerSec, Bytes};

/// The certificate: no schedule can have fewer phases.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PhaseBound {
    /// ceil(load / capacity) of the bottleneck edge.
    pub phases: u64,
    /// The bottleneck edge, from and to; with one host both are the host itself.
    pub edge: (String, String),
    /// Messages of one all-to-all over that edge.
    pub load: u64,
    /// Messages that the edge carries at once.
    pub capacity: u64,
}

impl PhaseBound {
    /// The bound where nothing is sent.
    pub(crate) fn of_nothing(tree: &Tree) -> PhaseBound {
        PhaseBound {
            phases: 0,
            edge: (tree.name(0).to_owned(), tree.name(0).to_owned()),
            load: 0,
            capacity: 1,
        }
    }
}

/// Octets on the wire per octet of payload over TCP: 1448 payload octets in a 1538-octet frame slot
/// (preamble 8, Ethernet header 14, IPv4 20, TCP with timestamps 32, FCS 4, gap 12; IEEE 802.3
/// clause 4, RFC 7323).
pub const WIRE_PER_PAYLOAD: f64 = 1538.0 / 1448.0;

/// The phases that `capacities` force: the load of the bottleneck edge over its width, rounded up.
/// With one host nothing is sent, and the edge is the host itself.
pub fn bound(tree: &Tree, capacities: &EdgeCapacities) -> PhaseBound {
    let loads = loads(tree);
    // An all-to-all loads both directions of a cable alike: the one to the parent stands for both.
    let edges = tree.top_down().iter().map(|v| 2 * v);
    let loaded = edges.filter(|&edge| loads[edge as usize] > 0);
    let phases = loaded.map(|edge| {
        let (load, capacity) = (loads[edge as usize], capacities.width(edge));
        (load.div_ceil(capacity.max(1)), edge)
    });
    // Of equal edges the first from the root down: `max_by_key` gives the last one.
    let most = phases.rev().max_by_key(|(phases, _)| *phases);
    match most.and_then(|(phases, edge)| Some((phases, edge, tree.ends(edge)?))) {
        Some((phases, edge, (from, to))) => PhaseBound {
            phases,
            edge: (tree.name(from).to_owned(), tree.name(to).to_owned()),
            load: loads[edge as usize],
            capacity: capacities.width(edge),
        },
        None => PhaseBound::of_nothing(tree),
    }
}

/// The number of messages that a link of `rate` carries at once where a message takes `unit`: at
/// least 1.
pub fn link_capacity(rate: BitsPerSec, unit: BitsPerSec) -> u64 {
    (rate.0 / unit.0.max(1)).max(1)
}

/// The rate of the slowest host link, the unit of [`link_capacity`]; `None` where no host has a
/// link.
pub fn slowest_host_link(tree: &Tree) -> Option<BitsPerSec> {
    (0..tree.hosts())
        .filter(|&h| tree.parent(h).is_some())
        .map(|h| tree.rate(h))
        .min()
}

/// The least seconds of an all-to-all with one rank on each host, which sends `block` to every
/// other rank: the bottleneck edge at line rate, TCP over Ethernet. Zero with one host.
pub fn payload_bound_seconds(tree: &Tree, block: Bytes) -> f64 {
    alltoall_seconds(tree, &vec![1; tree.hosts() as usize], block)
}

/// The least seconds of an allgather with one rank on each host, which contributes `block`: see
/// [`payload_bound_seconds`].
pub fn allgather_bound_seconds(tree: &Tree, block: Bytes) -> f64 {
    allgather_seconds(tree, &vec![1; tree.hosts() as usize], block)
}

/// [`payload_bound_seconds`] with `ranks[h]` ranks on host `h` (missing entries: none).
pub fn alltoall_seconds(tree: &Tree, ranks: &[u32], block: Bytes) -> f64 {
    alltoall_bottleneck(tree, ranks).map_or(0.0, |link| link.seconds(block))
}

/// [`allgather_bound_seconds`] with `ranks[h]` ranks on host `h` (missing entries: none).
pub fn allgather_seconds(tree: &Tree, ranks: &[u32], block: Bytes) -> f64 {
    allgather_bottleneck(tree, ranks).map_or(0.0, |link| link.seconds(block))
}

/// The least seconds of an allreduce of `octets` with `ranks[h]` ranks on host `h`. Each edge
/// carries all of them at least once, in both directions. And all hosts together send them twice
/// for each host but one: a tree that combines has as many messages as hosts but one, and so has a
/// tree that spreads (Patarasuk and Yuan 2009, lemma 1).
pub fn allreduce_seconds(tree: &Tree, ranks: &[u32], octets: Bytes) -> f64 {
    let links: Vec<BitsPerSec> = (0..tree.hosts())
        .filter(|&host| ranks.get(host as usize).is_some_and(|&ranks| ranks > 0))
        .filter(|&host| tree.parent(host).is_some())
        .map(|host| tree.rate(host))
        .collect();
    let together = BottleneckLoad {
        blocks: 2 * (links.len() as u64).saturating_sub(1),
        rate: BitsPerSec(links.iter().map(|rate| rate.0).sum()),
    };
    broadcast_seconds(tree, ranks, octets).max(together.seconds(octets))
}

/// The least seconds of a broadcast of `octets` with `ranks[h]` ranks on host `h`: each edge
/// carries all of them once, in one direction.
pub fn broadcast_seconds(tree: &Tree, ranks: &[u32], octets: Bytes) -> f64 {
    bottleneck(tree, ranks, spread_blocks).map_or(0.0, |link| link.seconds(octets))
}

/// The blocks of an all-to-all over an edge, by the ranks on its sending and on its receiving side: one
/// for every pair of ranks that it separates.
pub fn exchange_blocks(this_side: u64, other_side: u64) -> u64 {
    this_side * other_side
}

/// The same of an allgather: each block of the sending side, at least once.
pub fn gather_blocks(this_side: u64, other_side: u64) -> u64 {
    if other_side > 0 { this_side } else { 0 }
}

/// The same of a broadcast, and of what is combined.
pub fn spread_blocks(this_side: u64, other_side: u64) -> u64 {
    u64::from(this_side > 0 && other_side > 0)
}

/// The octets that a collective sends over an edge in one direction; mostly of the one that it occupies longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BottleneckLoad {
    /// Blocks of one call over the edge.
    pub blocks: u64,
    /// The rate of its cable.
    pub rate: BitsPerSec,
}

impl BottleneckLoad {
    /// The seconds of a call with blocks of this size, at line rate, TCP over Ethernet.
    pub fn seconds(&self, block: Bytes) -> f64 {
        self.blocks as f64 * block.0 as f64 * 8.0 * WIRE_PER_PAYLOAD / self.rate.0.max(1) as f64
    }
}

/// The bottleneck of an all-to-all with `ranks[h]` ranks on host `h` (missing entries: none). `None`
/// where nothing is sent.
pub fn alltoall_bottleneck(tree: &Tree, ranks: &[u32]) -> Option<BottleneckLoad> {
    bottleneck(tree, ranks, exchange_blocks)
}

/// The bottleneck of an allgather with `ranks[h]` ranks on host `h` (missing entries: none). `None`
/// where nothing is sent.
pub fn allgather_bottleneck(tree: &Tree, ranks: &[u32]) -> Option<BottleneckLoad> {
    bottleneck(tree, ranks, gather_blocks)
}

/// The trunks, by their lower ends, over which all blocks but one last longer than an allgather with
/// a rank on each host has to: one logical ring sends so many over each trunk.
pub fn slow_trunks(tree: &Tree) -> Vec<NodeNumber> {
    let hosts = tree.hosts();
    let Some(least) = allgather_bottleneck(tree, &vec![1; hosts as usize]) else {
        return Vec::new();
    };
    let below = tree.hosts_below();
    (0..tree.nodes())
        .filter(|&node| {
            let around = u128::from(hosts - 1) * u128::from(least.rate.0);
            let inside = below[node as usize];
            let parts = tree.parent(node).is_some() && inside > 0 && inside < hosts;
            parts && around > u128::from(least.blocks) * u128::from(tree.rate(node).0)
        })
        .collect()
}

/// The slowest edge, which carries `blocks(ranks on the sending side, ranks on the receiving
/// side)`.
fn bottleneck(
    tree: &Tree,
    ranks: &[u32],
    blocks: impl Fn(u64, u64) -> u64,
) -> Option<BottleneckLoad> {
    let loads = edge_loads(tree, ranks, blocks)
        .into_iter()
        .map(|(_, load)| load);
    loads.max_by(|a, b| a.seconds(Bytes(1)).total_cmp(&b.seconds(Bytes(1))))
}

/// The edges over which blocks go, with `ranks[h]` ranks on host `h` (missing entries: none): an edge
/// carries `blocks(ranks on the sending side, ranks on the receiving side)`.
pub fn edge_loads(
    tree: &Tree,
    ranks: &[u32],
    blocks: impl Fn(u64, u64) -> u64,
) -> Vec<(EdgeNumber, BottleneckLoad)> {
    let mut below = vec![0u64; tree.nodes() as usize];
    below
        .iter_mut()
        .zip(ranks)
        .take(tree.hosts() as usize)
        .for_each(|(own, &ranks)| *own = u64::from(ranks));
    for &v in tree.top_down().iter().rev() {
        if let Some(parent) = tree.parent(v) {
            below[parent as usize] += below[v as usize];
        }
    }
    let total = below[tree.root() as usize];
    (0..tree.edges())
        .filter_map(|edge| {
            let v = edge / 2;
            tree.parent(v)?;
            let (low, high) = (below[v as usize], total - below[v as usize]);
            let blocks = if edge.is_multiple_of(2) {
                blocks(low, high)
            } else {
                blocks(high, low)
            };
            let rate = tree.rate(v);
            (blocks > 0).then_some((edge, BottleneckLoad { blocks, rate }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::{star, topology};

    fn unit(tree: &Tree) -> PhaseBound {
        bound(tree, &EdgeCapacities::unit(tree))
    }

    #[test]
    fn a_wide_trunk_needs_fewer_phases_than_its_load() {
        let hosts: Vec<String> = (0..96)
            .map(|h| format!("n{h}: {{switch: s{}}}", h / 24))
            .collect();
        let trunks: Vec<String> = (0..4)
            .map(|s| format!("{{a: core, b: s{s}, rate: 10G}}"))
            .collect();
        let text = format!(
            "switches: [core, s0, s1, s2, s3]\nhosts: {{{}}}\nlinks: [{}]",
            hosts.join(", "),
            trunks.join(", ")
        );
        let tree = topology(&text);
        assert_eq!(unit(&tree).phases, 1_728);
        let wide = bound(&tree, &EdgeCapacities::from_tree(&tree));
        assert_eq!((wide.phases, wide.load, wide.capacity), (173, 1_728, 10));
    }

    #[test]
    fn the_bottleneck_of_two_switches_is_the_cable_between_them() {
        let tree = star(&[3, 3]);
        let b = unit(&tree);
        assert_eq!((b.phases, b.load, b.capacity), (9, 9, 1));
        assert_eq!(b.edge, ("s1".into(), "s0".into()));
        let one_switch = star(&[5]);
        assert_eq!(unit(&one_switch).phases, 4);
        assert_eq!(unit(&one_switch).edge.0, "n0");
    }

    #[test]
    fn one_host_sends_nothing() {
        for tree in [star(&[1]), star(&[2, 1]).restrict(&["n1"]).unwrap()] {
            let b = unit(&tree);
            assert_eq!(
                (b.phases, b.load, b.edge),
                (0, 0, (tree.name(0).into(), tree.name(0).into()))
            );
            assert_eq!(
                (
                    payload_bound_seconds(&tree, Bytes(1 << 20)),
                    allgather_bound_seconds(&tree, Bytes(1 << 20))
                ),
                (0.0, 0.0)
            );
        }
    }

    #[test]
    fn reductions_fill_all_links_or_the_slowest_one() {
        let second = Bytes(125_000_000); // Of gigabit.
        let seconds =
            |seconds: f64| move |found: f64| (found / WIRE_PER_PAYLOAD - seconds).abs() < 1e-9;
        let even = star(&[3, 3]);
        assert!(seconds(10.0 / 6.0)(allreduce_seconds(
            &even, &[1; 6], second
        )));
        assert!(seconds(1.0)(broadcast_seconds(&even, &[1; 6], second)));
        assert!(seconds(1.0)(allreduce_seconds(
            &even,
            &[2, 0, 0, 0, 0, 2],
            second
        )));
        let slow = topology(
            "switches: [a, b]\nhosts: {x: {switch: a}, y: {switch: b}}\nlinks: [{a: a, b: b, rate: \
             100M}]",
        );
        assert!(seconds(10.0)(allreduce_seconds(&slow, &[1, 1], second)));
        assert!(seconds(10.0)(broadcast_seconds(&slow, &[1, 1], second)));
        assert_eq!(allreduce_seconds(&slow, &[2, 0], second), 0.0);
    }

    #[test]
    fn a_faster_trunk_moves_the_time_bound_to_the_host_links() {
        let text = |rate| {
            format!(
                "switches: [a, b]\nhosts: {{x: {{switch: a}}, y: {{switch: a}}, z: {{switch: b}}, \
                 w: {{switch: b}}}}\nlinks: [{{a: a, b: b, rate: {rate}}}]"
            )
        };
        let (slow, fast) = (topology(&text("1G")), topology(&text("10G")));
        let block = Bytes(125_000_000); // a second of gigabit
        assert!((payload_bound_seconds(&slow, block) - 4.0 * WIRE_PER_PAYLOAD).abs() < 1e-9);
        assert!((payload_bound_seconds(&fast, block) - 3.0 * WIRE_PER_PAYLOAD).abs() < 1e-9);
        assert!((allgather_bound_seconds(&slow, block) - 3.0 * WIRE_PER_PAYLOAD).abs() < 1e-9);
        assert!(
            (alltoall_seconds(&slow, &[2, 2, 2, 2], block) - 16.0 * WIRE_PER_PAYLOAD).abs() < 1e-9
        );
        assert_eq!(
            link_capacity(BitsPerSec::mega(10_000), slowest_host_link(&fast).unwrap()),
            10
        );
        assert_eq!(link_capacity(BitsPerSec::mega(100), BitsPerSec::GIGABIT), 1);
    }
}
