//! The pieces of a part as octets on connections, one each way with each rank: where the next octets
//! go, when tokens are due, and whose turn it is.
use crate::exchange::{CarrierEvent, TransferPiece};
use crate::framing::{ArrivedBlocks, BlockFraming, FrameReader, OtherCall, due_at, next_stop};
use crate::links::{PeerLinks, payload_rate};
use crate::send_window::SendWindow;
use crate::shell::{IncomingPlace, OutgoingOctets, WireShell};
use inventory::BitsPerSec;
use schedules::message::Message;
use schedules::transfers::part::{BlockOrigin, OutgoingBlock, RankPart, SyncToken};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

/// Octets of a streamed block that are passed on at once: fewer cost more calls of the system, more
/// leave the next link idle. 16 kB reached 0.96 of the bound where whole blocks of 64 kB reached
/// 0.90.
const CHUNK: usize = 16 * 1024;
/// And no more on the fastest links: a segment of TCP.
const MOST_CHUNK: usize = 64 * 1024;
/// Octets of a block that are still to come over a slow trunk when the next one begins.
const BEGINNING: usize = 32 * 1024;
/// A piece goes alone over its links by plan. If it takes so many times as long as they need, others
/// are on them: two of heddle's jobs share a link by halves, and are none.
const CROWDED: f64 = 3.0;
/// A rank may wait so long for a processor.
const WAKING_LATE: Duration = Duration::from_millis(20);

/// A call as its connections see it.
#[derive(Debug)]
pub struct WireSetting {
    /// The number of the call.
    pub call: u32,
    /// Whether blocks have headers.
    pub framing: BlockFraming,
    /// By rank: the links to it.
    pub links: Vec<PeerLinks>,
    /// Links may take so many times as long as their rates say.
    pub patience: f64,
    /// Octets of this rank's blocks, by receiver.
    pub outgoing: Vec<usize>,
    /// Octets of the blocks that it has room for, by sender; around a ring its own lies here, too.
    pub incoming: Vec<usize>,
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

/// The octets of one call.
#[derive(Debug)]
pub struct CallStreams<'p> {
    part: &'p RankPart,
    setting: WireSetting,
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
    crowded_at: Option<Duration>,
    /// Tokens that have come and are not expected yet.
    tokens: HashSet<SyncToken>,
    expected: Vec<SyncToken>,
    events: Vec<CarrierEvent>,
    arrived: ArrivedBlocks,
}

impl<'p> CallStreams<'p> {
    /// A call of which nothing has been sent.
    pub fn new(part: &'p RankPart, setting: WireSetting) -> CallStreams<'p> {
        let paces = setting.links.iter().filter_map(|links| links.pace);
        let chunk = paces.map(|pace| pace.few(CHUNK)).min().unwrap_or(CHUNK);
        CallStreams {
            part,
            chunk: chunk.min(MOST_CHUNK),
            window: SendWindow::new(part.window),
            streams: setting
                .incoming
                .iter()
                .map(|_| Default::default())
                .collect(),
            setting,
            sending: VecDeque::new(),
            side_by_side: part.side_by_side,
            crowded_at: None,
            tokens: HashSet::new(),
            expected: Vec::new(),
            events: Vec::new(),
            arrived: ArrivedBlocks::Whole,
        }
    }

    /// Octets of a streamed block that are passed on at once.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// The octets that may be under way.
    pub fn window(&self) -> &SendWindow {
        &self.window
    }

    /// The state of the blocks for this rank.
    pub fn arrived(&self) -> ArrivedBlocks {
        self.arrived
    }

    /// The events that nobody has taken.
    pub fn events(&mut self) -> &mut Vec<CarrierEvent> {
        &mut self.events
    }

    /// True if nothing is sent and nothing has happened that has not been taken.
    pub fn is_idle(&self) -> bool {
        self.sending.is_empty() && self.events.is_empty()
    }

    /// Octets for which a block that is passed on has room.
    pub fn passed_on_length(&self) -> usize {
        self.setting.incoming.first().copied().unwrap_or(0)
    }

    /// The octets of a block of this length that one of `all` transfers carries. A block whose length its header
    /// says goes whole, with the first.
    fn portion(&self, transfer: usize, all: usize, length: usize) -> Range<usize> {
        match (self.setting.framing, self.part.round(transfer, all)) {
            (BlockFraming::Bare, round) => self.part.portion(round, length),
            (BlockFraming::Framed, 0) => 0..length,
            (BlockFraming::Framed, _) => length..length,
        }
    }

    /// The octets of a block that comes with this transfer.
    fn incoming_portion(&self, transfer: usize, block: Message) -> Range<usize> {
        let all = self.part.receives.len();
        self.portion(transfer, all, self.incoming_length(block))
    }

    fn incoming_octets(&self, transfer: usize, blocks: &[Message]) -> usize {
        let portions = blocks.iter().map(|&b| self.incoming_portion(transfer, b));
        portions.map(|portion| portion.len()).sum()
    }

    /// The octets of a block that goes with this transfer.
    fn outgoing_portion(&self, transfer: usize, block: OutgoingBlock) -> Range<usize> {
        let all = self.part.sends.len();
        self.portion(transfer, all, self.outgoing_length(block))
    }

    /// The octets of a block that comes.
    fn incoming_length(&self, block: Message) -> usize {
        if self.part.streams || block.dst == self.part.rank {
            self.setting.incoming[block.src as usize]
        } else {
            self.passed_on_length()
        }
    }

    /// The octets of a block that goes.
    fn outgoing_length(&self, block: OutgoingBlock) -> usize {
        match block.origin {
            _ if self.part.streams => self.setting.incoming[block.block.src as usize],
            BlockOrigin::Own => self.setting.outgoing[block.block.dst as usize],
            BlockOrigin::Received { .. } => self.passed_on_length(),
        }
    }

    fn slowest(&self, rank: u32) -> Option<BitsPerSec> {
        self.setting.links.get(rank as usize)?.slowest()
    }

    /// Begins to receive a piece. Octets that came before are taken now.
    pub fn receive<S: WireShell>(
        &mut self,
        piece: TransferPiece,
        shell: &mut S,
    ) -> Result<(), S::Failure> {
        let rank = self.part.receives[piece.transfer].peer;
        let Some(stream) = self.streams.get_mut(rank as usize) else {
            return Err(shell.nonsense(rank, "there is no such rank"));
        };
        stream.pieces.push_back(piece);
        if stream.pieces.len() > 1 {
            return Ok(());
        }
        shell.begin_to_read(rank)?;
        self.take(rank, shell)
    }

    /// Begins to send a piece.
    pub fn send<S: WireShell>(
        &mut self,
        now: Duration,
        piece: TransferPiece,
        shell: &mut S,
    ) -> Result<(), S::Failure> {
        self.sending.push_back((piece, PiecePlace::default()));
        self.crowded_at = self.crowded_at(now, piece);
        if self.sending.len() == 1 || self.side_by_side {
            self.send_on(shell)
        } else {
            Ok(())
        }
    }

    /// Begins to wait for a token; false if it has come already.
    pub fn expect(&mut self, token: SyncToken) -> bool {
        let is_missing = !self.tokens.remove(&token);
        if is_missing {
            self.expected.push(token);
        } else {
            self.events.push(CarrierEvent::Taken(token));
        }
        is_missing
    }

    /// Tokens that have not come.
    pub fn expected(&self) -> &[SyncToken] {
        &self.expected
    }

    /// A token has come.
    pub fn take_token(&mut self, token: SyncToken) {
        match self.expected.iter().position(|expected| *expected == token) {
            Some(at) => {
                let token = self.expected.swap_remove(at);
                self.events.push(CarrierEvent::Taken(token));
            }
            None => drop(self.tokens.insert(token)),
        }
    }

    /// Another rank has found the links crowded.
    pub fn is_crowded(&mut self) {
        self.events.push(CarrierEvent::Crowded);
    }

    /// From now on pieces to different ranks go side by side, and no token is expected.
    pub fn abandon_turns(&mut self) {
        self.side_by_side = true;
        self.expected.clear();
    }

    /// Takes what has come from a rank.
    pub fn take<S: WireShell>(&mut self, rank: u32, shell: &mut S) -> Result<(), S::Failure> {
        match self.setting.framing {
            BlockFraming::Bare => self.take_bare(rank, shell),
            BlockFraming::Framed => self.take_framed(rank, shell),
        }
    }

    /// The octets of a piece from a rank, `whole` octets long, after which each of these tokens is
    /// given.
    fn due(&self, rank: u32, tokens: &[SyncToken], whole: usize) -> Vec<(SyncToken, usize)> {
        if self.part.side_by_side {
            // The next stream over a slow trunk needs a while until it is as fast: the end of this one
            // fills the trunk until then.
            let at = whole - BEGINNING.min(whole / 2);
            return tokens.iter().map(|&token| (token, at)).collect();
        }
        if let Some(lead) = self.part.lead {
            // The first octet shows that the block is on its way.
            let lead = usize::try_from(lead.0).unwrap_or(usize::MAX);
            let at = whole.saturating_sub(lead).max(1);
            return tokens.iter().map(|&token| (token, at)).collect();
        }
        let pace = self.slowest(rank);
        tokens
            .iter()
            .map(|&token| {
                let links = self.setting.links.get(token.peer as usize);
                let lead = links.copied().unwrap_or_default().lead(pace);
                (token, due_at(lead, whole))
            })
            .collect()
    }

    fn take_bare<S: WireShell>(&mut self, rank: u32, shell: &mut S) -> Result<(), S::Failure> {
        let part = self.part;
        let front = |streams: &[IncomingStream]| {
            let stream = streams.get(rank as usize)?;
            Some((*stream.pieces.front()?, stream.at))
        };
        while let Some((piece, at)) = front(&self.streams) {
            let receive = &part.receives[piece.transfer];
            let count = if part.streams {
                1
            } else {
                receive.blocks.len()
            };
            let blocks = &receive.blocks[piece.block..piece.block + count];
            let whole = self.incoming_octets(piece.transfer, blocks);
            let due = self.due(rank, &receive.give, whole);
            let before = self.incoming_octets(piece.transfer, &blocks[..at.blocks]) + at.octets;
            let block = blocks[at.blocks];
            let portion = self.incoming_portion(piece.transfer, block);
            let end = portion.len();
            let place = IncomingPlace::Block {
                block,
                from: portion.start + at.octets,
                to: portion.end,
            };
            let received = shell.read(rank, place)?;
            let stream = &mut self.streams[rank as usize];
            stream.at.octets += received;
            if stream.at.octets == end {
                stream.at = PiecePlace {
                    blocks: at.blocks + 1,
                    octets: 0,
                };
            }
            let now = before + received;
            let wants_first = shell.measure(rank, now, whole);
            let given = due
                .iter()
                // Each token once, with the octet at which it is due; a piece without octets has none to come.
                .filter(|&&(_, at)| before < at && now >= at || whole == 0);
            self.events
                .extend(given.map(|&(token, _)| CarrierEvent::Due(piece, token)));
            if now == whole {
                self.end_piece(rank, piece, shell);
            } else if received < end - at.octets {
                let chunk = (self.chunk - now % self.chunk).min(whole - now);
                let next = due.iter().map(|&(_, at)| at).filter(|&at| at > now).min();
                let wake = match next {
                    _ if now == 0 && wants_first => 1,
                    Some(at) if part.streams => chunk.min(at - now),
                    None if part.streams => chunk,
                    at => at.unwrap_or(whole) - now,
                };
                return shell.wake_at(rank, wake);
            }
        }
        Ok(())
    }

    /// The first piece from a rank has come whole. Where the rank has a window, it waits for the
    /// acknowledgement of the last octets, which the kernel would send 40 ms later.
    fn end_piece<S: WireShell>(&mut self, rank: u32, piece: TransferPiece, shell: &mut S) {
        if self.window.is_limited() {
            shell.acknowledge(rank);
        }
        let stream = &mut self.streams[rank as usize];
        stream.pieces.pop_front();
        (stream.at, stream.frame) = Default::default();
        self.events.push(CarrierEvent::Arrived(piece));
    }

    fn take_framed<S: WireShell>(&mut self, rank: u32, shell: &mut S) -> Result<(), S::Failure> {
        let part = self.part;
        while let Some(&piece) = self
            .streams
            .get(rank as usize)
            .and_then(|stream| stream.pieces.front())
        {
            let block = part.receives[piece.transfer].blocks[0];
            let room = self.incoming_portion(piece.transfer, block).len();
            let give = &part.receives[piece.transfer].give;
            if room == 0 {
                // It is not sent.
                self.events
                    .extend(give.iter().map(|&token| CarrierEvent::Due(piece, token)));
                let stream = &mut self.streams[rank as usize];
                stream.pieces.pop_front();
                (stream.at, stream.frame) = Default::default();
                self.events.push(CarrierEvent::Arrived(piece));
                continue;
            }
            match self.take_framed_block(rank, piece, block, room, shell)? {
                Ok(whole) => {
                    if whole > room {
                        // MPI_ERR_TRUNCATE for the application; the rest was taken, so that the stream stays in step.
                        self.arrived = ArrivedBlocks::Truncated;
                    }
                    self.end_piece(rank, piece, shell);
                }
                Err(octets) => return shell.wake_at(rank, octets),
            }
        }
        Ok(())
    }

    /// Takes the next block as far as it has come, and its tokens that are due. Gives its length if
    /// it is over, else the octets to wait for.
    fn take_framed_block<S: WireShell>(
        &mut self,
        rank: u32,
        piece: TransferPiece,
        block: Message,
        room: usize,
        shell: &mut S,
    ) -> Result<Result<usize, usize>, S::Failure> {
        let due = self.due(rank, &self.part.receives[piece.transfer].give, room);
        let leads: Vec<(SyncToken, usize)> =
            due.iter().map(|&(token, at)| (token, room - at)).collect();
        let stream = &mut self.streams[rank as usize];
        let came = shell.read(rank, IncomingPlace::Header(stream.frame.rest()))?;
        stream.frame.came(came);
        let whole = match stream.frame.length(self.setting.call) {
            Ok(Some(whole)) => whole,
            Ok(None) => {
                let stop = next_stop(&leads, 0, room);
                return Ok(Err(stream.frame.missing() + stop));
            }
            Err(OtherCall) => return Err(shell.nonsense(rank, "a block of another call came")),
        };
        let before = stream.at.octets;
        let (from, to) = (before.min(room), whole.min(room));
        let mut received = shell.read(rank, IncomingPlace::Block { block, from, to })?;
        if received == to - from {
            received += shell.read(rank, IncomingPlace::Nowhere(whole - before - received))?;
        }
        let now = before + received;
        stream.at.octets = now;
        for &(token, lead) in &leads {
            let at = due_at(lead, whole);
            if now >= at && (before < at || whole == 0) {
                self.events.push(CarrierEvent::Due(piece, token));
            }
        }
        Ok(if now < whole {
            Err(next_stop(&leads, now, whole) - now)
        } else {
            Ok(whole)
        })
    }

    /// The shell is woken for as many octets as are expected: where nothing happens, perhaps a block
    /// is shorter. The octets that came of it are an event then.
    pub fn look_for_short_blocks<S: WireShell>(&mut self, shell: &mut S) -> Result<(), S::Failure> {
        if self.setting.framing == BlockFraming::Bare {
            return Ok(());
        }
        for rank in 0..self.streams.len() as u32 {
            if !self.streams[rank as usize].pieces.is_empty() {
                self.take_framed(rank, shell)?;
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
            return self.outgoing_length(block);
        };
        if !self.part.streams {
            return self.outgoing_length(block);
        }
        let stream = &self.streams[self.part.receives[transfer as usize].peer as usize];
        // Pieces from one rank come in their order.
        let piece = TransferPiece {
            transfer: transfer as usize,
            block: at as usize,
        };
        match stream.pieces.front() {
            Some(first) if *first == piece => stream.at.octets / self.chunk * self.chunk,
            Some(first) if *first < piece => 0,
            _ => self.outgoing_length(block),
        }
    }

    /// Sends on as far as connections allow: what is first, or what is first to each rank.
    pub fn send_on<S: WireShell>(&mut self, shell: &mut S) -> Result<(), S::Failure> {
        let part = self.part;
        let (mut number, mut waiting) = (0, Vec::new());
        while let Some(&(piece, at)) = self.sending.get(number) {
            let peer = part.sends[piece.transfer].peer;
            if waiting.contains(&peer) {
                number += 1;
            } else if self.send_piece(piece, at, number, shell)? {
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
    fn send_piece<S: WireShell>(
        &mut self,
        piece: TransferPiece,
        mut at: PiecePlace,
        number: usize,
        shell: &mut S,
    ) -> Result<bool, S::Failure> {
        let part = self.part;
        let send = &part.sends[piece.transfer];
        let blocks = if part.streams { 1 } else { send.blocks.len() };
        while at.blocks < blocks {
            let block = send.blocks[piece.block + at.blocks];
            let portion = self.outgoing_portion(piece.transfer, block);
            let whole = portion.len();
            let header = self.setting.framing.header(self.setting.call, whole);
            let there = self.there(block).min(portion.end);
            let may_go = header.len() + there.saturating_sub(portion.start);
            if may_go > at.octets && self.window.room(shell, may_go - at.octets)? > 0 {
                let octets = OutgoingOctets {
                    block,
                    header,
                    there,
                    after: portion.start + at.octets,
                };
                let sent = shell.write(send.peer, octets)?;
                self.window.sent(send.peer, sent);
                at.octets += sent;
            }
            if at.octets < header.len() + whole {
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
        Ok(at.blocks == blocks && (goes_on || shell.has_mostly_gone(send.peer)?))
    }

    /// The time after which a piece that goes alone is late by far; `None` where pieces share links by
    /// plan, or no rate is known.
    fn crowded_at(&self, now: Duration, piece: TransferPiece) -> Option<Duration> {
        let part = self.part;
        if self.side_by_side || part.streams || part.passes_on || self.window.is_limited() {
            return None;
        }
        let send = &part.sends[piece.transfer];
        let blocks = send.blocks.iter();
        let lengths = blocks.map(|&b| self.outgoing_portion(piece.transfer, b).len());
        let octets: usize = lengths.sum();
        let rate = payload_rate(self.slowest(send.peer)?);
        let planned =
            Duration::try_from_secs_f64(self.setting.patience * octets as f64 / rate).ok()?;
        Some(now + WAKING_LATE + planned.mul_f64(CROWDED))
    }

    /// True, once, if the piece that is sent should have gone long ago.
    pub fn look_for_crowds(&mut self, now: Duration) -> bool {
        let is_late = self.crowded_at.take_if(|at| now >= *at).is_some();
        if is_late {
            self.events.push(CarrierEvent::Crowded);
        }
        is_late
    }
}
