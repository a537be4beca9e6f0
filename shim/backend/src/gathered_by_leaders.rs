//! Allgathers of small blocks where hosts have several ranks: the MPI library gathers the blocks of a
//! host, one rank of each host goes around the ring with them, and the library spreads them all. So a
//! call has as many steps over the network as there are hosts, and not as ranks.
//!
//! If the ring fails, a leader tells the ranks of its host in the octet behind the blocks.
use crate::call::CollectiveCall;
use crate::call_comm::CallComm;
use crate::elements::{MpiElements, octets_of, room};
use crate::mpi_result::{MpiErrorCode, MpiResult};
use crate::pending_collective::PendingCollective;
use crate::private_comm::PrivateComm;
use crate::relayed::{self, RelayRing};
use crate::relayed_by_leaders::LEADER;
use runtime::host_leaders::HostLeaders;

/// `on_host` has the ranks of this host; `ring` is the leaders', for a leader.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn carry_out(
    call: &CollectiveCall,
    within: &CallComm,
    leaders: &HostLeaders,
    on_host: &PrivateComm,
    ring: Option<RelayRing>,
) -> MpiResult<()> {
    let blocks = call.received()?;
    let (me, order) = (within.rank as u32, leaders.by_host());
    let parts = leaders.parts(|rank| blocks.octets(rank));
    let number = leaders.number(me);
    let here: Vec<u32> = leaders.followers(number).collect();
    // The library gathers blocks of one length.
    let lengths = here.iter().map(|&rank| blocks.octets(rank));
    let longest = lengths.max().unwrap_or(0);
    let mut own = room(longest)?;
    let block = octets_of(&mut own[..blocks.octets(me)]);
    // Whatever goes wrong here, the others wait for this rank.
    // SAFETY: passed on to the caller.
    let packed = own_block(call, within).and_then(|from| unsafe { from.copy(block) });
    let gathered =
        on_host.quietly(|| PendingCollective::gather_all(on_host, here.len(), own)?.octets());
    let mut all = room(parts.last().map_or(0, |part| part.end) + 1)?;
    let between = match (ring, gathered) {
        (None, gathered) => gathered.map(drop),
        (Some(ring), Err(failed)) => {
            // The other leaders wait for what is not going to come.
            ring.mesh.lock().close();
            Err(failed)
        }
        (Some(mut ring), Ok(gathered)) => {
            let lengths = here.iter().map(|&rank| blocks.octets(rank));
            close_up(
                &gathered,
                longest,
                lengths,
                &mut all[parts[number as usize].clone()],
            );
            relayed::gather(call, within, &mut ring, &parts, &mut all)
        }
    };
    let failed = all.len() - 1;
    all[failed] = u8::from(between.is_err());
    // SAFETY: the octets outlive the call.
    let spread = on_host.quietly(|| unsafe { on_host.broadcast(octets_of(&mut all), LEADER) });
    packed.and(between).and(spread)?;
    if all[failed] != 0 {
        return Err(MpiErrorCode::other());
    }
    let mut left = &mut all[..failed];
    for &rank in &order {
        let (octets, others) = left.split_at_mut(blocks.octets(rank));
        left = others;
        // SAFETY: passed on to the caller.
        unsafe { octets_of(octets).copy(blocks.of_rank(rank)) }?;
    }
    Ok(())
}

/// Puts blocks of these lengths, each of which has so much room, one behind the other.
fn close_up(
    gathered: &[u8],
    room: usize,
    lengths: impl Iterator<Item = usize>,
    mut all: &mut [u8],
) {
    for (length, padded) in lengths.zip(gathered.chunks(room.max(1))) {
        let (place, others) = all.split_at_mut(length);
        place.copy_from_slice(&padded[..length]);
        all = others;
    }
}

/// The block of this rank.
fn own_block(call: &CollectiveCall, within: &CallComm) -> MpiResult<MpiElements> {
    Ok(if call.in_place() {
        call.received()?.of_rank(within.rank as u32)
    } else {
        call.sent()?.of_rank(0)
    })
}
