//! MPI_Alltoall by LG, or bundled ([`schedules::bundled`]), over point-to-point messages of octets: blocks that go the same way travel in
//! one message. What stays within a host the library carries through its memory, where it can.
//!
//! A rank sends its messages in the order of steps, each as soon as what it passes on has come, by LG one at a time, bundled as many as it
//! has: those are small. Receives are posted at once.
//! Messages between two ranks are sent and asked for in the order of steps, and every message of a call is awaited in that call.
use crate::call::Call;
use crate::data::Data;
use crate::mpi::mpi;
use crate::octets::{self, room};
use crate::requests::Requests;
use crate::result::Result;
use crate::twin::Twin;
use crate::within::Within;
use runtime::watch;
use schedules::lg::slice::{Outbound, Slice, Source};
use std::ffi::c_int;

const DATA: c_int = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    /// A message has come.
    Received(usize),
    /// A message is on its way.
    Sent(usize),
}

/// `block` is the octets of each block, the same on all ranks; `at_once` limits the messages of this rank that are under way.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn alltoall(call: &Call, within: &Within, twin: &Twin, slice: &Slice, at_once: usize, block: usize) -> Result<()> {
    // SAFETY: passed on to the caller.
    unsafe {
        octets::alltoall(call, within, block, |own, places| {
            let received = slice.receives.iter().map(|parcel| room(parcel.blocks.len() * block)).collect::<Result<_>>()?;
            let came = vec![false; slice.receives.len()];
            Exchange { twin, slice, block, own, places, received, came, at_once, under_way: Vec::new(), requests: Requests::new() }.run()
        })
    }
}

/// A call under way.
struct Exchange<'a, 'b> {
    twin: &'a Twin,
    slice: &'a Slice,
    block: usize,
    /// This rank's blocks, by receiver.
    own: &'a [&'a [u8]],
    /// Where this rank's blocks are wanted, by sender.
    places: &'a mut [&'b mut [u8]],
    /// The messages that come, and whether they have.
    received: Vec<Vec<u8>>,
    came: Vec<bool>,
    at_once: usize,
    /// The messages that are being sent, with their numbers.
    under_way: Vec<(usize, Vec<u8>)>,
    requests: Requests<Done>,
}

impl Exchange<'_, '_> {
    fn run(mut self) -> Result<()> {
        let outcome = self.everything();
        if !self.requests.is_empty() {
            // Something failed with messages under way: the library still knows where they lie.
            std::mem::forget((self.received, self.under_way));
        }
        outcome
    }

    fn everything(&mut self) -> Result<()> {
        for (number, message) in self.received.iter_mut().enumerate() {
            let (at, from) = (octets(message.as_mut_ptr(), message.len()), self.slice.receives[number].peer);
            // SAFETY: the message is left alone until it has come, and the call waits for every request.
            self.requests.add(unsafe { self.twin.receive(at, from as c_int, DATA) }?, Done::Received(number));
        }
        let slice = self.slice;
        let (mut sends, mut events) = (slice.sends.iter().enumerate().peekable(), Vec::new());
        loop {
            while self.under_way.len() < self.at_once
                && let Some((number, next)) = sends.next_if(|(_, next)| self.holds(next))
            {
                let mut message = self.pack(next)?;
                let at = octets(message.as_mut_ptr(), message.len());
                // SAFETY: the message stays as it is until it is sent.
                self.requests.add(unsafe { self.twin.send(at, next.parcel.peer as c_int, DATA) }?, Done::Sent(number));
                self.under_way.push((number, message));
            }
            if self.requests.is_empty() {
                return self.requests.outcome();
            }
            watch::waits(|| self.waits_for(sends.peek().map(|(_, next)| *next)));
            self.requests.wait_some(&mut events)?;
            for event in events.drain(..) {
                match event {
                    Done::Received(number) => self.arrived(number),
                    Done::Sent(number) => self.under_way.retain(|(sent, _)| *sent != number),
                }
            }
        }
    }

    /// Whether all blocks of a message are here.
    fn holds(&self, next: &Outbound) -> bool {
        next.sources.iter().all(|source| if let Source::Received { parcel, .. } = source { self.came[*parcel] } else { true })
    }

    fn pack(&self, next: &Outbound) -> Result<Vec<u8>> {
        let mut message = room(next.sources.len() * self.block)?;
        let places = message.chunks_exact_mut(self.block);
        for ((source, block), place) in next.sources.iter().zip(&next.parcel.blocks).zip(places) {
            place.copy_from_slice(match *source {
                Source::Own => self.own[block.dst as usize],
                Source::Received { parcel, block } => &self.received[parcel][block * self.block..][..self.block],
            });
        }
        Ok(message)
    }

    /// Puts the blocks that end here where they belong; the others stay until they are passed on.
    fn arrived(&mut self, number: usize) {
        self.came[number] = true;
        let me = self.twin.rank as u32;
        let blocks = self.slice.receives[number].blocks.iter().zip(self.received[number].chunks_exact(self.block));
        for (block, octets) in blocks.filter(|(block, _)| block.dst == me) {
            self.places[block.src as usize].copy_from_slice(octets);
        }
    }

    /// For the watchdog.
    fn waits_for(&self, next: Option<&Outbound>) -> String {
        let missing = self.slice.receives.iter().zip(&self.came).find(|(_, came)| !**came).map(|(parcel, _)| parcel);
        let what = match (missing, next) {
            (Some(parcel), _) => format!("the blocks by way of rank {} (step {} of {})", parcel.peer, parcel.step + 1, self.slice.steps),
            (None, Some(next)) => format!("its message before the one to rank {} to go", next.parcel.peer),
            (None, None) => "its last message to go".to_owned(),
        };
        format!("rank {} in alltoall, blocks passed on: {what}", self.twin.rank)
    }
}

fn octets(at: *mut u8, count: usize) -> Data {
    // The plan leaves calls with longer messages to others.
    Data { at: at.cast(), count: count as c_int, datatype: mpi().handle.byte }
}
