//! List scheduling: whenever edges become free, the most urgent message that fits starts.
//!
//! What may start then needs one of these edges, so looked at are only the messages of hosts that became free, to and from hosts
//! that are free, and those over trunks that became free. A class of messages that finds a trunk full is parked there as a whole,
//! and looked at again when that trunk has room.
use super::Block;
use super::jobs::{Class, Job, Jobs};
use super::pending::Pending;
use crate::message::{Message, Sync};
use inventory::tree::{Edge, Tree};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const NOBODY: u32 = u32::MAX;
/// So many messages of a class are looked at by urgency before its hosts are.
const IN_ORDER: usize = 8;

/// A directed edge in the course of time.
struct Lane {
    /// Whose end made it spare, longest ago first.
    left: VecDeque<(u32, u64)>,
    /// Classes that found it full by their most urgent message, the most urgent on top.
    parked: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Lane {
    fn new(rate: u64) -> Lane {
        Lane { left: VecDeque::from([(NOBODY, rate)]), parked: BinaryHeap::new() }
    }
}

/// The messages of a class not yet started.
struct Queue {
    /// The most urgent first; some of them may have been started.
    jobs: VecDeque<u32>,
    parked: bool,
}

/// Where a message that may start now is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Sender(u32),
    Receiver(u32),
    Class(u32),
    Trunk(Edge),
}

struct Shop<'a> {
    jobs: &'a Jobs,
    lanes: Vec<Lane>,
    /// Bit/s of each lane that nobody uses now.
    spare: Vec<u64>,
    queues: Vec<Queue>,
    pending: Pending,
    has_started: Vec<bool>,
    /// Places to look at and the most urgent message that may be there.
    places: BinaryHeap<Reverse<(u32, Place)>>,
    /// Ends to come.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    now: u64,
    started: Vec<Block>,
    syncs: Vec<Sync>,
}

/// The messages in the order of their starts, and what they wait for.
pub(super) fn schedule(tree: &Tree, jobs: &Jobs) -> (Vec<Block>, Vec<Sync>) {
    let mut shop = Shop::new(tree, jobs);
    (0..tree.hosts()).for_each(|host| shop.look(Place::Sender(host)));
    shop.fill();
    let mut freed = Vec::new();
    while let Some(Reverse((at, job))) = shop.ends.pop() {
        shop.now = at;
        // What ends at the same time ends before anything else starts.
        freed.push(job);
        while let Some(&Reverse((time, other))) = shop.ends.peek()
            && time == at
        {
            shop.ends.pop();
            freed.push(other);
        }
        freed.iter().for_each(|&job| shop.end(job));
        freed.drain(..).for_each(|job| shop.look_around(job));
        shop.fill();
    }
    (shop.started, shop.syncs)
}

impl<'a> Shop<'a> {
    fn new(tree: &Tree, jobs: &'a Jobs) -> Shop<'a> {
        let number = jobs.jobs.len();
        let rates = (0..tree.edges()).map(|edge| tree.rate(edge / 2).0.max(1));
        let spare: Vec<u64> = rates.chain([u64::MAX; 2]).collect();
        let mut queues: Vec<Queue> = jobs.classes.iter().map(|_| Queue { jobs: VecDeque::new(), parked: false }).collect();
        (0..).zip(&jobs.jobs).for_each(|(number, job)| queues[job.class as usize].jobs.push_back(number));
        Shop {
            jobs,
            lanes: spare.iter().map(|&rate| Lane::new(rate)).collect(),
            spare,
            queues,
            pending: Pending::new(jobs),
            has_started: vec![false; number],
            places: BinaryHeap::new(),
            ends: BinaryHeap::new(),
            now: 0,
            started: Vec::with_capacity(number),
            syncs: Vec::with_capacity(3 * number),
        }
    }

    fn edges(&self, job: &Job) -> impl Iterator<Item = Edge> + use<'a> {
        job.ends.into_iter().chain(self.jobs.trunks(job.class).iter().copied())
    }

    fn end(&mut self, number: u32) {
        let job = &self.jobs.jobs[number as usize];
        for edge in self.edges(job) {
            self.spare[edge as usize] += job.rate;
            self.lanes[edge as usize].left.push_back((number, job.rate));
        }
        let Message { src, dst } = job.block.message;
        self.pending.receivers.set_free(src, true);
        self.pending.senders.set_free(dst, true);
    }

    /// Looks at all places where edges of this job are needed.
    fn look_around(&mut self, number: u32) {
        let job = &self.jobs.jobs[number as usize];
        self.look(Place::Sender(job.block.message.src));
        self.look(Place::Receiver(job.block.message.dst));
        self.jobs.trunks(job.class).iter().for_each(|&edge| self.look(Place::Trunk(edge)));
    }

    fn look(&mut self, place: Place) {
        if let Some(number) = self.most_urgent(place) {
            self.places.push(Reverse((number, place)));
        }
    }

    /// Starts what fits at the places to look at, by urgency. What starts takes room from others only, so that what may start at a
    /// place is never more urgent than it was before.
    fn fill(&mut self) {
        while let Some(Reverse((number, place))) = self.places.pop() {
            match place {
                Place::Trunk(edge) => {
                    let parked = self.lanes[edge as usize].parked.pop();
                    parked.into_iter().for_each(|Reverse((first, class))| self.unpark(first, class));
                }
                _ if self.fits(number) => self.start(number),
                _ => {}
            }
            self.look(place);
        }
    }

    /// The most urgent message that fits at this place; at a trunk that of the first class parked, whether it fits or not.
    fn most_urgent(&mut self, place: Place) -> Option<u32> {
        match place {
            Place::Sender(src) => self.first_fitting(|pending, least, group| {
                let may_send = pending.receivers.is_free(src);
                may_send.then(|| pending.senders.first_reached(src, group[src as usize], least))?
            }),
            Place::Receiver(dst) => self.first_fitting(|pending, least, group| {
                let may_receive = pending.senders.is_free(dst);
                may_receive.then(|| pending.receivers.first_reached(dst, group[dst as usize], least))?
            }),
            Place::Class(class) => self.first_of(class),
            Place::Trunk(edge) => {
                let &Reverse((number, class)) = self.lanes[edge as usize].parked.peek()?;
                (self.spare[edge as usize] >= self.jobs.classes[class as usize].rate).then_some(number)
            }
        }
    }

    /// Of the messages that `next` gives by rising numbers the first that fits.
    fn first_fitting(&mut self, next: impl Fn(&Pending, u32, &[u32]) -> Option<u32>) -> Option<u32> {
        let mut least = 0;
        loop {
            let number = next(&self.pending, least, &self.jobs.group)?;
            if self.fits(number) {
                return Some(number);
            }
            least = number + 1;
        }
    }

    fn first_of(&mut self, class: u32) -> Option<u32> {
        self.next_of(class)?;
        if !self.passes(class) {
            return None;
        }
        // Where trunks are scarce most hosts are free, where hosts are few.
        let mut queue = self.queues[class as usize].jobs.iter().copied().take(IN_ORDER);
        let first = queue.find(|&number| !self.has_started(number) && self.ends_fit(number));
        let Class { from, to, .. } = self.jobs.classes[class as usize];
        first.or_else(|| self.first_fitting(|pending, least, _| pending.first_between(from, to, least)))
    }

    /// The most urgent message of this class not yet started.
    fn next_of(&mut self, class: u32) -> Option<u32> {
        let queue = &mut self.queues[class as usize].jobs;
        while queue.front().is_some_and(|&number| self.has_started[number as usize]) {
            queue.pop_front();
        }
        queue.front().copied()
    }

    fn has_started(&self, number: u32) -> bool {
        self.has_started[number as usize]
    }

    fn ends_fit(&self, number: u32) -> bool {
        let job = &self.jobs.jobs[number as usize];
        job.ends.iter().all(|&edge| self.spare[edge as usize] >= job.rate)
    }

    fn fits(&mut self, number: u32) -> bool {
        !self.has_started(number) && self.ends_fit(number) && self.passes(self.jobs.jobs[number as usize].class)
    }

    /// Whether trunks have room for a message of this class. If not, it is parked.
    fn passes(&mut self, class: u32) -> bool {
        if self.queues[class as usize].parked {
            return false;
        }
        let Some(full) = self.full_trunk(class) else { return true };
        if let Some(first) = self.next_of(class) {
            self.lanes[full as usize].parked.push(Reverse((first, class)));
            self.set_parked(class, true);
        }
        false
    }

    /// Lets a class pass whose most urgent message is `first`, or parks it where else it finds no room.
    fn unpark(&mut self, first: u32, class: u32) {
        match self.full_trunk(class) {
            Some(full) => self.lanes[full as usize].parked.push(Reverse((first, class))),
            None => {
                self.set_parked(class, false);
                self.look(Place::Class(class));
            }
        }
    }

    /// The busiest trunk on the way of this class without room for a message of it.
    fn full_trunk(&self, class: u32) -> Option<Edge> {
        let rate = self.jobs.classes[class as usize].rate;
        self.jobs.trunks(class).iter().copied().find(|&edge| self.spare[edge as usize] < rate)
    }

    fn set_parked(&mut self, class: u32, parked: bool) {
        self.queues[class as usize].parked = parked;
        let class = &self.jobs.classes[class as usize];
        self.pending.set_reached(class.from, class.to, !parked);
    }

    fn start(&mut self, number: u32) {
        let job = &self.jobs.jobs[number as usize];
        let message = job.block.message;
        let first = self.syncs.len();
        for edge in self.edges(job) {
            let lane = &mut self.lanes[edge as usize];
            let mut wanted = job.rate;
            self.spare[edge as usize] -= wanted;
            while let Some((user, rate)) = lane.left.pop_front() {
                if user != NOBODY {
                    let after = self.jobs.jobs[user as usize].block.message;
                    if self.syncs[first..].iter().all(|s| s.after != after) {
                        self.syncs.push(sync(after, message));
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
        let [out, into] = job.ends.map(|edge| self.spare[edge as usize] > 0);
        self.pending.receivers.set_free(message.src, out);
        self.pending.senders.set_free(message.dst, into);
        self.pending.remove(message);
        self.has_started[number as usize] = true;
        self.started.push(job.block);
        self.ends.push(Reverse((self.now + job.time, number)));
    }
}

fn sync(after: Message, before: Message) -> Sync {
    Sync { after, before, from: if after.src == before.src { before.src } else { after.dst }, to: before.src }
}
