//! Notes what an exchange asks of its carrier, and what the carrier reports.
use super::{note, sent_again};
use crate::exchange::{CarrierEvent, TransferCarrier, TransferPiece};
use schedules::transfers::part::{RankPart, SyncToken};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use trace::step::{RankStep, TracedPiece, TracedToken};

/// A shorter wait is not asked whether it ended late: the question takes a few microseconds.
const LONG_WAIT: Duration = Duration::from_micros(300);
/// A rank that waited for a processor for less than this was not late.
const LATE: Duration = Duration::from_micros(20);
/// Asking a connection what it sent again takes less than this. They are asked after calls of which
/// that is less than a hundredth.
const QUESTION: Duration = Duration::from_micros(1);

/// A carrier whose work is recorded.
pub(crate) struct TracedCarrier<'a, C> {
    part: &'a RankPart,
    inner: &'a mut C,
    began: Instant,
}

impl<'a, C: TransferCarrier> TracedCarrier<'a, C> {
    pub(crate) fn new(part: &'a RankPart, inner: &'a mut C) -> Self {
        // Forgets the time before this call.
        queued_since_last_look();
        TracedCarrier {
            part,
            inner,
            began: Instant::now(),
        }
    }

    fn outgoing(&self, piece: TransferPiece) -> TracedPiece {
        let send = &self.part.sends[piece.transfer];
        self.traced(piece, send.peer, send.phase, send.blocks.len())
    }

    fn incoming(&self, piece: TransferPiece) -> TracedPiece {
        let receive = &self.part.receives[piece.transfer];
        self.traced(piece, receive.peer, receive.phase, receive.blocks.len())
    }

    fn traced(&self, piece: TransferPiece, peer: u32, phase: u32, blocks: usize) -> TracedPiece {
        let blocks = if self.part.streams { 1 } else { blocks };
        TracedPiece {
            peer,
            phase,
            block: piece.block as u32,
            blocks: u16::try_from(blocks).unwrap_or(u16::MAX),
        }
    }
}

/// The ranks that this one sends to, each once.
fn peers(part: &RankPart) -> impl Iterator<Item = u32> + '_ {
    let mut peers: Vec<u32> = part.sends.iter().map(|send| send.peer).collect();
    peers.sort_unstable();
    peers.dedup();
    peers.into_iter()
}

fn traced(token: SyncToken) -> TracedToken {
    TracedToken {
        peer: token.peer,
        id: token.id,
    }
}

impl<C: TransferCarrier> TransferCarrier for TracedCarrier<'_, C> {
    type Failure = C::Failure;
    const PASSES_ON_PARTS: bool = C::PASSES_ON_PARTS;

    fn receive(&mut self, piece: TransferPiece) -> Result<(), Self::Failure> {
        self.inner.receive(piece)
    }

    fn send(&mut self, piece: TransferPiece) -> Result<(), Self::Failure> {
        note(RankStep::SendBegan(self.outgoing(piece)));
        self.inner.send(piece)
    }

    fn expect(&mut self, token: SyncToken) -> Result<(), Self::Failure> {
        note(RankStep::TokenAwaited(traced(token)));
        self.inner.expect(token)
    }

    fn give(&mut self, token: SyncToken) -> Result<(), Self::Failure> {
        note(RankStep::TokenGiven(traced(token)));
        self.inner.give(token)
    }

    fn abandon_turns(&mut self) {
        self.inner.abandon_turns();
    }

    fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }

    fn wait(&mut self, events: &mut Vec<CarrierEvent>) -> Result<(), Self::Failure> {
        let (began, known) = (Instant::now(), events.len());
        self.inner.wait(events)?;
        if began.elapsed() >= LONG_WAIT {
            let late = queued_since_last_look();
            if late >= LATE {
                let late = u32::try_from(late.as_nanos()).unwrap_or(u32::MAX);
                note(RankStep::WokenLate { late });
            }
        }
        for &event in &events[known..] {
            note(match event {
                CarrierEvent::Due(piece, _) => RankStep::Arriving(self.incoming(piece)),
                CarrierEvent::Arrived(piece) => RankStep::Arrived(self.incoming(piece)),
                CarrierEvent::Gone(piece) => RankStep::SendGone(self.outgoing(piece)),
                CarrierEvent::Taken(token) => RankStep::TokenTaken(traced(token)),
                CarrierEvent::Crowded => continue,
            });
        }
        Ok(())
    }

    fn sent_again(&self, peer: u32) -> Option<u32> {
        self.inner.sent_again(peer)
    }
}

impl<C: TransferCarrier> TracedCarrier<'_, C> {
    /// Notes what the connections sent again in this call.
    pub(crate) fn finish(&mut self) {
        let peers: Vec<u32> = peers(self.part).collect();
        let is_worth_it = QUESTION * 100 * (peers.len() as u32) < self.began.elapsed();
        let now = peers
            .into_iter()
            .filter(|_| is_worth_it)
            .filter_map(|peer| Some((peer, self.inner.sent_again(peer)?)));
        sent_again(is_worth_it.then(|| now.collect()));
    }
}

/// The file of this thread, and what it wrote last.
#[derive(Default)]
struct RunQueueTime {
    file: Option<File>,
    seen: u64,
}

thread_local! {
    static TIME: RefCell<RunQueueTime> = RefCell::new({
        // A kernel without it: nothing is known of lines.
        let file = File::open("/proc/thread-self/schedstat").ok();
        let mut time = RunQueueTime { file, seen: 0 };
        time.seen = time.read().unwrap_or(0);
        time
    });
}

impl RunQueueTime {
    fn read(&self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split(' ').nth(1)?.parse().ok()
    }
}

/// The time this thread stood in line for a processor since the last question: the second number of
/// `schedstat`.
pub(super) fn queued_since_last_look() -> Duration {
    // At the program's exit its file may be closed already.
    TIME.try_with(|time| {
        let mut time = time.borrow_mut();
        let now = time.read().unwrap_or(time.seen);
        let since = now.saturating_sub(time.seen);
        time.seen = now;
        Duration::from_nanos(since)
    })
    .unwrap_or_default()
}
