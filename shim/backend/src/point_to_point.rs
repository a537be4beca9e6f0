//! A part of a schedule over MPI's point-to-point messages.
//!
//! Receives are posted ahead. Tokens are empty messages whose tag is their number. Every message of
//! one call is awaited in that call, so the next one, perhaps of another plan, never meets a
//! message of this one. A block of nothing is not sent; its tokens are.
use crate::call::{CollectiveCall, RankBlocks, SendBlocks};
use crate::call_comm::CallComm;
use crate::elements::MpiElements;
use crate::mpi_result::{MpiErrorCode, MpiResult};
use crate::private_comm::PrivateComm;
use crate::requests::PendingRequests;
use runtime::exchange::{self, CarrierEvent, ExchangeWindow, TransferCarrier, TransferPiece};
use schedules::transfers::part::{RankPart, SyncToken};
use std::ffi::c_int;

/// Enough receives that a block never waits for its own; more would make each wait look at more.
const DIRECT: ExchangeWindow = ExchangeWindow {
    receives: 32,
    sends: 1,
};
/// The second block is ready to go when the first has gone.
const RING: ExchangeWindow = ExchangeWindow {
    receives: 16,
    sends: 2,
};
// Blocks need no number: messages of one tag between two ranks do not overtake each other (MPI-4.1, 3.5).
const DATA: c_int = 1;
const FIRST_TOKEN: c_int = 2;

/// An all-to-all of one block a transfer, as many parts as barriers divide it into.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(
    call: &CollectiveCall,
    within: &CallComm,
    private: &PrivateComm,
    parts: &[RankPart],
) -> MpiResult<()> {
    // SAFETY: passed on to the caller.
    let outgoing = unsafe { SendBlocks::new(call, within.size) }?;
    let incoming = call.received()?;
    let me = within.rank as u32;
    // If its own block does not fit, others still wait for what this rank sends.
    let copied = if outgoing.own_block_moves() {
        // SAFETY: passed on to the caller.
        unsafe { outgoing.to(me).copy(incoming.of_rank(me)) }
    } else {
        Ok(())
    };
    let outcome = within.part_by_part(parts, |part| {
        let places = InPlace {
            part,
            outgoing: Some(&outgoing),
            incoming,
        };
        MessageCarrier::carry_out(call, private, part, places, DIRECT)
    });
    outcome.and(copied)
}

/// An allgather along a ring.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn allgather(
    call: &CollectiveCall,
    private: &PrivateComm,
    parts: &[RankPart],
) -> MpiResult<()> {
    let incoming = call.received()?;
    let me = private.rank as u32;
    // If its own block does not fit, others still wait for what this rank passes on.
    let copied = if call.in_place() {
        Ok(())
    } else {
        // SAFETY: passed on to the caller.
        unsafe { call.sent()?.of_rank(0).copy(incoming.of_rank(me)) }
    };
    let mut parts = parts.iter();
    let carried = parts.try_for_each(|part| {
        MessageCarrier::carry_out(
            call,
            private,
            part,
            InPlace {
                part,
                outgoing: None,
                incoming,
            },
            RING,
        )
    });
    carried.and(copied)
}

/// The memory of the pieces.
pub(crate) trait PiecePlaces {
    /// The memory a piece is received into.
    fn incoming(&mut self, piece: TransferPiece) -> MpiResult<MpiElements>;
    /// The memory a piece is sent from.
    fn outgoing(&mut self, piece: TransferPiece) -> MpiResult<MpiElements>;
    /// A piece has come.
    fn arrived(&mut self, _piece: TransferPiece) {}
    /// A piece has gone.
    fn gone(&mut self, _piece: TransferPiece) {}
    /// Something failed with messages under way: the library still knows where they lie.
    fn leak(self);
}

/// Each piece is a block, in the application's buffers.
struct InPlace<'a> {
    part: &'a RankPart,
    /// Where the rank's own blocks are; in an allgather they are among those that come.
    outgoing: Option<&'a SendBlocks>,
    incoming: RankBlocks,
}

impl PiecePlaces for InPlace<'_> {
    fn incoming(&mut self, piece: TransferPiece) -> MpiResult<MpiElements> {
        Ok(self
            .incoming
            .of_rank(self.part.receives[piece.transfer].blocks[piece.block].src))
    }

    fn outgoing(&mut self, piece: TransferPiece) -> MpiResult<MpiElements> {
        let block = self.part.sends[piece.transfer].blocks[piece.block].block;
        Ok(self.outgoing.map_or_else(
            || self.incoming.of_rank(block.src),
            |outgoing| outgoing.to(block.dst),
        ))
    }

    fn leak(self) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TransferCompletion {
    Received(TransferPiece),
    Sent(TransferPiece),
    Taken(SyncToken),
    Given,
}

/// Messages of one call.
pub(crate) struct MessageCarrier<'a, P> {
    private: &'a PrivateComm,
    part: &'a RankPart,
    places: P,
    requests: PendingRequests<TransferCompletion>,
    /// The completions so far, also those that need no message: of empty blocks.
    done: Vec<TransferCompletion>,
}

impl<'a, P: PiecePlaces> MessageCarrier<'a, P> {
    pub(crate) fn carry_out(
        call: &CollectiveCall,
        private: &'a PrivateComm,
        part: &'a RankPart,
        places: P,
        window: ExchangeWindow,
    ) -> MpiResult<()> {
        let mut carrier = MessageCarrier {
            private,
            part,
            places,
            requests: PendingRequests::new(),
            done: Vec::new(),
        };
        let outcome = exchange::carry_out(part, &mut carrier, window, &call.collective);
        if !carrier.requests.is_empty() {
            carrier.places.leak();
        }
        outcome.and(carrier.requests.outcome())
    }
}

impl<P: PiecePlaces> TransferCarrier for MessageCarrier<'_, P> {
    type Failure = MpiErrorCode;
    const PASSES_ON_PARTS: bool = false;

    fn receive(&mut self, piece: TransferPiece) -> MpiResult<()> {
        let (data, from) = (
            self.places.incoming(piece)?,
            self.part.receives[piece.transfer].peer,
        );
        if data.count == 0 {
            self.done.push(TransferCompletion::Received(piece));
        } else {
            // SAFETY: the buffer is left alone during the call, and the call waits for every
            // request.
            self.requests.add(
                unsafe { self.private.receive(data, from as c_int, DATA) }?,
                TransferCompletion::Received(piece),
            );
        }
        Ok(())
    }

    fn send(&mut self, piece: TransferPiece) -> MpiResult<()> {
        let (data, to) = (
            self.places.outgoing(piece)?,
            self.part.sends[piece.transfer].peer,
        );
        if data.count == 0 {
            self.done.push(TransferCompletion::Sent(piece));
        } else {
            // SAFETY: the buffer stays as it is during the call, and the call waits for every
            // request.
            self.requests.add(
                unsafe { self.private.send(data, to as c_int, DATA) }?,
                TransferCompletion::Sent(piece),
            );
        }
        Ok(())
    }

    fn expect(&mut self, token: SyncToken) -> MpiResult<()> {
        // SAFETY: no buffer.
        self.requests.add(
            unsafe {
                self.private
                    .receive(MpiElements::nothing(), token.peer as c_int, tag(token))
            }?,
            TransferCompletion::Taken(token),
        );
        Ok(())
    }

    fn give(&mut self, token: SyncToken) -> MpiResult<()> {
        // SAFETY: no buffer.
        self.requests.add(
            unsafe {
                self.private
                    .send(MpiElements::nothing(), token.peer as c_int, tag(token))
            }?,
            TransferCompletion::Given,
        );
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.done.is_empty()
    }

    fn wait(&mut self, events: &mut Vec<CarrierEvent>) -> MpiResult<()> {
        if self.done.is_empty() {
            self.requests.wait_some(&mut self.done)?;
        }
        for done in self.done.drain(..) {
            match done {
                TransferCompletion::Received(piece) => {
                    // MPI does not show how much of a message has come, so its tokens are due with the whole of it.
                    self.places.arrived(piece);
                    let tokens = &self.part.receives[piece.transfer].give;
                    events.extend(tokens.iter().map(|&token| CarrierEvent::Due(piece, token)));
                    events.push(CarrierEvent::Arrived(piece));
                }
                TransferCompletion::Sent(piece) => {
                    self.places.gone(piece);
                    events.push(CarrierEvent::Gone(piece));
                }
                TransferCompletion::Taken(token) => events.push(CarrierEvent::Taken(token)),
                TransferCompletion::Given => {}
            }
        }
        Ok(())
    }
}

fn tag(token: SyncToken) -> c_int {
    FIRST_TOKEN + token.id as c_int
}
