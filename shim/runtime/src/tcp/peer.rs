//! Another rank, by both connections with it. The kernel wakes this rank only for what lets it go
//! on: for a chunk that has come whole, not for each of its frames, and for a block that has gone,
//! not for each bit of room.
use super::link::{LinkEnded, MeshLink, NoMemory, SentOctets};
use super::{MeshError, socket};
use inventory::BitsPerSec;
use std::io;
use std::net::TcpStream;
use wire::links::PeerLinks;
use wire::sent_log::LostOctets;
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
    pub(super) out: MeshLink,
    /// The other rank called: its blocks come in here, and tokens go back.
    pub(super) back: MeshLink,
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
    /// The class of tokens and acknowledgements.
    class: u8,
}

impl MeshPeer {
    pub(super) fn new(out: TcpStream, back: TcpStream) -> io::Result<MeshPeer> {
        socket::sends_blocks(&out)?;
        socket::sends_tokens(&back)?;
        Ok(MeshPeer {
            out: MeshLink::new(out),
            back: MeshLink::new(back),
            partial: Vec::new(),
            ended: false,
            links: PeerLinks::default(),
            room: usize::MAX,
            awaited: 1,
            class: 0,
        })
    }

    /// The connection that this rank makes was made anew; the other one waits for the octet of this
    /// number.
    pub(super) fn out_goes_on(&mut self, out: TcpStream, number: u64) -> Result<(), LostOctets> {
        // A kernel that refuses an option is slower, and no less right.
        let _ = socket::sends_blocks(&out);
        if let Some(rate) = self.links.pace.and_then(StreamPace::of_timers) {
            let _ = socket::pace(&out, rate);
        }
        // The new socket has the kernel's own limit, until the next block is sent.
        self.room = usize::MAX;
        self.out.goes_on(out, number)
    }

    /// The same for the one that the other rank makes.
    pub(super) fn back_goes_on(&mut self, back: TcpStream, number: u64) -> Result<(), LostOctets> {
        let _ = socket::sends_tokens(&back);
        if self.class > 0 {
            let _ = socket::mark(&back, self.class);
        }
        // As the kernel begins: SO_RCVLOWAT is 1 (socket(7)).
        self.awaited = 1;
        self.back.goes_on(back, number)
    }

    /// Sends blocks as these links allow; `None`: as fast as it goes.
    pub(super) fn pace(&mut self, wanted: Option<StreamPace>) -> io::Result<()> {
        let timers = |pace: Option<StreamPace>| pace.and_then(StreamPace::of_timers);
        if timers(self.links.pace) != timers(wanted) {
            let rate = timers(wanted).unwrap_or(BitsPerSec(u64::MAX));
            self.out
                .stream()
                .map_or(Ok(()), |out| socket::pace(out, rate))?;
        }
        self.links.pace = wanted;
        Ok(())
    }

    /// Marks tokens and acknowledgements for switches.
    pub(super) fn mark(&mut self, class: u8) {
        self.class = class;
        // A kernel that refuses is slower, and no less right.
        let _ = self.back.stream().map(|back| socket::mark(back, class));
    }

    /// Lets the kernel acknowledge every second segment of what comes next, also after a pause. By
    /// itself it then acknowledges each of the first sixteen: acknowledgements of a block fill a
    /// link for a twentieth of the block's time instead of a thirtieth.
    pub(super) fn acknowledge_seldom(&self) -> Result<(), MeshError> {
        let back = self.back.stream();
        Ok(back.map_or(Ok(()), socket::acknowledge_seldom)?)
    }

    /// Sends tokens that found no room before.
    pub(super) fn flush(&mut self, rank: u32) -> Result<(), MeshError> {
        let flushed = self.back.flush(&NoMemory);
        flushed.map_err(|LinkEnded| MeshError::ended(rank))
    }

    /// True if every token has gone, or goes as soon as the connection is made anew.
    pub(super) fn is_flushed(&self) -> bool {
        let waits = self.back.sent.is_behind() || self.back.unsent() > 0;
        self.back.broken().is_some() || !waits
    }

    /// Sends what fits now of both pieces, one behind the other, after so many octets of them;
    /// gives how much.
    pub(super) fn send(
        &mut self,
        rank: u32,
        source: SentOctets,
        pieces: [&[u8]; 2],
        after: usize,
    ) -> Result<usize, MeshError> {
        if pieces[0].len() + pieces[1].len() > after {
            self.room(AHEAD)?;
        }
        let sent = self.out.send(source, pieces, after);
        sent.map_err(|LinkEnded| MeshError::ended(rank))
    }

    /// True if all but a few of the octets that were written have gone on the wire.
    pub(super) fn is_mostly_sent(&mut self) -> io::Result<bool> {
        // Room is reported when half of it is free.
        let gone = self.links.pace.map_or(GONE, |pace| pace.few(GONE));
        self.room(2 * gone)?;
        let is_behind = self.out.sent.is_behind();
        if self.out.is_over_library() {
            return Ok(!is_behind && self.out.unsent() == 0);
        }
        self.out
            .stream()
            .filter(|_| !is_behind)
            .map_or(Ok(false), |out| Ok(socket::unsent(out)? <= gone))
    }

    /// Acknowledges what this rank has taken now, not a while later: the peer waits for it.
    pub(super) fn acknowledge_now(&self) {
        // A kernel that refuses is slower, and no less right.
        let _ = self.back.stream().map(socket::acknowledge_now);
    }

    /// Lets the peer have few octets under way, or as many as it likes again.
    pub(super) fn take_at_most(&self, octets: Option<usize>) {
        // A kernel that refuses is slower, and no less right.
        let back = self.back.stream();
        let _ = back.map(|back| socket::take_at_most(back, octets));
    }

    /// Octets that were written and have not come, as far as is known.
    pub(super) fn under_way(&self) -> io::Result<usize> {
        self.out.stream().map_or_else(
            || Ok(self.out.sent.len() + self.out.unsent()),
            socket::under_way,
        )
    }

    fn room(&mut self, octets: usize) -> io::Result<()> {
        if self.room != octets
            && let Some(out) = self.out.stream()
        {
            socket::unsent_at_most(out, octets)?;
            self.room = octets;
        }
        Ok(())
    }

    /// Receives what has come, at most what fits; gives how much.
    pub(super) fn receive(&mut self, rank: u32, octets: &mut [u8]) -> Result<usize, MeshError> {
        let mut received = 0;
        // To the end of what has come: a change is reported once (EPOLLET, epoll(7)).
        while received < octets.len() {
            match self.back.read(&mut octets[received..]) {
                Ok(0) => break,
                Ok(n) => received += n,
                Err(LinkEnded) => return Err(MeshError::ended(rank)),
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
        if self.awaited != octets
            && let Some(back) = self.back.stream()
        {
            socket::wake_at(back, octets)?;
            self.awaited = octets;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::io::{Read, Write};
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

    const SOURCE: SentOctets = SentOctets::Relayed { is_own: true };

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
        assert!(!is_ready(
            peer.back.stream().unwrap(),
            PollFlags::POLLIN,
            50
        ));
        sends.write_all(&[1]).unwrap();
        assert!(is_ready(
            peer.back.stream().unwrap(),
            PollFlags::POLLIN,
            20_000
        ));
        peer.wake_at(20_000).unwrap();
        assert!(!is_ready(
            peer.back.stream().unwrap(),
            PollFlags::POLLIN,
            50
        ));
        drop(sends);
        assert!(
            is_ready(peer.back.stream().unwrap(), PollFlags::POLLIN, 20_000),
            "the end of a connection is reported at once"
        );
    }

    #[test]
    fn only_tokens_and_acknowledgements_are_marked() {
        use nix::sys::socket::{
            getsockopt,
            sockopt::{Ipv4Tos, Priority},
        };
        let (mut peer, _receives, _sends) = peer();
        peer.mark(46);
        assert_eq!(
            getsockopt(peer.back.stream().unwrap(), Ipv4Tos).unwrap(),
            46 << 2
        );
        assert_eq!(
            getsockopt(peer.back.stream().unwrap(), Priority).unwrap(),
            6
        );
        assert_eq!(getsockopt(peer.out.stream().unwrap(), Ipv4Tos).unwrap(), 0);
    }

    #[test]
    fn a_block_has_gone_when_the_other_end_has_room_for_it() {
        let (mut peer, mut receives, _sends) = peer();
        let mut sent = 0;
        // Until neither end's buffers hold more: that no more fits is believed after a moment, as
        // the kernel moves octets on meanwhile.
        while is_ready(peer.out.stream().unwrap(), PollFlags::POLLOUT, 200) {
            sent += peer.send(0, SOURCE, [&[], &[7; 65_536]], 0).unwrap();
        }
        assert!(!peer.is_mostly_sent().unwrap());
        let mut read = 0;
        let deadline = Instant::now() + Duration::from_secs(20);
        while read < sent && Instant::now() < deadline {
            read += receives.read(&mut vec![0; 65_536]).unwrap();
        }
        assert_eq!(read, sent);
        assert!(is_ready(
            peer.out.stream().unwrap(),
            PollFlags::POLLOUT,
            20_000
        ));
        assert!(peer.is_mostly_sent().unwrap());
    }
}
