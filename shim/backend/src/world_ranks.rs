//! The members of a communicator by their ranks in MPI_COMM_WORLD.
use crate::abi::MPI_Group;
use crate::call_comm::CallComm;
use crate::error_handlers::quietly;
use crate::mpi::{SUCCESS, mpi};
use crate::mpi_result::{MpiResult, check};
use std::collections::HashSet;
use std::ffi::c_int;

/// The members of a communicator, in rank order, as ranks of MPI_COMM_WORLD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorldRanks(Vec<c_int>);

/// The members of a communicator; `None` if one is not of MPI_COMM_WORLD, as after MPI_Comm_spawn.
pub(crate) fn members(within: &CallComm) -> MpiResult<Option<WorldRanks>> {
    let (mpi, world) = (mpi(), mpi().handle.comm_world);
    let group_of = |comm| {
        let mut group: MPI_Group = mpi.handle.group_null;
        quietly(comm, || {
            // SAFETY: a valid communicator and a place for the result.
            check(unsafe { (mpi.call.Comm_group)(comm, &mut group) })
        })
        .map(|()| group)
    };
    let (mut own, mut all) = (group_of(within.comm)?, group_of(world)?);
    let ranks: Vec<c_int> = (0..within.size).collect();
    let mut members = vec![0; ranks.len()];
    // SAFETY: two groups, and arrays with an entry for each rank of the first; both groups are
    // given back.
    let translated = quietly(world, || unsafe {
        let code = (mpi.call.Group_translate_ranks)(
            own,
            within.size,
            ranks.as_ptr(),
            all,
            members.as_mut_ptr(),
        );
        (mpi.call.Group_free)(&mut own);
        (mpi.call.Group_free)(&mut all);
        check(code)
    });
    translated.map(|()| WorldRanks::new(members))
}

impl WorldRanks {
    /// What MPI_COMM_WORLD's group says of members; `None` if one is not in it. MPICH 4.0 takes ranks
    /// that other ranks started for some of its own, and so has one of these twice.
    fn new(members: Vec<c_int>) -> Option<WorldRanks> {
        let mut seen = HashSet::new();
        let are_all = members.iter().all(|&rank| rank >= 0 && seen.insert(rank));
        are_all.then_some(WorldRanks(members))
    }

    pub(crate) fn ranks(&self) -> &[c_int] {
        &self.0
    }

    /// True if these are all members of others.
    pub(crate) fn hold_all(&self, others: &WorldRanks) -> bool {
        let own: HashSet<c_int> = self.0.iter().copied().collect();
        others.0.iter().all(|rank| own.contains(rank))
    }

    /// The ranks of MPI_COMM_WORLD make so many sets as large as this one, the last perhaps smaller.
    pub(crate) fn sets_of_the_world(&self) -> u32 {
        let mut size = 0;
        // SAFETY: MPI_COMM_WORLD and a place for the result.
        let code = unsafe { (mpi().call.Comm_size)(mpi().handle.comm_world, &mut size) };
        let world = if code == SUCCESS { size as usize } else { 0 };
        (world.div_ceil(self.0.len().max(1)) as u32).max(1)
    }
}

/// True on rank 0 of MPI_COMM_WORLD.
pub(crate) fn is_first_of_the_job() -> bool {
    let mut rank = -1;
    // SAFETY: MPI_COMM_WORLD and a place for the result.
    let code = unsafe { (mpi().call.Comm_rank)(mpi().handle.comm_world, &mut rank) };
    code == SUCCESS && rank == 0
}

#[cfg(test)]
mod tests {
    use super::WorldRanks;

    #[test]
    fn members_that_the_world_has_twice_are_not_all_its_own() {
        assert!(WorldRanks::new(vec![2, 0, 1]).is_some());
        assert!(WorldRanks::new(vec![0, 1, -32766, -32766]).is_none());
        assert!(WorldRanks::new(vec![0, 1, 0, 1]).is_none());
    }

    #[test]
    fn a_row_of_the_world_is_held_by_it_and_by_no_other_row() {
        let [world, row, other] = [vec![0, 1, 2, 3], vec![3, 1], vec![0, 2]].map(WorldRanks);
        assert!(world.hold_all(&row) && world.hold_all(&world));
        assert!(!row.hold_all(&world) && !other.hold_all(&row));
    }
}
