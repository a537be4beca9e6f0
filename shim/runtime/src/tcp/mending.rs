//! Making connections anew that broke: the rank that made one calls again, and both go on where the
//! other's count stands.
//!
//! A peer that is silent for a while in a call is asked by its kernel; who does not answer, or
//! answers where nothing gets through, has a broken connection, too.
use super::door::{DOOR, MeshDoor, PeerDoor, REDIAL, is_not_yet};
use super::greeting::{self, LENGTH, MeshGreeting, MeshSecret, MeshWish};
use super::link::{LinkBreak, NoMemory};
use super::mesh::{MeshToken, ReadyPeer, TcpMesh};
use super::{MeshError, socket};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use wire::sent_log::LostOctets;

/// In a call that lasts longer, silent peers are asked, each so often; a large job asks less often.
const ASK_AFTER: Duration = Duration::from_secs(1);
const ASKED_IN_A_SECOND: u64 = 64;
/// A peer that has not answered so many times is not there.
const UNANSWERED: u8 = 4;
/// How often it is looked for peers that have not answered.
const LOOK: Duration = Duration::from_millis(250);
/// How often it is looked for broken connections while others keep this rank busy.
const MEND: Duration = Duration::from_millis(20);
/// A call that fails is made again after so long at most.
const LONGEST_REDIAL: Duration = Duration::from_secs(2);

/// A rank that does not call again in time is asked to, each time after so long.
const INVITE: Duration = Duration::from_millis(500);
const INVITED: Duration = Duration::from_secs(2);
/// Where a connection that was made anew breaks at once again, perhaps only small packets get through:
/// IPv4 forwards these everywhere (RFC 1122, 3.3.3).
const SMALL_SEGMENT: usize = 536;

/// Everything that it takes to make connections anew.
#[derive(Debug)]
pub(super) struct MeshMending {
    pub(super) me: u32,
    pub(super) doors: Vec<PeerDoor>,
    secret: MeshSecret,
    /// `None`: a call has failed, and nothing is mended.
    pub(super) door: Option<MeshDoor>,
    /// How long a connection may be broken.
    pub(super) patience: Duration,
    calls: Vec<RepeatedCall>,
    /// Some connection is broken.
    pub(super) is_troubled: bool,
    /// Somebody is at the door, or answers.
    pub(super) knocked: bool,
    mended: Instant,
    /// Silent peers are asked, and when it was looked for answers.
    asks: bool,
    looked: Instant,
}

/// A connection that this rank makes again.
#[derive(Debug)]
struct RepeatedCall {
    rank: u32,
    /// `None`: the last try has failed.
    stream: Option<TcpStream>,
    greeting: [u8; LENGTH],
    sent: usize,
    /// The answer: how many octets have come to the other end.
    received: [u8; 8],
    length: usize,
    dialled: Instant,
    /// It is made again after so long.
    answer: Duration,
    /// The machine is there, and nobody listens.
    is_refused: bool,
    segment: Option<usize>,
    /// It is only asked to call itself, and does not answer.
    is_invited: bool,
}

impl MeshMending {
    pub(super) fn new(
        me: u32,
        doors: Vec<PeerDoor>,
        secret: MeshSecret,
        door: MeshDoor,
        patience: Duration,
    ) -> MeshMending {
        MeshMending {
            me,
            doors,
            secret,
            door: Some(door),
            patience,
            calls: Vec::new(),
            is_troubled: false,
            knocked: false,
            mended: Instant::now(),
            asks: false,
            looked: Instant::now(),
        }
    }

    /// True if it is time to mend connections.
    fn is_due(&mut self, now: Instant, nothing_happens: bool) -> bool {
        let is_due = nothing_happens || self.knocked || now - self.mended >= MEND;
        if is_due {
            (self.knocked, self.mended) = (false, now);
        }
        is_due
    }

    /// Calls a rank again, unless it is being called for the same.
    fn call(&mut self, rank: u32, wish: MeshWish, again: bool) {
        let is_invited = wish == MeshWish::CallMe;
        let mut calls = self.calls.iter();
        if calls.any(|call| call.rank == rank && call.is_invited == is_invited) {
            return;
        }
        let greeting = MeshGreeting {
            rank: self.me,
            wish,
        };
        self.calls.push(RepeatedCall {
            rank,
            stream: None,
            greeting: greeting::write(greeting, &self.secret),
            sent: 0,
            received: [0; 8],
            length: 0,
            dialled: Instant::now(),
            answer: Duration::ZERO,
            is_refused: false,
            segment: again.then_some(SMALL_SEGMENT),
            is_invited,
        });
    }

    /// How often a silent peer is asked.
    fn often(&self) -> Duration {
        let ranks = self.doors.len() as u64;
        ASK_AFTER.max(Duration::from_secs(ranks / ASKED_IN_A_SECOND))
    }

    /// The same while silent peers are asked at all.
    fn asked(&self) -> Option<Duration> {
        self.asks.then(|| self.often())
    }

    /// True if nobody listens where this rank calls that one.
    pub(super) fn is_refused(&self, rank: u32) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.rank == rank && call.is_refused)
    }

    /// A rank need not be called any more, or be asked to call.
    pub(super) fn stop_calling(&mut self, rank: u32, is_invited: bool) {
        self.calls
            .retain(|call| call.rank != rank || call.is_invited != is_invited);
    }

    /// Goes on with the calls; those that were answered, each with the octets that have come to its
    /// other end.
    fn answered(&mut self, epoll: &Epoll) -> Vec<(u32, TcpStream, u64)> {
        let (doors, mut answered) = (&self.doors, Vec::new());
        self.calls.retain_mut(|call| {
            // Only the other rank's own call answers an invitation. It stays for a while, so that no second one goes.
            if call.is_invited && call.sent == LENGTH {
                call.stream = None;
                return call.dialled.elapsed() < INVITED;
            }
            let Some(door) = doors.get(call.rank as usize) else {
                return false;
            };
            if let Err(problem) = call.go_on(door, epoll) {
                call.is_refused = problem.kind() == io::ErrorKind::ConnectionRefused;
                call.give_up();
            }
            let stream = call.stream.take_if(|_| call.length == call.received.len());
            let came = u64::from_ne_bytes(call.received);
            let is_waiting = stream.is_none();
            answered.extend(stream.map(|stream| (call.rank, stream, came)));
            is_waiting
        });
        answered
    }
}

impl RepeatedCall {
    /// This try has failed, or is too late.
    fn give_up(&mut self) {
        if let Some(stream) = self.stream.take() {
            // Where it stands at the other end it must not look like the connection's end.
            socket::reset(&stream);
        }
        self.dialled = Instant::now();
    }

    fn go_on(&mut self, door: &PeerDoor, epoll: &Epoll) -> io::Result<()> {
        let waited = self.dialled.elapsed();
        if self.stream.is_none() {
            if waited >= self.answer {
                self.dial(door, epoll)?;
            }
            return Ok(());
        }
        // Once the other kernel has accepted, its rank may be late, and only a silent kernel is taken for lost.
        let (is_answered, is_late) = (self.sent > 0, waited >= self.answer);
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        if !is_answered && is_late || is_answered && socket::is_silent(stream, UNANSWERED)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if self.sent < LENGTH {
            match stream.write(&self.greeting[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(e) if is_not_yet(&e) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        match stream.read(&mut self.received[self.length..]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                self.length += n;
                Ok(())
            }
            Err(e) if is_not_yet(&e) => Ok(()),
            Err(e) => Err(e),
        }
    }

    fn dial(&mut self, door: &PeerDoor, epoll: &Epoll) -> io::Result<()> {
        // Its own way may be what is broken.
        let is_first = self.answer.is_zero();
        let door = if is_first { *door } else { door.by_any_way() };
        (self.sent, self.length, self.dialled) = (0, 0, Instant::now());
        self.answer = (self.answer * 2).clamp(REDIAL, LONGEST_REDIAL);
        let stream = door.dial(self.segment)?;
        socket::ask_if_silent(&stream, Some(ASK_AFTER))?;
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP;
        epoll.add(&stream, EpollEvent::new(flags | EpollFlags::EPOLLET, DOOR))?;
        self.stream = Some(stream);
        Ok(())
    }
}

impl TcpMesh {
    /// Mends connections, if it is time to. Octets that came before they broke, and those that come on those
    /// that were made anew, is reported.
    pub(super) fn mend(
        &mut self,
        nothing_happens: bool,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<(), MeshError> {
        let now = Instant::now();
        if !self.mending.is_due(now, nothing_happens) {
            return Ok(());
        }
        self.look_for_silence(now)?;
        let Some(door) = &mut self.mending.door else {
            return Ok(());
        };
        for (stream, greeting) in door.hear(&self.epoll, &self.mending.secret)? {
            match greeting.wish {
                // A rank calls for the first time once.
                MeshWish::Begin => {}
                MeshWish::GoOn(number) => {
                    self.called_again(greeting.rank, stream, number)?;
                    ready.push(ReadyPeer::Readable(greeting.rank));
                }
                MeshWish::CallMe => {
                    let out = &mut self.peer(greeting.rank)?.out;
                    out.breaks(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
        self.call_again(ready, tokens)?;
        for (rank, stream, number) in self.mending.answered(&self.epoll) {
            self.goes_on(rank, stream, number)?;
            self.behind.push(rank);
            ready.push(ReadyPeer::Writable(rank));
        }
        Ok(())
    }

    /// Looks for broken connections: this rank calls again where it has called, and waits where it
    /// was called.
    fn call_again(
        &mut self,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<(), MeshError> {
        self.mending.is_troubled = false;
        for rank in 0..self.peers.len() as u32 {
            let Some(peer) = &mut self.peers[rank as usize] else {
                continue;
            };
            if peer.back.has_put_aside() {
                ready.push(ReadyPeer::Readable(rank));
            }
            let links = [&peer.out, &peer.back];
            self.mending.is_troubled |= links.iter().any(|link| link.broken().is_some());
            let is_late = |broken: &LinkBreak| broken.since.elapsed() >= INVITE;
            if peer.back.broken().is_some_and(is_late) && !peer.back.asks_library() {
                self.mending.call(rank, MeshWish::CallMe, false);
            }
            let out = &peer.out;
            if let Some(broken) = out.broken().filter(|_| !out.asks_library()) {
                let again = broken.is_again();
                // No event reports the tokens that were put aside when it broke.
                self.take_tokens(rank, tokens)?;
                let came = self.peer(rank)?.out.came();
                self.mending.call(rank, MeshWish::GoOn(came), again);
            }
        }
        Ok(())
    }

    /// A rank has called again, to which this one has sent this number of octets that it has.
    fn called_again(
        &mut self,
        rank: u32,
        mut stream: TcpStream,
        number: u64,
    ) -> Result<(), MeshError> {
        self.mending.stop_calling(rank, true);
        let asked = self.mending.asked();
        let peer = self.peer(rank)?;
        if peer.back.asks_library() {
            return Ok(());
        }
        peer.back.breaks(io::ErrorKind::ConnectionAborted.into());
        let came = peer.back.came();
        // A new connection has room for eight octets.
        if stream.write(&came.to_ne_bytes()).is_err() {
            return Ok(());
        }
        let goes_on = peer.back_goes_on(stream, number);
        goes_on.map_err(|LostOctets| forgotten(rank))?;
        peer.flush(rank)?;
        if let Some(stream) = peer.back.stream() {
            socket::ask_if_silent(stream, asked)?;
        }
        Ok(self.register(rank, true)?)
    }

    /// A rank has answered.
    fn goes_on(&mut self, rank: u32, stream: TcpStream, number: u64) -> Result<(), MeshError> {
        let _ = self.epoll.delete(&stream);
        socket::ask_if_silent(&stream, self.mending.asked())?;
        let goes_on = self.peer(rank)?.out_goes_on(stream, number);
        goes_on.map_err(|LostOctets| forgotten(rank))?;
        Ok(self.register(rank, false)?)
    }

    /// In a call that lasts, asks those who are silent, and looks for those who do not answer.
    fn look_for_silence(&mut self, now: Instant) -> Result<(), MeshError> {
        let often = self.mending.often();
        if now - self.began < ASK_AFTER || now - self.mending.looked < LOOK {
            return Ok(());
        }
        self.mending.looked = now;
        let is_new = !std::mem::replace(&mut self.mending.asks, true);
        for peer in self.peers.iter_mut().flatten() {
            for link in [&mut peer.out, &mut peer.back] {
                let Some(stream) = link.stream() else {
                    continue;
                };
                if is_new {
                    socket::ask_if_silent(stream, Some(often))?;
                }
                if socket::is_silent(stream, UNANSWERED)? {
                    link.breaks(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "its other end is silent",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Mends connections while no call is under way; true if there is more to do.
    pub(super) fn mend_between_calls(&mut self) -> bool {
        // Tokens of calls to come are kept, and blocks are looked for when a call begins.
        let (mut ready, mut tokens) = (Vec::new(), Vec::new());
        self.look_for_losses();
        if self.mend(true, &mut ready, &mut tokens).is_err() {
            // The next call finds what is wrong.
            return false;
        }
        let door = self.mending.door.as_ref();
        let has_callers = door.is_some_and(MeshDoor::has_callers);
        let mut is_busy = has_callers || !self.mending.calls.is_empty();
        for peer in self.peers.iter_mut().flatten() {
            let links = [&mut peer.out, &mut peer.back];
            for link in links {
                let flushed = link.flush(&NoMemory);
                is_busy |= flushed.is_ok() && link.sent.is_behind() || link.broken().is_some();
            }
        }
        is_busy
    }

    /// Between calls nobody is asked. But what was sent may be sent in vain.
    fn look_for_losses(&mut self) {
        self.mending.looked = Instant::now();
        for peer in self.peers.iter_mut().flatten() {
            for link in [&mut peer.out, &mut peer.back] {
                let awaited = link.stream().filter(|_| !link.sent.is_empty());
                // If the kernel does not say, the next call finds out.
                if awaited.is_some_and(|stream| socket::is_silent(stream, u8::MAX).unwrap_or(false))
                {
                    let problem = "what was sent does not come";
                    link.breaks(io::Error::new(io::ErrorKind::TimedOut, problem));
                }
            }
        }
    }

    /// The call is over: nobody is asked until the next one lasts.
    pub(super) fn end_asking(&mut self) {
        if std::mem::take(&mut self.mending.asks) {
            for peer in self.peers.iter().flatten() {
                let streams = [peer.out.stream(), peer.back.stream()];
                // A kernel that goes on asking disturbs nobody much.
                let asked = streams.into_iter().flatten();
                asked.for_each(|stream| drop(socket::ask_if_silent(stream, None)));
            }
        }
    }
}

fn forgotten(rank: u32) -> MeshError {
    MeshError::Nonsense {
        rank,
        problem: "it was made anew at octets that nobody has any more",
    }
}

#[cfg(test)]
pub(super) mod tests;
