//! The number of calls until the ranks agree again.
//!
//! An agreement is a broadcast from rank 0, so all ranks must enter it at the same call. A clock
//! differs from rank to rank; the number and sizes of the calls on a communicator do not. So every
//! rank counts *work*, one for a call and one more for each 4 KiB that the whole communicator moves
//! in it, and rank 0 says with every agreement after how much work the next one comes. Counting
//! bytes too keeps the count sane when a program goes from thousands of tiny calls a second to one
//! huge call every few seconds.
use std::time::Duration;

/// Rank 0 looks into the shared directory about this often. Each look has a price that no rank sees: the
/// broadcast wakes all ranks between their calls. With 4 ranks a host on two processors, 47 looks in half
/// a minute cost LAMMPS 1.7 %.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// An agreement may take this share of the time: one part in this many. Its cost is more than
/// rank 0 sees: the ranks leave it one after the other, and over a long cable the next call begins
/// that unevenly.
const COST: f64 = 300.0;
/// Never let more work than this pass where an agreement costs little: a program that goes over
/// from fast calls to slow ones must not wait for an agreement for hours.
const MOST: f64 = 4096.0;
/// Never more than this many times the last amount: one call that looked fast says little.
const GROWTH: f64 = 4.0;

/// Counts work down; the same on every rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreementPace {
    until: u64,
    done: u64,
}

impl AgreementPace {
    /// The next agreement is due after `work`.
    pub fn new(work: u32) -> AgreementPace {
        AgreementPace {
            until: u64::from(work),
            done: 0,
        }
    }

    /// Counts a call in which each of `ranks` ranks moves blocks of `block` bytes with every other
    /// one, and says whether an agreement comes before it.
    pub fn due(&mut self, ranks: u64, block: u64) -> bool {
        self.pass(work(ranks, block), 1);
        self.done >= self.until
    }

    /// Counts calls of so much work each before which no agreement came.
    pub fn pass(&mut self, work: u64, calls: u32) {
        self.done = self.done.saturating_add(work.saturating_mul(calls.into()));
    }

    /// The work of calls before which no agreement comes.
    pub fn room(&self) -> u64 {
        self.until.saturating_sub(self.done.saturating_add(1))
    }

    /// Counts what a call moves whose size was not known when it was counted.
    pub fn add(&mut self, ranks: u64, block: u64) {
        self.done = self.done.saturating_add(moved(ranks, block));
    }

    /// Work done since the last agreement.
    pub fn done(&self) -> u64 {
        self.done
    }
}

/// The work of a call in which each of `ranks` ranks moves blocks of `block` bytes with every other
/// one.
pub fn work(ranks: u64, block: u64) -> u64 {
    moved(ranks, block).saturating_add(1)
}

fn moved(ranks: u64, block: u64) -> u64 {
    block.saturating_mul(ranks).saturating_mul(ranks) >> 12
}

/// Agreements whose cost is remembered.
const REMEMBERED: usize = 5;

/// The usual cost of an agreement: the median of the last few. One that met a rank, or this
/// process, off the processor says nothing of the next, and by its cost alone a job would be blind
/// to new epochs for three hundred times as long.
#[derive(Debug, Clone, Default)]
pub struct AgreementCost {
    last: [Duration; REMEMBERED],
    known: usize,
    total: Duration,
}

impl AgreementCost {
    /// An agreement took so long.
    pub fn add(&mut self, took: Duration) {
        self.last[self.known % REMEMBERED] = took;
        self.known += 1;
        self.total += took;
    }

    /// The number of agreements, and the time they took together.
    pub fn all(&self) -> (usize, Duration) {
        (self.known, self.total)
    }

    /// The median, of an even number the lower one; zero if nothing is known.
    pub fn usual(&self) -> Duration {
        let mut last = self.last;
        let known = &mut last[..self.known.min(REMEMBERED)];
        known.sort_unstable();
        known
            .get(known.len().saturating_sub(1) / 2)
            .copied()
            .unwrap_or_default()
    }
}

/// How much work until the next agreement, from what passed since the last one: `work` done in
/// `elapsed`, and the usual `cost` of an agreement.
pub fn next(work: u64, elapsed: Duration, cost: Duration) -> u32 {
    let work = work.max(1) as f64;
    let each = (elapsed.as_secs_f64() / work).max(1e-9);
    let often_enough = (INTERVAL.as_secs_f64() / each).clamp(1.0, MOST);
    let rarely_enough = COST * cost.as_secs_f64() / each;
    often_enough
        .max(rarely_enough)
        .min(GROWTH * work)
        .ceil()
        .min(1e9) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_calls_and_bytes() {
        let mut pace = AgreementPace::new(3);
        assert!(!pace.due(4, 8));
        assert!(!pace.due(4, 8));
        assert!(pace.due(4, 8));
        assert!(AgreementPace::new(1000).due(16, 1 << 20));
    }

    #[test]
    fn what_has_room_passes_and_then_an_agreement_is_due() {
        for (ranks, block) in [(4, 8), (16, 1024), (4, 3000)] {
            let (mut counted, mut passed) = (AgreementPace::new(1000), AgreementPace::new(1000));
            let before = (0..).find(|_| counted.due(ranks, block)).unwrap();
            let calls = (passed.room() / work(ranks, block)) as u32;
            passed.pass(work(ranks, block), calls);
            assert_eq!(calls, before);
            assert!(passed.due(ranks, block));
            assert_eq!(passed, counted);
        }
    }

    #[test]
    fn slow_calls_are_looked_at_each_time_and_fast_ones_rarely() {
        let ms = Duration::from_millis;
        let us = Duration::from_micros;
        assert_eq!(next(10, ms(10_000), us(100)), 1);
        assert_eq!(next(1000, ms(1000), us(10)), 1000);
        assert_eq!(next(10_000, ms(10), us(10)), 4096);
        assert_eq!(next(2000, ms(2000), ms(10)), 3000);
        assert_eq!(next(1, us(1), us(1)), 4);
    }

    /// The cost of an agreement, and what passes until the next one where a unit of work takes 10
    /// us.
    fn agree(cost: &mut AgreementCost, took: Duration, work: u32) -> u32 {
        cost.add(took);
        next(
            u64::from(work),
            Duration::from_micros(10) * work,
            cost.usual(),
        )
    }

    #[test]
    fn a_stalled_agreement_delays_none_of_the_next() {
        let (mut cost, mut work) = (AgreementCost::default(), 4);
        assert_eq!(cost.usual(), Duration::ZERO);
        for n in 0..40 {
            let took = if n % 5 > 2 {
                Duration::from_secs(1)
            } else {
                Duration::from_micros(100)
            };
            work = agree(&mut cost, took, work);
            assert!(work <= 4096, "agreement {n}: {work}");
        }
    }

    #[test]
    fn steady_agreements_take_at_most_one_part_in_three_hundred() {
        for micros in [1, 100, 1000, 100_000] {
            let took = Duration::from_micros(micros);
            let (mut cost, mut work) = (AgreementCost::default(), 1);
            (0..20).for_each(|_| work = agree(&mut cost, took, work));
            assert_eq!(cost.all(), (20, 20 * took));
            assert!(
                300 * took <= Duration::from_micros(10) * work,
                "{micros} us: {work}"
            );
        }
    }
}
