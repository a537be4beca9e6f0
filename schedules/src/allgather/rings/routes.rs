//! The way of each block from island to island, and the host at which it enters each.
use super::islands::TreeIslands;
use crate::message::Message;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};

/// One host sends one block to another.
pub(super) struct BlockHop {
    pub(super) from: NodeNumber,
    pub(super) to: NodeNumber,
    pub(super) owner: NodeNumber,
    /// The hop that brought the block to the sender; `None` where it is the sender's own.
    pub(super) source: Option<usize>,
    /// The directed edges on the way.
    pub(super) path: Vec<EdgeNumber>,
    /// Those of slow trunks. None inside an island.
    pub(super) slow: Vec<EdgeNumber>,
}

impl BlockHop {
    pub(super) fn ends(&self) -> Message {
        Message {
            src: self.from,
            dst: self.to,
        }
    }
}

/// A block enters an island.
struct IslandEntry {
    /// The host that sends it there.
    from: NodeNumber,
    to: NodeNumber,
}

/// The entries of all blocks, each host's after each other, in the order in which its block goes on.
pub(super) struct BlockRoutes {
    pub(super) islands: TreeIslands,
    /// By owner.
    entries: Vec<Vec<IslandEntry>>,
    /// By directed edge: the blocks over it.
    loads: Vec<u64>,
}

impl BlockRoutes {
    /// Chooses the entry hosts. The first choice is the one with which the busiest cable on the way
    /// is least busy; of equal ones it is the host at which fewest blocks have entered.
    pub(super) fn chosen(tree: &Tree, islands: TreeIslands) -> BlockRoutes {
        let mut choice = EntryChoice::new(tree, &islands);
        let entries = (0..tree.hosts())
            .map(|owner| choice.entries(owner))
            .collect();
        let loads = choice.loads;
        BlockRoutes {
            islands,
            entries,
            loads,
        }
    }

    /// The time that the busiest cable needs for a bit of each block, and that cable.
    pub(super) fn bit(&self, tree: &Tree) -> (f64, EdgeNumber) {
        let edges = (0..tree.edges()).map(|edge| (seconds(tree, &self.loads, edge), edge));
        edges.fold(
            (0.0, 0),
            |most, this| if this.0 > most.0 { this } else { most },
        )
    }

    /// All hops: of each block those to other islands, then those around each island. A hop comes
    /// after its source.
    pub(super) fn hops(&self, tree: &Tree) -> Vec<BlockHop> {
        let mut hops: Vec<BlockHop> = Vec::new();
        for (entries, owner) in self.entries.iter().zip(0..) {
            let first = hops.len();
            let mut places = vec![(owner, None)];
            for entry in entries {
                let source = places
                    .iter()
                    .find(|&&(host, _)| host == entry.from)
                    .and_then(|place| place.1);
                hops.push(self.hop(tree, (entry.from, entry.to), owner, source));
                places.push((entry.to, Some(first + places.len() - 1)));
            }
            for (host, mut source) in places {
                let ring = &self.islands.rings[self.islands.of[host as usize]];
                let begin = ring.iter().position(|&other| other == host).unwrap_or(0);
                let around = ring.iter().cycle().skip(begin).take(ring.len());
                for (&from, &to) in around.clone().zip(around.skip(1)) {
                    hops.push(self.hop(tree, (from, to), owner, source));
                    source = Some(hops.len() - 1);
                }
            }
        }
        hops
    }

    fn hop(
        &self,
        tree: &Tree,
        (from, to): (NodeNumber, NodeNumber),
        owner: NodeNumber,
        source: Option<usize>,
    ) -> BlockHop {
        let path = path(tree, from, to);
        BlockHop {
            from,
            to,
            owner,
            source,
            slow: path
                .iter()
                .filter(|edge| self.islands.slow[**edge as usize / 2])
                .copied()
                .collect(),
            path,
        }
    }
}

fn path(tree: &Tree, from: NodeNumber, to: NodeNumber) -> Vec<EdgeNumber> {
    let mut path = Vec::new();
    tree.path(from, to, |edge| path.push(edge));
    path
}

/// The time of an edge for a bit of each of its blocks.
fn seconds(tree: &Tree, loads: &[u64], edge: EdgeNumber) -> f64 {
    loads[edge as usize] as f64 / tree.rate(edge / 2).0.max(1) as f64
}

/// Entry hosts chosen so far.
struct EntryChoice<'a> {
    tree: &'a Tree,
    islands: &'a TreeIslands,
    /// By directed edge: blocks over it, if all others went around the rings.
    loads: Vec<u64>,
    /// By host: the blocks that enter there.
    entered: Vec<u32>,
}

impl<'a> EntryChoice<'a> {
    fn new(tree: &'a Tree, islands: &'a TreeIslands) -> EntryChoice<'a> {
        let mut loads = vec![0; tree.edges() as usize];
        for ring in &islands.rings {
            for (from, to) in super::super::neighbours(ring) {
                let all = u64::from(tree.hosts() - 1);
                tree.path(from, to, |edge| loads[edge as usize] += all);
            }
        }
        EntryChoice {
            tree,
            islands,
            loads,
            entered: vec![0; tree.hosts() as usize],
        }
    }

    /// The entries of a host's block into all other islands.
    fn entries(&mut self, owner: NodeNumber) -> Vec<IslandEntry> {
        let mut entries = Vec::new();
        // The host that has the block in an island, and the junction by which it came there.
        let mut open = vec![(owner, None)];
        while let Some((host, came_by)) = open.pop() {
            let island = self.islands.of[host as usize];
            for (number, around) in self.islands.junctions.iter().enumerate() {
                let Some(at) = around.iter().position(|&other| other == island) else {
                    continue;
                };
                if came_by == Some(number) {
                    continue;
                }
                let mut from = host;
                for &next in around.iter().cycle().skip(at + 1).take(around.len() - 1) {
                    let to = self.enter(from, next);
                    entries.push(IslandEntry { from, to });
                    open.push((to, Some(number)));
                    from = to;
                }
            }
        }
        entries
    }

    /// Chooses the host at which a block enters an island.
    fn enter(&mut self, from: NodeNumber, island: usize) -> NodeNumber {
        let ring = &self.islands.rings[island];
        let before = |at: usize| ring[(at + ring.len() - 1) % ring.len()];
        let mut best: Option<(f64, u32, usize)> = None;
        for (at, &host) in ring.iter().enumerate() {
            self.load(from, host, before(at), 1);
            let (mut busiest, slow) = (0.0, &self.islands.slow);
            self.tree.path(from, host, |edge| {
                if !slow[edge as usize / 2] {
                    busiest = f64::max(busiest, seconds(self.tree, &self.loads, edge));
                }
            });
            self.load(from, host, before(at), -1);
            let this = (busiest, self.entered[host as usize], at);
            if best.is_none_or(|best| (this.0, this.1) < (best.0, best.1)) {
                best = Some(this);
            }
        }
        let at = best.map_or(0, |best| best.2);
        self.load(from, ring[at], before(at), 1);
        self.entered[ring[at] as usize] += 1;
        ring[at]
    }

    /// A block comes to `host` by `from` instead of by the host before it in the ring, so many
    /// times.
    fn load(&mut self, from: NodeNumber, host: NodeNumber, before: NodeNumber, times: i64) {
        let loads = &mut self.loads;
        for (from, times) in [(from, times), (before, -times)] {
            self.tree.path(from, host, |edge| {
                let load = &mut loads[edge as usize];
                *load = load.saturating_add_signed(times);
            });
        }
    }
}
