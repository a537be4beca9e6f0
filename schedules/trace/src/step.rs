//! One step of a rank in a call, and its octets in a trace.
//!
//! ```text
//! octet  0..8   nanoseconds of the host's clock
//!        8..12  the other rank          12..16 the phase, or the number of the call
//!       16..20  a block, token or count 20..22 blocks
//!       22      the kind of the step    23     zero
//! ```
//! All numbers have their least octet first.
use std::time::Duration;

/// Octets of a step.
pub const STEP_OCTETS: usize = 24;

/// A part of the data of a call that a rank sends or receives at once: a transfer, or one block of
/// a transfer that streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TracedPiece {
    /// The rank at the other end.
    pub peer: u32,
    /// The phase of its transfer.
    pub phase: u32,
    /// Its place in the transfer, where blocks stream; else 0.
    pub block: u32,
    pub blocks: u16,
}

/// A token between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TracedToken {
    /// The rank at the other end.
    pub peer: u32,
    /// Its number among those of the pair in one call.
    pub id: u32,
}

/// A step of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankStep {
    /// It came to a call. Calls have numbers, the same on every rank; what the call is stands in
    /// the header under `kind`.
    CallBegan {
        /// The number of the call.
        call: u32,
        /// The place of its [`crate::file::CallKind`].
        kind: u32,
    },
    /// Its part of the call is over.
    CallEnded {
        /// The number of the call.
        call: u32,
    },
    /// It cannot send before this token comes.
    TokenAwaited(TracedToken),
    /// The token has come, and the rank has seen it.
    TokenTaken(TracedToken),
    /// It gave a token.
    TokenGiven(TracedToken),
    /// It began to send.
    SendBegan(TracedPiece),
    /// Its block counts as gone.
    SendGone(TracedPiece),
    /// So much has come that tokens are given.
    Arriving(TracedPiece),
    /// All of it has come.
    Arrived(TracedPiece),
    /// It could have run so much earlier: it stood in line for a processor.
    WokenLate {
        /// Nanoseconds in line since the last look.
        late: u32,
    },
    /// Its kernel sent segments again to a rank during this call.
    SentAgain {
        /// The rank that they were for.
        peer: u32,
        /// How many.
        segments: u32,
    },
}

/// A step and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedStep {
    /// By the clock of the rank's host.
    pub at: Duration,
    pub step: RankStep,
}

/// The numbers of a step, in the order of its octets.
#[derive(Debug, Clone, Copy, Default)]
struct StepNumbers {
    kind: u8,
    peer: u32,
    phase: u32,
    value: u32,
    blocks: u16,
}

impl StepNumbers {
    fn from_step(step: RankStep) -> StepNumbers {
        let token = |kind, token: TracedToken| StepNumbers {
            kind,
            peer: token.peer,
            value: token.id,
            ..StepNumbers::default()
        };
        let piece = |kind, piece: TracedPiece| StepNumbers {
            kind,
            peer: piece.peer,
            phase: piece.phase,
            value: piece.block,
            blocks: piece.blocks,
        };
        let plain = |kind, peer, phase, value| StepNumbers {
            kind,
            peer,
            phase,
            value,
            blocks: 0,
        };
        match step {
            RankStep::CallBegan { call, kind } => plain(1, 0, call, kind),
            RankStep::CallEnded { call } => plain(2, 0, call, 0),
            RankStep::TokenAwaited(t) => token(3, t),
            RankStep::TokenTaken(t) => token(4, t),
            RankStep::TokenGiven(t) => token(5, t),
            RankStep::SendBegan(p) => piece(6, p),
            RankStep::SendGone(p) => piece(7, p),
            RankStep::Arriving(p) => piece(8, p),
            RankStep::Arrived(p) => piece(9, p),
            RankStep::WokenLate { late } => plain(10, 0, 0, late),
            RankStep::SentAgain { peer, segments } => plain(11, peer, 0, segments),
        }
    }

    fn step(self) -> Option<RankStep> {
        let token = TracedToken {
            peer: self.peer,
            id: self.value,
        };
        let piece = TracedPiece {
            peer: self.peer,
            phase: self.phase,
            block: self.value,
            blocks: self.blocks,
        };
        Some(match self.kind {
            1 => RankStep::CallBegan {
                call: self.phase,
                kind: self.value,
            },
            2 => RankStep::CallEnded { call: self.phase },
            3 => RankStep::TokenAwaited(token),
            4 => RankStep::TokenTaken(token),
            5 => RankStep::TokenGiven(token),
            6 => RankStep::SendBegan(piece),
            7 => RankStep::SendGone(piece),
            8 => RankStep::Arriving(piece),
            9 => RankStep::Arrived(piece),
            10 => RankStep::WokenLate { late: self.value },
            11 => RankStep::SentAgain {
                peer: self.peer,
                segments: self.value,
            },
            _ => return None,
        })
    }
}

impl TimedStep {
    /// As octets.
    pub fn to_octets(self) -> [u8; STEP_OCTETS] {
        let StepNumbers {
            kind,
            peer,
            phase,
            value,
            blocks,
        } = StepNumbers::from_step(self.step);
        let at = u64::try_from(self.at.as_nanos()).unwrap_or(u64::MAX);
        let mut octets = [0; STEP_OCTETS];
        octets[..8].copy_from_slice(&at.to_le_bytes());
        octets[8..12].copy_from_slice(&peer.to_le_bytes());
        octets[12..16].copy_from_slice(&phase.to_le_bytes());
        octets[16..20].copy_from_slice(&value.to_le_bytes());
        octets[20..22].copy_from_slice(&blocks.to_le_bytes());
        octets[22] = kind;
        octets
    }

    /// Reads what [`TimedStep::to_octets`] wrote; `None` for octets that are not a step.
    pub fn from_octets(octets: &[u8; STEP_OCTETS]) -> Option<TimedStep> {
        let [a, b, c, d, e, f, g, h, rest @ ..] = *octets;
        let word =
            |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let numbers = StepNumbers {
            kind: rest[14],
            peer: word(0),
            phase: word(4),
            value: word(8),
            blocks: u16::from_le_bytes([rest[12], rest[13]]),
        };
        Some(TimedStep {
            at: Duration::from_nanos(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            step: numbers.step().filter(|_| rest[15] == 0)?,
        })
    }
}
