//! The length of the block from each rank to each other one.

pub(crate) struct BlockLengths {
    ranks: usize,
    /// By sender, then by receiver.
    lengths: Vec<usize>,
}

impl BlockLengths {
    fn new(ranks: usize, length: impl Fn(usize, usize) -> usize) -> BlockLengths {
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let lengths = pairs.map(|(from, to)| length(from, to)).collect();
        BlockLengths { ranks, lengths }
    }

    pub(crate) fn equal(block: usize, ranks: usize) -> BlockLengths {
        BlockLengths::new(ranks, |_, _| block)
    }

    /// Every other block is three times as long as the others.
    pub(crate) fn alternating(mean: usize, ranks: usize) -> BlockLengths {
        BlockLengths::new(ranks, |from, to| match (from + to) % 2 {
            0 => mean - mean / 2,
            _ => mean + mean / 2,
        })
    }

    /// The k-th largest is 1 / k^exponent of the largest; which one that is looks random, and is
    /// the same on each rank and in each run. Nothing for a rank itself.
    pub(crate) fn by_zipf(mean: usize, ranks: usize, exponent: f64) -> BlockLengths {
        let pairs = ranks * (ranks - 1);
        let mut place: Vec<usize> = (1..=pairs).collect();
        let mut state = 1u64;
        for last in (1..pairs).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            place.swap(last, (state >> 33) as usize % (last + 1));
        }
        let part = |place: usize| (place as f64).powf(-exponent);
        let whole: f64 = (1..=pairs).map(part).sum();
        let largest = (mean * pairs) as f64 / whole;
        BlockLengths::new(ranks, |from, to| {
            let number = from * (ranks - 1) + if to > from { to - 1 } else { to };
            if from == to {
                0
            } else {
                (largest * part(place[number])) as usize
            }
        })
    }

    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    pub(crate) fn length(&self, from: usize, to: usize) -> usize {
        self.lengths[from * self.ranks + to]
    }
}
