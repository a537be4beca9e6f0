//! One call of the application: its arguments, and where the block of each rank lies.
use crate::abi::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Op};
use crate::datatype::{DatatypeLayout, size_if_valid};
use crate::elements::MpiElements;
use crate::error_handlers::quietly;
use crate::mpi::mpi;
use crate::mpi_result::{MpiErrorCode, MpiResult, check};
use selection::decision_table::{Collective, CollectiveTraffic};
use std::ffi::{c_int, c_void};

/// A block of more octets is left to the library: MPI counts the pieces of a message by `int`.
const MOST: u64 = c_int::MAX as u64;
/// In place, or with unequal blocks.
const MOST_IN_PLACE: u64 = 1 << 30;

/// A collective's arguments.
pub(crate) struct CollectiveCall<'a> {
    pub(crate) collective: Collective,
    pub(crate) send: CallBuffer,
    pub(crate) receive: CallBuffer,
    pub(crate) role: CallRole,
    pub(crate) comm: MPI_Comm,
    /// The library's own routine, with the arguments as they came.
    pub(crate) native: &'a dyn Fn() -> c_int,
}

/// What a call has beside its buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallRole {
    /// Nothing: ranks exchange blocks.
    Blocks,
    /// The operation that combines elements.
    Reduction(MPI_Op),
    /// The rank that has what all get; both buffers are the same.
    Broadcast { root: c_int },
}

/// A call's arguments about its send or receive buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallBuffer {
    pub(crate) at: *mut c_void,
    pub(crate) counts: BlockCounts,
    pub(crate) datatype: MPI_Datatype,
}

/// The number and the places of the elements sent to or received from each rank.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BlockCounts {
    /// As many each, one block behind the other.
    Each(i64),
    /// As the arrays say, one entry a rank.
    Int {
        counts: *const c_int,
        places: *const c_int,
    },
    /// The same in the large-count forms.
    Large {
        counts: *const MPI_Count,
        places: *const isize,
    },
}

impl CallBuffer {
    /// The elements of a block where all are equal; none of a wrong count.
    pub(crate) fn elements(&self) -> u64 {
        match self.counts {
            BlockCounts::Each(count) => count.max(0) as u64,
            BlockCounts::Int { .. } | BlockCounts::Large { .. } => 0,
        }
    }
}

impl BlockCounts {
    /// # Safety
    /// Arrays must have an entry for this rank.
    unsafe fn of_rank(self, rank: usize) -> i64 {
        // SAFETY: passed on to the caller.
        unsafe {
            match self {
                BlockCounts::Each(count) => count,
                BlockCounts::Int { counts, .. } => i64::from(*counts.add(rank)),
                BlockCounts::Large { counts, .. } => *counts.add(rank),
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
                BlockCounts::Each(count) => (count as isize).wrapping_mul(rank as isize),
                BlockCounts::Int { places, .. } => *places.add(rank) as isize,
                BlockCounts::Large { places, .. } => *places.add(rank),
            }
        }
    }

    fn lacks_an_array(self) -> bool {
        match self {
            BlockCounts::Each(_) => false,
            BlockCounts::Int { counts, places } => counts.is_null() || places.is_null(),
            BlockCounts::Large { counts, places } => counts.is_null() || places.is_null(),
        }
    }
}

/// The amount of data a call moves, in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallAmount {
    /// A block; where they differ, the mean of those this rank receives.
    pub(crate) block: u64,
    /// True if every block is small enough to be served.
    pub(crate) fits: bool,
    /// True if each rank knows its own blocks only, as in MPI_Alltoallv.
    pub(crate) differs: bool,
    /// What this rank moves for each rank, as far as it is the same on all ranks.
    pub(crate) known_to_all: u64,
}

impl CollectiveCall<'_> {
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

    /// The amount from each of `size` ranks: the same on every rank, because the type
    /// signatures of all sends and receives are equal, which counts alone are not. Only in
    /// MPI_Alltoallv each rank has its own. `None` if an argument is wrong in a way the library
    /// finds too: it then raises the error as it always does. Nothing a correct program may do on
    /// some ranks alone may lead there, such as passing one base, `MPI_BOTTOM` perhaps, for both
    /// buffers.
    ///
    /// # Safety
    /// As the MPI standard says of the arguments, on an intracommunicator.
    pub(crate) unsafe fn amount(&self, size: usize) -> Option<CallAmount> {
        let equal = matches!(self.receive.counts, BlockCounts::Each(_));
        let ranks = if equal { 1 } else { size };
        let wrong = |side: &CallBuffer| {
            // SAFETY: passed on to the caller.
            side.counts.lacks_an_array()
                || (0..ranks).any(|rank| unsafe { side.counts.of_rank(rank) } < 0)
        };
        let is_no_rank = |root| !(0..size as c_int).contains(&root);
        if matches!(self.role, CallRole::Broadcast { root } if is_no_rank(root)) {
            return None;
        }
        if wrong(&self.receive)
            || (!self.in_place()
                && (wrong(&self.send) || size_if_valid(self.send.datatype, self.comm).is_none()))
        {
            return None;
        }
        let octets = size_if_valid(self.receive.datatype, self.comm)?;
        let (mut total, mut fits) = (0u64, true);
        let most = if self.in_place() || !equal {
            MOST_IN_PLACE
        } else {
            MOST
        };
        for rank in 0..ranks {
            // SAFETY: passed on to the caller.
            let block = octets.saturating_mul(unsafe { self.receive.counts.of_rank(rank) } as u64);
            total = total.saturating_add(block);
            fits &= block <= most;
        }
        let block = total.div_ceil(ranks as u64);
        let differs = self.collective == Collective::Alltoallv;
        let moved = match self.collective.traffic() {
            // Twice around the ring, or once, in parts.
            CollectiveTraffic::Combine => (2 * block).div_ceil(size as u64),
            CollectiveTraffic::Spread => block.div_ceil(size as u64),
            _ => block,
        };
        Some(CallAmount {
            block,
            fits,
            differs,
            known_to_all: if differs { 0 } else { moved },
        })
    }

    /// The place each rank's block is received into.
    pub(crate) fn received(&self) -> MpiResult<RankBlocks> {
        RankBlocks::of(self.receive)
    }

    /// The place each rank's block is sent from; not for calls in place.
    pub(crate) fn sent(&self) -> MpiResult<RankBlocks> {
        RankBlocks::of(self.send)
    }
}

/// A block a rank, of one datatype.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankBlocks {
    side: CallBuffer,
    /// Bytes from an element to the next: negative where a datatype's extent is.
    extent: isize,
    /// Octets of an element.
    size: usize,
}

impl RankBlocks {
    fn of(side: CallBuffer) -> MpiResult<RankBlocks> {
        let DatatypeLayout { size, extent, .. } = DatatypeLayout::of(side.datatype)?;
        Ok(RankBlocks {
            side,
            extent,
            size: size as usize,
        })
    }

    /// The block of a rank of the communicator. The address is only computed: an absolute datatype
    /// may be far from it.
    pub(crate) fn of_rank(&self, rank: u32) -> MpiElements {
        // SAFETY: arrays have an entry for each rank of the communicator.
        let (count, place) = unsafe {
            (
                self.side.counts.of_rank(rank as usize),
                self.side.counts.place(rank as usize),
            )
        };
        let at = self
            .side
            .at
            .cast::<u8>()
            .wrapping_offset(self.extent.wrapping_mul(place));
        // `CallAmount::fits` has seen that the count does, too.
        MpiElements {
            at: at.cast(),
            count: if self.size == 0 { 0 } else { count as c_int },
            datatype: self.side.datatype,
        }
    }

    /// The octets of that block.
    pub(crate) fn octets(&self, rank: u32) -> usize {
        self.size * self.of_rank(rank).count as usize
    }
}

/// The send side of an all-to-all: the application's buffer, or a packed copy of what a call in
/// place is about to overwrite.
#[derive(Debug)]
pub(crate) enum SendBlocks {
    Buffer(RankBlocks),
    Packed { bytes: Vec<u8>, ends: Vec<usize> },
}

impl SendBlocks {
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(crate) unsafe fn of(call: &CollectiveCall, size: c_int) -> MpiResult<SendBlocks> {
        if !call.in_place() {
            return Ok(SendBlocks::Buffer(call.sent()?));
        }
        let blocks = call.received()?;
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for rank in 0..size as u32 {
            let (block, begin) = (blocks.of_rank(rank), bytes.len());
            let room = pack_size(block, call.comm)?;
            if bytes.try_reserve(room).is_err() {
                return Err(MpiErrorCode::no_memory());
            }
            bytes.resize(begin + room, 0);
            let mut position = 0;
            // SAFETY: passed on to the caller.
            unsafe { pack(block, call.comm, &mut bytes[begin..], &mut position) }?;
            bytes.truncate(begin + position.max(0) as usize);
            ends.push(bytes.len());
        }
        Ok(SendBlocks::Packed { bytes, ends })
    }

    /// The block for a rank. It must not outlive `self`.
    pub(crate) fn to(&self, rank: u32) -> MpiElements {
        match self {
            SendBlocks::Buffer(blocks) => blocks.of_rank(rank),
            SendBlocks::Packed { bytes, ends } => {
                let block = &bytes[ends[rank as usize]..ends[rank as usize + 1]];
                MpiElements {
                    at: block.as_ptr().cast_mut().cast(),
                    count: block.len() as c_int,
                    datatype: mpi().handle.packed,
                }
            }
        }
    }

    /// True if a rank's block for itself has to be copied: in place it is there already.
    pub(crate) fn own_block_moves(&self) -> bool {
        matches!(self, SendBlocks::Buffer(_))
    }
}

/// Packs `data` behind `position` of `into`, which moves on.
///
/// # Safety
/// The buffer must hold what its datatype says.
unsafe fn pack(
    data: MpiElements,
    comm: MPI_Comm,
    into: &mut [u8],
    position: &mut c_int,
) -> MpiResult<()> {
    let (room, at) = (
        into.len().min(c_int::MAX as usize) as c_int,
        into.as_mut_ptr().cast(),
    );
    quietly(comm, || {
        // SAFETY: passed on to the caller; MPI writes at most `room` bytes.
        check(unsafe {
            (mpi().call.Pack)(data.at, data.count, data.datatype, at, room, position, comm)
        })
    })
}

/// Room [`pack`] needs.
fn pack_size(data: MpiElements, comm: MPI_Comm) -> MpiResult<usize> {
    let mut size = 0;
    quietly(comm, || {
        // SAFETY: a valid datatype and a place for the result.
        check(unsafe { (mpi().call.Pack_size)(data.count, data.datatype, comm, &mut size) })
    })?;
    Ok(size.max(0) as usize)
}
