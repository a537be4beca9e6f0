//! One call of the application: its arguments, and where the block of each rank lies.
use crate::mpi::{SUCCESS, mpi};
use crate::private::{Data, Failed, Private, Result, check};
use ::mpi::ffi::{MPI_Comm, MPI_Datatype};
use schedules::table::Collective;
use std::ffi::{c_int, c_void};

/// A collective's arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) collective: Collective,
    pub(crate) send: *const c_void,
    pub(crate) send_count: c_int,
    pub(crate) send_type: MPI_Datatype,
    pub(crate) receive: *mut c_void,
    pub(crate) receive_count: c_int,
    pub(crate) receive_type: MPI_Datatype,
    pub(crate) comm: MPI_Comm,
}

impl Call {
    /// The library's own routine.
    ///
    /// # Safety
    /// As the MPI standard says of the arguments.
    pub(crate) unsafe fn native(&self) -> c_int {
        let own = match self.collective {
            Collective::Alltoall => mpi().call.Alltoall,
            Collective::Allgather => mpi().call.Allgather,
        };
        // SAFETY: passed on to the caller.
        unsafe { own(self.send, self.send_count, self.send_type, self.receive, self.receive_count, self.receive_type, self.comm) }
    }

    pub(crate) fn in_place(&self) -> bool {
        self.send == mpi().in_place
    }

    /// Bytes a rank receives from each other one: the same on every rank, because the type signatures of all
    /// sends and receives are equal, which counts alone are not. `None` if an argument is wrong in a way the
    /// library finds too: it then raises the error as it always does. Nothing a correct program may do on some ranks
    /// alone may lead there, such as passing one base, `MPI_BOTTOM` perhaps, for both buffers.
    pub(crate) fn block(&self) -> Option<u64> {
        let null = mpi().handle.datatype_null;
        let sends_wrong = !self.in_place() && (self.send_count < 0 || self.send_type == null);
        if sends_wrong || self.receive_count < 0 || self.receive_type == null {
            return None;
        }
        let mut size = 0;
        // SAFETY: a datatype of the application and a place for the result.
        let code = unsafe { (mpi().call.Type_size_x)(self.receive_type, &mut size) };
        if code != SUCCESS { None } else { u64::try_from(size).ok()?.checked_mul(self.receive_count as u64) }
    }

    /// Where each rank's block is received.
    pub(crate) fn received(&self) -> Result<Blocks> {
        Blocks::of(self.receive, self.receive_count, self.receive_type)
    }

    /// Where each rank's block is sent from; not for calls in place.
    pub(crate) fn sent(&self) -> Result<Blocks> {
        Blocks::of(self.send.cast_mut(), self.send_count, self.send_type)
    }
}

/// Equal blocks one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    first: Data,
    /// Bytes from a block to the next: negative where a datatype's extent is.
    stride: isize,
}

impl Blocks {
    fn of(at: *mut c_void, count: c_int, datatype: MPI_Datatype) -> Result<Blocks> {
        let (mut lower, mut extent) = (0isize, 0isize);
        // SAFETY: a datatype of the application and places for the results.
        check(unsafe { (mpi().call.Type_get_extent)(datatype, &mut lower, &mut extent) })?;
        Ok(Blocks { first: Data { at, count, datatype }, stride: extent.wrapping_mul(count as isize) })
    }

    /// The block of a rank. The address is only computed: an absolute datatype may be far from it.
    pub(crate) fn of_rank(&self, rank: u32) -> Data {
        let at = self.first.at.cast::<u8>().wrapping_offset(self.stride.wrapping_mul(rank as isize));
        Data { at: at.cast(), ..self.first }
    }
}

/// The send side of an all-to-all: the application's buffer, or a packed copy of what a call in place is
/// about to overwrite.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Buffer(Blocks),
    Packed { bytes: Vec<u8>, ends: Vec<usize> },
}

impl Outgoing {
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(crate) unsafe fn of(call: &Call, private: &Private) -> Result<Outgoing> {
        if !call.in_place() {
            return Ok(Outgoing::Buffer(call.sent()?));
        }
        let blocks = call.received()?;
        let room = private.pack_size(call.receive_count, call.receive_type)?;
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(room.saturating_mul(private.size as usize)).is_err() {
            return Err(Failed(::mpi::ffi::MPI_ERR_NO_MEM as c_int));
        }
        let mut ends = vec![0];
        for rank in 0..private.size as u32 {
            let begin = bytes.len();
            bytes.resize(begin + room, 0);
            let mut position = 0;
            // SAFETY: passed on to the caller.
            unsafe { private.pack(blocks.of_rank(rank), &mut bytes[begin..], &mut position) }?;
            bytes.truncate(begin + position.max(0) as usize);
            ends.push(bytes.len());
        }
        Ok(Outgoing::Packed { bytes, ends })
    }

    /// The block for a rank. It must not outlive `self`.
    pub(crate) fn to(&self, rank: u32) -> Data {
        match self {
            Outgoing::Buffer(blocks) => blocks.of_rank(rank),
            Outgoing::Packed { bytes, ends } => {
                let block = &bytes[ends[rank as usize]..ends[rank as usize + 1]];
                Data { at: block.as_ptr().cast_mut().cast(), count: block.len() as c_int, datatype: mpi().handle.packed }
            }
        }
    }

    /// Whether a rank's block for itself has to be copied: in place it is there already.
    pub(crate) fn own_block_moves(&self) -> bool {
        matches!(self, Outgoing::Buffer(_))
    }
}
