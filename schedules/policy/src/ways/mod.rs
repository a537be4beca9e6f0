//! The ways of a call: one file a way, and one row in [`WAYS`].
//!
//! Questions about a way go to its row. So a new way is a variant of [`Way`], a file that answers the
//! questions ([`CallWay`]), and a row. Messages are sent by their form ([`MessageForm`]), so that only a
//! new form needs new code there.
mod aapc;
mod bundled;
mod bundled_phases;
mod credit;
mod gathered_sizes;
mod lg;
mod names;
mod native;
mod planned;
mod relay;
mod ring;
mod rings;
mod short_blocks;
mod window;

pub use names::UnknownWay;
pub use planned::{PlannedPart, PlannedWay, PlanningSet, planned_ring};
pub use relay::LEAST_RELAYED;

use crate::call_time::{AlltoallTime, GatherTime};
use crate::decision_table::{Collective, UnmeasuredSet};
use inventory::tree::{NodeNumber, Tree};
use inventory::{Bytes, TopologyFile};
use schedules::allgather;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::verify::ScheduleViolation;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The way of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The MPI library's own routine.
    Native,
    /// The phases of [`schedules::alltoall`].
    Aapc {
        /// The mechanism that keeps the phases apart. Never
        /// [`SyncMechanism::Dummy`](schedules::synchronization::scheme::SyncMechanism::Dummy): ranks do not
        /// send empty messages.
        sync: SyncScheme,
        /// The carrier of the blocks.
        #[serde(default)]
        over: DataCarrier,
    },
    /// The steps of [`schedules::lg`], over MPI: in communicators that span clusters.
    Lg,
    /// One message for each pair of hosts, by [`schedules::bundled`], over MPI.
    Bundled,
    /// The same in turns, by the phases of an all-to-all among the hosts.
    #[serde(rename = "bundled-phases")]
    BundledPhases,
    /// The ring of [`schedules::allgather`].
    Ring {
        /// The carrier of the blocks.
        #[serde(default)]
        over: DataCarrier,
    },
    /// Reductions and broadcasts along the same ring, over TCP ([`schedules::relay`]); where hosts have
    /// several ranks, allgathers, too, with one rank a host on the ring.
    Relay,
    /// The rings of [`schedules::allgather::rings`], over TCP: between slow trunks.
    Rings,
}

/// The rows, the simplest way first.
pub static WAYS: [&dyn CallWay; 10] = [
    &native::LibrarysOwn,
    &bundled::HostBundles,
    &bundled_phases::BundlesInTurn,
    &window::WindowedPhases,
    &aapc::OrderedPhases,
    &credit::CreditedPhases,
    &ring::OneRing,
    &rings::SeveralRings,
    &lg::AmongClusters,
    &relay::AlongRing,
];

/// The properties of a way.
pub trait CallWay: Sync {
    /// The way, with the usual ones of its choices.
    fn usual(&self) -> Way;

    /// True if that is the way, with whatever choices.
    fn is(&self, way: Way) -> bool {
        way == self.usual()
    }

    /// The name without its choices, as in `HEDDLE_FORCE`.
    fn name(&self) -> &'static str;

    /// True if the full name ends with a carrier that is not MPI.
    fn names_carrier(&self) -> bool {
        true
    }

    /// The carriers of its blocks, the usual one first; none where the library chooses.
    fn carriers(&self) -> &'static [DataCarrier];

    /// True if a collective can go this way.
    fn serves(&self, way: Way, collective: Collective) -> bool;

    /// The form of its messages.
    fn form(&self) -> MessageForm;

    /// True if its plan and its connections grow with the ranks and the pairs of hosts, and not with the pairs of
    /// ranks: it serves process sets of more than [`MOST_RANKS_BY_PAIRS`], too.
    fn is_by_hosts(&self) -> bool {
        false
    }

    /// Its schedule for a process set, verified; none where it has nothing to do.
    ///
    /// # Errors
    /// The mistake of a planner.
    fn plan<'a>(
        &self,
        way: Way,
        set: &PlanningSet<'a>,
    ) -> Result<PlannedWay<'a>, ScheduleViolation>;

    /// The way with the choices that suit such blocks of an all-to-all, over TCP where that is possible.
    fn timed(&self, _time: &AlltoallTime, _block: Bytes) -> Way {
        self.usual().with_carrier(DataCarrier::Tcp)
    }

    /// The nanoseconds of an all-to-all, where the model knows them.
    fn nanoseconds(&self, _time: &AlltoallTime, _way: Way, _block: Bytes) -> Option<u64> {
        None
    }

    /// The nanoseconds of an allgather, where the model knows them.
    fn gathers_in(&self, _time: &GatherTime, _block: Bytes) -> Option<u64> {
        None
    }

    /// The sizes of blocks with which it pays where nobody has measured, with its choices there.
    fn pays(&self, _set: &UnmeasuredSet<'_>, _: Collective) -> Option<(Range<Bytes>, Way)> {
        None
    }

    /// These ways, each with the smallest block that pays, with this one where they have the library's own.
    fn instead_of_native(
        &self,
        _set: &UnmeasuredSet<'_>,
        _: Collective,
        ways: Vec<(Bytes, Way)>,
    ) -> Vec<(Bytes, Way)> {
        ways
    }

    /// True if jobs may try it, where hosts are as these.
    fn is_tried(&self, _hosts: HostTraits) -> bool {
        false
    }

    /// True if jobs try it over such a carrier where only the size of blocks says whether it can win.
    fn is_tried_by_size(&self, _: DataCarrier, _: Collective, _: HostTraits) -> bool {
        false
    }

    /// The way in its place where a process set cannot go it.
    fn instead(&self) -> Option<Way> {
        None
    }

    /// The way in its place where some blocks may be twice as long, and blocks of that length go this way.
    fn with_longer_blocks(&self, _longer: Way) -> Option<Way> {
        None
    }

    /// The same way with more under way at once, which gains where queues hold more than anybody knows.
    fn bolder(&self, _way: Way) -> Option<Way> {
        None
    }

    /// The ways of which `heddle tune` finds the fastest, if it is asked for none.
    fn contenders(&self, _tree: &Tree, _topology: &TopologyFile) -> Vec<Way> {
        Vec::new()
    }

    /// True if the calls that heddle's authors measured tell its time.
    fn is_calibrated(&self, _way: Way) -> bool {
        false
    }

    /// True if it goes where the library's own routine waits for timers.
    fn avoids_timers(&self) -> bool {
        false
    }

    /// True if blocks are copied on the hosts that they start from.
    fn copies(&self) -> bool {
        false
    }

    /// The trait that hosts lack where no call can go it, as the end of a line.
    fn needs(&self, way: Way) -> &'static str {
        match way.carrier() {
            Some(DataCarrier::Tcp) => {
                ": hosts need addresses in the inventory or topology, and must reach each other at them"
            }
            _ => "",
        }
    }
}

/// A plan with a message for each pair of ranks takes every rank 0.1 s and 30 MB at so many ranks, and more
/// of them need too many connections.
pub const MOST_RANKS_BY_PAIRS: usize = 1024;

/// The traits of a process set and its hosts that make ways possible, or worth a try.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostTraits {
    /// True if only ways by hosts can be gone: there are more than [`MOST_RANKS_BY_PAIRS`] ranks.
    pub have_many_ranks: bool,
    /// True if some host has several ranks.
    pub have_several_ranks: bool,
    /// True if several rings gain: trunks are slow, and each host has one rank.
    pub have_slow_trunks: bool,
}

impl HostTraits {
    /// Of a process set whose rank `r` runs on host `host_of[r]`.
    pub fn of(hosts: &Tree, host_of: &[NodeNumber]) -> HostTraits {
        let number = hosts.hosts() as usize;
        HostTraits {
            have_many_ranks: host_of.len() > MOST_RANKS_BY_PAIRS,
            have_several_ranks: number < host_of.len(),
            have_slow_trunks: number == host_of.len() && allgather::rings::gain(hosts).is_some(),
        }
    }

    /// True if so many ranks can go a way.
    pub fn can_go(self, way: Way) -> bool {
        !self.have_many_ranks || way.row().is_by_hosts()
    }
}

/// The form of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageForm {
    /// The library's own.
    Library,
    /// Each is one block, from its owner to its receiver.
    Blocks,
    /// Each holds the blocks of several ranks, and is passed on; a rank receives so many at once.
    Bundles {
        /// The most at once.
        at_once: usize,
    },
    /// Each is one block, that its receiver passes on.
    Gathered,
    /// Parts of one buffer, along the ring of ranks or of hosts.
    Relayed,
}

impl Way {
    /// Its properties.
    pub fn row(self) -> &'static dyn CallWay {
        let row = WAYS.iter().find(|row| row.is(self));
        *row.unwrap_or_else(|| unreachable!("each way has a row: {self:?}"))
    }

    /// Each way of a collective once, with the usual choices.
    pub(crate) fn usual(collective: Collective) -> impl Iterator<Item = Way> {
        let ways = WAYS.iter().map(|row| row.usual());
        // A window and credit are choices of the phases.
        let named = ways.filter(|way| {
            way.sync()
                .is_none_or(|sync| sync == SyncKind::Receiver.into())
        });
        named.filter(move |way| way.serves(collective))
    }

    /// The carrier of the blocks; `None` where the library chooses it.
    pub fn carrier(self) -> Option<DataCarrier> {
        match self {
            Way::Aapc { over, .. } | Way::Ring { over } => Some(over),
            _ => self.row().carriers().first().copied(),
        }
    }

    /// True if the blocks go over heddle's own TCP connections.
    pub fn is_over_tcp(self) -> bool {
        self.carrier() == Some(DataCarrier::Tcp)
    }

    /// The same way over another carrier, if the way has a choice of carriers.
    #[must_use]
    pub fn with_carrier(self, over: DataCarrier) -> Way {
        match self {
            Way::Aapc { sync, .. } => Way::Aapc { sync, over },
            Way::Ring { .. } => Way::Ring { over },
            _ => self,
        }
    }

    /// The synchronization that keeps its phases apart, if it has a choice.
    pub fn sync(self) -> Option<SyncScheme> {
        match self {
            Way::Aapc { sync, .. } => Some(sync),
            _ => None,
        }
    }

    /// The same way with receivers' tokens, if it has a choice.
    #[must_use]
    pub fn with_usual_sync(self) -> Way {
        match self {
            Way::Aapc { over, .. } => Way::Aapc {
                sync: SyncKind::Receiver.into(),
                over,
            },
            _ => self,
        }
    }

    /// True if the collective can go this way.
    pub fn serves(self, collective: Collective) -> bool {
        self.row().serves(self, collective)
    }

    /// The form of its messages.
    pub fn form(self) -> MessageForm {
        self.row().form()
    }
}

/// The phases over TCP.
pub(crate) fn phases(sync: impl Into<SyncScheme>) -> Way {
    Way::Aapc {
        sync: sync.into(),
        over: DataCarrier::Tcp,
    }
}

/// The carrier of blocks and tokens.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum DataCarrier {
    /// The MPI library's point-to-point messages: on every network that the library works on.
    #[default]
    Mpi,
    /// The runtime's own TCP connections, for large blocks on Ethernet. Calls go over
    /// [`DataCarrier::Mpi`] where connections cannot be made.
    Tcp,
}

/// Both, MPI as the usual one.
const EITHER: &[DataCarrier] = &[DataCarrier::Mpi, DataCarrier::Tcp];
