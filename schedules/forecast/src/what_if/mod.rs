//! The gain from recabling, before anybody touches a cable.
//!
//! Source: the bounds of [`schedules::bound`]; spanning tree as in [`inventory::spanning_tree`].
//! Input: a topology file and changes to it. Guarantee: the results are bounds: no schedule is
//! faster. Beside them stand predictions of heddle's schedules over TCP, with the error that
//! [`crate::calibration`] finds for them. Cost:
//! O(nodes) per candidate of the advice; see [`advice`]. Deviations: the links that a network
//! blocks depend on bridge priorities, and topology files do not contain them.
mod advice;
mod change;

pub use advice::{CablingAdvice, advice};
pub use change::{CablingChange, CablingChangeError};

use crate::calibration::{CalibratedTime, CallCalibration, calibrated_ways};
use inventory::topology::LinkState;
use inventory::tree::TreeError;
use inventory::{Bytes, Mpi, TopologyFile, Tree, ranks, spanning_tree};
use policy::decision_table::Collective;
use schedules::bound::{self, PhaseBound};
use schedules::capacities::EdgeCapacities;

/// The best performance that a network allows.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkOutlook {
    /// Phases and bottleneck edge of the all-to-all among all ranks.
    pub bound: PhaseBound,
    /// Lower bound of the all-to-all, seconds.
    pub alltoall: f64,
    /// Lower bound of the allgather, seconds.
    pub allgather: f64,
    /// Predictions of both over TCP; `None` where nothing is sent.
    pub over_tcp: Option<OverTcpOutlook>,
    /// Blocked links, by the names of their ends.
    pub blocked: Vec<(String, String)>,
}

/// The times that heddle's schedules over TCP are predicted to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverTcpOutlook {
    pub alltoall: CalibratedTime,
    pub allgather: CalibratedTime,
}

impl OverTcpOutlook {
    fn predicted(
        calibration: &CallCalibration,
        ranks: &Tree,
        block: Bytes,
    ) -> Option<OverTcpOutlook> {
        let collectives = [Collective::Alltoall, Collective::Allgather];
        let [alltoall, allgather] = collectives.map(|collective| {
            // Over TCP the library does not matter.
            let way = *calibrated_ways(collective).last()?;
            calibration.time(ranks, (way, Mpi::OpenMpi), collective, block)
        });
        Some(OverTcpOutlook {
            alltoall: alltoall?,
            allgather: allgather?,
        })
    }
}

/// The best performance that the network of a file allows, with blocks of this size, and predictions
/// from these calls.
///
/// # Errors
/// [`TreeError`] if its forwarding links are not a tree.
pub fn outlook(
    calibration: &CallCalibration,
    file: &TopologyFile,
    block: Bytes,
) -> Result<NetworkOutlook, TreeError> {
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
        bound: bound::bound(&ranked, &EdgeCapacities::from_tree(&ranked)),
        alltoall: bound::alltoall_seconds(&tree, &ranks_of, block),
        allgather: bound::allgather_seconds(&tree, &ranks_of, block),
        over_tcp: OverTcpOutlook::predicted(calibration, &ranked, block),
        blocked: blocked.collect(),
    })
}

/// True if the file's states are those that spanning tree would give. Otherwise the network has
/// priorities that the file does not contain, and after a change it may block other links than
/// shown.
pub fn matches_spanning_tree(file: &TopologyFile) -> bool {
    let settled = file
        .switches
        .first()
        .and_then(|root| spanning_tree::with_spanning_tree(file, root));
    settled.is_none_or(|settled| {
        let [settled, stated] = [&settled, file].map(|file| {
            let links = file.links.iter();
            links.map(|l| matches!(l.state, None | Some(LinkState::Forwarding)))
        });
        settled.eq(stated)
    })
}

fn ranks_of(tree: &Tree) -> Vec<u32> {
    (0..tree.hosts()).map(|h| tree.ranks(h)).collect()
}

#[cfg(test)]
mod tests;
