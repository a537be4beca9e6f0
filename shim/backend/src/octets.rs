//! Blocks as octets, whatever their datatypes are: the application's own memory where it is plain, else a copy.
use crate::call::{Call, Outgoing};
use crate::mpi::mpi;
use crate::private::{Data, Failed, Private, Result, check};
use ::mpi::ffi::MPI_Datatype;
use std::ffi::c_int;

/// The tag of a message to itself.
pub(crate) const OWN: c_int = 1;

/// An all-to-all in which `exchange` fills the second blocks from the first ones of all ranks, each `block` octets long; the rank's own is
/// copied here.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(
    call: &Call,
    private: &Private,
    block: usize,
    exchange: impl FnOnce(&[&[u8]], &mut [&mut [u8]]) -> Result<()>,
) -> Result<()> {
    let me = private.rank as u32;
    // SAFETY: passed on to the caller.
    let outgoing = unsafe { Outgoing::of(call, private) }?;
    let incoming = call.received()?;
    // If its own block does not fit, others still wait for what this rank sends.
    // SAFETY: passed on to the caller.
    let copied = if outgoing.own_block_moves() { unsafe { private.copy(outgoing.to(me), incoming.of_rank(me), OWN) } } else { Ok(()) };
    let ranks = 0..private.size as u32;
    // SAFETY: passed on to the caller.
    let packed = unsafe { Packed::of(ranks.clone().map(|rank| outgoing.to(rank)), private, block) }?;
    let mut places = Places::of(ranks.map(|rank| incoming.of_rank(rank)), block)?;
    // SAFETY: the application leaves both buffers alone during the call, and its blocks do not overlap.
    exchange(&packed.blocks(), &mut unsafe { places.blocks() })?;
    // SAFETY: passed on to the caller.
    unsafe { places.unpack(private, me) }.and(copied)
}

/// Whether elements of this type lie in memory octet by octet, one behind the other, in the order they are sent.
fn is_plain(datatype: MPI_Datatype) -> Result<bool> {
    let call = &mpi().call;
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    let (mut lower, mut extent, mut size) = (0isize, 0isize, 0);
    // SAFETY: a datatype of the application and places for the results.
    unsafe {
        check((call.Type_get_envelope)(datatype, &mut integers, &mut addresses, &mut types, &mut combiner))?;
        check((call.Type_get_extent)(datatype, &mut lower, &mut extent))?;
        check((call.Type_size_x)(datatype, &mut size))?;
    }
    // Pairs such as MPI_DOUBLE_INT are predefined and have a gap.
    Ok(combiner == mpi().combiner_named && lower == 0 && extent as i64 == size)
}

/// Blocks to send as octets: the application's own memory where it is plain, else a copy.
struct Packed {
    at: Vec<*const u8>,
    length: usize,
    /// Holds what the addresses point to.
    _copy: Vec<u8>,
}

impl Packed {
    /// # Safety
    /// The buffers must hold what their datatypes say, and stay as they are as long as this lives.
    unsafe fn of(blocks: impl Iterator<Item = Data>, private: &Private, length: usize) -> Result<Packed> {
        let blocks: Vec<Data> = blocks.collect();
        let plain = blocks.first().is_none_or(|b| b.datatype == mpi().handle.packed) || is_plain(blocks[0].datatype)?;
        if plain {
            return Ok(Packed { at: blocks.iter().map(|b| b.at.cast_const().cast()).collect(), length, _copy: Vec::new() });
        }
        let mut copy = room(length.saturating_mul(blocks.len()))?;
        for (block, place) in blocks.iter().zip(copy.chunks_exact_mut(length)) {
            // SAFETY: passed on to the caller.
            unsafe { private.flatten(*block, place) }?;
        }
        Ok(Packed { at: copy.chunks_exact(length).map(<[u8]>::as_ptr).collect(), length, _copy: copy })
    }

    fn blocks(&self) -> Vec<&[u8]> {
        // SAFETY: each address begins a block of this length: MPI's argument, or a chunk of the copy.
        self.at.iter().map(|&at| unsafe { std::slice::from_raw_parts(at, self.length) }).collect()
    }
}

/// Where blocks are received as octets: the application's own memory where it is plain, else aside.
pub(crate) struct Places {
    blocks: Vec<Data>,
    length: usize,
    aside: Option<Vec<u8>>,
}

impl Places {
    pub(crate) fn of(blocks: impl Iterator<Item = Data>, length: usize) -> Result<Places> {
        let blocks: Vec<Data> = blocks.collect();
        let plain = blocks.first().is_none_or(|b| b.datatype == mpi().handle.byte) || is_plain(blocks[0].datatype)?;
        let aside = if plain { None } else { Some(room(length.saturating_mul(blocks.len()))?) };
        Ok(Places { blocks, length, aside })
    }

    /// # Safety
    /// The application's blocks must be as long as said and not overlap.
    pub(crate) unsafe fn blocks(&mut self) -> Vec<&mut [u8]> {
        match &mut self.aside {
            Some(aside) => aside.chunks_exact_mut(self.length).collect(),
            // SAFETY: passed on to the caller.
            None => self.blocks.iter().map(|b| unsafe { std::slice::from_raw_parts_mut(b.at.cast(), self.length) }).collect(),
        }
    }

    /// Puts a rank's block aside as the others' will be.
    ///
    /// # Safety
    /// The buffer must hold what its datatype says.
    pub(crate) unsafe fn pack(&mut self, private: &Private, rank: u32) -> Result<()> {
        let Some(aside) = &mut self.aside else { return Ok(()) };
        let begin = rank as usize * self.length;
        // SAFETY: passed on to the caller.
        unsafe { private.flatten(self.blocks[rank as usize], &mut aside[begin..begin + self.length]) }
    }

    /// Puts what came aside where it belongs; the block of `me` is there.
    ///
    /// # Safety
    /// The buffers must have room for what their datatypes say.
    pub(crate) unsafe fn unpack(&self, private: &Private, me: u32) -> Result<()> {
        let Some(aside) = &self.aside else { return Ok(()) };
        for (rank, (block, octets)) in (0..).zip(self.blocks.iter().zip(aside.chunks_exact(self.length))) {
            if rank != me {
                // SAFETY: passed on to the caller.
                unsafe { private.copy(octets_of(octets), *block, OWN) }?;
            }
        }
        Ok(())
    }
}

/// Octets as elements of any type, as the standard lets them be sent and received (MPI-4.1, 5.2: MPI_PACKED).
pub(crate) fn octets_of(octets: &[u8]) -> Data {
    Data { at: octets.as_ptr().cast_mut().cast(), count: octets.len() as c_int, datatype: mpi().handle.packed }
}

pub(crate) fn no_memory() -> Failed {
    Failed(::mpi::ffi::MPI_ERR_NO_MEM as c_int)
}

pub(crate) fn room(octets: usize) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    room.try_reserve_exact(octets).map_err(|_| no_memory())?;
    room.resize(octets, 0);
    Ok(room)
}

impl Private {
    /// Copies a block's elements one behind the other. By a message to itself: MPI_Pack of MPICH refuses `MPI_BOTTOM`.
    ///
    /// # Safety
    /// The buffer must hold what its datatype says.
    unsafe fn flatten(&self, block: Data, into: &mut [u8]) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.copy(block, octets_of(into), OWN) }
    }
}
