//! What recabling would gain, before anybody touches a cable.
//!
//! Source: the bounds of [`schedules::bound`]; spanning tree as in [`inventory::spanning_tree`].
//! Input: a topology file and changes to it. Guarantee: bounds, not predictions: no schedule is
//! faster, and the ones planned here come close ([`schedules::alltoall`]). Cost: O(nodes) a
//! candidate for the advice; see [`advice`]. Deviations: which links a network blocks depends on
//! bridge priorities that no topology file holds.
mod advice;
mod change;

pub use advice::{CablingAdvice, advice};
pub use change::{CablingChange, CablingChangeError};

use inventory::topology::LinkState;
use inventory::tree::TreeError;
use inventory::{Bytes, TopologyFile, Tree, ranks, spanning_tree};
use schedules::bound::{self, PhaseBound};
use schedules::capacities::EdgeCapacities;

/// What a network can do at best.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkOutlook {
    /// Phases and bottleneck edge of the all-to-all among all ranks.
    pub bound: PhaseBound,
    /// Seconds it takes at least.
    pub alltoall: f64,
    /// Seconds the allgather takes at least.
    pub allgather: f64,
    /// Links that carry nothing, by the names of their ends.
    pub blocked: Vec<(String, String)>,
}

/// What the network of a file can do at best, with blocks of this size.
///
/// # Errors
/// [`TreeError`] where its forwarding links are no tree.
pub fn outlook(file: &TopologyFile, block: Bytes) -> Result<NetworkOutlook, TreeError> {
    let tree = file.tree()?;
    let ranks_of = ranks_of(&tree);
    let ranked = if ranks_of.iter().all(|r| *r == 1) {
        tree.clone()
    } else {
        ranks::tree(&tree, &ranks::names(&tree))?
    };
    let blocked = file
        .links
        .iter()
        .filter(|l| l.state == Some(LinkState::Blocked))
        .map(|l| (l.a.clone(), l.b.clone()));
    Ok(NetworkOutlook {
        bound: bound::bound(&ranked, &EdgeCapacities::of(&ranked)),
        alltoall: bound::alltoall_seconds(&tree, &ranks_of, block),
        allgather: bound::allgather_seconds(&tree, &ranks_of, block),
        blocked: blocked.collect(),
    })
}

/// Whether the file's own states are those that spanning tree would give: if not, its network knows
/// priorities that the file does not say, and after a change it may block other links than shown.
pub fn matches_spanning_tree(file: &TopologyFile) -> bool {
    let forwards = |file: &TopologyFile| {
        file.links
            .iter()
            .map(|l| matches!(l.state, None | Some(LinkState::Forwarding)))
            .collect::<Vec<_>>()
    };
    let settled = file
        .switches
        .first()
        .and_then(|root| spanning_tree::with_spanning_tree(file, root));
    settled.is_none_or(|settled| forwards(&settled) == forwards(file))
}

fn ranks_of(tree: &Tree) -> Vec<u32> {
    (0..tree.hosts()).map(|h| tree.ranks(h)).collect()
}

#[cfg(test)]
mod tests;
