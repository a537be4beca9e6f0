//! Carrying a call out, once its way is known.
use super::ProcessSet;
use crate::call::{CallAmount, CollectiveCall};
use crate::call_comm::CallComm;
use crate::mesh_state::MeshState;
use crate::mpi::SUCCESS;
use crate::mpi_result::MpiResult;
use crate::private_comm::PrivateCommState;
use crate::{mesh_state, point_to_point};
use policy::call_policy::CallPolicy;
use policy::ways::{DataCarrier, MessageForm, Way};
use runtime::plan::FollowedEpoch;
use schedules::transfers::part::RankPart;

impl ProcessSet {
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(super) unsafe fn carry_out(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        way: Way,
        amount: CallAmount,
    ) -> MpiResult<i32> {
        if way == Way::Native {
            // SAFETY: passed on to the caller.
            return Ok(unsafe { call.native() });
        }
        let mut staging = std::mem::take(&mut self.staging);
        let mut began = false;
        // SAFETY: passed on to the caller.
        let carried = unsafe {
            staging.around(call, within, |call| {
                began = true;
                self.carry(call, within, way, amount)
            })
        };
        self.staging = staging;
        if !began {
            // The others wait for blocks that are not going to come.
            self.close_connections();
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
        way: Way,
        amount: CallAmount,
    ) -> MpiResult<bool> {
        if way.form() == MessageForm::Relayed {
            // SAFETY: passed on to the caller.
            return unsafe { self.relay(call, within) };
        }
        let Some(follow) = self.followed.as_deref() else {
            return Ok(false);
        };
        let parts = self.policy.parts(way);
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
            let own = || unsafe { call.sent_lengths(self.hosts.len()) };
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
                        || planned_over_tcp(&self.policy, &self.wires, follow, way),
                        std::slice::from_ref,
                    );
                    mesh_state::alltoall(call, within, mesh, parts)?
                }
                (_, None, PrivateCommState::Over(shadow)) => {
                    let block = amount.block as usize;
                    shadow.quietly(|| {
                        point_to_point::carry_out(call, within, (way, parts), shadow, block)
                    })?
                }
                (_, None, _) => return Ok(false),
            }
        }
        Ok(true)
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
