//! A rank's share of a collective along the ring, over any shell: one stream of octets to the next
//! rank. It is the rank's first part, and then what came from the previous rank, combined or kept, a
//! chunk at a time. Both ends know all lengths, so the stream needs no frames and no tokens.
use schedules::relay::{PartTreatment, RankRelay};
use std::fmt;
use std::ops::Range;

/// The largest chunk, unless an element is larger.
pub const MOST: usize = 16 * 1024;
/// The smallest one, unless a part is smaller: each costs calls of the system.
const LEAST: usize = 2 * 1024;
/// A part comes in at least so many chunks, so that the first ones go on while others come; what
/// goes around once, in so many for each rank, for the last one gets the first chunk only after all
/// others have had it.
const CHUNKS: usize = 4;
const CHUNKS_A_RANK: usize = 8;

/// Moves the octets of a call between this rank and its neighbours, and combines them. Places are those of the
/// call's parts.
pub trait RelayShell {
    /// Why it cannot go on.
    type Failure;

    /// Takes what has come from a rank of this chunk, of which `after` octets came before; gives how
    /// much.
    ///
    /// # Errors
    /// The connection has ended.
    fn read(
        &mut self,
        rank: u32,
        chunk: &Range<usize>,
        after: usize,
        treatment: PartTreatment,
    ) -> Result<usize, Self::Failure>;

    /// Lets an event come when so many more octets are there, at the latest.
    ///
    /// # Errors
    /// The connection refuses.
    fn wake_at(&mut self, rank: u32, octets: usize) -> Result<(), Self::Failure>;

    /// Combines a chunk that has come with this rank's own elements.
    fn combine(&mut self, chunk: Range<usize>);

    /// Writes what the connection takes now of these octets, this rank's own or what came; gives how
    /// much.
    ///
    /// # Errors
    /// The connection has ended.
    fn write(
        &mut self,
        rank: u32,
        octets: Range<usize>,
        is_own: bool,
    ) -> Result<usize, Self::Failure>;
}

/// A call under way.
#[derive(Debug)]
pub struct RelayCall<'p> {
    share: &'p RankRelay,
    /// Where each part lies.
    parts: &'p [Range<usize>],
    /// Octets of a chunk: whole elements.
    chunk: usize,
    /// The place in the part that comes, and how much of its next chunk has come.
    coming: PlaceInStream,
    part_of_chunk: usize,
    /// The place in the part that is sent: number 0 is the first part, if there is one.
    going: PlaceInStream,
}

/// A place in the parts of a stream, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct PlaceInStream {
    /// Parts that are over.
    parts: usize,
    /// Octets of the next one that are.
    octets: usize,
}

impl PlaceInStream {
    fn after_part(self) -> PlaceInStream {
        PlaceInStream {
            parts: self.parts + 1,
            octets: 0,
        }
    }
}

impl<'p> RelayCall<'p> {
    /// A call among so many ranks of which nothing has been sent. An element has so many octets.
    pub fn new(
        share: &'p RankRelay,
        parts: &'p [Range<usize>],
        element: usize,
        ranks: u32,
    ) -> RelayCall<'p> {
        let element = element.max(1);
        let longest = parts.iter().map(Range::len).max().unwrap_or(0);
        let chunks = if share.incoming.len() > 1 {
            CHUNKS
        } else {
            CHUNKS_A_RANK * ranks as usize
        };
        let chunk = (longest / chunks).clamp(LEAST, MOST);
        RelayCall {
            share,
            parts,
            chunk: (chunk / element).max(1) * element,
            coming: PlaceInStream::default(),
            part_of_chunk: 0,
            going: PlaceInStream::default(),
        }
    }

    /// True if all parts have come and gone.
    pub fn is_over(&self) -> bool {
        self.coming.parts == self.share.incoming.len() && self.going.parts == self.parts_sent()
    }

    /// The wait of a call of this name.
    pub fn waits_for(&self, call: &dyn fmt::Display) -> String {
        let (incoming, came) = (self.share.incoming.len(), self.coming.parts);
        if came < incoming {
            let (rank, number) = (self.share.previous, came + 1);
            format!("{call}: what rank {rank} passes on (part {number} of {incoming})")
        } else {
            format!("{call}: its parts to go to rank {}", self.share.next)
        }
    }

    /// Takes what has come, and sends on what is here.
    ///
    /// # Errors
    /// The shell's.
    pub fn handle<S: RelayShell>(&mut self, shell: &mut S) -> Result<(), S::Failure> {
        // A chunk that came goes on at once: the next rank waits for it.
        while self.receive_chunk(shell)? {
            self.send_on(shell)?;
        }
        self.send_on(shell)
    }

    /// Parts that are sent: the first one and those sent on.
    fn parts_sent(&self) -> usize {
        usize::from(self.share.first.is_some()) + self.share.sent_on
    }

    /// Receives the rest of a chunk; gives whether it has come whole.
    fn receive_chunk<S: RelayShell>(&mut self, shell: &mut S) -> Result<bool, S::Failure> {
        let Some(incoming) = self.share.incoming.get(self.coming.parts) else {
            return Ok(false);
        };
        let range = self.parts[incoming.part as usize].clone();
        let begin = range.start + self.coming.octets;
        let chunk = begin..range.end.min(begin + self.chunk);
        if self.part_of_chunk < chunk.len() {
            let rank = self.share.previous;
            self.part_of_chunk +=
                shell.read(rank, &chunk, self.part_of_chunk, incoming.treatment)?;
            if self.part_of_chunk < chunk.len() {
                shell.wake_at(rank, chunk.len() - self.part_of_chunk)?;
                return Ok(false);
            }
        }
        if incoming.treatment == PartTreatment::Combine && !chunk.is_empty() {
            shell.combine(chunk.clone());
        }
        self.part_of_chunk = 0;
        self.coming.octets += chunk.len();
        if chunk.end == range.end {
            self.coming = self.coming.after_part();
        }
        Ok(true)
    }

    /// Sends what is here, as far as the connection allows.
    fn send_on<S: RelayShell>(&mut self, shell: &mut S) -> Result<(), S::Failure> {
        let before = usize::from(self.share.first.is_some());
        while self.going.parts < self.parts_sent() {
            // The part that is sent, where it lies, and how much of it may go.
            let (part, is_own, there) = match (self.share.first, self.going.parts) {
                (Some(first), 0) => (first, true, usize::MAX),
                (_, number) => {
                    let number = number - before;
                    let came = match number.cmp(&self.coming.parts) {
                        std::cmp::Ordering::Less => usize::MAX,
                        std::cmp::Ordering::Equal => self.coming.octets,
                        std::cmp::Ordering::Greater => 0,
                    };
                    (self.share.incoming[number].part, false, came)
                }
            };
            let range = self.parts[part as usize].clone();
            let there = range.start + there.min(range.len());
            let after = range.start + self.going.octets;
            if there > after {
                self.going.octets += shell.write(self.share.next, after..there, is_own)?;
            }
            if self.going.octets < range.len() {
                return Ok(());
            }
            self.going = self.going.after_part();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schedules::relay::{RelayCollective, share};
    use std::collections::VecDeque;

    /// A rank's own elements, of an octet each, what has come, and the octets on their way to it.
    struct RankMemory<'a> {
        own: Vec<u8>,
        work: Vec<u8>,
        inbox: VecDeque<u8>,
        outbox: Vec<u8>,
        /// Octets that go at once.
        room: &'a mut dyn FnMut() -> usize,
    }

    impl RelayShell for RankMemory<'_> {
        type Failure = std::convert::Infallible;

        fn read(
            &mut self,
            _: u32,
            chunk: &Range<usize>,
            after: usize,
            _: PartTreatment,
        ) -> Result<usize, Self::Failure> {
            let place = &mut self.work[chunk.start + after..chunk.end];
            let came = place.len().min(self.inbox.len());
            let octets = place.iter_mut().zip(self.inbox.drain(..came));
            octets.for_each(|(place, octet)| *place = octet);
            Ok(came)
        }

        fn wake_at(&mut self, _: u32, octets: usize) -> Result<(), Self::Failure> {
            assert!(octets > 0);
            Ok(())
        }

        fn combine(&mut self, chunk: Range<usize>) {
            for (sum, own) in self.work[chunk.clone()].iter_mut().zip(&self.own[chunk]) {
                *sum = sum.wrapping_add(*own);
            }
        }

        fn write(
            &mut self,
            _: u32,
            octets: Range<usize>,
            is_own: bool,
        ) -> Result<usize, Self::Failure> {
            let from = if is_own { &self.own } else { &self.work };
            let goes = octets.len().min((self.room)());
            self.outbox.extend(&from[octets.start..octets.start + goes]);
            Ok(goes)
        }
    }

    proptest! {
        #[test]
        fn all_ranks_get_the_sum_however_octets_come(
            ranks in 2..7usize,
            length in 0..40_000usize,
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0..9_000usize), 1..50),
        ) {
            let ring: Vec<u32> = (0..ranks as u32).rev().collect();
            let at = |part: usize| length * part / ranks;
            let parts: Vec<Range<usize>> = (0..ranks).map(|n| at(n)..at(n + 1)).collect();
            let shares: Vec<RankRelay> = (0..ranks)
                .map(|position| share(&ring, position, RelayCollective::Allreduce))
                .collect();
            let mut calls: Vec<RelayCall> = shares
                .iter()
                .map(|share| RelayCall::new(share, &parts, 1, ranks as u32))
                .collect();
            let own = |rank: usize| -> Vec<u8> {
                (0..length).map(|octet| (octet * (rank + 3)) as u8).collect()
            };
            let mut work = vec![vec![0; length]; ranks];
            let mut inboxes = vec![VecDeque::new(); ranks];
            let mut step = steps.iter().cycle();
            for _ in 0..1_000_000 {
                if calls.iter().all(RelayCall::is_over) {
                    break;
                }
                let (rank, room) = step.next().map_or((0, 0), |(rank, room)| (rank.index(ranks), *room));
                // Every rank has its turn, whatever the steps are.
                for (rank, room) in [(rank, room)].into_iter().chain((0..ranks).map(|rank| (rank, 500))) {
                    let mut memory = RankMemory {
                        own: own(rank),
                        work: std::mem::take(&mut work[rank]),
                        inbox: std::mem::take(&mut inboxes[rank]),
                        outbox: Vec::new(),
                        room: &mut || room,
                    };
                    prop_assert!(calls[rank].handle(&mut memory).is_ok());
                    (work[rank], inboxes[rank]) = (memory.work, memory.inbox);
                    inboxes[(rank + 1) % ranks].extend(memory.outbox);
                }
            }
            let sums: Vec<u8> = (0..length)
                .map(|octet| (0..ranks).fold(0, |sum: u8, rank| sum.wrapping_add((octet * (rank + 3)) as u8)))
                .collect();
            prop_assert!(work.iter().all(|work| *work == sums));
            prop_assert!(inboxes.iter().all(VecDeque::is_empty));
        }
    }
}
