//! The octets that were sent on a connection and may be lost with it. Both ends number the octets of a
//! connection from 0, however often it is made anew: it goes on with the octet that its receiver
//! names.
//!
//! The octets that a call sends lie in the call's own memory, so only its place is kept. When the call ends,
//! what has not come by then is copied.
use std::collections::VecDeque;
use std::ops::Range;

/// Octets that were sent, one behind the other, those of which it is known that they came left out.
#[derive(Debug)]
pub struct SentLog<S> {
    /// Copies of the first ones.
    kept: VecDeque<u8>,
    /// The places of those behind them.
    segments: VecDeque<SentSegment<S>>,
    /// The number of the first one, of the next one to write, and of the next one that is new.
    first: u64,
    written: u64,
    end: u64,
}

#[derive(Debug)]
struct SentSegment<S> {
    source: S,
    place: Range<usize>,
}

/// The next octets to write.
#[derive(Debug, PartialEq, Eq)]
pub enum OctetsAgain<'a, S> {
    /// These.
    Kept(&'a [u8]),
    /// Those in this place.
    In(&'a S, Range<usize>),
}

/// The other end names an octet that it cannot want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostOctets;

impl<S> Default for SentLog<S> {
    fn default() -> Self {
        SentLog {
            kept: VecDeque::new(),
            segments: VecDeque::new(),
            first: 0,
            written: 0,
            end: 0,
        }
    }
}

impl<S: PartialEq> SentLog<S> {
    /// The octets in this place have been written; none are to be written again.
    pub fn sent(&mut self, source: S, place: Range<usize>) {
        if place.is_empty() {
            return;
        }
        self.end += place.len() as u64;
        self.written = self.end;
        match self.segments.back_mut() {
            Some(last) if last.source == source && last.place.end == place.start => {
                last.place.end = place.end;
            }
            _ => self.segments.push_back(SentSegment { source, place }),
        }
    }
}

impl<S> SentLog<S> {
    /// Octets to be written as soon as there is room; only where there are none but such.
    pub fn push(&mut self, octets: &[u8]) {
        self.kept.extend(octets);
        self.end += octets.len() as u64;
    }

    /// True if some octets are to be written before new ones.
    pub fn is_behind(&self) -> bool {
        self.written < self.end
    }

    /// The octets of which it is not known that they came.
    pub fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// True if all are known to have come.
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// The number of the next octet to write.
    pub fn number(&self) -> u64 {
        self.written
    }

    /// Places of octets that have not been copied.
    pub fn places(&self) -> usize {
        self.segments.len()
    }

    /// The next octets to write.
    pub fn next(&self) -> Option<OctetsAgain<'_, S>> {
        let mut at = (self.written - self.first) as usize;
        if let Some(after) = at.checked_sub(self.kept.len()) {
            at = after;
        } else {
            let (front, back) = self.kept.as_slices();
            let octets = front.get(at..).filter(|octets| !octets.is_empty());
            return Some(OctetsAgain::Kept(
                octets.unwrap_or_else(|| &back[at - front.len()..]),
            ));
        }
        for SentSegment { source, place } in &self.segments {
            if at < place.len() {
                return Some(OctetsAgain::In(source, place.start + at..place.end));
            }
            at -= place.len();
        }
        None
    }

    /// So many of them have been written.
    pub fn wrote(&mut self, octets: usize) {
        self.written += octets as u64;
    }

    /// All that were written have come, but for the last ones, so many.
    pub fn came_but(&mut self, under_way: usize) {
        let came = self.written.saturating_sub(under_way as u64);
        self.forget((came.saturating_sub(self.first)) as usize);
    }

    fn forget(&mut self, octets: usize) {
        self.first += octets as u64;
        let of_kept = octets.min(self.kept.len());
        self.kept.drain(..of_kept);
        let mut rest = octets - of_kept;
        while let Some(first) = self.segments.front_mut().filter(|_| rest > 0) {
            let part = rest.min(first.place.len());
            first.place.start += part;
            rest -= part;
            if first.place.is_empty() {
                self.segments.pop_front();
            }
        }
    }

    /// The connection was made anew, and its receiver waits for the octet of this number.
    ///
    /// # Errors
    /// There is none, or it is known to have come.
    pub fn go_on_at(&mut self, number: u64) -> Result<(), LostOctets> {
        if !(self.first..=self.end).contains(&number) {
            return Err(LostOctets);
        }
        self.forget((number - self.first) as usize);
        self.written = number;
        Ok(())
    }

    /// The memory is about to change: `copy` adds the octets in each place to those that are kept.
    pub fn keep(&mut self, mut copy: impl FnMut(&S, Range<usize>, &mut VecDeque<u8>)) {
        for SentSegment { source, place } in self.segments.drain(..) {
            copy(&source, place, &mut self.kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An event of a connection.
    #[derive(Debug, Clone)]
    enum Happening {
        /// A block of so many octets is sent.
        Sends(usize),
        /// So many octets come at the other end, and so many of them are acknowledged.
        Comes(usize, usize),
        /// The connection breaks, and is made anew.
        Breaks,
        /// The call ends: its memory changes.
        Ends,
    }

    fn happenings() -> impl Strategy<Value = Vec<Happening>> {
        let one = prop_oneof![
            (0..50usize).prop_map(Happening::Sends),
            (0..60usize, 0..60usize)
                .prop_map(|(came, acknowledged)| Happening::Comes(came, acknowledged)),
            Just(Happening::Breaks),
            Just(Happening::Ends),
        ];
        prop::collection::vec(one, 0..100)
    }

    /// The octets that the present connection has and its receiver does not.
    fn write_again(log: &mut SentLog<usize>, blocks: &[Vec<u8>], wire: &mut VecDeque<u8>) {
        loop {
            let octets = match log.next() {
                None => break,
                Some(OctetsAgain::Kept(octets)) => octets.to_vec(),
                Some(OctetsAgain::In(block, place)) => blocks[*block][place].to_vec(),
            };
            assert!(!octets.is_empty());
            // Not all at once.
            let part = octets.len().div_ceil(2);
            wire.extend(&octets[..part]);
            log.wrote(part);
        }
        assert!(!log.is_behind());
    }

    proptest! {
        #[test]
        fn every_octet_comes_once_and_in_order_wherever_connections_break(all in happenings()) {
            let mut log = SentLog::<usize>::default();
            let (mut blocks, mut wire) = (Vec::<Vec<u8>>::new(), VecDeque::new());
            let (mut sent, mut came) = (Vec::<u8>::new(), Vec::<u8>::new());
            for happening in all {
                match happening {
                    Happening::Sends(length) => {
                        let block: Vec<u8> = (sent.len()..sent.len() + length).map(|n| n as u8).collect();
                        sent.extend(&block);
                        wire.extend(&block);
                        // In two places, one behind the other.
                        log.sent(blocks.len(), 0..length / 2);
                        log.sent(blocks.len(), length / 2..length);
                        blocks.push(block);
                    }
                    Happening::Comes(octets, acknowledged) => {
                        came.extend(wire.drain(..octets.min(wire.len())));
                        log.came_but(wire.len() + acknowledged);
                    }
                    Happening::Breaks => {
                        wire.clear();
                        prop_assert_eq!(log.go_on_at(came.len() as u64), Ok(()));
                        write_again(&mut log, &blocks, &mut wire);
                    }
                    Happening::Ends => {
                        log.keep(|&block, place, kept| kept.extend(&blocks[block][place]));
                        blocks.iter_mut().flatten().for_each(|octet| *octet = 255);
                    }
                }
                prop_assert!(log.len() <= sent.len());
            }
            came.extend(&wire);
            prop_assert_eq!(&came, &sent);
            prop_assert_eq!(log.go_on_at(sent.len() as u64 + 1), Err(LostOctets));
            log.came_but(0);
            prop_assert!(log.is_empty());
            prop_assert_eq!(log.places(), 0);
            let before = (sent.len() as u64).checked_sub(1);
            prop_assert!(before.is_none_or(|number| log.go_on_at(number) == Err(LostOctets)));
        }
    }
}
