//! The members of a communicator meet, and find out what all of them know.
//!
//! All have published the same heddle, or the user says so; so each comes. But one may be late for minutes, and
//! the library can serve the others meanwhile. So the ranks meet in a non-blocking barrier, and wait for it as
//! long as patience lasts. Then each says whether it saw all others, and what it knows already: a rank
//! that comes late finds the votes of those that gave up, and stands aside as they did. The vote is a
//! reduction, because an allgather may connect each rank with each other one, which the application
//! perhaps never does. Where it does so later, Open MPI's connections that begin with small messages
//! lose more in its first large calls than others.
//!
//! Where some rank never comes, since `HEDDLE_PRESENT=all` was not true, barrier and vote stay under way
//! for good; its own non-blocking collectives on this communicator no longer match those of the others.
use crate::abi::MPI_Request;
use crate::call_comm::{CallComm, MOST_NUMBER};
use crate::error_handlers::quietly;
use crate::mpi::mpi;
use crate::mpi_result::{MpiResult, check};
use crate::presences;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// Between two tests a rank that waits leaves the processor to others: first so long, and the longer the
/// longer it has waited.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_micros(200);

/// The facts a rank brings to a meeting, or those that all ranks have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemberFacts {
    /// The number of its process set of these very members; 0 for none.
    pub(crate) set: u64,
    /// The digest of the epoch that it follows already; 0 for none.
    pub(crate) epoch: u64,
    /// True if the library's messages among all members are known to cross the tree of that epoch.
    pub(crate) has_crossed: bool,
    /// True if it knows the hosts of all members.
    pub(crate) hosts: bool,
    /// The octets that say where it runs; the most of any rank.
    pub(crate) host_octets: u64,
    /// A number that no process set has had: that of rank 0 goes to a new one.
    pub(crate) unused: u64,
    /// True if enough time has passed since the first call for a look to be worth it.
    pub(crate) is_worth_a_look: bool,
}

/// Numbers of a vote, of each of which the least counts. All versions have as many, and begin with the digest of
/// what must be alike: so ranks of two versions, which nobody else keeps apart under `HEDDLE_PRESENT=all`, do no
/// more than vote.
const VOTE: usize = 16;

/// The outcome of a comparison, the same on every rank that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberComparison {
    /// The facts that all have in common.
    Facts(MemberFacts),
    /// Some did not come.
    Late,
    /// They have different versions or settings.
    Different,
}

impl MemberFacts {
    fn vote(self, digest: u64, came: bool, rank: c_int) -> [u64; VOTE] {
        let mut vote = [0; VOTE];
        let numbers = [
            digest,
            !digest,
            u64::from(came),
            u64::from(self.hosts),
            u64::from(self.is_worth_a_look),
            self.set,
            // The greatest of all sets, whether a library compares with a sign or without.
            !self.set,
            self.epoch,
            MOST_NUMBER - self.epoch,
            u64::from(self.has_crossed),
            if rank == 0 { self.unused } else { MOST_NUMBER },
            MOST_NUMBER - self.host_octets,
        ];
        vote[..numbers.len()].copy_from_slice(&numbers);
        vote
    }

    /// The facts that the votes have in common, by the least of their numbers.
    fn common(least: [u64; VOTE]) -> MemberComparison {
        let [
            digest,
            beyond_digest,
            came,
            hosts,
            is_worth_a_look,
            set,
            beyond,
            epoch,
            beyond_epoch,
            has_crossed,
            unused,
            host_octets,
            ..,
        ] = least;
        if digest != !beyond_digest {
            return MemberComparison::Different;
        }
        if came != 1 {
            return MemberComparison::Late;
        }
        MemberComparison::Facts(MemberFacts {
            set: if set == !beyond { set } else { 0 },
            epoch: if epoch == MOST_NUMBER - beyond_epoch {
                epoch
            } else {
                0
            },
            has_crossed: has_crossed == 1,
            hosts: hosts == 1,
            host_octets: MOST_NUMBER - host_octets,
            unused,
            is_worth_a_look: is_worth_a_look == 1,
        })
    }
}

/// Compares the members if all come within `patience`. Collective among those that come.
pub(crate) fn compare_members(
    within: &CallComm,
    patience: Duration,
    known: MemberFacts,
) -> MpiResult<MemberComparison> {
    let (mpi, comm) = (mpi(), within.comm);
    let mut barrier = mpi.handle.request_null;
    quietly(comm, || {
        // SAFETY: a communicator of the application and a place for the request.
        check(unsafe { (mpi.call.Ibarrier)(comm, &mut barrier) })
    })?;
    let came = completes(within, &mut barrier, patience)?;
    let vote = known.vote(presences::own_digest(), came, within.rank);
    let (own, mut least) = (Box::new(vote), Box::new([0; VOTE]));
    let (from, to) = (own.as_ptr().cast(), least.as_mut_ptr().cast());
    let (count, number, min) = (VOTE as c_int, mpi.handle.uint64, mpi.handle.op_min);
    let mut vote = mpi.handle.request_null;
    quietly(comm, || {
        // SAFETY: the buffers hold as many numbers as are stated, and are kept until the request is
        // complete, or for good.
        check(unsafe { (mpi.call.Iallreduce)(from, to, count, number, min, comm, &mut vote) })
    })?;
    if !came {
        std::mem::forget((own, least));
        return Ok(MemberComparison::Late);
    }
    // All have come, so each votes, at the latest when its own patience ends.
    quietly(comm, || {
        // SAFETY: a request of this module.
        check(unsafe { (mpi.call.Wait)(&mut vote, mpi.status_ignore) })
    })?;
    Ok(MemberFacts::common(*least))
}

/// True if it is complete within that time.
fn completes(within: &CallComm, request: &mut MPI_Request, patience: Duration) -> MpiResult<bool> {
    let mpi = mpi();
    let (began, mut pause, mut done) = (Instant::now(), FIRST_PAUSE, 0);
    loop {
        quietly(within.comm, || {
            // SAFETY: a request of this module and a place for the answer.
            check(unsafe { (mpi.call.Test)(request, &mut done, mpi.status_ignore) })
        })?;
        if done != 0 || began.elapsed() >= patience {
            return Ok(done != 0);
        }
        std::thread::sleep(pause);
        pause = (began.elapsed() / 8).clamp(FIRST_PAUSE, LONGEST_PAUSE);
    }
}

/// One rank says that they differ.
pub(crate) fn they_differ(within: &CallComm) {
    if within.rank == 0 {
        runtime::stderr::write_line_once(&format!(
            "communicator of {} ranks: heddle has other versions or settings on some of them, though \
             HEDDLE_PRESENT=all is set (this one has {}); the MPI library's own routines run on it: install the same \
             package on all hosts, and set HEDDLE_AFTER, HEDDLE_FORCE and HEDDLE_TURNS alike",
            within.size,
            presence::BUILD
        ));
    }
}

/// Two ranks say it, in case rank 0 is the late one.
pub(crate) fn not_everybody(within: &CallComm, patience: std::time::Duration) {
    if within.rank < 2 {
        runtime::stderr::write_line_once(&format!(
            "communicator of {} ranks: not all came to a collective within {} s \
             (HEDDLE_PATIENCE): one is late, or HEDDLE_PRESENT=all is set though they differ; the \
             MPI library's own routines run on it",
            within.size,
            patience.as_secs_f64()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_ranks_know_is_what_none_denies() {
        agree_by(|a, b| a.min(b));
        // As MPICH 4.0 compares.
        agree_by(|a, b| (a as i64).min(b as i64) as u64);
    }

    fn agree_by(less: fn(u64, u64) -> u64) {
        let common = |votes: &[(u64, bool, bool)]| {
            let least =
                |a: [u64; VOTE], b: [u64; VOTE]| std::array::from_fn(|at| less(a[at], b[at]));
            (0..)
                .zip(votes)
                .map(|(at, &(set, hosts, came))| {
                    let known = MemberFacts {
                        set,
                        epoch: 50 + set,
                        has_crossed: hosts,
                        hosts,
                        host_octets: 30 + set,
                        unused: 40 - at as u64,
                        is_worth_a_look: at == 0,
                    };
                    known.vote(5, came, at)
                })
                .reduce(least)
                .map(MemberFacts::common)
        };
        let facts = |set, hosts, host_octets| {
            Some(MemberComparison::Facts(MemberFacts {
                set,
                epoch: if set == 0 { 0 } else { 50 + set },
                has_crossed: hosts,
                hosts,
                host_octets,
                unused: 40,
                is_worth_a_look: false,
            }))
        };
        assert_eq!(
            common(&[(7, true, true), (7, true, true)]),
            facts(7, true, 37)
        );
        assert_eq!(
            common(&[(7, true, true), (8, false, true)]),
            facts(0, false, 38)
        );
        assert_eq!(
            common(&[(8, true, true), (7, true, true)]),
            facts(0, true, 38)
        );
        assert_eq!(
            common(&[(0, true, true), (7, true, true)]),
            facts(0, true, 37)
        );
        let late = common(&[(7, true, true), (7, true, false)]);
        assert_eq!(late, Some(MemberComparison::Late));
    }

    #[test]
    fn ranks_of_two_versions_know_that_they_are() {
        let facts = MemberFacts {
            set: 0,
            epoch: 0,
            has_crossed: false,
            hosts: false,
            host_octets: 0,
            unused: 1,
            is_worth_a_look: true,
        };
        for (a, b) in [(5, 6), (5, u64::MAX), (0, 1 << 63)] {
            let votes = [a, b].map(|digest| facts.vote(digest, true, 0));
            let unsigned = std::array::from_fn(|at| votes[0][at].min(votes[1][at]));
            let signed = |at: usize| votes.map(|vote| vote[at] as i64).into_iter().min();
            let signed = std::array::from_fn(|at| signed(at).unwrap_or_default() as u64);
            for least in [unsigned, signed] {
                let compared = MemberFacts::common(least);
                assert_eq!(compared, MemberComparison::Different, "{a} and {b}");
            }
        }
    }
}
