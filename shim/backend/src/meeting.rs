//! Whether every member of a communicator has the runtime: it may be loaded, or switched off, on some ranks only.
//!
//! A rank without it never answers, and one that is late answers late: nothing tells the two apart but time. So the ranks meet in
//! a non-blocking barrier, which a rank without the runtime does not notice, and wait for it as long as patience lasts. Then each says
//! whether it saw all others: a rank that comes late finds the votes of those that gave up, and stands aside as they did.
//!
//! Where some rank never comes, barrier and vote stay under way for good; its own non-blocking collectives on this communicator no
//! longer match those of the others.
use crate::mpi::mpi;
use crate::private::{Result, check};
use ::mpi::ffi::{MPI_Comm, MPI_Request};
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// Tests in a row before a rank that waits leaves the processor to others.
const EAGER: u32 = 2_000;
const PAUSE: Duration = Duration::from_micros(200);

/// Whether all members came within `patience`; the same on every rank that asks. Collective among those.
pub(crate) fn everybody_comes(comm: MPI_Comm, size: usize, patience: Duration) -> Result<bool> {
    let mpi = mpi();
    let mut barrier = mpi.handle.request_null;
    // SAFETY: a communicator of the application and a place for the request.
    check(unsafe { (mpi.call.Ibarrier)(comm, &mut barrier) })?;
    let came = completes(&mut barrier, Some(Instant::now() + patience))?;
    let (own, mut votes) = (vec![u8::from(came)], vec![0u8; size]);
    let (byte, mut vote) = (mpi.handle.byte, mpi.handle.request_null);
    // SAFETY: the buffers hold as many octets as are said, and are kept until the request is complete, or for good.
    check(unsafe { (mpi.call.Iallgather)(own.as_ptr().cast(), 1, byte, votes.as_mut_ptr().cast(), 1, byte, comm, &mut vote) })?;
    // All have come, so each votes, at the latest when its own patience ends.
    let told = came && completes(&mut vote, None)?;
    let all = told && votes.iter().all(|&came| came == 1);
    if !told {
        std::mem::forget((own, votes));
    }
    Ok(all)
}

fn completes(request: &mut MPI_Request, deadline: Option<Instant>) -> Result<bool> {
    let mpi = mpi();
    let (mut done, mut tests): (c_int, u32) = (0, 0);
    loop {
        // SAFETY: a request of this module and a place for the answer.
        check(unsafe { (mpi.call.Test)(request, &mut done, mpi.status_ignore) })?;
        if done != 0 {
            return Ok(true);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(false);
        }
        tests = tests.saturating_add(1);
        if tests < EAGER { std::thread::yield_now() } else { std::thread::sleep(PAUSE) }
    }
}
