//! How fast blocks come from each rank, as their receiver sees it: the rest of a block over the time
//! since its first octets came. Waits before a block do not count, in queues or for
//! tokens. So only flows that share a cable with it make it slower.
//!
//! Of a block that is not metered, a rank hears when most of it is there. The first octets cost it
//! one more wake-up, so only some calls are metered.
use std::time::{Duration, Instant};

/// Blocks below say more of queues and processors than of cables.
const LEAST_BLOCK: usize = 8 * 1024;
/// The cost of metering a block, about, and the part of the block's time that it may take.
const COST: Duration = Duration::from_micros(20);
const SHARE: f64 = 0.002;
/// The rates kept of each rank; later ones give way to none.
const MOST_RATES: usize = 31;

/// The rates at which blocks came since they were last reported.
#[derive(Debug, Default)]
pub(super) struct ArrivalMeter {
    /// By rank.
    arrivals: Vec<RankArrivals>,
    is_on: bool,
    /// Calls until the next metered one.
    until: u32,
    /// Metered calls since rates were reported.
    calls: u32,
}

/// The blocks that came from one rank.
#[derive(Debug, Default)]
struct RankArrivals {
    /// When the first octets of the block under way were there, and how many.
    first: Option<(Instant, usize)>,
    /// Octets in a second.
    rates: Vec<f32>,
}

impl ArrivalMeter {
    pub(super) fn new(ranks: usize) -> ArrivalMeter {
        let mut meter = ArrivalMeter::default();
        meter.arrivals.resize_with(ranks, RankArrivals::default);
        meter
    }

    /// A call begins, with blocks of this length at this rate in octets a second, which is asked for
    /// only where it counts. Without a rate nothing could be concluded about the blocks.
    pub(super) fn begin(&mut self, block: usize, rate: impl FnOnce() -> f64) {
        self.is_on = false;
        if block < LEAST_BLOCK {
            return;
        }
        self.until = self.until.saturating_sub(1);
        if self.until > 0 {
            return;
        }
        let rate = rate();
        if rate <= 0.0 {
            // When a rate becomes known there is a new meter (`TcpMesh::pace`).
            self.until = u32::MAX;
            return;
        }
        self.until = (COST.as_secs_f64() * rate / (block as f64 * SHARE)).ceil() as u32;
        self.is_on = true;
        self.calls += 1;
        self.arrivals.iter_mut().for_each(|from| from.first = None);
    }

    /// No block of this call is metered.
    pub(super) fn pause(&mut self) {
        self.is_on = false;
    }

    /// True if this rank wants to hear of the first octets of a block.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// So many octets of a block of `whole` have come from a rank.
    pub(super) fn came(&mut self, rank: u32, octets: usize, whole: usize) {
        if !self.is_on || octets == 0 {
            return;
        }
        let Some(from) = self.arrivals.get_mut(rank as usize) else {
            return;
        };
        let now = Instant::now();
        let (at, first) = *from.first.get_or_insert((now, octets));
        if octets < whole {
            return;
        }
        from.first = None;
        // Most of it may have been there before this rank looked.
        let rest = whole - first;
        if rest * 2 > whole && from.rates.len() < MOST_RATES {
            from.rates
                .push((rest as f64 / (now - at).as_secs_f64()) as f32);
        }
    }

    /// The metered calls since rates were reported.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// The median rate from each rank, in octets a second; forgets them.
    pub(super) fn take(&mut self) -> Vec<Option<f64>> {
        self.calls = 0;
        self.arrivals
            .iter_mut()
            .map(|from| {
                from.rates.sort_by(f32::total_cmp);
                let middle = from.rates.get(from.rates.len() / 2).copied().map(f64::from);
                from.rates.clear();
                middle
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_so_many_is_metered_as_its_blocks_are_short() {
        let mut meter = ArrivalMeter::new(2);
        let mut metered = |block: usize, rate: f64| {
            (0..1000)
                .filter(|_| {
                    meter.begin(block, || rate);
                    meter.is_on()
                })
                .count()
        };
        assert_eq!(metered(LEAST_BLOCK - 1, 1e6), 0);
        assert_eq!(metered(64 << 10, 2.5e6), 1000, "26 ms a block");
        let short = metered(64 << 10, 125e6);
        assert!((40..60).contains(&short), "0.5 ms a block: {short}");
        assert_eq!(metered(64 << 10, 0.0), 0, "no rate is known");
    }

    #[test]
    fn only_a_block_whose_beginning_was_seen_counts() {
        let mut meter = ArrivalMeter::new(2);
        meter.begin(100_000, || 1.0);
        meter.came(1, 60_000, 100_000);
        meter.came(1, 100_000, 100_000);
        assert_eq!(meter.take(), [None, None]);
        for _ in 0..2 * MOST_RATES {
            meter.came(1, 1_000, 100_000);
            std::thread::sleep(Duration::from_millis(1));
            meter.came(1, 100_000, 100_000);
        }
        let rates = meter.take();
        assert!(
            rates[0].is_none() && rates[1].is_some_and(|rate| rate < 100e6),
            "{rates:?}"
        );
        assert_eq!(meter.take(), [None, None]);
        meter.pause();
        meter.came(1, 1_000, 100_000);
        assert!(meter.arrivals[1].first.is_none());
    }
}
