//! One call of the application: its arguments, and where the block of each rank lies.
use crate::mpi::{SUCCESS, mpi};
use crate::private::{Data, Failed, Private, Result, check};
use ::mpi::ffi::{MPI_Comm, MPI_Count, MPI_Datatype};
use schedules::table::Collective;
use std::ffi::{c_int, c_void};

/// A block of more octets is left to the library: MPI counts the pieces of a message by `int`.
const MOST: u64 = c_int::MAX as u64;
/// In place, or with unequal blocks.
const MOST_IN_PLACE: u64 = 1 << 30;

/// A collective's arguments.
pub(crate) struct Call<'a> {
    pub(crate) collective: Collective,
    pub(crate) send: Side,
    pub(crate) receive: Side,
    pub(crate) comm: MPI_Comm,
    /// The library's own routine, with the arguments as they came.
    pub(crate) native: &'a dyn Fn() -> c_int,
}

/// What a call says of its send or receive buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    pub(crate) at: *mut c_void,
    pub(crate) counts: Counts,
    pub(crate) datatype: MPI_Datatype,
}

/// How many elements go to or come from each rank, and where they lie.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counts {
    /// As many each, one block behind the other.
    Each(i64),
    /// As the arrays say, one entry a rank.
    Int { counts: *const c_int, places: *const c_int },
    /// The same in the large-count forms.
    Large { counts: *const MPI_Count, places: *const isize },
}

impl Counts {
    /// # Safety
    /// Arrays must have an entry for this rank.
    unsafe fn of_rank(self, rank: usize) -> i64 {
        // SAFETY: passed on to the caller.
        unsafe {
            match self {
                Counts::Each(count) => count,
                Counts::Int { counts, .. } => i64::from(*counts.add(rank)),
                Counts::Large { counts, .. } => *counts.add(rank),
            }
        }
    }

    /// Elements before this rank's block.
    ///
    /// # Safety
    /// Arrays must have an entry for this rank.
    unsafe fn place(self, rank: usize) -> isize {
        // SAFETY: passed on to the caller.
        unsafe {
            match self {
                Counts::Each(count) => (count as isize).wrapping_mul(rank as isize),
                Counts::Int { places, .. } => *places.add(rank) as isize,
                Counts::Large { places, .. } => *places.add(rank),
            }
        }
    }

    fn lacks_an_array(self) -> bool {
        match self {
            Counts::Each(_) => false,
            Counts::Int { counts, places } => counts.is_null() || places.is_null(),
            Counts::Large { counts, places } => counts.is_null() || places.is_null(),
        }
    }
}

/// What a call moves, in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Amount {
    /// A block; where they differ, the mean of those this rank receives.
    pub(crate) block: u64,
    /// Whether every block is small enough to be served.
    pub(crate) fits: bool,
}

impl Call<'_> {
    /// The library's own routine.
    ///
    /// # Safety
    /// As the MPI standard says of the arguments.
    pub(crate) unsafe fn native(&self) -> c_int {
        (self.native)()
    }

    pub(crate) fn in_place(&self) -> bool {
        self.send.at.cast_const() == mpi().in_place
    }

    /// What this rank receives: the same on every rank, because the type signatures of all sends and receives are equal, which
    /// counts alone are not. Only in MPI_Alltoallv each rank has its own. `None` if an argument is wrong in a way the
    /// library finds too: it then raises the error as it always does. Nothing a correct program may do on some ranks
    /// alone may lead there, such as passing one base, `MPI_BOTTOM` perhaps, for both buffers.
    ///
    /// # Safety
    /// As the MPI standard says of the arguments.
    pub(crate) unsafe fn amount(&self) -> Option<Amount> {
        let null = mpi().handle.datatype_null;
        let ranks = self.ranks()?;
        let wrong = |side: &Side| {
            // SAFETY: passed on to the caller.
            side.datatype == null || side.counts.lacks_an_array() || (0..ranks).any(|rank| unsafe { side.counts.of_rank(rank) } < 0)
        };
        if wrong(&self.receive) || (!self.in_place() && wrong(&self.send)) {
            return None;
        }
        let size = size_of(self.receive.datatype).ok()?;
        let (mut total, mut fits) = (0u64, true);
        let most = if self.in_place() || !matches!(self.receive.counts, Counts::Each(_)) { MOST_IN_PLACE } else { MOST };
        for rank in 0..ranks {
            // SAFETY: passed on to the caller.
            let block = size.saturating_mul(unsafe { self.receive.counts.of_rank(rank) } as u64);
            total = total.saturating_add(block);
            fits &= block <= most;
        }
        Some(Amount { block: total.div_ceil(ranks as u64), fits })
    }

    /// How many blocks a side has to be asked for: those of all ranks, or one for all. `None` for intercommunicators, whose
    /// arrays are of another length.
    fn ranks(&self) -> Option<usize> {
        if let Counts::Each(_) = self.receive.counts {
            return Some(1);
        }
        let (mut inter, mut size) = (0, 0);
        // SAFETY: a communicator of the application and places for the results.
        let known = unsafe {
            check((mpi().call.Comm_test_inter)(self.comm, &mut inter)).and_then(|()| check((mpi().call.Comm_size)(self.comm, &mut size)))
        };
        (known.is_ok() && inter == 0).then(|| size.max(1) as usize)
    }

    /// Where each rank's block is received.
    pub(crate) fn received(&self) -> Result<Blocks> {
        Blocks::of(self.receive)
    }

    /// Where each rank's block is sent from; not for calls in place.
    pub(crate) fn sent(&self) -> Result<Blocks> {
        Blocks::of(self.send)
    }
}

fn size_of(datatype: MPI_Datatype) -> Result<u64> {
    let mut size = 0;
    // SAFETY: a datatype of the application and a place for the result.
    let code = unsafe { (mpi().call.Type_size_x)(datatype, &mut size) };
    if code == SUCCESS { u64::try_from(size).map_err(|_| Failed(::mpi::ffi::MPI_ERR_TYPE as c_int)) } else { Err(Failed(code)) }
}

/// A block a rank, of one datatype.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    side: Side,
    /// Bytes from an element to the next: negative where a datatype's extent is.
    extent: isize,
    empty: bool,
}

impl Blocks {
    fn of(side: Side) -> Result<Blocks> {
        let (mut lower, mut extent) = (0isize, 0isize);
        // SAFETY: a datatype of the application and places for the results.
        check(unsafe { (mpi().call.Type_get_extent)(side.datatype, &mut lower, &mut extent) })?;
        Ok(Blocks { side, extent, empty: size_of(side.datatype)? == 0 })
    }

    /// The block of a rank of the communicator. The address is only computed: an absolute datatype may be far from it.
    pub(crate) fn of_rank(&self, rank: u32) -> Data {
        // SAFETY: arrays have an entry for each rank of the communicator.
        let (count, place) = unsafe { (self.side.counts.of_rank(rank as usize), self.side.counts.place(rank as usize)) };
        let at = self.side.at.cast::<u8>().wrapping_offset(self.extent.wrapping_mul(place));
        // `Amount::fits` has seen that the count does, too.
        Data { at: at.cast(), count: if self.empty { 0 } else { count as c_int }, datatype: self.side.datatype }
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
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for rank in 0..private.size as u32 {
            let (block, begin) = (blocks.of_rank(rank), bytes.len());
            let room = private.pack_size(block.count, block.datatype)?;
            if bytes.try_reserve(room).is_err() {
                return Err(Failed(::mpi::ffi::MPI_ERR_NO_MEM as c_int));
            }
            bytes.resize(begin + room, 0);
            let mut position = 0;
            // SAFETY: passed on to the caller.
            unsafe { private.pack(block, &mut bytes[begin..], &mut position) }?;
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
