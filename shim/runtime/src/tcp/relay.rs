//! A collective along the ring over TCP: one stream of octets from each rank to the next one. It is
//! the rank's first part, and then what came from the previous rank, combined or kept, a chunk at a
//! time. Both ends know all lengths, so the stream needs no frames and no tokens.
use super::MeshError;
use super::link::{SentMemory, SentOctets};
use super::mesh::TcpMesh;
use crate::watchdog;
use schedules::relay::{PartTreatment, RankRelay};
use std::fmt;
use std::ops::Range;

/// The largest chunk, unless an element is larger.
const MOST: usize = 16 * 1024;
/// The smallest one, unless a part is smaller: each costs calls of the system.
const LEAST: usize = 2 * 1024;
/// A part comes in at least so many chunks, so that the first ones go on while others come; what
/// goes around once, in so many for each rank, for the last one gets the first chunk only after all
/// others have had it.
const CHUNKS: usize = 4;
const CHUNKS_A_RANK: usize = 8;

/// Combines the second octets with the first ones, into the second; both hold whole elements.
pub type CombineParts<'a> = &'a mut dyn FnMut(&[u8], &mut [u8]);

/// The memory of a call.
pub struct RelayMemory<'a> {
    /// Parts come here, are combined here, and go on from here.
    pub work: &'a mut [u8],
    /// This rank's own parts; `None`: they lie in `work`.
    pub own: Option<&'a [u8]>,
    /// Where each part lies, in both.
    pub parts: &'a [Range<usize>],
    /// Octets of an element.
    pub element: usize,
    /// Room for a chunk ([`chunk_room`]), aligned for elements; used if `own` is `None`.
    pub aside: &'a mut [u8],
}

/// The largest chunk that a call with such elements combines.
pub fn chunk_room(element: usize) -> usize {
    MOST.max(element)
}

impl TcpMesh {
    /// Carries out this rank's share of a collective along the ring. `progress` is called while
    /// nothing comes; `call` is the name of the collective for the watchdog.
    ///
    /// # Errors
    /// [`MeshError`]: some parts have been sent, others not. Nothing can be sent over this mesh
    /// again.
    pub fn relay(
        &mut self,
        share: &RankRelay,
        memory: RelayMemory,
        combine: CombineParts,
        progress: &mut dyn FnMut() -> bool,
        call: &dyn fmt::Display,
    ) -> Result<(), MeshError> {
        // Nobody gives tokens in this call.
        self.begin();
        let mut run = RelayRun::new(self, share, memory, combine);
        let outcome = run.run(progress, call);
        if outcome.is_err() {
            run.mesh.close();
        } else {
            run.mesh.end_call(&run.memory);
        }
        outcome
    }
}

impl SentMemory for RelayMemory<'_> {
    // A chunk is overwritten by what is made of it at the next rank: it has come there.
    fn pieces<'m>(&'m self, source: &'m SentOctets) -> [&'m [u8]; 2] {
        match (source, self.own) {
            (SentOctets::Relayed { is_own: true }, Some(own)) => [own, &[]],
            _ => [self.work, &[]],
        }
    }
}

/// A call under way.
struct RelayRun<'a, 'm> {
    mesh: &'a mut TcpMesh,
    share: &'a RankRelay,
    memory: RelayMemory<'m>,
    combine: CombineParts<'a>,
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

impl<'a, 'm> RelayRun<'a, 'm> {
    fn new(
        mesh: &'a mut TcpMesh,
        share: &'a RankRelay,
        memory: RelayMemory<'m>,
        combine: CombineParts<'a>,
    ) -> Self {
        let element = memory.element.max(1);
        let longest = memory.parts.iter().map(Range::len).max().unwrap_or(0);
        let chunks = if share.incoming.len() > 1 {
            CHUNKS
        } else {
            CHUNKS_A_RANK * mesh.ranks() as usize
        };
        let chunk = (longest / chunks).clamp(LEAST, MOST);
        RelayRun {
            mesh,
            share,
            memory,
            combine,
            chunk: (chunk / element).max(1) * element,
            coming: PlaceInStream::default(),
            part_of_chunk: 0,
            going: PlaceInStream::default(),
        }
    }

    fn run(
        &mut self,
        progress: &mut dyn FnMut() -> bool,
        call: &dyn fmt::Display,
    ) -> Result<(), MeshError> {
        let (mut ready, mut tokens) = (Vec::new(), Vec::new());
        loop {
            // A chunk that came goes on at once: the next rank waits for it.
            while self.receive_chunk()? {
                self.send_on()?;
            }
            self.send_on()?;
            if self.is_over() {
                return Ok(());
            }
            watchdog::begin_wait(|| self.waits_for(call));
            ready.clear();
            self.mesh.wait(&mut ready, &mut tokens, progress)?;
        }
    }

    /// Parts that are sent: the first one and those sent on.
    fn parts_sent(&self) -> usize {
        usize::from(self.share.first.is_some()) + self.share.sent_on
    }

    fn is_over(&self) -> bool {
        self.coming.parts == self.share.incoming.len() && self.going.parts == self.parts_sent()
    }

    /// Receives the rest of a chunk; gives whether it has come whole.
    fn receive_chunk(&mut self) -> Result<bool, MeshError> {
        let Some(incoming) = self.share.incoming.get(self.coming.parts) else {
            return Ok(false);
        };
        let range = self.memory.parts[incoming.part as usize].clone();
        let begin = range.start + self.coming.octets;
        let chunk = begin..range.end.min(begin + self.chunk);
        let combines = incoming.treatment == PartTreatment::Combine;
        // This rank's own part lies in `work` then, where the one that comes would overwrite it.
        let aside = combines && self.memory.own.is_none();
        let place = if aside {
            &mut self.memory.aside[..chunk.len()]
        } else {
            &mut self.memory.work[chunk.clone()]
        };
        if self.part_of_chunk < chunk.len() {
            let rank = self.share.previous;
            let peer = self.mesh.peer(rank)?;
            self.part_of_chunk += peer.receive(rank, &mut place[self.part_of_chunk..])?;
            if self.part_of_chunk < chunk.len() {
                peer.wake_at(chunk.len() - self.part_of_chunk)?;
                return Ok(false);
            }
        }
        if combines && !chunk.is_empty() {
            let into = &mut self.memory.work[chunk.clone()];
            match self.memory.own {
                Some(own) => (self.combine)(&own[chunk.clone()], into),
                None => (self.combine)(&self.memory.aside[..chunk.len()], into),
            }
        }
        self.part_of_chunk = 0;
        self.coming.octets += chunk.len();
        if chunk.end == range.end {
            self.coming = PlaceInStream {
                parts: self.coming.parts + 1,
                octets: 0,
            };
        }
        Ok(true)
    }

    /// Sends what is here, as far as the connection allows.
    fn send_on(&mut self) -> Result<(), MeshError> {
        self.mesh.send_again(&self.memory)?;
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
            let range = self.memory.parts[part as usize].clone();
            let there = there.min(range.len());
            if there > self.going.octets {
                let rank = self.share.next;
                let source = SentOctets::Relayed { is_own };
                let [memory, _] = self.memory.pieces(&source);
                let octets = [&memory[..range.start + there], &[]];
                let after = range.start + self.going.octets;
                self.going.octets += self.mesh.peer(rank)?.send(rank, source, octets, after)?;
            }
            if self.going.octets < range.len() {
                return Ok(());
            }
            self.going = PlaceInStream {
                parts: self.going.parts + 1,
                octets: 0,
            };
        }
        Ok(())
    }

    /// For the watchdog.
    fn waits_for(&self, call: &dyn fmt::Display) -> String {
        let (incoming, came) = (self.share.incoming.len(), self.coming.parts);
        if came < incoming {
            let (rank, number) = (self.share.previous, came + 1);
            format!("{call}: what rank {rank} passes on (part {number} of {incoming})")
        } else {
            format!("{call}: its parts to go to rank {}", self.share.next)
        }
    }
}

#[cfg(test)]
mod tests;
