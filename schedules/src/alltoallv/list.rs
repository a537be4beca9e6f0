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

/// A message to be sent.
struct Job {
    block: Block,
    /// Bit/s it takes of every edge on its path: what the slowest carries.
    rate: u64,
    /// Picoseconds.
    time: u64,
    urgency: u64,
    /// Where its edges are.
    path: (u32, u32),
}

/// What is to be done, the most urgent first.
pub(super) struct Jobs {
    jobs: Vec<Job>,
    paths: Vec<Edge>,
    /// Octets over each edge.
    load: Vec<u128>,
    /// Picoseconds each edge is busy.
    busy: Vec<u64>,
}

impl Jobs {
    pub(super) fn new(tree: &Tree, sizes: &[Bytes]) -> Result<Jobs, SizesError> {
        let hosts = tree.hosts();
        let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| Message { src, dst })).zip(sizes.iter().copied());
        let mut jobs: Vec<Job> = Vec::with_capacity(sizes.len());
        let (mut paths, mut load) = (Vec::with_capacity(4 * sizes.len()), vec![0u128; tree.edges() as usize]);
        for (message, bytes) in pairs.filter(|&(m, bytes)| m.src != m.dst && bytes.0 > 0) {
            let (first, mut rate) = (paths.len() as u32, u64::MAX);
            tree.path(message.src, message.dst, |edge| {
                paths.push(edge);
                load[edge as usize] += u128::from(bytes.0);
                rate = rate.min(tree.rate(edge / 2).0.max(1));
            });
            jobs.push(Job { block: Block { message, bytes }, rate, time: 0, urgency: 0, path: (first, paths.len() as u32) });
        }
        let busy = (0..tree.edges()).map(|edge| picoseconds(tree, edge, load[edge as usize]).ok_or_else(|| too_long(tree, edge)));
        let busy = busy.collect::<Result<Vec<u64>, SizesError>>()?;
        let mut all = Jobs { jobs: Vec::new(), paths, load, busy };
        for job in &mut jobs {
            // No longer than its slowest edge is busy, which was found to be few enough.
            job.time = (u128::from(job.block.bytes.0) * 8_000_000_000_000 / u128::from(job.rate)) as u64;
            job.urgency = all.path(job).iter().map(|&edge| all.busy[edge as usize]).max().unwrap_or(0) + job.time;
        }
        // Of equal ones each host has others to send to.
        let turn = |m: Message| ((m.dst + hosts - m.src) % hosts, m.src);
        jobs.sort_unstable_by_key(|job| (Reverse(job.urgency), turn(job.block.message)));
        all.jobs = jobs;
        Ok(all)
    }

    fn path(&self, job: &Job) -> &[Edge] {
        &self.paths[job.path.0 as usize..job.path.1 as usize]
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
    let number = jobs.jobs.len();
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
    fn end(&mut self, number: u32) {
        let job = &self.jobs.jobs[number as usize];
        for &edge in self.jobs.path(job) {
            let edge = &mut self.edges[edge as usize];
            edge.spare += job.rate;
            edge.left.push_back((number, job.rate));
        }
    }

    /// Starts what waits for the edges that these jobs left, by urgency.
    fn fill(&mut self, freed: &[u32]) {
        let jobs = self.jobs;
        let edges = || freed.iter().flat_map(|&job| jobs.path(&jobs.jobs[job as usize])).copied();
        while let Some((job, edge)) = edges().filter_map(|edge| Some((self.waiting(edge)?, edge))).min() {
            self.edges[edge as usize].parked.pop();
            self.start_or_park(job);
        }
    }

    /// The most urgent message parked at an edge that has room for it.
    fn waiting(&self, edge: Edge) -> Option<u32> {
        let edge = &self.edges[edge as usize];
        let &Reverse(job) = edge.parked.peek()?;
        (edge.spare >= self.jobs.jobs[job as usize].rate).then_some(job)
    }

    fn start_or_park(&mut self, number: u32) {
        let job = &self.jobs.jobs[number as usize];
        let full = self.jobs.path(job).iter().copied().find(|&edge| self.edges[edge as usize].spare < job.rate);
        match full {
            Some(edge) => self.edges[edge as usize].parked.push(Reverse(number)),
            None => self.start(number),
        }
    }

    fn start(&mut self, number: u32) {
        let job = &self.jobs.jobs[number as usize];
        let (first, end) = (self.syncs.len(), self.now + job.time);
        for &edge in self.jobs.path(job) {
            let lane = &mut self.edges[edge as usize];
            let mut wanted = job.rate;
            lane.spare -= wanted;
            while let Some((user, rate)) = lane.left.pop_front() {
                if user != NOBODY {
                    let after = self.jobs.jobs[user as usize].block.message;
                    if self.syncs[first..].iter().all(|s| s.after != after) {
                        self.syncs.push(sync(after, job.block.message));
                    }
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
        self.started.push(job.block);
        self.ends.push(Reverse((end, number)));
    }
}

fn sync(after: Message, before: Message) -> Sync {
    Sync { after, before, from: if after.src == before.src { before.src } else { after.dst }, to: before.src }
}
