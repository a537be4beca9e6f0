//! One rank's part of a schedule, carried out over any carrier: [`PartExchange`] decides, the
//! carrier does.
use crate::tracing::{self, TracedCarrier};
use crate::watchdog;
use schedules::transfers::part::{RankPart, SyncToken};
use std::fmt;
pub use wire::exchange::{CarrierEvent, ExchangeWindow, TransferPiece};
use wire::exchange::{ExchangeEffect, PartExchange};

/// Moves the pieces of a part between ranks: MPI point-to-point, or TCP.
pub trait TransferCarrier {
    /// Why it cannot go on.
    type Failure;

    /// True if a block may be given to be sent before it has come: it then goes on as it comes.
    const PASSES_ON_PARTS: bool;

    /// Begins to receive a piece. It tells of [`CarrierEvent::Due`] for each token of its transfer
    /// and then of [`CarrierEvent::Arrived`].
    ///
    /// # Errors
    /// The call cannot end.
    fn receive(&mut self, piece: TransferPiece) -> Result<(), Self::Failure>;

    /// Begins to send a piece.
    ///
    /// # Errors
    /// The call cannot end.
    fn send(&mut self, piece: TransferPiece) -> Result<(), Self::Failure>;

    /// Begins to wait for a token.
    ///
    /// # Errors
    /// The call cannot end.
    fn expect(&mut self, token: SyncToken) -> Result<(), Self::Failure>;

    /// Gives a token.
    ///
    /// # Errors
    /// The call cannot end.
    fn give(&mut self, token: SyncToken) -> Result<(), Self::Failure>;

    /// From now on pieces to different ranks go side by side, and no token is expected.
    fn abandon_turns(&mut self) {}

    /// True if nothing is under way, tokens included.
    fn is_idle(&self) -> bool;

    /// Waits until something can go on, and adds what has happened, which may be nothing.
    ///
    /// # Errors
    /// The call cannot end.
    fn wait(&mut self, events: &mut Vec<CarrierEvent>) -> Result<(), Self::Failure>;

    /// The number of segments that were sent again to a rank, ever; `None` where nobody counts.
    fn sent_again(&self, _peer: u32) -> Option<u32> {
        None
    }
}

/// Carries out a part; `call` is the name of the collective for the watchdog.
pub fn carry_out<C: TransferCarrier>(
    part: &RankPart,
    carrier: &mut C,
    window: ExchangeWindow,
    call: &dyn fmt::Display,
) -> Result<(), C::Failure> {
    if !tracing::is_on() {
        return carry_on(part, carrier, window, call);
    }
    let mut carrier = TracedCarrier::new(part, carrier);
    let outcome = carry_on(part, &mut carrier, window, call);
    carrier.finish();
    outcome
}

fn carry_on<C: TransferCarrier>(
    part: &RankPart,
    carrier: &mut C,
    window: ExchangeWindow,
    call: &dyn fmt::Display,
) -> Result<(), C::Failure> {
    let mut exchange = PartExchange::new(part, window, C::PASSES_ON_PARTS);
    let (mut events, mut effects) = (Vec::new(), Vec::new());
    loop {
        exchange.handle(events.drain(..), &mut effects);
        for effect in effects.drain(..) {
            match effect {
                ExchangeEffect::Receive(piece) => carrier.receive(piece)?,
                ExchangeEffect::Send(piece) => carrier.send(piece)?,
                ExchangeEffect::Expect(token) => carrier.expect(token)?,
                ExchangeEffect::Give(token) => carrier.give(token)?,
                ExchangeEffect::AbandonTurns => carrier.abandon_turns(),
            }
        }
        if exchange.is_over() && carrier.is_idle() {
            return Ok(());
        }
        watchdog::begin_wait(|| exchange.waits_for(call));
        carrier.wait(&mut events)?;
    }
}

#[cfg(test)]
mod tests;
