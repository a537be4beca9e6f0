//! How large the next calls are of a collective of whose size each rank knows only its own part,
//! such as MPI_Alltoallv.
//!
//! All ranks must go the same way with a call, so all must know its size, and that takes a message
//! from each to each. But programs repeat themselves, and over TCP blocks of any length arrive
//! whole: a wrong forecast costs time, and never an octet. So the ranks agree now and then. At an
//! agreement each tells how large its calls since the last one were, and from what they have heard
//! all ranks forecast alike: the calls go on as before, with a period of up to 16 calls.
//! As long as that was right, the time to the next agreement doubles.
use std::collections::VecDeque;

/// The longest period that is looked for.
const LONGEST: usize = 16;
/// Calls that a forecast looks back on.
const REMEMBERED: usize = 4 * LONGEST;
/// One call in so many may differ from the one a period before.
const MOST_UNLIKE: usize = 4;
/// The most calls between two agreements: an agreement takes less time than the smallest call.
const MOST_CALLS: u64 = 64;
/// The most octets that a rank receives between two agreements, and the fewest calls for it: beside
/// large calls an agreement takes no time, and each that goes the wrong way costs more.
const MOST_OCTETS: u64 = 128 << 10;
const FEWEST_CALLS: u64 = 8;
/// Lengths come in turn if they have done so for a turn and so many calls.
const ENOUGH_ALIKE: usize = 4;
/// After so many agreements in a row that show no period, the mean of the last calls stands for
/// each of the next.
const PATIENCE: u32 = 2 * LONGEST as u32;
/// Blocks are even if the largest is at most twice the mean: four classes of size above it, and one
/// more, as both are rounded down.
const EVEN: u8 = 5;
/// The block of a call that some rank cannot serve.
pub const NOT_SERVED: u64 = u64::MAX;

/// This rank's knowledge of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnCall {
    /// The mean of its blocks, in octets, or [`NOT_SERVED`].
    pub block: u64,
    /// The largest block, in octets.
    pub largest: u64,
    /// A digest of the lengths.
    pub digest: u64,
}

/// The knowledge of a call that all ranks share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSize {
    /// The mean block, forecast or agreed on, or [`NOT_SERVED`].
    pub block: u64,
    /// True if the ranks agreed on it before this call; else it is a forecast.
    pub is_agreed: bool,
    /// True if no rank had a block far larger than the mean in any call from the last agreement but
    /// one to the last one.
    pub is_even: bool,
    /// The place of the call among those whose lengths come in turn, if they have done so on every
    /// rank for a while.
    pub place: Option<CallPlace>,
}

/// The place of a call among those whose lengths come in turn. As long as they do, calls of one
/// place have the same lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPlace {
    /// The first call of which the turns are known.
    since: u64,
    turn: usize,
    at: usize,
}

impl CallPlace {
    /// True if calls of both places come in the same turns.
    pub fn is_of(self, other: CallPlace) -> bool {
        (self.since, self.turn) == (other.since, other.turn)
    }
}

impl CallSize {
    /// Of a call that some rank cannot serve.
    pub const NOT_SERVED: CallSize = CallSize {
        block: NOT_SERVED,
        is_agreed: false,
        is_even: false,
        place: None,
    };
}

/// The calls of one collective so far, on one rank. Its forecasts are the same on all ranks.
#[derive(Debug, Default)]
pub struct CallForecast {
    /// The mean blocks of the last calls agreed on.
    agreed: VecDeque<u64>,
    /// Calls agreed on.
    calls: u64,
    /// Their period; 0 where there is none.
    period: usize,
    /// Calls until the next agreement; 0 before the first one.
    window: u64,
    /// Agreements in a row that showed no period.
    without: u32,
    /// No block was far larger than the mean.
    is_even: bool,
    /// After so many calls the lengths of all ranks are the same again; 0 where they are not.
    turn: usize,
    since: u64,
    /// This rank's calls since the last agreement.
    own: Vec<OwnCall>,
    /// Digests of this rank's calls before those.
    digests: VecDeque<u64>,
}

impl CallForecast {
    /// Counts a call. Gives what it is forecast to be; `None` where the ranks agree on it first.
    pub fn count(&mut self, own: OwnCall) -> Option<CallSize> {
        self.own.push(own);
        let number = self.own.len();
        (self.window > number as u64).then(|| self.forecast(number - 1))
    }

    /// The forecast of the call counted last, where the ranks agree on it later; `None` before
    /// the first agreement.
    pub fn guess(&self) -> Option<CallSize> {
        let at = self.own.len().checked_sub(1)?;
        (!self.agreed.is_empty()).then(|| self.forecast(at))
    }

    /// The ranks agree on each call from now on, until forecasts turn out right.
    pub fn distrust(&mut self) {
        self.window = self.window.min(1);
    }

    /// The forecast of the `at`-th call after the last agreement.
    fn forecast(&self, at: usize) -> CallSize {
        let block = match self.period {
            0 => mean(self.agreed.iter().copied()),
            period => self.agreed[self.agreed.len() - period + at % period],
        };
        CallSize {
            block,
            is_agreed: false,
            is_even: self.is_even,
            place: self.place(self.calls + at as u64),
        }
    }

    /// The place of a call among those whose lengths come in turn.
    fn place(&self, call: u64) -> Option<CallPlace> {
        (self.turn > 0).then(|| CallPlace {
            since: self.since,
            turn: self.turn,
            at: (call % self.turn as u64) as usize,
        })
    }

    /// This rank's word at an agreement; as long on every rank.
    pub fn word(&self) -> Vec<u8> {
        let Some((now, before)) = self.own.split_last() else {
            return Vec::new();
        };
        let mut word = Vec::with_capacity(WORD + before.len());
        word.extend(now.block.to_le_bytes());
        word.push(self.own_turn());
        word.push(size_class(now.largest));
        word.extend(
            before
                .iter()
                .flat_map(|call| [size_class(call.block), size_class(call.largest)]),
        );
        word
    }

    /// After so many calls this rank's lengths are the same again, as they have been for a while; 0
    /// if they are not.
    fn own_turn(&self) -> u8 {
        let now = self.own.iter().map(|call| call.digest);
        let latest: Vec<u64> = self.digests.iter().copied().chain(now).rev().collect();
        (1..=LONGEST)
            .find(|turn| {
                let often = *turn + ENOUGH_ALIKE;
                let before = latest.iter().skip(*turn);
                latest.len() >= turn + often
                    && latest.iter().zip(before).take(often).all(|(a, b)| a == b)
            })
            .unwrap_or(0) as u8
    }

    /// Takes the words of all ranks, one behind the other, and gives the size of the call. `way`
    /// says how a call goes: sizes that go the same way are alike.
    pub fn hear<W: PartialEq>(&mut self, words: &[u8], way: impl Fn(u64) -> W) -> CallSize {
        let length = WORD + 2 * self.own.len().saturating_sub(1);
        let words: Vec<&[u8]> = words.chunks_exact(length).collect();
        let blocks = self.stated_blocks(&words);
        let was_right = self.period > 0
            && blocks
                .iter()
                .enumerate()
                .all(|(at, &block)| way(block) == way(self.forecast(at).block));
        let turn = common_turn(words.iter().map(|word| usize::from(word[TURN])));
        if turn != std::mem::replace(&mut self.turn, turn) {
            self.since = self.calls;
        }
        self.is_even = (blocks.iter().enumerate()).all(|(at, &block)| is_even(at, block, &words));
        self.remember(&blocks);
        self.period = self.likely_period(way);
        self.without = if self.period == 0 {
            self.without + 1
        } else {
            0
        };
        let block = self.agreed.back().copied().unwrap_or(NOT_SERVED);
        self.window = if self.without > PATIENCE {
            self.without = 0;
            FEWEST_CALLS
        } else if was_right {
            (2 * self.window).min(most_calls(words.len() as u64, block))
        } else {
            1
        };
        CallSize {
            block,
            is_agreed: true,
            is_even: self.is_even,
            place: self.place(self.calls - 1),
        }
    }

    /// The mean blocks of the calls since the last agreement. Each but the last is known by its
    /// class only; one of the forecast's class was as forecast.
    fn stated_blocks(&self, words: &[&[u8]]) -> Vec<u64> {
        let before = (0..self.own.len().saturating_sub(1)).map(|at| {
            let stated = mean(words.iter().map(|word| size_of_class(word[WORD + 2 * at])));
            let forecast = self.forecast(at).block;
            let is_near = size_class(stated).abs_diff(size_class(forecast)) <= 1;
            if is_near { forecast } else { stated }
        });
        let now = mean(words.iter().map(|word| number(word)));
        before.chain([now]).collect()
    }

    fn remember(&mut self, blocks: &[u64]) {
        self.agreed.extend(blocks);
        self.calls += blocks.len() as u64;
        self.digests
            .extend(self.own.drain(..).map(|call| call.digest));
        let old = |known: usize| ..known.saturating_sub(REMEMBERED);
        self.agreed.drain(old(self.agreed.len()));
        self.digests.drain(old(self.digests.len()));
    }

    /// The period by which the fewest calls are unlike the one before; the shortest of such.
    fn likely_period<W: PartialEq>(&self, way: impl Fn(u64) -> W) -> usize {
        let ways: Vec<W> = self.agreed.iter().map(|&block| way(block)).collect();
        let unlike = |period: &usize| {
            let pairs = ways.iter().zip(&ways[*period..]);
            pairs.filter(|(before, after)| before != after).count()
        };
        // A longer period shows only once it has come twice.
        let possible = (1..=LONGEST).filter(|&period| period == 1 || 2 * period <= ways.len());
        let likely = possible.min_by_key(unlike).filter(|_| !ways.is_empty());
        likely
            .filter(|period| MOST_UNLIKE * unlike(period) <= ways.len() - period)
            .unwrap_or(0)
    }
}

/// The most calls of this size between two agreements.
fn most_calls(ranks: u64, block: u64) -> u64 {
    let octets = block.saturating_mul(ranks).max(1);
    (MOST_OCTETS / octets).clamp(FEWEST_CALLS, MOST_CALLS)
}

/// The turn of all ranks whose own turns these are.
fn common_turn(own: impl Iterator<Item = usize>) -> usize {
    let common = |turn: usize, own: usize| {
        // The least common multiple: then the lengths of both are the same again.
        (1..=LONGEST).find(|n| own > 0 && turn > 0 && n % own == 0 && n % turn == 0)
    };
    own.fold(1, |turn, own| common(turn, own).unwrap_or(0))
}

/// Octets of a word before the classes of sizes of the calls before: the block, the turn, the class
/// of the largest block.
const WORD: usize = 10;
const TURN: usize = 8;

/// True if no rank says that its largest block in the `at`-th call since the last agreement, of all
/// of which the mean is known, was far larger than the mean: by [`EVEN`] classes.
fn is_even(at: usize, mean: u64, words: &[&[u8]]) -> bool {
    let most = words
        .iter()
        .map(|word| {
            word.get(WORD + 2 * at + 1)
                .copied()
                .unwrap_or(word[TURN + 1])
        })
        .max()
        .unwrap_or(0);
    mean != NOT_SERVED && most <= size_class(mean).saturating_add(EVEN)
}

fn number(octets: &[u8]) -> u64 {
    octets.first_chunk().map_or(0, |&n| u64::from_le_bytes(n))
}

/// The mean of blocks; [`NOT_SERVED`] if one of them is.
fn mean(blocks: impl Iterator<Item = u64>) -> u64 {
    let (mut sum, mut count) = (0u64, 0);
    for block in blocks {
        sum = sum.saturating_add(block);
        count += 1;
    }
    if sum == NOT_SERVED {
        sum
    } else {
        sum.div_ceil(count.max(1))
    }
}

/// Sizes in an octet, four classes as wide as each other from each power of two on. In integers: logarithms
/// of two hosts with different libraries may differ.
fn size_class(block: u64) -> u8 {
    match block {
        0 => 0,
        NOT_SERVED => u8::MAX,
        _ => {
            let power = block.ilog2();
            let quarter = ((u128::from(block) * 4) >> power) as u8 - 4;
            (power as u8 * 4 + quarter)
                .saturating_add(1)
                .min(u8::MAX - 1)
        }
    }
}

fn size_of_class(class: u8) -> u64 {
    match class {
        0 => 0,
        u8::MAX => NOT_SERVED,
        // The middle one.
        _ => ((9 + 2 * u128::from((class - 1) % 4)) << ((class - 1) / 4) >> 3) as u64,
    }
}

#[cfg(test)]
mod tests;
