//! How far the clocks of hosts are apart.
//!
//! The ranks meet a few times. No rank leaves a meeting before the last one has come, so each
//! meeting bounds how far two clocks are apart, from both sides; the narrowest bounds of all
//! meetings count. Ranks of one host share a clock and their bounds.
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;
use trace::file::ClockBounds;

/// The number of meetings at the beginning, and when the ranks agree on an epoch anyway.
pub const FIRST_MEETINGS: usize = 8;
/// See [`FIRST_MEETINGS`].
pub const LATER_MEETINGS: usize = 2;

/// The time by the clock that all processes of a host share.
pub fn now() -> Duration {
    // It cannot fail: every Linux has this clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// When a rank came to a meeting, and when it left the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MeetingTimes {
    came: u64,
    left_last: u64,
}

impl MeetingTimes {
    fn to_octets(self) -> [u8; 16] {
        (u128::from(self.came) | u128::from(self.left_last) << 64).to_le_bytes()
    }

    fn read(octets: &[u8]) -> Option<MeetingTimes> {
        let both = u128::from_le_bytes(octets.try_into().ok()?);
        Some(MeetingTimes {
            came: both as u64,
            left_last: (both >> 64) as u64,
        })
    }
}

/// Holds the meetings. `gather` gives everybody's octets in rank order, and returns on no rank
/// before it was called on all. `None` where it fails.
pub fn compare<H: PartialEq, E>(
    meetings: usize,
    rank: usize,
    hosts: &[H],
    mut gather: impl FnMut(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Option<ClockBounds>, E> {
    let mut rounds = Vec::new();
    let mut left_last = 0;
    // Each meeting also brings when ranks left the one before, so that one more closes the last bounds.
    for _ in 0..=meetings {
        let came = now().as_nanos() as u64;
        let all = gather(&MeetingTimes { came, left_last }.to_octets())?;
        left_last = now().as_nanos() as u64;
        rounds.push(all.chunks(16).filter_map(MeetingTimes::read).collect());
    }
    Ok(bounds(&rounds, rank, hosts))
}

/// The bounds of the clock of this rank's host, as far as the meetings tell.
fn bounds<H: PartialEq>(
    rounds: &[Vec<MeetingTimes>],
    rank: usize,
    hosts: &[H],
) -> Option<ClockBounds> {
    let host = hosts.get(rank)?;
    let ours = |of: usize| hosts.get(of) == Some(host);
    let root = |of: usize| hosts.get(of) == hosts.first();
    let at = rounds.last()?.get(rank)?.came;
    if root(rank) {
        return Some(ClockBounds {
            at,
            least: 0,
            most: 0,
        });
    }
    let (mut least, mut most) = (i64::MIN, i64::MAX);
    for pair in rounds.windows(2) {
        let extreme = |round: &[MeetingTimes], of: &dyn Fn(usize) -> bool, left: bool| {
            let members = round.iter().enumerate().filter(|(rank, _)| of(*rank));
            let times = members.map(|(_, t)| if left { t.left_last } else { t.came } as i64);
            // The last to come of those who came, the first to leave of those who left.
            if left { times.min() } else { times.max() }
        };
        let (Some(we_came), Some(they_left)) = (
            extreme(&pair[0], &ours, false),
            extreme(&pair[1], &root, true),
        ) else {
            continue;
        };
        let (Some(they_came), Some(we_left)) = (
            extreme(&pair[0], &root, false),
            extreme(&pair[1], &ours, true),
        ) else {
            continue;
        };
        // We came before they left, and they came before we left.
        least = least.max(we_came.saturating_sub(they_left));
        most = most.min(we_left.saturating_sub(they_came));
    }
    (least <= most && least > i64::MIN).then_some(ClockBounds { at, least, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(came: u64, left_last: u64) -> MeetingTimes {
        MeetingTimes { came, left_last }
    }

    #[test]
    fn the_narrowest_bounds_of_all_meetings_count() {
        // The clock of rank 1 is 1000 ahead.
        let rounds = [
            vec![times(100, 0), times(1120, 0)],
            vec![times(200, 150), times(1190, 1160)],
            vec![times(300, 215), times(1300, 1205)],
        ];
        let hosts = ["a", "b"];
        let found = bounds(&rounds, 1, &hosts).unwrap();
        // Meeting 1: 1120 - 150 .. 1160 - 100; meeting 2: 1190 - 215 .. 1205 - 200.
        assert_eq!((found.least, found.most), (975, 1005));
        let own = bounds(&rounds, 0, &hosts).unwrap();
        assert_eq!((own.least, own.most), (0, 0));
    }
}
