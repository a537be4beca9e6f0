//! LLDP announcements under the host's name (IEEE 802.1AB-2016), on each card by which no other
//! program announces.
mod transmit;

use super::card::NetworkCard;
use super::packets::{self, FrameBuffer, PacketSocket, PacketSocketError, filter};
use crate::frames::{NeighbourFrame, NeighbourPdu};
use std::time::{Duration, Instant};
use transmit::{OutgoingFrame, TransmitState};

/// The content and the times of the announcements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpAnnouncement {
    /// The host's name.
    pub host: String,
    /// A description of the host; may be empty.
    pub description: String,
    /// The time between two announcements; 30 s is usual (9.2.5.7 there). A neighbour keeps an
    /// announcement for three times as long.
    pub every: Duration,
    /// The time for which heddle listens for another program on a new card before it announces by
    /// that card. It must be longer than the silence of such a program, and at most as long as a
    /// watch, 65 s.
    pub listen: Duration,
}

/// The duration of a watch for other programs, twice the usual time between announcements; and of
/// the rest between two watches. A watch clones each frame that leaves the host. The host must not
/// pay for that all the time.
const WATCH: Duration = Duration::from_secs(65);
const REST: Duration = Duration::from_secs(30 * 60);

/// Announces the host by LLDP on its cards. When dropped, it sends a farewell.
///
/// Two programs that announce one host look like two neighbours, or overwrite each other. So the
/// announcer watches the frames that leave the cards when it begins, when a card gets a carrier,
/// and now and then. It stands aside on a card by which another program announces. Until a watch
/// has found no other program, it first listens on each card.
#[derive(Debug)]
pub struct LldpAnnouncer {
    /// Sends frames, and receives those of other sockets. A packet socket never receives its own.
    socket: PacketSocket,
    turns: TransmitState,
    watch: Option<ListenWindow>,
    /// The time of the next watch.
    next_watch: Duration,
    opened: Instant,
}

#[derive(Debug, Clone, Copy)]
struct ListenWindow {
    since: Duration,
    until: Duration,
}

impl LldpAnnouncer {
    /// Opens the socket.
    ///
    /// # Errors
    /// If the system refuses the socket: CAP_NET_RAW is missing.
    pub fn open(announcement: LldpAnnouncement) -> Result<LldpAnnouncer, PacketSocketError> {
        let socket = PacketSocket::open(
            "announcing by LLDP",
            packets::LLDP,
            &filter::leaving(packets::LLDP),
        )?;
        Ok(LldpAnnouncer {
            socket,
            turns: TransmitState::new(announcement),
            watch: None,
            next_watch: Duration::ZERO,
            opened: Instant::now(),
        })
    }

    /// Sends the announcements that are due by `cards`, and a farewell by each card that is no
    /// longer among them. Never blocks. Call it about once a second.
    pub fn step(&mut self, cards: &[NetworkCard]) {
        let now = self.opened.elapsed();
        // Another program may have begun on a card whose announcement is due now.
        self.overhear(now);
        if self.turns.update_cards(cards, now) || now >= self.next_watch {
            self.begin_watch(now);
        }
        self.send();
        if let Some(watch) = self.watch.filter(|watch| now >= watch.until) {
            self.end_watch(watch, now);
        }
    }

    /// Reads the announcements of other programs.
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
            // The card went away or down meanwhile. It is announced anew when it is back.
            if let Err(problem) = self.socket.send(card, &frame.write()) {
                tracing::debug!("card {card}: announcing by LLDP: {problem}");
            }
        }
    }

    fn begin_watch(&mut self, now: Duration) {
        // A card that comes up prolongs the watch. Other programs had to be silent since its
        // beginning.
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

    /// Incoming LLDP frames only meet the filter, so they cost nothing.
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
