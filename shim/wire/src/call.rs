//! A rank's part of a call, event by event, over any shell that reports them.
use crate::exchange::{CarrierEvent, ExchangeEffect, ExchangeWindow, PartExchange};
use crate::shell::WireShell;
use crate::streams::{CallStreams, WireSetting};
use schedules::transfers::part::{RankPart, SyncToken};
use std::time::Duration;

/// A report of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireEvent {
    /// The call begins.
    Begun,
    /// Octets of blocks may have come from this rank.
    Readable(u32),
    /// There may be room for octets to this rank, or all but a few have gone.
    Writable(u32),
    /// A token has come.
    Token(SyncToken),
    /// Nothing has happened for a while.
    Idle,
}

/// The pieces under way at once.
pub fn window(part: &RankPart) -> ExchangeWindow {
    let sends = match (part.side_by_side, part.streams) {
        // The next one to the same rank follows without a gap.
        (true, _) => 2,
        (false, true) => usize::MAX,
        (false, false) => 1,
    };
    let receives = usize::MAX;
    ExchangeWindow { receives, sends }
}

/// A call under way.
#[derive(Debug)]
pub struct WireCall<'p> {
    exchange: PartExchange<'p>,
    streams: CallStreams<'p>,
    events: Vec<CarrierEvent>,
    effects: Vec<ExchangeEffect>,
}

impl<'p> WireCall<'p> {
    /// A call of which nothing has been sent.
    pub fn new(part: &'p RankPart, setting: WireSetting) -> WireCall<'p> {
        WireCall {
            exchange: PartExchange::new(part, window(part), true),
            streams: CallStreams::new(part, setting),
            events: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// True if every block has come and gone.
    pub fn is_over(&self) -> bool {
        self.exchange.is_over() && self.streams.is_idle()
    }

    /// True if octets wait for others to come, of which nothing tells.
    pub fn is_window_full(&self) -> bool {
        self.streams.window().is_full()
    }

    /// The wait of the call.
    pub fn waits_for(&self) -> String {
        self.exchange.waits_for(&"the call")
    }

    /// Takes what has happened by `now`, and lets the shell do what follows from it.
    pub fn handle<S: WireShell>(
        &mut self,
        now: Duration,
        events: impl IntoIterator<Item = WireEvent>,
        shell: &mut S,
    ) -> Result<(), S::Failure> {
        for event in events {
            match event {
                WireEvent::Begun | WireEvent::Writable(_) => {}
                WireEvent::Readable(rank) => self.streams.take(rank, shell)?,
                WireEvent::Token(token) => self.streams.take_token(token),
                WireEvent::Idle => self.streams.look_for_short_blocks(shell)?,
            }
        }
        self.streams.send_on(shell)?;
        loop {
            // A receive that finds its octets there already is an event of its own.
            self.events.append(self.streams.events());
            self.exchange
                .handle(self.events.drain(..), &mut self.effects);
            for effect in self.effects.drain(..) {
                match effect {
                    ExchangeEffect::Receive(piece) => self.streams.receive(piece, shell)?,
                    ExchangeEffect::Send(piece) => self.streams.send(now, piece, shell)?,
                    ExchangeEffect::Expect(token) => drop(self.streams.expect(token)),
                    ExchangeEffect::Give(token) => shell.give(token)?,
                    ExchangeEffect::AbandonTurns => self.streams.abandon_turns(),
                }
            }
            if self.streams.events().is_empty() {
                return Ok(());
            }
        }
    }
}
