//! Source ports whose connections take wanted ways through a routed fabric.
//!
//! A router chooses a way by addresses, protocol and ports, so each port is tried by calls that travel so
//! many hops only: the router at which one ends answers, and the kernel keeps that answer for who has called
//! (Paris traceroute, over TCP). It takes no privilege, and the calls reach no other rank.
use super::socket;
use inventory::stages::flows::{DOOR, SOURCES};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use schedules::stages::traced::{TraceVerdict, TracedPath};
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Calls to so many ranks go at once: routers answer some hundred in a second.
const AT_ONCE: usize = 32;
/// A router that has not answered by then does not, the second time.
const ANSWER: Duration = Duration::from_millis(150);
const TRIES: u8 = 2;
/// No fabric has more routers between two hosts.
const MOST_HOPS: u8 = 12;
/// Where so many times as many ports as there are ways lead elsewhere, none leads over a way: its routes are gone.
const PORTS_A_WAY: usize = 32;
/// Time exceeded, in ICMP and in ICMPv6.
const TOO_FAR: [u8; 2] = [11, 3];
/// All ports are known by then, or none is used.
const PATIENCE: Duration = Duration::from_secs(4);

/// The ways that a rank's connections are to take.
#[derive(Debug)]
pub struct WantedWays<'a> {
    /// By rank: what shows the way of its connection; none where there is no choice.
    pub paths: &'a [Option<TracedPath>],
    /// By rank: the port of a flow to its host's door that is known to take this way.
    pub ports: &'a [Option<u16>],
    /// All addresses that answer on ways.
    pub answers: &'a HashSet<IpAddr>,
    /// This rank's place among those of its host, and their number: two of them never try one port.
    pub place: [u16; 2],
}

impl WantedWays<'_> {
    /// The port of a known flow to a rank. Such flows are between the only ranks of two hosts.
    fn known_port(&self, rank: usize, door: &SocketAddr) -> Option<u16> {
        let port = self.ports.get(rank).copied().flatten();
        port.filter(|_| self.place == [0, 1] && door.port() == DOOR)
    }

    fn port(&self, candidate: u16) -> Option<u16> {
        let [place, ranks] = self.place;
        let offset = candidate.checked_mul(ranks.max(1))?.checked_add(place)?;
        let port = SOURCES.start().checked_add(offset)?;
        SOURCES.contains(&port).then_some(port)
    }
}

/// The port for each rank to which there is a choice. `own` is this rank's address, `doors` are those of all.
///
/// # Errors
/// Why not all can be found: the system's refusal, or the rank to which no way is known.
pub fn find(
    own: IpAddr,
    doors: &[SocketAddr],
    wanted: &WantedWays<'_>,
    progress: &mut dyn FnMut() -> bool,
) -> io::Result<Vec<Option<u16>>> {
    let known = doors.iter().enumerate();
    let found: Vec<_> = known
        .map(|(rank, door)| wanted.known_port(rank, door))
        .collect();
    let waiting: Vec<usize> = (0..doors.len())
        .filter(|&rank| {
            found[rank].is_none()
                && wanted
                    .paths
                    .get(rank)
                    .is_some_and(|path| path.as_ref().is_some_and(TracedPath::has_choice))
        })
        .rev()
        .collect();
    if let Some(rank) = waiting.last().filter(|_| wanted.answers.is_empty()) {
        return Err(io::Error::other(format!(
            "no known flow takes the way to rank {rank}: they are between hosts with one rank each, of which \
             each is called at port {DOOR}"
        )));
    }
    let mut search = WaySearch {
        own,
        doors,
        wanted,
        epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
        waiting,
        calls: Vec::new(),
        found,
        first_hop: 1,
        has_answers: false,
    };
    let began = Instant::now();
    while !search.step()? {
        if began.elapsed() > PATIENCE || !progress() {
            let left = search.calls.len() + search.waiting.len();
            let problem = format!(
                "the ways to {left} ranks were not traced in time; routers may answer few calls a second: on \
                 Linux net.ipv4.icmp_ratelimit"
            );
            return Err(io::Error::new(ErrorKind::TimedOut, problem));
        }
    }
    Ok(search.found)
}

/// A call that travels some hops.
#[derive(Debug)]
struct ShortCall {
    rank: usize,
    /// The number of the port among those to try, and the hop at which its trace began.
    candidate: u16,
    began_at: u8,
    hops: u8,
    answered: Vec<IpAddr>,
    /// So many ports before lead over other ways.
    others: usize,
    tries: u8,
    since: Instant,
    stream: Option<TcpStream>,
}

/// The fate of a call.
enum CallOutcome {
    Waits,
    Silent,
    Answered(IpAddr),
    /// It reached the rank.
    Arrived,
}

struct WaySearch<'a> {
    own: IpAddr,
    doors: &'a [SocketAddr],
    wanted: &'a WantedWays<'a>,
    epoll: Epoll,
    waiting: Vec<usize>,
    calls: Vec<ShortCall>,
    found: Vec<Option<u16>>,
    /// The hop that distinguished ways last.
    first_hop: u8,
    /// Some router has answered by an address of a way.
    has_answers: bool,
}

impl WaySearch<'_> {
    /// Goes on with all calls; true if every port is known.
    fn step(&mut self) -> io::Result<bool> {
        while self.calls.len() < AT_ONCE
            && let Some(rank) = self.waiting.pop()
        {
            let mut call = ShortCall::new(rank, self.first_hop);
            self.call(&mut call)?;
            self.calls.push(call);
        }
        if self.calls.is_empty() {
            return Ok(true);
        }
        let mut events = [EpollEvent::empty(); AT_ONCE];
        super::mesh::wait(&self.epoll, &mut events, super::mesh::NAP)?;
        for mut call in std::mem::take(&mut self.calls) {
            if self.go_on(&mut call)? {
                self.calls.push(call);
            }
        }
        Ok(false)
    }

    /// Goes on with a call; false if its rank's port is found.
    fn go_on(&mut self, call: &mut ShortCall) -> io::Result<bool> {
        match call.outcome()? {
            CallOutcome::Waits => return Ok(true),
            CallOutcome::Silent if call.tries < TRIES => {}
            CallOutcome::Silent => call.next_hop(),
            // With more hops it would arrive again: the trace of this port is over.
            CallOutcome::Arrived => call.hops = MOST_HOPS + 1,
            CallOutcome::Answered(address) => {
                call.answered.push(address);
                self.has_answers |= self.wanted.answers.contains(&address);
                match self.verdict(call) {
                    TraceVerdict::Open => call.next_hop(),
                    TraceVerdict::This => {
                        self.first_hop = call.hops;
                        self.found[call.rank] = self.wanted.port(call.candidate);
                        return Ok(false);
                    }
                    TraceVerdict::Other => {
                        self.first_hop = call.hops;
                        call.others += 1;
                        let path = self.wanted.paths[call.rank].as_ref();
                        if path.is_some_and(|path| call.others > PORTS_A_WAY * path.ways()) {
                            return Err(io::Error::other(format!(
                                "{} source ports lead to rank {} over other ways than the one planned, to which \
                                 routes may be gone: compare with heddle discover, and ip route on the routers",
                                call.others, call.rank
                            )));
                        }
                        call.trace(call.candidate + 1, self.first_hop);
                    }
                }
            }
        }
        if call.hops > MOST_HOPS {
            // Ports that tell the ways of other ranks apart may tell nothing here; and who answers may do so seldom.
            if call.began_at == 1 && !self.has_answers {
                return Err(io::Error::other(format!(
                    "no router on the way to rank {} answers by an address that the epoch has",
                    call.rank
                )));
            }
            call.trace(call.candidate, 1);
        }
        self.call(call)?;
        Ok(true)
    }

    fn verdict(&self, call: &ShortCall) -> TraceVerdict {
        let path = self.wanted.paths[call.rank].as_ref();
        path.map_or(TraceVerdict::This, |path| {
            path.verdict(&call.answered, self.wanted.answers)
        })
    }

    /// Calls, by the next port that is free.
    fn call(&self, call: &mut ShortCall) -> io::Result<()> {
        call.end();
        call.tries += 1;
        loop {
            let port = self.wanted.port(call.candidate).ok_or_else(|| {
                io::Error::other(format!(
                    "no source port leads over the way to rank {}",
                    call.rank
                ))
            })?;
            match self.begin(port, call) {
                Ok(stream) => {
                    call.stream = Some(stream);
                    return Ok(());
                }
                // By another process, or by a connection between the same two places.
                Err(e)
                    if matches!(e.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) =>
                {
                    call.trace(call.candidate + 1, self.first_hop);
                    call.tries = 1;
                }
                Err(e) => return Err(e),
            }
        }
    }

    fn begin(&self, port: u16, call: &mut ShortCall) -> io::Result<TcpStream> {
        let stream = socket::bound_to(SocketAddr::new(self.own, port))?;
        let hops = i32::from(call.hops);
        if self.own.is_ipv4() {
            setsockopt(&stream, sockopt::Ipv4RecvErr, &true)?;
            setsockopt(&stream, sockopt::Ipv4Ttl, &hops)?;
        } else {
            setsockopt(&stream, sockopt::Ipv6RecvErr, &true)?;
            setsockopt(&stream, sockopt::Ipv6Ttl, &hops)?;
        }
        call.since = Instant::now();
        socket::call(&stream, &self.doors[call.rank])?;
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLERR | EpollFlags::EPOLLET;
        self.epoll
            .add(&stream, EpollEvent::new(flags, call.rank as u64))?;
        Ok(stream)
    }
}

impl ShortCall {
    fn new(rank: usize, first_hop: u8) -> ShortCall {
        ShortCall {
            rank,
            candidate: 0,
            began_at: first_hop,
            hops: first_hop,
            answered: Vec::new(),
            others: 0,
            tries: 0,
            since: Instant::now(),
            stream: None,
        }
    }

    /// Traces a port from this hop on.
    fn trace(&mut self, candidate: u16, first_hop: u8) {
        self.answered.clear();
        (self.candidate, self.began_at, self.hops, self.tries) =
            (candidate, first_hop, first_hop, 0);
    }

    fn next_hop(&mut self) {
        (self.hops, self.tries) = (self.hops + 1, 0);
    }

    fn end(&mut self) {
        if let Some(stream) = self.stream.take() {
            // Where it arrived, the port is free at once.
            socket::reset(&stream);
        }
    }

    fn outcome(&self) -> io::Result<CallOutcome> {
        let Some(stream) = &self.stream else {
            return Ok(CallOutcome::Waits);
        };
        if let Some(address) = answer(stream)? {
            return Ok(CallOutcome::Answered(address));
        }
        match stream.take_error()? {
            // The host is there and nobody listens: no other port would change that.
            Some(e) if e.kind() == ErrorKind::ConnectionRefused => Err(e),
            Some(_) => Ok(CallOutcome::Silent),
            None if stream.peer_addr().is_ok() => Ok(CallOutcome::Arrived),
            None if self.since.elapsed() > ANSWER => Ok(CallOutcome::Silent),
            None => Ok(CallOutcome::Waits),
        }
    }
}

/// Who has answered that a call has travelled too far.
fn answer(stream: &TcpStream) -> io::Result<Option<IpAddr>> {
    let mut space = nix::cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6);
    let received = recvmsg::<SockaddrStorage>(
        stream.as_raw_fd(),
        &mut [],
        Some(&mut space),
        MsgFlags::MSG_ERRQUEUE,
    );
    let message = match received {
        Ok(message) => message,
        Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    // Time exceeded is type 11 of ICMP (RFC 792) and 3 of ICMPv6 (RFC 4443, 3.3); with IP_RECVERR the kernel
    // queues it with the address of who sent it, the router (SO_EE_OFFENDER, ip(7)).
    Ok(message.cmsgs()?.find_map(|about| match about {
        ControlMessageOwned::Ipv4RecvErr(error, Some(from)) if error.ee_type == TOO_FAR[0] => {
            Some(Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr)).into())
        }
        ControlMessageOwned::Ipv6RecvErr(error, Some(from)) if error.ee_type == TOO_FAR[1] => {
            Some(Ipv6Addr::from(from.sin6_addr.s6_addr).into())
        }
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::TopologyFile;
    use inventory::stages::hops::WayHop;
    use schedules::message::Message;
    use schedules::stages::traced::WayAnswers;
    use std::net::TcpListener;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn where_no_router_answers_no_way_is_claimed() {
        let text = "switches: [s0, s1]\nhosts: {a: {switch: s0}, b: {switch: s1}}\nlinks:\n  - {a: s0, b: s1, \
                    state: multipath}\n  - {a: s0, b: s1, state: multipath}\n";
        let tree = TopologyFile::parse("t", text).unwrap().tree().unwrap();
        let hops = [WayHop {
            from: "s0".into(),
            at: "s1".into(),
            cable: 0,
            address: [192, 0, 2, 1].into(),
        }];
        let answers = WayAnswers::new(&hops);
        let path = answers.of_path(&tree, Message { src: 0, dst: 1 }, 0);
        let door = TcpListener::bind((HERE, 0)).unwrap();
        let doors = [door.local_addr().unwrap(); 2];
        let wanted = WantedWays {
            paths: &[None, Some(path)],
            ports: &[],
            answers: &answers.all(),
            place: [0, 1],
        };
        let problem = find(HERE, &doors, &wanted, &mut || true).unwrap_err();
        assert!(
            problem
                .to_string()
                .starts_with("no router on the way to rank 1"),
            "{problem}"
        );
        let nowhere = WantedWays {
            paths: &[None, None],
            ..wanted
        };
        assert_eq!(
            find(HERE, &doors, &nowhere, &mut || true).unwrap(),
            [None, None]
        );
    }

    #[test]
    fn ranks_of_a_host_never_try_one_port() {
        let answers = HashSet::new();
        let mut all: Vec<u16> = (0..16)
            .flat_map(|place: u16| -> Vec<u16> {
                let wanted = WantedWays {
                    paths: &[],
                    ports: &[],
                    answers: &answers,
                    place: [place, 16],
                };
                (0..)
                    .map_while(|candidate| wanted.port(candidate))
                    .collect()
            })
            .collect();
        all.sort_unstable();
        assert!(all.iter().copied().eq(SOURCES), "{all:?}");
    }
}
