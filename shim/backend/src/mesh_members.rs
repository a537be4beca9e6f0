//! The ranks among which the connections of a communicator stand.

/// The ranks that connections are for. The mesh knows them by numbers from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MeshMembers<'a> {
    /// All ranks, by their own numbers.
    All,
    /// These, in ascending order.
    These(&'a [u32]),
}

impl MeshMembers<'_> {
    /// The number of a rank; `None` if it takes no part.
    pub(crate) fn number(self, rank: u32) -> Option<u32> {
        match self {
            MeshMembers::All => Some(rank),
            MeshMembers::These(ranks) => ranks.binary_search(&rank).ok().map(|at| at as u32),
        }
    }

    pub(crate) fn rank(self, number: u32) -> u32 {
        match self {
            MeshMembers::All => number,
            MeshMembers::These(ranks) => ranks.get(number as usize).copied().unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn are_all(self) -> bool {
        matches!(self, MeshMembers::All)
    }

    /// Their number, among so many ranks.
    pub(crate) fn count(self, ranks: u32) -> u32 {
        match self {
            MeshMembers::All => ranks,
            MeshMembers::These(ranks) => ranks.len() as u32,
        }
    }
}
