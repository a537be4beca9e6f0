//! A part of a schedule over TCP. The core decides which block goes where and when; this moves the octets
//! between sockets and the memory of the blocks.
use super::MeshError;
use super::link::{SentMemory, SentOctets};
use super::mesh::{MeshToken, ReadyPeer, TcpMesh, fastest};
use crate::exchange::{CarrierEvent, TransferCarrier, TransferPiece, carry_out};
use schedules::message::Message;
use schedules::transfers::part::{BlockOrigin, OutgoingBlock, RankPart, SyncToken};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wire::call::window;
pub use wire::framing::ArrivedBlocks;
use wire::framing::BlockFraming;
use wire::shell::{IncomingPlace, OutgoingOctets, WireShell};
use wire::streams::{CallStreams, WireSetting};

impl TcpMesh {
    /// Carries out this rank's part of a schedule that all ranks share: sends `outgoing[rank]`,
    /// this rank's block for each other one, and fills `incoming[rank]` from it. Where blocks
    /// stream around a ring, this rank's own lies in `incoming`, too. Blocks may differ in length,
    /// except where ranks pass on blocks that are not for them. `progress` is called while nothing
    /// comes.
    ///
    /// # Errors
    /// [`MeshError`]: some blocks have been sent, others not. Nothing can be sent over this mesh
    /// again.
    pub fn carry_out(
        &mut self,
        part: &RankPart,
        outgoing: &[&[u8]],
        incoming: &mut [&mut [u8]],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<(), MeshError> {
        let bare = BlockFraming::Bare;
        self.carry_out_as(bare, part, outgoing, incoming, progress)
            .map(|_| ())
    }

    /// The same for a part that passes nothing on, in which a block may be of another length than
    /// its receiver expects: the receiver takes what it has room for. A block that its sender knows
    /// to be empty is not sent.
    ///
    /// # Errors
    /// As above; also where a rank sends a block to one that expects none, in a later call of
    /// theirs.
    pub fn carry_out_framed(
        &mut self,
        part: &RankPart,
        outgoing: &[&[u8]],
        incoming: &mut [&mut [u8]],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<ArrivedBlocks, MeshError> {
        self.carry_out_as(BlockFraming::Framed, part, outgoing, incoming, progress)
    }

    fn carry_out_as(
        &mut self,
        framing: BlockFraming,
        part: &RankPart,
        outgoing: &[&[u8]],
        incoming: &mut [&mut [u8]],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<ArrivedBlocks, MeshError> {
        let call = if part.streams {
            "allgather over tcp"
        } else {
            "alltoall over tcp"
        };
        let early = self.begin();
        let mut streams = CallStreams::new(
            part,
            WireSetting {
                call: self.call(),
                framing,
                links: self.links(),
                patience: self.patience(),
                outgoing: outgoing.iter().map(|block| block.len()).collect(),
                incoming: incoming.iter().map(|block| block.len()).collect(),
            },
        );
        early
            .into_iter()
            .for_each(|token| take_token(&mut streams, token));
        self.meter_call(part, framing, streams.passed_on_length());
        let yielding = self.yielding(part);
        self.take_at_most(&yielding, Some(2 * streams.chunk()));
        let mut carrier = MeshCarrier {
            octets: MeshOctets {
                mesh: self,
                memory: BlockMemory {
                    length: streams.passed_on_length(),
                    part,
                    outgoing,
                    incoming,
                    aside: HashMap::new(),
                },
            },
            streams,
            began: Instant::now(),
            progress,
        };
        let outcome = carry_out(part, &mut carrier, window(part), &call);
        let arrived = carrier.streams.arrived();
        let MeshOctets { mesh, memory } = &mut carrier.octets;
        if outcome.is_err() {
            mesh.close();
        } else {
            mesh.end_call(memory);
            self.take_at_most(&yielding, None);
        }
        outcome.map(|()| arrived)
    }
}

/// Hands a token that has come to the call.
fn take_token(streams: &mut CallStreams, token: MeshToken) {
    if token.ends_turns() {
        streams.is_crowded();
    } else {
        streams.take_token(token.of_part());
    }
}

impl TcpMesh {
    /// Decides whether the blocks of a call are metered: those of which each goes from its sender to
    /// its receiver, one at a time.
    fn meter_call(&mut self, part: &RankPart, framing: BlockFraming, length: usize) {
        let goes_whole = part.rounds <= 1;
        let is_plain = goes_whole && !part.streams && !part.passes_on && part.window.is_none();
        if is_plain && framing == BlockFraming::Bare {
            let peers = &self.peers;
            self.meter.begin(length, || fastest(peers));
        } else {
            self.meter.pause();
        }
    }
}

impl TcpMesh {
    /// The ranks whose blocks yield to those over slower links: the slow link is then never idle, and
    /// the fast ones carry what is left. Streams with many octets under way would not let others have
    /// their share of the link to this rank. Only where transfers go side by side.
    fn yielding(&self, part: &RankPart) -> Vec<u32> {
        let slowest = |rank: u32| {
            let peer = self.peers.get(rank as usize).and_then(Option::as_ref);
            peer.and_then(|peer| peer.links.slowest())
        };
        let receives = || part.receives.iter().map(|receive| receive.peer);
        let all = part.sends.iter().map(|send| send.peer).chain(receives());
        let least = all.filter_map(slowest).min();
        let mut yielding: Vec<u32> = receives()
            .filter(|&rank| part.side_by_side && slowest(rank) > least)
            .collect();
        yielding.sort_unstable();
        yielding.dedup();
        yielding
    }

    fn take_at_most(&self, ranks: &[u32], octets: Option<usize>) {
        for &rank in ranks {
            if let Some(Some(peer)) = self.peers.get(rank as usize) {
                peer.take_at_most(octets);
            }
        }
    }
}

/// The sockets, and the memory of the blocks.
struct MeshOctets<'a, 'o, 'i> {
    mesh: &'a mut TcpMesh,
    memory: BlockMemory<'a, 'o, 'i>,
}

/// Where the blocks of a call lie.
struct BlockMemory<'a, 'o, 'i> {
    part: &'a RankPart,
    /// Octets of a block that is passed on.
    length: usize,
    outgoing: &'a [&'o [u8]],
    incoming: &'a mut [&'i mut [u8]],
    /// Blocks to pass on.
    aside: HashMap<Message, Vec<u8>>,
}

impl BlockMemory<'_, '_, '_> {
    /// A block that goes.
    fn octets(&self, block: OutgoingBlock) -> &[u8] {
        match block {
            OutgoingBlock { block, .. } if self.part.streams => self.incoming[block.src as usize],
            OutgoingBlock {
                block,
                origin: BlockOrigin::Own,
            } => self.outgoing[block.dst as usize],
            OutgoingBlock { block, .. } => self.aside.get(&block).map_or(&[], Vec::as_slice),
        }
    }
}

impl SentMemory for BlockMemory<'_, '_, '_> {
    fn pieces<'m>(&'m self, source: &'m SentOctets) -> [&'m [u8]; 2] {
        match source {
            SentOctets::Block(block, header) => [header, self.octets(*block)],
            SentOctets::Relayed { .. } => [&[], &[]],
        }
    }
}

impl WireShell for MeshOctets<'_, '_, '_> {
    type Failure = MeshError;

    fn read(&mut self, rank: u32, place: IncomingPlace<'_>) -> Result<usize, MeshError> {
        let BlockMemory {
            part,
            length,
            incoming,
            aside,
            ..
        } = &mut self.memory;
        let peer = self.mesh.peer(rank)?;
        match place {
            IncomingPlace::Header(octets) => peer.receive(rank, octets),
            IncomingPlace::Nowhere(octets) => peer.discard(rank, octets),
            IncomingPlace::Block { block, from, to } => {
                let memory = if part.streams || block.dst == part.rank {
                    &mut *incoming[block.src as usize]
                } else {
                    aside.entry(block).or_insert_with(|| vec![0; *length])
                };
                peer.receive(rank, &mut memory[from..to])
            }
        }
    }

    fn write(&mut self, rank: u32, octets: OutgoingOctets) -> Result<usize, MeshError> {
        let OutgoingOctets {
            block,
            header,
            there,
            after,
        } = octets;
        let memory = &self.memory.octets(block)[..there];
        let source = SentOctets::Block(block, header);
        let peer = self.mesh.peer(rank)?;
        peer.send(rank, source, [&header, memory], after)
    }

    fn has_mostly_gone(&mut self, rank: u32) -> Result<bool, MeshError> {
        self.mesh.is_mostly_sent(rank)
    }

    fn under_way(&mut self, rank: u32) -> Result<usize, MeshError> {
        Ok(self.mesh.peer(rank)?.under_way()?)
    }

    fn wake_at(&mut self, rank: u32, octets: usize) -> Result<(), MeshError> {
        Ok(self.mesh.peer(rank)?.wake_at(octets)?)
    }

    fn give(&mut self, token: SyncToken) -> Result<(), MeshError> {
        self.mesh.give(token.peer, token.id)
    }

    fn acknowledge(&mut self, rank: u32) {
        if let Ok(peer) = self.mesh.peer(rank) {
            peer.acknowledge_now();
        }
    }

    fn begin_to_read(&mut self, rank: u32) -> Result<(), MeshError> {
        self.mesh.peer(rank)?.acknowledge_seldom()
    }

    fn measure(&mut self, rank: u32, octets: usize, whole: usize) -> bool {
        self.mesh.meter.came(rank, octets, whole);
        self.mesh.meter.is_on()
    }

    fn nonsense(&self, rank: u32, problem: &'static str) -> MeshError {
        MeshError::Nonsense { rank, problem }
    }
}

/// A mesh during one call.
struct MeshCarrier<'a, 'o, 'i> {
    octets: MeshOctets<'a, 'o, 'i>,
    streams: CallStreams<'a>,
    began: Instant,
    progress: &'a mut dyn FnMut() -> bool,
}

impl MeshCarrier<'_, '_, '_> {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits until something can go on.
    fn wait_on(
        &mut self,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<(), MeshError> {
        while !self.octets.mesh.wait(ready, tokens, self.progress)? {
            self.streams.look_for_short_blocks(&mut self.octets)?;
            self.look_for_crowds();
            if !self.streams.events().is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Reports if the piece that is sent should have gone long ago.
    fn look_for_crowds(&mut self) {
        if self.streams.look_for_crowds(self.now()) {
            self.octets.mesh.tell_of_crowds();
        }
    }
}

impl TransferCarrier for MeshCarrier<'_, '_, '_> {
    type Failure = MeshError;
    const PASSES_ON_PARTS: bool = true;

    fn receive(&mut self, piece: TransferPiece) -> Result<(), MeshError> {
        // The kernel reported what came between two calls then.
        self.streams.receive(piece, &mut self.octets)
    }

    fn send(&mut self, piece: TransferPiece) -> Result<(), MeshError> {
        self.streams.send(self.now(), piece, &mut self.octets)
    }

    fn expect(&mut self, token: SyncToken) -> Result<(), MeshError> {
        if self.streams.expect(token) && self.octets.mesh.peer(token.peer)?.ended {
            return Err(MeshError::ended(token.peer));
        }
        Ok(())
    }

    fn give(&mut self, token: SyncToken) -> Result<(), MeshError> {
        self.octets.give(token)
    }

    fn abandon_turns(&mut self) {
        self.streams.abandon_turns();
        self.octets.mesh.abandon_turns();
    }

    fn is_idle(&self) -> bool {
        self.streams.is_idle() && self.octets.mesh.is_flushed()
    }

    fn wait(&mut self, events: &mut Vec<CarrierEvent>) -> Result<(), MeshError> {
        if self.streams.events().is_empty() {
            let (mut ready, mut tokens) = (Vec::new(), Vec::new());
            if self.streams.window().is_full() {
                self.octets.mesh.look(&mut ready, &mut tokens)?;
                self.streams.look_for_short_blocks(&mut self.octets)?;
            } else {
                self.wait_on(&mut ready, &mut tokens)?;
            }
            for token in tokens {
                take_token(&mut self.streams, token);
            }
            for event in ready {
                if let ReadyPeer::Readable(rank) = event {
                    self.streams.take(rank, &mut self.octets)?;
                }
            }
            let MeshOctets { mesh, memory } = &mut self.octets;
            mesh.send_again(memory)?;
            // After the tokens are taken: a rank may end as soon as it has given its last one.
            for token in self.streams.expected() {
                if mesh.peer(token.peer)?.ended {
                    return Err(MeshError::ended(token.peer));
                }
            }
            self.streams.send_on(&mut self.octets)?;
            self.look_for_crowds();
        }
        events.append(self.streams.events());
        Ok(())
    }

    fn sent_again(&self, peer: u32) -> Option<u32> {
        self.octets.mesh.sent_again(peer)
    }
}

#[cfg(test)]
pub(super) mod tests;
