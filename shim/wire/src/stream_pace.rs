//! How fast a stream to another rank goes, and what follows from it: whether timers pace it, and
//! how many octets are few at that rate.
//!
//! At 500 Mbit/s and more a card sends a block in as few segments as its kernel can make, and timers
//! between them cost more than they even out: 4 hosts at 1 Gbit/s took 0.72 ms for blocks of 16 kB
//! with them, 0.53 ms without. Timers are left where a later link is slower than the card, for its
//! queue would have to hold what comes too fast.
use inventory::BitsPerSec;
use std::time::Duration;

/// From this rate on timers cost more than they even out.
const FAST: BitsPerSec = BitsPerSec::mega(500);
/// About the time in which a rank can be woken: what passes in it is few octets.
const WAKING: Duration = Duration::from_micros(50);

/// The rates on the way to another rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPace {
    /// The slowest link.
    pub slowest: BitsPerSec,
    /// This host's own link.
    pub own: BitsPerSec,
}

impl StreamPace {
    /// The rate at which timers send the stream, if they do.
    pub fn of_timers(self) -> Option<BitsPerSec> {
        let card_does = self.slowest >= FAST && self.own <= self.slowest;
        (!card_does).then_some(self.slowest)
    }

    /// `least`, or the octets that pass while a rank is woken, if those are more.
    pub fn few(self, least: usize) -> usize {
        let passing = u128::from(self.slowest.0) * WAKING.as_nanos() / 8_000_000_000;
        usize::try_from(passing).map_or(least, |passing| passing.max(least))
    }

    /// True if a chunk of many octets lasts no longer than others do on slow links.
    pub fn is_fast(self) -> bool {
        self.slowest >= FAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(slowest: u64, own: u64) -> StreamPace {
        StreamPace {
            slowest: BitsPerSec::mega(slowest),
            own: BitsPerSec::mega(own),
        }
    }

    #[test]
    fn timers_pace_where_the_card_does_not() {
        let rate = |slowest, own| pace(slowest, own).of_timers();
        assert_eq!(rate(100, 100), Some(BitsPerSec::mega(100)));
        assert_eq!(rate(1_000, 1_000), None);
        assert_eq!(rate(1_000, 10_000), Some(BitsPerSec::GIGABIT));
    }

    #[test]
    fn few_octets_are_more_on_a_faster_link() {
        assert_eq!(pace(20, 20).few(8192), 8192);
        assert_eq!(pace(10_000, 10_000).few(8192), 62_500);
    }
}
