//! MPI_Allgather and MPI_Allgatherv along a ring, over point-to-point messages: each rank sends its own block to the next rank,
//! then each block it got from the one before, as soon as it is there. A block of nothing is not sent.
use crate::call::Call;
use crate::requests::Requests;
use crate::result::Result;
use crate::twin::Twin;
use runtime::watch;
use std::ffi::c_int;

/// Receives posted ahead.
const AHEAD: usize = 16;
/// Blocks under way to the next rank at once: the second is ready to go when the first has gone.
const SENDS: usize = 2;
const DATA: c_int = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    /// Block `k` has come.
    Received(usize),
    /// A block is on its way.
    Sent,
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn allgather(call: &Call, twin: &Twin, ring: &[u32]) -> Result<()> {
    let blocks = call.received()?;
    let me = twin.rank as u32;
    // If its own block does not fit, others still wait for what this rank passes on.
    // SAFETY: passed on to the caller.
    let copied = if call.in_place() { Ok(()) } else { unsafe { call.sent()?.of_rank(0).copy(blocks.of_rank(me)) } };
    let n = ring.len();
    let place = ring.iter().position(|&rank| rank == me).unwrap_or(0);
    let (next, previous) = (ring[(place + 1) % n] as c_int, ring[(place + n - 1) % n] as c_int);
    // Block `k` on its way past this rank: its own, then the one before it, and so on around.
    let block = |k: usize| blocks.of_rank(ring[(place + n - k) % n]);

    let mut requests = Requests::new();
    let mut done = Vec::new();
    // Blocks 0..here are in the buffer, 1..posted asked for, 0..sent given to MPI, `sending` of them still under way.
    // Blocks come in order, but MPI may tell of it out of order. Those of nothing are there.
    let mut come: Vec<bool> = (0..n).map(|k| block(k).count == 0).collect();
    let (mut here, mut posted, mut sent, mut sending) = (1, 1, 0, 0);
    loop {
        while come.get(here) == Some(&true) {
            here += 1;
        }
        while posted < n && posted < here + AHEAD {
            if !come[posted] {
                // SAFETY: the application leaves the buffer alone during the call, and the call waits for every request.
                requests.add(unsafe { twin.receive(block(posted), previous, DATA) }?, Done::Received(posted));
            }
            posted += 1;
        }
        while sent < n - 1 && sent < here && sending < SENDS {
            let block = block(sent);
            if block.count > 0 {
                // SAFETY: this block has come and is not received again; the call waits for every request.
                requests.add(unsafe { twin.send(block, next, DATA) }?, Done::Sent);
                sending += 1;
            }
            sent += 1;
        }
        if requests.is_empty() {
            return requests.outcome().and(copied);
        }
        watch::waits(|| {
            let of = |k: usize| ring[(place + n - k) % n];
            let what = if here < n {
                format!("the block of rank {} from rank {previous}", of(here))
            } else {
                format!("its block to rank {next} to go")
            };
            format!("rank {me} in {}: {what} (block {here} of {n})", call.collective)
        });
        requests.wait_some(&mut done)?;
        for event in &done {
            match event {
                Done::Received(k) => come[*k] = true,
                Done::Sent => sending -= 1,
            }
        }
    }
}
