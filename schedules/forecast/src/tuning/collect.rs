//! Figures from the times of calls that took turns.
use inventory::Bytes;
use policy::decision_table::{Collective, Way};
use policy::measurements::{CallTiming, WayTiming, median, turn};

/// The times of rows of calls, gathered over several launches.
#[derive(Debug, Clone, Default)]
pub struct TimedCalls(Vec<CallTimes>);

/// The median time of a way at a size.
#[derive(Debug, Clone, Copy)]
pub struct WayMedian {
    pub collective: Collective,
    pub way: Way,
    /// The size of a block.
    pub block: Bytes,
    /// Seconds of a call.
    pub seconds: f64,
}

/// Calls of one collective with blocks of one size that went one way.
#[derive(Debug, Clone)]
struct CallTimes {
    collective: Collective,
    block: Bytes,
    way: Way,
    seconds: Vec<f64>,
}

impl TimedCalls {
    /// Adds the seconds per call of successive rows that went `ways` in turn. The first round does
    /// not count, because connections are made in it. An incomplete last round does not count
    /// either, so that each way is measured equally often beside each other way.
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

    /// The medians, however few times there are.
    pub fn medians(&self) -> Vec<WayMedian> {
        self.0
            .iter()
            .map(|kind| WayMedian {
                collective: kind.collective,
                way: kind.way,
                block: kind.block,
                seconds: median(&mut kind.seconds.clone()),
            })
            .collect()
    }

    /// The figures, in the order of their first measurements. Ways that were measured too rarely
    /// are left out.
    pub fn figures(&self) -> Vec<WayTiming> {
        self.0
            .iter()
            .filter_map(|kind| {
                Some(WayTiming {
                    collective: kind.collective,
                    way: kind.way,
                    timing: CallTiming::from_runs(kind.block, &kind.seconds)?,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        calls.add(Collective::Allgather, Bytes(8), &[], &[1.0; 9]);
        assert_eq!(calls.figures().len(), 2);
    }
}
