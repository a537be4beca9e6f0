//! The ways of a process set on a network where nobody has measured.
//!
//! A schedule over TCP pays where the libraries' own routine overflows the queue of a switch port
//! and waits for retransmission timers, or where it sends the same block over a slow link again and
//! again. It costs some processor time a step. So it is taken from the size on from which the gain
//! is larger than the cost, for the links and the ranks of the process set. The figures are from
//! heddle's own emulated clusters: docs/figures.md. Each way says from which size on it pays
//! ([`CallWay::pays`](crate::ways::CallWay::pays)).
use super::{Collective, DecisionEntry, DecisionGrounds, DecisionTable};
use crate::call_time::{self, AlltoallTime, RelayedRound, smallest_overflowing_block};
use crate::ways::{HostTraits, WAYS, Way};
use inventory::tree::NodeNumber;
use inventory::{Bytes, MpiRoutines, Tree};
use schedules::bound::{self, BottleneckLoad};
use std::cell::OnceCell;
use std::ops::Range;
use std::time::Duration;

/// A call that overflows the queue of a switch port, with steps that are long beside their cost.
pub(crate) struct OverflowingCall {
    /// Octets of the whole call over its bottleneck link.
    pub(crate) octets: Bytes,
    /// The time of one block on the slowest link.
    pub(crate) block: Duration,
    /// On fast links less is enough: a block of so many octets, if it lasts this long.
    pub(crate) on_fast_links: (Bytes, Duration),
}

/// A process set that nobody has measured.
#[derive(Debug)]
pub struct UnmeasuredSet<'a> {
    pub(crate) hosts: &'a Tree,
    pub(crate) host_of: &'a [NodeNumber],
    /// Ranks on each host.
    pub(crate) ranks: Vec<u32>,
    /// A frame is delayed so long on all its cables together.
    pub(crate) delay: Duration,
    pub(crate) library: Option<MpiRoutines>,
    /// True if one host after the other sends over a trunk, once anybody has asked.
    pub(crate) goes_in_runs: OnceCell<bool>,
    /// The smallest block that overflows a queue, once anybody has asked.
    overflowing: OnceCell<Option<Bytes>>,
    /// The seconds for each octet of the libraries' routine for small allgathers, once anybody has asked.
    doubling: OnceCell<f64>,
    /// The traits of its hosts, once anybody has asked: whether several rings gain takes a while.
    traits: OnceCell<HostTraits>,
}

impl<'a> UnmeasuredSet<'a> {
    fn of(
        hosts: &'a Tree,
        host_of: &'a [NodeNumber],
        delay: Duration,
        library: Option<MpiRoutines>,
    ) -> UnmeasuredSet<'a> {
        UnmeasuredSet {
            hosts,
            host_of,
            ranks: call_time::ranks_of_hosts(hosts, host_of),
            delay,
            library,
            goes_in_runs: OnceCell::new(),
            overflowing: OnceCell::new(),
            doubling: OnceCell::new(),
            traits: OnceCell::new(),
        }
    }

    /// The traits of its hosts.
    pub(crate) fn traits(&self) -> HostTraits {
        *self
            .traits
            .get_or_init(|| HostTraits::of(self.hosts, self.host_of))
    }

    /// The smallest block with which an all-to-all, sent at once, overflows the queue of a port.
    pub(crate) fn overflowing(&self) -> Option<Bytes> {
        *self
            .overflowing
            .get_or_init(|| smallest_overflowing_block(self.hosts, self.host_of))
    }

    /// The least seconds, for each octet of a block, of the libraries' routine for small allgathers.
    pub(crate) fn doubling_seconds(&self) -> f64 {
        *self.doubling.get_or_init(|| {
            let steps = call_time::doubling(self.hosts, self.host_of);
            steps.iter().map(RelayedRound::seconds_an_octet).sum()
        })
    }

    /// True if some host has several ranks.
    pub(crate) fn shares_hosts(&self) -> bool {
        self.ranks.iter().any(|&ranks| ranks > 1)
    }

    /// Hosts with ranks.
    pub(crate) fn used(&self) -> u64 {
        self.ranks.iter().filter(|&&ranks| ranks > 0).count() as u64
    }

    /// The link that an all-to-all loads most; `None` where nothing crosses a cable.
    pub(crate) fn alltoall(&self) -> Option<BottleneckLoad> {
        bound::alltoall_bottleneck(self.hosts, &self.ranks)
    }

    /// The same of an allgather.
    pub(crate) fn allgather(&self) -> Option<BottleneckLoad> {
        bound::allgather_bottleneck(self.hosts, &self.ranks)
    }
}

/// A block has to last so many times as long as its token is on its way over a long cable.
pub(crate) const TOKENS: u32 = 10;

/// The end of sizes that have none.
pub(crate) const ANY_SIZE: Bytes = Bytes(u64::MAX);

impl OverflowingCall {
    /// The smallest block of such a call, if it has to last longer by this time.
    pub(crate) fn smallest_block(
        &self,
        hosts: &Tree,
        bottleneck: BottleneckLoad,
        longer: Duration,
    ) -> Bytes {
        let BottleneckLoad { blocks, rate } = bottleneck;
        // Over a wide trunk several blocks go at once, each at the rate of its host's link.
        let one = BottleneckLoad {
            blocks: 1,
            rate: bound::slowest_host_link(hosts).map_or(rate, |slowest| slowest.min(rate)),
        };
        let (long, time) = self.on_fast_links;
        let fast = one.seconds(long).max(time.as_secs_f64());
        let block = self.block.as_secs_f64().min(fast) + longer.as_secs_f64();
        let lasting = block / one.seconds(Bytes(1));
        Bytes(self.octets.0.div_ceil(blocks).max(lasting.ceil() as u64))
    }
}

impl DecisionTable {
    /// The table for a process set whose rank `r` runs on host `host_of[r]` of a network on which
    /// nobody has measured, under a library, and whose cables delay a frame by `delay` together.
    pub fn unmeasured(
        hosts: &Tree,
        host_of: &[NodeNumber],
        delay: Duration,
        library: Option<MpiRoutines>,
    ) -> DecisionTable {
        let set = UnmeasuredSet::of(hosts, host_of, delay, library);
        let mut table = DecisionTable::default();
        for collective in Collective::ALL {
            let timed = set.shares_hosts() && collective == Collective::Alltoall;
            let ways = if timed {
                let time = AlltoallTime::of(hosts, host_of, delay, library);
                time.map_or_else(Vec::new, |time| fastest_ways(&time, set.traits()))
            } else {
                let ways = paying_ways(&set, collective);
                let rows = WAYS.iter();
                rows.fold(ways, |ways, row| {
                    row.instead_of_native(&set, collective, ways)
                })
            };
            table = table.with_entries(collective, entries(ways));
        }
        table
    }

    /// The same for all hosts of a tree, under any library. A process set knows the delays of its cables,
    /// and computes these entries again.
    pub fn of_all_hosts(tree: &Tree) -> DecisionTable {
        let host_of: Vec<NodeNumber> = (0..tree.hosts())
            .flat_map(|host| std::iter::repeat_n(host, tree.ranks(host) as usize))
            .collect();
        DecisionTable::unmeasured(tree, &host_of, Duration::ZERO, None)
    }

    /// This table, reduced to one library by [`DecisionTable::for_mpi`], with other ways for the
    /// collectives that nobody tuned: a process set has links and ranks of its own, and what jobs on
    /// all hosts learned does not hold for it.
    #[must_use]
    pub fn with_unmeasured(mut self, unmeasured: DecisionTable) -> DecisionTable {
        for (entries, others) in self.entries.iter_mut().zip(unmeasured.entries) {
            let is_unmeasured = entries.iter().any(|entry| match entry.grounds {
                DecisionGrounds::Elsewhere => entry.way != Way::Native,
                grounds => grounds == DecisionGrounds::Learned,
            });
            if is_unmeasured {
                *entries = others;
            }
        }
        self
    }
}

/// The ways of an all-to-all by their times, each with the smallest block from which on it is the
/// fastest, to an eighth.
fn fastest_ways(time: &AlltoallTime, hosts: HostTraits) -> Vec<(Bytes, Way)> {
    let sizes = (3..27).flat_map(|power| (8..16).map(move |eighths| eighths << power >> 3));
    let mut ways: Vec<(Bytes, Way)> = Vec::new();
    for block in sizes.map(Bytes) {
        let way = time.fastest(block, |way| hosts.can_go(way));
        if ways.last().map_or(Way::Native, |(_, last)| *last) != way {
            ways.push((block, way));
        }
    }
    ways
}

/// The ways by the sizes with which they pay; where several do, the last row.
fn paying_ways(set: &UnmeasuredSet<'_>, collective: Collective) -> Vec<(Bytes, Way)> {
    let hosts = set.traits();
    let rows = WAYS.iter().filter_map(|row| row.pays(set, collective));
    let paying: Vec<(Range<Bytes>, Way)> = rows
        .filter(|(sizes, way)| !sizes.is_empty() && hosts.can_go(*way))
        .collect();
    let mut bounds: Vec<Bytes> = paying
        .iter()
        .flat_map(|(sizes, _)| [sizes.start, sizes.end])
        .filter(|bound| *bound != ANY_SIZE)
        .collect();
    bounds.sort_unstable();
    bounds.dedup();
    let last = bounds.into_iter().map(|from| {
        let mut paying = paying.iter().rev();
        let found = paying.find(|(sizes, _)| sizes.contains(&from));
        (from, found.map_or(Way::Native, |(_, way)| *way))
    });
    let mut ways: Vec<(Bytes, Way)> = last.collect();
    ways.dedup_by_key(|(_, way)| *way);
    ways
}

/// The library's own routine, and other ways from these sizes on.
fn entries(ways: impl IntoIterator<Item = (Bytes, Way)>) -> Vec<DecisionEntry> {
    let native = [(Bytes(0), Way::Native)].into_iter();
    native
        .chain(ways)
        .map(|(from, way)| DecisionEntry {
            from,
            way,
            mpi: None,
            grounds: DecisionGrounds::Elsewhere,
        })
        .collect()
}

#[cfg(test)]
mod tests;
