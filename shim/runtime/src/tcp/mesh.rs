//! Connections between all ranks of a communicator: for each ordered pair one, whose caller sends
//! blocks and whose callee acknowledges them and sends tokens against the stream. So what is urgent
//! never queues behind what is long.
use super::MeshError;
use super::greeting::{self, LENGTH, MeshSecret};
use super::peer::MeshPeer;
use super::stream_pace::StreamPace;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{Backlog, listen};
use schedules::transfers::part::SyncToken;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// The events awaited at both connections of a peer: changes, not states.
const FLAGS: EpollFlags = EpollFlags::EPOLLIN
    .union(EpollFlags::EPOLLOUT)
    .union(EpollFlags::EPOLLRDHUP)
    .union(EpollFlags::EPOLLET);
/// Callers that have not greeted yet, beside as many as there are ranks; more are turned away, so
/// that strangers cannot fill the house.
const UNKNOWN: usize = 64;
/// How long a machine may take to answer a call: its kernel does, however busy its processes are,
/// and a call that got lost is repeated after one and three seconds.
const ANSWER: Duration = Duration::from_secs(4);
/// What epoll knows the listening socket and callers by; calls of this rank's own go by the rank
/// that is called.
const DOOR: u64 = u64::MAX;
/// A rank for which nothing comes calls its `progress` after so long, for the MPI library must move
/// on meanwhile; each time it waits twice as long until the next, up to the longest, as each call
/// takes the processor from who could send.
const NAP: Duration = Duration::from_millis(1);
const LONGEST_NAP: Duration = Duration::from_millis(16);
/// Numbers of calls begin anew: what would be further ahead than this is behind.
const MOST_AHEAD: u32 = u32::MAX / 2;

/// A listening socket, before anybody knows of it.
#[derive(Debug)]
pub struct MeshListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl MeshListener {
    /// Listens on a free port of this machine's address.
    ///
    /// # Errors
    /// The system's: no such address here, no more sockets.
    pub fn open(address: IpAddr) -> io::Result<MeshListener> {
        let listener = TcpListener::bind((address, 0))?;
        // All other ranks may call before this one comes to answer.
        listen(&listener, Backlog::MAXALLOWABLE)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(MeshListener { listener, address })
    }

    /// The address at which peers call this rank.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Calls every other rank and is called by every other one. `doors[rank]` is where that rank
    /// listens; this is `me`'s door. All ranks do this at the same time; `progress` is called while
    /// it waits.
    ///
    /// # Errors
    /// Why not all connections stand: a rank has not called within `patience`, its machine refuses
    /// calls or does not answer, or it has given up itself: whoever does closes its connections.
    /// The others' may stand: whether all have theirs is for the ranks to agree on.
    pub fn connect(
        self,
        me: u32,
        doors: &[SocketAddr],
        secret: &MeshSecret,
        patience: Duration,
        mut progress: impl FnMut() -> bool,
    ) -> io::Result<TcpMesh> {
        let began = Instant::now();
        let mut making = MeshSetup::call(self.listener, me, doors, secret)?;
        loop {
            // Events are handled before the clock is read: this process may have stood still.
            making.step()?;
            if making.is_complete() {
                return making.finish();
            }
            let waited = began.elapsed();
            if let Some(problem) = making
                .unanswered()
                .filter(|_| waited > ANSWER.min(patience))
            {
                return Err(io::Error::new(ErrorKind::TimedOut, problem));
            }
            if waited > patience || !progress() {
                return Err(io::Error::new(ErrorKind::TimedOut, making.missing()));
            }
        }
    }
}

/// A connection in the making by this rank.
struct OutgoingConnection {
    stream: TcpStream,
    /// Octets of the greeting that have gone.
    said: usize,
}

/// Somebody who calls and has not said who it is.
struct IncomingConnection {
    stream: TcpStream,
    heard: [u8; LENGTH],
    length: usize,
}

struct MeshSetup {
    listener: TcpListener,
    me: u32,
    secret: MeshSecret,
    greeting: [u8; LENGTH],
    calling: Vec<Option<OutgoingConnection>>,
    callers: Vec<IncomingConnection>,
    called: Vec<Option<TcpStream>>,
    epoll: Epoll,
}

impl MeshSetup {
    fn call(
        listener: TcpListener,
        me: u32,
        doors: &[SocketAddr],
        secret: &MeshSecret,
    ) -> io::Result<MeshSetup> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, DOOR))?;
        let mut calling = Vec::with_capacity(doors.len());
        for (rank, door) in (0..).zip(doors) {
            let stream = if rank == me { None } else { Some(dial(door)?) };
            if let Some(stream) = &stream {
                let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
                epoll.add(stream, EpollEvent::new(flags, u64::from(rank)))?;
            }
            calling.push(stream.map(|stream| OutgoingConnection { stream, said: 0 }));
        }
        let called = doors.iter().map(|_| None).collect();
        Ok(MeshSetup {
            listener,
            me,
            secret: *secret,
            greeting: greeting::write(me, secret),
            calling,
            callers: Vec::new(),
            called,
            epoll,
        })
    }

    fn is_complete(&self) -> bool {
        let said = self.calling.iter().flatten().all(|c| c.said == LENGTH);
        said && (0..)
            .zip(&self.called)
            .all(|(rank, c)| rank == self.me || c.is_some())
    }

    /// The first rank whose machine has not answered, if there is one.
    fn unanswered(&self) -> Option<String> {
        let rank = self
            .calling
            .iter()
            .position(|c| c.as_ref().is_some_and(|c| c.said == 0))?;
        Some(format!("the machine of rank {rank} does not answer"))
    }

    fn missing(&self) -> String {
        let called = self.called.iter().filter(|c| c.is_some()).count();
        format!(
            "{called} of {} ranks called in time",
            self.called.len().saturating_sub(1)
        )
    }

    /// Waits a moment, then goes on with everything that can go on.
    fn step(&mut self) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); 64];
        let events = wait(&self.epoll, &mut events, NAP)?;
        for calling in self
            .calling
            .iter_mut()
            .flatten()
            .filter(|c| c.said < LENGTH)
        {
            match calling.stream.write(&self.greeting[calling.said..]) {
                Ok(n) => calling.said += n,
                Err(e) if is_not_yet(&e) => {}
                Err(e) => return Err(e),
            }
        }
        loop {
            match self.listener.accept() {
                Ok((stream, _)) if self.callers.len() < self.called.len() + UNKNOWN => {
                    stream.set_nonblocking(true)?;
                    self.epoll
                        .add(&stream, EpollEvent::new(EpollFlags::EPOLLIN, DOOR))?;
                    self.callers.push(IncomingConnection {
                        stream,
                        heard: [0; LENGTH],
                        length: 0,
                    });
                }
                Ok(_) => {} // Hung up on: a rank would have been heard by now.
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) => {}
                Err(e) => return Err(e),
            }
        }
        self.listen();
        // A peer that hangs up before it has called will not call. A call that was refused has
        // said so above, when it was to be greeted.
        let ended = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        let mut hung_up = events
            .iter()
            .filter(|event| event.events().intersects(ended))
            .map(EpollEvent::data);
        match hung_up.find(|rank| self.called.get(*rank as usize).is_some_and(Option::is_none)) {
            Some(rank) => Err(io::Error::other(format!(
                "rank {rank} has given its connections up; it says why"
            ))),
            None => Ok(()),
        }
    }

    /// Hears callers out; strangers are hung up on.
    fn listen(&mut self) {
        let mut at = 0;
        while let Some(caller) = self.callers.get_mut(at) {
            match caller.stream.read(&mut caller.heard[caller.length..]) {
                Ok(n @ 1..) => caller.length += n,
                Err(e) if is_not_yet(&e) => {
                    at += 1;
                    continue;
                }
                Ok(0) | Err(_) => {
                    self.callers.swap_remove(at);
                    continue;
                }
            }
            if caller.length == LENGTH {
                let caller = self.callers.swap_remove(at);
                let _ = self.epoll.delete(&caller.stream); // Its events are Mesh's from now on.
                let rank =
                    greeting::read(&caller.heard, &self.secret).filter(|rank| *rank != self.me);
                if let Some(free @ None) = rank.and_then(|rank| self.called.get_mut(rank as usize))
                {
                    *free = Some(caller.stream);
                }
            }
        }
    }

    fn finish(self) -> io::Result<TcpMesh> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut peers = Vec::with_capacity(self.called.len());
        for (rank, ends) in (0u64..).zip(self.calling.into_iter().zip(self.called)) {
            let (Some(OutgoingConnection { stream: out, .. }), Some(back)) = ends else {
                peers.push(None); // Itself.
                continue;
            };
            epoll.add(&out, EpollEvent::new(FLAGS, rank << 1))?;
            epoll.add(&back, EpollEvent::new(FLAGS, rank << 1 | 1))?;
            peers.push(Some(MeshPeer::new(out, back)?));
        }
        Ok(TcpMesh {
            peers,
            epoll,
            calls: 0,
            nap: NAP,
            early: Vec::new(),
            is_closed: false,
        })
    }
}

/// Begins a connection without waiting for it.
fn dial(door: &SocketAddr) -> io::Result<TcpStream> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, socket};
    let family = if door.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let fd = socket(
        family,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(*door)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(TcpStream::from(fd)),
        Err(e) => Err(e.into()),
    }
}

fn is_not_yet(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected
    )
}

fn wait<'e>(
    epoll: &Epoll,
    events: &'e mut [EpollEvent],
    nap: Duration,
) -> io::Result<&'e [EpollEvent]> {
    let timeout = EpollTimeout::try_from(nap).unwrap_or(EpollTimeout::ZERO);
    match epoll.wait(events, timeout) {
        Ok(n) => Ok(&events[..n]),
        Err(nix::Error::EINTR) => Ok(&events[..0]),
        Err(e) => Err(e.into()),
    }
}

/// Every connection of a rank.
#[derive(Debug)]
pub struct TcpMesh {
    peers: Vec<Option<MeshPeer>>,
    epoll: Epoll,
    /// Calls made over these connections: the same number on every rank within a call.
    calls: u32,
    /// This rank waits so long before it calls `progress`.
    nap: Duration,
    /// Tokens of calls that this rank has not begun: their givers were faster.
    early: Vec<MeshToken>,
    /// A call failed.
    is_closed: bool,
}

/// A token as it travels: four octets that number the call, four that number the token among those
/// of its pair; in the byte order that the greeting has shown to be common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeshToken {
    pub(super) call: u32,
    pub(super) peer: u32,
    pub(super) id: u32,
}

/// A peer whose transfer can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadyPeer {
    /// Blocks may come from this rank.
    Readable(u32),
    /// There may be room for blocks to this rank.
    Writable(u32),
}

impl TcpMesh {
    /// Closes every connection, so that each rank that waits for this one hears of the failure,
    /// too.
    pub fn close(&mut self) {
        self.peers.iter_mut().for_each(|peer| *peer = None);
        self.is_closed = true;
    }

    /// Descriptors that the connections of a rank among so many take, those while they are made
    /// included.
    pub fn descriptors(ranks: u32) -> u64 {
        2 * u64::from(ranks.saturating_sub(1)) + UNKNOWN as u64 + 3
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Sends blocks to each rank as the links on the way allow; `None`: as fast as it goes.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn pace(&mut self, rate: impl Fn(u32) -> Option<StreamPace>) -> io::Result<()> {
        for (rank, peer) in (0..).zip(&mut self.peers) {
            let Some(peer) = peer else { continue };
            peer.pace(rate(rank))?;
        }
        Ok(())
    }

    /// `least` octets, or what passes on the slowest way while a rank is woken, if that is more.
    pub(super) fn few(&self, least: usize) -> usize {
        let paces = self.peers.iter().flatten().filter_map(|peer| peer.pace);
        paces.map(|pace| pace.few(least)).min().unwrap_or(least)
    }

    /// Tells how long a frame takes on all links to each rank together: tokens for it are given so
    /// much the earlier.
    pub fn know_frame_times(&mut self, time: impl Fn(u32) -> Duration) {
        for (rank, peer) in (0..).zip(&mut self.peers) {
            if let Some(peer) = peer {
                peer.frame_time = time(rank);
            }
        }
    }

    /// The number of octets of a piece from a rank, `whole` octets long, after which each of these
    /// tokens is given.
    pub(super) fn due(
        &mut self,
        rank: u32,
        tokens: &[SyncToken],
        whole: usize,
    ) -> Result<Vec<(SyncToken, usize)>, MeshError> {
        let pace = self.peer(rank)?.pace_now();
        let due = |&token: &SyncToken| {
            let lead = self.peer(token.peer)?.lead(pace);
            Ok((token, whole - lead.min(whole / 4)))
        };
        tokens.iter().map(due).collect()
    }

    /// Begins a call and gives the tokens that came too early, if they are of it.
    pub(super) fn begin(&mut self) -> Vec<MeshToken> {
        self.calls = self.calls.wrapping_add(1);
        self.nap = NAP;
        let (now, later) = std::mem::take(&mut self.early)
            .into_iter()
            .partition(|t| t.call == self.calls);
        self.early = later;
        now
    }

    /// The number of the call under way.
    pub(super) fn call(&self) -> u32 {
        self.calls
    }

    pub(super) fn peer(&mut self, rank: u32) -> Result<&mut MeshPeer, MeshError> {
        if self.is_closed {
            return Err(MeshError::Closed);
        }
        let unknown = MeshError::Nonsense {
            rank,
            problem: "there is no such rank",
        };
        self.peers
            .get_mut(rank as usize)
            .and_then(Option::as_mut)
            .ok_or(unknown)
    }

    /// Gives a token of this call.
    pub(super) fn give(&mut self, rank: u32, id: u32) -> Result<(), MeshError> {
        let call = self.calls;
        let peer = self.peer(rank)?;
        peer.unsent.extend(call.to_ne_bytes());
        peer.unsent.extend(id.to_ne_bytes());
        peer.flush(rank)
    }

    /// True if every token has gone.
    pub(super) fn is_flushed(&self) -> bool {
        self.peers.iter().flatten().all(|p| p.unsent.is_empty())
    }

    /// True if all but a few of the octets for a rank have gone on the wire; if not, it will be
    /// ready to be written to when they have.
    pub(super) fn is_mostly_sent(&mut self, rank: u32) -> Result<bool, MeshError> {
        if self.peer(rank)?.is_mostly_sent()? {
            return Ok(true);
        }
        // The kernel looks anew, and will tell when there is room.
        let mut event = EpollEvent::new(FLAGS, u64::from(rank) << 1);
        let TcpMesh { epoll, peers, .. } = self;
        if let Some(Some(peer)) = peers.get(rank as usize) {
            epoll
                .modify(&peer.out, &mut event)
                .map_err(io::Error::from)?;
        }
        Ok(false)
    }

    /// The number of segments that this rank's kernel sent again to a rank, ever.
    pub(super) fn sent_again(&self, rank: u32) -> Option<u32> {
        let peer = self.peers.get(rank as usize)?.as_ref()?;
        super::socket::sent_again(&peer.out).ok()
    }

    /// Waits until something can go on, and takes tokens. When nothing happens for a while, it
    /// calls `progress` and gives false; where `progress` says no, waiting ends.
    pub(super) fn wait(
        &mut self,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<bool, MeshError> {
        if self.happens(self.nap, ready, tokens)? {
            return Ok(true);
        }
        self.nap = (self.nap * 2).min(LONGEST_NAP);
        if progress() {
            return Ok(false);
        }
        Err(MeshError::Wait(io::Error::new(
            ErrorKind::Interrupted,
            "the MPI library failed meanwhile",
        )))
    }

    /// As [`TcpMesh::wait`], but for a moment only: something may have happened of which the kernel
    /// tells nobody.
    pub(super) fn look(
        &mut self,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<(), MeshError> {
        self.happens(NAP, ready, tokens).map(drop)
    }

    /// Waits so long for something to happen; true if it did.
    fn happens(
        &mut self,
        nap: Duration,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<bool, MeshError> {
        let mut events = [EpollEvent::empty(); 64];
        let happened = wait(&self.epoll, &mut events, nap)?;
        for event in happened {
            let rank = (event.data() >> 1) as u32;
            let flags = event.events();
            let is_back = event.data() & 1 == 1;
            let over = flags.intersects(
                EpollFlags::EPOLLIN
                    | EpollFlags::EPOLLRDHUP
                    | EpollFlags::EPOLLHUP
                    | EpollFlags::EPOLLERR,
            );
            match (is_back, over, flags.contains(EpollFlags::EPOLLOUT)) {
                (true, readable, writable) => {
                    if readable {
                        ready.push(ReadyPeer::Readable(rank));
                    }
                    if writable {
                        self.peer(rank)?.flush(rank)?;
                    }
                }
                (false, readable, writable) => {
                    if readable {
                        self.take_tokens(rank, tokens)?;
                    }
                    if writable {
                        ready.push(ReadyPeer::Writable(rank));
                    }
                }
            }
        }
        Ok(!happened.is_empty())
    }

    fn take_tokens(&mut self, rank: u32, tokens: &mut Vec<MeshToken>) -> Result<(), MeshError> {
        let calls = self.calls;
        let peer = self.peer(rank)?;
        let mut early = Vec::new();
        let mut octets = [0; 512];
        loop {
            match peer.out.read(&mut octets) {
                Ok(0) => {
                    peer.ended = true;
                    break;
                }
                Ok(n) => peer.partial.extend(&octets[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(MeshError::Lost { rank, cause }),
            }
        }
        let whole = peer.partial.len() / 8 * 8;
        for octets in peer.partial[..whole].chunks_exact(8) {
            let number = |at: usize| {
                u32::from_ne_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
            };
            let token = MeshToken {
                call: number(0),
                peer: rank,
                id: number(4),
            };
            match token.call.wrapping_sub(calls) {
                0 => tokens.push(token),
                // A rank to which nothing comes may be several calls ahead.
                1..=MOST_AHEAD => early.push(token),
                _ => {
                    return Err(MeshError::Nonsense {
                        rank,
                        problem: "a token of another call came",
                    });
                }
            }
        }
        peer.partial.drain(..whole);
        self.early.extend(early);
        Ok(())
    }
}
