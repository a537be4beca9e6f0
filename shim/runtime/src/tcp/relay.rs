//! A collective along the ring over TCP. The core decides which octets go when; this moves them between sockets and
//! the memory of the call, and combines them.
use super::MeshError;
use super::link::{SentMemory, SentOctets};
use super::mesh::TcpMesh;
use crate::watchdog;
use schedules::relay::{PartTreatment, RankRelay};
use std::fmt;
use std::ops::Range;
use wire::relay::{self, RelayCall, RelayShell};

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
    relay::MOST.max(element)
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
        let mut octets = RelayOctets {
            mesh: self,
            memory,
            combine,
        };
        let outcome = octets.run(share, progress, call);
        if outcome.is_err() {
            octets.mesh.close();
        } else {
            octets.mesh.end_call(&octets.memory);
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

/// The octets of a call, between connections and memory.
struct RelayOctets<'a, 'm> {
    mesh: &'a mut TcpMesh,
    memory: RelayMemory<'m>,
    combine: CombineParts<'a>,
}

impl RelayOctets<'_, '_> {
    fn run(
        &mut self,
        share: &RankRelay,
        progress: &mut dyn FnMut() -> bool,
        name: &dyn fmt::Display,
    ) -> Result<(), MeshError> {
        let (mut ready, mut tokens) = (Vec::new(), Vec::new());
        let parts = self.memory.parts;
        let mut call = RelayCall::new(share, parts, self.memory.element, self.mesh.ranks());
        loop {
            self.mesh.send_again(&self.memory)?;
            call.handle(self)?;
            if call.is_over() {
                return Ok(());
            }
            watchdog::begin_wait(|| call.waits_for(name));
            ready.clear();
            self.mesh.wait(&mut ready, &mut tokens, progress)?;
        }
    }
}

impl RelayShell for RelayOctets<'_, '_> {
    type Failure = MeshError;

    fn read(
        &mut self,
        rank: u32,
        chunk: &Range<usize>,
        after: usize,
        treatment: PartTreatment,
    ) -> Result<usize, MeshError> {
        // This rank's own part lies in `work` then, where the one that comes would overwrite it.
        let aside = treatment == PartTreatment::Combine && self.memory.own.is_none();
        let place = if aside {
            &mut self.memory.aside[..chunk.len()]
        } else {
            &mut self.memory.work[chunk.clone()]
        };
        self.mesh.peer(rank)?.receive(rank, &mut place[after..])
    }

    fn wake_at(&mut self, rank: u32, octets: usize) -> Result<(), MeshError> {
        Ok(self.mesh.peer(rank)?.wake_at(octets)?)
    }

    fn combine(&mut self, chunk: Range<usize>) {
        let into = &mut self.memory.work[chunk.clone()];
        match self.memory.own {
            Some(own) => (self.combine)(&own[chunk], into),
            None => (self.combine)(&self.memory.aside[..chunk.len()], into),
        }
    }

    fn write(&mut self, rank: u32, octets: Range<usize>, is_own: bool) -> Result<usize, MeshError> {
        let source = SentOctets::Relayed { is_own };
        let [memory, _] = self.memory.pieces(&source);
        let pieces = [&memory[..octets.end], &[]];
        self.mesh
            .peer(rank)?
            .send(rank, source, pieces, octets.start)
    }
}

#[cfg(test)]
mod tests;
