//! The links to another rank, and what follows from them: how early a token for it is given, and how
//! long octets take to it.
use crate::stream_pace::StreamPace;
use inventory::BitsPerSec;
use std::time::Duration;

/// A token is given before the last octet of a block has come: so much earlier as the rank that
/// waits for it needs to wake,
const WAKING: Duration = Duration::from_micros(200);
/// and as long as so many frames take on each link to it: the token's own, and those that it stands
/// behind. More would let the next block run into this one, and queues of trunks hold up tokens.
const FRAMES: f64 = 1.5;
/// Octets that a token is given early where no rate is known.
const LEAD: usize = 8 * 1024;

/// The links to another rank, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeerLinks {
    /// The rates on the way.
    pub pace: Option<StreamPace>,
    /// The time of a frame on all links together.
    pub frame_time: Duration,
}

impl PeerLinks {
    /// The rate at which blocks go to it and come from it.
    pub fn slowest(self) -> Option<BitsPerSec> {
        self.pace.map(|pace| pace.slowest)
    }

    /// A token for this rank is given so many octets of a block, which comes at this pace, early.
    pub fn lead(self, pace: Option<BitsPerSec>) -> usize {
        let time = WAKING + self.frame_time.mul_f64(FRAMES);
        pace.map_or(LEAD, |pace| {
            (payload_rate(pace) * time.as_secs_f64()) as usize
        })
    }
}

/// Octets of payload in a second on a link of this rate.
pub fn payload_rate(rate: BitsPerSec) -> f64 {
    rate.0 as f64 / 8.0 / schedules::bound::WIRE_PER_PAYLOAD
}
