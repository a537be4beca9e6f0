//! Messages of the MPI library for what lost connections cannot carry.
use crate::abi::{MPI_Comm, MPI_Request, MPI_Status};
use crate::mesh_members::MeshMembers;
use crate::mpi::{SUCCESS, mpi};
use crate::mpi_result::{MpiResult, check};
use crate::private_comm::PrivateComm;
use runtime::tcp::messages::{LONGEST, MeshMessages};
use std::ffi::c_int;
use std::io;

unsafe extern "C" {
    safe static HEDDLE_ANY_SOURCE: c_int;
}

/// No other message between the same ranks has this tag.
const TAG: c_int = 0;
/// Messages under way at once.
const MOST: usize = 8;

#[derive(Debug)]
pub(crate) struct LostMessages {
    /// It outlives the connections.
    comm: MPI_Comm,
    /// The ranks that connections are between, by their numbers; `None`: all.
    ranks: Option<Vec<u32>>,
    posted: Vec<(MPI_Request, Vec<u8>)>,
}

// SAFETY: handles are process-wide; MPI_THREAD_MULTIPLE lets any thread use them.
unsafe impl Send for LostMessages {}

impl LostMessages {
    pub(crate) fn new(private: &PrivateComm, members: MeshMembers) -> LostMessages {
        let ranks = match members {
            MeshMembers::All => None,
            MeshMembers::These(ranks) => Some(ranks.to_vec()),
        };
        LostMessages {
            comm: private.handle(),
            ranks,
            posted: Vec::new(),
        }
    }

    /// Forgets messages that have gone. Whoever waits for one that cannot go tells of it.
    fn look(&mut self) {
        self.posted.retain_mut(|(request, _)| {
            let mut done = 0;
            // SAFETY: a request of this, and places for the answers.
            let code = unsafe { (mpi().call.Test)(request, &mut done, mpi().status_ignore) };
            code == SUCCESS && done == 0
        });
    }

    fn send(&mut self, rank: u32, message: &[u8]) -> MpiResult<()> {
        let to = match &self.ranks {
            Some(ranks) => ranks.get(rank as usize).copied().unwrap_or(u32::MAX),
            None => rank,
        };
        let (message, mpi) = (message.to_vec(), mpi());
        let mut request = mpi.handle.request_null;
        // SAFETY: the octets stay where they are until the request is complete.
        check(unsafe {
            (mpi.call.Isend)(
                message.as_ptr().cast(),
                message.len() as c_int,
                mpi.handle.byte,
                to as c_int,
                TAG,
                self.comm,
                &mut request,
            )
        })?;
        self.posted.push((request, message));
        Ok(())
    }

    fn receive(&mut self) -> MpiResult<Option<Vec<u8>>> {
        let (mpi, mut is_there) = (mpi(), 0);
        let ignore: *mut MPI_Status = mpi.status_ignore;
        // SAFETY: places for the answers.
        check(unsafe {
            (mpi.call.Iprobe)(HEDDLE_ANY_SOURCE, TAG, self.comm, &mut is_there, ignore)
        })?;
        if is_there == 0 {
            return Ok(None);
        }
        let (mut message, mut request) = (vec![0; LONGEST], mpi.handle.request_null);
        // SAFETY: there is room for the longest message, and it is waited for.
        check(unsafe {
            // It may be of another rank than the one that was seen: each says whose it is.
            (mpi.call.Irecv)(
                message.as_mut_ptr().cast(),
                message.len() as c_int,
                mpi.handle.byte,
                HEDDLE_ANY_SOURCE,
                TAG,
                self.comm,
                &mut request,
            )
        })?;
        // SAFETY: as above.
        check(unsafe { (mpi.call.Wait)(&mut request, ignore) })?;
        Ok(Some(message))
    }
}

impl MeshMessages for LostMessages {
    fn post(&mut self, rank: u32, message: &[u8]) -> io::Result<bool> {
        self.look();
        if self.posted.len() == MOST {
            return Ok(false);
        }
        let sent = self.send(rank, message);
        sent.map_err(|_| io::Error::other("the MPI library refuses a message"))?;
        Ok(true)
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        self.receive().ok().flatten()
    }
}

impl Drop for LostMessages {
    fn drop(&mut self) {
        self.look();
        // The library may still read them.
        for (_, message) in self.posted.drain(..) {
            let _ = message.leak();
        }
    }
}
