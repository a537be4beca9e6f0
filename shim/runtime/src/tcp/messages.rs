//! The MPI library as a way for what a connection cannot carry: octets go as messages, behind a
//! header that says whose they are.
//!
//! The rank that made a connection gives it up; the other one answers with the octets that have
//! come, and both go on from there. The connection stays given up.
use super::MeshError;
use super::link::MeshLink;
use super::mesh::{ReadyPeer, TcpMesh};
use crate::stderr;
use std::time::Duration;
use std::{fmt, io};

/// The longest message.
pub const LONGEST: usize = HEADER + 16 * 1024;
/// Octets of a header: who sends, the kind, a number, how many octets follow.
const HEADER: usize = 20;
/// A machine that refuses calls has nobody there, or a firewall that lets nobody through.
const REFUSED: Duration = Duration::from_secs(5);

/// Messages of the MPI library between the ranks of connections.
pub trait MeshMessages: fmt::Debug + Send {
    /// Sends a message to a rank; false if the library takes none now.
    ///
    /// # Errors
    /// The library refuses.
    fn post(&mut self, rank: u32, message: &[u8]) -> io::Result<bool>;

    /// The next message that has come, if there is one; what is behind it has no meaning.
    fn next(&mut self) -> Option<Vec<u8>>;
}

/// The kind of a message. A connection has a rank that made it, the caller, and one that it called.
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
    fn from_number(number: u32) -> Option<MessageKind> {
        use MessageKind::{Agreed, AskToGiveUp, GivenUp, OfCalled, OfCaller};
        let all = [AskToGiveUp, GivenUp, Agreed, OfCaller, OfCalled];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

fn message(me: u32, kind: MessageKind, number: u64, octets: &[u8]) -> Vec<u8> {
    let mut message = me.to_ne_bytes().to_vec();
    message.extend((kind as u32).to_ne_bytes());
    message.extend(number.to_ne_bytes());
    message.extend((octets.len() as u32).to_ne_bytes());
    message.extend(octets);
    message
}

/// Sends a message of few octets.
fn tell(messages: &mut dyn MeshMessages, rank: u32, message: &[u8]) -> Result<(), MeshError> {
    while !messages
        .post(rank, message)
        .map_err(|cause| MeshError::Lost { rank, cause })?
    {
        std::thread::yield_now();
    }
    Ok(())
}

fn read(message: &[u8]) -> Option<(u32, MessageKind, u64, &[u8])> {
    let (rank, rest) = message.split_first_chunk()?;
    let (kind, rest) = rest.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let kind = MessageKind::from_number(u32::from_ne_bytes(*kind))?;
    let octets = rest.get(..u32::from_ne_bytes(*length) as usize)?;
    let (rank, number) = (u32::from_ne_bytes(*rank), u64::from_ne_bytes(*number));
    Some((rank, kind, number, octets))
}

impl TcpMesh {
    /// Gives up connections that could not be made anew in time, and moves what goes by messages
    /// instead. True if something has come or gone.
    pub(super) fn use_messages(&mut self, ready: &mut Vec<ReadyPeer>) -> Result<bool, MeshError> {
        let late = self.late();
        let Some(mut messages) = self.messages.take() else {
            return late
                .first()
                .map_or(Ok(false), |&(rank, is_back)| Err(self.lost(rank, is_back)));
        };
        let moved = self.move_messages(&late, &mut *messages, ready);
        self.messages = Some(messages);
        moved
    }

    fn move_messages(
        &mut self,
        late: &[(u32, bool)],
        messages: &mut dyn MeshMessages,
        ready: &mut Vec<ReadyPeer>,
    ) -> Result<bool, MeshError> {
        for &(rank, is_back) in late {
            self.give_up(rank, is_back, messages)?;
        }
        let mut moved = false;
        while let Some(message) = messages.next() {
            moved = true;
            self.take_message(&message, messages, ready)?;
        }
        if self.over_library > 0 {
            for rank in 0..self.ranks() {
                moved |= self.post_octets(rank, messages, ready)?;
            }
        }
        Ok(moved)
    }

    fn lost(&self, rank: u32, is_back: bool) -> MeshError {
        let peer = self.peers.get(rank as usize).and_then(Option::as_ref);
        let link = peer.map(|peer| if is_back { &peer.back } else { &peer.out });
        let broken = link.and_then(MeshLink::broken);
        let why = broken.map_or_else(String::new, |broken| broken.cause.to_string());
        let cause = io::Error::other(format!("{why}; it could not be made anew in time"));
        MeshError::Lost { rank, cause }
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
                let usual = self.mending.patience;
                let patience = if is_refused {
                    usual.min(REFUSED)
                } else {
                    usual
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
        messages: &mut dyn MeshMessages,
    ) -> Result<(), MeshError> {
        let me = self.mending.me;
        let peer = self.peer(rank)?;
        let link = if is_back {
            &mut peer.back
        } else {
            &mut peer.out
        };
        if link.asks_library() {
            return Ok(());
        }
        let kind = if is_back {
            MessageKind::AskToGiveUp
        } else {
            MessageKind::GivenUp
        };
        tell(messages, rank, &message(me, kind, link.came(), &[]))?;
        link.ask_library();
        self.mending.stop_calling(rank, is_back);
        Ok(())
    }

    fn take_message(
        &mut self,
        came: &[u8],
        messages: &mut dyn MeshMessages,
        ready: &mut Vec<ReadyPeer>,
    ) -> Result<(), MeshError> {
        let nonsense = |rank| MeshError::Nonsense {
            rank,
            problem: "a message that no rank sends came over the library",
        };
        let (rank, kind, number, octets) = read(came).ok_or_else(|| nonsense(u32::MAX))?;
        let me = self.mending.me;
        let peer = self.peer(rank)?;
        match kind {
            MessageKind::AskToGiveUp => {
                // Both ends may give up at once, and their messages cross: one is enough.
                if !peer.out.is_over_library() {
                    peer.out.breaks(io::ErrorKind::ConnectionAborted.into());
                    self.give_up(rank, false, messages)?;
                }
                return Ok(());
            }
            MessageKind::GivenUp => {
                // What lies in the socket counts before the answer says how much has come.
                peer.back.breaks(io::ErrorKind::ConnectionAborted.into());
                let answer = message(me, MessageKind::Agreed, peer.back.came(), &[]);
                tell(messages, rank, &answer)?;
                let goes_on = peer.back.goes_over_library(number);
                goes_on.map_err(|_| nonsense(rank))?;
                peer.flush(rank)?;
            }
            MessageKind::Agreed => {
                let goes_on = peer.out.goes_over_library(number);
                goes_on.map_err(|_| nonsense(rank))?;
                self.behind.push(rank);
                self.tokens_wait.push(rank);
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
        messages: &mut dyn MeshMessages,
        ready: &mut Vec<ReadyPeer>,
    ) -> Result<bool, MeshError> {
        let me = self.mending.me;
        let Ok(peer) = self.peer(rank) else {
            return Ok(false);
        };
        let mut went = false;
        let ends = [
            (&mut peer.out, MessageKind::OfCaller),
            (&mut peer.back, MessageKind::OfCalled),
        ];
        for (link, kind) in ends {
            while let Some((number, octets)) = link.waiting(LONGEST - HEADER) {
                let message = message(me, kind, number, &octets);
                let posted = messages.post(rank, &message);
                if !posted.map_err(|cause| MeshError::Lost { rank, cause })? {
                    break;
                }
                link.went(octets.len());
                went = true;
            }
        }
        if went {
            ready.push(ReadyPeer::Writable(rank));
        }
        Ok(went)
    }
}

#[cfg(test)]
mod tests;
