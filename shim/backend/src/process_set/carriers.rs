//! Carrying calls out, once their ways are known: over the library's messages on a communicator of the runtime's own,
//! or over the runtime's own connections.
mod connections;
mod length_plans;

use crate::aligned_room::KeptRoom;
use crate::call::CollectiveCall;
use crate::call_amount::CallAmount;
use crate::call_comm::CallComm;
use crate::device::Staging;
use crate::mesh_state::{self, MeshState};
use crate::mpi::SUCCESS;
use crate::mpi_result::MpiResult;
use crate::private_comm::{PrivateComm, PrivateCommState};
use crate::{bundles, point_to_point};
use length_plans::LengthPlans;
use policy::call_policy::CallPolicy;
use policy::ways::{DataCarrier, MessageForm, Way};
use runtime::plan::FollowedEpoch;
use runtime::tcp::keeper::KeptMesh;
use schedules::transfers::part::RankPart;

/// The connections and communicators that carry the calls of a process set, and the memory that they work in.
#[derive(Debug, Default)]
pub(super) struct SetCarriers {
    messages: PrivateCommState,
    wires: MeshState,
    /// Connections between the leaders of hosts, and communicators of the ranks of a host: for
    /// reductions and broadcasts where hosts have several ranks.
    leader_wires: MeshState,
    on_host: PrivateCommState,
    room: KeptRoom,
    staging: Staging,
    plans: LengthPlans,
}

impl SetCarriers {
    /// The runtime's own communicator.
    pub(super) fn messages(&self) -> Option<&PrivateComm> {
        self.messages.existing()
    }

    /// The same as it stands: it may be made yet.
    pub(super) fn messages_mut(&mut self) -> &mut PrivateCommState {
        &mut self.messages
    }

    /// The connections between all ranks, if they stand.
    pub(super) fn mesh(&self) -> Option<&KeptMesh> {
        self.wires.mesh()
    }

    /// Carries a call out as a way is planned on the epoch that is followed, or by the library's own routine.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(super) unsafe fn carry_out(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
        way: Way,
        policy: &CallPolicy,
        follow: Option<&FollowedEpoch>,
    ) -> MpiResult<i32> {
        let Some(follow) = follow.filter(|_| way != Way::Native) else {
            // SAFETY: passed on to the caller.
            return Ok(unsafe { call.native() });
        };
        let mut staging = std::mem::take(&mut self.staging);
        let mut began = false;
        // SAFETY: passed on to the caller.
        let carried = unsafe {
            staging.around(call, within, |call| {
                began = true;
                self.carry(call, within, amount, way, policy, follow)
            })
        };
        self.staging = staging;
        if !began {
            // The others wait for blocks that are not going to come.
            self.close();
        }
        if carried? {
            return Ok(SUCCESS);
        }
        // SAFETY: passed on to the caller.
        Ok(unsafe { call.native() })
    }

    /// Carries a call out on buffers that the host can touch. False if there is nothing to carry it
    /// over.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    unsafe fn carry(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
        way: Way,
        policy: &CallPolicy,
        follow: &FollowedEpoch,
    ) -> MpiResult<bool> {
        if way.form() == MessageForm::Relayed {
            // SAFETY: passed on to the caller.
            return unsafe { self.relay(call, within, policy.ring(), follow) };
        }
        let parts = policy.parts(way);
        let mesh = self
            .wires
            .mesh()
            .filter(|_| way.carrier() == Some(DataCarrier::Tcp));
        let repeats = amount.place.is_some();
        let by_lengths = if mesh.is_some()
            && call.collective.has_own_lengths()
            && follow.plans_lengths(amount.block, repeats)
        {
            // SAFETY: passed on to the caller.
            let own = || unsafe { call.sent_lengths(within.size as usize) };
            let place = amount.place;
            self.plans
                .part(call.collective, place, within, follow, own)?
        } else {
            None
        };
        // SAFETY: passed on to the caller.
        unsafe {
            match (way.form(), mesh, &self.messages) {
                (MessageForm::Gathered, Some(mesh), _) => {
                    mesh_state::allgather(call, within, mesh, parts)?
                }
                (_, Some(mesh), _) => {
                    let parts = by_lengths.map_or_else(
                        || planned_over_tcp(policy, &self.wires, follow, way),
                        std::slice::from_ref,
                    );
                    mesh_state::alltoall(call, within, mesh, parts)?
                }
                (_, None, PrivateCommState::Over(shadow)) => {
                    let block = amount.block as usize;
                    shadow.quietly(|| over_messages(call, within, (way, parts), shadow, block))?
                }
                (_, None, _) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Gives back what it holds; the plans stay.
    pub(super) fn release(&mut self) {
        self.wires = MeshState::default();
        self.leader_wires = MeshState::default();
        self.room = KeptRoom::default();
        self.staging = Staging::default();
        for state in [&mut self.messages, &mut self.on_host] {
            if let PrivateCommState::Over(mut private) = std::mem::take(state) {
                private.free();
            }
        }
    }
}

/// One call, over the communicator's messages.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn over_messages(
    call: &CollectiveCall,
    within: &CallComm,
    (way, parts): (Way, &[RankPart]),
    private: &PrivateComm,
    block: usize,
) -> MpiResult<()> {
    // SAFETY: passed on to the caller.
    unsafe {
        match way.form() {
            MessageForm::Blocks => point_to_point::alltoall(call, within, private, parts),
            MessageForm::Bundles { at_once } => {
                bundles::alltoall(call, (within, private), parts, at_once, block)
            }
            MessageForm::Gathered => point_to_point::allgather(call, private, parts),
            MessageForm::Relayed | MessageForm::Library => Ok(()),
        }
    }
}

/// A rank's part of a way's schedule over its connections.
fn planned_over_tcp<'p>(
    policy: &'p CallPolicy,
    wires: &MeshState,
    follow: &'p FollowedEpoch,
    way: Way,
) -> &'p [RankPart] {
    let parts = policy.parts(way);
    match follow.parts_by_ways(way) {
        Some(by_ways) if wires.takes_ways(follow) => by_ways,
        // Where the hash decides after all, queues may not hold as much as on ways of their own.
        Some(_) => match policy.parts(way.with_usual_sync()) {
            [] => parts,
            with_tokens => with_tokens,
        },
        None => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers_at_rest_keep_no_room() {
        let mut carriers = SetCarriers::default();
        carriers.room.reserve(1 << 20).expect("memory");
        carriers.room.done();
        carriers.release();
        assert_eq!(format!("{:?}", carriers.room), "KeptRoom(None)");
    }
}
