//! One end of a connection that may break and be made anew: what was sent on it and may not have
//! come, and what has come.
use super::socket;
use schedules::transfers::part::OutgoingBlock;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, Instant};
use wire::framing::BlockHeader;
use wire::sent_log::{LostOctets, OctetsAgain, SentLog};

/// So many octets are copied when a call ends, or kept, before it is asked which of them have come.
const FEW: usize = 16 * 1024;

/// Where octets that were sent lie during the call that sends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentOctets {
    /// In a block and the header before it.
    Block(OutgoingBlock, BlockHeader),
    /// In the memory of a relay: in this rank's own, or where parts come.
    Relayed { is_own: bool },
}

/// The memory of a call.
pub(super) trait SentMemory {
    /// Both pieces of it that lie one behind the other.
    fn pieces<'m>(&'m self, source: &'m SentOctets) -> [&'m [u8]; 2];
}

/// Of tokens, and between calls: what is sent was copied.
pub(super) struct NoMemory;

impl SentMemory for NoMemory {
    fn pieces<'m>(&'m self, _: &'m SentOctets) -> [&'m [u8]; 2] {
        [&[], &[]]
    }
}

/// The other end has closed its end: it has nothing more to say, and nothing more to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkEnded;

/// The time when a connection broke, and why.
#[derive(Debug)]
pub(super) struct LinkBreak {
    pub(super) since: Instant,
    pub(super) cause: io::Error,
    /// Octets that had come by then.
    came: u64,
    /// When it was made anew, and the times that it was since the first break.
    anew: Option<Instant>,
    times: u32,
}

impl LinkBreak {
    /// True if it was made anew and fell silent again: perhaps small packets alone get through.
    pub(super) fn is_again(&self) -> bool {
        self.times > 0 && self.cause.kind() == ErrorKind::TimedOut
    }
}

/// A connection that is reset sooner after it was made anew has not stood; one that falls silent, sooner
/// than that.
const STANDS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(20)];

/// Whether the MPI library carries what the connection cannot.
#[derive(Debug, PartialEq, Eq)]
enum LibraryUse {
    None,
    /// The other end has been notified.
    Asked,
    /// It does; so many octets of those that are to go to it wait.
    Carries(VecDeque<u8>),
}

#[derive(Debug)]
pub(super) struct MeshLink {
    stream: Option<TcpStream>,
    pub(super) sent: SentLog<SentOctets>,
    /// Octets that came, ever.
    came: u64,
    /// Octets that came on connections that broke, and that nobody has taken.
    aside: VecDeque<u8>,
    /// Some did lately.
    is_news: bool,
    /// The last break; the first one of those between which nothing has come.
    broken: Option<LinkBreak>,
    library: LibraryUse,
    /// Octets after which tests break the connection.
    #[cfg(test)]
    pub(super) breaks_after: Option<u64>,
}

impl MeshLink {
    pub(super) fn new(stream: TcpStream) -> MeshLink {
        MeshLink {
            stream: Some(stream),
            sent: SentLog::default(),
            came: 0,
            aside: VecDeque::new(),
            is_news: false,
            broken: None,
            library: LibraryUse::None,
            #[cfg(test)]
            breaks_after: None,
        }
    }

    /// The connection, while it stands.
    pub(super) fn stream(&self) -> Option<&TcpStream> {
        self.stream.as_ref()
    }

    /// When and why it broke, while it does not stand.
    pub(super) fn broken(&self) -> Option<&LinkBreak> {
        let is_broken = self.stream.is_none() && !self.is_over_library();
        self.broken.as_ref().filter(|_| is_broken)
    }

    /// True, once, if the connection broke and octets were put aside that nobody has taken yet.
    pub(super) fn has_put_aside(&mut self) -> bool {
        std::mem::take(&mut self.is_news)
    }

    #[cfg(test)]
    pub(super) fn has_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Octets that came, ever.
    pub(super) fn came(&self) -> u64 {
        self.came
    }

    /// Takes some of what has come; gives how much: nothing if there is nothing now.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize, LinkEnded> {
        if !self.aside.is_empty() {
            // Reading from memory cannot fail.
            return Ok(self.aside.read(into).unwrap_or(0));
        }
        loop {
            let Some(stream) = &mut self.stream else {
                return Ok(0);
            };
            match stream.read(into) {
                Ok(0) if into.is_empty() => return Ok(0),
                // A FIN (RFC 9293, 3.6): ranks shut down in order, and what breaks ends with a reset or a timeout.
                Ok(0) => return Err(LinkEnded),
                Ok(n) => {
                    self.came += n as u64;
                    self.moved(n);
                    return Ok(n);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // The next round finds no stream; `has_put_aside` has what came before the break read later.
                Err(cause) => self.breaks(cause),
            }
        }
    }

    /// The outcome of a write; nothing was written if there is no room now, or if the connection
    /// breaks.
    fn written(&mut self, outcome: io::Result<usize>) -> Result<usize, LinkEnded> {
        match outcome {
            Ok(n) => Ok(n),
            Err(e) if is_not_now(&e) => Ok(0),
            // The other end had closed it before it was reset.
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(LinkEnded),
            Err(cause) => {
                self.breaks(cause);
                Ok(0)
            }
        }
    }

    /// Sends what fits now of both pieces, one behind the other, after so many octets of them;
    /// gives how much.
    pub(super) fn send(
        &mut self,
        source: SentOctets,
        pieces: [&[u8]; 2],
        after: usize,
    ) -> Result<usize, LinkEnded> {
        let (mut at, end) = (after, pieces.map(<[u8]>::len).iter().sum());
        // Octets to be sent again go first: both ends count octets, and the other one waits for their number.
        while at < end && !self.sent.is_behind() {
            let written = match &mut self.library {
                LibraryUse::Carries(waiting) => Ok(wait(waiting, pieces, at..end)),
                _ => write(self.stream.as_mut(), pieces, at..end),
            };
            let n = self.written(written)?;
            if n == 0 {
                break;
            }
            self.sent.sent(source, at..at + n);
            self.forget_if_safe();
            at += n;
            self.moved(n);
        }
        Ok(at - after)
    }

    /// Sends octets that are copied until they have come.
    pub(super) fn push(&mut self, octets: &[u8]) {
        if self.sent.len() > FEW {
            self.look_what_came();
        }
        self.sent.push(octets);
    }

    /// Sends what is to be written before new octets, as far as there is room.
    pub(super) fn flush(&mut self, memory: &dyn SentMemory) -> Result<(), LinkEnded> {
        while let (Some(octets), stream) = (self.sent.next(), self.stream.as_mut()) {
            let (pieces, place) = match octets {
                OctetsAgain::Kept(octets) => ([octets, &[]], 0..octets.len()),
                OctetsAgain::In(source, place) => (memory.pieces(source), place),
            };
            let written = match &mut self.library {
                LibraryUse::Carries(waiting) => Ok(wait(waiting, pieces, place)),
                _ => write(stream, pieces, place),
            };
            match self.written(written)? {
                0 => break,
                n => self.sent.wrote(n),
            }
            self.forget_if_safe();
        }
        Ok(())
    }

    /// The call that sent what has not come is over: its memory is left to the application.
    pub(super) fn keep(&mut self, memory: &dyn SentMemory) {
        if self.sent.places() == 0 {
            return;
        }
        if self.sent.len() > FEW {
            self.look_what_came();
        }
        self.sent.keep(|source, place, kept| {
            for octets in part(memory.pieces(source), place) {
                kept.extend(octets);
            }
        });
    }

    /// Forgets what the other end's kernel has.
    fn look_what_came(&mut self) {
        let under_way = self.stream.as_ref().map(socket::under_way);
        if let Some(Ok(octets)) = under_way {
            self.sent.came_but(octets);
        }
    }

    /// The connection is of no use any more. Octets that came on it count.
    pub(super) fn breaks(&mut self, cause: io::Error) {
        let Some(mut stream) = self.stream.take() else {
            return;
        };
        // What this kernel acknowledged the other end may have forgotten (`look_what_came`): it counts as come.
        let mut octets = [0; 4096];
        loop {
            match stream.read(&mut octets) {
                Ok(n @ 1..) => {
                    self.aside.extend(&octets[..n]);
                    self.came += n as u64;
                    self.is_news = true;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
            }
        }
        socket::reset(&stream);
        // It may break again before an octet has come: the time counts from the first break.
        let came = self.came;
        let stands = STANDS[usize::from(cause.kind() == ErrorKind::TimedOut)];
        let last = self.broken.take();
        let again = last.filter(|last| {
            last.came == came && last.anew.is_some_and(|anew| anew.elapsed() < stands)
        });
        self.broken = Some(again.unwrap_or(LinkBreak {
            since: Instant::now(),
            cause,
            came,
            anew: None,
            times: 0,
        }));
    }

    /// The connection was made anew. The other end waits for the octet of this number.
    pub(super) fn goes_on(&mut self, stream: TcpStream, number: u64) -> Result<(), LostOctets> {
        self.breaks(io::ErrorKind::ConnectionAborted.into());
        self.sent.go_on_at(number)?;
        self.stream = Some(stream);
        if let Some(broken) = &mut self.broken {
            broken.anew = Some(Instant::now());
            broken.times += 1;
        }
        Ok(())
    }

    /// True if the library carries what the connection cannot.
    pub(super) fn is_over_library(&self) -> bool {
        matches!(self.library, LibraryUse::Carries(_))
    }

    /// True if the other end has been notified, or has agreed.
    pub(super) fn asks_library(&self) -> bool {
        self.library != LibraryUse::None
    }

    /// The other end has been notified.
    pub(super) fn ask_library(&mut self) {
        self.library = LibraryUse::Asked;
    }

    /// Both ends agree that the library carries what comes after the octets that the other one has.
    pub(super) fn goes_over_library(&mut self, number: u64) -> Result<(), LostOctets> {
        self.sent.go_on_at(number)?;
        self.library = LibraryUse::Carries(VecDeque::new());
        Ok(())
    }

    /// These octets, the first of this number, came over the library.
    pub(super) fn came_over_library(
        &mut self,
        number: u64,
        octets: &[u8],
    ) -> Result<(), LostOctets> {
        if number != self.came || !self.is_over_library() {
            return Err(LostOctets);
        }
        self.aside.extend(octets);
        self.came += octets.len() as u64;
        Ok(())
    }

    /// The number of the first octet that waits for the library, and so many of them at most.
    pub(super) fn waiting(&self, most: usize) -> Option<(u64, Vec<u8>)> {
        let LibraryUse::Carries(waiting) = &self.library else {
            return None;
        };
        let octets: Vec<u8> = waiting.iter().take(most).copied().collect();
        let number = self.sent.number() - waiting.len() as u64;
        (!octets.is_empty()).then_some((number, octets))
    }

    /// The library has taken so many of them.
    pub(super) fn went(&mut self, octets: usize) {
        if let LibraryUse::Carries(waiting) = &mut self.library {
            waiting.drain(..octets);
        }
    }

    /// Octets that wait for the library.
    pub(super) fn unsent(&self) -> usize {
        match &self.library {
            LibraryUse::Carries(waiting) => waiting.len(),
            _ => 0,
        }
    }

    /// The library delivers all that it has.
    fn forget_if_safe(&mut self) {
        if self.is_over_library() {
            self.sent.came_but(0);
        }
    }

    /// Says that nothing more is to come, so that the other end does not take it for a break.
    pub(super) fn end(&self) {
        if let Some(stream) = &self.stream {
            let _ = stream.shutdown(std::net::Shutdown::Write); // It may be broken.
        }
    }

    #[cfg(not(test))]
    fn moved(&mut self, _octets: usize) {}

    #[cfg(test)]
    fn moved(&mut self, octets: usize) {
        let left = self
            .breaks_after
            .map(|left| left.saturating_sub(octets as u64));
        self.breaks_after = left.filter(|left| *left > 0);
        if left == Some(0) {
            self.breaks(ErrorKind::ConnectionReset.into());
        }
    }
}

fn is_not_now(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The octets in this place of two pieces, one behind the other.
fn part(pieces: [&[u8]; 2], place: Range<usize>) -> [&[u8]; 2] {
    let [first, second] = pieces;
    let of = |piece: &'_ [u8], before: usize| {
        let within = |at: usize| at.saturating_sub(before).min(piece.len());
        within(place.start)..within(place.end)
    };
    let (in_first, in_second) = (of(first, 0), of(second, first.len()));
    [&first[in_first], &second[in_second]]
}

/// Lets octets in this place wait for the library, as many as it has room for.
fn wait(waiting: &mut VecDeque<u8>, pieces: [&[u8]; 2], place: Range<usize>) -> usize {
    let room = FEW.saturating_sub(waiting.len()).min(place.len());
    for octets in part(pieces, place.start..place.start + room) {
        waiting.extend(octets);
    }
    room
}

/// Writes what the connection takes now of the octets in this place.
fn write(
    stream: Option<&mut TcpStream>,
    pieces: [&[u8]; 2],
    place: Range<usize>,
) -> io::Result<usize> {
    let slices = part(pieces, place).map(IoSlice::new);
    stream.map_or(Ok(0), |stream| stream.write_vectored(&slices))
}
