use super::*;
use proptest::prelude::*;

const RANKS: usize = 4;

/// Ranks that make the same calls, each with lengths of its own.
struct ForecastingRanks {
    ranks: Vec<CallForecast>,
    agreements: usize,
}

impl ForecastingRanks {
    fn new() -> ForecastingRanks {
        let ranks = (0..RANKS).map(|_| CallForecast::default()).collect();
        ForecastingRanks {
            ranks,
            agreements: 0,
        }
    }

    /// A call with this mean block; gives the size that all ranks take it for.
    fn call(&mut self, block: u64) -> CallSize {
        self.call_of(|rank| OwnCall {
            // Rank 0 has little, the last one much.
            block: block * rank as u64 / (RANKS as u64 - 1) * 2,
            largest: block * 2,
            digest: block + rank as u64,
        })
    }

    fn call_of(&mut self, own: impl Fn(usize) -> OwnCall) -> CallSize {
        let ranks = self.ranks.iter_mut().enumerate();
        let sizes: Vec<_> = ranks.map(|(rank, f)| f.count(own(rank))).collect();
        assert!(sizes.windows(2).all(|pair| pair[0] == pair[1]), "{sizes:?}");
        if let Some(size) = sizes[0] {
            return size;
        }
        self.agreements += 1;
        let words: Vec<u8> = self.ranks.iter().flat_map(CallForecast::word).collect();
        let agreed = self.ranks.iter_mut().map(|f| f.hear(&words, is_large));
        let agreed: Vec<_> = agreed.collect();
        assert!(
            agreed.windows(2).all(|pair| pair[0] == pair[1]),
            "{agreed:?}"
        );
        agreed[0]
    }
}

fn is_large(block: u64) -> bool {
    block > 30_000 && block != NOT_SERVED
}

/// The share of calls that went another way than they should, and that were agreed on.
fn shares(blocks: impl Iterator<Item = u64>) -> (f64, f64) {
    let mut ranks = ForecastingRanks::new();
    let (mut wrong, mut calls) = (0, 0);
    for block in blocks {
        calls += 1;
        wrong += usize::from(is_large(ranks.call(block).block) != is_large(block));
    }
    let calls = f64::from(calls);
    (wrong as f64 / calls, ranks.agreements as f64 / calls)
}

#[test]
fn calls_that_stay_the_same_are_hardly_agreed_on() {
    let (wrong, agreed) = shares(std::iter::repeat_n(60, 3000));
    assert!(wrong == 0.0 && agreed < 0.03, "{wrong} {agreed}");
    let (wrong, agreed) = shares(std::iter::repeat_n(300_000, 1000));
    assert!(wrong == 0.0 && agreed < 0.14, "{wrong} {agreed}");
}

#[test]
fn sizes_that_take_turns_are_told_apart() {
    for turns in [
        &[60, 300_000][..],
        &[60, 60, 60, 300_000],
        &[60, 300_000, 6, 300_000, 300_000],
    ] {
        let (wrong, agreed) = shares(turns.iter().copied().cycle().take(2000));
        assert!(wrong < 0.01 && agreed < 0.2, "{turns:?}: {wrong} {agreed}");
    }
}

#[test]
fn a_change_is_noticed_and_then_trusted() {
    let phases = [60, 300_000, 60, 300_000].map(|block| std::iter::repeat_n(block, 500));
    let (wrong, agreed) = shares(phases.into_iter().flatten());
    assert!(wrong < 0.1 && agreed < 0.2, "{wrong} {agreed}");
}

#[test]
fn without_a_period_the_mean_stands_for_each_call() {
    let mut state = 1u64;
    let random = std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if state >> 63 == 0 { 60 } else { 3_000_000 }
    });
    let (_, agreed) = shares(random.take(5000));
    assert!(agreed < 0.9, "{agreed}");
}

#[test]
fn a_call_that_one_rank_cannot_serve_is_served_by_none() {
    let mut ranks = ForecastingRanks::new();
    ranks.call(60_000);
    let size = ranks.call_of(|rank| OwnCall {
        block: if rank == 2 { NOT_SERVED } else { 60_000 },
        ..OwnCall::default()
    });
    assert_eq!(size.block, NOT_SERVED);
}

#[test]
fn one_large_block_in_one_call_makes_calls_uneven() {
    let mut ranks = ForecastingRanks::new();
    assert!((0..100).all(|_| ranks.call(6000).is_even));
    let calls = ranks.agreements;
    while ranks.agreements == calls {
        ranks.call_of(|rank| OwnCall {
            block: 6000,
            largest: if rank == 2 { 18_000 } else { 6000 },
            digest: 0,
        });
        if ranks.agreements == calls {
            ranks.call(6000);
        }
    }
    assert!(!ranks.call(6000).is_even);
    let even_again = (0..100).any(|_| ranks.call(6000).is_even);
    assert!(even_again);
}

#[test]
fn lengths_that_come_in_turn_have_places() {
    let mut ranks = ForecastingRanks::new();
    let mut place = |block| ranks.call(block).place.map(|place| (place.turn, place.at));
    // The way is the same for all three.
    let places: Vec<_> = (0..200).map(|call| place([60, 61, 70][call % 3])).collect();
    assert_eq!(places[..6], [None; 6]);
    assert!(
        (150..200).all(|call| places[call] == Some((3, call % 3))),
        "{places:?}"
    );
    let later: Vec<_> = (0..600).map(place).collect();
    assert_eq!(later[599], None);
}

#[test]
fn ranks_whose_turns_differ_have_one_in_common() {
    assert_eq!(common_turn([1, 2, 3].into_iter()), 6);
    assert_eq!(common_turn([4, 0].into_iter()), 0);
    assert_eq!(common_turn([5, 7].into_iter()), 0);
}

#[test]
fn classes_keep_sizes_within_a_tenth() {
    for block in [1, 7, 1000, 65_536, 1 << 40] {
        let back = size_of_class(size_class(block));
        assert!(back.abs_diff(block) <= block / 5 + 1, "{block}: {back}");
    }
    assert_eq!(size_of_class(size_class(0)), 0);
    assert_eq!(size_of_class(size_class(NOT_SERVED)), NOT_SERVED);
}

proptest! {
    /// Whatever the ranks call with, each takes each call for the same size, and words fit.
    #[test]
    fn all_ranks_forecast_alike(calls in prop::collection::vec(prop::array::uniform4(0..1u64 << 20), 1..300)) {
        let mut ranks = ForecastingRanks::new();
        for lengths in calls {
            ranks.call_of(|rank| OwnCall { block: lengths[rank], largest: lengths[rank], digest: lengths[rank] });
        }
    }
}
