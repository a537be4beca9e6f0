//! One call of the application: its arguments, and where the block of each rank lies.
use crate::abi::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Op};
use crate::call_amount::CallAmount;
use crate::datatype::{self, DatatypeLayout, size_if_valid};
use crate::elements::{MpiElements, octets_of, room};
use crate::mpi::mpi;
use crate::mpi_result::MpiResult;
use policy::decision_table::{Collective, CollectiveTraffic};
use runtime::call_forecast::{NOT_SERVED, OwnCall};
use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

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

/// The argument that a call has beside its buffers.
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
    pub(crate) types: BlockTypes,
}

/// The datatype of the elements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BlockTypes {
    /// The same of all; places count its extents.
    Same(MPI_Datatype),
    /// As the array says, one entry a rank, as in MPI_Alltoallw; places count octets.
    Each(*const MPI_Datatype),
}

impl From<MPI_Datatype> for BlockTypes {
    fn from(datatype: MPI_Datatype) -> BlockTypes {
        BlockTypes::Same(datatype)
    }
}

impl From<*const MPI_Datatype> for BlockTypes {
    fn from(types: *const MPI_Datatype) -> BlockTypes {
        BlockTypes::Each(types)
    }
}

impl BlockTypes {
    /// # Safety
    /// The array must have an entry for this rank.
    unsafe fn of_rank(self, rank: usize) -> MPI_Datatype {
        match self {
            BlockTypes::Same(datatype) => datatype,
            // SAFETY: passed on to the caller.
            BlockTypes::Each(types) => unsafe { *types.add(rank) },
        }
    }

    fn lacks_an_array(self) -> bool {
        matches!(self, BlockTypes::Each(types) if types.is_null())
    }

    fn differ(self) -> bool {
        matches!(self, BlockTypes::Each(_))
    }
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
    /// The datatype of all blocks; none where each has its own.
    pub(crate) fn datatype(&self) -> MPI_Datatype {
        match self.types {
            BlockTypes::Same(datatype) => datatype,
            BlockTypes::Each(_) => mpi().handle.datatype_null,
        }
    }

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

impl CallBuffer {
    /// True if all blocks of both sides are known to be the same elements.
    fn has_blocks_of(&self, other: &CallBuffer) -> bool {
        match (self.counts, other.counts, self.types, other.types) {
            (
                BlockCounts::Each(own),
                BlockCounts::Each(others),
                BlockTypes::Same(datatype),
                BlockTypes::Same(same),
            ) => own == others && datatype == same,
            _ => false,
        }
    }

    /// Tells `take` the octets of the block of each of so many ranks; `None` if an argument is
    /// wrong.
    ///
    /// # Safety
    /// As the MPI standard says of the arguments.
    pub(crate) unsafe fn each_length(
        &self,
        ranks: usize,
        comm: MPI_Comm,
        mut take: impl FnMut(u64),
    ) -> Option<()> {
        if self.counts.lacks_an_array() || self.types.lacks_an_array() {
            return None;
        }
        let mut known = None;
        for rank in 0..ranks {
            // SAFETY: passed on to the caller.
            let (count, datatype) =
                unsafe { (self.counts.of_rank(rank), self.types.of_rank(rank)) };
            let size = match known {
                Some((last, size)) if last == datatype => size,
                // MPICH lets the type of nothing be anything.
                _ if cfg!(mpich) && self.types.differ() && count == 0 => {
                    take(0);
                    continue;
                }
                _ => size_if_valid(datatype, comm)?,
            };
            known = Some((datatype, size));
            take(size.saturating_mul(u64::try_from(count).ok()?));
        }
        Some(())
    }
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
        let is_no_rank = |root| !(0..size as c_int).contains(&root);
        if matches!(self.role, CallRole::Broadcast { root } if is_no_rank(root)) {
            return None;
        }
        // In place MPI ignores the send side's counts and datatypes; of two sides that are alike one is looked at.
        if !self.in_place() && !self.send.has_blocks_of(&self.receive) {
            // SAFETY: passed on to the caller.
            unsafe { self.send.each_length(ranks, self.comm, |_| ()) }?;
        }
        let most = if self.in_place() || !equal {
            MOST_IN_PLACE
        } else {
            MOST
        };
        let (mut total, mut fits) = (0u64, true);
        // SAFETY: passed on to the caller.
        unsafe {
            self.receive.each_length(ranks, self.comm, |block| {
                total = total.saturating_add(block);
                fits &= block <= most;
            })
        }?;
        let block = total.div_ceil(ranks as u64);
        let moved = match self.collective.traffic() {
            // Twice around the ring, or once, in parts.
            CollectiveTraffic::Combine => (2 * block).div_ceil(size as u64),
            CollectiveTraffic::Spread => block.div_ceil(size as u64),
            _ => block,
        };
        Some(CallAmount {
            block,
            fits,
            moved,
            differs: self.collective.has_own_lengths(),
            is_agreed: !self.collective.has_own_lengths(),
            is_even: false,
            place: None,
        })
    }

    /// The octets that this rank sends to each of so many ranks.
    ///
    /// # Safety
    /// As the MPI standard says of the arguments, on a communicator of so many ranks.
    pub(crate) unsafe fn sent_lengths(&self, size: usize) -> Vec<u64> {
        let side = if self.in_place() {
            &self.receive
        } else {
            &self.send
        };
        let mut lengths = Vec::with_capacity(size);
        // SAFETY: passed on to the caller.
        unsafe { side.each_length(size, self.comm, |length| lengths.push(length)) };
        lengths.resize(size, 0);
        lengths
    }

    /// This rank's own part of a call of this amount, which the other ranks do not know.
    ///
    /// # Safety
    /// As the MPI standard says of the arguments, on a communicator of so many ranks.
    pub(crate) unsafe fn own(&self, size: usize, amount: CallAmount) -> OwnCall {
        let mut digest = DefaultHasher::new();
        // SAFETY: passed on to the caller.
        let lengths = unsafe { self.sent_lengths(size) };
        lengths.hash(&mut digest);
        OwnCall {
            block: if amount.fits {
                amount.block
            } else {
                NOT_SERVED
            },
            largest: lengths.into_iter().max().unwrap_or(0),
            digest: digest.finish(),
        }
    }

    /// The place each rank's block is received into.
    pub(crate) fn received(&self) -> MpiResult<RankBlocks> {
        RankBlocks::new(self.receive)
    }

    /// The place each rank's block is sent from; not for calls in place.
    pub(crate) fn sent(&self) -> MpiResult<RankBlocks> {
        RankBlocks::new(self.send)
    }
}

/// A block a rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankBlocks {
    side: CallBuffer,
    /// Bytes from an element to the next, negative where a datatype's extent is; 1 where places
    /// count octets.
    step: isize,
    /// Octets of an element, where all ranks have one datatype.
    size: Option<usize>,
}

impl RankBlocks {
    pub(crate) fn new(side: CallBuffer) -> MpiResult<RankBlocks> {
        let (step, size) = match side.types {
            BlockTypes::Same(datatype) => {
                let DatatypeLayout { size, extent, .. } = DatatypeLayout::query(datatype)?;
                (extent, Some(size as usize))
            }
            BlockTypes::Each(_) => (1, None),
        };
        Ok(RankBlocks { side, step, size })
    }

    /// The argument that says where the blocks lie.
    pub(crate) fn buffer(&self) -> CallBuffer {
        self.side
    }

    /// The block of a rank of the communicator. The address is only computed: an absolute datatype
    /// may be far from it.
    pub(crate) fn of_rank(&self, rank: u32) -> MpiElements {
        // SAFETY: arrays have an entry for each rank of the communicator.
        let (count, place, datatype) = unsafe {
            (
                self.side.counts.of_rank(rank as usize),
                self.side.counts.place(rank as usize),
                self.side.types.of_rank(rank as usize),
            )
        };
        let at = self
            .side
            .at
            .cast::<u8>()
            .wrapping_offset(self.step.wrapping_mul(place));
        let block = MpiElements {
            at: at.cast(),
            count,
            datatype,
        };
        // A block of elements of nothing is nothing to its other end, too.
        if self.size_in(&block) == 0 {
            MpiElements { count: 0, ..block }
        } else {
            block
        }
    }

    /// The blocks of these ranks; those that lie one behind the other, as one.
    pub(crate) fn of_ranks(&self, ranks: Range<u32>) -> Vec<MpiElements> {
        if let (BlockCounts::Each(_), BlockTypes::Same(_)) = (self.side.counts, self.side.types) {
            let first = self.of_rank(ranks.start);
            let count = first.count * ranks.len() as MPI_Count;
            return vec![MpiElements { count, ..first }];
        }
        ranks.map(|rank| self.of_rank(rank)).collect()
    }

    fn size_in(&self, block: &MpiElements) -> usize {
        match self.size {
            Some(size) => size,
            None if block.count == 0 => 0,
            // It has been asked before, and was one.
            None => datatype::size(block.datatype).map_or(0, |size| size as usize),
        }
    }

    /// The octets of that block.
    pub(crate) fn octets(&self, rank: u32) -> usize {
        let block = self.of_rank(rank);
        self.size_in(&block) * block.count as usize
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
    pub(crate) unsafe fn new(call: &CollectiveCall, size: c_int) -> MpiResult<SendBlocks> {
        if !call.in_place() {
            return Ok(SendBlocks::Buffer(call.sent()?));
        }
        let blocks = call.received()?;
        let mut ends = vec![0];
        for rank in 0..size as u32 {
            ends.push(ends[rank as usize] + blocks.octets(rank));
        }
        let mut bytes = room(ends[size as usize])?;
        for rank in 0..size as u32 {
            let place = &mut bytes[ends[rank as usize]..ends[rank as usize + 1]];
            // SAFETY: passed on to the caller.
            unsafe { blocks.of_rank(rank).copy(octets_of(place)) }?;
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
                    count: block.len() as MPI_Count,
                    datatype: mpi().handle.packed,
                }
            }
        }
    }

    /// The octets of the block for a rank.
    pub(crate) fn octets(&self, rank: u32) -> usize {
        match self {
            SendBlocks::Buffer(blocks) => blocks.octets(rank),
            SendBlocks::Packed { ends, .. } => ends[rank as usize + 1] - ends[rank as usize],
        }
    }

    /// True if a rank's block for itself has to be copied: in place it is there already.
    pub(crate) fn own_block_moves(&self) -> bool {
        matches!(self, SendBlocks::Buffer(_))
    }
}

#[cfg(all(test, mpich))]
mod tests {
    use super::*;

    /// Lengths are known by rank: those behind a block of nothing must not move up.
    #[test]
    fn blocks_of_nothing_have_a_length() {
        let (counts, places, types) = ([0; 3], [0; 3], [MPI_Datatype(0); 3]);
        let buffer = CallBuffer {
            at: std::ptr::null_mut(),
            counts: BlockCounts::Int {
                counts: counts.as_ptr(),
                places: places.as_ptr(),
            },
            types: BlockTypes::Each(types.as_ptr()),
        };
        let mut lengths = Vec::new();
        // SAFETY: the arrays have three entries; of nothing no type is asked.
        unsafe { buffer.each_length(3, MPI_Comm(0), |length| lengths.push(length)) };
        assert_eq!(lengths, [0; 3]);
    }
}
