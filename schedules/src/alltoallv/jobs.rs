//! What is to be done: messages by urgency, and classes of messages that take the same way.
//!
//! Urgent is a message on a path with much to carry, and a long one: the load of its busiest edge plus its own time.
//!
//! A group are the hosts of one rate on one switch, a class the messages from one group to another: they have all edges but the
//! hosts' own in common, and one rate.
use super::{Block, LoadBound, SizesError, picoseconds};
use crate::message::Message;
use inventory::Bytes;
use inventory::tree::{Edge, Node, Tree};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// A message to be sent.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) block: Block,
    pub(super) class: u32,
    /// The sender's and the receiver's own edge.
    pub(super) ends: [Edge; 2],
    /// Bit/s it takes of every edge on its path: what the slowest carries.
    pub(super) rate: u64,
    /// Picoseconds.
    pub(super) time: u64,
}

/// The messages from the hosts of one group to those of another.
pub(super) struct Class {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Of each message.
    pub(super) rate: u64,
    /// Where the edges between the groups' switches are, the busiest first.
    trunks: Range<usize>,
}

/// What is to be done.
pub(super) struct Jobs {
    /// The most urgent first.
    pub(super) jobs: Vec<Job>,
    /// By the groups they are from and to.
    pub(super) classes: Vec<Class>,
    /// Each host's.
    pub(super) group: Vec<u32>,
    pub(super) groups: usize,
    trunks: Vec<Edge>,
    /// Of each host the node whose cable is its own. A host that others hang on has none; one without limits stands for it.
    own: Vec<Node>,
    /// Octets over each edge.
    load: Vec<u128>,
    /// Picoseconds each edge is busy.
    busy: Vec<u64>,
}

impl Jobs {
    pub(super) fn new(tree: &Tree, sizes: &[Bytes]) -> Result<Jobs, SizesError> {
        let mut jobs = Jobs::without_sizes(tree);
        jobs.take(tree, sizes)?;
        jobs.sort(tree.hosts());
        Ok(jobs)
    }

    /// The groups and the ways between them.
    fn without_sizes(tree: &Tree) -> Jobs {
        let mut has_below = vec![false; tree.nodes() as usize];
        (0..tree.nodes()).filter_map(|v| tree.parent(v)).for_each(|parent| has_below[parent as usize] = true);
        let (mut groups, mut group, mut own) = (BTreeMap::new(), Vec::new(), Vec::new());
        for host in 0..tree.hosts() {
            let (node, at, rate) = match tree.parent(host).filter(|_| !has_below[host as usize]) {
                Some(switch) => (host, switch, tree.rate(host).0.max(1)),
                None => (tree.nodes(), host, u64::MAX),
            };
            let next = groups.len() as u32;
            group.push(*groups.entry((at, rate)).or_insert(next));
            own.push(node);
        }
        let mut members: Vec<((Node, u64), u32)> = groups.into_iter().collect();
        members.sort_unstable_by_key(|&(_, group)| group);
        let (mut classes, mut trunks) = (Vec::with_capacity(members.len().pow(2)), Vec::new());
        for &((a, source), from) in &members {
            for &((b, sink), to) in &members {
                let (first, mut rate) = (trunks.len(), source.min(sink));
                tree.path(a, b, |edge| {
                    trunks.push(edge);
                    rate = rate.min(tree.rate(edge / 2).0.max(1));
                });
                classes.push(Class { from, to, rate, trunks: first..trunks.len() });
            }
        }
        Jobs { jobs: Vec::new(), classes, group, groups: members.len(), trunks, own, load: Vec::new(), busy: Vec::new() }
    }

    /// Every pair that has something to send, and how busy that makes the edges.
    fn take(&mut self, tree: &Tree, sizes: &[Bytes]) -> Result<(), SizesError> {
        let hosts = tree.hosts();
        self.jobs.reserve_exact(sizes.len());
        let (mut load, mut between) = (vec![0u128; tree.edges() as usize + 2], vec![0u128; self.classes.len()]);
        for (src, sizes) in (0..hosts).zip(sizes.chunks_exact(hosts as usize)) {
            for (dst, &bytes) in (0..hosts).zip(sizes).filter(|&(dst, bytes)| dst != src && bytes.0 > 0) {
                let block = Block { message: Message { src, dst }, bytes };
                let class = self.group[src as usize] * self.groups as u32 + self.group[dst as usize];
                let ends = [2 * self.own[src as usize], 2 * self.own[dst as usize] + 1];
                between[class as usize] += u128::from(bytes.0);
                ends.iter().for_each(|&edge| load[edge as usize] += u128::from(bytes.0));
                self.jobs.push(Job { block, class, ends, rate: self.classes[class as usize].rate, time: 0 });
            }
        }
        for (class, octets) in self.classes.iter().zip(between) {
            self.trunks[class.trunks.clone()].iter().for_each(|&edge| load[edge as usize] += octets);
        }
        let busy = (0..tree.edges()).map(|edge| picoseconds(tree, edge, load[edge as usize]).ok_or_else(|| too_long(tree, edge)));
        self.busy = busy.chain([Ok(0), Ok(0)]).collect::<Result<_, _>>()?;
        self.load = load;
        for class in &self.classes {
            self.trunks[class.trunks.clone()].sort_unstable_by_key(|&edge| (Reverse(self.busy[edge as usize]), edge));
        }
        Ok(())
    }

    fn sort(&mut self, hosts: u32) {
        let mut order: Vec<u128> = Vec::with_capacity(self.jobs.len());
        for i in 0..self.jobs.len() {
            let Job { block: Block { message, bytes }, class, ends: [out, into], rate, .. } = self.jobs[i];
            // No longer than its slowest edge is busy, which was found to be few enough.
            let time = (u128::from(bytes.0) * 8_000_000_000_000 / u128::from(rate)) as u64;
            let busiest = [Some(&out), Some(&into), self.trunks(class).first()];
            let urgency = busiest.into_iter().flatten().map(|&edge| self.busy[edge as usize]).max().unwrap_or(0) + time;
            // Of equal ones each host has others to send to.
            let turn = (message.dst + hosts - message.src) % hosts;
            order.push(u128::from(!urgency) << 64 | u128::from(turn) << 32 | i as u128);
            self.jobs[i].time = time;
        }
        order.sort_unstable();
        self.jobs = order.into_iter().map(|key| self.jobs[key as u32 as usize]).collect();
    }

    /// The edges between the sender's and the receiver's switch, the busiest first.
    pub(super) fn trunks(&self, class: u32) -> &[Edge] {
        &self.trunks[self.classes[class as usize].trunks.clone()]
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
