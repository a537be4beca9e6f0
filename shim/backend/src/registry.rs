//! Process sets that live: a program that makes the same communicator again and again finds what it
//! had before, and the hosts of processes are asked for once.
use crate::abi::MPI_Group;
use crate::call_comm::CallComm;
use crate::error_handlers::quietly;
use crate::mpi::mpi;
use crate::mpi_result::{MpiResult, check};
use crate::process_set::{self, ProcessSet};
use runtime::rank_host::RankHost;
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Process sets that no communicator has any more are kept for the next one of these members: the
/// last so many.
const IDLE: usize = 16;

/// The members of a communicator, in rank order, as ranks of MPI_COMM_WORLD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorldRanks(Vec<c_int>);

struct LivingSet {
    members: WorldRanks,
    number: u64,
    set: Arc<Mutex<ProcessSet>>,
}

/// This process's knowledge of the other ranks.
#[derive(Default)]
struct ProcessSetRegistry {
    /// The process sets, the one released last at the end.
    sets: Vec<LivingSet>,
    hosts: HashMap<c_int, RankHost>,
    /// Process sets made here so far.
    made: u32,
}

fn registry() -> MutexGuard<'static, ProcessSetRegistry> {
    static REGISTRY: LazyLock<Mutex<ProcessSetRegistry>> = LazyLock::new(Mutex::default);
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    translated.map(|()| WorldRanks::of(members))
}

impl WorldRanks {
    /// What MPI_COMM_WORLD's group says of members; `None` if one is not in it. MPICH 4.0 takes ranks
    /// that other ranks started for some of its own, and so has one of these twice.
    fn of(members: Vec<c_int>) -> Option<WorldRanks> {
        let mut seen = HashSet::new();
        let are_all = members.iter().all(|&rank| rank >= 0 && seen.insert(rank));
        are_all.then_some(WorldRanks(members))
    }

    pub(crate) fn ranks(&self) -> &[c_int] {
        &self.0
    }
}

/// The process set of these members, with its number, if one lives.
pub(crate) fn find(members: &WorldRanks) -> Option<(u64, Arc<Mutex<ProcessSet>>)> {
    registry()
        .sets
        .iter()
        .rev()
        .find(|living| living.members == *members)
        .map(|living| (living.number, Arc::clone(&living.set)))
}

/// A number for a process set that no other has, if rank 0 of it asks: the ranks of MPI_COMM_WORLD
/// count each for itself.
pub(crate) fn unused_number(members: &WorldRanks, rank: c_int) -> u64 {
    let mut registry = registry();
    registry.made += 1;
    let own = members
        .0
        .get(rank as usize)
        .map_or(0, |&rank| rank as u64 + 1);
    own << 32 | u64::from(registry.made)
}

/// Keeps a process set; one of the same members that the others do not have any more goes.
pub(crate) fn keep(members: WorldRanks, number: u64, set: &Arc<Mutex<ProcessSet>>) {
    let mut registry = registry();
    let stale: Vec<LivingSet> = registry
        .sets
        .extract_if(.., |living| living.members == members)
        .collect();
    registry.sets.push(LivingSet {
        members,
        number,
        set: Arc::clone(set),
    });
    drop(registry);
    stale
        .iter()
        .filter(|living| Arc::strong_count(&living.set) == 1)
        .for_each(|living| process_set::lock(&living.set).leave());
}

/// A communicator with this process set is gone, which rests if it was the last one. Where too many
/// are idle, the one idle for longest ends.
pub(crate) fn communicator_freed(set: &Arc<Mutex<ProcessSet>>) {
    let mut registry = registry();
    let Some(at) = registry
        .sets
        .iter()
        .position(|living| Arc::ptr_eq(&living.set, set))
    else {
        drop(registry);
        // Another communicator may have it still.
        if Arc::strong_count(set) == 1 {
            process_set::lock(set).leave();
        }
        return;
    };
    let released = registry.sets.remove(at);
    registry.sets.push(released);
    // This function's caller and the registry have it; whoever else does has a communicator with
    // it.
    let others = |living: &LivingSet| {
        Arc::strong_count(&living.set) - 1 - usize::from(Arc::ptr_eq(&living.set, set))
    };
    let is_idle = others(&registry.sets[registry.sets.len() - 1]) == 0;
    let idle = registry
        .sets
        .iter()
        .filter(|living| others(living) == 0)
        .count();
    let oldest = registry
        .sets
        .iter()
        .position(|living| others(living) == 0)
        .filter(|_| idle > IDLE);
    let ended = oldest.map(|at| registry.sets.remove(at));
    drop(registry);
    if is_idle {
        process_set::lock(set).release_resources();
    }
    if let Some(ended) = ended {
        process_set::lock(&ended.set).leave();
    }
}

/// All that live.
pub(crate) fn all() -> Vec<Arc<Mutex<ProcessSet>>> {
    registry()
        .sets
        .iter()
        .map(|living| Arc::clone(&living.set))
        .collect()
}

/// The hosts of these members, in their order, if all are known.
pub(crate) fn hosts(members: &WorldRanks) -> Option<Vec<RankHost>> {
    let registry = registry();
    members
        .0
        .iter()
        .map(|rank| registry.hosts.get(rank).cloned())
        .collect()
}

/// Remembers them.
pub(crate) fn remember_hosts(members: &WorldRanks, hosts: &[RankHost]) {
    registry()
        .hosts
        .extend(members.0.iter().copied().zip(hosts.iter().cloned()));
}

#[cfg(test)]
mod tests {
    use super::WorldRanks;

    #[test]
    fn members_that_the_world_has_twice_are_not_all_its_own() {
        assert!(WorldRanks::of(vec![2, 0, 1]).is_some());
        assert!(WorldRanks::of(vec![0, 1, -32766, -32766]).is_none());
        assert!(WorldRanks::of(vec![0, 1, 0, 1]).is_none());
    }
}
