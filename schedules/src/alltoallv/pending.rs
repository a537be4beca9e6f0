//! Who has yet to send to whom, as bits: hosts of each side against those of the other.
use super::jobs::Jobs;
use crate::message::Message;

/// Messages of senders, or those of receivers, not yet started.
pub(super) struct Side {
    hosts: usize,
    /// Words for a set of hosts.
    words: usize,
    /// Of each host the hosts of the other side it has something with.
    pending: Vec<u64>,
    /// Hosts of the other side whose own edges are not full.
    free: Vec<u64>,
    /// Of each group the hosts of the other side that no full trunk is known to keep it from.
    reached: Vec<u64>,
    /// Numbers of the messages by host and host of the other side.
    number: Vec<u32>,
}

impl Side {
    fn new(hosts: usize, groups: usize) -> Side {
        let words = hosts.div_ceil(64);
        let (pending, number) = (vec![0; hosts * words], vec![0; hosts * hosts]);
        Side { hosts, words, pending, free: vec![u64::MAX; words], reached: vec![u64::MAX; groups * words], number }
    }

    /// The first message from number `least` that `host` has with hosts `among` these that are free.
    fn first(&self, host: u32, among: &[u64], least: u32) -> Option<u32> {
        let pending = self.row(&self.pending, host).iter().zip(among).zip(&self.free);
        let number = &self.number[host as usize * self.hosts..];
        let mut first = None;
        for (word, ((pending, among), free)) in pending.enumerate() {
            for other in ones(word, pending & among & free) {
                let number = number[other as usize];
                if number >= least && first.is_none_or(|first| number < first) {
                    first = Some(number);
                }
            }
        }
        first
    }

    /// The first message from number `least` that `host` has with hosts that are free and reached from its `group`.
    pub(super) fn first_reached(&self, host: u32, group: u32, least: u32) -> Option<u32> {
        self.first(host, self.row(&self.reached, group), least)
    }

    fn row<'a>(&self, all: &'a [u64], number: u32) -> &'a [u64] {
        &all[number as usize * self.words..][..self.words]
    }

    pub(super) fn is_free(&self, other: u32) -> bool {
        self.free[other as usize / 64] & (1 << (other % 64)) != 0
    }

    pub(super) fn set_free(&mut self, other: u32, free: bool) {
        let (word, bit) = (other as usize / 64, 1 << (other % 64));
        if free { self.free[word] |= bit } else { self.free[word] &= !bit }
    }

    fn add(&mut self, host: u32, other: u32, number: u32) {
        self.pending[host as usize * self.words + other as usize / 64] |= 1 << (other % 64);
        self.number[host as usize * self.hosts + other as usize] = number;
    }

    fn remove(&mut self, host: u32, other: u32) {
        self.pending[host as usize * self.words + other as usize / 64] &= !(1 << (other % 64));
    }

    fn set_reached(&mut self, group: u32, others: &[u64], reached: bool) {
        let row = &mut self.reached[group as usize * self.words..][..self.words];
        row.iter_mut().zip(others).for_each(|(row, others)| if reached { *row |= others } else { *row &= !others });
    }
}

/// Messages not yet started, as senders and as receivers see them.
pub(super) struct Pending {
    pub(super) senders: Side,
    pub(super) receivers: Side,
    /// Of each group its hosts.
    members: Vec<Vec<u64>>,
}

impl Pending {
    pub(super) fn new(jobs: &Jobs) -> Pending {
        let hosts = jobs.group.len();
        let mut members = vec![vec![0u64; hosts.div_ceil(64)]; jobs.groups];
        jobs.group.iter().enumerate().for_each(|(host, &group)| members[group as usize][host / 64] |= 1 << (host % 64));
        let mut pending = Pending { senders: Side::new(hosts, jobs.groups), receivers: Side::new(hosts, jobs.groups), members };
        for (number, job) in (0..).zip(&jobs.jobs) {
            let Message { src, dst } = job.block.message;
            pending.senders.add(src, dst, number);
            pending.receivers.add(dst, src, number);
        }
        pending
    }

    pub(super) fn remove(&mut self, message: Message) {
        self.senders.remove(message.src, message.dst);
        self.receivers.remove(message.dst, message.src);
    }

    /// The first message from number `least` of a free host of one group to a free host of another.
    pub(super) fn first_between(&self, from: u32, to: u32, least: u32) -> Option<u32> {
        let to = &self.members[to as usize];
        let senders = self.members[from as usize].iter().zip(&self.receivers.free).enumerate();
        let senders = senders.flat_map(|(word, (members, free))| ones(word, members & free));
        senders.filter_map(|src| self.senders.first(src, to, least)).min()
    }

    /// Whether messages from one group to another are looked at when their hosts become free.
    pub(super) fn set_reached(&mut self, from: u32, to: u32, reached: bool) {
        self.senders.set_reached(from, &self.members[to as usize], reached);
        self.receivers.set_reached(to, &self.members[from as usize], reached);
    }
}

/// The hosts in the given word of a set.
fn ones(word: usize, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(word as u32 * 64 + bit)
    })
}
