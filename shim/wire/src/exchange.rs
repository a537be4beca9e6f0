//! One rank's part of a schedule, under way: which piece is received and sent next, and which token
//! is given.
//!
//! A rank sends in the order of its part, each piece as soon as its tokens and its blocks have
//! come, and receives ahead. The form of a piece on the wire, and the place of its octets, the carrier
//! knows.
use schedules::transfers::part::{
    BlockOrigin, IncomingTransfer, OutgoingTransfer, RankPart, SyncToken,
};
use std::collections::HashMap;
use std::fmt;

/// The unit a carrier sends or receives: a whole transfer, or a block of one that streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferPiece {
    /// The index in [`RankPart::sends`] or [`RankPart::receives`].
    pub transfer: usize,
    /// Its first block.
    pub block: usize,
}

/// An event that a carrier reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CarrierEvent {
    /// So much of a piece has come that this token is given now: it takes a while, too.
    Due(TransferPiece, SyncToken),
    /// A piece has come.
    Arrived(TransferPiece),
    Gone(TransferPiece),
    /// A token that was expected has come.
    Taken(SyncToken),
    /// A piece takes far longer than the links on its way allow: traffic of others is on them.
    Crowded,
}

/// An order to the carrier of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEffect {
    /// Begin to receive a piece.
    Receive(TransferPiece),
    /// Begin to send a piece.
    Send(TransferPiece),
    /// Begin to wait for a token.
    Expect(SyncToken),
    Give(SyncToken),
    /// From now on pieces to different ranks go side by side, and no token is expected.
    AbandonTurns,
}

/// The number of pieces under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeWindow {
    /// Pieces that may come.
    pub receives: usize,
    /// Pieces that go; to each rank, if transfers go side by side.
    pub sends: usize,
}

/// Transfers that go one after the other: all, or those to one rank.
#[derive(Debug)]
struct SendLane {
    /// Their numbers.
    transfers: Vec<usize>,
    /// The place of the next one among them, and the next block of it.
    at: usize,
    block: usize,
    /// Pieces that are being sent.
    going: usize,
    /// True if the tokens of the next transfer are expected already, and those that have not come.
    turned: bool,
    tokens: Vec<SyncToken>,
}

impl SendLane {
    /// The lanes of a part, and the lane of each transfer if there are several.
    fn all(part: &RankPart) -> (Vec<SendLane>, Vec<usize>) {
        if part.side_by_side {
            SendLane::by_rank(part)
        } else {
            let transfers = (0..part.sends.len()).collect();
            (vec![SendLane::new(transfers)], Vec::new())
        }
    }

    fn new(transfers: Vec<usize>) -> SendLane {
        SendLane {
            transfers,
            at: 0,
            block: 0,
            going: 0,
            turned: false,
            tokens: Vec::new(),
        }
    }

    /// A lane to each rank, and the lane of each transfer.
    fn by_rank(part: &RankPart) -> (Vec<SendLane>, Vec<usize>) {
        let (mut lanes, mut lane_of) = (Vec::<SendLane>::new(), Vec::new());
        let mut lane_to = HashMap::new();
        for (number, send) in part.sends.iter().enumerate() {
            let at = *lane_to.entry(send.peer).or_insert(lanes.len());
            if at == lanes.len() {
                lanes.push(SendLane::new(Vec::new()));
            }
            lanes[at].transfers.push(number);
            lane_of.push(at);
        }
        (lanes, lane_of)
    }

    /// A lane to each rank for what this one, the only one, has not sent yet.
    fn split(&self, part: &RankPart) -> (Vec<SendLane>, Vec<usize>) {
        let (mut lanes, lane_of) = SendLane::by_rank(part);
        for lane in &mut lanes {
            lane.at = lane.transfers.partition_point(|&number| number < self.at);
            // One lane sends in its order, so the last transfers that were begun are those under way.
            let going = self.at - self.going..self.at;
            lane.going = lane.transfers.iter().filter(|n| going.contains(n)).count();
        }
        (lanes, lane_of)
    }

    /// The next piece to send.
    fn next(&self) -> Option<TransferPiece> {
        let transfer = *self.transfers.get(self.at)?;
        let block = self.block;
        Some(TransferPiece { transfer, block })
    }

    fn is_over(&self) -> bool {
        self.at == self.transfers.len() && self.going == 0
    }
}

/// A part under way.
#[derive(Debug)]
pub struct PartExchange<'a> {
    part: &'a RankPart,
    /// A block may be given to be sent before it has come: it then goes on as it comes.
    passes_on_parts: bool,
    window: ExchangeWindow,
    /// By transfer: the number of its first piece among all that come.
    pieces: Vec<usize>,
    /// By number: whether the piece has come.
    came: Vec<bool>,
    /// Pieces still to come.
    missing: usize,
    /// The next piece to ask for, and how many are asked for and have not come.
    asked: TransferPiece,
    coming: usize,
    lanes: Vec<SendLane>,
    /// By transfer that is sent: its lane; empty if there is one lane.
    lane_of: Vec<usize>,
    /// Transfers wait for no token.
    is_without_turns: bool,
}

impl<'a> PartExchange<'a> {
    /// A part of which nothing has been sent. `passes_on_parts`: the carrier takes a block to be sent
    /// on before it has come whole.
    pub fn new(part: &'a RankPart, window: ExchangeWindow, passes_on_parts: bool) -> Self {
        let first = TransferPiece {
            transfer: 0,
            block: 0,
        };
        let mut pieces = vec![0];
        let mut missing = 0;
        for receive in &part.receives {
            missing += if part.streams {
                receive.blocks.len()
            } else {
                1
            };
            pieces.push(missing);
        }
        let (lanes, lane_of) = SendLane::all(part);
        PartExchange {
            part,
            passes_on_parts,
            window,
            pieces,
            came: vec![false; missing],
            missing,
            asked: first,
            coming: 0,
            lanes,
            lane_of,
            is_without_turns: false,
        }
    }

    /// True if every piece has come and gone.
    pub fn is_over(&self) -> bool {
        self.missing == 0 && self.lanes.iter().all(SendLane::is_over)
    }

    /// Takes what has happened, nothing at first, and adds what the carrier is to do now, in this
    /// order.
    pub fn handle(
        &mut self,
        events: impl IntoIterator<Item = CarrierEvent>,
        effects: &mut Vec<ExchangeEffect>,
    ) {
        for event in events {
            self.happened(event, effects);
        }
        self.receive_on(effects);
        self.send_on(effects);
    }

    fn number(&self, piece: TransferPiece) -> usize {
        self.pieces[piece.transfer] + if self.part.streams { piece.block } else { 0 }
    }

    /// The piece after this one, in a transfer of so many blocks.
    fn after(&self, piece: TransferPiece, blocks: usize) -> TransferPiece {
        if self.part.streams && piece.block + 1 < blocks {
            TransferPiece {
                block: piece.block + 1,
                ..piece
            }
        } else {
            TransferPiece {
                transfer: piece.transfer + 1,
                block: 0,
            }
        }
    }

    fn happened(&mut self, event: CarrierEvent, effects: &mut Vec<ExchangeEffect>) {
        let part = self.part;
        match event {
            CarrierEvent::Due(piece, token) => {
                let receive = &part.receives[piece.transfer];
                // A transfer that streams comes as one piece a block: its tokens are due with the last one.
                if self.after(piece, receive.blocks.len()).block == 0 {
                    effects.push(ExchangeEffect::Give(token));
                }
            }
            CarrierEvent::Arrived(piece) => {
                let number = self.number(piece);
                self.came[number] = true;
                self.missing -= 1;
                self.coming -= 1;
            }
            CarrierEvent::Gone(piece) => {
                let lane = self.lane_of.get(piece.transfer).copied().unwrap_or(0);
                self.lanes[lane].going -= 1;
                let send = &part.sends[piece.transfer];
                if self.after(piece, send.blocks.len()).block == 0 {
                    effects.extend(send.give.iter().copied().map(ExchangeEffect::Give));
                }
            }
            CarrierEvent::Taken(token) => {
                let lanes = self.lanes.iter_mut();
                lanes.for_each(|lane| lane.tokens.retain(|awaited| *awaited != token));
            }
            CarrierEvent::Crowded => self.abandon_turns(effects),
        }
    }

    /// Turns keep the messages of a call apart, and so leave a link to whoever sends without them. So
    /// what is left goes at once, as the library's own routine would send it.
    fn abandon_turns(&mut self, effects: &mut Vec<ExchangeEffect>) {
        if self.is_without_turns || self.part.streams || self.part.side_by_side {
            return;
        }
        self.is_without_turns = true;
        (self.lanes, self.lane_of) = self.lanes[0].split(self.part);
        effects.push(ExchangeEffect::AbandonTurns);
    }

    fn receive_on(&mut self, effects: &mut Vec<ExchangeEffect>) {
        while self.coming < self.window.receives
            && let Some(receive) = self.part.receives.get(self.asked.transfer)
        {
            effects.push(ExchangeEffect::Receive(self.asked));
            self.coming += 1;
            self.asked = self.after(self.asked, receive.blocks.len());
        }
    }

    fn send_on(&mut self, effects: &mut Vec<ExchangeEffect>) {
        (0..self.lanes.len()).for_each(|lane| self.send_on_lane(lane, effects));
    }

    fn send_on_lane(&mut self, number: usize, effects: &mut Vec<ExchangeEffect>) {
        let part = self.part;
        while self.lanes[number].going < self.window.sends
            && let Some(next) = self.lanes[number].next()
        {
            let send = &part.sends[next.transfer];
            let lane = &mut self.lanes[number];
            if !lane.turned && !self.is_without_turns {
                lane.turned = true;
                lane.tokens.extend_from_slice(&send.wait);
                effects.extend(send.wait.iter().copied().map(ExchangeEffect::Expect));
            }
            if !lane.tokens.is_empty() || !self.holds(send, next.block) {
                break;
            }
            effects.push(ExchangeEffect::Send(next));
            let is_last = self.after(next, send.blocks.len()).block == 0;
            let lane = &mut self.lanes[number];
            lane.going += 1;
            if is_last {
                (lane.at, lane.block, lane.turned) = (lane.at + 1, 0, false);
            } else {
                lane.block += 1;
            }
        }
    }

    /// True if what goes next is here, from this block of the transfer on.
    fn holds(&self, send: &OutgoingTransfer, block: usize) -> bool {
        let here = |origin: BlockOrigin| match origin {
            BlockOrigin::Own => true,
            BlockOrigin::Received { transfer, block } => {
                let (transfer, block) = (transfer as usize, block as usize);
                self.came[self.number(TransferPiece { transfer, block })]
            }
        };
        match send.blocks.get(block) {
            Some(block) if self.part.streams => self.passes_on_parts || here(block.origin),
            _ => send.blocks.iter().all(|block| here(block.origin)),
        }
    }

    /// The first piece that has not come: its receive, and which of its blocks it is.
    fn missing_piece(&self) -> Option<(&'a IncomingTransfer, usize)> {
        let number = self.came.iter().position(|came| !came)?;
        let transfer = self.pieces.partition_point(|&first| first <= number) - 1;
        let receive = self.part.receives.get(transfer)?;
        Some((receive, number - self.pieces[transfer]))
    }

    /// The wait of the part, for the watchdog; `call` is the name of the collective.
    pub fn waits_for(&self, call: &dyn fmt::Display) -> String {
        let part = self.part;
        let call = format!("rank {} in {call}", part.rank);
        if part.streams {
            let (came, blocks) = (
                self.came.iter().filter(|came| **came).count(),
                self.came.len() + 1,
            );
            return match self.missing_piece() {
                Some((
                    IncomingTransfer {
                        blocks: all, peer, ..
                    },
                    at,
                )) => {
                    let (src, number) = (all[at].src, came + 1);
                    format!(
                        "{call}: the block of rank {src} from rank {peer} (block {number} of \
                         {blocks})"
                    )
                }
                None => format!("{call}: its blocks to go (block {blocks} of {blocks})"),
            };
        }
        if part.passes_on {
            let call = format!("{call}, blocks passed on");
            return describe_wait(&call, &self.awaited("blocks"), "step", part.phases);
        }
        describe_wait(&call, &self.awaited("block"), "phase", part.phases)
    }

    /// The pieces it waits for where blocks do not stream, each with its phase. A transfer carries
    /// `contents`: a block, or blocks.
    fn awaited(&self, contents: &str) -> Vec<(u32, String)> {
        let part = self.part;
        let mut awaited = Vec::new();
        for lane in &self.lanes {
            let last = lane.at.checked_sub(1).filter(|_| lane.going > 0);
            if let Some(last) = last.map(|last| &part.sends[lane.transfers[last]]) {
                awaited.push((
                    last.phase,
                    format!("its {contents} to rank {} to go", last.peer),
                ));
            }
            if let Some(next) = lane.next().map(|next| &part.sends[next.transfer]) {
                awaited.extend(
                    lane.tokens
                        .iter()
                        .map(|token| (next.phase, format!("the token of rank {}", token.peer))),
                );
            }
        }
        if let Some((receive, _)) = self.missing_piece() {
            let by = if part.passes_on { "by way of" } else { "of" };
            awaited.push((
                receive.phase,
                format!("the {contents} {by} rank {}", receive.peer),
            ));
        }
        awaited
    }
}

/// Tells what a call waits for: each thing with its phase of so many, counted from 0. `unit` is the
/// schedule's word for a phase.
fn describe_wait(call: &str, awaited: &[(u32, String)], unit: &str, phases: u32) -> String {
    let parts: Vec<String> = awaited
        .iter()
        .map(|(phase, what)| format!("{what} ({unit} {} of {phases})", phase + 1))
        .collect();
    format!(
        "{call}: {}",
        if parts.is_empty() {
            "its last tokens to go".to_owned()
        } else {
            parts.join(", ")
        }
    )
}

#[cfg(test)]
mod tests;
