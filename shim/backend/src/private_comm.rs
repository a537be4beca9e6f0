//! A communicator of the runtime's own, with the members of the application's: its messages can
//! never meet the application's, and its errors come back as codes.
//!
//! A library has few communicators to give away (MPICH: 2,048), so one is made only when a call
//! first goes over the library's point-to-point, and serves all communicators of a process set. A
//! process has [`MOST`] of them at once.
use crate::abi::{MPI_Comm, MPI_Op, MPI_Request};
use crate::call_comm::CallComm;
use crate::elements::MpiElements;
use crate::error_handlers::{quietly, return_errors};
use crate::mpi::{SUCCESS, mpi};
use crate::mpi_result::{MpiResult, check};
use runtime::stderr;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The application's communicators come first: with thousands of them, in threads that call at
/// once, each could want one of these.
const MOST: usize = 64;
/// While a process has fewer, one is made for what is only handy.
const SPARE: usize = 16;
static MADE: AtomicUsize = AtomicUsize::new(0);

/// The communicator, and this rank in it.
#[derive(Debug)]
pub(crate) struct PrivateComm {
    comm: MPI_Comm,
    pub(crate) rank: c_int,
}

// SAFETY: communicator handles are process-wide; MPI_THREAD_MULTIPLE lets any thread use them.
unsafe impl Send for PrivateComm {}

impl PrivateComm {
    /// True if this process has few enough.
    pub(crate) fn may_be_made() -> bool {
        MADE.load(Ordering::Relaxed) < MOST
    }

    /// The communicator, for as long as this is not freed.
    pub(crate) fn handle(&self) -> MPI_Comm {
        self.comm
    }

    /// Of all ranks with the same part, in their order. Splits, not duplicates: duplicating would run
    /// the application's attribute callbacks. Collective.
    fn split(within: &CallComm, part: c_int) -> MpiResult<PrivateComm> {
        let mpi = mpi();
        let mut private = PrivateComm {
            comm: mpi.handle.comm_null,
            rank: within.rank,
        };
        quietly(within.comm, || {
            // SAFETY: a valid intracommunicator and a place for the result.
            check(unsafe {
                (mpi.call.Comm_split)(within.comm, part, within.rank, &mut private.comm)
            })
        })?;
        MADE.fetch_add(1, Ordering::Relaxed);
        return_errors(private.comm)?;
        Ok(private)
    }

    /// Runs an exchange of messages. MPICH tells what goes wrong in waiting for several of them to
    /// MPI_COMM_WORLD or MPI_COMM_SELF, whichever communicator they are on.
    pub(crate) fn quietly<T>(&self, exchange: impl FnOnce() -> T) -> T {
        let handle = &mpi().handle;
        quietly(handle.comm_world, || quietly(handle.comm_self, exchange))
    }

    /// Gives the communicator back, once.
    pub(crate) fn free(&mut self) -> c_int {
        if self.comm == mpi().handle.comm_null {
            return SUCCESS;
        }
        MADE.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: a communicator this made and nobody else knows; MPI sets the handle to null.
        unsafe { (mpi().call.Comm_free)(&mut self.comm) }
    }

    /// Combines the elements of all its ranks into those of rank 0, whose own lie there already if
    /// `from` is `MPI_IN_PLACE`. Collective.
    ///
    /// # Safety
    /// As the MPI standard says of MPI_Reduce.
    pub(crate) unsafe fn reduce(
        &self,
        from: *const c_void,
        into: MpiElements,
        op: MPI_Op,
    ) -> MpiResult<()> {
        let MpiElements { at, datatype, .. } = into;
        let count = into.int_count()?;
        // SAFETY: passed on to the caller.
        check(unsafe { (mpi().call.Reduce)(from, at, count, datatype, op, 0, self.comm) })
    }

    /// Its rank `root` gives its elements to all. Collective.
    ///
    /// # Safety
    /// As the MPI standard says of MPI_Bcast.
    pub(crate) unsafe fn broadcast(&self, elements: MpiElements, root: c_int) -> MpiResult<()> {
        let MpiElements { at, datatype, .. } = elements;
        let count = elements.int_count()?;
        // SAFETY: passed on to the caller.
        check(unsafe { (mpi().call.Bcast)(at, count, datatype, root, self.comm) })
    }

    /// The octets of its rank 0 go to all. Collective.
    ///
    /// # Safety
    /// The buffer must hold so many octets, and be left alone until the request is complete.
    pub(crate) unsafe fn begin_broadcast(
        &self,
        at: *mut c_void,
        octets: c_int,
        request: &mut MPI_Request,
    ) -> c_int {
        let mpi = mpi();
        // SAFETY: passed on to the caller.
        unsafe { (mpi.call.Ibcast)(at, octets, mpi.handle.byte, 0, self.comm, request) }
    }

    /// The octets of each of its ranks go to all, in rank order. Collective.
    ///
    /// # Safety
    /// The buffers must hold so many octets, and so many of each rank, and be left alone until the
    /// request is complete.
    pub(crate) unsafe fn begin_gather_all(
        &self,
        from: *const c_void,
        octets: c_int,
        to: *mut c_void,
        request: &mut MPI_Request,
    ) -> c_int {
        let (mpi, byte) = (mpi(), mpi().handle.byte);
        // SAFETY: passed on to the caller.
        unsafe { (mpi.call.Iallgather)(from, octets, byte, to, octets, byte, self.comm, request) }
    }

    /// # Safety
    /// The buffer must stay as it is until the request is complete.
    pub(crate) unsafe fn send(
        &self,
        data: MpiElements,
        to: c_int,
        tag: c_int,
    ) -> MpiResult<MPI_Request> {
        let mpi = mpi();
        let mut request = mpi.handle.request_null;
        let count = data.int_count()?;
        // SAFETY: passed on to the caller.
        check(unsafe {
            (mpi.call.Isend)(
                data.at,
                count,
                data.datatype,
                to,
                tag,
                self.comm,
                &mut request,
            )
        })?;
        Ok(request)
    }

    /// # Safety
    /// The buffer must be left alone until the request is complete.
    pub(crate) unsafe fn receive(
        &self,
        data: MpiElements,
        from: c_int,
        tag: c_int,
    ) -> MpiResult<MPI_Request> {
        let mpi = mpi();
        let mut request = mpi.handle.request_null;
        let count = data.int_count()?;
        // SAFETY: passed on to the caller.
        check(unsafe {
            (mpi.call.Irecv)(
                data.at,
                count,
                data.datatype,
                from,
                tag,
                self.comm,
                &mut request,
            )
        })?;
        Ok(request)
    }
}

/// The state of the runtime's own communicator for messages.
#[derive(Debug, Default)]
pub(crate) enum PrivateCommState {
    #[default]
    Untried,
    /// All ranks may make one.
    Allowed,
    Over(PrivateComm),
    /// The library had none to give to some rank; nobody tries again.
    Refused,
}

impl PrivateCommState {
    /// The communicator, if there is one.
    pub(crate) fn existing(&self) -> Option<&PrivateComm> {
        match self {
            PrivateCommState::Over(private) => Some(private),
            _ => None,
        }
    }

    /// Makes the communicator for what is only handy, unless ranks have made several already.
    /// Collective.
    pub(crate) fn up_if_spare(&mut self, within: &CallComm) -> MpiResult<()> {
        if matches!(self, PrivateCommState::Untried | PrivateCommState::Allowed)
            && within.holds_on_all_ranks(MADE.load(Ordering::Relaxed) < SPARE)?
        {
            self.up(within)?;
        }
        Ok(())
    }

    /// The ranks exchanged whether each of them may make one, with other news.
    pub(crate) fn may_be_made(&mut self, by_all: bool) {
        if by_all && matches!(self, PrivateCommState::Untried) {
            *self = PrivateCommState::Allowed;
        }
    }

    /// True if there is such a communicator; it is made now if nobody tried before. Collective.
    pub(crate) fn up(&mut self, within: &CallComm) -> MpiResult<bool> {
        self.up_in_parts(within, 0)
    }

    /// The same with a communicator for the ranks of each part. Collective, of all parts.
    pub(crate) fn up_in_parts(&mut self, within: &CallComm, part: c_int) -> MpiResult<bool> {
        if matches!(self, PrivateCommState::Untried | PrivateCommState::Allowed) {
            let is_allowed = matches!(self, PrivateCommState::Allowed);
            let may = is_allowed || within.holds_on_all_ranks(PrivateComm::may_be_made())?;
            let private = if may {
                PrivateComm::split(within, part).ok()
            } else {
                None
            };
            let everywhere = within.holds_on_all_ranks(private.is_some())?;
            if !everywhere {
                stderr::write_line_once(
                    "the MPI library has no communicator left for heddle; its own routines run",
                );
            }
            // Where a rank has none, those of the others stay as they are: to give one back takes
            // all its members.
            *self = private
                .filter(|_| everywhere)
                .map_or(PrivateCommState::Refused, PrivateCommState::Over);
        }
        Ok(matches!(self, PrivateCommState::Over(_)))
    }
}
