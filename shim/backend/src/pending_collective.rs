//! A collective of heddle's own that is begun at one call of the application and ends at a later one,
//! so that no rank waits in it for another. It runs on a communicator of the runtime's own: one of the
//! application's may be freed meanwhile.
use crate::abi::MPI_Request;
use crate::mpi::mpi;
use crate::mpi_result::{MpiResult, check};
use crate::private_comm::PrivateComm;
use std::ffi::c_int;

/// Octets that are under way, or have arrived.
#[derive(Debug)]
pub(crate) struct PendingCollective {
    request: MPI_Request,
    own: Vec<u8>,
    all: Vec<u8>,
}

// SAFETY: request handles are process-wide, and the lock of a process set lets one thread at a time here.
unsafe impl Send for PendingCollective {}

impl PendingCollective {
    /// The octets of rank 0 go to all. Collective; all ranks pass the same length.
    pub(crate) fn broadcast(within: &PrivateComm, octets: Vec<u8>) -> MpiResult<PendingCollective> {
        let mut pending = PendingCollective::new(Vec::new(), octets);
        let (at, length) = (pending.all.as_mut_ptr().cast(), pending.all.len() as c_int);
        // SAFETY: the buffer holds as many octets as are stated, and stays where it is until the request
        // is complete, or for good.
        check(unsafe { within.begin_broadcast(at, length, &mut pending.request) })?;
        Ok(pending)
    }

    /// The octets of each rank go to all, in rank order. Collective; all ranks pass the same length.
    pub(crate) fn gather_all(
        within: &PrivateComm,
        ranks: usize,
        own: Vec<u8>,
    ) -> MpiResult<PendingCollective> {
        let all = vec![0; own.len() * ranks];
        let mut pending = PendingCollective::new(own, all);
        if pending.all.is_empty() {
            // The address of an empty `Vec` is Open MPI's MPI_IN_PLACE.
            return Ok(pending);
        }
        let (from, to) = (pending.own.as_ptr().cast(), pending.all.as_mut_ptr().cast());
        let length = pending.own.len() as c_int;
        // SAFETY: as above.
        check(unsafe { within.begin_gather_all(from, length, to, &mut pending.request) })?;
        Ok(pending)
    }

    fn new(own: Vec<u8>, all: Vec<u8>) -> PendingCollective {
        PendingCollective {
            request: mpi().handle.request_null,
            own,
            all,
        }
    }

    /// Waits for the octets, which stay here.
    pub(crate) fn wait(&mut self) -> MpiResult<()> {
        if self.request == mpi().handle.request_null {
            return Ok(());
        }
        // SAFETY: a request of this collective.
        check(unsafe { (mpi().call.Wait)(&mut self.request, mpi().status_ignore) })
    }

    /// Waits for the octets.
    pub(crate) fn octets(mut self) -> MpiResult<Vec<u8>> {
        self.wait()?;
        Ok(std::mem::take(&mut self.all))
    }
}

impl Drop for PendingCollective {
    fn drop(&mut self) {
        if self.request != mpi().handle.request_null {
            // The library may write there still.
            std::mem::forget((std::mem::take(&mut self.own), std::mem::take(&mut self.all)));
        }
    }
}
