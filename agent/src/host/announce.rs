//! LLDP under the host's name (IEEE 802.1AB-2016), unless another program announces by the same
//! card.
mod transmit;

use super::card::NetworkCard;
use super::packets::{self, FrameBuffer, PacketSocket, PacketSocketError, filter};
use crate::frames::{NeighbourFrame, NeighbourPdu};
use std::time::{Duration, Instant};
use transmit::{OutgoingFrame, TransmitState};

/// What is announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpAnnouncement {
    /// The host's name.
    pub host: String,
    /// What it is, in words; may be empty.
    pub description: String,
    /// Time between two announcements; 30 s is usual (9.2.5.7 there). Neighbours keep one for three
    /// times as long.
    pub every: Duration,
    /// How long a new card is listened on for another program before it is announced by; longer
    /// than such a one is silent, and at most as long as a watch lasts, 65 s.
    pub listen: Duration,
}

/// How long another program is watched for, twice the usual time between announcements; and how
/// long not. Watching clones each frame that leaves the host, which it must not pay for all the
/// time.
const WATCH: Duration = Duration::from_secs(65);
const REST: Duration = Duration::from_secs(30 * 60);

/// Announces the host by LLDP on its cards; says farewell when dropped.
///
/// Two programs that announce one host make two neighbours of it, or fight for one. So it watches
/// what leaves the cards when it begins, when a card gets a carrier, and now and then, and stands
/// aside on a card by which another program speaks. Until a watch has found nobody, it first
/// listens on each card.
#[derive(Debug)]
pub struct LldpAnnouncer {
    /// Sends, and sees what other sockets send: a packet socket never sees what it sent itself.
    socket: PacketSocket,
    turns: TransmitState,
    watch: Option<ListenWindow>,
    /// When it watches again.
    next_watch: Duration,
    opened: Instant,
}

#[derive(Debug, Clone, Copy)]
struct ListenWindow {
    since: Duration,
    until: Duration,
}

impl LldpAnnouncer {
    /// Opens its socket.
    ///
    /// # Errors
    /// Where the system refuses it: CAP_NET_RAW is missing.
    pub fn open(said: LldpAnnouncement) -> Result<LldpAnnouncer, PacketSocketError> {
        let socket = PacketSocket::open(
            "announcing by LLDP",
            packets::LLDP,
            &filter::leaving(packets::LLDP),
        )?;
        Ok(LldpAnnouncer {
            socket,
            turns: TransmitState::new(said),
            watch: None,
            next_watch: Duration::ZERO,
            opened: Instant::now(),
        })
    }

    /// Announces by those cards where it is due; by a card no longer named it says farewell. Never
    /// blocks. Call it about once a second.
    pub fn step(&mut self, cards: &[NetworkCard]) {
        let now = self.opened.elapsed();
        self.overhear(now);
        if self.turns.update_cards(cards, now) || now >= self.next_watch {
            self.begin_watch(now);
        }
        self.send();
        if let Some(watch) = self.watch.filter(|watch| now >= watch.until) {
            self.end_watch(watch, now);
        }
    }

    /// Takes note of what other programs announced.
    fn overhear(&mut self, now: Duration) {
        let mut buffer = FrameBuffer::default();
        while let Some(received) = self.socket.next(&mut buffer) {
            if let Ok(NeighbourFrame {
                source,
                message: NeighbourPdu::Lldp(unit),
            }) = NeighbourFrame::read(received.frame)
            {
                self.turns
                    .hear_other_program(received.card, source, &unit, now);
            }
        }
    }

    fn send(&mut self) {
        for OutgoingFrame { card, frame } in self.turns.take_frames() {
            // A card that went away or down meanwhile: it is announced anew when it is back.
            if let Err(problem) = self.socket.send(card, &frame.write()) {
                tracing::debug!("card {card}: announcing by LLDP: {problem}");
            }
        }
    }

    fn begin_watch(&mut self, now: Duration) {
        let since = self.watch.map_or(now, |watch| watch.since);
        self.watch = Some(ListenWindow {
            since,
            until: now + WATCH,
        });
        self.next_watch = now + WATCH + REST;
        self.receive(packets::ALL);
    }

    fn end_watch(&mut self, watch: ListenWindow, now: Duration) {
        self.watch = None;
        self.receive(packets::LLDP);
        self.turns.forget_unheard_since(watch.since, now);
    }

    /// Incoming LLDP meets the filter only, and costs nothing.
    fn receive(&self, protocol: u16) {
        if let Err(problem) = self.socket.receive_only(protocol) {
            tracing::warn!(
                "announcing by LLDP: watching for other programs that do: {problem}; both may \
                 announce this host"
            );
        }
    }
}

impl Drop for LldpAnnouncer {
    fn drop(&mut self) {
        let now = self.opened.elapsed();
        self.turns.update_cards(&[], now);
        self.send();
    }
}
