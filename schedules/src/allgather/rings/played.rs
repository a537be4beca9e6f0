//! Plays the hops event by event: when each begins, what goes first, and how long all take.
//!
//! Each link between two hosts of a ring carries one block at a time, and so does each slow trunk in
//! each direction. A host sends first what it got first, then what is on its way to it and is
//! expected first: a block goes on while it comes. Blocks that share cables share their rates
//! fairly.
use super::routes::BlockHop;
use inventory::tree::Tree;
use std::cmp::Ordering;

/// Smaller parts of a block are rounding.
const NOTHING: f64 = 1e-9;
/// Rates are corrected so often for blocks that cannot go faster than they come.
const CORRECTIONS: usize = 3;

/// The hops as they went.
pub(super) struct PlayedHops {
    /// The hops in the order in which they began.
    pub(super) order: Vec<usize>,
    /// Two hops that follow each other over a slow trunk.
    pub(super) turns: Vec<(usize, usize)>,
    /// The time of a bit of each block.
    pub(super) bit: f64,
}

impl PlayedHops {
    pub(super) fn played(tree: &Tree, hops: &[BlockHop]) -> PlayedHops {
        let mut play = HopPlay::new(tree, hops);
        loop {
            play.begin();
            if play.going.is_empty() {
                return PlayedHops {
                    order: play.order,
                    turns: play.turns,
                    bit: play.now,
                };
            }
            play.find_rates();
            play.go_on();
        }
    }

    /// The phase of each hop: after that of the hop that brought its block and after those before it
    /// on slow trunks, and not before that of an earlier hop between the same hosts.
    pub(super) fn phases(&self, hops: &[BlockHop]) -> Vec<u32> {
        let mut phases = vec![0; hops.len()];
        let mut least = vec![0; hops.len()];
        let mut last = std::collections::HashMap::new();
        let mut turns = self.turns.clone();
        turns.sort_unstable();
        for &hop in &self.order {
            let brought = hops[hop].source.map_or(0, |source| phases[source] + 1);
            let lane: &mut u32 = last.entry(hops[hop].ends()).or_default();
            let phase = brought.max(least[hop]).max(*lane);
            (phases[hop], *lane) = (phase, phase);
            let from = turns.partition_point(|turn| turn.0 < hop);
            for &(_, next) in turns[from..].iter().take_while(|turn| turn.0 == hop) {
                least[next] = least[next].max(phase + 1);
            }
        }
        phases
    }
}

#[derive(Clone, Copy, PartialEq)]
enum HopState {
    Waits,
    Goes,
    /// It has come at this time.
    Came(f64),
}

/// Its class and time by [`HopPlay::readiness`], with how busy its hosts are in between; its number,
/// and its place among those to choose from.
type ReadyHop = (u8, u32, f64, usize, usize);

struct HopPlay<'a> {
    tree: &'a Tree,
    hops: &'a [BlockHop],
    state: Vec<HopState>,
    /// By hop: the part of the block that is still to come, and its rate.
    left: Vec<f64>,
    rate: Vec<f64>,
    /// Those that go, in the order in which they began.
    going: Vec<usize>,
    /// By host: hops to the next host of the ring that have not begun; and whether one goes.
    around: Vec<Vec<usize>>,
    is_sending: Vec<bool>,
    /// Hops between islands that have not begun.
    across: Vec<usize>,
    /// By directed edge: whether a slow trunk is in use, and the last hop over it.
    in_use: Vec<bool>,
    last: Vec<Option<usize>>,
    /// By directed edge, while rates are found: what is free, and hops without a rate.
    room: Vec<f64>,
    sharing: Vec<f64>,
    order: Vec<usize>,
    turns: Vec<(usize, usize)>,
    now: f64,
}

impl<'a> HopPlay<'a> {
    fn new(tree: &'a Tree, hops: &'a [BlockHop]) -> HopPlay<'a> {
        let mut around = vec![Vec::new(); tree.hosts() as usize];
        let mut across = Vec::new();
        for (number, hop) in hops.iter().enumerate() {
            if hop.slow.is_empty() {
                around[hop.from as usize].push(number);
            } else {
                across.push(number);
            }
        }
        let edges = tree.edges() as usize;
        HopPlay {
            tree,
            hops,
            state: vec![HopState::Waits; hops.len()],
            left: vec![1.0; hops.len()],
            rate: vec![0.0; hops.len()],
            going: Vec::new(),
            around,
            is_sending: vec![false; tree.hosts() as usize],
            across,
            in_use: vec![false; edges],
            last: vec![None; edges],
            room: vec![0.0; edges],
            sharing: vec![0.0; edges],
            order: Vec::with_capacity(hops.len()),
            turns: Vec::new(),
            now: 0.0,
        }
    }

    fn capacity(&self, edge: u32) -> f64 {
        self.tree.rate(edge / 2).0.max(1) as f64
    }

    /// When the block of a hop is at its sender: 0 and the time at which it came, or 1 and the time
    /// that the rest of it takes. `None` if it has not begun to come.
    fn readiness(&self, hop: usize) -> Option<(u8, f64)> {
        let Some(source) = self.hops[hop].source else {
            return Some((0, 0.0));
        };
        match self.state[source] {
            HopState::Waits => None,
            HopState::Came(at) => Some((0, at)),
            HopState::Goes => {
                let path = self.hops[source].path.iter();
                let slowest = path
                    .map(|&edge| self.capacity(edge))
                    .fold(f64::MAX, f64::min);
                Some((1, self.left[source] / slowest))
            }
        }
    }

    /// The hop of these that is ready first, as its place among them; `busy` counts what else its
    /// hosts do then, and `None` means that it cannot begin. Of blocks that are there, one whose
    /// hosts do nothing else goes first.
    fn first(&self, hops: &[usize], busy: impl Fn(&BlockHop) -> Option<u32>) -> Option<usize> {
        let ready = hops.iter().enumerate().filter_map(|(at, &hop)| {
            let (class, time) = self.readiness(hop)?;
            Some((class, busy(&self.hops[hop])?, time, hop, at))
        });
        ready
            .min_by(|a: &ReadyHop, b: &ReadyHop| -> Ordering {
                let first = (a.0, a.1).cmp(&(b.0, b.1));
                first.then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3))
            })
            .map(|ready| ready.4)
    }

    /// How many slow crossings go at the ends of a hop whose own trunks are free. Two at one host, beside its
    /// ring, would each get less than their trunk has.
    fn crossings_beside(&self, hop: &BlockHop) -> Option<u32> {
        let is_free = hop.slow.iter().all(|&edge| !self.in_use[edge as usize]);
        let crossing = self.going.iter().map(|&other| &self.hops[other]);
        let crossing = crossing.filter(|other| !other.slow.is_empty());
        let same = crossing.filter(|other| other.from == hop.from || other.to == hop.to);
        is_free.then(|| same.count() as u32)
    }

    /// Begins what can begin now.
    fn begin(&mut self) {
        while let Some(at) = self.first(&self.across, |hop| self.crossings_beside(hop)) {
            let hop = self.across.remove(at);
            for &edge in &self.hops[hop].slow {
                self.in_use[edge as usize] = true;
                if let Some(before) = self.last[edge as usize].replace(hop) {
                    self.turns.push((before, hop));
                }
            }
            self.begin_hop(hop);
        }
        // A block can go on in the moment in which it begins to come: until nothing more begins.
        let mut begun = true;
        while std::mem::take(&mut begun) {
            for host in 0..self.around.len() {
                if self.is_sending[host] {
                    continue;
                }
                if let Some(at) = self.first(&self.around[host], |_| Some(0)) {
                    let hop = self.around[host].remove(at);
                    self.is_sending[host] = true;
                    self.begin_hop(hop);
                    begun = true;
                }
            }
        }
    }

    fn begin_hop(&mut self, hop: usize) {
        self.state[hop] = HopState::Goes;
        self.going.push(hop);
        self.order.push(hop);
    }

    /// The hop that brings what this one passes on, if it has nothing in store.
    fn bringing(&self, hop: usize) -> Option<usize> {
        let source = self.hops[hop].source?;
        let is_dry = self.left[hop] - self.left[source] < NOTHING;
        (self.state[source] == HopState::Goes && is_dry).then_some(source)
    }

    fn find_rates(&mut self) {
        let mut most = vec![f64::MAX; self.going.len()];
        for _ in 0..CORRECTIONS {
            self.share(&most);
            // A hop began after the one that brings its block, so that one's rate is right already.
            for (most, hop) in most.iter_mut().zip(self.going.clone()) {
                if let Some(source) = self.bringing(hop) {
                    *most = self.rate[source];
                    self.rate[hop] = self.rate[hop].min(*most);
                }
            }
        }
    }

    /// Shares the rates of all cables fairly; no hop gets more than its most.
    fn share(&mut self, most: &[f64]) {
        for &hop in &self.going {
            for &edge in &self.hops[hop].path {
                self.room[edge as usize] = self.tree.rate(edge / 2).0.max(1) as f64;
                self.sharing[edge as usize] = 0.0;
            }
        }
        for &hop in &self.going {
            for &edge in &self.hops[hop].path {
                self.sharing[edge as usize] += 1.0;
            }
        }
        // Max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2): who gets the least
        // gets it for good, and what that leaves is divided among the others.
        let mut open: Vec<(usize, f64)> = self
            .going
            .iter()
            .copied()
            .zip(most.iter().copied())
            .collect();
        while !open.is_empty() {
            let rates = open.iter().map(|&(hop, most)| {
                let edges = self.hops[hop].path.iter().map(|&edge| edge as usize);
                let rooms = edges.map(|edge| self.room[edge] / self.sharing[edge]);
                rooms.fold(most, f64::min)
            });
            let shares: Vec<f64> = rates.collect();
            let least = shares.iter().copied().fold(f64::MAX, f64::min);
            let mut shares = shares.into_iter();
            let (settled, rest): (Vec<_>, Vec<_>) = (open.into_iter()).partition(|_| {
                shares
                    .next()
                    .is_some_and(|share| share <= least * (1.0 + NOTHING))
            });
            for (hop, _) in settled {
                self.rate[hop] = least;
                for &edge in &self.hops[hop].path {
                    let room = &mut self.room[edge as usize];
                    *room = (*room - least).max(0.0);
                    self.sharing[edge as usize] -= 1.0;
                }
            }
            open = rest;
        }
    }

    /// The time until a hop's block has come, or nothing is in store that it could pass on.
    fn time_left(&self, hop: usize) -> f64 {
        let comes = self.left[hop] / self.rate[hop];
        let Some(source) = self.hops[hop].source else {
            return comes;
        };
        if self.state[source] != HopState::Goes || self.bringing(hop).is_some() {
            return comes;
        }
        let nearer = self.rate[hop] - self.rate[source];
        let store = self.left[hop] - self.left[source];
        match nearer > 0.0 {
            true => comes.min(store / nearer),
            false => comes,
        }
    }

    /// Goes on until a block has come, or until one that is passed on has nothing in store.
    fn go_on(&mut self) {
        let times = self.going.iter().map(|&hop| self.time_left(hop));
        let step = times.fold(f64::MAX, f64::min);
        self.now += step;
        for &hop in &self.going {
            self.left[hop] -= self.rate[hop] * step;
            if self.left[hop] < NOTHING {
                self.state[hop] = HopState::Came(self.now);
                let BlockHop { from, slow, .. } = &self.hops[hop];
                for &edge in slow {
                    self.in_use[edge as usize] = false;
                }
                if slow.is_empty() {
                    self.is_sending[*from as usize] = false;
                }
            }
        }
        let state = &self.state;
        self.going.retain(|&hop| state[hop] == HopState::Goes);
    }
}
