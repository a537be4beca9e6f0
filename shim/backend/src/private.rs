//! A communicator of the runtime's own, with the members of the application's: its messages can never meet
//! the application's, and its errors come back as codes.
use crate::mpi::{SUCCESS, mpi};
use ::mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status};
use runtime::watch;
use std::ffi::{c_int, c_void};

/// A code of the MPI library other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) c_int);

pub(crate) type Result<T> = std::result::Result<T, Failed>;

pub(crate) fn check(code: c_int) -> Result<()> {
    if code == SUCCESS { Ok(()) } else { Err(Failed(code)) }
}

/// The private communicator, the rank in it and its size.
#[derive(Debug)]
pub(crate) struct Private {
    comm: MPI_Comm,
    pub(crate) rank: c_int,
    pub(crate) size: c_int,
}

// SAFETY: communicator handles are process-wide; MPI_THREAD_MULTIPLE lets any thread use them.
unsafe impl Send for Private {}

impl Private {
    /// Splits, not duplicates: duplicating would run the application's attribute callbacks. Collective.
    pub(crate) fn of(comm: MPI_Comm) -> Result<Private> {
        let mpi = mpi();
        let mut private = Private { comm: mpi.handle.comm_null, rank: 0, size: 0 };
        // SAFETY: a valid intracommunicator and places for the results.
        unsafe {
            check((mpi.call.Comm_rank)(comm, &mut private.rank))?;
            check((mpi.call.Comm_size)(comm, &mut private.size))?;
            check((mpi.call.Comm_split)(comm, 0, private.rank, &mut private.comm))?;
            check((mpi.call.Comm_set_errhandler)(private.comm, mpi.handle.errors_return))?;
        }
        Ok(private)
    }

    pub(crate) fn handle(&self) -> MPI_Comm {
        self.comm
    }

    /// Gives the communicator back, once. Collective.
    pub(crate) fn free(&mut self) -> c_int {
        if self.comm == mpi().handle.comm_null {
            return SUCCESS;
        }
        // SAFETY: a communicator this made and nobody else knows; MPI sets the handle to null.
        unsafe { (mpi().call.Comm_free)(&mut self.comm) }
    }

    /// Rank 0's bytes become everybody's. Collective; all ranks pass the same length.
    pub(crate) fn broadcast(&self, bytes: &mut [u8]) -> Result<()> {
        let mpi = mpi();
        for piece in bytes.chunks_mut(1 << 30) {
            // SAFETY: the buffer holds as many bytes as are said.
            check(unsafe { (mpi.call.Bcast)(piece.as_mut_ptr().cast(), piece.len() as c_int, mpi.handle.byte, 0, self.comm) })?;
        }
        Ok(())
    }

    /// Waits for all ranks. Collective.
    pub(crate) fn barrier(&self) -> Result<()> {
        // SAFETY: a communicator of the runtime's own.
        check(unsafe { (mpi().call.Barrier)(self.comm) })
    }

    /// Carries out one part after the other, all ranks meeting between; of a part that fails the other ranks hear later or never, so
    /// this one goes on meeting them. Collective.
    pub(crate) fn part_by_part<P>(&self, parts: &[P], mut carry_out: impl FnMut(&P) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                watch::waits(|| format!("rank {}: all others at a barrier between phases", self.rank));
                self.barrier()?;
            }
            outcome = outcome.and(carry_out(part));
        }
        outcome
    }

    /// Everybody's bytes, in rank order. Collective; all ranks pass the same length.
    pub(crate) fn gather_all(&self, own: &[u8]) -> Result<Vec<u8>> {
        let mpi = mpi();
        let mut all = vec![0; own.len() * self.size as usize];
        let (count, byte) = (own.len() as c_int, mpi.handle.byte);
        // SAFETY: the buffers hold as many bytes as are said.
        check(unsafe { (mpi.call.Allgather)(own.as_ptr().cast(), count, byte, all.as_mut_ptr().cast(), count, byte, self.comm) })?;
        Ok(all)
    }

    /// # Safety
    /// The buffer must stay as it is until the request is complete.
    pub(crate) unsafe fn send(&self, data: Data, to: c_int, tag: c_int) -> Result<MPI_Request> {
        let mpi = mpi();
        let mut request = mpi.handle.request_null;
        // SAFETY: passed on to the caller.
        check(unsafe { (mpi.call.Isend)(data.at, data.count, data.datatype, to, tag, self.comm, &mut request) })?;
        Ok(request)
    }

    /// # Safety
    /// The buffer must be left alone until the request is complete.
    pub(crate) unsafe fn receive(&self, data: Data, from: c_int, tag: c_int) -> Result<MPI_Request> {
        let mpi = mpi();
        let mut request = mpi.handle.request_null;
        // SAFETY: passed on to the caller.
        check(unsafe { (mpi.call.Irecv)(data.at, data.count, data.datatype, from, tag, self.comm, &mut request) })?;
        Ok(request)
    }

    /// Copies a rank's block for itself, whatever the two datatypes are.
    ///
    /// # Safety
    /// Both buffers must hold what their datatypes say.
    pub(crate) unsafe fn copy(&self, from: Data, to: Data, tag: c_int) -> Result<()> {
        let mpi = mpi();
        let me = self.rank;
        // SAFETY: passed on to the caller.
        check(unsafe {
            (mpi.call.Sendrecv)(
                from.at,
                from.count,
                from.datatype,
                me,
                tag,
                to.at,
                to.count,
                to.datatype,
                me,
                tag,
                self.comm,
                mpi.status_ignore,
            )
        })
    }

    /// Packs `data` behind `position` of `into`, which moves on.
    ///
    /// # Safety
    /// The buffer must hold what its datatype says.
    pub(crate) unsafe fn pack(&self, data: Data, into: &mut [u8], position: &mut c_int) -> Result<()> {
        let room = into.len().min(c_int::MAX as usize) as c_int;
        // SAFETY: passed on to the caller; MPI writes at most `room` bytes.
        check(unsafe { (mpi().call.Pack)(data.at, data.count, data.datatype, into.as_mut_ptr().cast(), room, position, self.comm) })
    }

    /// Room [`Private::pack`] needs.
    pub(crate) fn pack_size(&self, count: c_int, datatype: MPI_Datatype) -> Result<usize> {
        let mut size = 0;
        // SAFETY: a valid datatype and a place for the result.
        check(unsafe { (mpi().call.Pack_size)(count, datatype, self.comm, &mut size) })?;
        Ok(size.max(0) as usize)
    }
}

/// Elements at an address, as MPI's point-to-point functions take them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data {
    pub(crate) at: *mut c_void,
    pub(crate) count: c_int,
    pub(crate) datatype: MPI_Datatype,
}

impl Data {
    /// Nothing at all: a token.
    pub(crate) fn nothing() -> Data {
        Data { at: std::ptr::null_mut(), count: 0, datatype: mpi().handle.byte }
    }
}

/// Requests under way, each with what it means to the caller.
#[derive(Debug)]
pub(crate) struct Requests<T> {
    requests: Vec<MPI_Request>,
    meaning: Vec<T>,
    indices: Vec<c_int>,
    statuses: Vec<MPI_Status>,
    /// The first that went wrong.
    failed: Option<Failed>,
}

impl<T: Copy + Ord> Requests<T> {
    pub(crate) fn new() -> Requests<T> {
        Requests { requests: Vec::new(), meaning: Vec::new(), indices: Vec::new(), statuses: Vec::new(), failed: None }
    }

    pub(crate) fn add(&mut self, request: MPI_Request, meaning: T) {
        self.requests.push(request);
        self.meaning.push(meaning);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// What is under way.
    pub(crate) fn meanings(&self) -> &[T] {
        &self.meaning
    }

    /// Waits until some are complete and puts their meanings, sorted, into `completed`. One that went wrong, a message longer than its
    /// place perhaps, is complete too: others wait for what this rank does next. [`Requests::outcome`] tells of it.
    pub(crate) fn wait_some(&mut self, completed: &mut Vec<T>) -> Result<()> {
        let mpi = mpi();
        let mut count = 0;
        completed.clear();
        let under_way = self.requests.len();
        self.indices.resize(under_way, 0);
        // SAFETY: a status is plain data, written by MPI before it is read here.
        self.statuses.resize_with(under_way, || unsafe { std::mem::zeroed() });
        let (requests, indices, statuses) = (self.requests.as_mut_ptr(), self.indices.as_mut_ptr(), self.statuses.as_mut_ptr());
        // SAFETY: the arrays hold as many entries as are said.
        let code = unsafe { (mpi.call.Waitsome)(under_way as c_int, requests, &mut count, indices, statuses) };
        if code != SUCCESS {
            // "See the statuses": say what failed, not that something did.
            let told = self.statuses.iter().take(count.max(0) as usize).map(|s| s.MPI_ERROR).find(|&e| e != SUCCESS);
            self.failed.get_or_insert(Failed(told.unwrap_or(code)));
        }
        // Not what `indices` says: where one has failed, Open MPI frees each other that has, and does not tell.
        for at in (0..under_way).rev() {
            if self.requests[at] == mpi.handle.request_null {
                self.requests.swap_remove(at);
                completed.push(self.meaning.swap_remove(at));
            }
        }
        if completed.is_empty() {
            // Nothing moves on any more.
            return Err(self.failed.unwrap_or(Failed(::mpi::ffi::MPI_ERR_OTHER as c_int)));
        }
        completed.sort_unstable();
        Ok(())
    }

    /// How it went, when all are complete.
    pub(crate) fn outcome(&self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}
