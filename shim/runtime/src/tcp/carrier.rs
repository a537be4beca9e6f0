//! A part of a schedule over TCP. Where all ranks know the length of each block, a connection's
//! stream needs no frames: what comes after the last piece belongs to the next call, and stays in
//! the kernel until then. Where only the two ends of a block know its length, they may disagree:
//! then each block has a frame.
mod framed;

pub use self::framed::ArrivedBlocks;

use self::framed::{BlockFraming, FrameReader};
use super::MeshError;
use super::mesh::{MeshToken, ReadyPeer, TcpMesh, fastest};
use super::peer::MeshPeer;
use super::window::SendWindow;
use crate::exchange::{CarrierEvent, ExchangeWindow, TransferCarrier, TransferPiece, carry_out};
use schedules::message::Message;
use schedules::transfers::part::SyncToken;
use schedules::transfers::part::{BlockOrigin, OutgoingBlock, RankPart};
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// Octets of a streamed block that are passed on at once: fewer cost more calls of the system, more
/// leave the next link idle. 16 kB reached 0.96 of the bound where whole blocks of 64 kB reached
/// 0.90.
const CHUNK: usize = 16 * 1024;
/// Octets of a block that are still to come over a slow trunk when the next one begins.
const BEGINNING: usize = 32 * 1024;
/// And no more on the fastest links: a segment of TCP.
const MOST_CHUNK: usize = 64 * 1024;
/// A piece goes alone over its links by plan. If it takes so many times as long as they need, others
/// are on them: two of heddle's jobs share a link by halves, and are none.
const CROWDED: f64 = 3.0;
/// A rank may wait so long for a processor.
const WAKING_LATE: Duration = Duration::from_millis(20);

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
        let (crowded, early): (Vec<_>, Vec<_>) = self
            .begin()
            .into_iter()
            .partition(|token| token.ends_turns());
        let tokens = early.into_iter().map(MeshToken::of_part).collect();
        let length = incoming.first().map_or(0, |block| block.len());
        let streams = incoming.iter().map(|_| IncomingStream::default()).collect();
        let blocks = BlockStore {
            part,
            framing,
            length,
            outgoing,
            incoming,
            aside: HashMap::new(),
        };
        let (sending, expected) = (VecDeque::new(), Vec::new());
        let events = crowded.iter().map(|_| CarrierEvent::Crowded).collect();
        let chunk = self.few(CHUNK).min(MOST_CHUNK);
        self.meter_call(part, framing, length);
        let yielding = self.yielding(part);
        self.take_at_most(&yielding, Some(2 * chunk));
        let mut carrier = MeshCarrier {
            mesh: self,
            chunk,
            blocks,
            window: SendWindow::new(part.window),
            streams,
            sending,
            side_by_side: part.side_by_side,
            crowded_at: None,
            tokens,
            expected,
            events,
            arrived: ArrivedBlocks::Whole,
            progress,
        };
        let outcome = carry_out(part, &mut carrier, window(part), &call);
        let arrived = carrier.arrived;
        if outcome.is_err() {
            self.close();
        } else {
            self.take_at_most(&yielding, None);
        }
        outcome.map(|()| arrived)
    }
}

/// The pieces under way at once.
fn window(part: &RankPart) -> ExchangeWindow {
    let sends = match (part.side_by_side, part.streams) {
        // The next one to the same rank follows without a gap.
        (true, _) => 2,
        (false, true) => usize::MAX,
        (false, false) => 1,
    };
    let receives = usize::MAX;
    ExchangeWindow { receives, sends }
}

impl TcpMesh {
    /// Decides whether the blocks of a call are metered: those of which each goes from its sender to
    /// its receiver, one at a time.
    fn meter_call(&mut self, part: &RankPart, framing: BlockFraming, length: usize) {
        let is_plain = !part.streams && !part.passes_on && part.window.is_none();
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
            peer.and_then(MeshPeer::pace_now)
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

/// The tokens of a block over a slow trunk, each with the octets after which it is given. The next
/// stream over the trunk needs a while until it is as fast: the end of this one fills the trunk
/// until then.
fn due_across(tokens: &[SyncToken], whole: usize) -> Vec<(SyncToken, usize)> {
    let at = whole - BEGINNING.min(whole / 2);
    tokens.iter().map(|&token| (token, at)).collect()
}

/// The memory of the blocks.
struct BlockStore<'a, 'o, 'i> {
    part: &'a RankPart,
    framing: BlockFraming,
    /// Octets of a block that is passed on.
    length: usize,
    outgoing: &'a [&'o [u8]],
    incoming: &'a mut [&'i mut [u8]],
    /// Blocks to pass on.
    aside: HashMap<Message, Vec<u8>>,
}

impl BlockStore<'_, '_, '_> {
    /// The octets of a block that comes.
    fn incoming_length(&self, block: Message) -> usize {
        if self.part.streams || block.dst == self.part.rank {
            self.incoming[block.src as usize].len()
        } else {
            self.length
        }
    }

    /// The octets of a block that goes.
    fn outgoing_length(&self, block: OutgoingBlock) -> usize {
        match block.origin {
            _ if self.part.streams => self.incoming[block.block.src as usize].len(),
            BlockOrigin::Own => self.outgoing[block.block.dst as usize].len(),
            BlockOrigin::Received { .. } => self.length,
        }
    }

    /// The memory a block is received into.
    fn place(&mut self, block: Message) -> &mut [u8] {
        if self.part.streams || block.dst == self.part.rank {
            self.incoming[block.src as usize]
        } else {
            self.aside
                .entry(block)
                .or_insert_with(|| vec![0; self.length])
        }
    }

    /// The octets of a block that is sent, all of them if it is here.
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

/// The pieces expected from one rank.
#[derive(Debug, Default)]
struct IncomingStream {
    /// The pieces to come, in their order.
    pieces: VecDeque<TransferPiece>,
    /// The received part of the first one.
    at: PiecePlace,
    /// The header of the first one, where blocks have frames.
    frame: FrameReader,
}

/// The progress of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PiecePlace {
    /// Blocks that are over.
    blocks: usize,
    /// Octets of the next one.
    octets: usize,
}

/// A mesh during one call.
struct MeshCarrier<'a, 'o, 'i> {
    mesh: &'a mut TcpMesh,
    blocks: BlockStore<'a, 'o, 'i>,
    /// Octets of a streamed block that are passed on at once.
    chunk: usize,
    window: SendWindow,
    /// By rank.
    streams: Vec<IncomingStream>,
    /// The pieces to send, in their order, and how much of each has gone.
    sending: VecDeque<(TransferPiece, PiecePlace)>,
    /// Pieces to different ranks go beside each other.
    side_by_side: bool,
    /// From then on the piece that is sent alone takes far longer than it should.
    crowded_at: Option<Instant>,
    /// Tokens that have come and are not expected yet.
    tokens: HashSet<SyncToken>,
    expected: Vec<SyncToken>,
    events: Vec<CarrierEvent>,
    arrived: ArrivedBlocks,
    progress: &'a mut dyn FnMut() -> bool,
}

impl MeshCarrier<'_, '_, '_> {
    /// Takes what has come from a rank.
    fn take(&mut self, rank: u32) -> Result<(), MeshError> {
        match self.blocks.framing {
            BlockFraming::Bare => self.take_bare(rank),
            BlockFraming::Framed => self.take_framed(rank),
        }
    }

    fn take_bare(&mut self, rank: u32) -> Result<(), MeshError> {
        let part = self.blocks.part;
        let Some(stream) = self.streams.get_mut(rank as usize) else {
            return Ok(());
        };
        while let Some(&piece) = stream.pieces.front() {
            let receive = &part.receives[piece.transfer];
            let blocks = if part.streams {
                1
            } else {
                receive.blocks.len()
            };
            let blocks = &receive.blocks[piece.block..piece.block + blocks];
            let length = |blocks: &[Message]| -> usize {
                blocks.iter().map(|&b| self.blocks.incoming_length(b)).sum()
            };
            let whole = length(blocks);
            let due = if part.side_by_side {
                due_across(&receive.give, whole)
            } else {
                self.mesh.due(rank, &receive.give, whole)?
            };
            let before = length(&blocks[..stream.at.blocks]) + stream.at.octets;
            let place = self.blocks.place(blocks[stream.at.blocks]);
            let peer = self.mesh.peer(rank)?;
            let length = place.len();
            let room = length - stream.at.octets;
            let received = peer.receive(rank, &mut place[stream.at.octets..])?;
            stream.at.octets += received;
            if stream.at.octets == length {
                stream.at = PiecePlace {
                    blocks: stream.at.blocks + 1,
                    octets: 0,
                };
            }
            let now = before + received;
            self.mesh.meter.came(rank, now, whole);
            let is_due = |&&(_, at): &&(_, usize)| before < at && now >= at || whole == 0;
            let given = due.iter().filter(is_due);
            self.events
                .extend(given.map(|&(token, _)| CarrierEvent::Due(piece, token)));
            if now == whole {
                self.window.block_came(self.mesh.peer(rank)?);
                stream.pieces.pop_front();
                stream.at = PiecePlace::default();
                self.events.push(CarrierEvent::Arrived(piece));
            } else if received < room {
                let chunk = (self.chunk - now % self.chunk).min(whole - now);
                let next = due.iter().map(|&(_, at)| at).filter(|&at| at > now).min();
                let wake = match next {
                    _ if now == 0 && self.mesh.meter.is_on() => 1,
                    Some(at) if part.streams => chunk.min(at - now),
                    None if part.streams => chunk,
                    at => at.unwrap_or(whole) - now,
                };
                return Ok(self.mesh.peer(rank)?.wake_at(wake)?);
            }
        }
        Ok(())
    }

    /// The number of octets of a block that can go.
    fn there(&self, block: OutgoingBlock) -> usize {
        let BlockOrigin::Received {
            transfer,
            block: at,
        } = block.origin
        else {
            return self.blocks.outgoing_length(block);
        };
        if !self.blocks.part.streams {
            return self.blocks.outgoing_length(block);
        }
        let stream = &self.streams[self.blocks.part.receives[transfer].peer as usize];
        // Pieces from one rank come in their order.
        let piece = TransferPiece {
            transfer,
            block: at,
        };
        match stream.pieces.front() {
            Some(first) if *first == piece => stream.at.octets / self.chunk * self.chunk,
            Some(first) if *first < piece => 0,
            _ => self.blocks.outgoing_length(block),
        }
    }

    /// Sends on as far as connections allow: what is first, or what is first to each rank.
    fn send_on(&mut self) -> Result<(), MeshError> {
        let part = self.blocks.part;
        let (mut number, mut waiting) = (0, Vec::new());
        while let Some(&(piece, at)) = self.sending.get(number) {
            let peer = part.sends[piece.transfer].peer;
            if waiting.contains(&peer) {
                number += 1;
            } else if self.send_piece(piece, at, number)? {
                self.sending.remove(number);
                self.crowded_at = None;
                self.events.push(CarrierEvent::Gone(piece));
            } else if self.side_by_side {
                waiting.push(peer);
                number += 1;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Sends the rest of a piece, which has this number among those to send, as far as its connection
    /// allows; gives whether it has gone.
    fn send_piece(
        &mut self,
        piece: TransferPiece,
        mut at: PiecePlace,
        number: usize,
    ) -> Result<bool, MeshError> {
        let part = self.blocks.part;
        let send = &part.sends[piece.transfer];
        let blocks = if part.streams { 1 } else { send.blocks.len() };
        while at.blocks < blocks {
            let block = send.blocks[piece.block + at.blocks];
            let whole = self.blocks.outgoing_length(block);
            let head = self.blocks.framing.header(self.mesh.call(), whole);
            let there = head.len() + self.there(block);
            if there > at.octets {
                let may = self.window.room(self.mesh, there - at.octets)?;
                if may > 0 {
                    let octets = &self.blocks.octets(block)[..there - head.len()];
                    let peer = self.mesh.peer(send.peer)?;
                    let sent = peer.send(send.peer, [&head, octets], at.octets)?;
                    self.window.sent(send.peer, sent);
                    at.octets += sent;
                }
            }
            if at.octets < head.len() + whole {
                break;
            }
            at = PiecePlace {
                blocks: at.blocks + 1,
                octets: 0,
            };
        }
        self.sending[number].1 = at;
        // A block that the window let go counts as sent: the window also limits the kernel's queue.
        let goes_on = part.streams || self.window.is_limited();
        Ok(at.blocks == blocks && (goes_on || self.mesh.is_mostly_sent(send.peer)?))
    }
}

impl MeshCarrier<'_, '_, '_> {
    /// Waits until something can go on.
    fn wait_on(
        &mut self,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<(), MeshError> {
        while !self.mesh.wait(ready, tokens, self.progress)? {
            self.look_for_short_blocks()?;
            self.look_for_crowds();
            if !self.events.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

impl MeshCarrier<'_, '_, '_> {
    /// The time after which a piece that goes alone is late by far; `None` where pieces share links by
    /// plan, or no rate is known.
    fn crowded_at(&mut self, piece: TransferPiece) -> Option<Instant> {
        let part = self.blocks.part;
        if self.side_by_side || part.streams || part.passes_on || self.window.is_limited() {
            return None;
        }
        let send = &part.sends[piece.transfer];
        let lengths = send.blocks.iter().map(|&b| self.blocks.outgoing_length(b));
        let octets: usize = lengths.sum();
        let planned = self.mesh.planned_time(send.peer, octets)?;
        Some(Instant::now() + WAKING_LATE + planned.mul_f64(CROWDED))
    }

    /// Tells if the piece that is sent should have gone long ago.
    fn look_for_crowds(&mut self) {
        let is_late = |at: &mut Instant| Instant::now() >= *at;
        if self.crowded_at.take_if(is_late).is_some() {
            self.mesh.tell_of_crowds();
            self.events.push(CarrierEvent::Crowded);
        }
    }
}

impl TransferCarrier for MeshCarrier<'_, '_, '_> {
    type Failure = MeshError;
    const PASSES_ON_PARTS: bool = true;

    fn receive(&mut self, piece: TransferPiece) -> Result<(), MeshError> {
        let peer = self.blocks.part.receives[piece.transfer].peer;
        self.mesh.peer(peer)?;
        let stream = &mut self.streams[peer as usize];
        stream.pieces.push_back(piece);
        // The kernel told of what came between two calls then.
        if stream.pieces.len() == 1 {
            self.mesh.peer(peer)?.acknowledge_seldom()?;
            self.take(peer)
        } else {
            Ok(())
        }
    }

    fn send(&mut self, piece: TransferPiece) -> Result<(), MeshError> {
        self.sending.push_back((piece, PiecePlace::default()));
        self.crowded_at = self.crowded_at(piece);
        if self.sending.len() == 1 || self.side_by_side {
            self.send_on()
        } else {
            Ok(())
        }
    }

    fn expect(&mut self, token: SyncToken) -> Result<(), MeshError> {
        if self.tokens.remove(&token) {
            self.events.push(CarrierEvent::Taken(token));
        } else if self.mesh.peer(token.peer)?.ended {
            return Err(MeshError::ended(token.peer));
        } else {
            self.expected.push(token);
        }
        Ok(())
    }

    fn give(&mut self, token: SyncToken) -> Result<(), MeshError> {
        self.mesh.give(token.peer, token.id)
    }

    fn abandon_turns(&mut self) {
        self.side_by_side = true;
        self.expected.clear();
        self.mesh.abandon_turns();
    }

    fn is_idle(&self) -> bool {
        self.sending.is_empty() && self.events.is_empty() && self.mesh.is_flushed()
    }

    fn wait(&mut self, events: &mut Vec<CarrierEvent>) -> Result<(), MeshError> {
        if self.events.is_empty() {
            let (mut ready, mut tokens) = (Vec::new(), Vec::new());
            if self.window.is_full() {
                self.mesh.look(&mut ready, &mut tokens)?;
                self.look_for_short_blocks()?;
            } else {
                self.wait_on(&mut ready, &mut tokens)?;
            }
            let (crowded, tokens): (Vec<_>, Vec<_>) =
                tokens.into_iter().partition(|token| token.ends_turns());
            self.events
                .extend(crowded.iter().map(|_| CarrierEvent::Crowded));
            for token in tokens.into_iter().map(MeshToken::of_part) {
                match self.expected.iter().position(|expected| *expected == token) {
                    Some(at) => self
                        .events
                        .push(CarrierEvent::Taken(self.expected.swap_remove(at))),
                    None => drop(self.tokens.insert(token)),
                }
            }
            for event in ready {
                if let ReadyPeer::Readable(rank) = event {
                    self.take(rank)?;
                }
            }
            for token in &self.expected {
                if self.mesh.peer(token.peer)?.ended {
                    return Err(MeshError::ended(token.peer));
                }
            }
            self.send_on()?;
            self.look_for_crowds();
        }
        events.append(&mut self.events);
        Ok(())
    }

    fn sent_again(&self, peer: u32) -> Option<u32> {
        self.mesh.sent_again(peer)
    }
}

#[cfg(test)]
mod tests;
