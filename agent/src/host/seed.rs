//! Broadcasts a frame that every bridge forwards, so that all bridges know where this host is.
//!
//! The tree can be found from forwarding databases without doubt if all bridges know one host.
//! Bridges forget a quiet host after 300 s (IEEE 802.1D-2004, Table 7-5).
use super::card::NetworkCard;
use super::packets::{PacketSocket, PacketSocketError};
use inventory::Mac;

/// Local Experimental EtherType 1 (IEEE 802-2014, 9.2.4): no protocol stack takes it.
const ETHERTYPE: u16 = 0x88b5;

/// The shortest frame without its check sequence.
const SHORTEST: usize = 60;

/// Sends seed frames.
#[derive(Debug)]
pub struct SeedSender {
    socket: PacketSocket,
}

impl SeedSender {
    /// Opens the socket.
    ///
    /// # Errors
    /// If the system refuses the socket: CAP_NET_RAW is missing.
    pub fn open() -> Result<SeedSender, PacketSocketError> {
        Ok(SeedSender {
            socket: PacketSocket::open_mute("seed frames")?,
        })
    }

    /// Sends one frame by each card that is up. Pass cards with an address of the host, not members
    /// of a bond or a bridge: a frame from a backup member of a bond would lead bridges astray.
    pub fn seed(&self, cards: &[NetworkCard]) {
        for card in cards.iter().filter(|card| card.up) {
            // The card went away meanwhile, so its frame has no receiver.
            let _ = self.socket.send(card.index, &frame(card.mac));
        }
    }
}

/// A broadcast whose text explains it to people who capture it.
fn frame(from: Mac) -> [u8; SHORTEST] {
    const TEXT: &[u8] = b"heddle seed: learn where I am";
    let mut frame = [0; SHORTEST];
    frame[..6].fill(0xff);
    frame[6..12].copy_from_slice(&from.0);
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[14..14 + TEXT.len()].copy_from_slice(TEXT);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_broadcast_of_an_experimental_type() {
        let f = frame(Mac([2, 0, 0, 0, 0, 7]));
        assert_eq!(
            &f[..14],
            &[
                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 7, 0x88, 0xb5
            ]
        );
    }
}
