//! Whether every member of a communicator has the runtime: it may be loaded, or switched off, on
//! some ranks only.
//!
//! A rank without it never answers, and one that is late answers late: nothing tells the two apart
//! but time. So the ranks meet in a non-blocking barrier, which a rank without the runtime does not
//! notice, and wait for it as long as patience lasts. Then each says whether it saw all others, and
//! what it knows already: a rank that comes late finds the votes of those that gave up, and stands
//! aside as they did.
//!
//! Where some rank never comes, barrier and vote stay under way for good; its own non-blocking
//! collectives on this communicator no longer match those of the others.
use crate::abi::MPI_Request;
use crate::call_comm::CallComm;
use crate::error_handlers::quietly;
use crate::mpi::mpi;
use crate::mpi_result::{MpiResult, check};
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// Tests in a row before a rank that waits leaves the processor to others.
const EAGER: u32 = 2_000;
const PAUSE: Duration = Duration::from_micros(200);

/// The facts a rank brings to a meeting, or those that all ranks have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemberFacts {
    /// The number of its process set of these very members; 0 for none.
    pub(crate) set: u64,
    /// True if it knows the hosts of all members.
    pub(crate) hosts: bool,
    /// A number that no process set has had: that of rank 0 goes to a new one.
    pub(crate) unused: u64,
    /// True if enough time has passed since the first call for a look to be worth it.
    pub(crate) is_worth_a_look: bool,
}

/// Octets of a vote.
const VOTE: usize = 19;

impl MemberFacts {
    fn vote(self, came: bool) -> [u8; VOTE] {
        let mut vote = [0; VOTE];
        vote[..2].copy_from_slice(&[u8::from(came), u8::from(self.hosts)]);
        vote[2..10].copy_from_slice(&self.set.to_le_bytes());
        vote[10..18].copy_from_slice(&self.unused.to_le_bytes());
        vote[18] = u8::from(self.is_worth_a_look);
        vote
    }

    /// The facts that the votes have in common; `None` unless all came.
    fn common(self, votes: &[u8]) -> Option<MemberFacts> {
        let all = |fits: &dyn Fn(&[u8]) -> bool| votes.chunks_exact(VOTE).all(fits);
        let first = votes.get(10..18)?.first_chunk()?;
        all(&|vote| vote[0] == 1).then(|| MemberFacts {
            set: if all(&|vote| vote[2..10] == self.set.to_le_bytes()) {
                self.set
            } else {
                0
            },
            hosts: all(&|vote| vote[1] == 1),
            unused: u64::from_le_bytes(*first),
            is_worth_a_look: all(&|vote| vote[18] == 1),
        })
    }
}

/// The facts all share, if all came within `patience`; the same on every rank that asks.
/// Collective among those.
pub(crate) fn compare_members(
    within: &CallComm,
    patience: Duration,
    known: MemberFacts,
) -> MpiResult<Option<MemberFacts>> {
    let (mpi, comm) = (mpi(), within.comm);
    let mut barrier = mpi.handle.request_null;
    quietly(comm, || {
        // SAFETY: a communicator of the application and a place for the request.
        check(unsafe { (mpi.call.Ibarrier)(comm, &mut barrier) })
    })?;
    let came = completes(within, &mut barrier, Some(Instant::now() + patience))?;
    let (own, mut votes) = (
        known.vote(came).to_vec(),
        vec![0u8; VOTE * within.size as usize],
    );
    let (from, to, count, byte) = (
        own.as_ptr().cast(),
        votes.as_mut_ptr().cast(),
        VOTE as c_int,
        mpi.handle.byte,
    );
    let mut vote = mpi.handle.request_null;
    quietly(comm, || {
        // SAFETY: the buffers hold as many octets as are said, and are kept until the request is
        // complete, or for good.
        check(unsafe { (mpi.call.Iallgather)(from, count, byte, to, count, byte, comm, &mut vote) })
    })?;
    // All have come, so each votes, at the latest when its own patience ends.
    let told = came && completes(within, &mut vote, None)?;
    if !told {
        std::mem::forget((own, votes));
        return Ok(None);
    }
    Ok(known.common(&votes))
}

fn completes(
    within: &CallComm,
    request: &mut MPI_Request,
    deadline: Option<Instant>,
) -> MpiResult<bool> {
    let mpi = mpi();
    let (mut done, mut tests): (c_int, u32) = (0, 0);
    loop {
        quietly(within.comm, || {
            // SAFETY: a request of this module and a place for the answer.
            check(unsafe { (mpi.call.Test)(request, &mut done, mpi.status_ignore) })
        })?;
        if done != 0 {
            return Ok(true);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(false);
        }
        tests = tests.saturating_add(1);
        if tests < EAGER {
            std::thread::yield_now()
        } else {
            std::thread::sleep(PAUSE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_ranks_know_is_what_none_denies() {
        let common = |votes: &[(u64, bool, bool)]| {
            let known = |at: u64, &(set, hosts, _): &(u64, bool, bool)| MemberFacts {
                set,
                hosts,
                unused: 40 + at,
                is_worth_a_look: at == 0,
            };
            let all: Vec<u8> = (0..)
                .zip(votes)
                .flat_map(|(at, vote)| known(at, vote).vote(vote.2))
                .collect();
            known(1, &votes[1]).common(&all)
        };
        assert_eq!(
            common(&[(7, true, true), (7, true, true)]),
            Some(MemberFacts {
                set: 7,
                hosts: true,
                unused: 40,
                is_worth_a_look: false
            })
        );
        assert_eq!(
            common(&[(7, true, true), (8, false, true)]),
            Some(MemberFacts {
                set: 0,
                hosts: false,
                unused: 40,
                is_worth_a_look: false
            })
        );
        assert_eq!(common(&[(7, true, true), (7, true, false)]), None);
    }
}
