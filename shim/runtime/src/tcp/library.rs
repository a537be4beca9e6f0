//! The MPI library as a way for what a connection cannot carry: octets go as messages, behind a
//! header that says whose they are.
//!
//! The rank that made a connection gives it up; the other one answers with the octets that have
//! come, and both go on from there. The connection stays given up.
use super::MeshError;
use super::mesh::{ReadyPeer, TcpMesh};
use crate::stderr;
use std::io;
use std::time::Duration;

/// The longest message.
pub const LONGEST: usize = HEADER + 16 * 1024;
/// Octets of a header: who sends, the kind, a number.
const HEADER: usize = 16;
/// A machine that refuses calls has nobody there, or a firewall that lets nobody through.
const REFUSED: Duration = Duration::from_secs(5);

/// What a call needs of the MPI library while it waits for connections.
pub trait CallLibrary {
    /// Lets the library move on; false if it has failed.
    fn progress(&mut self) -> bool;

    /// True if it takes messages.
    fn carries(&self) -> bool {
        false
    }

    /// Sends a message to a rank, if it takes one more now.
    fn post(&mut self, _rank: u32, _message: &[u8]) -> bool {
        false
    }

    /// The next message that has come, if there is one.
    fn next(&mut self) -> Option<Vec<u8>> {
        None
    }
}

/// A library that only moves on.
impl<P: FnMut() -> bool> CallLibrary for P {
    fn progress(&mut self) -> bool {
        self()
    }
}

/// What a message says. A connection has a rank that made it, the caller, and one that it called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    /// The called rank cannot do without the library.
    AskToGiveUp = 1,
    /// The caller gives the connection up; so many octets have come to it.
    GivenUp,
    /// The called rank agrees; so many octets have come to it.
    Agreed,
    /// Octets of the caller, the first of this number.
    OfCaller,
    /// Octets of the called rank.
    OfCalled,
}

impl MessageKind {
    fn of(number: u32) -> Option<MessageKind> {
        use MessageKind::{Agreed, AskToGiveUp, GivenUp, OfCalled, OfCaller};
        let all = [AskToGiveUp, GivenUp, Agreed, OfCaller, OfCalled];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

fn header(me: u32, kind: MessageKind, number: u64) -> Vec<u8> {
    let mut octets = me.to_ne_bytes().to_vec();
    octets.extend((kind as u32).to_ne_bytes());
    octets.extend(number.to_ne_bytes());
    octets
}

fn read(message: &[u8]) -> Option<(u32, MessageKind, u64, &[u8])> {
    let (rank, rest) = message.split_first_chunk()?;
    let (kind, rest) = rest.split_first_chunk()?;
    let (number, octets) = rest.split_first_chunk()?;
    let kind = MessageKind::of(u32::from_ne_bytes(*kind))?;
    Some((
        u32::from_ne_bytes(*rank),
        kind,
        u64::from_ne_bytes(*number),
        octets,
    ))
}

impl TcpMesh {
    /// Gives up connections that could not be made anew in time, and moves what goes over the library
    /// instead. True if something has come or gone.
    pub(super) fn use_library(
        &mut self,
        library: &mut dyn CallLibrary,
        ready: &mut Vec<ReadyPeer>,
    ) -> Result<bool, MeshError> {
        for (rank, is_back) in self.late() {
            self.give_up(rank, is_back, library)?;
        }
        if !library.carries() {
            return Ok(false);
        }
        let mut moved = false;
        while let Some(message) = library.next() {
            moved = true;
            self.take_message(&message, library, ready)?;
        }
        if self.over_library > 0 {
            for rank in 0..self.ranks() {
                moved |= self.post_octets(rank, library, ready);
            }
        }
        Ok(moved)
    }

    /// Connections that have been broken for too long, those that others made marked.
    fn late(&self) -> Vec<(u32, bool)> {
        let mut late = Vec::new();
        for (rank, peer) in (0..).zip(&self.peers) {
            let Some(peer) = peer else { continue };
            for (link, is_back) in [(&peer.out, false), (&peer.back, true)] {
                let Some(broken) = link.broken() else {
                    continue;
                };
                let is_refused = !is_back && self.mending.is_refused(rank);
                let patience = self.mending.patience;
                let patience = if is_refused {
                    patience.min(REFUSED)
                } else {
                    patience
                };
                if broken.since.elapsed() > patience {
                    late.push((rank, is_back));
                }
            }
        }
        late
    }

    fn give_up(
        &mut self,
        rank: u32,
        is_back: bool,
        library: &mut dyn CallLibrary,
    ) -> Result<(), MeshError> {
        let me = self.mending.me;
        let peer = self.peer(rank)?;
        let link = if is_back {
            &mut peer.back
        } else {
            &mut peer.out
        };
        if !library.carries() {
            let why = link
                .broken()
                .map_or_else(String::new, |broken| broken.cause.to_string());
            let cause = io::Error::other(format!("{why}; it could not be made anew"));
            return Err(MeshError::Lost { rank, cause });
        }
        if link.asks_library() {
            return Ok(());
        }
        let kind = if is_back {
            MessageKind::AskToGiveUp
        } else {
            MessageKind::GivenUp
        };
        if library.post(rank, &header(me, kind, link.came())) {
            link.ask_library();
            if !is_back {
                self.mending.stop_calling(rank);
            }
        }
        Ok(())
    }

    fn take_message(
        &mut self,
        message: &[u8],
        library: &mut dyn CallLibrary,
        ready: &mut Vec<ReadyPeer>,
    ) -> Result<(), MeshError> {
        let nonsense = |rank| MeshError::Nonsense {
            rank,
            problem: "a message that no rank sends came over the library",
        };
        let (rank, kind, number, octets) = read(message).ok_or_else(|| nonsense(u32::MAX))?;
        let me = self.mending.me;
        let peer = self.peer(rank)?;
        match kind {
            MessageKind::AskToGiveUp => {
                if !peer.out.is_over_library() {
                    peer.out.breaks(io::ErrorKind::ConnectionAborted.into());
                    self.give_up(rank, false, library)?;
                }
                return Ok(());
            }
            MessageKind::GivenUp => {
                peer.back.breaks(io::ErrorKind::ConnectionAborted.into());
                let answer = header(me, MessageKind::Agreed, peer.back.came());
                while !library.post(rank, &answer) {
                    if !library.progress() {
                        return Err(nonsense(rank));
                    }
                }
                let goes_on = peer.back.goes_over_library(number);
                goes_on.map_err(|_| nonsense(rank))?;
                peer.flush(rank)?;
            }
            MessageKind::Agreed => {
                let goes_on = peer.out.goes_over_library(number);
                goes_on.map_err(|_| nonsense(rank))?;
                self.mending.stop_calling(rank);
                self.behind.push(rank);
            }
            MessageKind::OfCaller => {
                peer.back
                    .came_over_library(number, octets)
                    .map_err(|_| nonsense(rank))?;
                ready.push(ReadyPeer::Readable(rank));
                return Ok(());
            }
            MessageKind::OfCalled => {
                peer.out
                    .came_over_library(number, octets)
                    .map_err(|_| nonsense(rank))?;
                self.tokens_wait.push(rank);
                return Ok(());
            }
        }
        self.over_library += 1;
        ready.extend([ReadyPeer::Readable(rank), ReadyPeer::Writable(rank)]);
        stderr::write_line_once(&format!(
            "TCP path: the connection with rank {rank} was lost and could not be made anew; what \
             it carried goes over the MPI library from now on"
        ));
        Ok(())
    }

    /// Hands the library what waits to go to a rank; true if something went.
    fn post_octets(
        &mut self,
        rank: u32,
        library: &mut dyn CallLibrary,
        ready: &mut Vec<ReadyPeer>,
    ) -> bool {
        let me = self.mending.me;
        let Ok(peer) = self.peer(rank) else {
            return false;
        };
        let mut went = false;
        let ends = [
            (&mut peer.out, MessageKind::OfCaller),
            (&mut peer.back, MessageKind::OfCalled),
        ];
        for (link, kind) in ends {
            while let Some((number, octets)) = link.waiting(LONGEST - HEADER) {
                let mut message = header(me, kind, number);
                message.extend(&octets);
                if !library.post(rank, &message) {
                    break;
                }
                link.went(octets.len());
                went = true;
            }
        }
        if went {
            ready.push(ReadyPeer::Writable(rank));
        }
        went
    }
}
