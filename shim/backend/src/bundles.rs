//! An all-to-all in which blocks that go the same way travel in one message of octets, which ranks put together and
//! take apart.
//!
//! A rank that passes blocks on has to know how long they are. In MPI_Alltoallv and MPI_Alltoallw the lengths go the same
//! way first, as blocks of [`LENGTH`] octets.
use crate::abi::MPI_Count;
use crate::call::CollectiveCall;
use crate::call_comm::CallComm;
use crate::elements::{MpiElements, room};
use crate::mpi::mpi;
use crate::mpi_result::{MpiErrorCode, MpiResult};
use crate::octets;
use crate::point_to_point::{MessageCarrier, PiecePlaces};
use crate::private_comm::PrivateComm;
use runtime::exchange::{ExchangeWindow, TransferPiece};
use schedules::transfers::part::{BlockOrigin, OutgoingTransfer, RankPart};
use std::ops::Range;

/// The octets that say how long a block is.
const LENGTH: usize = size_of::<u64>();

/// `block` is the octets of each block, the same on all ranks, where they are equal; `at_once` limits the messages of this
/// rank that are under way. Receives are posted at once.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(
    call: &CollectiveCall,
    (within, private): (&CallComm, &PrivateComm),
    parts: &[RankPart],
    at_once: usize,
    block: usize,
) -> MpiResult<()> {
    let window = ExchangeWindow {
        receives: usize::MAX,
        sends: at_once,
    };
    // If a block does not fit, others still wait for what this rank passes on.
    let mut fit = Ok(());
    // SAFETY: passed on to the caller.
    let carried = unsafe {
        octets::alltoall(call, within, |own, places| {
            parts.iter().try_for_each(|part| {
                let mut received = Vec::new();
                let lengths = if call.collective.has_own_lengths() {
                    let numbers: Vec<[u8; LENGTH]> = own
                        .iter()
                        .map(|block| (block.len() as u64).to_le_bytes())
                        .collect();
                    let sent: Vec<&[u8]> = numbers.iter().map(<[u8; LENGTH]>::as_slice).collect();
                    let mut lengths = Vec::new();
                    let equal = BundleLengths::Equal(LENGTH);
                    let bundles = PartBundles::new(part, equal, &sent, None, &mut lengths);
                    MessageCarrier::carry_out(call, private, part, bundles, window)?;
                    let lengths = BundleLengths::announced(&lengths);
                    fit = fit.and(lengths.fit(part, places));
                    lengths
                } else {
                    BundleLengths::Equal(block)
                };
                let bundles =
                    PartBundles::new(part, lengths, own, Some(&mut *places), &mut received);
                MessageCarrier::carry_out(call, private, part, bundles, window)
            })
        })
    };
    carried.and(fit)
}

/// The octets of the blocks of the messages that a rank receives.
enum BundleLengths {
    /// Each block has so many.
    Equal(usize),
    /// By message, where each of its blocks ends.
    Each(Vec<Vec<usize>>),
}

impl BundleLengths {
    /// The lengths in these messages.
    fn announced(messages: &[Vec<u8>]) -> BundleLengths {
        BundleLengths::Each(messages.iter().map(|message| ends_in(message)).collect())
    }

    /// The place of a block in a message.
    fn place(&self, message: usize, block: usize) -> Range<usize> {
        match self {
            BundleLengths::Equal(length) => block * length..(block + 1) * length,
            BundleLengths::Each(ends) => {
                let ends = &ends[message];
                let start = block.checked_sub(1).map_or(0, |before| ends[before]);
                start..ends[block]
            }
        }
    }

    /// An error if a block that ends here is longer than its place, as where two ranks of a wrong program disagree.
    fn fit(&self, part: &RankPart, places: &[&mut [u8]]) -> MpiResult<()> {
        let is_cut = part.receives.iter().enumerate().any(|(message, transfer)| {
            transfer.blocks.iter().enumerate().any(|(number, block)| {
                let length = self.place(message, number).len();
                block.dst == part.rank && length > places[block.src as usize].len()
            })
        });
        if is_cut {
            return Err(MpiErrorCode::truncated());
        }
        Ok(())
    }

    /// The octets of a message of so many blocks.
    fn whole(&self, message: usize, blocks: usize) -> usize {
        match blocks {
            0 => 0,
            _ => self.place(message, blocks - 1).end,
        }
    }

    /// The octets that a rank's own block of this length has in a message. A wrong program may send less or more than
    /// it receives.
    fn own(&self, length: usize) -> usize {
        match self {
            BundleLengths::Equal(length) => *length,
            BundleLengths::Each(_) => length,
        }
    }
}

/// Where each block of a message ends, of which another message has the lengths.
fn ends_in(lengths: &[u8]) -> Vec<usize> {
    (lengths.as_chunks::<LENGTH>().0.iter())
        .scan(0usize, |end, octets| {
            *end = end.saturating_add(u64::from_le_bytes(*octets) as usize);
            Some(*end)
        })
        .collect()
}

/// The messages of one part of the plan.
struct PartBundles<'a, 'b> {
    part: &'a RankPart,
    lengths: BundleLengths,
    /// This rank's blocks, by receiver.
    own: &'a [&'a [u8]],
    /// The place of each block this rank receives, by sender; none of lengths.
    places: Option<&'a mut [&'b mut [u8]]>,
    /// The messages that come.
    received: &'a mut Vec<Vec<u8>>,
    /// The messages that are being sent.
    sent: Vec<(TransferPiece, Vec<u8>)>,
}

impl<'a, 'b> PartBundles<'a, 'b> {
    fn new(
        part: &'a RankPart,
        lengths: BundleLengths,
        own: &'a [&'a [u8]],
        places: Option<&'a mut [&'b mut [u8]]>,
        received: &'a mut Vec<Vec<u8>>,
    ) -> PartBundles<'a, 'b> {
        received.resize(part.receives.len(), Vec::new());
        PartBundles {
            part,
            lengths,
            own,
            places,
            received,
            sent: Vec::new(),
        }
    }

    fn pack(&self, send: &OutgoingTransfer) -> MpiResult<Vec<u8>> {
        let blocks: Vec<(&[u8], usize)> = (send.blocks.iter())
            .map(|block| match block.origin {
                BlockOrigin::Own => {
                    let octets = self.own[block.block.dst as usize];
                    (octets, self.lengths.own(octets.len()))
                }
                BlockOrigin::Received { transfer, block } => {
                    let (message, block) = (transfer as usize, block as usize);
                    let octets = &self.received[message][self.lengths.place(message, block)];
                    (octets, octets.len())
                }
            })
            .collect();
        let mut message = room(blocks.iter().map(|(_, length)| length).sum())?;
        let mut rest = message.as_mut_slice();
        for (octets, length) in blocks {
            let (place, behind) = rest.split_at_mut(length);
            let sent = length.min(octets.len());
            place[..sent].copy_from_slice(&octets[..sent]);
            rest = behind;
        }
        Ok(message)
    }
}

impl PiecePlaces for PartBundles<'_, '_> {
    fn incoming(&mut self, piece: TransferPiece) -> MpiResult<MpiElements> {
        let blocks = self.part.receives[piece.transfer].blocks.len();
        let message = &mut self.received[piece.transfer];
        *message = room(self.lengths.whole(piece.transfer, blocks))?;
        Ok(octets_at(message))
    }

    fn outgoing(&mut self, piece: TransferPiece) -> MpiResult<MpiElements> {
        let mut message = self.pack(&self.part.sends[piece.transfer])?;
        let at = octets_at(&mut message);
        self.sent.push((piece, message));
        Ok(at)
    }

    /// Puts the blocks that end here where they belong; the others stay until they are passed on.
    fn arrived(&mut self, piece: TransferPiece) {
        let Some(places) = &mut self.places else {
            return;
        };
        let message = &self.received[piece.transfer];
        let blocks = self.part.receives[piece.transfer].blocks.iter();
        for (number, block) in blocks
            .enumerate()
            .filter(|(_, block)| block.dst == self.part.rank)
        {
            let octets = &message[self.lengths.place(piece.transfer, number)];
            let place = &mut places[block.src as usize];
            let length = place.len().min(octets.len());
            place[..length].copy_from_slice(&octets[..length]);
        }
    }

    fn gone(&mut self, piece: TransferPiece) {
        self.sent.retain(|(sent, _)| *sent != piece);
    }

    fn leak(self) {
        std::mem::forget((std::mem::take(self.received), self.sent));
    }
}

fn octets_at(message: &mut [u8]) -> MpiElements {
    // The plan leaves calls with longer messages to others.
    MpiElements {
        at: message.as_mut_ptr().cast(),
        count: message.len() as MPI_Count,
        datatype: mpi().handle.byte,
    }
}
