//! A call on copies of its buffers in the host's memory.
//!
//! Ranks choose a way together, and a rank alone cannot leave it. So a rank whose driver fails takes
//! part all the same, with whatever its copy holds, and the call gives it an error at the end: the
//! others wait for nobody, and get from this rank what they would get from it if its program had
//! computed nonsense.
use super::driver::{DeviceCopy, DriverError};
use super::host_room::HostRoom;
use super::loaded::{DeviceMemory, any_driver};
use super::staged_side::{BufferUse, SideArrays, StagedSide};
use crate::call::{CallBuffer, CallRole, CollectiveCall};
use crate::call_comm::CallComm;
use crate::mpi_result::{MpiErrorCode, MpiResult};
use policy::decision_table::CollectiveTraffic;
use runtime::stderr;
use std::ops::Range;

/// The room for copies that the calls of a process set have.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    room: HostRoom,
}

impl Staging {
    /// Runs `carry` on buffers that the host can touch: the call's own, or copies of those that lie
    /// on a device. `carry` gives false if it did nothing. It is not run where there is no room for
    /// the copies.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(crate) unsafe fn around(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        carry: impl FnOnce(&CollectiveCall) -> MpiResult<bool>,
    ) -> MpiResult<bool> {
        if !any_driver() {
            return carry(call);
        }
        let Some(mut sides) = StagedSides::new(call, within)? else {
            return carry(call);
        };
        sides.lay_out(&mut self.room)?;
        // SAFETY: passed on to the caller; the copies have room.
        let outcome = unsafe { sides.around(call, carry) };
        self.room.done();
        outcome
    }
}

/// The buffers of a call, of which one lies on a device at least.
struct StagedSides {
    send: Option<StagedSide>,
    receive: Option<StagedSide>,
    memory: DeviceMemory,
}

impl StagedSides {
    fn new(call: &CollectiveCall, within: &CallComm) -> MpiResult<Option<StagedSides>> {
        let ranks = within.size as u32;
        let [sent, received] = uses(call, within);
        let send = StagedSide::new(call.send, ranks, sent)?;
        let receive = StagedSide::new(call.receive, ranks, received)?;
        let some = send.as_ref().or(receive.as_ref());
        let memory = some.and_then(StagedSide::memory);
        Ok(memory.map(|memory| StagedSides {
            send,
            receive,
            memory,
        }))
    }

    fn sides(&self) -> impl Iterator<Item = &StagedSide> {
        self.send.iter().chain(&self.receive)
    }

    fn lay_out(&mut self, room: &mut HostRoom) -> MpiResult<()> {
        let octets = self.sides().map(StagedSide::room).sum();
        let mut free = room.reserve(octets, &self.memory)?;
        for side in self.send.iter_mut().chain(&mut self.receive) {
            free = side.lay_out(free);
        }
        Ok(())
    }

    /// # Safety
    /// As the MPI standard says of the call's arguments, and the copies must have room.
    unsafe fn around(
        &self,
        call: &CollectiveCall,
        carry: impl FnOnce(&CollectiveCall) -> MpiResult<bool>,
    ) -> MpiResult<bool> {
        let read = self.sides().flat_map(StagedSide::to_host).collect();
        // SAFETY: passed on to the caller.
        let copied = unsafe { run(read) };
        let (mut sent, mut received) = (SideArrays::default(), SideArrays::default());
        let on_copies = CollectiveCall {
            send: buffer(&self.send, call.send, &mut sent),
            receive: buffer(&self.receive, call.receive, &mut received),
            ..*call
        };
        let carried = carry(&on_copies)?;
        // Only now: the other ranks need this one's part, whatever its copies hold.
        copied?;
        if carried && let Some(receive) = &self.receive {
            // SAFETY: passed on to the caller.
            unsafe { run(receive.to_device()?) }?;
        }
        Ok(carried)
    }
}

fn buffer(side: &Option<StagedSide>, own: CallBuffer, arrays: &mut SideArrays) -> CallBuffer {
    side.as_ref().map_or(own, |side| side.buffer(arrays))
}

/// The use of a call's send buffer, and of its receive buffer.
fn uses(call: &CollectiveCall, within: &CallComm) -> [BufferUse; 2] {
    let (all, first, none) = (0..within.size as u32, 0..1, 0..0);
    let used = |reads: &Range<u32>, writes: &Range<u32>| BufferUse {
        reads: reads.clone(),
        writes: writes.clone(),
    };
    if let CallRole::Broadcast { root } = call.role {
        let received = if root == within.rank {
            used(&first, &none)
        } else {
            used(&none, &first)
        };
        return [used(&none, &none), received];
    }
    let (sent, received) = match call.collective.traffic() {
        CollectiveTraffic::Exchange => (&all, &all),
        CollectiveTraffic::Gather => (&first, &all),
        CollectiveTraffic::CombineForEach => (&all, &first),
        CollectiveTraffic::Combine | CollectiveTraffic::Spread => (&first, &first),
    };
    if !call.in_place() {
        return [used(sent, &none), used(&none, received)];
    }
    let own = within.rank as u32..within.rank as u32 + 1;
    let is_gather = call.collective.traffic() == CollectiveTraffic::Gather;
    // In place an allgather takes its block from where it will lie in the receive buffer (MPI-4.1, 6.7).
    let reads = if is_gather { &own } else { sent };
    [used(&none, &none), used(reads, received)]
}

/// Copies, in the order in which they are given.
///
/// # Safety
/// So many octets must lie at each copy's addresses.
unsafe fn run(copies: Vec<(DeviceMemory, DeviceCopy)>) -> MpiResult<()> {
    for alike in copies.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((memory, _)) = alike.first() else {
            continue;
        };
        let copies: Vec<DeviceCopy> = alike.iter().map(|(_, copy)| *copy).collect();
        // SAFETY: passed on to the caller.
        unsafe { memory.driver.copy(memory.place, &copies) }.map_err(|failed| report(&failed))?;
    }
    Ok(())
}

/// The call has begun and cannot be undone, so the application hears of it as of any failure of its
/// MPI library.
fn report(failed: &DriverError) -> MpiErrorCode {
    let DriverError { function, code } = failed;
    stderr::write_line_once(&format!(
        "device memory: {function} failed with error {code}; the call failed on this rank, and the \
         others may have got wrong octets from it"
    ));
    MpiErrorCode::other()
}
