//! From the times of calls that took turns to figures.
use super::{CallTiming, WayTiming};
use crate::decision_table::{Collective, Way};
use inventory::Bytes;

/// Whose turn it is, of so many, when so many rows of calls came before: each second round goes
/// backwards, so that none follows always the same. The runtime takes turns by this, too. `None`
/// where there is nobody.
pub fn turn(rows: u64, of: usize) -> Option<usize> {
    let (round, place) = (rows.checked_div(of as u64)?, (rows % of as u64) as usize);
    Some(if round % 2 == 0 {
        place
    } else {
        of - 1 - place
    })
}

/// How many calls with blocks of this size are measured as one: they follow one another as in a
/// program, so the ranks' uneven start counts once, and what the way before left behind (idle
/// connections, cold caches) hardly counts. Large blocks hide both by themselves.
pub fn row(block: Bytes) -> u64 {
    const BYTES: u64 = 1 << 16;
    const MOST: u64 = 16;
    (BYTES / block.0.max(1)).clamp(1, MOST)
}

/// Times of rows of calls, gathered over several launches.
#[derive(Debug, Clone, Default)]
pub struct TimedCalls(Vec<CallTimes>);

/// Calls of one collective with blocks of one size that went one way.
#[derive(Debug, Clone)]
struct CallTimes {
    collective: Collective,
    block: Bytes,
    way: Way,
    seconds: Vec<f64>,
}

impl TimedCalls {
    /// Adds the seconds a call of successive rows that went `ways` in turn. The first round does
    /// not count: connections are made then. Nor does a last round that is not whole, so that each
    /// way was measured as often, beside each other one.
    pub fn add(&mut self, collective: Collective, block: Bytes, ways: &[Way], seconds: &[f64]) {
        let whole = seconds.len() - seconds.len() % ways.len().max(1);
        for (row, &seconds) in (0..).zip(&seconds[..whole]).skip(ways.len()) {
            if let Some(way) = turn(row, ways.len()).map(|turn| ways[turn]) {
                match self.0.iter_mut().find(|kind| {
                    (kind.collective, kind.block, kind.way) == (collective, block, way)
                }) {
                    Some(kind) => kind.seconds.push(seconds),
                    None => self.0.push(CallTimes {
                        collective,
                        block,
                        way,
                        seconds: vec![seconds],
                    }),
                }
            }
        }
    }

    /// The figures, in the order they were first measured in; what was measured too rarely is left
    /// out.
    pub fn figures(&self) -> Vec<WayTiming> {
        let figure = |kind: &CallTimes| {
            Some(WayTiming {
                collective: kind.collective,
                way: kind.way,
                timing: CallTiming::of(kind.block, &kind.seconds)?,
            })
        };
        self.0.iter().filter_map(figure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_are_called_in_rows() {
        assert_eq!(
            [0, 1, 1 << 10, 1 << 14, 1 << 16, 1 << 20].map(|block| row(Bytes(block))),
            [16, 16, 16, 4, 1, 1]
        );
    }

    #[test]
    fn calls_are_sorted_by_turn_without_the_first_round_and_the_last_piece() {
        let ways = [Way::Native, "aapc".parse().unwrap()];
        let mut calls = TimedCalls::default();
        calls.add(
            Collective::Alltoall,
            Bytes(8),
            &ways,
            &[90.0, 90.0, 2.0, 1.0, 1.0, 2.0, 7.0],
        );
        assert_eq!(calls.figures(), [], "two times are too few");
        calls.add(
            Collective::Alltoall,
            Bytes(8),
            &ways,
            &[90.0, 90.0, 2.0, 1.0],
        );
        let figures: Vec<(Way, f64, u32)> = calls
            .figures()
            .iter()
            .map(|f| (f.way, f.timing.seconds(), f.timing.times))
            .collect();
        assert_eq!(figures, [(ways[1], 2.0, 3), (ways[0], 1.0, 3)]);
        let turns: Vec<usize> = (0..7).filter_map(|calls| turn(calls, 3)).collect();
        assert_eq!((turns, turn(5, 0)), (vec![0, 1, 2, 2, 1, 0, 0], None));
        calls.add(Collective::Allgather, Bytes(8), &[], &[1.0; 9]);
        assert_eq!(calls.figures().len(), 2);
    }
}
