//! List scheduling: whenever edges become free, the most urgent message that fits starts.
//!
//! Urgent is a message on a path with much to carry, and a long one: the load of its busiest edge plus its own time. A message that
//! does not fit is parked at an edge that is full, and looked at again when that edge has room: others' ends do not concern it.
use super::{Block, LoadBound, SizesError, picoseconds};
use crate::message::{Message, Sync};
use inventory::Bytes;
use inventory::tree::{Edge, Tree};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Messages by urgency, the most urgent first.
pub(super) struct Jobs {
    blocks: Vec<Block>,
    /// Bit/s each one takes of every edge on its path: what the slowest carries.
    rates: Vec<u64>,
    /// Picoseconds.
    times: Vec<u64>,
    paths: Vec<Edge>,
    /// Where each path begins; one more at the end.
    first: Vec<u32>,
    /// Octets over each edge.
    load: Vec<u128>,
    /// Picoseconds each edge is busy.
    busy: Vec<u64>,
}

impl Jobs {
    pub(super) fn new(tree: &Tree, sizes: &[Bytes]) -> Result<Jobs, SizesError> {
        let hosts = tree.hosts();
        let pairs = || (0..hosts).flat_map(|src| (0..hosts).map(move |dst| Message { src, dst })).zip(sizes.iter().copied());
        let sent = || pairs().filter(|&(m, bytes)| m.src != m.dst && bytes.0 > 0);
        let mut load = vec![0u128; tree.edges() as usize];
        let mut found: Vec<(u64, u64, u64, Block)> = Vec::with_capacity(sizes.len());
        for (message, bytes) in sent() {
            let mut rate = u64::MAX;
            tree.path(message.src, message.dst, |edge| {
                load[edge as usize] += u128::from(bytes.0);
                rate = rate.min(tree.rate(edge / 2).0.max(1));
            });
            found.push((0, rate, 0, Block { message, bytes }));
        }
        let busy = (0..tree.edges()).map(|edge| picoseconds(tree, edge, load[edge as usize]).ok_or_else(|| too_long(tree, edge)));
        let busy = busy.collect::<Result<Vec<u64>, SizesError>>()?;
        for (urgency, rate, time, block) in &mut found {
            // No longer than its slowest edge is busy, which was found to be few enough.
            *time = (u128::from(block.bytes.0) * 8_000_000_000_000 / u128::from(*rate)) as u64;
            let mut busiest = 0;
            tree.path(block.message.src, block.message.dst, |edge| busiest = busiest.max(busy[edge as usize]));
            *urgency = busiest + *time;
        }
        // Of equal ones each host has others to send to.
        let turn = |m: Message| ((m.dst + hosts - m.src) % hosts, m.src);
        found.sort_unstable_by_key(|&(urgency, _, _, block)| (Reverse(urgency), turn(block.message)));
        let mut jobs = Jobs { blocks: Vec::new(), rates: Vec::new(), times: Vec::new(), paths: Vec::new(), first: vec![0], load, busy };
        for (_, rate, time, block) in found {
            tree.path(block.message.src, block.message.dst, |edge| jobs.paths.push(edge));
            jobs.first.push(jobs.paths.len() as u32);
            jobs.blocks.push(block);
            jobs.rates.push(rate);
            jobs.times.push(time);
        }
        Ok(jobs)
    }

    fn path(&self, job: u32) -> &[Edge] {
        &self.paths[self.first[job as usize] as usize..self.first[job as usize + 1] as usize]
    }

    pub(super) fn bound(&self, tree: &Tree) -> LoadBound {
        let edge = (0..tree.edges()).rev().filter(|&e| self.busy[e as usize] > 0).max_by_key(|&e| self.busy[e as usize]).unwrap_or(0);
        let name = |v| tree.name(v).to_owned();
        let (from, to) = tree.ends(edge).unwrap_or((0, 0));
        LoadBound { edge: (name(from), name(to)), load: Bytes(self.load[edge as usize] as u64), rate: tree.rate(edge / 2) }
    }
}

fn too_long(tree: &Tree, edge: Edge) -> SizesError {
    let (from, to) = tree.ends(edge).unwrap_or((0, 0));
    SizesError::TooLong { from: tree.name(from).to_owned(), to: tree.name(to).to_owned() }
}

const NOBODY: u32 = u32::MAX;

/// A directed edge in the course of time.
struct Lane {
    /// Bit/s nobody uses now.
    spare: u64,
    /// Whose end made it spare, longest ago first.
    left: VecDeque<(u32, u64)>,
    /// Messages that found it full, the most urgent on top.
    parked: BinaryHeap<Reverse<u32>>,
}

struct Shop<'a> {
    jobs: &'a Jobs,
    edges: Vec<Lane>,
    /// Ends to come.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    now: u64,
    started: Vec<Block>,
    syncs: Vec<Sync>,
}

/// The messages in the order of their starts, and what they wait for.
pub(super) fn schedule(tree: &Tree, jobs: &Jobs) -> (Vec<Block>, Vec<Sync>) {
    let lane = |edge| {
        let rate = tree.rate(edge / 2).0.max(1);
        Lane { spare: rate, left: VecDeque::from([(NOBODY, rate)]), parked: BinaryHeap::new() }
    };
    let number = jobs.blocks.len();
    let (started, syncs) = (Vec::with_capacity(number), Vec::with_capacity(3 * number));
    let mut shop = Shop { jobs, edges: (0..tree.edges()).map(lane).collect(), ends: BinaryHeap::new(), now: 0, started, syncs };
    (0..number as u32).for_each(|job| shop.start_or_park(job));
    while let Some(Reverse((at, job))) = shop.ends.pop() {
        shop.now = at;
        shop.end(job);
        // What ends at the same time ends before anything else starts.
        let mut freed: Vec<u32> = vec![job];
        while let Some(&Reverse((time, other))) = shop.ends.peek()
            && time == at
        {
            shop.ends.pop();
            shop.end(other);
            freed.push(other);
        }
        shop.fill(&freed);
    }
    (shop.started, shop.syncs)
}

impl Shop<'_> {
    fn end(&mut self, job: u32) {
        let rate = self.jobs.rates[job as usize];
        for &edge in self.jobs.path(job) {
            let edge = &mut self.edges[edge as usize];
            edge.spare += rate;
            edge.left.push_back((job, rate));
        }
    }

    /// Starts what waits for the edges that these jobs left, by urgency.
    fn fill(&mut self, freed: &[u32]) {
        let jobs = self.jobs;
        let edges = || freed.iter().flat_map(|&job| jobs.path(job)).copied();
        while let Some((job, edge)) = edges().filter_map(|edge| Some((self.waiting(edge)?, edge))).min() {
            self.edges[edge as usize].parked.pop();
            self.start_or_park(job);
        }
    }

    /// The most urgent message parked at an edge that has room for it.
    fn waiting(&self, edge: Edge) -> Option<u32> {
        let edge = &self.edges[edge as usize];
        let &Reverse(job) = edge.parked.peek()?;
        (edge.spare >= self.jobs.rates[job as usize]).then_some(job)
    }

    fn start_or_park(&mut self, job: u32) {
        let (jobs, rate) = (self.jobs, self.jobs.rates[job as usize]);
        let full = jobs.path(job).iter().copied().find(|&edge| self.edges[edge as usize].spare < rate);
        match full {
            Some(edge) => self.edges[edge as usize].parked.push(Reverse(job)),
            None => self.start(job),
        }
    }

    fn start(&mut self, job: u32) {
        let (jobs, block) = (self.jobs, self.jobs.blocks[job as usize]);
        let first = self.syncs.len();
        for &edge in jobs.path(job) {
            let lane = &mut self.edges[edge as usize];
            let mut wanted = jobs.rates[job as usize];
            lane.spare -= wanted;
            while let Some((user, rate)) = lane.left.pop_front() {
                if user != NOBODY && self.syncs[first..].iter().all(|s| s.after != jobs.blocks[user as usize].message) {
                    self.syncs.push(sync(jobs.blocks[user as usize].message, block.message));
                }
                if rate >= wanted {
                    if rate > wanted {
                        lane.left.push_front((user, rate - wanted));
                    }
                    break;
                }
                wanted -= rate;
            }
        }
        self.started.push(block);
        self.ends.push(Reverse((self.now + jobs.times[job as usize], job)));
    }
}

fn sync(after: Message, before: Message) -> Sync {
    Sync { after, before, from: if after.src == before.src { before.src } else { after.dst }, to: before.src }
}
