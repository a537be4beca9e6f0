//! The all-to-all schedule as planned, verified, published and printed.
use crate::sync::{Reduction, SyncKind, syncs};
use crate::{aapc, bound};
use inventory::Tree;

/// The one algorithm there is: messages of unit size on edges of unit capacity.
pub(crate) const AAPC: &str = "aapc";

/// Up to this many hosts [`plan`] reduces synchronizations to the minimal set. At that size the reduction takes about two
/// tenths of a second, twice as long as all the rest, and it grows with the third power of the hosts.
pub const MINIMAL_HOSTS: u32 = 1024;

/// Plans the all-to-all among the tree's hosts: phases by [`crate::aapc`], synchronizations by [`crate::sync`], the
/// minimal set up to [`MINIMAL_HOSTS`], else the chain.
pub fn plan(tree: &Tree, sync: SyncKind) -> Alltoall {
    let reduction = if tree.hosts() <= MINIMAL_HOSTS { Reduction::Minimal } else { Reduction::Chain };
    plan_reduced(tree, sync, reduction)
}

/// [`plan`] with the synchronizations one asks for.
pub fn plan_reduced(tree: &Tree, sync: SyncKind, reduction: Reduction) -> Alltoall {
    let phases = aapc::phases(tree);
    let syncs = syncs(tree, &phases, sync, reduction);
    Alltoall { algorithm: AAPC, hosts: tree.host_names().to_vec(), bound: bound::bound(tree), phases, syncs }
}

/// One message: host `src` sends its block for host `dst`. Host numbers of the tree it was planned on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Message {
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
}

/// The certificate: no schedule can have fewer phases.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bound {
    /// ceil(load / capacity) of the bottleneck edge.
    pub phases: u64,
    /// The bottleneck edge, from and to; with one host the host itself.
    pub edge: (String, String),
    /// Messages of one all-to-all over that edge.
    pub load: u64,
    /// Messages that edge carries at once.
    pub capacity: u64,
}

/// `before` must not start until `after` has left the network; `from` tells `to` by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Sync {
    /// The earlier message.
    pub after: Message,
    /// The message that waits.
    pub before: Message,
    /// The host that sends the token: `after.src` (sender-based) or `after.dst` (receiver-based).
    pub from: u32,
    /// The host that waits for it: `before.src`.
    pub to: u32,
}

/// A whole all-to-all among `hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alltoall {
    /// How it was planned: `aapc`.
    pub algorithm: &'static str,
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// Why it cannot be shorter.
    pub bound: Bound,
    /// The messages of each phase; no two of one phase share a directed edge.
    pub phases: Vec<Vec<Message>>,
    /// The tokens that keep phases apart without barriers.
    pub syncs: Vec<Sync>,
}

impl Alltoall {
    /// Number of messages.
    pub fn messages(&self) -> usize {
        self.phases.iter().map(Vec::len).sum()
    }
}
