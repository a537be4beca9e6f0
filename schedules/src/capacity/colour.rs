//! Colours the edges of a bipartite multigraph with as many colours as its largest degree.
//!
//! Source: König, Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre, 1916.
//! Where the ends of a new edge miss no common colour, two colours change places along a path, and
//! then the ends miss a common one. Cost: for each edge at most the vertices of such a path, mostly
//! a few.

/// There is no neighbour by that colour.
const NONE: u32 = u32::MAX;

/// Edges coloured so that no two edges of one vertex have the same colour. Vertices are numbered on
/// each side from 0.
pub(crate) struct EdgeColouring {
    left: usize,
    colours: usize,
    /// For each vertex, those on the left first, and each colour: the neighbour, numbered likewise.
    neighbour: Vec<u32>,
    /// For each vertex a bit for every colour it misses.
    missing: Vec<u64>,
    /// Words of `missing` for each vertex.
    words: usize,
}

impl EdgeColouring {
    /// No edges yet.
    pub(crate) fn new(left: usize, right: usize, colours: usize) -> EdgeColouring {
        let words = colours.div_ceil(64);
        let mut all = vec![u64::MAX; words];
        if !colours.is_multiple_of(64) {
            all[words - 1] = (1 << (colours % 64)) - 1;
        }
        let missing = all.repeat(left + right);
        EdgeColouring {
            left,
            colours,
            neighbour: vec![NONE; (left + right) * colours],
            missing,
            words,
        }
    }

    /// Adds an edge. Both of its vertices must have fewer edges than there are colours.
    pub(crate) fn add(&mut self, left: usize, right: usize) {
        let (l, r) = (left, self.left + right);
        let colour = self.in_common(l, r).unwrap_or_else(|| {
            let (at_l, at_r) = (self.missed_by(l), self.missed_by(r));
            // The path enters vertices on the left by colour `at_l`, which l misses: it never comes to l.
            self.swap_along(r, at_l, at_r);
            at_l
        });
        self.give(l, r, colour);
    }

    /// Adds an edge, of this colour if both of its vertices miss it.
    pub(crate) fn add_with(&mut self, left: usize, right: usize, colour: usize) -> bool {
        let (l, r) = (left, self.left + right);
        let misses =
            |v: usize| self.missing[v * self.words + colour / 64] >> (colour % 64) & 1 == 1;
        let is_free = misses(l) && misses(r);
        if is_free {
            self.give(l, r, colour);
        }
        is_free
    }

    fn give(&mut self, l: usize, r: usize, colour: usize) {
        self.neighbour[l * self.colours + colour] = r as u32;
        self.neighbour[r * self.colours + colour] = l as u32;
        self.flip(l, colour);
        self.flip(r, colour);
    }

    /// The right end of the edge with this colour at a vertex on the left.
    pub(crate) fn right_of(&self, left: usize, colour: usize) -> Option<usize> {
        let neighbour = self.neighbour[left * self.colours + colour];
        (neighbour != NONE).then(|| neighbour as usize - self.left)
    }

    fn in_common(&self, l: usize, r: usize) -> Option<usize> {
        let [at_l, at_r] = [l, r].map(|v| &self.missing[v * self.words..(v + 1) * self.words]);
        let mut words = at_l.iter().zip(at_r).enumerate();
        words.find_map(|(word, (a, b))| {
            (a & b != 0).then(|| word * 64 + (a & b).trailing_zeros() as usize)
        })
    }

    fn missed_by(&self, v: usize) -> usize {
        let words = &self.missing[v * self.words..(v + 1) * self.words];
        let word = words.iter().position(|&word| word != 0);
        word.map_or_else(
            || unreachable!("a vertex has more edges than there are colours"),
            |w| w * 64 + words[w].trailing_zeros() as usize,
        )
    }

    fn flip(&mut self, v: usize, colour: usize) {
        self.missing[v * self.words + colour / 64] ^= 1 << (colour % 64);
    }

    /// Swaps two colours along the path from `start`, which has an edge of colour `a` and misses
    /// `b`.
    fn swap_along(&mut self, start: usize, a: usize, b: usize) {
        let (mut v, mut colour) = (start, a);
        let end = loop {
            let next = self.neighbour[v * self.colours + colour];
            self.neighbour
                .swap(v * self.colours + a, v * self.colours + b);
            if next == NONE {
                break v;
            }
            v = next as usize;
            colour = a + b - colour;
        };
        for v in [start, end] {
            self.flip(v, a);
            self.flip(v, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn every_regular_graph_gets_by_with_its_degree() {
        let mut random = SplitMix64::new(1);
        for degree in [1, 2, 3, 7, 64, 65, 130] {
            let n = 40;
            let mut edges: Vec<(usize, usize)> = Vec::new();
            for _ in 0..degree {
                let mut right: Vec<usize> = (0..n).collect();
                (1..n)
                    .rev()
                    .for_each(|i| right.swap(i, random.below_wide(i as u64 + 1) as usize));
                edges.extend((0..n).zip(right));
            }
            (1..edges.len())
                .rev()
                .for_each(|i| edges.swap(i, random.below_wide(i as u64 + 1) as usize));
            let mut colouring = EdgeColouring::new(n, n, degree);
            edges.iter().for_each(|&(l, r)| colouring.add(l, r));
            let mut found = Vec::new();
            for colour in 0..degree {
                let mut matched: Vec<usize> = (0..n)
                    .filter_map(|l| colouring.right_of(l, colour))
                    .collect();
                found.extend((0..n).filter_map(|l| colouring.right_of(l, colour).map(|r| (l, r))));
                matched.sort_unstable();
                assert_eq!(
                    matched,
                    (0..n).collect::<Vec<_>>(),
                    "every colour is a perfect matching"
                );
            }
            found.sort_unstable();
            edges.sort_unstable();
            assert_eq!(found, edges);
        }
    }
}
