//! Blocks of which only the sender and the receiver know the length, as in MPI_Alltoallv: each goes
//! behind a header that says how long it is, so that two ranks that disagree neither wait for each
//! other nor take octets of one block for those of the next.
use super::super::MeshError;
use super::super::peer::MeshPeer;
use super::{BlockStore, IncomingStream, MeshCarrier};
use crate::exchange::CarrierEvent;
use schedules::transfers::part::SyncToken;

/// The octets of a header: four that number the call, eight of the length, in the byte order that
/// the greeting has shown to be common.
const HEADER: usize = 12;

/// Whether blocks have headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockFraming {
    /// All ranks know the length of each block.
    Bare,
    /// Only the two ends of a block do.
    Framed,
}

/// The outcome for the blocks that this rank was to receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivedBlocks {
    /// Each fitted into its place.
    Whole,
    /// Some were longer than their places, which are full.
    Truncated,
}

/// The header of a block, or nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockHeader {
    octets: [u8; HEADER],
    length: usize,
}

impl std::ops::Deref for BlockHeader {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

impl BlockFraming {
    /// The octets before a block of this length.
    pub(super) fn header(self, call: u32, block: usize) -> BlockHeader {
        let mut octets = [0; HEADER];
        octets[..4].copy_from_slice(&call.to_ne_bytes());
        octets[4..].copy_from_slice(&(block as u64).to_ne_bytes());
        let has_one = self == BlockFraming::Framed && block > 0;
        BlockHeader {
            octets,
            length: if has_one { HEADER } else { 0 },
        }
    }
}

/// The header of the next block from a rank, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    octets: [u8; HEADER],
    came: usize,
}

impl FrameReader {
    /// The length of the next block, once its header has come.
    fn length(
        &mut self,
        rank: u32,
        call: u32,
        peer: &mut MeshPeer,
    ) -> Result<Option<usize>, MeshError> {
        self.came += peer.receive(rank, &mut self.octets[self.came..])?;
        let (Some((number, length)), true) = (self.octets.split_first_chunk(), self.came == HEADER)
        else {
            return Ok(None);
        };
        let length = length.first_chunk().copied().map(u64::from_ne_bytes);
        let length = length.filter(|&length| length > 0 && u32::from_ne_bytes(*number) == call);
        match length.map(usize::try_from) {
            Some(Ok(length)) => Ok(Some(length)),
            _ => Err(MeshError::Nonsense {
                rank,
                problem: "a block of another call came",
            }),
        }
    }
}

/// Tokens, each given when so many octets of a block are still to come.
type TokenLeads = [(SyncToken, usize)];

/// So much of a block is there when the first of the tokens that come later than `now` is given, or
/// the whole block.
fn next_stop(leads: &TokenLeads, now: usize, whole: usize) -> usize {
    let given = leads.iter().map(|(_, lead)| due_at(*lead, whole));
    given.filter(|&at| at > now).min().unwrap_or(whole)
}

/// The octets of a block that is `whole` octets long after which a token is given, be it shorter
/// than expected.
fn due_at(lead: usize, whole: usize) -> usize {
    whole - lead.min(whole / 4)
}

impl IncomingStream {
    /// Takes the next block as far as it has come, and tells of the tokens that are due. Gives true
    /// if it is over, else the octets to wait for.
    fn take_block(
        &mut self,
        (rank, call): (u32, u32),
        peer: &mut MeshPeer,
        place: &mut [u8],
        leads: &TokenLeads,
        mut is_due: impl FnMut(SyncToken),
    ) -> Result<Result<usize, usize>, MeshError> {
        let expected = place.len();
        let Some(whole) = self.frame.length(rank, call, peer)? else {
            let stop = next_stop(leads, 0, expected);
            return Ok(Err(HEADER - self.frame.came + stop));
        };
        let before = self.at.octets;
        let place = &mut place[before.min(expected)..whole.min(expected)];
        let mut received = peer.receive(rank, place)?;
        if received == place.len() {
            received += peer.discard(rank, whole - before - received)?;
        }
        let now = before + received;
        self.at.octets = now;
        for &(token, lead) in leads {
            let at = due_at(lead, whole);
            if now >= at && (before < at || whole == 0) {
                is_due(token);
            }
        }
        Ok(if now < whole {
            Err(next_stop(leads, now, whole) - now)
        } else {
            Ok(whole)
        })
    }
}

impl MeshCarrier<'_, '_, '_> {
    /// Takes what has come from a rank.
    pub(super) fn take_framed(&mut self, rank: u32) -> Result<(), MeshError> {
        let MeshCarrier {
            mesh,
            blocks: BlockStore { part, incoming, .. },
            streams,
            events,
            window,
            ..
        } = self;
        let call = mesh.call();
        let Some(stream) = streams.get_mut(rank as usize) else {
            return Ok(());
        };
        while let Some(&piece) = stream.pieces.front() {
            let block = part.receives[piece.transfer].blocks[0];
            let place = &mut *incoming[block.src as usize];
            let room = place.len();
            let mut came = 0;
            let give = &part.receives[piece.transfer].give;
            if room == 0 {
                // It is not sent.
                events.extend(give.iter().map(|&token| CarrierEvent::Due(piece, token)));
            } else {
                let due = mesh.due(rank, give, room)?;
                let leads: Vec<(SyncToken, usize)> =
                    due.iter().map(|&(token, at)| (token, room - at)).collect();
                let is_due = |token| events.push(CarrierEvent::Due(piece, token));
                let peer = mesh.peer(rank)?;
                match stream.take_block((rank, call), peer, place, &leads, is_due)? {
                    Ok(whole) => {
                        window.block_came(peer);
                        came = whole;
                    }
                    Err(octets) => return Ok(peer.wake_at(octets)?),
                }
            }
            if came > room {
                self.arrived = ArrivedBlocks::Truncated;
            }
            stream.pieces.pop_front();
            (stream.at, stream.frame) = Default::default();
            events.push(CarrierEvent::Arrived(piece));
        }
        Ok(())
    }

    /// The kernel wakes a rank for as many octets as it expects: where nothing happens, perhaps a
    /// block is shorter. What has come of it is an event then.
    pub(super) fn look_for_short_blocks(&mut self) -> Result<(), MeshError> {
        if self.blocks.framing == BlockFraming::Bare {
            return Ok(());
        }
        let waits = |stream: &IncomingStream| !stream.pieces.is_empty();
        let ranks = (0..).zip(&self.streams).filter(|(_, stream)| waits(stream));
        let ranks: Vec<u32> = ranks.map(|(rank, _)| rank).collect();
        ranks
            .into_iter()
            .try_for_each(|rank| self.take_framed(rank))
    }
}
