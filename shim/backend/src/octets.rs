//! Blocks as octets, whatever their datatypes are: the application's own memory where it is plain,
//! else a copy.
use crate::abi::MPI_Datatype;
use crate::call::{CollectiveCall, SendBlocks};
use crate::call_comm::CallComm;
use crate::elements::{MpiElements, octets_of, room};
use crate::mpi_result::MpiResult;

/// An all-to-all in which `exchange` fills the second blocks from the first ones of all ranks; the
/// rank's own is copied here.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(
    call: &CollectiveCall,
    within: &CallComm,
    exchange: impl FnOnce(&[&[u8]], &mut [&mut [u8]]) -> MpiResult<()>,
) -> MpiResult<()> {
    let me = within.rank as u32;
    // SAFETY: passed on to the caller.
    let outgoing = unsafe { SendBlocks::new(call, within.size) }?;
    let incoming = call.received()?;
    // If its own block does not fit, others still wait for what this rank sends.
    let copied = if outgoing.own_block_moves() {
        // SAFETY: passed on to the caller.
        unsafe { outgoing.to(me).copy(incoming.of_rank(me)) }
    } else {
        Ok(())
    };
    let ranks = 0..within.size as u32;
    let sent = ranks
        .clone()
        .map(|rank| (outgoing.to(rank), outgoing.octets(rank)));
    // SAFETY: passed on to the caller.
    let packed = unsafe { PackedBlocks::pack(sent) }?;
    let mut places =
        ReceiveBlocks::allocate(ranks.map(|rank| (incoming.of_rank(rank), incoming.octets(rank))))?;
    // SAFETY: the application leaves both buffers alone during the call, and its blocks do not
    // overlap.
    exchange(&packed.blocks(), &mut unsafe { places.blocks() })?;
    // SAFETY: passed on to the caller.
    unsafe { places.unpack(me) }.and(copied)
}

/// Blocks to send as octets: the application's own memory where it is plain, else a copy.
struct PackedBlocks {
    /// The address and the length of each.
    blocks: Vec<(*const u8, usize)>,
    /// Hold what some of the addresses point to.
    _copies: Vec<Vec<u8>>,
}

impl PackedBlocks {
    /// # Safety
    /// The buffers must hold what their datatypes say, and stay as they are as long as this lives.
    unsafe fn pack(blocks: impl Iterator<Item = (MpiElements, usize)>) -> MpiResult<PackedBlocks> {
        let mut packed = PackedBlocks {
            blocks: Vec::new(),
            _copies: Vec::new(),
        };
        let mut plain = PlainTypes::default();
        for (block, octets) in blocks {
            if octets == 0 || plain.is_plain(&block)? {
                packed.blocks.push((block.at.cast_const().cast(), octets));
                continue;
            }
            let mut copy = room(octets)?;
            // SAFETY: passed on to the caller.
            unsafe { block.copy(octets_of(&mut copy)) }?;
            packed.blocks.push((copy.as_ptr(), octets));
            packed._copies.push(copy);
        }
        Ok(packed)
    }

    fn blocks(&self) -> Vec<&[u8]> {
        self.blocks
            .iter()
            .map(|&(at, octets)| match octets {
                // It may be anywhere, even at no address.
                0 => &[][..],
                // SAFETY: each address begins a block of this length: MPI's argument, or a copy.
                _ => unsafe { std::slice::from_raw_parts(at, octets) },
            })
            .collect()
    }
}

/// Where blocks are received as octets: the application's own memory where it is plain, else aside.
pub(crate) struct ReceiveBlocks {
    /// Each block, its octets, and where they lie if not in the block.
    blocks: Vec<(MpiElements, usize, Option<Vec<u8>>)>,
}

impl ReceiveBlocks {
    pub(crate) fn allocate(
        blocks: impl Iterator<Item = (MpiElements, usize)>,
    ) -> MpiResult<ReceiveBlocks> {
        let mut plain = PlainTypes::default();
        let blocks = blocks
            .map(|(block, octets)| {
                let in_place = octets == 0 || plain.is_plain(&block)?;
                let aside = if in_place { None } else { Some(room(octets)?) };
                Ok((block, octets, aside))
            })
            .collect::<MpiResult<_>>()?;
        Ok(ReceiveBlocks { blocks })
    }

    /// # Safety
    /// The application's blocks must be as long as stated and not overlap.
    pub(crate) unsafe fn blocks(&mut self) -> Vec<&mut [u8]> {
        let mut slices: Vec<&mut [u8]> = Vec::with_capacity(self.blocks.len());
        for (block, octets, aside) in &mut self.blocks {
            slices.push(match (aside, *octets) {
                (Some(aside), _) => aside,
                // It may be anywhere, even at no address.
                (None, 0) => &mut [],
                // SAFETY: passed on to the caller.
                (None, octets) => unsafe {
                    std::slice::from_raw_parts_mut(block.at.cast(), octets)
                },
            });
        }
        slices
    }

    /// Puts a rank's block aside as the others' will be.
    ///
    /// # Safety
    /// The buffer must hold what its datatype says.
    pub(crate) unsafe fn pack(&mut self, rank: u32) -> MpiResult<()> {
        match &mut self.blocks[rank as usize] {
            // SAFETY: passed on to the caller.
            (block, _, Some(aside)) => unsafe { block.copy(octets_of(aside)) },
            _ => Ok(()),
        }
    }

    /// Puts what came aside where it belongs; the block of `me` is there.
    ///
    /// # Safety
    /// The buffers must have room for what their datatypes say.
    pub(crate) unsafe fn unpack(&mut self, me: u32) -> MpiResult<()> {
        for (rank, (block, _, aside)) in (0..).zip(&mut self.blocks) {
            if let Some(aside) = aside.as_mut().filter(|_| rank != me) {
                // SAFETY: passed on to the caller.
                unsafe { octets_of(aside).copy(*block) }?;
            }
        }
        Ok(())
    }
}

/// Whether datatypes are plain: asked once for several blocks of one type in a row.
#[derive(Default)]
struct PlainTypes {
    last: Option<(MPI_Datatype, bool)>,
}

impl PlainTypes {
    fn is_plain(&mut self, block: &MpiElements) -> MpiResult<bool> {
        if let Some((datatype, plain)) = self.last
            && datatype == block.datatype
        {
            return Ok(plain);
        }
        let plain = block.plain_octets()?.is_some();
        self.last = Some((block.datatype, plain));
        Ok(plain)
    }
}
