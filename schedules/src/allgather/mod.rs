//! The allgather as a logical ring. Each host sends to the next one `n - 1` times: first its own
//! block, then always the block that it received last.
//!
//! Source: allgather-switched-clusters; see [`AllgatherAlgorithm`] for its three. Input: a tree.
//! Guarantee: no directed edge carries two messages of the ring. Where no trunk is slower than the
//! slowest host link, no allgather is faster than the ring ([`crate::bound::allgather_seconds`]);
//! behind a slower trunk the ring takes up to twice the bound ([`ring_share`]), and [`rings`] takes
//! less. Cost: see the algorithms. Deviations: see the algorithms.
mod branches;
mod lr1;
mod lr2;
mod lr3;
pub mod rings;
#[cfg(test)]
mod tests;
mod visit_order;

use branches::RingBranches;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use std::fmt;
use std::str::FromStr;

pub use lr3::MOST_STATES;

/// The algorithms that find a ring.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum AllgatherAlgorithm {
    /// Algorithm 1: switches in depth-first order. It always finds a ring, and at once; neighbours
    /// may be far apart.
    Lr1,
    /// Algorithm 2: neighbours are at most two switches apart. Every switch must have at least as
    /// many hosts as neighbouring switches.
    Lr2,
    /// Algorithm 3: the longest path is as short as possible. It finds a ring unless a switch has
    /// very many branches of very different kinds.
    Lr3,
}

impl AllgatherAlgorithm {
    const ALL: [AllgatherAlgorithm; 3] = [
        AllgatherAlgorithm::Lr1,
        AllgatherAlgorithm::Lr2,
        AllgatherAlgorithm::Lr3,
    ];

    /// Its name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            AllgatherAlgorithm::Lr1 => "lr1",
            AllgatherAlgorithm::Lr2 => "lr2",
            AllgatherAlgorithm::Lr3 => "lr3",
        }
    }
}

impl fmt::Display for AllgatherAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for AllgatherAlgorithm {
    type Err = UnknownAllgatherAlgorithm;

    fn from_str(text: &str) -> Result<Self, UnknownAllgatherAlgorithm> {
        AllgatherAlgorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .ok_or_else(|| UnknownAllgatherAlgorithm(text.to_owned()))
    }
}

/// A text that does not name an [`AllgatherAlgorithm`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("algorithm \"{0}\": expected lr1, lr2 or lr3")]
pub struct UnknownAllgatherAlgorithm(pub String);

/// The reason why an algorithm has no ring for a tree; [`plan`] always has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RingRefusal {
    /// The condition of LR2 does not hold.
    #[error(
        "lr2: switch \"{switch}\" has fewer hosts on it ({hosts}) than neighbouring switches \
         ({neighbours}), and neighbours at most two switches apart need as many; use lr3 for the \
         shortest ring there is"
    )]
    TooFewHosts {
        /// The first such switch; branches that lead to no host are not counted.
        switch: String,
        /// Hosts on the switch itself.
        hosts: usize,
        /// Switches next to it.
        neighbours: usize,
    },
    /// LR3 gave up.
    #[error(
        "lr3: the shortest ring would take a look at more than {MOST_STATES} states; use lr2 or \
         lr1, or auto for the better of them"
    )]
    TooManyStates,
}

/// An allgather among `hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllgatherSchedule {
    /// The algorithm that planned it.
    pub algorithm: AllgatherAlgorithm,
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// Host numbers. Each host sends to the next one, the last to the first.
    pub ring: Vec<u32>,
    /// Switches on the longest path between two neighbours of the ring (the paper's path length:
    /// one switch counts 1).
    pub longest_path: u32,
    /// True if no directed edge carries two of its messages.
    pub contention_free: bool,
}

/// Plans the ring with the shortest longest path: LR3. Where LR3 gives up it is LR2, or LR1 where
/// LR2 does not apply.
pub fn plan(tree: &Tree) -> AllgatherSchedule {
    let branches = RingBranches::new(tree);
    let (algorithm, ring) = if let Some(ring) = lr3::ring(&branches) {
        (AllgatherAlgorithm::Lr3, ring)
    } else if let Ok(ring) = lr2::ring(tree, &branches) {
        (AllgatherAlgorithm::Lr2, ring)
    } else {
        (AllgatherAlgorithm::Lr1, lr1::ring(&branches))
    };
    AllgatherSchedule::new(tree, algorithm, ring)
}

/// The edge that limits every allgather, and how near to that limit a ring comes.
#[derive(Debug, Clone, PartialEq)]
pub struct RingShare {
    /// From and to: it carries each block of its sending side at least once.
    pub edge: (String, String),
    /// The time of the limit divided by that of a ring, which carries all blocks but one over each
    /// edge between two hosts: 1 where no allgather is faster.
    pub share: f64,
}

/// `None` where nothing is sent.
pub fn ring_share(tree: &Tree) -> Option<RingShare> {
    let (n, below) = (tree.hosts(), tree.hosts_below());
    let seconds =
        |blocks: u32, edge: EdgeNumber| f64::from(blocks) / tree.rate(edge / 2).0.max(1) as f64;
    let mut limit: Option<(EdgeNumber, f64)> = None;
    let mut ring: f64 = 0.0;
    for edge in (0..tree.edges()).filter(|&edge| tree.ends(edge).is_some()) {
        let inside = below[edge as usize / 2];
        let sent = if edge.is_multiple_of(2) {
            inside
        } else {
            n - inside
        };
        if sent == 0 || sent == n {
            continue;
        }
        let least = seconds(sent, edge);
        if limit.is_none_or(|(_, most)| least > most) {
            limit = Some((edge, least));
        }
        ring = ring.max(seconds(n - 1, edge));
    }
    let (edge, least) = limit?;
    let (from, to) = tree.ends(edge)?;
    Some(RingShare {
        edge: (tree.name(from).to_owned(), tree.name(to).to_owned()),
        share: least / ring,
    })
}

/// Plans the ring by one algorithm.
///
/// # Errors
/// [`RingRefusal`] by LR2 and LR3.
pub fn plan_as(
    tree: &Tree,
    algorithm: AllgatherAlgorithm,
) -> Result<AllgatherSchedule, RingRefusal> {
    let branches = RingBranches::new(tree);
    let ring = match algorithm {
        AllgatherAlgorithm::Lr1 => lr1::ring(&branches),
        AllgatherAlgorithm::Lr2 => lr2::ring(tree, &branches)?,
        AllgatherAlgorithm::Lr3 => lr3::ring(&branches).ok_or(RingRefusal::TooManyStates)?,
    };
    Ok(AllgatherSchedule::new(tree, algorithm, ring))
}

impl AllgatherSchedule {
    fn new(tree: &Tree, algorithm: AllgatherAlgorithm, ring: Vec<NodeNumber>) -> AllgatherSchedule {
        let longest_path = neighbours(&ring)
            .map(|(a, b)| switches_between(tree, a, b))
            .max()
            .unwrap_or(0);
        AllgatherSchedule {
            algorithm,
            hosts: tree.host_names().to_vec(),
            ring,
            longest_path,
            contention_free: true,
        }
    }

    /// The same ring with hosts numbered as in `hosts`; `None` if those are not the same hosts.
    pub fn renumbered(&self, hosts: &[String]) -> Option<AllgatherSchedule> {
        let number: std::collections::HashMap<&str, u32> = hosts
            .iter()
            .zip(0..)
            .map(|(name, i)| (name.as_str(), i))
            .collect();
        let ring = self
            .ring
            .iter()
            .map(|&h| number.get(self.hosts.get(h as usize)?.as_str()).copied())
            .collect::<Option<Vec<u32>>>()?;
        (hosts.len() == self.hosts.len()).then(|| AllgatherSchedule {
            hosts: hosts.to_vec(),
            ring,
            ..self.clone()
        })
    }
}

/// The senders and receivers along a ring; none where there is one host.
pub(crate) fn neighbours(ring: &[u32]) -> impl Iterator<Item = (u32, u32)> + '_ {
    let others = if ring.len() > 1 { ring.len() } else { 0 };
    ring.iter()
        .copied()
        .zip(ring.iter().copied().cycle().skip(1))
        .take(others)
}

fn switches_between(tree: &Tree, a: NodeNumber, b: NodeNumber) -> u32 {
    let mut edges = 0u32;
    tree.path(a, b, |_| edges += 1);
    edges.saturating_sub(1)
}
