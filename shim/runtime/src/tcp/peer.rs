//! Another rank, by both connections with it. The kernel wakes this rank only for what lets it go
//! on: for a chunk that has come whole, not for each of its frames, and for a block that has gone,
//! not for each bit of room.
use super::{MeshError, socket};
use inventory::BitsPerSec;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use wire::links::PeerLinks;
use wire::stream_pace::StreamPace;

/// Octets that come before this rank is woken for them, at most. More would save little and leave
/// less of the receive buffer, 128 kB at first, to what comes until they are taken.
const CHUNK: usize = 32 * 1024;
/// The same on fast links, where waking a rank takes as long as several frames.
const CHUNK_OF_FAST: usize = 128 * 1024;
/// Octets that may wait in the kernel to be sent, while there are more to be written.
const AHEAD: usize = 128 * 1024;
/// A block counts as sent when so many octets of it, or fewer, wait: the next one is then on its
/// way when the last octet has gone.
const GONE: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct MeshPeer {
    /// This rank called: its blocks go out here, and tokens come back.
    pub(super) out: TcpStream,
    /// The other rank called: its blocks come in here, and tokens go back.
    pub(super) back: TcpStream,
    /// Octets of tokens that found the connection full.
    pub(super) unsent: Vec<u8>,
    /// Octets of a token whose rest has not come.
    pub(super) partial: Vec<u8>,
    /// It gives no more tokens: it has ended, which a rank may as soon as its own part of the last
    /// call is over.
    pub(super) ended: bool,
    pub(super) links: PeerLinks,
    /// The last settings of the kernel: octets that may wait to be sent, and octets that come before
    /// it wakes this rank.
    room: usize,
    awaited: usize,
}

impl MeshPeer {
    pub(super) fn new(out: TcpStream, back: TcpStream) -> io::Result<MeshPeer> {
        socket::sends_blocks(&out)?;
        socket::sends_tokens(&back)?;
        Ok(MeshPeer {
            out,
            back,
            unsent: Vec::new(),
            partial: Vec::new(),
            ended: false,
            links: PeerLinks::default(),
            room: usize::MAX,
            awaited: 1,
        })
    }

    /// Sends blocks as these links allow; `None`: as fast as it goes.
    pub(super) fn pace(&mut self, wanted: Option<StreamPace>) -> io::Result<()> {
        let timers = |pace: Option<StreamPace>| pace.and_then(StreamPace::of_timers);
        if timers(self.links.pace) != timers(wanted) {
            socket::pace(&self.out, timers(wanted).unwrap_or(BitsPerSec(u64::MAX)))?;
        }
        self.links.pace = wanted;
        Ok(())
    }

    /// Marks tokens and acknowledgements for switches.
    pub(super) fn mark(&self, class: u8) {
        // A kernel that refuses is slower, and no less right.
        let _ = socket::mark(&self.back, class);
    }

    /// Lets the kernel acknowledge every second segment of what comes next, also after a pause. By
    /// itself it then acknowledges each of the first sixteen: acknowledgements of a block fill a
    /// link for a twentieth of the block's time instead of a thirtieth.
    pub(super) fn acknowledge_seldom(&self) -> Result<(), MeshError> {
        Ok(socket::acknowledge_seldom(&self.back)?)
    }

    /// Sends tokens that found no room before.
    pub(super) fn flush(&mut self, rank: u32) -> Result<(), MeshError> {
        while !self.unsent.is_empty() {
            match self.back.write(&self.unsent) {
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(MeshError::Lost { rank, cause }),
            }
        }
        Ok(())
    }

    /// Sends what fits now of both pieces, one behind the other, after so many octets of them;
    /// gives how much.
    pub(super) fn send(
        &mut self,
        rank: u32,
        pieces: [&[u8]; 2],
        after: usize,
    ) -> Result<usize, MeshError> {
        let [first, second] = pieces;
        let whole = first.len() + second.len() - after;
        let mut sent = 0;
        if whole > 0 {
            self.room(AHEAD)?;
        }
        while sent < whole {
            let at = after + sent;
            let first_rest = &first[at.min(first.len())..];
            let second_rest = &second[at.saturating_sub(first.len())..];
            let slices = [IoSlice::new(first_rest), IoSlice::new(second_rest)];
            match self.out.write_vectored(&slices) {
                Ok(n) => sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(MeshError::Lost { rank, cause }),
            }
        }
        Ok(sent)
    }

    /// True if all but a few of the octets that were written have gone on the wire.
    pub(super) fn is_mostly_sent(&mut self) -> io::Result<bool> {
        // Room is told of when half of it is free.
        let gone = self.links.pace.map_or(GONE, |pace| pace.few(GONE));
        self.room(2 * gone)?;
        Ok(socket::unsent(&self.out)? <= gone)
    }

    /// Acknowledges what this rank has taken now, not a while later: the peer waits for it.
    pub(super) fn acknowledge_now(&self) {
        // A kernel that refuses is slower, and no less right.
        let _ = socket::acknowledge_now(&self.back);
    }

    /// Lets the peer have few octets under way, or as many as it likes again.
    pub(super) fn take_at_most(&self, octets: Option<usize>) {
        // A kernel that refuses is slower, and no less right.
        let _ = socket::take_at_most(&self.back, octets);
    }

    /// Octets that were written and have not come, as far as is known.
    pub(super) fn under_way(&self) -> io::Result<usize> {
        socket::under_way(&self.out)
    }

    fn room(&mut self, octets: usize) -> io::Result<()> {
        if self.room != octets {
            socket::unsent_at_most(&self.out, octets)?;
            self.room = octets;
        }
        Ok(())
    }

    /// Receives what has come, at most what fits; gives how much.
    pub(super) fn receive(&mut self, rank: u32, octets: &mut [u8]) -> Result<usize, MeshError> {
        let mut received = 0;
        while received < octets.len() {
            match self.back.read(&mut octets[received..]) {
                Ok(0) => return Err(MeshError::ended(rank)),
                Ok(n) => received += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(MeshError::Lost { rank, cause }),
            }
        }
        Ok(received)
    }

    /// Receives so many octets at most that have no place; gives how many came.
    pub(super) fn discard(&mut self, rank: u32, octets: usize) -> Result<usize, MeshError> {
        let (mut discarded, mut nowhere) = (0, [0; 4096]);
        while discarded < octets {
            let room = (octets - discarded).min(nowhere.len());
            let came = self.receive(rank, &mut nowhere[..room])?;
            discarded += came;
            if came < room {
                break;
            }
        }
        Ok(discarded)
    }

    /// Wakes this rank when so many octets have come, or a chunk of them; what has come already
    /// counts.
    pub(super) fn wake_at(&mut self, octets: usize) -> io::Result<()> {
        let chunk = if self.links.pace.is_some_and(StreamPace::is_fast) {
            CHUNK_OF_FAST
        } else {
            CHUNK
        };
        let octets = octets.clamp(1, chunk);
        if self.awaited != octets {
            socket::wake_at(&self.back, octets)?;
            self.awaited = octets;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::net::TcpListener;
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    /// A peer, and the other end of what it sends and of what it receives.
    fn peer() -> (MeshPeer, TcpStream, TcpStream) {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let call = || {
            (
                TcpStream::connect(door.local_addr().unwrap()).unwrap(),
                door.accept().unwrap().0,
            )
        };
        let ((out, receives), (sends, back)) = (call(), call());
        (MeshPeer::new(out, back).unwrap(), receives, sends)
    }

    fn is_ready(stream: &TcpStream, what: PollFlags, within: u16) -> bool {
        poll(
            &mut [PollFd::new(stream.as_fd(), what)],
            PollTimeout::from(within),
        )
        .unwrap()
            == 1
    }

    #[test]
    fn a_rank_is_woken_for_a_chunk_and_not_for_its_parts() {
        let (mut peer, _, mut sends) = peer();
        peer.wake_at(10_000).unwrap();
        sends.write_all(&[1; 9_999]).unwrap();
        assert!(!is_ready(&peer.back, PollFlags::POLLIN, 50));
        sends.write_all(&[1]).unwrap();
        assert!(is_ready(&peer.back, PollFlags::POLLIN, 20_000));
        peer.wake_at(20_000).unwrap();
        assert!(!is_ready(&peer.back, PollFlags::POLLIN, 50));
        drop(sends);
        assert!(
            is_ready(&peer.back, PollFlags::POLLIN, 20_000),
            "the end of a connection is told of at once"
        );
    }

    #[test]
    fn only_tokens_and_acknowledgements_are_marked() {
        use nix::sys::socket::{
            getsockopt,
            sockopt::{Ipv4Tos, Priority},
        };
        let (peer, _receives, _sends) = peer();
        peer.mark(46);
        assert_eq!(getsockopt(&peer.back, Ipv4Tos).unwrap(), 46 << 2);
        assert_eq!(getsockopt(&peer.back, Priority).unwrap(), 6);
        assert_eq!(getsockopt(&peer.out, Ipv4Tos).unwrap(), 0);
    }

    #[test]
    fn a_block_has_gone_when_the_other_end_has_room_for_it() {
        let (mut peer, mut receives, _sends) = peer();
        let mut sent = 0;
        // Until neither end's buffers hold more: that no more fits is believed after a moment, as
        // the kernel moves octets on meanwhile.
        while is_ready(&peer.out, PollFlags::POLLOUT, 200) {
            sent += peer.send(0, [&[], &[7; 65_536]], 0).unwrap();
        }
        assert!(!peer.is_mostly_sent().unwrap());
        let mut read = 0;
        let deadline = Instant::now() + Duration::from_secs(20);
        while read < sent && Instant::now() < deadline {
            read += receives.read(&mut vec![0; 65_536]).unwrap();
        }
        assert_eq!(read, sent);
        assert!(is_ready(&peer.out, PollFlags::POLLOUT, 20_000));
        assert!(peer.is_mostly_sent().unwrap());
    }
}
