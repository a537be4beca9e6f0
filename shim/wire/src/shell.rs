//! A shell moves the octets of a call: the kernel's sockets, virtual time in tests, a simulator.
use crate::framing::BlockHeader;
use schedules::message::Message;
use schedules::transfers::part::{OutgoingBlock, SyncToken};

/// Where the next octets from a rank go.
#[derive(Debug)]
pub enum IncomingPlace<'a> {
    /// Into a block, from this octet of it up to that one.
    Block {
        block: Message,
        /// Its octets that are there.
        from: usize,
        /// One more than the last octet that there is room for.
        to: usize,
    },
    /// Into the header of a block.
    Header(&'a mut [u8]),
    /// Nowhere: so many octets have no place.
    Nowhere(usize),
}

/// Octets of a block that may go now: of its header and of what is here of it, one behind the other,
/// those after `after`.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingOctets {
    pub block: OutgoingBlock,
    /// The octets that go before it.
    pub header: BlockHeader,
    /// Its octets that may go.
    pub there: usize,
    /// Octets of both that have gone.
    pub after: usize,
}

/// Moves octets between this rank and others, each connection in order.
pub trait WireShell {
    /// Why it cannot go on.
    type Failure;

    /// Takes what has come from a rank, at most what the place has room for; gives how much.
    ///
    /// # Errors
    /// The connection has ended.
    fn read(&mut self, rank: u32, place: IncomingPlace<'_>) -> Result<usize, Self::Failure>;

    /// Writes what the connection takes now; gives how much.
    ///
    /// # Errors
    /// The connection has ended.
    fn write(&mut self, rank: u32, octets: OutgoingOctets) -> Result<usize, Self::Failure>;

    /// True if all but a few of the octets for a rank have gone on the wire; if not, an event comes
    /// when they have.
    ///
    /// # Errors
    /// The connection cannot say.
    fn has_mostly_gone(&mut self, rank: u32) -> Result<bool, Self::Failure>;

    /// Octets that were written to a rank and have not come, as far as is known.
    ///
    /// # Errors
    /// The connection cannot say.
    fn under_way(&mut self, rank: u32) -> Result<usize, Self::Failure>;

    /// Lets an event come when so many more octets are there, at the latest.
    ///
    /// # Errors
    /// The connection refuses.
    fn wake_at(&mut self, rank: u32, octets: usize) -> Result<(), Self::Failure>;

    /// Gives a token.
    ///
    /// # Errors
    /// The connection has ended.
    fn give(&mut self, token: SyncToken) -> Result<(), Self::Failure>;

    /// Acknowledges what has been taken from a rank now: its window waits for that.
    fn acknowledge(&mut self, _rank: u32) {}

    /// Begins to take blocks from a rank.
    ///
    /// # Errors
    /// The connection refuses.
    fn begin_to_read(&mut self, _rank: u32) -> Result<(), Self::Failure> {
        Ok(())
    }

    /// So many octets of a piece, which is `whole` octets long, have come. True if the first octets
    /// of each piece are to be an event.
    fn measure(&mut self, _rank: u32, _octets: usize, _whole: usize) -> bool {
        false
    }

    /// A rank has sent what this call cannot have asked for.
    fn nonsense(&self, rank: u32, problem: &'static str) -> Self::Failure;
}
