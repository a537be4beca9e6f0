//! The lengths of the blocks that a rank sends and receives, one behind the other in its buffers.
use crate::bench_collective::BenchCollective;
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

    /// What rank `me` of `ranks` sends.
    pub(crate) fn sent(of: BenchCollective, block: usize, me: usize, ranks: usize) -> BlockLayout {
        if of.goes_to_all() {
            BlockLayout::new(std::iter::once(of.length(block, me, 0)))
        } else {
            BlockLayout::new((0..ranks).map(|to| of.length(block, me, to)))
        }
    }

    /// What it receives.
    pub(crate) fn received(
        of: BenchCollective,
        block: usize,
        me: usize,
        ranks: usize,
    ) -> BlockLayout {
        let to = if of.goes_to_all() { 0 } else { me };
        let ranks = if of.comes_as_one() { 1 } else { ranks };
        BlockLayout::new((0..ranks).map(|from| of.length(block, from, to)))
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
