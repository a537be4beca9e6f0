//! Receives the frames of neighbours on the cards.
use super::card::NetworkCard;
use super::frame_memory::FrameMemory;
use super::packets::{self, FrameBuffer, PacketSocket, PacketSocketError, filter};
use crate::frames::{NeighbourFrame, bpdu, cdp, lldp};
use inventory::host_report::HeardFrame;
use inventory::{Mac, Millis};
use std::collections::BTreeSet;
use std::time::Instant;

/// The three group addresses of LLDP (IEEE 802.1AB-2016, Table 7-1): nearest bridge, nearest
/// non-TPMR bridge, nearest customer bridge.
const LLDP_GROUPS: [Mac; 3] = [
    lldp::NEAREST_BRIDGE,
    Mac([0x01, 0x80, 0xc2, 0, 0, 0x03]),
    Mac([0x01, 0x80, 0xc2, 0, 0, 0]),
];

const LLC_GROUPS: [Mac; 2] = [bpdu::GROUP, cdp::GROUP];

/// The number of frames read in one call at most. A flood costs no more time than this.
const MOST_FRAMES: usize = 1000;

/// Receives LLDP, CDP and BPDUs on every card.
#[derive(Debug)]
pub struct FrameListener {
    lldp: PacketSocket,
    llc: PacketSocket,
    /// The cards that let the groups through.
    attended: BTreeSet<u32>,
    memory: FrameMemory,
    opened: Instant,
}

impl FrameListener {
    /// Opens the sockets.
    ///
    /// # Errors
    /// If the system refuses them: CAP_NET_RAW is missing.
    pub fn open() -> Result<FrameListener, PacketSocketError> {
        let open = |purpose, protocol, groups: &[Mac]| {
            PacketSocket::open(purpose, protocol, &filter::to_groups(groups))
        };
        Ok(FrameListener {
            lldp: open("hearing LLDP", packets::LLDP, &LLDP_GROUPS)?,
            llc: open("hearing BPDUs and CDP", packets::LLC, &LLC_GROUPS)?,
            attended: BTreeSet::new(),
            memory: FrameMemory::default(),
            opened: Instant::now(),
        })
    }

    /// The frames received on these cards that have not aged out; `now` is the host's clock. Never
    /// waits. The sockets keep some dozen frames, so call it about once a second, and at least
    /// every ten.
    pub fn frames(&mut self, now: Millis, cards: &[NetworkCard]) -> Vec<HeardFrame> {
        self.attend(cards);
        self.memory.forget_lost(cards);
        self.listen(now, cards);
        self.memory.current(cards, self.opened.elapsed())
    }

    /// Makes new cards let the groups through. A membership ends with its card, and the number of a
    /// card is not reused soon.
    fn attend(&mut self, cards: &[NetworkCard]) {
        self.attended
            .retain(|index| cards.iter().any(|card| card.index == *index));
        for card in cards {
            if self.attended.insert(card.index) {
                let groups = LLDP_GROUPS
                    .map(|group| (&self.lldp, group))
                    .into_iter()
                    .chain(LLC_GROUPS.map(|group| (&self.llc, group)));
                for (socket, group) in groups {
                    if let Err(problem) = socket.join(card.index, group.0) {
                        tracing::debug!("card {}: receiving group {group}: {problem}", card.name);
                    }
                }
            }
        }
    }

    fn listen(&mut self, at: Millis, cards: &[NetworkCard]) {
        let mut buffer = FrameBuffer::default();
        for socket in [&self.lldp, &self.llc] {
            for _ in 0..MOST_FRAMES {
                let Some(received) = socket.next(&mut buffer) else {
                    break;
                };
                match NeighbourFrame::read(received.frame) {
                    // One of this host's own frames comes back if two cards are on one segment.
                    Ok(frame) if cards.iter().any(|card| card.mac == frame.source) => {}
                    Ok(frame) => self
                        .memory
                        .hear(received.card, frame, at, self.opened.elapsed()),
                    Err(problem) => tracing::debug!("card {}: {problem}", received.card),
                }
            }
        }
    }
}
