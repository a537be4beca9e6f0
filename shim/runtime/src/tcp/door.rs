//! The socket at which other ranks call this one, and those who have called and not said who they
//! are.
use super::greeting::{self, LENGTH, MeshGreeting, MeshSecret};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The number by which epoll knows the listening socket and callers.
pub(super) const DOOR: u64 = u64::MAX;
/// Callers that have not greeted yet, beside as many as there are ranks; more are turned away, so
/// that strangers cannot fill the house.
pub(super) const UNKNOWN: usize = 64;
/// A rank greets as soon as it is let in.
const STRANGER: Duration = Duration::from_secs(60);

/// Somebody who calls and has not said who it is.
#[derive(Debug)]
struct UnknownCaller {
    stream: TcpStream,
    heard: [u8; LENGTH],
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

    /// True if somebody has called and not said who it is.
    pub(super) fn has_callers(&self) -> bool {
        !self.callers.is_empty()
    }

    /// Lets callers in; those who have said by now that they are ranks of this job, and are no
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
                        heard: [0; LENGTH],
                        length: 0,
                        since: Instant::now(),
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
        Ok(self.listen(epoll, secret))
    }

    fn listen(&mut self, epoll: &Epoll, secret: &MeshSecret) -> Vec<(TcpStream, MeshGreeting)> {
        let (mut at, mut known) = (0, Vec::new());
        while let Some(caller) = self.callers.get_mut(at) {
            match caller.stream.read(&mut caller.heard[caller.length..]) {
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
                let greeting = greeting::read(&caller.heard, secret);
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
