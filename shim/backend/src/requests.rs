//! Messages under way on the runtime's own communicators.
use crate::abi::{MPI_Request, MPI_Status};
use crate::mpi::{SUCCESS, mpi};
use crate::mpi_result::{MpiErrorCode, MpiResult};
use std::ffi::c_int;

/// Requests under way, each with what it means to the caller.
#[derive(Debug)]
pub(crate) struct PendingRequests<T> {
    requests: Vec<MPI_Request>,
    meaning: Vec<T>,
    indices: Vec<c_int>,
    statuses: Vec<MPI_Status>,
    /// The first that went wrong.
    failed: Option<MpiErrorCode>,
}

impl<T: Copy + Ord> PendingRequests<T> {
    pub(crate) fn new() -> PendingRequests<T> {
        PendingRequests {
            requests: Vec::new(),
            meaning: Vec::new(),
            indices: Vec::new(),
            statuses: Vec::new(),
            failed: None,
        }
    }

    pub(crate) fn add(&mut self, request: MPI_Request, meaning: T) {
        self.requests.push(request);
        self.meaning.push(meaning);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Waits until some are complete and puts their meanings, sorted, into `completed`. One that
    /// went wrong, a message longer than its place perhaps, is complete too: others wait for what
    /// this rank does next. [`PendingRequests::outcome`] tells of it.
    pub(crate) fn wait_some(&mut self, completed: &mut Vec<T>) -> MpiResult<()> {
        let mpi = mpi();
        let mut count = 0;
        completed.clear();
        let under_way = self.requests.len();
        self.indices.resize(under_way, 0);
        // SAFETY: a status is plain data, written by MPI before it is read here.
        self.statuses
            .resize_with(under_way, || unsafe { std::mem::zeroed() });
        let (requests, indices, statuses) = (
            self.requests.as_mut_ptr(),
            self.indices.as_mut_ptr(),
            self.statuses.as_mut_ptr(),
        );
        // SAFETY: the arrays hold as many entries as are stated.
        let code = unsafe {
            (mpi.call.Waitsome)(under_way as c_int, requests, &mut count, indices, statuses)
        };
        if code != SUCCESS {
            // "See the statuses": say what failed, not that something did.
            let handler_error = self
                .statuses
                .iter()
                .take(count.max(0) as usize)
                .map(|s| s.error)
                .find(|&e| e != SUCCESS);
            self.failed
                .get_or_insert(MpiErrorCode(handler_error.unwrap_or(code)));
        }
        // Not what `indices` says: where one has failed, Open MPI frees each other that has, and
        // does not tell.
        for at in (0..under_way).rev() {
            if self.requests[at] == mpi.handle.request_null {
                self.requests.swap_remove(at);
                completed.push(self.meaning.swap_remove(at));
            }
        }
        if completed.is_empty() {
            // Nothing moves on any more.
            return Err(self.failed.unwrap_or(MpiErrorCode::other()));
        }
        completed.sort_unstable();
        Ok(())
    }

    /// The result, once all are complete.
    pub(crate) fn outcome(&self) -> MpiResult<()> {
        self.failed.map_or(Ok(()), Err)
    }
}
