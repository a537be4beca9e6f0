//! Blocks of which only the sender and the receiver know the length, as in MPI_Alltoallv: each goes
//! behind a header that says how long it is, so that two ranks that disagree neither wait for each
//! other nor take octets of one block for those of the next.
use schedules::transfers::part::SyncToken;

/// The octets of a header: four that number the call, eight of the length, in the byte order that
/// the greeting has shown to be common.
pub const HEADER: usize = 12;

/// Whether blocks have headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockFraming {
    /// All ranks know the length of each block. A connection's stream needs no frames: what comes
    /// after the last piece belongs to the next call.
    Bare,
    /// Only the two ends of a block do. One that its sender knows to be empty is not sent.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
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
    pub fn header(self, call: u32, block: usize) -> BlockHeader {
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
pub(crate) struct FrameReader {
    octets: [u8; HEADER],
    came: usize,
}

impl FrameReader {
    /// The place of what is missing.
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        &mut self.octets[self.came..]
    }

    /// Octets that have not come.
    pub(crate) fn missing(&self) -> usize {
        HEADER - self.came
    }

    pub(crate) fn came(&mut self, octets: usize) {
        self.came += octets;
    }

    /// The length of the next block of this call, once its header has come; false if that is of
    /// another call.
    pub(crate) fn length(&self, call: u32) -> Result<Option<usize>, OtherCall> {
        let (Some((number, length)), true) = (self.octets.split_first_chunk(), self.came == HEADER)
        else {
            return Ok(None);
        };
        let length = length.first_chunk().copied().map(u64::from_ne_bytes);
        // An empty block is not sent: a header with no length is out of step, too.
        let length = length.filter(|&length| length > 0 && u32::from_ne_bytes(*number) == call);
        match length.map(usize::try_from) {
            Some(Ok(length)) => Ok(Some(length)),
            _ => Err(OtherCall),
        }
    }
}

/// A header came that this call cannot have asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OtherCall;

/// Tokens, each given when so many octets of a block are still to come.
type TokenLeads = [(SyncToken, usize)];

/// So much of a block is there when the first of the tokens that come later than `now` is given, or
/// the whole block.
pub(crate) fn next_stop(leads: &TokenLeads, now: usize, whole: usize) -> usize {
    let given = leads.iter().map(|(_, lead)| due_at(*lead, whole));
    given.filter(|&at| at > now).min().unwrap_or(whole)
}

/// The octets of a block that is `whole` octets long after which a token is given, be it shorter
/// than expected.
pub(crate) fn due_at(lead: usize, whole: usize) -> usize {
    whole - lead.min(whole / 4)
}
