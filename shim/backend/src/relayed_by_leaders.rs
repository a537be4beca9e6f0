//! Large reductions and broadcasts where hosts have several ranks: within each host by the MPI
//! library, between the hosts along a ring of their leaders. So a host's link carries each octet
//! once in each direction, however many ranks the host has.
//!
//! If the ring fails, a leader tells the ranks of its host before they wait for the result.
use crate::call::{CallRole, CollectiveCall};
use crate::call_comm::CallComm;
use crate::elements::MpiElements;
use crate::mpi::mpi;
use crate::mpi_result::{MpiErrorCode, MpiResult};
use crate::private_comm::PrivateComm;
use crate::relayed::{self, RelayRing};
use runtime::host_leaders::HostLeaders;
use std::ffi::c_int;

/// The rank of a leader among those of its host: it is the lowest.
pub(crate) const LEADER: c_int = 0;

/// `on_host` has the ranks of this host; `ring` is the leaders', for a leader.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn carry_out(
    call: &CollectiveCall,
    within: &CallComm,
    leaders: &HostLeaders,
    on_host: &PrivateComm,
    mut ring: Option<RelayRing>,
) -> MpiResult<()> {
    let elements = call.received()?.of_rank(0);
    let root = match call.role {
        CallRole::Broadcast { root } => Some(root as u32),
        _ => None,
    };
    let own = leaders.number(within.rank as u32);
    let root_here = root.filter(|&root| leaders.number(root) == own);
    // SAFETY: passed on to the caller.
    let here = on_host.quietly(|| unsafe {
        match (root, root_here) {
            (None, _) => combine_on_host(call, on_host, elements, ring.is_some()),
            (_, Some(root)) => on_host.broadcast(elements, rank_on_host(leaders, root)),
            _ => Ok(()),
        }
    });
    let between = ring.as_mut().map_or(Ok(()), |ring| {
        if here.is_err() {
            // The other leaders wait for what is not going to come.
            ring.mesh.lock().close();
            return here;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            match root {
                None => relayed::allreduce(call, within, ring, true),
                Some(root) => relayed::broadcast(call, within, ring, leaders.number(root)),
            }
        }
    });
    if let Some(ring) = ring {
        ring.room.done();
    }
    let has_it = root_here.is_some();
    // SAFETY: passed on to the caller.
    let spread = on_host.quietly(|| unsafe { spread_on_host(on_host, between, elements, has_it) });
    here.and(spread)
}

/// The elements of all ranks of a host, combined, come to lie in the leader's receive buffer.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn combine_on_host(
    call: &CollectiveCall,
    on_host: &PrivateComm,
    into: MpiElements,
    leads: bool,
) -> MpiResult<()> {
    let CallRole::Reduction(op) = call.role else {
        return Ok(());
    };
    let from = match (relayed::is_in_place(call), leads) {
        (false, _) => call.send.at.cast_const(),
        (true, true) => mpi().in_place,
        (true, false) => call.receive.at.cast_const(),
    };
    // SAFETY: passed on to the caller.
    unsafe { on_host.reduce(from, into, op) }
}

/// The leader's outcome and, if that is good, what it has; nothing more where all have it already.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn spread_on_host(
    on_host: &PrivateComm,
    between: MpiResult<()>,
    elements: MpiElements,
    has_it: bool,
) -> MpiResult<()> {
    let mut failed = u8::from(between.is_err());
    let octet = MpiElements {
        at: (&raw mut failed).cast(),
        count: 1,
        datatype: mpi().handle.byte,
    };
    // SAFETY: the octet outlives the call.
    unsafe { on_host.broadcast(octet, LEADER) }?;
    between?;
    match (failed, has_it) {
        (0, true) => Ok(()),
        // SAFETY: passed on to the caller.
        (0, false) => unsafe { on_host.broadcast(elements, LEADER) },
        _ => Err(MpiErrorCode::other()),
    }
}

/// A rank's rank among those of its host, which are in the same order.
fn rank_on_host(leaders: &HostLeaders, rank: u32) -> c_int {
    let host = leaders.number(rank);
    (0..rank)
        .filter(|&other| leaders.number(other) == host)
        .count() as c_int
}
