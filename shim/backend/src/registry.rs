//! Process sets that live: a program that makes the same communicator again and again finds what it
//! had before, and the hosts of processes are asked for once.
use crate::passing;
use crate::process_set::{self, ProcessSet};
use crate::world_ranks::WorldRanks;
use runtime::rank_host::RankHost;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// Process sets that no communicator has any more are kept for the next one of these members: the
/// last so many.
const IDLE: usize = 16;

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

/// The process set of these members, with its number, if one lives.
pub(crate) fn find(members: &WorldRanks) -> Option<(u64, Arc<Mutex<ProcessSet>>)> {
    registry()
        .sets
        .iter()
        .rev()
        .find(|living| living.members == *members)
        .map(|living| (living.number, Arc::clone(&living.set)))
}

/// True if these members and perhaps others are a process set whose messages by the library are known to cross the tree
/// of the epoch with this digest.
pub(crate) fn have_crossed(members: &WorldRanks, epoch: u64) -> bool {
    let holding: Vec<Arc<Mutex<ProcessSet>>> = registry()
        .sets
        .iter()
        .filter(|living| living.members.hold_all(members))
        .map(|living| Arc::clone(&living.set))
        .collect();
    holding
        .iter()
        .any(|set| process_set::lock(set).has_crossed(epoch))
}

/// A number for a process set that no other has, if rank 0 of it asks: the ranks of MPI_COMM_WORLD
/// count each for itself.
pub(crate) fn unused_number(members: &WorldRanks, rank: c_int) -> u64 {
    let mut registry = registry();
    registry.made += 1;
    let own = members
        .ranks()
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

/// The process set whose kinds may pass, if one's do.
static OWNER: Mutex<Weak<Mutex<ProcessSet>>> = Mutex::new(Weak::new());
/// Where that one lies: asked first.
static OWNER_AT: AtomicPtr<Mutex<ProcessSet>> = AtomicPtr::new(std::ptr::null_mut());

/// A process set serves a call: from now on only its kinds may pass.
pub(crate) fn pass_kinds_of(to: &Arc<Mutex<ProcessSet>>) {
    let at = Arc::as_ptr(to).cast_mut();
    if OWNER_AT.load(Ordering::Relaxed) == at || !passing::kinds_may_pass() {
        return;
    }
    count_passed();
    *lock_owner() = Arc::downgrade(to);
    OWNER_AT.store(at, Ordering::Relaxed);
}

/// The process set whose kinds pass counts what has passed; none do any more.
pub(crate) fn count_passed() {
    OWNER_AT.store(std::ptr::null_mut(), Ordering::Relaxed);
    let owner = std::mem::take(&mut *lock_owner()).upgrade();
    if let Some(owner) = owner {
        process_set::lock(&owner).end_passing();
    }
}

fn lock_owner() -> MutexGuard<'static, Weak<Mutex<ProcessSet>>> {
    OWNER.lock().unwrap_or_else(PoisonError::into_inner)
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
        .ranks()
        .iter()
        .map(|rank| registry.hosts.get(rank).cloned())
        .collect()
}

/// Remembers them.
pub(crate) fn remember_hosts(members: &WorldRanks, hosts: &[RankHost]) {
    registry()
        .hosts
        .extend(members.ranks().iter().copied().zip(hosts.iter().cloned()));
}
