//! Blocks as octets, whatever their datatypes are: the application's own memory where it is plain,
//! else a copy.
use crate::call::{CollectiveCall, SendBlocks};
use crate::call_comm::CallComm;
use crate::datatype::DatatypeLayout;
use crate::elements::MpiElements;
use crate::mpi::mpi;
use crate::mpi_result::{MpiErrorCode, MpiResult};
use std::ffi::c_int;

/// An all-to-all in which `exchange` fills the second blocks from the first ones of all ranks, each
/// `block` octets long; the rank's own is copied here.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(
    call: &CollectiveCall,
    within: &CallComm,
    block: usize,
    exchange: impl FnOnce(&[&[u8]], &mut [&mut [u8]]) -> MpiResult<()>,
) -> MpiResult<()> {
    let me = within.rank as u32;
    // SAFETY: passed on to the caller.
    let outgoing = unsafe { SendBlocks::of(call, within.size) }?;
    let incoming = call.received()?;
    // If its own block does not fit, others still wait for what this rank sends.
    let copied = if outgoing.own_block_moves() {
        // SAFETY: passed on to the caller.
        unsafe { outgoing.to(me).copy(incoming.of_rank(me)) }
    } else {
        Ok(())
    };
    let ranks = 0..within.size as u32;
    // SAFETY: passed on to the caller.
    let packed = unsafe { PackedBlocks::of(ranks.clone().map(|rank| outgoing.to(rank)), block) }?;
    let mut places = ReceiveBlocks::of(ranks.map(|rank| (incoming.of_rank(rank), block)))?;
    // SAFETY: the application leaves both buffers alone during the call, and its blocks do not
    // overlap.
    exchange(&packed.blocks(), &mut unsafe { places.blocks() })?;
    // SAFETY: passed on to the caller.
    unsafe { places.unpack(me) }.and(copied)
}

/// Blocks to send as octets: the application's own memory where it is plain, else a copy.
struct PackedBlocks {
    at: Vec<*const u8>,
    length: usize,
    /// Holds what the addresses point to.
    _copy: Vec<u8>,
}

impl PackedBlocks {
    /// # Safety
    /// The buffers must hold what their datatypes say, and stay as they are as long as this lives.
    unsafe fn of(
        blocks: impl Iterator<Item = MpiElements>,
        length: usize,
    ) -> MpiResult<PackedBlocks> {
        let blocks: Vec<MpiElements> = blocks.collect();
        let plain = blocks
            .first()
            .is_none_or(|b| b.datatype == mpi().handle.packed)
            || DatatypeLayout::of(blocks[0].datatype)?.plain;
        if plain {
            return Ok(PackedBlocks {
                at: blocks.iter().map(|b| b.at.cast_const().cast()).collect(),
                length,
                _copy: Vec::new(),
            });
        }
        let mut copy = room(length.saturating_mul(blocks.len()))?;
        for (block, place) in blocks.iter().zip(copy.chunks_exact_mut(length)) {
            // SAFETY: passed on to the caller.
            unsafe { block.copy(octets_of(place)) }?;
        }
        Ok(PackedBlocks {
            at: copy.chunks_exact(length).map(<[u8]>::as_ptr).collect(),
            length,
            _copy: copy,
        })
    }

    fn blocks(&self) -> Vec<&[u8]> {
        // SAFETY: each address begins a block of this length: MPI's argument, or a chunk of the
        // copy.
        self.at
            .iter()
            .map(|&at| unsafe { std::slice::from_raw_parts(at, self.length) })
            .collect()
    }
}

/// Where blocks are received as octets: the application's own memory where it is plain, else aside.
pub(crate) struct ReceiveBlocks {
    /// Each block, and its octets.
    blocks: Vec<(MpiElements, usize)>,
    /// By rank.
    aside: Option<Vec<Vec<u8>>>,
}

impl ReceiveBlocks {
    pub(crate) fn of(
        blocks: impl Iterator<Item = (MpiElements, usize)>,
    ) -> MpiResult<ReceiveBlocks> {
        let blocks: Vec<(MpiElements, usize)> = blocks.collect();
        let plain = blocks
            .first()
            .is_none_or(|(b, _)| b.datatype == mpi().handle.byte)
            || DatatypeLayout::of(blocks[0].0.datatype)?.plain;
        let aside = if plain {
            None
        } else {
            let rooms: MpiResult<_> = blocks.iter().map(|&(_, length)| room(length)).collect();
            Some(rooms?)
        };
        Ok(ReceiveBlocks { blocks, aside })
    }

    /// # Safety
    /// The application's blocks must be as long as said and not overlap.
    pub(crate) unsafe fn blocks(&mut self) -> Vec<&mut [u8]> {
        match &mut self.aside {
            Some(aside) => aside.iter_mut().map(Vec::as_mut_slice).collect(),
            None => self
                .blocks
                .iter()
                .map(|&(block, length)| match length {
                    // It may be anywhere, even at no address.
                    0 => &mut [][..],
                    // SAFETY: passed on to the caller.
                    _ => unsafe { std::slice::from_raw_parts_mut(block.at.cast(), length) },
                })
                .collect(),
        }
    }

    /// Puts a rank's block aside as the others' will be.
    ///
    /// # Safety
    /// The buffer must hold what its datatype says.
    pub(crate) unsafe fn pack(&mut self, rank: u32) -> MpiResult<()> {
        let Some(aside) = &mut self.aside else {
            return Ok(());
        };
        let rank = rank as usize;
        // SAFETY: passed on to the caller.
        unsafe { self.blocks[rank].0.copy(octets_of(&aside[rank])) }
    }

    /// Puts what came aside where it belongs; the block of `me` is there.
    ///
    /// # Safety
    /// The buffers must have room for what their datatypes say.
    pub(crate) unsafe fn unpack(&self, me: u32) -> MpiResult<()> {
        let Some(aside) = &self.aside else {
            return Ok(());
        };
        for (rank, (&(block, _), octets)) in (0..).zip(self.blocks.iter().zip(aside)) {
            if rank != me {
                // SAFETY: passed on to the caller.
                unsafe { octets_of(octets).copy(block) }?;
            }
        }
        Ok(())
    }
}

/// Octets as elements of any type, as the standard lets them be sent and received (MPI-4.1, 5.2:
/// MPI_PACKED).
pub(crate) fn octets_of(octets: &[u8]) -> MpiElements {
    MpiElements {
        at: octets.as_ptr().cast_mut().cast(),
        count: octets.len() as c_int,
        datatype: mpi().handle.packed,
    }
}

pub(crate) fn room(octets: usize) -> MpiResult<Vec<u8>> {
    let mut room = Vec::new();
    room.try_reserve_exact(octets)
        .map_err(|_| MpiErrorCode::no_memory())?;
    room.resize(octets, 0);
    Ok(room)
}
