//! One buffer of a call, and its copy in the host's memory.
use super::driver::DeviceCopy;
use super::footprint::{Footprint, joined, touched};
use super::loaded::{DeviceMemory, device_memory};
use crate::abi::{MPI_Count, MPI_Datatype};
use crate::call::{BlockCounts, BlockTypes, CallBuffer, RankBlocks};
use crate::mpi_result::MpiResult;
use std::ops::Range;
use std::ptr::null_mut;

/// A copy begins at the same part of a line of the cache: elements lie as they did.
const LINE: usize = 64;

/// The ranks whose blocks in a buffer a call reads, and those whose blocks it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BufferUse {
    pub(crate) reads: Range<u32>,
    pub(crate) writes: Range<u32>,
}

/// A buffer of which some blocks, or all, lie in the memory of a device.
pub(crate) struct StagedSide {
    blocks: RankBlocks,
    ranks: u32,
    reads: Vec<Footprint>,
    writes: Vec<Footprint>,
    /// All that the call touches in the buffer, in ascending order.
    stretches: Vec<Stretch>,
}

/// A stretch of the buffer.
struct Stretch {
    octets: Range<usize>,
    /// Where it lies, unless in the host's memory.
    on: Option<DeviceMemory>,
    /// The address of its copy; its own if it has none.
    copy: usize,
}

impl Stretch {
    fn is_at(&self, address: usize) -> bool {
        self.octets.contains(&address)
    }

    /// The address of an octet's copy. The octet need not be in the stretch.
    fn copied(&self, address: usize) -> usize {
        address
            .wrapping_sub(self.octets.start)
            .wrapping_add(self.copy)
    }
}

/// The arguments of a buffer whose blocks lie anywhere: their places are addresses.
#[derive(Default)]
pub(crate) struct SideArrays {
    counts: Vec<MPI_Count>,
    places: Vec<isize>,
    types: Vec<MPI_Datatype>,
}

impl StagedSide {
    /// `None` if the host can touch all that the call does there.
    pub(crate) fn new(
        buffer: CallBuffer,
        ranks: u32,
        used: BufferUse,
    ) -> MpiResult<Option<StagedSide>> {
        if used.reads.is_empty() && used.writes.is_empty() {
            return Ok(None);
        }
        let blocks = RankBlocks::new(buffer)?;
        let reads = footprints(&blocks, used.reads)?;
        let writes = footprints(&blocks, used.writes)?;
        let all = reads.iter().chain(&writes);
        let stretches: Vec<Stretch> = joined(all.map(|block| block.stretch.clone()))
            .into_iter()
            .map(|octets| Stretch {
                on: device_memory(octets.start),
                copy: octets.start,
                octets,
            })
            .collect();
        let staged = stretches.iter().any(|stretch| stretch.on.is_some());
        Ok(staged.then_some(StagedSide {
            blocks,
            ranks,
            reads,
            writes,
            stretches,
        }))
    }

    /// Some device memory of the buffer.
    pub(crate) fn memory(&self) -> Option<DeviceMemory> {
        self.stretches.iter().find_map(|stretch| stretch.on)
    }

    /// The octets that the copies take.
    pub(crate) fn room(&self) -> usize {
        self.staged()
            .map(|stretch| stretch.octets.len() + LINE)
            .sum()
    }

    /// Puts the copies there. Gives the first address behind them.
    pub(crate) fn lay_out(&mut self, room: usize) -> usize {
        let mut free = room;
        for stretch in &mut self.stretches {
            if stretch.on.is_some() {
                stretch.copy = free + stretch.octets.start.wrapping_sub(free) % LINE;
                free = stretch.copy + stretch.octets.len();
            }
        }
        free
    }

    /// The argument of a call on the copies. It must not outlive the arrays.
    pub(crate) fn buffer(&self, arrays: &mut SideArrays) -> CallBuffer {
        let whole = self.blocks.buffer();
        // One distance moves all blocks: the call's own counts and places hold.
        if let [stretch] = &self.stretches[..] {
            let at = stretch.copied(whole.at as usize) as *mut _;
            return CallBuffer { at, ..whole };
        }
        *arrays = SideArrays::default();
        for rank in 0..self.ranks {
            let block = self.blocks.of_rank(rank);
            let footprint = Footprint::new(block).ok().flatten();
            let stretch = footprint.and_then(|footprint| {
                let begin = footprint.stretch.start;
                self.stretches.iter().find(|stretch| stretch.is_at(begin))
            });
            let address = block.at as usize;
            let at = stretch.map_or(address, |stretch| stretch.copied(address));
            arrays.counts.push(block.count);
            arrays.places.push(at as isize);
            arrays.types.push(block.datatype);
        }
        CallBuffer {
            at: null_mut(),
            counts: BlockCounts::Large {
                counts: arrays.counts.as_ptr(),
                places: arrays.places.as_ptr(),
            },
            types: BlockTypes::Each(arrays.types.as_ptr()),
        }
    }

    /// The copies of what the call reads, from the devices.
    pub(crate) fn to_host(&self) -> Vec<(DeviceMemory, DeviceCopy)> {
        let read = joined(self.reads.iter().map(|block| block.stretch.clone()));
        let mut copies = Vec::new();
        for stretch in self.staged() {
            copies.extend(
                read.iter()
                    .filter(|read| stretch.is_at(read.start))
                    .filter_map(|read| {
                        Some((
                            stretch.on?,
                            DeviceCopy {
                                to: stretch.copied(read.start),
                                from: read.start,
                                octets: read.len(),
                            },
                        ))
                    }),
            );
        }
        copies
    }

    /// The copies of what the call wrote, to the devices.
    pub(crate) fn to_device(&self) -> MpiResult<Vec<(DeviceMemory, DeviceCopy)>> {
        let mut copies = Vec::new();
        for stretch in self.staged() {
            let written: Vec<&Footprint> = self
                .writes
                .iter()
                .filter(|block| stretch.is_at(block.stretch.start))
                .collect();
            for octets in touched(&stretch.octets, &written)? {
                copies.extend(stretch.on.map(|on| {
                    (
                        on,
                        DeviceCopy {
                            to: octets.start,
                            from: stretch.copied(octets.start),
                            octets: octets.len(),
                        },
                    )
                }));
            }
        }
        Ok(copies)
    }

    fn staged(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(|stretch| stretch.on.is_some())
    }
}

fn footprints(blocks: &RankBlocks, ranks: Range<u32>) -> MpiResult<Vec<Footprint>> {
    if ranks.is_empty() {
        return Ok(Vec::new());
    }
    let blocks = blocks.of_ranks(ranks).into_iter();
    blocks
        .filter_map(|block| Footprint::new(block).transpose())
        .collect()
}
