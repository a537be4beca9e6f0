//! The lengths of the blocks that a rank sends and receives, one behind the other in its buffers.
use crate::block_lengths::BlockLengths;
use mpi::Count;

/// One block for each receiver or from each sender; in an allgather one block for all.
pub(crate) struct BlockLayout {
    pub(crate) counts: Vec<Count>,
    pub(crate) places: Vec<Count>,
}

impl BlockLayout {
    fn new(lengths: impl Iterator<Item = usize>) -> BlockLayout {
        let counts: Vec<Count> = lengths.map(|length| length as Count).collect();
        let places = counts
            .iter()
            .scan(0, |end, count| {
                *end += count;
                Some(*end - count)
            })
            .collect();
        BlockLayout { counts, places }
    }

    /// The blocks that rank `me` sends; perhaps one block for all.
    pub(crate) fn sent(of: &BlockLengths, me: usize, to_all: bool) -> BlockLayout {
        let receivers = if to_all { 0..1 } else { 0..of.ranks() };
        BlockLayout::new(receivers.map(|to| of.length(me, to)))
    }

    /// One block.
    pub(crate) fn one(of: &BlockLengths, me: usize) -> BlockLayout {
        BlockLayout::new(std::iter::once(of.length(me, me)))
    }

    /// The blocks that it receives.
    pub(crate) fn received(of: &BlockLengths, me: usize, to_all: bool) -> BlockLayout {
        let to = if to_all { 0 } else { me };
        BlockLayout::new((0..of.ranks()).map(|from| of.length(from, to)))
    }

    pub(crate) fn octets(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).sum()
    }

    /// The blocks of a buffer that is laid out so.
    pub(crate) fn blocks<'b>(&self, buffer: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        let mut rest = buffer;
        self.counts.iter().map(move |&count| {
            let (block, behind) = rest.split_at(count as usize);
            rest = behind;
            block
        })
    }
}
