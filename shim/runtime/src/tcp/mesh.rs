//! Connections between all ranks of a communicator: for each ordered pair one, whose caller sends
//! blocks and whose callee acknowledges them and sends tokens against the stream. So what is urgent
//! never queues behind what is long.
use super::arrival_meter::ArrivalMeter;
use super::door::{DOOR, UNKNOWN};
use super::link::{LinkEnded, MeshLink, SentMemory};
use super::mending::MeshMending;
use super::messages::MeshMessages;
use super::peer::MeshPeer;
use super::{MeshError, socket};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags, EpollTimeout};
use schedules::transfers::part::SyncToken;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use wire::links::{PeerLinks, payload_rate};
use wire::stream_pace::StreamPace;

/// The events awaited at both connections of a peer: changes, not states.
pub(super) const FLAGS: EpollFlags = EpollFlags::EPOLLIN
    .union(EpollFlags::EPOLLOUT)
    .union(EpollFlags::EPOLLRDHUP)
    .union(EpollFlags::EPOLLET);
/// A rank for which nothing comes calls its `progress` after so long, for the MPI library must
/// move on meanwhile; each time it waits twice as long until the next, up to the longest, as each call
/// takes the processor from who could send.
pub(super) const NAP: Duration = Duration::from_millis(1);
const LONGEST_NAP: Duration = Duration::from_millis(16);
/// Numbers of calls begin anew: what would be further ahead than this is behind.
const MOST_AHEAD: u32 = u32::MAX / 2;
/// The number of the token by which a rank tells that it has abandoned its turns in a call.
const WITHOUT_TURNS: u32 = u32::MAX;

pub(super) fn wait<'e>(
    epoll: &Epoll,
    events: &'e mut [EpollEvent],
    nap: Duration,
) -> io::Result<&'e [EpollEvent]> {
    let timeout = EpollTimeout::try_from(nap).unwrap_or(EpollTimeout::ZERO);
    match epoll.wait(events, timeout) {
        Ok(n) => Ok(&events[..n]),
        // A signal of the application's, for which its handler has run.
        Err(nix::Error::EINTR) => Ok(&events[..0]),
        Err(e) => Err(e.into()),
    }
}

/// Octets a second at which the fastest way passes payload on; 0 where no rate is known.
pub(super) fn fastest(peers: &[Option<MeshPeer>]) -> f64 {
    let paces = peers
        .iter()
        .flatten()
        .filter_map(|peer| peer.links.slowest());
    let rates = paces.map(payload_rate);
    rates.fold(0.0, f64::max)
}

/// Every connection of a rank.
#[derive(Debug)]
pub struct TcpMesh {
    pub(super) peers: Vec<Option<MeshPeer>>,
    pub(super) epoll: Epoll,
    pub(super) mending: MeshMending,
    /// Ranks that may lack octets that were sent before a connection was made anew.
    pub(super) behind: Vec<u32>,
    /// When the call under way began.
    pub(super) began: Instant,
    /// Connections whose octets the MPI library carries, and ranks from which it has brought tokens.
    pub(super) over_library: usize,
    pub(super) tokens_wait: Vec<u32>,
    pub(super) messages: Option<Box<dyn MeshMessages>>,
    watched_by: Option<&'static Epoll>,
    /// Calls made over these connections: the same number on every rank within a call.
    calls: u32,
    /// This rank waits so long before it calls `progress`.
    nap: Duration,
    /// Tokens of calls that this rank has not begun: their givers were faster.
    early: Vec<MeshToken>,
    /// The last call in which this rank waited for no more tokens.
    without_turns: Option<u32>,
    /// Links may take so many times as long as their published rates say.
    patience: f64,
    /// A call failed.
    is_closed: bool,
    /// Each connection that this rank made comes from the port that it was to come from.
    pub(super) takes_ways: bool,
    /// How fast blocks come.
    pub(super) meter: ArrivalMeter,
}

/// A token as it travels: four octets that number the call, four that number the token among those
/// of its pair; in the byte order that the greeting has shown to be common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeshToken {
    pub(super) call: u32,
    pub(super) peer: u32,
    pub(super) id: u32,
}

impl MeshToken {
    /// True if its giver has abandoned its turns: links are crowded, and nobody should wait for any.
    pub(super) fn ends_turns(self) -> bool {
        self.id == WITHOUT_TURNS
    }

    /// The token as the part of its call names it.
    pub(super) fn of_part(self) -> SyncToken {
        SyncToken {
            peer: self.peer,
            id: self.id,
        }
    }
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
    /// Connections that stand, by rank, and what tells of them.
    pub(super) fn new(peers: Vec<Option<MeshPeer>>, epoll: Epoll, mending: MeshMending) -> TcpMesh {
        TcpMesh {
            peers,
            epoll,
            mending,
            behind: Vec::new(),
            began: Instant::now(),
            over_library: 0,
            tokens_wait: Vec::new(),
            messages: None,
            watched_by: None,
            calls: 0,
            nap: NAP,
            early: Vec::new(),
            without_turns: None,
            patience: 1.0,
            is_closed: false,
            takes_ways: true,
            meter: ArrivalMeter::new(0),
        }
    }

    /// Closes every connection, so that each rank that waits for this one hears of the failure,
    /// too.
    pub fn close(&mut self) {
        self.end_connections();
        self.peers.iter_mut().for_each(|peer| *peer = None);
        self.mending.door = None;
        self.is_closed = true;
    }

    fn end_connections(&self) {
        for peer in self.peers.iter().flatten() {
            peer.out
                .stream()
                .into_iter()
                .for_each(socket::free_known_port);
            peer.out.end();
            peer.back.end();
        }
    }

    /// The call is over, and its memory is the application's again.
    pub(super) fn end_call(&mut self, memory: &dyn SentMemory) {
        self.end_asking();
        for peer in self.peers.iter_mut().flatten() {
            peer.out.keep(memory);
        }
    }

    /// Sends what was sent before connections were made anew, as far as there is room.
    pub(super) fn send_again(&mut self, memory: &dyn SentMemory) -> Result<(), MeshError> {
        let mut behind = std::mem::take(&mut self.behind);
        for &rank in &behind {
            let sent = self.peer(rank)?.out.flush(memory);
            sent.map_err(|LinkEnded| MeshError::ended(rank))?;
        }
        behind.retain(|&rank| self.peer(rank).is_ok_and(|peer| peer.out.sent.is_behind()));
        self.behind = behind;
        Ok(())
    }

    /// Lets epoll tell of what happens at a connection that was made anew.
    pub(super) fn register(&self, rank: u32, is_back: bool) -> io::Result<()> {
        let peer = self.peers.get(rank as usize).and_then(Option::as_ref);
        let link = peer.map(|peer| if is_back { &peer.back } else { &peer.out });
        let event = EpollEvent::new(FLAGS, u64::from(rank) << 1 | u64::from(is_back));
        let Some(stream) = link.and_then(MeshLink::stream) else {
            return Ok(());
        };
        self.watch(stream);
        Ok(self.epoll.add(stream, event)?)
    }

    /// Breaks and callers are reported here, too.
    pub(super) fn watch_by(&mut self, epoll: &'static Epoll) {
        self.watched_by = Some(epoll);
        if let Some(door) = &self.mending.door {
            door.watch_by(epoll);
        }
        for peer in self.peers.iter().flatten() {
            let streams = [peer.out.stream(), peer.back.stream()];
            streams
                .into_iter()
                .flatten()
                .for_each(|stream| self.watch(stream));
        }
    }

    fn watch(&self, stream: &TcpStream) {
        let flags = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        // Errors are always reported. Where the kernel refuses, calls mend it.
        let _ = self
            .watched_by
            .map(|epoll| epoll.add(stream, EpollEvent::new(flags, 0)));
    }

    /// Descriptors that the connections of a rank among so many take, those while they are made
    /// included.
    pub fn descriptors(ranks: u32) -> u64 {
        2 * u64::from(ranks.saturating_sub(1)) + UNKNOWN as u64 + 4
    }

    /// True if this rank's connections come from the ports that were asked for.
    pub fn takes_ways(&self) -> bool {
        self.takes_ways
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Sends blocks to each rank as the links on the way allow; `None`: as fast as it goes.
    pub fn pace(&mut self, rate: impl Fn(u32) -> Option<StreamPace>) -> io::Result<()> {
        // Arrivals count as shares of these rates, and those so far came at others.
        self.meter = ArrivalMeter::new(self.peers.len());
        for (rank, peer) in (0..).zip(&mut self.peers) {
            let Some(peer) = peer else { continue };
            peer.pace(rate(rank))?;
        }
        Ok(())
    }

    /// Blocks that lost connections cannot carry go by these.
    pub fn carry_by(&mut self, messages: Option<Box<dyn MeshMessages>>) {
        self.messages = messages;
    }

    /// Calls have shown that links may take so many times as long as their published rates say.
    pub fn be_patient(&mut self, times: f64) {
        self.patience = times;
    }

    /// See [`TcpMesh::be_patient`].
    pub(super) fn patience(&self) -> f64 {
        self.patience
    }

    /// By rank: the links to it.
    pub(super) fn links(&self) -> Vec<PeerLinks> {
        let all = self
            .peers
            .iter()
            .map(|peer| peer.as_ref().map(|peer| peer.links));
        all.map(Option::unwrap_or_default).collect()
    }

    /// This rank waits for no more tokens in this call: they may come in later ones. Blocks that come
    /// beside each other say nothing about their links.
    pub(super) fn abandon_turns(&mut self) {
        self.without_turns = Some(self.calls);
        self.meter.pause();
    }

    /// Marks tokens and acknowledgements with this class for switches that look at it; 0: with none.
    pub fn mark(&mut self, class: u8) {
        let peers = self.peers.iter_mut().flatten();
        peers
            .filter(|_| class > 0)
            .for_each(|peer| peer.mark(class));
    }

    /// How fast blocks came from each rank since this was asked last, as shares of the rate of the
    /// slowest link on their way.
    pub fn take_arrivals(&mut self) -> Vec<Option<f64>> {
        let rates = self.meter.take();
        self.peers
            .iter()
            .zip(rates)
            .map(|(peer, rate)| Some(rate? / payload_rate(peer.as_ref()?.links.slowest()?)))
            .collect()
    }

    /// The calls since then whose blocks were metered.
    pub fn metered_calls(&self) -> u32 {
        self.meter.calls()
    }

    /// Tells how long a frame takes on all links to each rank together: tokens for it are given so
    /// much the earlier.
    pub fn know_frame_times(&mut self, time: impl Fn(u32) -> Duration) {
        for (rank, peer) in (0..).zip(&mut self.peers) {
            if let Some(peer) = peer {
                peer.links.frame_time = time(rank);
            }
        }
    }

    /// Begins a call and gives the tokens that came too early, if they are of it.
    pub(super) fn begin(&mut self) -> Vec<MeshToken> {
        self.calls = self.calls.wrapping_add(1);
        self.nap = NAP;
        self.began = Instant::now();
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
        peer.back.push(&call.to_ne_bytes());
        peer.back.push(&id.to_ne_bytes());
        peer.flush(rank)
    }

    #[cfg(test)]
    pub(super) fn has_abandoned_turns(&self) -> bool {
        self.without_turns.is_some()
    }

    /// Tells all ranks that this one has abandoned its turns in this call. Who has ended need not hear it.
    pub(super) fn tell_of_crowds(&mut self) {
        for rank in 0..self.peers.len() as u32 {
            let _ = self.give(rank, WITHOUT_TURNS);
        }
    }

    /// True if every token has gone.
    pub(super) fn is_flushed(&self) -> bool {
        self.peers.iter().flatten().all(MeshPeer::is_flushed)
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
        if let Some(stream) = peers
            .get(rank as usize)
            .and_then(|p| p.as_ref()?.out.stream())
        {
            epoll.modify(stream, &mut event).map_err(io::Error::from)?;
        }
        Ok(false)
    }

    /// The number of segments that this rank's kernel sent again to a rank, ever.
    pub(super) fn sent_again(&self, rank: u32) -> Option<u32> {
        let peer = self.peers.get(rank as usize)?.as_ref()?;
        socket::sent_again(peer.out.stream()?).ok()
    }

    /// Waits until something can go on, and takes tokens. When nothing happens for a while, it
    /// calls `progress` and gives false; where `progress` says no, waiting ends.
    pub(super) fn wait(
        &mut self,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<bool, MeshError> {
        // Epoll reports neither what the MPI library brings nor that it is time to call again.
        let is_troubled = self.over_library > 0 || self.mending.is_troubled;
        let nap = if is_troubled { NAP } else { self.nap };
        let mut happened = self.happens(nap, ready, tokens)?;
        if is_troubled || !happened {
            happened |= self.serve_messages(ready, tokens)?;
        } else {
            return Ok(true);
        }
        if !happened {
            self.nap = (self.nap * 2).min(LONGEST_NAP);
        }
        if progress() {
            return Ok(happened);
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
        self.happens(NAP, ready, tokens)?;
        self.serve_messages(ready, tokens).map(drop)
    }

    /// Moves what goes by messages; true if something has come or gone.
    fn serve_messages(
        &mut self,
        ready: &mut Vec<ReadyPeer>,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<bool, MeshError> {
        let moved = self.use_messages(ready)?;
        for rank in std::mem::take(&mut self.tokens_wait) {
            self.take_tokens(rank, tokens)?;
        }
        Ok(moved)
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
            if event.data() == DOOR {
                self.mending.knocked = true;
                continue;
            }
            let rank = (event.data() >> 1) as u32;
            let flags = event.events();
            let is_back = event.data() & 1 == 1;
            let over = flags.intersects(
                EpollFlags::EPOLLIN
                    | EpollFlags::EPOLLRDHUP
                    | EpollFlags::EPOLLHUP
                    | EpollFlags::EPOLLERR,
            );
            // What comes on the way out are tokens, or the end; what goes on the way back are tokens.
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
        self.mend(happened.is_empty(), ready, tokens)?;
        Ok(!happened.is_empty() || !ready.is_empty() || !tokens.is_empty())
    }

    pub(super) fn take_tokens(
        &mut self,
        rank: u32,
        tokens: &mut Vec<MeshToken>,
    ) -> Result<(), MeshError> {
        let (calls, without_turns) = (self.calls, self.without_turns);
        let is_unawaited =
            |call| without_turns.is_some_and(|last| last.wrapping_sub(call) <= MOST_AHEAD);
        let peer = self.peer(rank)?;
        let mut early = Vec::new();
        let mut octets = [0; 512];
        loop {
            // Until nothing is left: a change is reported once (EPOLLET, epoll(7)).
            match peer.out.read(&mut octets) {
                Err(LinkEnded) => {
                    peer.ended = true;
                    break;
                }
                Ok(0) => break,
                Ok(n) => peer.partial.extend(&octets[..n]),
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
                // The call is over here: its giver found the links crowded late, or this rank waited for none any more.
                _ if token.ends_turns() || is_unawaited(token.call) => {}
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

impl Drop for TcpMesh {
    fn drop(&mut self) {
        self.end_connections();
    }
}
