//! Frames on their way through a cable. They leave in the order in which they entered, each after
//! the same time.
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Room for a frame: more than an Ethernet frame with any header in use.
pub(super) const ROOM: usize = 2048;

/// The greatest number of frames on the way. Further frames are dropped, as by a full queue.
const MOST: usize = 32_768;

/// A frame and its length.
pub(super) struct RelayedFrame {
    pub(super) octets: Box<[u8; ROOM]>,
    pub(super) length: usize,
}

impl RelayedFrame {
    fn new() -> RelayedFrame {
        RelayedFrame {
            octets: Box::new([0; ROOM]),
            length: 0,
        }
    }
}

/// One direction of a cable.
pub(super) struct DelayLine {
    delay: Duration,
    /// Each frame with the time at which it leaves, the next one first.
    way: VecDeque<(Instant, RelayedFrame)>,
    /// Frames to use again.
    spare: Vec<RelayedFrame>,
}

impl DelayLine {
    pub(super) fn new(delay: Duration) -> DelayLine {
        DelayLine {
            delay,
            way: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Empty frames to read into.
    pub(super) fn blank(&mut self, count: usize) -> Vec<RelayedFrame> {
        (0..count)
            .map(|_| self.spare.pop().unwrap_or_else(RelayedFrame::new))
            .collect()
    }

    /// Takes frames that entered at `now`, and leaves empty ones in their place.
    pub(super) fn put(&mut self, now: Instant, frames: &mut [RelayedFrame]) {
        let room = MOST - self.way.len();
        for frame in frames.iter_mut().take(room) {
            let blank = self.spare.pop().unwrap_or_else(RelayedFrame::new);
            self.way
                .push_back((now + self.delay, std::mem::replace(frame, blank)));
        }
    }

    /// The first frames, up to `most`, that are due at `now`.
    pub(super) fn due(&self, now: Instant, most: usize) -> impl ExactSizeIterator<Item = &[u8]> {
        let count = self
            .way
            .iter()
            .take(most)
            .take_while(|(due, _)| *due <= now)
            .count();
        self.way
            .range(..count)
            .map(|(_, frame)| &frame.octets[..frame.length])
    }

    /// Removes the first `count` frames.
    pub(super) fn remove(&mut self, count: usize) {
        self.spare
            .extend(self.way.drain(..count).map(|(_, frame)| frame));
    }

    /// The time at which the next frame leaves.
    pub(super) fn next(&self) -> Option<Instant> {
        self.way.front().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn enter(line: &mut DelayLine, now: Instant, number: u8) {
        let mut frames = line.blank(1);
        frames[0].octets[0] = number;
        frames[0].length = usize::from(number);
        line.put(now, &mut frames);
    }

    fn leave(line: &mut DelayLine, now: Instant) -> Vec<(u8, usize)> {
        let due: Vec<(u8, usize)> = line.due(now, 3).map(|f| (f[0], f.len())).collect();
        line.remove(due.len());
        due
    }

    #[test]
    fn frames_come_out_in_order_each_after_its_time() {
        let (mut line, start) = (DelayLine::new(10 * MS), Instant::now());
        assert_eq!(line.next(), None);
        for number in 1..=5 {
            enter(&mut line, start + u32::from(number / 5) * MS, number);
        }
        assert_eq!(line.next(), Some(start + 10 * MS));
        assert_eq!(leave(&mut line, start + 9 * MS), []);
        assert_eq!(
            leave(&mut line, start + 10 * MS),
            [(1, 1), (2, 2), (3, 3)],
            "as many as asked for"
        );
        assert_eq!(
            leave(&mut line, start + 10 * MS),
            [(4, 4)],
            "the last came a millisecond later"
        );
        assert_eq!(
            (leave(&mut line, start + 11 * MS), line.next()),
            (vec![(5, 5)], None)
        );
    }

    #[test]
    fn a_full_cable_drops_what_comes_on_top_and_goes_on() {
        let (mut line, start) = (DelayLine::new(10 * MS), Instant::now());
        (0..MOST + 7).for_each(|_| enter(&mut line, start, 1));
        assert_eq!(line.due(start + 10 * MS, usize::MAX).len(), MOST);
        line.remove(MOST);
        enter(&mut line, start + 11 * MS, 2);
        assert_eq!(leave(&mut line, start + 21 * MS), [(2, 2)]);
    }
}
