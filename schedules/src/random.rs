//! Numbers that look random and are the same on every machine.

/// SplitMix64. Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014, Figure 14.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; all are equally likely, up to 1 in 2^64. 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.below_wide(end as u64) as usize
    }

    /// As [`SplitMix64::below`], with 64 bits.
    pub fn below_wide(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 up to, but not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts `items` into a random order; all orders are equally likely (Fisher, Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_sequence() {
        let mut random = SplitMix64::new(1_234_567);
        let first = [0; 5].map(|_: u8| random.next());
        assert_eq!(
            first,
            [
                6457827717110365317,
                3203168211198807973,
                9817491932198370423,
                4593380528125082431,
                16408922859458223821
            ]
        );
    }

    #[test]
    fn stays_in_its_limits_and_shuffles() {
        let mut random = SplitMix64::new(7);
        let mut seen = [false; 10];
        (0..200).for_each(|_| seen[random.below(10)] = true);
        assert!(seen.iter().all(|&seen| seen) && random.below(0) == 0);
        assert!(
            (0..200)
                .map(|_| random.unit())
                .all(|x| (0.0..1.0).contains(&x))
        );
        let mut items: Vec<u32> = (0..50).collect();
        random.shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<u32>>());
    }
}
