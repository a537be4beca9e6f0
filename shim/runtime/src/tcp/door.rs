//! The socket at which other ranks call this one, and those who have called and not stated who they
//! are.
use super::greeting::{self, LENGTH, MeshGreeting, MeshSecret};
use super::socket;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The number by which epoll knows the listening socket and callers.
pub(super) const DOOR: u64 = u64::MAX;
/// Callers that have not greeted yet, beside as many as there are ranks; more are turned away, so
/// that strangers cannot fill the house.
pub(super) const UNKNOWN: usize = 64;
/// A rank greets as soon as it is let in.
const STRANGER: Duration = Duration::from_secs(60);

/// A call that is not answered by then got lost, or crosses long cables: it is made again, and then after
/// twice the time. The kernel waits for a second (RFC 6298, 2.1), and a job with it.
pub(super) const REDIAL: Duration = Duration::from_millis(100);

/// Somebody who calls and has not stated who it is.
#[derive(Debug)]
struct UnknownCaller {
    stream: TcpStream,
    received: [u8; LENGTH],
    length: usize,
    since: Instant,
}

#[derive(Debug)]
pub(super) struct MeshDoor {
    listener: TcpListener,
    callers: Vec<UnknownCaller>,
    /// The most callers at once.
    most: usize,
}

impl MeshDoor {
    /// For so many ranks.
    pub(super) fn new(listener: TcpListener, ranks: usize) -> MeshDoor {
        MeshDoor {
            listener,
            callers: Vec::new(),
            most: ranks + UNKNOWN,
        }
    }

    /// Lets this epoll tell of callers.
    pub(super) fn open(&self, epoll: &Epoll) -> io::Result<()> {
        Ok(epoll.add(&self.listener, EpollEvent::new(EpollFlags::EPOLLIN, DOOR))?)
    }

    /// Lets this epoll tell of callers once each.
    pub(super) fn watch_by(&self, epoll: &Epoll) {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        // Where the kernel refuses, callers wait for a call.
        let _ = epoll.add(&self.listener, EpollEvent::new(flags, DOOR));
    }

    /// True if somebody has called and not stated who it is.
    pub(super) fn has_callers(&self) -> bool {
        !self.callers.is_empty()
    }

    /// Lets callers in; those who have stated by now that they are ranks of this job, and are no
    /// events of this epoll any more. Strangers are hung up on.
    pub(super) fn hear(
        &mut self,
        epoll: &Epoll,
        secret: &MeshSecret,
    ) -> io::Result<Vec<(TcpStream, MeshGreeting)>> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) if self.callers.len() < self.most => {
                    stream.set_nonblocking(true)?;
                    epoll.add(&stream, EpollEvent::new(EpollFlags::EPOLLIN, DOOR))?;
                    self.callers.push(UnknownCaller {
                        stream,
                        received: [0; LENGTH],
                        length: 0,
                        since: Instant::now(),
                    });
                }
                Ok(_) => {} // Hung up on: a rank would have stated its name by now.
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e)
                    if matches!(
                        e.kind(),
                        // The caller hung up before it was let in (ECONNABORTED, accept(2)).
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(self.listen(epoll, secret))
    }

    fn listen(&mut self, epoll: &Epoll, secret: &MeshSecret) -> Vec<(TcpStream, MeshGreeting)> {
        let (mut at, mut known) = (0, Vec::new());
        while let Some(caller) = self.callers.get_mut(at) {
            match caller.stream.read(&mut caller.received[caller.length..]) {
                Ok(n @ 1..) => caller.length += n,
                Err(e) if is_not_yet(&e) && caller.since.elapsed() < STRANGER => {
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
                let _ = epoll.delete(&caller.stream);
                let greeting = greeting::read(&caller.received, secret);
                known.extend(greeting.map(|greeting| (caller.stream, greeting)));
            }
        }
        known
    }
}

pub(super) fn is_not_yet(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected
    )
}

/// Where a rank listens.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerDoor {
    pub(super) address: SocketAddr,
    /// From there a connection to it takes the way that it should, if it matters.
    pub(super) from: Option<SocketAddr>,
}

impl PeerDoor {
    /// A door to which any way is right.
    pub(super) fn at(address: SocketAddr) -> PeerDoor {
        PeerDoor {
            address,
            from: None,
        }
    }

    /// The same, by whatever way.
    pub(super) fn by_any_way(self) -> PeerDoor {
        PeerDoor::at(self.address)
    }

    /// Begins a connection without waiting for it, with segments of so many octets at most.
    pub(super) fn dial(&self, segment: Option<usize>) -> io::Result<TcpStream> {
        let by_its_way = self.from.map(|from| {
            let stream = socket::bound_to(from)?;
            self.begin(stream, segment)
        });
        match by_its_way {
            Some(Ok(stream)) => Ok(stream),
            // By any way, if another connection has the port.
            _ => self.begin(socket::unbound(&self.address)?, segment),
        }
    }

    fn begin(&self, stream: TcpStream, segment: Option<usize>) -> io::Result<TcpStream> {
        if let Some(segment) = segment {
            socket::segments_of(&stream, segment)?;
        }
        socket::call(&stream, &self.address)?;
        Ok(stream)
    }

    /// True if a connection to there takes the way that it should.
    pub(super) fn is_reached_by(&self, stream: &TcpStream) -> bool {
        self.from
            .is_none_or(|from| stream.local_addr().is_ok_and(|own| own == from))
    }
}
