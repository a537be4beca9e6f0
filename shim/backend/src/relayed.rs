//! Reductions and broadcasts along the ring over the runtime's own TCP connections.
//!
//! A reduction's elements are combined by the library's own MPI_Reduce_local, where they lie. So its
//! datatype must lie in memory as it is sent; other calls go to the library.
use crate::aligned_room::KeptRoom;
use crate::call::{CallRole, CollectiveCall};
use crate::call_comm::CallComm;
use crate::datatype::{self, DatatypeLayout};
use crate::elements::{octets_of, room};
use crate::mesh_state::failed;
use crate::mpi::mpi;
use crate::mpi_result::{MpiErrorCode, MpiResult, check};
use crate::reduce_op;
use policy::decision_table::Collective;
use policy::forced::ReductionOrder;
use policy::ways::{LEAST_RELAYED, MOST_RANKS_BY_PAIRS, MessageForm};
use runtime::settings::RuntimeSettings;
use runtime::tcp::keeper::KeptMesh;
use runtime::tcp::relay::{RelayMemory, chunk_room};
use schedules::relay::{RankRelay, RelayCollective, share};
use std::ops::Range;

/// True if the call is too small for any other way than the library's: it then passes at once, for
/// programs make many such calls. Asked by each rank for itself, with the same answer.
pub(crate) fn is_too_small(call: &CollectiveCall) -> bool {
    let is_forced = RuntimeSettings::here()
        .force
        .ways(call.collective)
        .iter()
        .any(|way| way.form() == MessageForm::Relayed);
    let least = if call.collective == Collective::ReduceScatterBlock {
        // There are as many blocks as ranks, and rarely more than so many.
        LEAST_RELAYED.0 / MOST_RANKS_BY_PAIRS as u64
    } else {
        LEAST_RELAYED.0
    };
    !is_forced
        && datatype::size_if_valid(call.receive.datatype(), call.comm)
            .is_none_or(|size| size.saturating_mul(call.receive.elements()) < least)
}

/// True if the call can go along the ring, on every rank. Collective where an application's own
/// operation or datatype may differ from rank to rank.
pub(crate) fn may_go(call: &CollectiveCall, within: &CallComm) -> MpiResult<bool> {
    let CallRole::Reduction(op) = call.role else {
        return Ok(true);
    };
    let datatype = call.receive.datatype();
    // The standard has predefined operations and their datatypes be the same on all ranks
    // (MPI-4.1, 6.9.1).
    if reduce_op::is_predefined(op) {
        return Ok(reduce_op::takes(op, datatype));
    }
    within.holds_on_all_ranks(reduce_op::commutes(op) && datatype::lies_as_sent(datatype))
}

/// The setting that may change the order of this call, where a setting says it of those whose last digits depend on
/// it. Asked by each rank for itself, with the same answer: operations that the library defines are the
/// same on all of them.
pub(crate) fn order(call: &CollectiveCall, setting: ReductionOrder) -> ReductionOrder {
    match (call.role, setting) {
        (CallRole::Reduction(op), ReductionOrder::Steady | ReductionOrder::Reproducible)
            if !reduce_op::is_exact(op, call.receive.datatype()) =>
        {
            if setting == ReductionOrder::Steady {
                setting
            } else {
                ReductionOrder::Librarys
            }
        }
        (CallRole::Reduction(op), ReductionOrder::Fast) if !reduce_op::is_predefined(op) => {
            ReductionOrder::Steady
        }
        (CallRole::Reduction(_), ReductionOrder::Librarys) => setting,
        _ => ReductionOrder::Fast,
    }
}

/// A ring, its connections, and the place of this rank in both.
pub(crate) struct RelayRing<'a> {
    /// The connections of those on the ring.
    pub(crate) mesh: &'a KeptMesh,
    /// The numbers by which the mesh knows them, in the order of the ring.
    pub(crate) ring: &'a [u32],
    /// This rank's number.
    pub(crate) me: u32,
    /// For reductions; it may hold anything.
    pub(crate) room: &'a mut KeptRoom,
}

/// All ranks are on the ring, and their numbers are their ranks.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn carry_out(
    call: &CollectiveCall,
    within: &CallComm,
    ring: &mut RelayRing,
) -> MpiResult<()> {
    // SAFETY: passed on to the caller.
    let outcome = unsafe {
        match (call.role, call.collective) {
            (CallRole::Broadcast { root }, _) => broadcast(call, within, ring, root as u32),
            (_, Collective::Allreduce) => allreduce(call, within, ring, is_in_place(call)),
            _ => reduce_scatter_block(call, within, ring),
        }
    };
    ring.room.done();
    outcome
}

/// True if a rank's own elements lie where the result goes. Programs that pass one buffer twice are
/// wrong, and yet both libraries may carry them through.
pub(crate) fn is_in_place(call: &CollectiveCall) -> bool {
    call.in_place() || call.send.at == call.receive.at
}

/// All get the elements of the one with number `root` on the ring.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn broadcast(
    call: &CollectiveCall,
    within: &CallComm,
    ring: &mut RelayRing,
    root: u32,
) -> MpiResult<()> {
    let blocks = call.received()?;
    let (elements, length) = (blocks.of_rank(0), blocks.octets(0));
    let plain = DatatypeLayout::query(elements.datatype)?.plain;
    let mut aside = room(if plain { 0 } else { length })?;
    if !plain && root == ring.me {
        // SAFETY: passed on to the caller.
        unsafe { elements.copy(octets_of(&mut aside)) }?;
    }
    let work = if plain {
        // SAFETY: the application leaves its buffer alone during the call.
        unsafe { std::slice::from_raw_parts_mut(elements.at.cast(), length) }
    } else {
        &mut aside[..]
    };
    let whole = 0..length;
    let memory = RelayMemory {
        work,
        own: None,
        parts: &[whole],
        element: 1,
        aside: &mut [],
    };
    let spread = RelayCollective::Broadcast { root };
    let share = share_of(ring.ring, ring.me, spread)?;
    relay(call, within, ring.mesh, &share, memory)?;
    if plain || root == ring.me {
        Ok(())
    } else {
        // SAFETY: passed on to the caller.
        unsafe { octets_of(&mut aside).copy(elements) }
    }
}

/// The elements of all on the ring are combined; if `in_place`, they lie in the receive buffer.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn allreduce(
    call: &CollectiveCall,
    within: &CallComm,
    ring: &mut RelayRing,
    in_place: bool,
) -> MpiResult<()> {
    let element = DatatypeLayout::query(call.receive.datatype())?.size as usize;
    let elements = call.receive.elements() as usize;
    let length = element * elements;
    let members = ring.ring.len();
    let at = |number: usize| elements * number / members * element;
    let parts: Vec<Range<usize>> = (0..members).map(|n| at(n)..at(n + 1)).collect();
    let (from, into) = (call.send.at.cast::<u8>(), call.receive.at.cast::<u8>());
    let apart = (from as usize).abs_diff(into as usize) >= length;
    let copy: Vec<u8>;
    let own = if in_place {
        None
    } else {
        // SAFETY: the application leaves both buffers alone during the call.
        let sent = unsafe { std::slice::from_raw_parts(from.cast_const(), length) };
        Some(if apart {
            sent
        } else {
            copy = sent.to_vec();
            &copy[..]
        })
    };
    let chunk = if in_place { chunk_room(element) } else { 0 };
    let memory = RelayMemory {
        // SAFETY: as above; what is sent lies elsewhere.
        work: unsafe { std::slice::from_raw_parts_mut(into, length) },
        own,
        parts: &parts,
        element,
        aside: ring.room.reserve(chunk)?,
    };
    let share = share_of(ring.ring, ring.me, RelayCollective::Allreduce)?;
    relay(call, within, ring.mesh, &share, memory)
}

/// Each on the ring has its own one of the `parts` of `work`, and gets all of them.
pub(crate) fn gather(
    call: &CollectiveCall,
    within: &CallComm,
    ring: &mut RelayRing,
    parts: &[Range<usize>],
    work: &mut [u8],
) -> MpiResult<()> {
    let memory = RelayMemory {
        work,
        own: None,
        parts,
        element: 1,
        aside: &mut [],
    };
    let share = share_of(ring.ring, ring.me, RelayCollective::Gather)?;
    relay(call, within, ring.mesh, &share, memory)
}

/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn reduce_scatter_block(
    call: &CollectiveCall,
    within: &CallComm,
    ring: &mut RelayRing,
) -> MpiResult<()> {
    let element = DatatypeLayout::query(call.receive.datatype())?.size as usize;
    let block = element * call.receive.elements() as usize;
    let members = ring.ring.len();
    let parts: Vec<Range<usize>> = (0..members).map(|n| n * block..(n + 1) * block).collect();
    let input = if call.in_place() {
        call.receive.at
    } else {
        call.send.at
    };
    let work = ring.room.reserve(members * block)?;
    let memory = RelayMemory {
        work: &mut *work,
        // SAFETY: the application leaves its buffers alone during the call.
        own: Some(unsafe { std::slice::from_raw_parts(input.cast(), members * block) }),
        parts: &parts,
        element,
        aside: &mut [],
    };
    let share = share_of(ring.ring, ring.me, RelayCollective::ReduceScatter)?;
    relay(call, within, ring.mesh, &share, memory)?;
    let own = &work[parts[ring.me as usize].clone()];
    // SAFETY: the application has room for a block.
    unsafe { std::ptr::copy(own.as_ptr(), call.receive.at.cast(), block) };
    Ok(())
}

fn share_of(ring: &[u32], me: u32, collective: RelayCollective) -> MpiResult<RankRelay> {
    let found = ring.iter().position(|&number| number == me);
    let position = found.ok_or_else(MpiErrorCode::other)?;
    Ok(share(ring, position, collective))
}

fn relay(
    call: &CollectiveCall,
    within: &CallComm,
    mesh: &KeptMesh,
    share: &RankRelay,
    memory: RelayMemory,
) -> MpiResult<()> {
    let element = memory.element.max(1);
    let mut outcome = Ok(());
    let mut combine = |from: &[u8], into: &mut [u8]| {
        let CallRole::Reduction(op) = call.role else {
            return;
        };
        let (from, count) = (from.as_ptr().cast(), into.len() / element);
        let into = into.as_mut_ptr().cast();
        // SAFETY: both hold so many elements, which lie as they are sent, and do not overlap.
        let code = unsafe {
            (mpi().call.Reduce_local)(from, into, count as i32, call.receive.datatype(), op)
        };
        // What fails here ends nothing: the next rank waits for these octets.
        outcome = outcome.and(check(code));
    };
    let name = format!("rank {} in {} over tcp", within.rank, call.collective);
    mesh.lock()
        .relay(
            share,
            memory,
            &mut combine,
            &mut || within.progress(),
            &name,
        )
        .map_err(|broken| failed(&broken))?;
    outcome
}
