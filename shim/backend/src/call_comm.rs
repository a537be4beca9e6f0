//! The application's communicator during a call on it: its ranks agree on things by collectives of
//! heddle's own, which the library keeps apart from the application's messages. All ranks make the
//! same calls on it in the same order, so none is mistaken for another.
use crate::abi::{MPI_Comm, MPI_Datatype};
use crate::error_handlers::quietly;
use crate::mpi::{SUCCESS, mpi};
use crate::mpi_result::{MpiResult, check};
use runtime::watchdog;
use std::ffi::c_int;

/// The greatest number of [`CallComm::least_numbers`]: MPICH 4.0 compares MPI_UINT64_T as if it had a sign.
pub(crate) const MOST_NUMBER: u64 = i64::MAX as u64;

/// A communicator of the application, this rank in it, and its size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallComm {
    pub(crate) comm: MPI_Comm,
    pub(crate) rank: c_int,
    pub(crate) size: c_int,
}

impl CallComm {
    /// Rank 0's bytes become everybody's. Collective; all ranks pass the same length.
    pub(crate) fn broadcast(&self, bytes: &mut [u8]) -> MpiResult<()> {
        let mpi = mpi();
        for piece in bytes.chunks_mut(1 << 30) {
            let (at, length) = (piece.as_mut_ptr().cast(), piece.len() as c_int);
            quietly(self.comm, || {
                // SAFETY: the buffer holds as many bytes as are stated.
                check(unsafe { (mpi.call.Bcast)(at, length, mpi.handle.byte, 0, self.comm) })
            })?;
        }
        Ok(())
    }

    /// Waits for all ranks. Collective.
    pub(crate) fn barrier(&self) -> MpiResult<()> {
        quietly(self.comm, || {
            // SAFETY: a communicator of the application.
            check(unsafe { (mpi().call.Barrier)(self.comm) })
        })
    }

    /// Carries out one part after the other, all ranks meeting between; of a part that fails the
    /// other ranks hear later or never, so this one goes on meeting them. Collective.
    pub(crate) fn part_by_part<P>(
        &self,
        parts: &[P],
        mut carry_out: impl FnMut(&P) -> MpiResult<()>,
    ) -> MpiResult<()> {
        let mut outcome = Ok(());
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                watchdog::begin_wait(|| {
                    format!("rank {}: all others at a barrier between phases", self.rank)
                });
                self.barrier()?;
            }
            outcome = outcome.and(carry_out(part));
        }
        outcome
    }

    /// Everybody's bytes, in rank order. Collective; all ranks pass the same length.
    pub(crate) fn gather_all(&self, own: &[u8]) -> MpiResult<Vec<u8>> {
        let mpi = mpi();
        let mut all = vec![0; own.len() * self.size as usize];
        let (from, to, count, byte): (_, _, _, MPI_Datatype) = (
            own.as_ptr().cast(),
            all.as_mut_ptr().cast(),
            own.len() as c_int,
            mpi.handle.byte,
        );
        quietly(self.comm, || {
            // SAFETY: the buffers hold as many bytes as are stated.
            check(unsafe { (mpi.call.Allgather)(from, count, byte, to, count, byte, self.comm) })
        })?;
        Ok(all)
    }

    /// Everybody's numbers, in rank order. Collective; all ranks pass as many.
    pub(crate) fn gather_numbers(&self, own: impl IntoIterator<Item = u64>) -> MpiResult<Vec<u64>> {
        let own: Vec<u8> = own.into_iter().flat_map(u64::to_le_bytes).collect();
        let all = self.gather_all(&own)?;
        Ok(all
            .as_chunks()
            .0
            .iter()
            .map(|octets| u64::from_le_bytes(*octets))
            .collect())
    }

    /// The least of each of these numbers on any rank, none above [`MOST_NUMBER`]. Collective; all ranks pass
    /// as many.
    pub(crate) fn least_numbers(&self, own: &[u64]) -> MpiResult<Vec<u64>> {
        let mpi = mpi();
        debug_assert!(own.iter().all(|number| *number <= MOST_NUMBER));
        let mut least = vec![MOST_NUMBER; own.len()];
        let (from, to) = (own.as_ptr().cast(), least.as_mut_ptr().cast());
        let (count, number, min) = (own.len() as c_int, mpi.handle.uint64, mpi.handle.op_min);
        quietly(self.comm, || {
            // SAFETY: the buffers hold as many numbers as are stated.
            check(unsafe { (mpi.call.Allreduce)(from, to, count, number, min, self.comm) })
        })?;
        Ok(least)
    }

    /// True if this holds on every rank. Collective.
    pub(crate) fn holds_on_all_ranks(&self, here: bool) -> MpiResult<bool> {
        Ok(self
            .gather_all(&[u8::from(here)])?
            .iter()
            .all(|&there| there == 1))
    }

    /// Lets the library move on with what else is under way: the application may have messages
    /// pending on which another rank waits before it comes to this call.
    pub(crate) fn progress(&self) -> bool {
        let (mut flag, own) = (0, mpi().handle.comm_self);
        // SAFETY: places for the results. It only looks; whether there is such a message does not
        // matter.
        unsafe { (mpi().call.Iprobe)(0, 0, own, &mut flag, mpi().status_ignore) == SUCCESS }
    }
}
