//! Making the connections between all ranks of a communicator: each calls every other one, and is
//! called by every other one.
use super::door::{MeshDoor, PeerDoor, REDIAL, is_not_yet};
use super::greeting::{self, LENGTH, MeshGreeting, MeshSecret, MeshWish};
use super::mending::MeshMending;
use super::mesh::{FLAGS, NAP, TcpMesh, wait};
use super::peer::MeshPeer;
use super::socket;
use inventory::stages::flows::DOOR;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{Backlog, listen};
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long a machine may take to answer a call: its kernel does, however busy its processes are.
const ANSWER: Duration = Duration::from_secs(4);
/// Where none of several machines has answered by then, none will: not so many first calls get lost.
const FIRST_ANSWER: Duration = Duration::from_millis(300);
const SEVERAL: usize = 3;
/// A listening socket, before anybody knows of it.
#[derive(Debug)]
pub struct MeshListener {
    listener: TcpListener,
    address: SocketAddr,
    ports: Vec<Option<u16>>,
}

impl MeshListener {
    /// Listens on a free port of this machine's address.
    ///
    /// # Errors
    /// The system's: no such address here, no more sockets.
    pub fn open(address: IpAddr) -> io::Result<MeshListener> {
        MeshListener::over(TcpListener::bind((address, 0))?)
    }

    /// Listens where known flows lead, or on a free port if another job does.
    pub fn open_known(address: IpAddr) -> io::Result<MeshListener> {
        match TcpListener::bind((address, DOOR)) {
            Ok(listener) => MeshListener::over(listener),
            Err(_) => MeshListener::open(address),
        }
    }

    fn over(listener: TcpListener) -> io::Result<MeshListener> {
        // All other ranks may call before this one comes to answer.
        listen(&listener, Backlog::MAXALLOWABLE)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(MeshListener {
            listener,
            address,
            ports: Vec::new(),
        })
    }

    /// Calls ranks from these ports of its own, where they have one.
    #[must_use]
    pub fn calling_from(self, ports: Vec<Option<u16>>) -> MeshListener {
        MeshListener { ports, ..self }
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
        let own = self.address.ip();
        let port = |rank: usize| self.ports.get(rank).copied().flatten();
        let doors = doors
            .iter()
            .enumerate()
            .map(|(rank, &address)| PeerDoor {
                address,
                from: port(rank).map(|port| SocketAddr::new(own, port)),
            })
            .collect();
        let mut making = MeshSetup::call(self.listener, me, doors, secret)?;
        loop {
            // Events are handled before the clock is read: this process may have stood still.
            making.step()?;
            if making.is_complete() {
                return making.finish(patience);
            }
            let waited = began.elapsed();
            let answer = if making.is_alone() {
                FIRST_ANSWER
            } else {
                ANSWER
            };
            if waited > answer.min(patience)
                && let Some(problem) = making.unanswered()
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
    sent: usize,
    /// When the call was made, and how long it may take.
    dialled: Instant,
    answer: Duration,
}

struct MeshSetup {
    door: MeshDoor,
    me: u32,
    doors: Vec<PeerDoor>,
    secret: MeshSecret,
    greeting: [u8; LENGTH],
    calling: Vec<Option<OutgoingConnection>>,
    called: Vec<Option<TcpStream>>,
    epoll: Epoll,
}

impl MeshSetup {
    fn call(
        listener: TcpListener,
        me: u32,
        doors: Vec<PeerDoor>,
        secret: &MeshSecret,
    ) -> io::Result<MeshSetup> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let door = MeshDoor::new(listener, doors.len());
        door.open(&epoll)?;
        let mut calling = Vec::with_capacity(doors.len());
        for (rank, door) in (0..).zip(&doors) {
            let is_own = rank == u64::from(me);
            calling.push(if is_own {
                None
            } else {
                Some(OutgoingConnection::dial(&epoll, rank, door, REDIAL)?)
            });
        }
        let called = doors.iter().map(|_| None).collect();
        Ok(MeshSetup {
            door,
            me,
            doors,
            secret: *secret,
            greeting: greeting::write(
                MeshGreeting {
                    rank: me,
                    wish: MeshWish::Begin,
                },
                secret,
            ),
            calling,
            called,
            epoll,
        })
    }

    fn is_complete(&self) -> bool {
        let done = self.calling.iter().flatten().all(|c| c.sent == LENGTH);
        done && (0..)
            .zip(&self.called)
            .all(|(rank, c)| rank == self.me || c.is_some())
    }

    /// True if none of several machines has answered, and nobody has called.
    fn is_alone(&self) -> bool {
        let others = self.calling.len().saturating_sub(1);
        let silent = self.calling.iter().flatten().filter(|c| c.sent == 0);
        others >= SEVERAL && silent.count() == others && self.called.iter().all(Option::is_none)
    }

    /// The first rank whose machine has not answered, if there is one.
    fn unanswered(&self) -> Option<String> {
        let rank = self
            .calling
            .iter()
            .position(|c| c.as_ref().is_some_and(|c| c.sent == 0))?;
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
        let mut room = [EpollEvent::empty(); 64];
        let events = wait(&self.epoll, &mut room, NAP)?;
        for calling in self
            .calling
            .iter_mut()
            .flatten()
            .filter(|c| c.sent < LENGTH)
        {
            match calling.stream.write(&self.greeting[calling.sent..]) {
                Ok(n) => calling.sent += n,
                Err(e) if is_not_yet(&e) => {}
                Err(e) => return Err(e),
            }
        }
        self.redial()?;
        for (stream, greeting) in self.door.hear(&self.epoll, &self.secret)? {
            let is_first = greeting.wish == MeshWish::Begin && greeting.rank != self.me;
            let called = self.called.get_mut(greeting.rank as usize);
            if let Some(free @ None) = called.filter(|_| is_first) {
                *free = Some(stream);
            }
        }
        // A peer that hangs up before it has called will not call. A call that was refused has
        // stated so above, when it was to be greeted.
        let ended = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        let mut hung_up = events
            .iter()
            .filter(|event| event.events().intersects(ended))
            .map(EpollEvent::data);
        match hung_up.find(|rank| self.called.get(*rank as usize).is_some_and(Option::is_none)) {
            Some(rank) => Err(io::Error::new(
                ErrorKind::ConnectionAborted,
                format!("rank {rank} has given its connections up"),
            )),
            None => Ok(()),
        }
    }

    /// Makes the calls again that got lost, it seems.
    fn redial(&mut self) -> io::Result<()> {
        for ((rank, door), calling) in (0..).zip(&self.doors).zip(&mut self.calling) {
            if let Some(call) = calling
                && call.sent == 0
                && call.dialled.elapsed() >= call.answer
            {
                // Two at once cannot come from one port.
                socket::reset(&call.stream);
                let nobody = socket::unbound(&door.address)?;
                drop(std::mem::replace(&mut call.stream, nobody));
                *call = OutgoingConnection::dial(&self.epoll, rank, door, call.answer * 2)?;
            }
        }
        Ok(())
    }

    fn finish(self, patience: Duration) -> io::Result<TcpMesh> {
        // The epoll of the calls has other flags, and its numbers name a rank without a direction.
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut peers = Vec::with_capacity(self.called.len());
        let mut takes_ways = true;
        for (rank, ends) in (0u64..).zip(self.calling.into_iter().zip(self.called)) {
            let (Some(OutgoingConnection { stream: out, .. }), Some(back)) = ends else {
                peers.push(None); // Itself.
                continue;
            };
            takes_ways &= self.doors[rank as usize].is_reached_by(&out);
            epoll.add(&out, EpollEvent::new(FLAGS, rank << 1))?;
            epoll.add(&back, EpollEvent::new(FLAGS, rank << 1 | 1))?;
            peers.push(Some(MeshPeer::new(out, back)?));
        }
        self.door.open(&epoll)?;
        let mending = MeshMending::new(self.me, self.doors, self.secret, self.door, patience);
        let mut mesh = TcpMesh::new(peers, epoll, mending);
        mesh.takes_ways = takes_ways;
        Ok(mesh)
    }
}

impl OutgoingConnection {
    /// Calls a rank, and has epoll tell of it by its number.
    fn dial(epoll: &Epoll, rank: u64, door: &PeerDoor, answer: Duration) -> io::Result<Self> {
        let stream = door.dial(None)?;
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        epoll.add(&stream, EpollEvent::new(flags, rank))?;
        Ok(OutgoingConnection {
            stream,
            sent: 0,
            dialled: Instant::now(),
            answer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_call_that_gets_no_answer_is_made_again() {
        // The kernel drops calls to a socket whose queue is full, as a network may.
        let full = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listen(&full, Backlog::new(0).unwrap()).unwrap();
        let _waits = TcpStream::connect(full.local_addr().unwrap()).unwrap();
        let door = MeshListener::open(Ipv4Addr::LOCALHOST.into()).unwrap();
        let doors = [door.address(), full.local_addr().unwrap()].map(PeerDoor::at);
        let secret = MeshSecret([9; 32]);
        let mut making = MeshSetup::call(door.listener, 0, doors.into(), &secret).unwrap();
        let port = |making: &MeshSetup| {
            let call = making.calling[1].as_ref().unwrap();
            (call.stream.local_addr().unwrap().port(), call.answer)
        };
        let first = port(&making);
        assert_eq!(first.1, REDIAL);
        let began = Instant::now();
        while port(&making).1 == REDIAL {
            making.step().unwrap();
            assert!(began.elapsed() < Duration::from_secs(60));
        }
        assert_eq!(port(&making).1, 2 * REDIAL);
        assert_ne!(port(&making).0, first.0);
    }
}
