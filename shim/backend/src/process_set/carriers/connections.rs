//! A process set's own connections: between all ranks, and between the leaders of hosts.
use super::SetCarriers;
use crate::call::CollectiveCall;
use crate::call_comm::CallComm;
use crate::mesh_members::MeshMembers;
use crate::mpi_result::MpiResult;
use crate::private_comm::PrivateCommState;
use crate::relayed::RelayRing;
use crate::{gathered_by_leaders, relayed, relayed_by_leaders};
use policy::decision_table::{Collective, CollectiveTraffic};
use policy::ways::{MessageForm, Way};
use runtime::host_leaders::HostLeaders;
use runtime::plan::FollowedEpoch;
use runtime::watchdog;

/// A call over TCP needs a packed copy, if its type has gaps.
const MOST_OVER_TCP: u64 = 1 << 30;
/// A block of an allgather by leaders may be so many times as long as the mean, and any may be so long.
const LONGER: u64 = 4;
const SHORT: u64 = 4096;

/// The leaders of hosts, if they alone carry the calls of this collective over the network whose messages
/// have this form.
fn leaders_of(
    collective: Collective,
    form: MessageForm,
    follow: &FollowedEpoch,
) -> Option<&HostLeaders> {
    let is_led = form == MessageForm::Relayed && collective != Collective::ReduceScatterBlock;
    follow.leaders().filter(|_| is_led)
}

/// True if leaders can gather the blocks of all ranks: these have room together, and no block is far longer
/// than the mean, as on a host each is sent like the longest one there. The same on all ranks.
fn can_be_gathered(call: &CollectiveCall, ranks: u32) -> MpiResult<bool> {
    let blocks = call.received()?;
    let octets = (0..ranks).map(|rank| blocks.octets(rank) as u64);
    let (all, longest) = octets.fold((0u64, 0), |(all, longest), octets| {
        (all.saturating_add(octets), octets.max(longest))
    });
    let mean = all / u64::from(ranks.max(1));
    Ok(all <= MOST_OVER_TCP && longest <= LONGER * mean + SHORT)
}

impl SetCarriers {
    /// True if blocks of this size can go over TCP; connections are made now if nobody tried
    /// before. Collective.
    pub(crate) fn connects(
        &mut self,
        within: &CallComm,
        follow: &FollowedEpoch,
        collective: Collective,
        way: Way,
        block: u64,
    ) -> MpiResult<bool> {
        watchdog::begin_wait(|| format!("rank {}: the connections of all ranks", within.rank));
        if block > MOST_OVER_TCP {
            return Ok(false);
        }
        let Some(leaders) = leaders_of(collective, way.form(), follow) else {
            let is_gathered = collective.traffic() == CollectiveTraffic::Gather;
            if way.form() == MessageForm::Relayed && is_gathered {
                return Ok(false);
            }
            return self.wires.ensure_connected(
                within,
                follow,
                MeshMembers::All,
                &mut self.messages,
            );
        };
        let members = MeshMembers::These(leaders.ranks());
        let host = leaders.number(within.rank as u32) as i32;
        Ok(self
            .leader_wires
            .ensure_connected(within, follow, members, &mut self.messages)?
            && self.on_host.up_in_parts(within, host)?)
    }

    /// Sends at the rates of this epoch's links.
    pub(crate) fn pace(&mut self, rank: u32, follow: &FollowedEpoch) {
        self.wires.forget_ways(follow);
        self.wires.pace(rank, follow, MeshMembers::All);
        if let Some(leaders) = follow.leaders() {
            let members = MeshMembers::These(leaders.ranks());
            self.leader_wires.pace(rank, follow, members);
        }
    }

    /// Ends all connections: whoever waits for something from this rank hears of it.
    pub(super) fn close(&mut self) {
        for wires in [&self.wires, &self.leader_wires] {
            if let Some(mesh) = wires.mesh() {
                mesh.lock().close();
            }
        }
    }

    /// Along the ring of all ranks, or of one rank a host. False if there is none.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(super) unsafe fn relay(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        ring: &[u32],
        follow: &FollowedEpoch,
    ) -> MpiResult<bool> {
        let (me, room) = (within.rank as u32, &mut self.room);
        let is_gathered = call.collective.traffic() == CollectiveTraffic::Gather;
        if is_gathered && !can_be_gathered(call, within.size as u32)? {
            return Ok(false);
        }
        // SAFETY: passed on to the caller.
        unsafe {
            match (
                leaders_of(call.collective, MessageForm::Relayed, follow),
                &self.on_host,
            ) {
                (Some(leaders), PrivateCommState::Over(on_host)) => {
                    let mesh = self.leader_wires.mesh();
                    let ring = mesh.map(|mesh| RelayRing {
                        mesh,
                        ring: leaders.ring(),
                        me: leaders.number(me),
                        room,
                    });
                    if is_gathered {
                        gathered_by_leaders::carry_out(call, within, leaders, on_host, ring)?;
                    } else {
                        relayed_by_leaders::carry_out(call, within, leaders, on_host, ring)?;
                    }
                }
                (None, _) if let Some(mesh) = self.wires.mesh() => {
                    let mut ring = RelayRing {
                        mesh,
                        ring,
                        me,
                        room,
                    };
                    relayed::carry_out(call, within, &mut ring)?;
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}
